public import FoundationEssentials

/// Facts about one lineage, with who asserted them and when: what a state is joined from.
public struct StoreStatement: Hashable, Sendable, Codable {
    /// The lineage.
    public var subscription: SubscriptionID
    /// The service that reported it.
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

extension StoreStatement {
    /// The host's word that the signed-in user calls a purchase theirs.
    ///
    /// Stores do not always say whose a purchase is: it was made without an account token, by an offer code, or by a family
    /// member. A claim binds it then. Whom a provider names under the same source, at whatever time, comes before any claim;
    /// of two claims the earlier counts. The other is a conflict and gives nothing.
    ///
    /// - Parameters:
    ///   - subscription: the lineage, which the customer has proven to know: by a transaction that the store signed, or by its
    ///     purchase token.
    ///   - account: the host's account, with the source under which the app names it to the store, such as
    ///     ``Account/Source/appAccountToken``. Under another source it stands beside what the store names, and gives access to
    ///     both.
    ///   - time: when it was claimed, by the host's clock.
    public static func claim(of subscription: SubscriptionID, by account: Account, at time: Date) -> StoreStatement {
        StoreStatement(
            subscription: subscription,
            provider: .host,
            assertedAt: time,
            facts: [.owner(account)],
            origin: Origin(
                type: "claim",
                channel: .clientUpload,
                evidence: .init(.unchecked),
                digest: "",
                mapper: "host/1"
            )
        )
    }
}

extension StoreStatement {
    /// The host's word that a purchase belongs to an account from a moment on, in place of any account before.
    ///
    /// A store may name another account for a purchase that goes on, such as after Apple's Set App Account Token. That is a
    /// conflict and moves nothing; this moves it. A new purchase that the store states under another account moves by itself.
    ///
    /// - Parameters:
    ///   - subscription: the lineage.
    ///   - account: the account that has it from then on, with the source under which the app names it to the store.
    ///   - time: from when on, by the host's clock.
    public static func handover(of subscription: SubscriptionID, to account: Account, at time: Date) -> StoreStatement {
        StoreStatement(
            subscription: subscription,
            provider: .host,
            assertedAt: time,
            facts: [.transfer(.init(from: [], to: account.identifiers))],
            origin: Origin(
                type: "handover",
                channel: .clientUpload,
                evidence: .init(.unchecked),
                digest: "",
                mapper: "host/1"
            )
        )
    }
}

extension NormalizedEvent {
    /// The store's assertions with this event; nil when it is about no lineage.
    public var statement: StoreStatement? {
        subscription.map {
            StoreStatement(
                subscription: $0,
                provider: provider,
                assertedAt: assertedAt,
                facts: facts + [productSwitch].compactMap { $0.map(Fact.productSwitch) },
                origin: origin
            )
        }
    }

    /// An immediate change as a fact: a period keeps the product that was stated last, and not what was there before, when that changed,
    /// and what it cost. Quantities and add-ons are not recorded.
    private var productSwitch: Fact.ProductSwitch? {
        guard case .productChanged(let change) = event, change.timing == .immediate, change.from != change.to,
            change.direction != .addOns, change.direction != .quantity, !change.to.isEmpty
        else { return nil }
        var stated: Fact.Period?
        for case .period(let period) in facts where period.product == change.to { stated = stated ?? period }
        guard let stated else { return nil }
        return Fact.ProductSwitch(
            periodStart: stated.period.start,
            transaction: stated.transaction,
            from: change.from,
            to: change.to,
            at: max(effectiveAt, stated.period.start),
            proration: change.proration
        )
    }
}
