public import FoundationEssentials

/// Facts about one lineage, with who asserted them and when: what a state is joined from.
public struct StoreStatement: Hashable, Sendable, Codable {
    /// The lineage.
    public var subscription: SubscriptionID
    /// Who told us.
    public var provider: Provider
    /// When the store signed or created the statement.
    @EventTime public var assertedAt: Date
    /// The facts.
    public var facts: [Fact]
    /// Where the statement comes from.
    public var origin: Origin

    /// Makes a statement.
    public init(subscription: SubscriptionID, provider: Provider, assertedAt: Date, facts: [Fact], origin: Origin) {
        self.subscription = subscription
        self.provider = provider
        self.assertedAt = assertedAt
        self.facts = facts
        self.origin = origin
    }

    private enum CodingKeys: String, CodingKey {
        case subscription, provider, facts, origin
        case assertedAt = "asserted_at"
    }
}

extension NormalizedEvent {
    /// What the store asserted with this event; nil when it is about no lineage.
    public var statement: StoreStatement? {
        subscription.map {
            StoreStatement(subscription: $0, provider: provider, assertedAt: assertedAt, facts: facts, origin: origin)
        }
    }
}
