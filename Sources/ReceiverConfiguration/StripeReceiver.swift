package import FoundationEssentials
package import HTTPTransport
package import Normalizer
package import Stripe
package import WireJSON

/// Stripe's adapter as a configuration in JSON sets it up.
package struct StripeReceiver: ConfiguredReceiver {
    package static let memberNames: Set = ["secrets", "toleranceSeconds", "livemode", "kind", "policy"]

    package let adapter: StripeAdapter
    /// True if the body names the purchase to ask about, and is no event.
    private let isQuestion: Bool

    /// - Parameter answers: the provider's answers, at once or never; nil for no look-ups.
    package init(config: JSONValue, answers: (any HTTPTransportProtocol)? = nil) throws(ConfigurationError) {
        var configuration: StripeAdapter.Configuration
        let policy: JSONValue?
        do throws(JSONError) {
            let reader = try ObjectReader(config)
            switch try reader.optionalString("kind") {
            case nil, "webhook": isQuestion = false
            case "question": isQuestion = true
            default: throw try reader.value("kind").error(.missing)
            }
            policy = reader.optionalValue("policy")
            configuration = .init(signingSecrets: try (reader.optionalStrings("secrets") ?? []).map { SecretBytes($0) })
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
        if let answers {
            var lookup = StripeAdapter.Lookup(transport: answers, apiKey: SecretBytes("rk_recorded"))
            // A recorded answer comes at once or never.
            lookup.maximumAttempts = 1
            lookup.completesSnapshots = true
            configuration.lookup = lookup
        }
        configuration.policy = try StripeAdapter.Policy(policy)
        adapter = try StripeAdapter(configuration)
    }

    package func receive(_ delivery: Delivery) async throws(DeliveryError) -> Normalization {
        guard isQuestion else { return try await adapter.receive(delivery) }
        let question: (kind: StripePurchase.Kind, id: String, account: String?)
        do throws(JSONError) {
            let reader = try ObjectReader(parsing: delivery.body)
            guard let kind = StripePurchase.Kind(rawValue: try reader.string("kind")) else {
                throw try reader.value("kind").error(.missing)
            }
            question = (kind, try reader.string("id"), try reader.optionalString("account"))
        } catch {
            throw DeliveryError(.malformed, "body: \(error)", underlying: error)
        }
        return try await ask(question.kind, question.id, account: question.account, at: delivery.receivedAt)
    }

    package static let asksSimulator = true
    package var questions: (any LineageQuestions)? { adapter }

    package func ask(path: [String], at time: Date) async throws(DeliveryError) -> Normalization? {
        switch (path[0], path[1]) {
        case ("v1", "subscriptions"): try await ask(.subscription, path[2], at: time)
        case ("checkout", "sessions"): try await ask(.checkoutSession, path[2], at: time)
        default: nil
        }
    }

    /// Asks about a purchase.
    package func ask(
        _ kind: StripePurchase.Kind,
        _ id: String,
        account: String? = nil,
        at time: Date
    ) async throws(DeliveryError) -> Normalization {
        switch kind {
        case .subscription: try await adapter.receive(subscription: id, account: account, receivedAt: time)
        case .checkoutSession: try await adapter.receive(checkoutSession: id, account: account, receivedAt: time)
        }
    }
}
