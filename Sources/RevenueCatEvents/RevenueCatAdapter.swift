import FoundationEssentials
public import LifecycleEvents
import SignatureCore
import WireJSON

/// Takes RevenueCat's webhooks to canonical events.
///
/// `authenticate` and `normalize` take no `await`. Only `resolve` talks to RevenueCat, only where a ``Configuration/lookup`` is
/// configured, and only for the few webhooks that say too little to act on.
public struct RevenueCatAdapter: ProviderAdapter {
    /// The expectations of a receiver of RevenueCat's webhooks. Nothing in a body switches any of them off.
    public struct Configuration: Sendable {
        /// Which proofs a delivery has to carry.
        @nonexhaustive
        public enum Policy: String, Hashable, Sendable {
            /// The `Authorization` value. It covers neither body nor time.
            case authorization
            /// The signature over time and body.
            case signature
            /// Both of them.
            case both
        }

        /// Values of `Authorization` that are accepted, whole, as typed into the dashboard; several while one is
        /// replaced.
        public var authorizations: [Secret]
        /// Signing secrets as the dashboard shows them; several while one is replaced.
        public var signingSecrets: [Secret]
        /// Which proofs are required; nil for every one that is configured. A policy that leaves a configured proof out
        /// is refused: an attacker would choose the weaker one.
        public var policy: Policy?
        /// How far the signed time may lie before or after the time of receipt. It never applies to times in a body: a
        /// redelivery may be days old.
        public var tolerance: Duration = .seconds(300)
        /// The environments to take; nil takes all. A webhook about a purchase has to name one of them. Types that need
        /// not name any, such as tests and transfers, are taken without; their events say `unknown`.
        public var environments: Set<StoreEnvironment>?
        /// RevenueCat's ids of the apps to take; nil takes all. A webhook about a purchase has to name one of them, unless
        /// it is about a promotional grant, which belongs to no app.
        public var appIDs: Set<String>?
        /// The longest body that is read, in bytes.
        public var maximumBodyBytes = 1 << 20
        /// How to ask RevenueCat where a webhook is only a hint; nil leaves hints unresolved.
        public var lookup: RevenueCatClient?

        /// Makes a set-up.
        public init(authorizations: [Secret] = [], signingSecrets: [Secret] = [], policy: Policy? = nil) {
            self.authorizations = authorizations
            self.signingSecrets = signingSecrets
            self.policy = policy
        }
    }

    /// RevenueCat.
    public let provider: Provider = .revenuecat

    /// The parts that all copies of an adapter share. Threads that copied each part would contend for it.
    private final class Setup: Sendable {
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

    private let setup: Setup

    /// Prepares the adapter.
    ///
    /// - Throws: `ConfigurationError` where a delivery could never, or could always, be authentic: no credential, one
    ///   that is blank or has white space at an end, a policy that does not name exactly what is configured, a tolerance
    ///   below zero or beyond a day, an empty set of environments or apps.
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
        guard delivery.body.count <= setup.configuration.maximumBodyBytes else {
            throw DeliveryError(
                .malformed,
                "body has \(delivery.body.count) bytes, at most \(setup.configuration.maximumBodyBytes)"
            )
        }
        let evidence = try prove(delivery)
        let notification: RevenueCatNotification
        do throws(JSONError) {
            notification = try RevenueCatNotification(payload: delivery.body)
        } catch {
            throw DeliveryError(.malformed, "body: \(error)", isAuthentic: true, underlying: error)
        }
        try checkDestination(notification.webhook)
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

    private func checkDestination(_ webhook: RevenueCatNotification.Webhook) throws(DeliveryError) {
        let isAboutPurchase = webhook.row.isAboutPurchase
        if let expected = setup.configuration.environments {
            if let environment = webhook.event.environment {
                // Open values compare as text; octets decide here.
                let stated = environment.canonical.rawValue
                guard expected.contains(where: { $0.rawValue.hasOctets(of: stated) }) else {
                    throw DeliveryError(
                        .misdirected,
                        "webhook is of an environment that is not configured",
                        isAuthentic: true
                    )
                }
            } else if isAboutPurchase {
                throw DeliveryError(.misdirected, "webhook about a purchase names no environment", isAuthentic: true)
            }
        }
        if let expected = setup.configuration.appIDs {
            if let app = webhook.event.appID {
                guard expected.contains(where: { app.hasOctets(of: $0) }) else {
                    throw DeliveryError(
                        .misdirected,
                        "webhook is about an app that Configuration.appIDs does not name",
                        isAuthentic: true
                    )
                }
            } else if isAboutPurchase, webhook.event.store != .promotional {
                throw DeliveryError(.misdirected, "webhook about a purchase names no app", isAuthentic: true)
            }
        }
    }

    /// Asks RevenueCat about a webhook that is only a hint, where a look-up is configured; any other is given back.
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

extension RevenueCatAdapter.Configuration {
    fileprivate func validate() throws(ConfigurationError) {
        guard !authorizations.isEmpty || !signingSecrets.isEmpty else {
            throw ConfigurationError("configure an authorization, a signing secret, or both")
        }
        for (index, value) in authorizations.enumerated() where value.isBlank {
            throw ConfigurationError("authorization \(index + 1) must not be blank")
        }
        for (index, value) in authorizations.enumerated() where value.hasWhiteSpaceAtAnEnd {
            throw ConfigurationError(
                "authorization \(index + 1) must not begin or end with white space, which a header does not keep"
            )
        }
        if let policy {
            let configured: Policy =
                signingSecrets.isEmpty ? .authorization : authorizations.isEmpty ? .signature : .both
            guard policy == configured else {
                throw ConfigurationError(
                    "policy is \(policy.rawValue), but the configured credentials are for \(configured.rawValue)"
                )
            }
        }
        guard tolerance >= .zero, tolerance <= .seconds(86_400) else {
            throw ConfigurationError("tolerance must be between 0 and 86400 seconds")
        }
        guard environments?.isEmpty != true else {
            throw ConfigurationError("environments must not be empty; nil accepts every one")
        }
        guard appIDs?.isEmpty != true, appIDs?.contains(where: \.isEmpty) != true else {
            throw ConfigurationError("appIDs must name at least one app, and no blank one; nil accepts every app")
        }
        guard maximumBodyBytes > 0 else { throw ConfigurationError("maximumBodyBytes must be positive") }
    }
}
