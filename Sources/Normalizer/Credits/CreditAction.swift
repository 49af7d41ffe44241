public import FoundationEssentials

/// One thing to do to an account's credits.
public struct CreditAction: Hashable, Sendable, Codable, Identifiable {
    /// What to do.
    @nonexhaustive
    public enum Effect: Hashable, Sendable {
        /// Add to the bought credits; less than zero, take from what is left of the subscription's, of which too much was
        /// paid out.
        case grant(Int64)
        /// Take from the bought credits, since the money for them went back. What was used of them is owed, and counts again
        /// where the refund is undone.
        case withdraw(Int64)
        /// Replace what is left of the subscription's credits. A renewal adds nothing to what is left.
        case reset(to: Int64)
        /// Replace what is left of the subscription's credits by the share of the allowance that was paid for.
        case prorate(to: Int64)
        /// Move what is left of the subscription's credits to the bought ones, then give the share of the allowance that
        /// was paid for. One action, so that neither half is ever done without the other.
        case carryOver(to: Int64)
        /// Take away what is left of the subscription's credits.
        case revoke
    }

    /// The identity of the action: do it once.
    public var id: String
    /// What to do.
    public var effect: Effect
    /// When to do it. It lies in the future for a period that was charged ahead: a ``CreditBalance`` waits for it, and asks
    /// ``CreditPolicy/isVoid(_:in:)`` then.
    @EventTime public var effectiveAt: Date
    /// The lineage that it comes from.
    public var subscription: SubscriptionID

    private enum CodingKeys: String, CodingKey {
        case id, effect, subscription
        case effectiveAt = "effective_at"
    }
}

extension CreditAction.Effect: Codable {
    private enum CodingKeys: String, CodingKey { case type, credits }

    /// Reads `{"type":"reset","credits":200}`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func credits() throws -> Int64 { try container.decode(Int64.self, forKey: .credits) }
        switch try container.decode(String.self, forKey: .type) {
        case "grant": self = .grant(try credits())
        case "withdraw": self = .withdraw(try credits())
        case "reset": self = .reset(to: try credits())
        case "prorate": self = .prorate(to: try credits())
        case "carry_over": self = .carryOver(to: try credits())
        case "revoke": self = .revoke
        default:
            throw DecodingError.dataCorruptedError(forKey: .type, in: container, debugDescription: "unknown effect")
        }
    }

    /// Writes the form that `init(from:)` reads.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        let (type, credits): (String, Int64?) =
            switch self {
            case .grant(let credits): ("grant", credits)
            case .withdraw(let credits): ("withdraw", credits)
            case .reset(let credits): ("reset", credits)
            case .prorate(let credits): ("prorate", credits)
            case .carryOver(let credits): ("carry_over", credits)
            case .revoke: ("revoke", nil)
            }
        try container.encode(type, forKey: .type)
        try container.encodeIfPresent(credits, forKey: .credits)
    }
}
