package import HTTPTransport
package import Normalizer
package import WireJSON

/// A provider's adapter that is ready to receive.
package protocol ConfiguredReceiver: Sendable {
    func receive(_ delivery: Delivery) async throws(DeliveryError) -> Normalization
}

/// Makes receivers from a configuration in JSON.
package enum Receivers {
    /// The providers that a configuration can be for.
    package static let providers: [Provider] = [.apple, .google, .revenuecat, .stripe]

    /// The limits for a configuration, which may hold certificates and key sets.
    package static let limits: JSONLimits = {
        var limits = JSONLimits()
        limits.maximumBytes = 64 << 20
        limits.maximumNodes = 1 << 20
        limits.maximumDepth = 128
        return limits
    }()

    /// A provider's adapter, configured by the members that `memberNames` lists.
    ///
    /// - Parameter answers: the provider's answers; nil for no look-ups.
    /// - Throws: `ConfigurationError` if the configuration lacks the keys or secrets that the adapter needs.
    package static func receiver(
        for provider: Provider,
        config: JSONValue,
        answers: (any HTTPTransport)? = nil
    ) throws(ConfigurationError) -> any ConfiguredReceiver {
        switch provider {
        case .apple: try AppleReceiver(config: config)
        case .google: try GoogleReceiver(config: config, answers: answers)
        case .revenuecat: try RevenueCatReceiver(config: config, answers: answers)
        case .stripe: try StripeReceiver(config: config, answers: answers)
        default: throw ConfigurationError("provider must be apple, google, revenuecat or stripe")
        }
    }

    /// The members that a provider's configuration may have. `now` is the time of receipt, for the caller that delivers.
    package static func memberNames(for provider: Provider) -> Set<String> {
        let common: Set = ["now", "maxBodyBytes"]
        return switch provider {
        case .apple:
            common.union([
                "roots", "bundleId", "bundleIds", "appAppleId", "environment", "environments", "certTime",
                "maxFutureSkewMs", "maxSignedAgeMs", "kind",
            ])
        case .google:
            common.union([
                "jwks", "audience", "serviceAccountEmail", "serviceAccountId", "packageName", "packageNames",
                "subscription", "subscriptions", "clockSkewSeconds", "orderLookup", "voidedPurchaseLookup",
                "settlingSeconds", "kind",
            ])
        case .stripe: common.union(["secrets", "toleranceSeconds", "livemode", "kind"])
        case .revenuecat:
            common.union([
                "authorization", "hmacSecrets", "toleranceSeconds", "environment", "environments", "appIds",
            ])
        default: common
        }
    }
}

extension Delivery.Headers {
    /// Reads header fields from an object: a value may be an array, for a field that came more than once.
    package init(json value: JSONValue?) throws(JSONError) {
        self.init()
        guard let value else { return }
        for (name, value) in try value.object().members {
            if value.kind == .array {
                for element in try value.array() { add(name, try element.string()) }
            } else {
                add(name, try value.string())
            }
        }
    }
}
