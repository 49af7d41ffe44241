public import FoundationEssentials
public import LifecycleEvents

extension AppleAdapter {
    /// The adapter for an endpoint that requires the status of certificates (``AppleRevocation/hard(_:)``).
    ///
    /// The first delivery under a certificate finds no status. Answered with 503, Apple would deliver it again an hour
    /// later. This adapter waits for the question under way instead, and proves the delivery again.
    public struct AwaitingRevocation: ProviderAdapter {
        /// Proves without waiting.
        public let adapter: AppleAdapter

        /// Apple.
        public var provider: Provider { adapter.provider }

        /// Proves and decodes a notification.
        ///
        /// - Throws: `DeliveryError` as ``AppleAdapter/authenticate(_:)``.
        public func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<AppleNotification> {
            try await adapter.settlingRevocation { () throws(DeliveryError) in try adapter.authenticate(delivery) }
        }

        /// Takes a client's upload in.
        ///
        /// - Throws: `DeliveryError` as ``AppleAdapter/receive(signedTransaction:signedRenewalInfo:receivedAt:)``.
        public func receive<JWS: Collection<UInt8>>(
            signedTransaction: JWS,
            signedRenewalInfo: JWS? = nil,
            receivedAt: Date
        ) async throws(DeliveryError) -> Normalization {
            try await adapter.settlingRevocation { () throws(DeliveryError) in
                try adapter.receive(
                    signedTransaction: signedTransaction,
                    signedRenewalInfo: signedRenewalInfo,
                    receivedAt: receivedAt
                )
            }
        }

        /// Maps to canonical events.
        ///
        /// - Throws: `DeliveryError` as ``AppleAdapter/normalize(_:)-(Authenticated<AppleNotification>)``.
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

    /// Proves something signed. While the status of its certificates is unknown, it waits for the questions that are under way, and
    /// proves it again: a proof ends at the first signature of unknown status, and a notification has three, each under a certificate
    /// of its own if Apple has just taken another.
    package func settlingRevocation<Value>(
        _ prove: () throws(DeliveryError) -> Value
    ) async throws(DeliveryError) -> Value {
        for _ in 0..<3 {
            do throws(DeliveryError) {
                return try prove()
            } catch {
                guard error.code == .unavailable else { throw error }
            }
            await settleRevocation()
        }
        return try prove()
    }

    /// The same adapter, which waits for the status of a certificate that it meets for the first time.
    public var awaitingRevocation: AwaitingRevocation { AwaitingRevocation(adapter: self) }
}
