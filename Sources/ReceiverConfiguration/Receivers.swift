package import FoundationEssentials
package import HTTPTransport
package import Normalizer
package import WireJSON

/// A provider's adapter that is ready to receive.
package protocol ConfiguredReceiver: Sendable {
    /// The members that the provider's configuration may have in addition to those of all.
    static var memberNames: Set<String> { get }

    /// Reads a configuration, which has to be one that the adapter can verify something with.
    ///
    /// - Parameter answers: what the provider answers, at once or never; nil where nothing is looked up.
    init(config: JSONValue, answers: (any HTTPTransportProtocol)?) throws(ConfigurationError)

    func receive(_ delivery: Delivery) async throws(DeliveryError) -> Normalization

    /// True if the provider's simulator answers look-ups, and its answers change from notification to notification.
    static var asksSimulator: Bool { get }

    /// Asks the provider's own questions about purchases; nil if the receiver has none.
    var questions: (any LineageQuestions)? { get }

    /// Asks about the purchase that an address of the provider's API is about.
    ///
    /// - Parameter path: the last three segments of the address.
    /// - Returns: nil if the address is about no purchase.
    func ask(path: [String], at time: Date) async throws(DeliveryError) -> Normalization?
}

extension ConfiguredReceiver {
    package static var asksSimulator: Bool { false }
    package var questions: (any LineageQuestions)? { nil }
    package func ask(path: [String], at time: Date) async throws(DeliveryError) -> Normalization? { nil }
}

/// Makes receivers from a configuration in JSON.
package enum Receivers {
    /// The receiver of each provider: the one place where a provider of this package is registered.
    package static func kind(for provider: Provider) -> (any ConfiguredReceiver.Type)? {
        switch provider {
        case .apple: AppleReceiver.self
        case .google: GoogleReceiver.self
        case .revenuecat: RevenueCatReceiver.self
        case .stripe: StripeReceiver.self
        default: nil
        }
    }

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
        answers: (any HTTPTransportProtocol)? = nil
    ) throws(ConfigurationError) -> any ConfiguredReceiver {
        guard let kind = kind(for: provider) else { throw ConfigurationError("provider must be \(Provider.choice)") }
        return try kind.init(config: config, answers: answers)
    }

    /// The members that a provider's configuration may have. `now` is the time of receipt, for the caller that delivers.
    package static func memberNames(for provider: Provider) -> Set<String> {
        Set(["now", "maxBodyBytes"]).union(kind(for: provider)?.memberNames ?? [])
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
