import LifecycleEvents
import Synchronization

/// The store's ids of products, each asked for once.
final class ProductNames: Sendable {
    /// More products than a project has.
    private static let maximum = 10_000

    private let names = Mutex<[String: String]>([:])

    func storeIdentifier(
        of reference: String,
        asking ask: (String) async throws(DeliveryError) -> String?
    ) async throws(DeliveryError) -> String? {
        if let name = names.withLock({ $0[reference] }) { return name }
        let name = try await ask(reference)
        // One that RevenueCat does not know yet is asked for again.
        if let name {
            names.withLock { names in
                if names.count >= Self.maximum { names.removeAll() }
                names[reference] = name
            }
        }
        return name
    }
}
