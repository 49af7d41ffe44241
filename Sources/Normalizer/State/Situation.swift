import FoundationEssentials

/// A state at one point of its history, read once.
struct Situation {
    let timeline: PeriodTimeline
    /// The outstanding charges of each lineage. A situation keeps no copy of a state, which would be copied as it changes.
    let failedCharges: [(lineage: SubscriptionID, billing: Register<Fact.Billing>)]
    let priceChanges: [(lineage: SubscriptionID, change: Register<Fact.PriceChangeState>)]
    let intent: Register<Fact.RenewalIntent>?
    let billing: Register<Fact.Billing>?
    let pause: Register<Fact.PauseState>?
    let pendingProduct: ProductID?
    let nextProduct: Register<Fact.NextProduct>?
    /// The product that was stated as the next one, also if it is the current one.
    let statedNextProduct: ProductID?
    let transfer: Register<LifecycleEvent.Transfer>?

    /// - Parameter bound: the start of the first periods to read, see `SubscriptionState.bound(of:)`.
    init(_ state: SubscriptionState, from bound: Int64? = nil) {
        let timeline = PeriodTimeline(state, from: bound)
        self.timeline = timeline
        failedCharges = state.registers.outstanding.compactMap { lineage, registers in
            guard let billing = registers.charging, billing.value.status != .settled else { return nil }
            return (lineage, billing)
        }
        priceChanges = state.registers.outstanding.compactMap { lineage, registers in
            registers.priceChange.map { (lineage, $0) }
        }
        intent = state.renewalIntent(timeline)
        billing = state.billing(timeline)
        pause = state.pause(timeline)
        transfer = state.transfer
        let pending = timeline.newest.flatMap { state.pendingProduct(at: $0.start, timeline) }
        (pendingProduct, nextProduct) = (pending?.product, pending?.register)
        statedNextProduct = state.nextProduct(timeline)?.value.product
    }

    func priceChange(of lineage: SubscriptionID) -> Register<Fact.PriceChangeState>? {
        priceChanges.first { $0.lineage == lineage }?.change
    }
}
