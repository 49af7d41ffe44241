import FoundationEssentials
public import LifecycleEvents
import SignatureCore
import WireJSON

/// Takes RevenueCat's webhooks to canonical events.
///
/// `authenticate` and `normalize` take no `await`. Only `resolve` talks to RevenueCat, only if a ``Configuration/lookup`` is
/// configured, and only for the few webhooks that say too little to act on.
public struct RevenueCatAdapter: ProviderAdapter {
    /// RevenueCat.
    public let provider: Provider = .revenuecat

    /// The parts that all copies of an adapter share. Threads that copied each part would contend for it.
    final class Setup: Sendable {
        let configuration: Configuration
        let authorization: SharedAuthorization
        let secrets: SigningSecrets
        let window: SignedTimeWindow

        init(_ configuration: Configuration, secrets: SigningSecrets) {
            self.configuration = configuration
            authorization = SharedAuthorization(configuration.authorizations)
            self.secrets = secrets
            let tolerance = configuration.tolerance.wholeMilliseconds
            window = SignedTimeWindow(maximumAge: tolerance, maximumSkew: tolerance)
        }
    }

    let setup: Setup

    /// Prepares the adapter.
    ///
    /// - Throws: `ConfigurationError` if the configuration would reject every delivery, or accept every one: no
    ///   credential, a blank one or one with white space at an end, a policy that does not match the configured
    ///   credentials, a tolerance below zero or beyond a day, an empty set of environments or apps.
    public init(_ configuration: Configuration) throws(ConfigurationError) {
        try configuration.validate()
        setup = Setup(configuration, secrets: try SigningSecrets(configuration.signingSecrets))
    }

    /// Proves that a delivery is RevenueCat's by every credential that is configured, and reads it.
    ///
    /// Nothing of the body is looked at before.
    ///
    /// - Throws: `DeliveryError` with `unauthenticated` for a missing or wrong credential; `stale` outside the time
    ///   window; `malformed` for a body that is too long, a signature header of another form, or a proven body that
    ///   cannot be read; `misdirected` for another environment or app, or where a purchase names none. The last two are
    ///   marked authentic.
    public func authenticate(_ delivery: Delivery) throws(DeliveryError) -> Authenticated<RevenueCatNotification> {
        try Limits.check(delivery.body, atMost: setup.configuration.maximumBodyBytes)
        let evidence = try prove(delivery)
        let notification: RevenueCatNotification
        do throws(JSONError) {
            notification = try RevenueCatNotification(payload: delivery.body)
        } catch {
            throw DeliveryError(.malformed, "body: \(error)", isAuthentic: true, underlying: error)
        }
        try checkAddressee(of: notification.webhook)
        return Authenticated(
            notification,
            receivedAt: delivery.receivedAt,
            channel: .webhook,
            evidence: evidence,
            digest: delivery.bodyDigest
        )
    }

    private func prove(_ delivery: Delivery) throws(DeliveryError) -> Origin.Evidence {
        var evidence = Origin.Evidence(.unchecked)
        if setup.authorization.isConfigured {
            evidence = try setup.authorization.match(delivery)
        }
        if !setup.secrets.isEmpty {
            let signature = try SignatureHeader(Self.signatureHeader, in: delivery.headers)
            evidence = try signature.prove(delivery.body.span, with: setup.secrets)
            // The time is that of the attempt: the tolerance applies to it, and never to a time in the body.
            try setup.window.check(
                seconds: signature.timestamp,
                receivedAt: delivery.receivedAt.millisecondsSince1970,
                named: "timestamp of header \(Self.signatureHeader)"
            )
        }
        return evidence
    }

    private static let signatureHeader = "X-RevenueCat-Webhook-Signature"

    /// Asks RevenueCat about a webhook that is only a hint, if a look-up is configured; any other is given back.
    ///
    /// - Throws: `DeliveryError` with `unavailable` when RevenueCat cannot be asked now.
    public func resolve(
        _ notification: Authenticated<RevenueCatNotification>
    ) async throws(DeliveryError) -> Authenticated<RevenueCatNotification> {
        guard let client = setup.configuration.lookup, notification.value.needsAnswer else { return notification }
        guard let answer = try await client.answer(about: notification.value.event) else { return notification }
        return notification.map { value in
            var value = value
            value.answer = answer
            return value
        }
    }

    /// Maps to canonical events, with the facts that the webhook asserts.
    ///
    /// - Throws: nothing: a webhook that could be read gives at least an `unmapped` event or a reason for none.
    public func normalize(_ resolved: Authenticated<RevenueCatNotification>) throws(DeliveryError) -> Normalization {
        Mapping(resolved).normalization()
    }
}
