package import HTTPTransport
package import Normalizer
import RevenueCatEvents
package import WireJSON

/// RevenueCat's adapter as a configuration in JSON sets it up.
package struct RevenueCatReceiver: ConfiguredReceiver {
    package static let memberNames: Set = [
        "authorization", "hmacSecrets", "toleranceSeconds", "environment", "environments", "appIds",
    ]

    private let adapter: RevenueCatAdapter

    /// - Parameter answers: the provider's answers, at once or never; nil for no look-ups.
    package init(config: JSONValue, answers: (any HTTPTransportProtocol)? = nil) throws(ConfigurationError) {
        var configuration: RevenueCatAdapter.Configuration
        do throws(JSONError) {
            let reader = try ObjectReader(config)
            configuration = RevenueCatAdapter.Configuration(
                authorizations: try Self.strings(reader, "authorization").map { SecretBytes($0) },
                signingSecrets: try Self.strings(reader, "hmacSecrets").map { SecretBytes($0) }
            )
            if let seconds = try reader.optionalInt64("toleranceSeconds") {
                configuration.tolerance = .seconds(seconds)
            }
            let environments = try Self.strings(reader, "environment") + Self.strings(reader, "environments")
            if reader.optionalValue("environment") != nil || reader.optionalValue("environments") != nil {
                configuration.environments = Set(environments.map { StoreEnvironment(rawValue: $0.lowercased()) })
            }
            if let apps = try reader.optionalStrings("appIds") { configuration.appIDs = Set(apps) }
            if let maximum = try reader.optionalInt64("maxBodyBytes") {
                configuration.maximumBodyBytes = Int(exactly: maximum) ?? configuration.maximumBodyBytes
            }
        } catch {
            throw ConfigurationError("config: \(error)")
        }
        if let answers {
            var client = try RevenueCatClient(
                transport: answers,
                apiKey: SecretBytes("sk_recorded"),
                api: .v2(project: "proj_recorded")
            )
            // A recorded answer comes at once or never.
            client.maximumAttempts = 1
            configuration.lookup = client
        }
        adapter = try RevenueCatAdapter(configuration)
    }

    package func receive(_ delivery: Delivery) async throws(DeliveryError) -> Normalization {
        try await adapter.receive(delivery)
    }

    /// One string, or a list of them.
    private static func strings(_ reader: ObjectReader, _ name: MemberName) throws(JSONError) -> [String] {
        guard let value = reader.optionalValue(name) else { return [] }
        return value.kind == .string ? [try value.string()] : try value.strings()
    }
}
