public import FoundationEssentials

/// A lineage at a moment, as a backend shows it to its customer.
public struct SubscriptionSnapshot: Hashable, Sendable, Codable {
    /// One word for the situation.
    @nonexhaustive
    public enum Status: String, Hashable, Sendable, Codable {
        /// Nothing that gives access was ever stated.
        case none
        /// The period or pass that gives access begins later.
        case notBegun = "not_begun"
        /// A free trial runs.
        case trial
        /// A paid or granted period runs, or a product bought once is owned.
        case active
        /// A charge failed; access continues in a grace period.
        case grace
        /// A charge failed; the store tries again, without access.
        case billingRetry = "billing_retry"
        /// The subscription is paused.
        case paused
        /// The period has ended, and the store has not reported yet if it renewed.
        case renewalDue = "renewal_due"
        /// Access ended because the money went back.
        case refunded
        /// Access ended.
        case expired
    }

    /// One word for the situation.
    public var status: Status
    /// The decision on access, with its end and its reason.
    public var access: AccessDecision
    /// The product of the current period, or of the last one.
    public var product: ProductID?
    /// The terms of the current period, or of the last one.
    public var phase: PeriodPhase?
    /// The current period with its paid end, or the last one.
    public var period: ServicePeriod?
    /// The commitment to several payments that the period is paid under.
    public var commitment: Commitment?
    /// A period that is paid already and begins later.
    public var nextPeriod: ServicePeriod?
    /// True if the store will try to renew; absent if it was never said.
    public var willRenew: Bool?
    /// Why it will not renew, if it will not and the reason is stated.
    public var willNotRenewBecause: LifecycleEvent.AutoRenewDisabled.Reason?
    /// The product that takes the place of the current one when its period ends.
    public var pendingProduct: ProductID?
    /// When the pause that is on or planned ends by itself.
    @OptionalEventTime public var resumesAt: Date?
    /// The price change under way.
    public var priceChange: LifecycleEvent.PriceChange?
    /// When to look again; absent if no change is known.
    @OptionalEventTime public var nextTransition: Date?

    private enum CodingKeys: String, CodingKey {
        case status, access, product, phase, period, commitment
        case nextPeriod = "next_period"
        case willRenew = "will_renew"
        case willNotRenewBecause = "will_not_renew_because"
        case pendingProduct = "pending_product"
        case resumesAt = "resumes_at"
        case priceChange = "price_change"
        case nextTransition = "next_transition"
    }
}

extension SubscriptionState {
    /// The lineage at `time`.
    public func snapshot(at time: Date) -> SubscriptionSnapshot {
        let moment = time.millisecondsSince1970
        let timeline = PeriodTimeline(self)
        let access = access(at: moment, timeline)
        let current =
            timeline.granting(at: moment) ?? timeline.lastBegun(by: moment).map { timeline.periods[$0] }
            ?? timeline.periods.first
        // An item that continues after the end of the subscription's main item.
        let item = timeline.granting(at: moment) == nil ? timeline.items.last { $0.gave(at: moment) } : nil
        let product = item?.entry.fact.product ?? current?.product(at: moment) ?? access.product
        let pending = pendingProduct(at: moment, timeline)?.product
        let intent = renewalIntent(timeline)?.value
        let willRenew = intent?.willRenew(after: timeline.periods.last { !$0.isForestalled && !timeline.isBeside($0) })
        let pause = pause(timeline)
        return SubscriptionSnapshot(
            status: status(access, at: moment, timeline),
            access: access,
            product: product,
            phase: current?.phase(at: moment),
            period: current?.fact.period,
            commitment: current?.fact.commitment,
            nextPeriod: timeline.periods.first { $0.start > moment && $0.accessEnd > $0.start }?.fact.period,
            willRenew: willRenew ?? impliedWillRenew(timeline),
            willNotRenewBecause: willRenew == false ? intent?.reason : nil,
            pendingProduct: pending == product ? nil : pending,
            resumesAt: pause.flatMap { $0.value.status == .none ? nil : $0.value.resumesAt },
            priceChange: priceChange(timeline)?.value.change,
            nextTransition: nextTransition(after: moment, timeline).map { Date(millisecondsSince1970: $0) }
        )
    }

    /// True where a renewal overtook the failed charge that had turned renewal off; nil if nothing was ever said.
    private func impliedWillRenew(_ timeline: PeriodTimeline) -> Bool? {
        newestRegisters(timeline).contains { $0.intent?.value.reason == .billing } ? true : nil
    }

    private func status(
        _ access: AccessDecision,
        at time: Int64,
        _ timeline: PeriodTimeline
    ) -> SubscriptionSnapshot.Status {
        switch access {
        case .granted(_, let grant):
            if grant.basis == .grace { return .grace }
            if let period = timeline.granting(at: time), timeline.isInGrace(period, at: time, in: self) {
                return .grace
            }
            return grant.phase == .trial ? .trial : .active
        case .denied(_, let denial):
            switch denial.reason {
            case .never: return .none
            case .notBegun: return .notBegun
            case .renewalDue: return .renewalDue
            case .paused: return .paused
            case .refunded: return .refunded
            case .billing: return isTried(at: time, timeline) ? .billingRetry : .expired
            case .customer, .priceIncreaseDeclined, .productUnavailable, .replaced, .developer, .unknown:
                return .expired
            }
        }
    }
}
