import FoundationEssentials

/// The charges of a state by the periods that they paid for.
struct ChargeIndex {
    /// The known charges for a period.
    struct Payment {
        /// From when on the period is paid for; nil if it is not, as far as is known.
        var from: Int64?
        /// The charge for this product of the period alone; nil if it is not known.
        var charge: Money?
        /// The charge of the whole payment, which may cover more than this period.
        var total: Money?
        /// True if the charge is the difference after the unused part of the product before was set off.
        var isNet = false
        /// True if ``charge`` is a line of its own in the payment, from which nothing is set off.
        var isLine = false
        /// The part of each product before that the payment set off; nil if it does not say.
        var setOff: [PurchasedItem]?
        /// Which part of a whole period it was charged for.
        var part = ExactFraction.whole
        /// How much of so many whole periods it paid for, if it was for the rest of a cycle that began without the product, and says so.
        var paidPart: (share: ExactFraction, periods: Int64)?
        var isTrial = false
        /// The transaction of a charge for the rest of the period alone, from a change within it on; nil if the period's own counts.
        var change: TransactionID?
    }

    /// A charge for the rest of a period.
    private struct Change {
        var transaction: TransactionID
        var start: Int64
        /// Nil as long as it is not paid, after it failed.
        var charge: Register<Fact.Charge>?
        /// True if it failed at first: the change is not paid for before it is.
        var hasFailed = false
    }

    private let byTransaction: [TransactionID: Register<Fact.Charge>]
    private var byStart: [Int64: [Register<Fact.Charge>]] = [:]
    /// A relay's charges that do not name their period, in the order of time. A store names the period that a charge pays for.
    private var unassigned: [(at: Int64, charge: Register<Fact.Charge>)] = []
    /// The charges for changes within periods, by each product that they paid for.
    private var changes: [ProductID: [Change]] = [:]
    /// When the period begins that an order was charged for.
    private var startOfOrder: [TransactionID: Int64] = [:]
    /// How many products that wait for one charge begin at one time.
    private var beginnings: [Int64: Int] = [:]

    private mutating func note(_ change: Change, of items: [PurchasedItem]?) {
        for item in items ?? [] { changes[item.product, default: []].append(change) }
    }

    init(_ state: SubscriptionState, _ timeline: PeriodTimeline) {
        byTransaction = state.charges
        let failed = Self.failedChanges(of: state)
        for (name, charge) in state.charges.sorted(by: { $0.key < $1.key }) {
            if let start = charge.value.periodStart?.millisecondsSince1970 {
                byStart[start, default: []].append(charge)
                guard charge.by.authority != .store else { continue }
                // A relay names the period's start for a change within it, too. The time of the charge distinguishes.
                let change = Change(
                    transaction: state.transaction(named: name),
                    start: charge.value.at.millisecondsSince1970,
                    charge: charge
                )
                note(change, of: charge.value.items)
            } else if let start = charge.value.changeStart?.millisecondsSince1970 {
                let transaction = state.transaction(named: name)
                let change = Change(
                    transaction: transaction,
                    start: start,
                    charge: charge,
                    hasFailed: failed[transaction] != nil
                )
                note(change, of: charge.value.items)
            } else if !name.isEmpty, charge.by.authority != .store {
                unassigned.append((charge.value.at.millisecondsSince1970, charge))
            }
        }
        for (transaction, charge) in failed.sorted(by: { $0.key < $1.key }) where !state.isPaid(transaction) {
            guard let start = charge.changeStart?.millisecondsSince1970 else { continue }
            let change = Change(transaction: transaction, start: start, hasFailed: true)
            note(change, of: charge.items)
        }
        unassigned.sort { $0.at < $1.at }
        for period in timeline.periods {
            beginnings[period.start, default: 0] += 1
            if let order = period.transaction, startOfOrder[order] == nil { startOfOrder[order] = period.start }
        }
        for item in timeline.items where item.grantedSince <= item.start { beginnings[item.start, default: 0] += 1 }
    }

