import LifecycleJournal
import Normalizer

/// How deliveries are taken in, whichever way they came.
struct Intake: Sendable {
    let journal: Journal
    /// Whether a delivery is answered when it is proven and kept, and looked up by a worker.
    let answersAtOnce: Bool

    func take(_ delivery: Delivery, _ adapter: some ProviderAdapter, as source: String) async -> Acknowledgement {
        answersAtOnce
            ? await journal.accept(delivery, with: adapter, as: source)
            : await journal.receive(delivery, with: adapter, as: source)
    }
}
