import FoundationEssentials

extension CreditPlan {
    /// A stretch of a period under one product: the whole of it, unless a product takes the place of another in the middle.
    struct Tenure {
        var product: ProductID
        var allowance: CreditPolicy.Allowance?
        var phase: PeriodPhase
        var ownership: Fact.Ownership
        var lineage: SubscriptionID
        /// When it begins, and when the whole period does; after a change within a cycle, the cycle.
        var start: Int64
        var periodStart: Int64
        /// The paid end.
        var end: Int64
        /// Until when its charge is for, as the rest of a cycle, if the end may have been put off since; else nil.
        var chargedEnd: Int64?
        /// The end that its instalments were paid for, if the paid end was put off since: the last one of them lasts longer then.
        var instalmentsEnd: Int64?
        /// False if only what ended its period is known, which may have been paid for longer.
        var isEndStated = true
        /// The first moment without access.
        var accessEnd: Int64
        /// When access ended that was given again since: a tenure that waited for a payment until then waits no more.
        var brokenAt: Int64?
        /// When credits begin to count; nil if they wait for a payment.
        var from: Int64?
        /// The store's charge, net of the amount that was set off at the change that it began with, where `isNet`.
        var charge: Money?
        /// The whole payment, if it paid for others too.
        var total: Money?
        /// The transaction that paid for it alone, as the rest of a period after a change; nil if the period's payment did.
        var change: TransactionID?
        var isNet = false
        /// True if ``charge`` is the product's own line of a payment, from which nothing is set off.
        var isLine = false
        /// The part of each product before that its payment set off; nil if the store does not say.
        var setOff: [PurchasedItem]?
        /// Which part of a whole period its period was charged for.
        var part = ExactFraction.whole
        /// How much of so many whole periods its charge paid for, if the charge says so.
        var paidPart: (share: ExactFraction, periods: Int64)?
        /// True if it is the rest of a period that began without it.
        var isRest = false
        /// True if it is of an item next to the main product.
        var isItem = false
        /// True if it ended before its period did.
        var isDropped = false
        /// How the change at its beginning was paid for, if stated.
        var proration: LifecycleEvent.ProductChange.Proration?
        var isRestored = false
        /// Its refunds: how much, and when.
        var refunds: [(at: Int64, share: ExactFraction)] = []
        /// The tenure whose payment it continues to use; nil if it has its own.
        var root: Int?
        /// The time of its end, for another reason than a change; nil if a change may set off its unused part.
        var overSince: Int64?
        /// True if its order is that of a renewal.
        var isRenewalOrder = false
        var id: CreditGrant.ID

        // Worked out one after the other:
        /// The tenure that it replaced at once.
        var before: Int?
        /// The tenure that replaced it at once.
        var after: Int?
        /// Its worth when it began; nil if no price is known.
        var worth: Money?
        /// Which share of that was paid, and not set off.
        var share = ExactFraction.whole
        /// True if it continues the credits of the tenure that it replaced.
        var keepsCredits = false
        var payment = 0
        /// When its credits end; the rest is kept if it is carried over.
        var stop: Int64 = .max
        var isCarriedOver = false

        var rules: StoreRules { lineage.store.rules }
        var isPaid: Bool { from != nil }
    }

    mutating func addPeriods(
        of state: SubscriptionState,
        at index: Int,
        under policy: CreditPolicy,
        until horizon: Int64
    ) {
        var reading = TenureReading(state, policy)
        guard !reading.tenures.isEmpty else { return }
        reading.link()
        for position in reading.tenures.indices {
            reading.tenures[position].payment = payments.count
            payments.append(Payment(name: reading.tenures[position].id.rawValue))
            guard let before = reading.tenures[position].before else { continue }
            value(&reading, at: position, after: before)
        }
        reading.findStops(policy)
        for tenure in reading.tenures { add(tenure, state: index, under: policy, until: horizon) }
        addRefunds(of: state, reading)
    }

    // MARK: Changes

    /// Sets off the unused part of a tenure against its successor.
    private mutating func value(
        _ reading: inout TenureReading,
        at position: Int,
        after before: Int
    ) {
        let (old, new) = (reading.tenures[before], reading.tenures[position])
        let payment = new.payment
        let change = Change(from: old, to: new)
        reading.tenures[position].worth = change.worth
        reading.tenures[position].share = change.share
        reading.tenures[position].keepsCredits = change.keepsCredits
        if change.setOff != .none { payments[payment].setOff = (old.payment, change.setOff) }
        if change.returned != .none {
            takings.append(
                Taking(
                    payment: old.payment,
                    at: new.from ?? new.start,
                    fraction: change.returned,
                    isOfChange: true,
                    reachesBack: true
                )
            )
        }
    }

    // MARK: Grants

