public import LifecycleEvents

extension RevenueCatAdapter {
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
        public var authorizations: [SecretBytes]
        /// Signing secrets as the dashboard shows them; several while one is replaced.
        public var signingSecrets: [SecretBytes]
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
        public var maximumBodyBytes = Limits.bodyBytes
        /// How to ask RevenueCat where a webhook is only a hint; nil leaves hints unresolved.
        public var lookup: RevenueCatClient?

        /// Makes a set-up.
        public init(authorizations: [SecretBytes] = [], signingSecrets: [SecretBytes] = [], policy: Policy? = nil) {
            self.authorizations = authorizations
            self.signingSecrets = signingSecrets
            self.policy = policy
        }
    }
}

extension RevenueCatAdapter.Configuration {
    func validate() throws(ConfigurationError) {
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
