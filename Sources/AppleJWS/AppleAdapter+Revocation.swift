public import LifecycleEvents

extension AppleAdapter {
    /// The adapter for an endpoint that requires the status of certificates (``AppleRevocation/hard(_:)``).
    ///
    /// The first delivery under a certificate finds no status. Answered with 503, Apple would deliver it again an hour
    /// later. This adapter waits for the question under way instead, and proves the delivery once more.
    public struct AwaitingRevocation: ProviderAdapter {
        /// Proves without waiting.
        public let adapter: AppleAdapter

        /// Apple.
        public var provider: Provider { adapter.provider }

        /// Proves and decodes a notification.
        ///
        /// - Throws: `DeliveryError` as ``AppleAdapter/authenticate(_:)``.
        public func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<AppleNotification> {
            do throws(DeliveryError) {
                return try adapter.authenticate(delivery)
            } catch {
                guard error.code == .unavailable else { throw error }
                await adapter.settleRevocation()
                return try adapter.authenticate(delivery)
            }
        }

        /// Maps to canonical events.
        ///
        /// - Throws: `DeliveryError` as ``AppleAdapter/normalize(_:)``.
        public func normalize(
            _ resolved: Authenticated<AppleNotification>
        ) throws(DeliveryError) -> Normalization {
            try adapter.normalize(resolved)
        }

        /// The part of a delivery that Apple signed.
        public func signedDocument(of delivery: Delivery) -> Delivery { adapter.signedDocument(of: delivery) }
    }

    /// Waits for the questions about certificates that are under way.
    package func settleRevocation() async {
        await verifier.revocation.statuses?.settle()
    }

    /// The same adapter, which waits for the status of a certificate that it meets for the first time.
    public var awaitingRevocation: AwaitingRevocation { AwaitingRevocation(adapter: self) }
}
