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
