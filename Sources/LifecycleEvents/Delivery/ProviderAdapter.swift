/// The adapter of one provider. It works in three steps, each a pure value in and out: prove, ask, map.
///
/// Every value between the steps can cross a queue, so an endpoint may answer after the first and leave the others to
/// a worker. An adapter whose steps need no waiting offers them synchronously; called through the concrete type they
/// take no `await`.
///
/// To add a provider of your own, conform a type, name it in an extension of ``Provider``, throw ``DeliveryError``,
/// and vouch for what you proved with ``Authenticated/init(unchecked:receivedAt:channel:evidence:digest:)``.
public protocol ProviderAdapter<Notification, Resolved>: Sendable {
    /// A delivery that is proven and decoded.
    associatedtype Notification: Codable & Sendable
    /// A notification with all that had to be asked for. The same type where nothing has to be.
    associatedtype Resolved: Codable & Sendable = Notification

    /// Whose deliveries this adapter takes.
    var provider: Provider { get }

    /// Proves that a delivery is the provider's and meant for us, and decodes it.
    ///
    /// - Throws: ``DeliveryError`` with `malformed`, `unauthenticated`, `untrusted`, `stale`, `misdirected`, or
    ///   `unavailable` if keys have to be fetched and cannot be.
    func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<Notification>

    /// Asks the provider again if the notification is only a hint.
    ///
    /// - Throws: ``DeliveryError`` with `unavailable` when the provider cannot be asked now. That changes nothing: ask
    ///   again later.
    func resolve(_ notification: Authenticated<Notification>) async throws(DeliveryError) -> Authenticated<Resolved>

    /// Maps to canonical events. No clock, no network; the same value always gives the same events.
    ///
    /// - Throws: ``DeliveryError`` with `malformed`, marked authentic: accept such a delivery and keep it.
    func normalize(_ resolved: Authenticated<Resolved>) throws(DeliveryError) -> Normalization

    /// The part of a delivery that the provider signed, if a signature covers less than all of it. Store only this
    /// part.
    ///
    /// Unsigned parts can differ in each copy of one genuine delivery. Name the stored part by its digest, and store
    /// nothing else, so that copies cannot fill your storage. It is proven like the delivery itself.
    func signedDocument(of delivery: Delivery) -> Delivery
}

extension ProviderAdapter {
    /// The delivery itself: all of it is proven.
    public func signedDocument(of delivery: Delivery) -> Delivery { delivery }
}

extension ProviderAdapter where Resolved == Notification {
    /// Gives the notification back: it says all there is to know.
    public func resolve(
        _ notification: Authenticated<Notification>
    ) async throws(DeliveryError) -> Authenticated<Resolved> {
        notification
    }
}

extension ProviderAdapter {
    /// Takes a delivery through all three steps.
    ///
    /// - Throws: ``DeliveryError`` from any of them; ``Acknowledgement/init(for:provider:)`` gives the answer.
    public func receive(_ delivery: Delivery) async throws(DeliveryError) -> Normalization {
        try normalize(try await resolve(try await authenticate(delivery)))
    }

    /// The answer to the provider.
    public func acknowledgement(for outcome: Result<Normalization, DeliveryError>) -> Acknowledgement {
        Acknowledgement(for: outcome, provider: provider)
    }
}