    /// The failed charges for changes within periods that are known, by their transactions.
    private static func failedChanges(of state: SubscriptionState) -> [TransactionID: Fact.Billing.FailedCharge] {
        var failed: [TransactionID: Fact.Billing.FailedCharge] = [:]
        // In a fixed order, since linked names may state one charge differently.
        for statement in state.lineages.flatMap({ state.registers[$0]?.unpaidChanges?.inOrder ?? [] }) {
            guard let charge = statement.value.charge, charge.changeStart != nil else { continue }
            failed[state.transaction(named: charge.transaction)] = charge
        }
        return failed
    }

    /// True if a product began within a period by a change whose charge failed, and is not paid.
    func isUnpaid(_ strand: Strand, among strands: [Strand], in period: PeriodTimeline.Period) -> Bool {
        guard strand.start > period.start, let change = change(to: strand, among: strands, in: period) else {
            return false
        }
        return change.charge == nil
    }

    /// The payment for a product of a period, or for the rest of the period if the product began within it.
    ///
    /// - Parameter strands: all products of the period, with their times.
    func payment(
        of strand: Strand,
        among strands: [Strand],
        in period: PeriodTimeline.Period,
        _ rules: StoreRules
    ) -> Payment {
        var payment = whole(of: strand, among: strands, in: period, rules)
        guard strand.start > period.start, let change = change(to: strand, among: strands, in: period),
            let charge = change.charge
        else { return payment }
        // Its own charge pays for it, also while the period's is open. Without a failed charge nothing waited for it.
        let at = charge.value.at.millisecondsSince1970
        payment.from = change.hasFailed ? at : min(payment.from ?? at, at)
        payment.change = change.transaction
        // Its lines are the price of the rest and what was set off. The amount alone is the price less an unknown part, so that the
        // price of the whole counts.
        payment.setOff = charge.value.setOff
        let line = charge.value.items?.first { $0.product == strand.product }?.price
        payment.charge = payment.setOff == nil ? nil : line
        payment.isLine = payment.charge != nil
        payment.total = Self.money(charge)
        payment.isNet = rules.chargesNet
        return payment
    }

    /// The charge that paid for the rest of a period under a product that began within it. The store may date the change and its
    /// charge differently, so each charge is for the nearest beginning of its product.
    private func change(to strand: Strand, among strands: [Strand], in period: PeriodTimeline.Period) -> Change? {
        guard let charges = changes[strand.product] else { return nil }
        let own = charges.filter { change in
            guard change.start >= period.start, change.start < period.end else { return false }
            let paid = change.charge?.value.periodStart?.millisecondsSince1970
            guard paid == nil || paid == period.start else { return false }
            let beginnings = strands.filter { paid != nil || $0.start > period.start }
            return Self.beginning(of: strand.product, nearestTo: change.start, in: beginnings) == strand.start
        }
        func distance(_ change: Change) -> UInt64 { (change.start - strand.start).magnitude }
        let paid = own.filter { $0.charge != nil }
        return (paid.isEmpty ? own : paid).min { distance($0) < distance($1) }
    }

    /// When the strand of a product begins that begins nearest to a moment.
    private static func beginning(of product: ProductID, nearestTo moment: Int64, in strands: [Strand]) -> Int64? {
        strands.lazy.filter { $0.product == product }.map(\.start)
            .min { (moment - $0).magnitude < (moment - $1).magnitude }
    }