    private mutating func add(_ tenure: Tenure, state: Int, under policy: CreditPolicy, until horizon: Int64) {
        guard let from = tenure.from, let full = tenure.credits, !tenure.keepsCredits else { return }
        let all = Int128(full) * Int128(tenure.paidPart?.periods ?? 1)
        func add(_ number: Int?, from: Int64, until: Int64, part: ExactFraction) {
            guard from < until, from <= horizon else { return }
            let share = tenure.share.multiplied(by: part)
            guard let credits = share.applied(to: all, policy.rounding).map({ Int64(clamping: $0) }) else { return }
            let reason: CreditGrant.Reason =
                tenure.isRestored
                ? .restored
                : tenure.paidPart != nil || tenure.before != nil && tenure.share != .whole
                    ? .proratedChange : tenure.phase == .trial ? .trial : number.map { .instalment($0) } ?? .period
            let isLast = until == tenure.stop
            grants.append(
                Grant(
                    id: number.map { $0 > 0 ? CreditGrant.ID(rawValue: "\(tenure.id.rawValue)/\($0)") : tenure.id }
                        ?? tenure.id,
                    state: state,
                    product: tenure.product,
                    credits: credits,
                    from: from,
                    until: until,
                    reason: reason,
                    payment: tenure.payment,
                    isCarriedOver: isLast && tenure.isCarriedOver,
                    isOfChange: tenure.before != nil
                )
            )
        }
        let stop = tenure.stop
        let schedule = tenure.phase == .trial ? nil : tenure.schedule
        guard let schedule else { return add(nil, from: from, until: stop, part: tenure.extent) }
        var slot = schedule.slot(at: Date(millisecondsSince1970: max(from, tenure.start)))
        while let current = slot {
            let (start, end) = (current.period.startMilliseconds, current.period.endMilliseconds)
            guard start < stop, start <= horizon else { return }
            let next = schedule.slot(current.index + 1)
            let part = start < tenure.start ? Self.rest(of: (start, end), from: tenure.start) : .whole
            // Until the last instalment ends with the access, which grace or a later end may prolong.
            add(current.index, from: max(start, from), until: next == nil ? stop : min(end, stop), part: part)
            slot = next
        }
    }

    /// How much of a stretch is left at a moment.
    static func rest(of stretch: (start: Int64, end: Int64), from moment: Int64) -> ExactFraction {
        guard stretch.end < .max else { return .whole }
        return ExactFraction(
            clamping: Int128(stretch.end) - Int128(moment),
            Int128(stretch.end) - Int128(stretch.start)
        )
            ?? .whole
    }

    // MARK: Refunds

    private mutating func addRefunds(of state: SubscriptionState, _ reading: TenureReading) {
        for register in state.refundsOfTransactions {
            for position in reading.tenures(paidByTransactionOf: register.value) {
                let tenure = reading.tenures[position]
                guard let fraction = Self.fraction(register.value, of: tenure.product, charge: tenure.total) else {
                    continue
                }
                takings.append(
                    Taking(
                        payment: tenure.payment,
                        at: register.value.at.millisecondsSince1970,
                        fraction: fraction,
                        reachesBack: !tenure.isNet
                    )
                )
            }
        }
    }

    /// The share of a product's payment that a refund returned; nil if it returned nothing, or an unknown share.
    static func fraction(
        _ refund: Fact.RefundState,
        of product: ProductID,
        charge: Money?,
        quantity: Int64 = 1
    ) -> ExactFraction? {
        guard let items = refund.items else {
            return refund.scope.flatMap { fraction($0, of: charge, quantity: quantity, refund.endsAccess) }
        }
        guard refund.scope != nil, let item = items.first(where: { $0.product == product }) else { return nil }
        return fraction(item.scope, of: nil, refund.endsAccess)
    }

    /// The items that a percentage stands for, which stores round: 0.33333 of three is one. Nil if it stands for none.
    private static func wholeItems(_ share: ExactDecimal, of quantity: Int64) -> ExactFraction? {
        let digits: Int128 = 100_000
        guard quantity > 1, let parts = share.coefficient(scale: 5), 0...digits ~= parts else { return nil }
        let (items, rest) = (parts * Int128(quantity) + digits / 2).quotientAndRemainder(dividingBy: digits)
        guard items > 0, abs(rest - digits / 2) <= Int128(quantity) else { return nil }
        return ExactFraction(clamping: items, Int128(quantity))
    }

    /// Which share of a payment went back; nil if that is not known.
    private static func fraction(
        _ scope: LifecycleEvent.Refund.Scope,
        of charge: Money?,
        quantity: Int64 = 1,
        _ endsAccess: Bool
    ) -> ExactFraction? {
        switch scope {
        case .full: .whole
        case .fraction(let share):
            wholeItems(share, of: quantity)
                ?? share.coefficient(scale: 38).flatMap { ExactFraction(clamping: $0, ExactDecimal.power(38)) }
        case .quantity(let number): ExactFraction(clamping: Int128(number), Int128(quantity))
        case .amount(let amount):
            if let charge, charge.currency == amount.currency, charge.amount.coefficient > 0 {
                Change.ratio(amount, of: charge)
            } else {
                endsAccess ? .whole : nil
            }
        }
    }
}

extension CreditPlan.Tenure {
    /// Which part of a whole period it is, or of several.
    var extent: ExactFraction {
        if let paidPart { return paidPart.share }
        return isRest
            ? CreditPlan.rest(of: (periodStart, chargedEnd ?? end), from: start).multiplied(by: part)
            : part
    }

    /// When its instalments are due, if it gives any. Those of a part of a period are the last ones of the whole.
    fileprivate var schedule: AllowanceSchedule? {
        guard let every = allowance?.every else { return nil }
        let begin = Date(millisecondsSince1970: periodStart)
        guard end < .max else { return AllowanceSchedule(from: begin, every: every) }
        let end = Date(millisecondsSince1970: min(end, instalmentsEnd ?? end))
        let ofPart = part == .whole ? nil : AllowanceSchedule(endingWithStepAt: end, over: begin, every: every)
        return ofPart ?? AllowanceSchedule(from: begin, every: every, until: end)
    }

    /// Its credits in full; nil if its product gives none.
    var credits: Int64? {
        guard let allowance else { return nil }
        if ownership == .familyShared { return allowance.familySharedCredits }
        return phase == .trial ? allowance.trialCredits ?? allowance.credits : allowance.credits
    }
}
