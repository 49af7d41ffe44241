public import LifecycleEvents
import SignatureCore
import WireJSON

/// Takes Stripe's webhook deliveries and event destinations: proves them by their signature and maps them to
/// `LifecycleEvent`.
///
/// `authenticate` and `normalize` take no `await`. Only `resolve` talks to Stripe, and only for objects that a delivery
/// names without containing them.
public struct StripeAdapter: ProviderAdapter {
    /// The parts that all copies of an adapter share.
    final class Setup: Sendable {
        let configuration: Configuration
        let secrets: SigningSecrets
        let client: LookupClient?
        let window: SignedTimeWindow

        init(_ configuration: Configuration, secrets: SigningSecrets, client: LookupClient?) {
            self.configuration = configuration
            self.secrets = secrets
            self.client = client
            let maximumAge: Int64? =
                switch configuration.tolerance {
                case .within(let duration): duration.wholeMilliseconds
                case .disabled: nil
                }
            window = SignedTimeWindow(
                maximumAge: maximumAge,
                maximumSkew: configuration.maximumFutureSkew?.wholeMilliseconds ?? maximumAge
            )
        }
    }

    let setup: Setup
    var configuration: Configuration { setup.configuration }

    /// Makes an adapter.
    ///
    /// - Throws: `ConfigurationError` if a delivery could never, or could always, be authentic: no secret, one that
    ///   is blank or has white space at an end, a negative tolerance; and for a look-up that could not be sent.
    public init(_ configuration: Configuration) throws(ConfigurationError) {
        try configuration.validate()
        let secrets = try SigningSecrets(configuration.signingSecrets)
        let client = try configuration.lookup.map { (lookup) throws(ConfigurationError) in
            try LookupClient(lookup, ownAccount: configuration.ownAccount)
        }
        setup = Setup(configuration, secrets: secrets, client: client)
    }

    /// Stripe.
    public var provider: Provider { .stripe }

    /// Proves that a delivery was signed with one of the secrets, at about the time it was received, and reads it.
    ///
    /// Nothing of the body is looked at before its signature holds.
    ///
    /// - Throws: `DeliveryError` with `malformed` for a body that is too long, a header of another form, or a body that
    ///   is no event; `unauthenticated` without the header or a matching signature; `stale` outside the time window;
    ///   `misdirected` for the other mode or another account. The last of these, and a signed body that is no event, are
    ///   marked authentic.
    public func authenticate(_ delivery: Delivery) throws(DeliveryError) -> Authenticated<StripeNotification> {
        try Limits.check(delivery.body, atMost: configuration.maximumBodyBytes)
        let signature = try SignatureHeader("Stripe-Signature", in: delivery.headers, maximumFields: 1)
        let evidence = try signature.prove(delivery.body.span, with: setup.secrets)
        try setup.window.check(
            seconds: signature.timestamp,
            receivedAt: delivery.receivedAt.millisecondsSince1970,
            named: "timestamp of header Stripe-Signature"
        )

        let notification = try StripeNotification(proven: delivery.body)
        try checkAddressee(of: .notification(notification))
        return Authenticated(
            notification,
            receivedAt: delivery.receivedAt,
            channel: .webhook,
            evidence: evidence,
            digest: delivery.bodyDigest
        )
    }

    /// Fetches the event's object if it does not contain it. Without ``Configuration/lookup`` the notification stays as
    /// it is, and `normalize` says that a look-up is needed.
    ///
    /// - Throws: `DeliveryError`: `unavailable` if Stripe cannot be asked now; `denied`, marked authentic, if Stripe says
    ///   that the key may not read the object; `misdirected`, marked authentic, if Stripe does not know the object under
    ///   our key, or the key is of the other mode; `malformed`, marked authentic, if the event names a path outside of
    ///   Stripe's API, for which no request is made, and if the answer is another object than the one asked for.
    public func resolve(
        _ notification: Authenticated<StripeNotification>
    ) async throws(DeliveryError) -> Authenticated<StripeNotification> {
        guard let client = setup.client else { return notification }
        var resolved = notification.value
        resolved.answers = try await answers(for: .notification(resolved), by: client)
        return notification.map { _ in resolved }
    }

    /// The answers that there are already, and all others that mapping needs.
    func answers(
        for occasion: StripeOccasion,
        by client: LookupClient
    ) async throws(DeliveryError) -> StripeNotification.Answers {
        var occasion = occasion
        // Where invoices are sales, a session's and a refund's invoice decide which sale they are of.
        let completes = configuration.lookup?.completesSnapshots == true || configuration.policy.sellsByInvoice
        while let request = try LookupRequest.next(for: occasion, completesSnapshots: completes) {
            occasion.answers[request.name] = try await client.fetch(request, for: occasion)
        }
        return occasion.answers
    }

    /// Maps an event to canonical events.
    ///
    /// - Throws: `DeliveryError` with `malformed`, marked authentic, if a date, amount or identifier of the event's
    ///   object is not of its documented form.
    public func normalize(_ resolved: Authenticated<StripeNotification>) throws(DeliveryError) -> Normalization {
        try Mapping(resolved.map { .notification($0) }, for: self).normalization()
    }
}