    /// The payment of a period, for one of its products.
    private func whole(
        of strand: Strand,
        among strands: [Strand],
        in period: PeriodTimeline.Period,
        _ rules: StoreRules
    ) -> Payment {
        let product = strand.product
        let named = period.transaction.flatMap { byTransaction[$0] ?? byTransaction[$0.order] }
        let assigned = byStart[period.start]?.filter { charge in
            guard charge.by.authority != .store, let items = charge.value.items else { return true }
            let at = charge.value.at.millisecondsSince1970
            return items.contains { $0.product == product }
                && Self.beginning(of: product, nearestTo: at, in: strands) == strand.start
        }
        // A charge of money pays for it, next to a statement that nothing is due.
        .min { (Self.takesMoney($0) ? 0 : 1, $0.value.at) < (Self.takesMoney($1) ? 0 : 1, $1.value.at) }
        guard rules.statesUnpaidPeriods, period.by.authority == .store else {
            let charge = named ?? assigned
            // Another purchase may take over a period that was charged ahead, and runs before that begins.
            let charged = period.transaction.flatMap { startOfOrder[$0.order] }
            let begins = max(period.start, charged ?? .min)
            return Payment(
                from: period.fact.isProvisional ? nil : begins,
                charge: charge.flatMap(Self.money),
                total: charge.flatMap(Self.money),
                // No change, and so no proration, is stated of a product that joined others.
                paidPart: rules.statesUnpaidPeriods || ![nil, .proratedCharge].contains(strand.proration)
                    ? nil : charge.flatMap { Self.paidPart(for: product, in: $0.value) },
                isTrial: period.fact.phase == .trial
            )
        }
        let charge = assigned ?? named ?? first(from: period.start, before: period.end)
        if period.fact.phase == .trial, charge.map(Self.isFree) ?? true {
            return Payment(from: period.start, isTrial: true)
        }
        guard let charge else { return Payment() }
        let own = charge.value.items?.first { $0.product == product }?.price
        // A payment for several products may not state the price of each. One that states prices was not for this product alone.
        let statesParts = charge.value.items?.contains { $0.price != nil } ?? false
        let isShared = statesParts || beginnings[period.start, default: 1] > 1
        return Payment(
            from: max(period.start, charge.value.at.millisecondsSince1970),
            charge: own ?? (isShared ? nil : Self.money(charge)),
            total: Self.money(charge),
            isNet: rules.chargesNet && charge.by.authority == .store,
            isLine: own != nil,
            setOff: charge.value.setOff,
            part: Self.part(of: product, in: charge.value)
        )
    }

    private func first(from start: Int64, before end: Int64) -> Register<Fact.Charge>? {
        let index = unassigned.partitioningIndex { $0.at >= start }
        return index < unassigned.count && unassigned[index].at < end ? unassigned[index].charge : nil
    }

    /// Which part of a period a charge was for. A product that joins it later has the same.
    private static func part(of product: ProductID, in charge: Fact.Charge) -> ExactFraction {
        let items = charge.items ?? []
        let part = items.first { $0.product == product }.map(\.part) ?? items.lazy.compactMap(\.part).first
        return part.flatMap { CreditPlan.Change.ratio($0.price, of: $0.whole) } ?? .whole
    }

    /// Half a month of a plan by the year is a twenty-fourth of it, and half a year of one by the month is six of them.
    private static func paidPart(
        for product: ProductID,
        in charge: Fact.Charge
    ) -> (share: ExactFraction, periods: Int64)? {
        guard let part = charge.items?.first(where: { $0.product == product })?.part,
            let paid = CreditPlan.Amount(part.price), let whole = CreditPlan.Amount(part.whole),
            part.price.currency == part.whole.currency, paid.units > 0, whole.units > 0
        else { return nil }
        let periods = Int64(clamping: (paid.units - 1) / whole.units + 1)
        return ExactFraction(clamping: paid.units, whole.times(periods).units).map { ($0, periods) }
    }

    /// True if it took nothing for a product, whatever else it took money for.
    private static func isFree(_ charge: Register<Fact.Charge>) -> Bool {
        let parts = charge.value.items?.map(\.price) ?? [charge.value.price.money]
        return parts.allSatisfy { ($0 ?? charge.value.price.money).amount.coefficient <= 0 }
    }

    private static func takesMoney(_ charge: Register<Fact.Charge>) -> Bool { money(charge) != nil && !isFree(charge) }

    private static func money(_ charge: Register<Fact.Charge>) -> Money? {
        charge.value.price.role == .charged ? charge.value.price.money : nil
    }
}
