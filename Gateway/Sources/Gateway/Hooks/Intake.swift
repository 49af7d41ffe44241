import LifecycleJournal
import Normalizer

/// Takes deliveries in, from hooks and pulls alike.
struct Intake: Sendable {
    let journal: Journal
    /// True to answer a delivery when it is proven and kept, and let a worker look it up.
    let answersAtOnce: Bool

    func take(_ delivery: Delivery, _ adapter: some ProviderAdapter, as source: String) async -> Acknowledgement {
        answersAtOnce
            ? await journal.accept(delivery, with: adapter, as: source)
            : await journal.receive(delivery, with: adapter, as: source)
    }
}

extension Acknowledgement {
    /// The code as the metrics have it. The message is left out: it can name what a forger has chosen, such as the id of a key.
    var loggedCode: String { code?.rawValue ?? "" }

    /// The fate of a delivery that could not be taken in.
    var outcome: String { decision == .acceptAndQuarantine ? "was kept in quarantine" : "was not accepted" }
}
