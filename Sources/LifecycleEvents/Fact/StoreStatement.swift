public import FoundationEssentials

/// Facts about one lineage, with their source and time. A state is joined from such statements.
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
    /// The host's statement that the signed-in user claims a purchase.
    ///
    /// Stores do not always name an account: a purchase was made without an account token, by an offer code, or by a
    /// family member. A claim binds it then. If a provider names an account of the app, under any source and at any time, that
    /// wins over any claim. A name that the store made, such as a Stripe customer or an app transaction id, is no account of the app.
    /// Between two claims the earlier counts; the other is a conflict and gives nothing. For example, Ada claims a purchase at
    /// 10:00 and Ben at 10:05: Ada has access, in either order of arrival.
    ///
    /// - Parameters:
    ///   - subscription: the lineage, which the customer has proven to know: by a transaction that the store signed, or by its
    ///     purchase token.
    ///   - account: the host's account, with the source under which the app names it to the store, such as
    ///     ``Account/Source/appAccountToken``.
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
    /// The host's statement that a purchase belongs to an account from a moment on, in place of any earlier account.
    ///
    /// A store may name another account for a purchase that continues, such as after Apple's Set App Account Token.
    /// That is a conflict and moves nothing; a handover moves it. A new purchase that the store states under another
    /// account moves by itself.
    ///
    /// - Parameters:
    ///   - subscription: the lineage.
    ///   - account: the account that has it from then on, with the source under which the app names it to the store.
    ///   - time: the beginning, by the host's clock.
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

    /// An immediate change as a fact. A period keeps the last stated product; this fact keeps the earlier one, the time
    /// of the change, and its price. Quantities and add-ons are not recorded.
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
