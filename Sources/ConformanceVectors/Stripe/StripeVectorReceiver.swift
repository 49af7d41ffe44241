package import Normalizer
import Stripe
package import WireJSON

/// Stripe's adapter as a vector, or a configuration file of the command line, configures it.
package struct StripeVectorReceiver: VectorReceiver {
    private let adapter: StripeAdapter

    /// - Parameter http: recorded answers; nil where nothing is looked up.
    package init(config: JSONValue, http: [RecordedAnswer]? = nil) throws(ConfigurationError) {
        var configuration: StripeAdapter.Configuration
        do throws(JSONError) {
            let reader = try ObjectReader(config)
            configuration = .init(signingSecrets: try (reader.optionalStrings("secrets") ?? []).map { Secret($0) })
            if let seconds = try reader.optionalInt64("toleranceSeconds") {
                configuration.tolerance = .within(.seconds(seconds))
            }
            if let isLive = try reader.optionalBool("livemode") { configuration.mode = isLive ? .live : .test }
            if let maximum = try reader.optionalInt64("maxBodyBytes") {
                configuration.maximumBodyBytes = Int(exactly: maximum) ?? configuration.maximumBodyBytes
            }
        } catch {
            throw ConfigurationError("config: \(error)")
        }
        if let http {
            var lookup = StripeAdapter.Lookup(transport: RecordedTransport(http), apiKey: Secret("rk_recorded"))
            // What was recorded answers at once or never.
            lookup.maximumAttempts = 1
            lookup.completesSnapshots = true
            configuration.lookup = lookup
        }
        adapter = try StripeAdapter(configuration)
    }

    package func receive(_ delivery: Delivery) async throws(DeliveryError) -> Normalization {
        try await adapter.receive(delivery)
    }
}
