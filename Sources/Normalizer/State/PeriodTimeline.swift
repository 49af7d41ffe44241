/// The periods of a state in the order of their starts, with the end or extension of each: a pure reading of the state,
/// which does not depend on the state's history.
struct PeriodTimeline {
    /// Between the end of a replaced purchase and the start of the one in its place lie seconds.
    static let replacementSlack: Int64 = 60_000
    /// How many of the following periods are searched for ones that may run next to a period.
    static let maximumBeside = 32

    struct Cut {
        var at: Int64
        var reason: LifecycleEvent.Expired.Reason
        var by: Citation
        /// True if it comes from a statement about the whole purchase, not about the period.
        var isOfPurchase = false
        /// The charge whose payment takes it back.
        var outstandingCharge: TransactionID?
        /// True if the purchase ended with the period, so that earlier ones give no access beyond it either.
        var endsPurchase = false
    }

    struct Grace {
        var until: Int64
        var by: Citation
        /// True if a later statement ended it before its time.
        var isTakenBack = false
        /// Until when the store tries the charge again.
        var triedUntil = Int64.min
    }

    struct Period {
        var start: Int64
        /// The paid end; `Int64.max` where there is none.
        var end: Int64
        /// Its end without the statements about something else that name it.
        var statedEnd: Int64
        /// True if no statement of the period itself states its end.
        var isEndInferred = false
        var entry: SubscriptionState.PeriodEntry
        /// The item that it was stated for, if the main item of the period before continues in its place.
        var statedProduct: ProductID?
        var transaction: TransactionID?
        var firstStated: Int64?
        /// When its product joined what runs next to the main one, if the store had listed that without it from the period's start.
        var addedAt: Int64?
        /// The statements about something else that name it while it runs.
        var named: SubscriptionState.Mentions
        var lineages: Set<SubscriptionID>
        /// The products that it was stated with, each with the time of its first statement.
        var products: [ProductID: Int64]
        var cut: Cut?
        /// The time of its refund, whatever statement cuts it.
        var refundedAt: Int64?
        var grace: Grace?
        /// The begin of another product's period that took the place of this one.
        var replacement: Cut?
        /// An end of the whole purchase that it is over with, also if that takes away no time that was paid for.
        var closure: Cut?
        /// A cut that a later statement of the period itself took back.
        var liftedCut: Cut?
        /// The times without access that are over, or that its end followed.
        var gaps: [Gap] = []
        /// Until when it gave access, if its end is dated before that.
        var givenUntil: Int64?
        /// Its products, if they changed while it ran.
        var stretches: [Stretch] = []
        /// The products that run next to its main one if they have no periods of their own, or if the main one ended by itself before
        /// them; and when that ended.
        var companions: [Companion] = []
        var mainProductEnd: Int64?
        /// The end of its main product by itself.
        var mainProductEndedBy: Citation?

        init(start: Int64, transaction: TransactionID?, entry: SubscriptionState.PeriodEntry) {
            self.start = start
            self.transaction = transaction
            self.entry = entry
            end = entry.fact.period.endMilliseconds
            statedEnd = end
            firstStated = entry.firstStated
            named = entry.named
            lineages = entry.lineages
            products = entry.products
        }

        var fact: Fact.Period { entry.fact }
        var by: Citation { entry.by }

        /// The first moment without access; not after `start` if the period gives none.
        var accessEnd: Int64 {
            guard end > start else { return start }
            var accessEnd = max(end, grace?.until ?? .min)
            if let cut { accessEnd = min(accessEnd, moment(of: cut)) }
            if let replacement { accessEnd = min(accessEnd, replacement.at) }
            return accessEnd
        }

        /// When an end took access away. One that is dated to the paid end says nothing of the grace that followed, which gave
        /// access until the end was stated.
        private func moment(of cut: Cut) -> Int64 {
            guard grace != nil, abs(cut.at - end) <= ServicePeriod.startTolerance else { return cut.at }
            return max(cut.at, cut.by.milliseconds)
        }

        /// True if an end says that the period was not paid for as it began, and not that it ended before its time.
        func isUnpaid(by cut: Cut) -> Bool { cut.reason == .billing && cut.at <= start }

        /// True if it is more of what another was paid for in advance.
        func tops(up other: Period) -> Bool { fact.phase == .prepaid && other.fact.phase == .prepaid }

        /// True if it is stated, or its refund shows that it was paid for.
        var isPaidFor: Bool { !fact.isProvisional || refundedAt != nil }

        /// True if its lineage has its name from it, so that the name alone may stand for any period of the lineage.
        var namesItsLineage: Bool { lineages.contains { $0.id == transaction?.rawValue } }

        /// True if it never begins: it was charged ahead, and another product came before.
        var isForestalled: Bool {
            if let replacement { return replacement.at <= start }
            return cut.map { $0.reason == .replaced && $0.at <= start } ?? false
        }

        /// True if its length differs from another's by more than months differ: it has another rhythm.
        func hasOtherRhythm(than other: Fact.Period) -> Bool {
            guard end != .max, other.period.end != nil else { return false }
            let (old, new) = (end - start, other.period.endMilliseconds - other.period.startMilliseconds)
            let (shorter, longer) = (min(old, new), max(old, new))
            return longer > shorter + shorter / 4
        }

        /// True if it was stated by a store that states no period before it has begun by the store's own clock.
        var isStatedOnceBegun: Bool { by.provider.rules.statesOnlyBegunPeriods && !fact.isProvisional }

        /// True if it was stated as one of all the items that run.
        var isStatedWithAllItems: Bool { by.provider.rules.listsAllItems && !fact.isProvisional }

        /// How long before it begins its store may have charged for it.
        var chargesAhead: Int64? { lineages.lazy.compactMap(\.store.rules.chargesAhead).first }

        /// From when on it gives access.
        var grantedSince: Int64 { addedAt ?? start }

        func grants(at time: Int64) -> Bool {
            grantedSince <= time && time < accessEnd
        }

        /// True if it continues next to a period that begins at a moment: it was neither replaced nor ended.
        func continues(at time: Int64) -> Bool { replacement == nil && cut == nil && grants(at: time) }
    }

    var periods: [Period] = []
    /// The products that were stated as additional ones.
    private var productsBeside: Set<ProductID> = []
    /// The periods of additional items, each with the period that it runs with.
    var items: [Item] = []
    /// Ends of periods that are otherwise unknown.
    var unmatchedEnds: [Register<Fact.PeriodEnd>] = []
    /// Only built if many statements name transactions; for a few, a search through the periods is faster.
    private var indexOfTransaction: [TransactionID: Int] = [:]
    private let isIndexed: Bool
    /// Transactions of periods that were billed again from the same start.
    private var furtherTransactions: [(name: TransactionID, index: Int)] = []
    /// True if all periods of the state are read.
    let isWhole: Bool
    /// The changes of product that relays announced.
    let successions: Set<Fact.Succession>
    /// Transactions that statements name, of periods that are not read.
    var transactionsBefore: [TransactionID: (start: Int64, namesItsLineage: Bool)] = [:]
    /// Starts that statements name, of periods that are not read; true for those of a period without a transaction.
    var startsBefore: [Int64: Bool] = [:]

    /// - Parameters:
    ///   - state: the state to read.
    ///   - bound: the start of the first periods to read, see `SubscriptionState.bound(of:)`; nil to read all of them.
    init(_ state: SubscriptionState, from bound: Int64? = nil) {
        isIndexed = state.ends.count + state.refunds.count > 8
        isWhole = bound == nil || state.periodOrder == nil
        successions = state.successions
        // Each step reads what those before it have found.
        let ends = gather(state, from: bound)
        applyStatementsInPassing(of: state)
        applyOwnEnds(ends, of: state)
        applyGraces(of: state)
        applyEndsByOthers(of: state)
        applyItems(of: state)
        applyPast(of: state)
    }

    /// Gathers the periods as they were stated themselves.
    ///
    /// - Returns: the ends that may be of one of them.
    private mutating func gather(_ state: SubscriptionState, from bound: Int64?) -> [Register<Fact.PeriodEnd>] {
        if let bound, let order = state.periodOrder {
            let read = order.keys(from: bound).compactMap { key in state.periods[key].map { (key, $0) } }
            gather(read)
            let ends = state.ends.about(read.map(\.1), from: bound)
            note(ends, before: bound, in: state)
            return ends
        }
        gather(state.periods.filter { $0.value.fact.item == nil || $0.value.fact.isBeside }.map { ($0.key, $0.value) })
        for entry in state.periods.values where entry.fact.item != nil { productsBeside.insert(entry.fact.product) }
        keepMainItems(state.periods)
        return Array(state.ends.all)
    }

    /// All transactions that a period is known by.
    func transactions(of index: Int) -> [TransactionID] {
        [periods[index].transaction].compactMap(\.self)
            + furtherTransactions.filter { $0.index == index }.map(\.name)
    }

    /// The period that gives access at a moment. Of several it is the main product's, and of those the one that began last.
    func granting(at time: Int64) -> Period? {
        guard let last = periods.last(where: { $0.gave(at: time) }) else { return nil }
        guard isBeside(last) else { return last }
        return periods.last { $0.gave(at: time) && !isBeside($0) } ?? last
    }

    /// True if a period is of an additional product. A payment alone does not say so.
    func isBeside(_ period: Period) -> Bool {
        period.fact.isBeside || period.fact.isProvisional && productsBeside.contains(period.fact.product)
    }

    /// The period that a statement names: by its transaction, else by its start, which is the nearest within the
    /// tolerance. A statement without a transaction and without a near period is about the last period that starts
    /// before. A statement with an unknown transaction is about no period yet: it does not end the one before.
    func index(transaction: TransactionID?, start: Int64?) -> Int? {
        if let transaction, !transaction.isEmpty {
            let named =
                isIndexed
                ? indexOfTransaction[transaction]
                : furtherTransactions.last { $0.name == transaction }?.index
                    ?? periods.lastIndex { $0.transaction == transaction }
            if let named {
                // Some senders keep the transaction of the first period for those that follow, or that take its place.
                guard let start, abs(start - periods[named].start) > ServicePeriod.startTolerance else { return named }
                let isNamed = !periods[named].namesItsLineage
                if let begun = beginning(at: start, named: isNamed) { return begun }
                guard let isUnnamed = startsBefore[start] else { return named }
                return isUnnamed || !isNamed ? nil : named
            }
            if let before = transactionsBefore[transaction] {
                guard let start, abs(start - before.start) > ServicePeriod.startTolerance else { return nil }
                return beginning(at: start, named: !before.namesItsLineage)
            }
        }
        guard let start else { return nil }
        let next = periods.partitioningIndex { $0.start > start }
        let previous = next > 0 ? next - 1 : nil
        if next < periods.count, periods[next].start - start <= ServicePeriod.startTolerance {
            guard let previous, start - periods[previous].start <= periods[next].start - start else { return next }
        }
        guard let previous, let transaction, !transaction.isEmpty else { return previous }
        return start - periods[previous].start <= ServicePeriod.startTolerance ? previous : nil
    }

    /// The period that begins at a moment, give or take the tolerance.
    ///
    /// - Parameter isNamed: true to leave out those with a transaction of their own, which could have been named.
    private func beginning(at start: Int64, named isNamed: Bool) -> Int? {
        periods.lastIndex {
            ($0.transaction == nil || !isNamed) && abs($0.start - start) <= ServicePeriod.startTolerance
        }
    }

    func period(transaction: TransactionID?, start: Int64?) -> Period? {
        index(transaction: transaction, start: start).map { periods[$0] }
    }

    /// The last period that has begun by a moment; one that another product came before never does.
    func lastBegun(by time: Int64) -> Int? { periods.lastIndex { $0.start <= time && !$0.isForestalled } }

    /// The last period that was stated of a lineage.
    func last(of lineage: SubscriptionID) -> Period? { periods.last { $0.lineages.contains(lineage) } }

    // Statements of one transaction are one entry already. Entries of one start are one period too: a store may bill a
    // period again when its product changes, and some channels name no transaction.
    private mutating func gather(
        _ listed: [(key: SubscriptionState.PeriodKey, value: SubscriptionState.PeriodEntry)]
    ) {
        let order = listed.indices.map { (listed[$0].value.fact.period.startMilliseconds, $0) }
            .sorted { one, other in
                if one.0 != other.0 { return one.0 < other.0 }
                // The main product's is the last that begins at a moment.
                let (left, right) = (listed[one.1].value.fact.isBeside, listed[other.1].value.fact.isBeside)
                return left == right ? listed[one.1].key < listed[other.1].key : left
            }
        periods.reserveCapacity(listed.count)
        for (start, position) in order {
            let entry = listed[position].value
            let transaction = entry.fact.transaction.flatMap { $0.isEmpty ? nil : $0 }
            guard let last = periods.indices.last, joins(entry, from: start, transaction, to: periods[last]) else {
                if isIndexed, let transaction { indexOfTransaction[transaction] = periods.count }
                periods.append(Period(start: start, transaction: transaction, entry: entry))
                continue
            }
            periods[last].lineages.formUnion(entry.lineages)
            periods[last].products.merge(entry.products, uniquingKeysWith: min)
            periods[last].firstStated = [periods[last].firstStated, entry.firstStated]
                .compactMap(\.self).min()
            periods[last].named.merge(entry.named)
            let known = periods[last].transaction
            if periods[last].entry.statement.latest.precedes(entry.statement.latest) {
                periods[last].entry = entry.completed(by: periods[last].entry)
                periods[last].end = entry.fact.period.endMilliseconds
                periods[last].statedEnd = periods[last].end
                periods[last].transaction = transaction ?? known
            } else {
                periods[last].entry = periods[last].entry.completed(by: entry)
                periods[last].transaction = known ?? transaction
            }
            for name in [known, transaction].compactMap(\.self) {
                furtherTransactions.append((name, last))
                if isIndexed { indexOfTransaction[name] = last }
            }
        }
    }

    private func joins(
        _ entry: SubscriptionState.PeriodEntry,
        from start: Int64,
        _ transaction: TransactionID?,
        to period: Period
    ) -> Bool {
        if entry.fact.isBeside || isBeside(period) {
            return start == period.start && entry.fact.product == period.fact.product
        }
        // Named in passing, and without the transaction: a start in the middle of a period is that of the period, less exactly.
        if transaction == nil, entry.fact.isProvisional, !entry.named.inOrder.isEmpty, !period.fact.isProvisional,
            start < period.end, entry.fact.product == period.fact.product
        {
            return true
        }
        if start == period.start {
            guard let transaction, let known = period.transaction, transaction != known else { return true }
            // A period of which only the end is known need not begin there, with its successor.
            return !entry.isEndAlone && !period.entry.isEndAlone
        }
        return start - period.start <= ServicePeriod.startTolerance && (transaction == nil || period.transaction == nil)
    }

    /// A moment by the store's clock, as far as it shows: a period that lay ahead when it was stated has begun by the
    /// clock that the store dates the customer's refunds and events with.
    func reached(_ moment: Int64) -> Int64 {
        periods.reduce(moment) { reached, period in
            period.isStatedOnceBegun && period.by.milliseconds < period.start ? max(reached, period.start) : reached
        }
    }

    /// True if another product's period began when one ended, or more of what is paid in advance: it took its place, whatever the end
    /// says of itself.
    func isFollowedAtOnce(_ period: Period, endedAt moment: Int64) -> Bool {
        periods.contains { other in
            other.start > period.start && !other.fact.isProvisional
                && (other.fact.product != period.fact.product || other.tops(up: period))
                && (other.start - moment).magnitude <= UInt64(Self.replacementSlack)
        }
    }

    /// The period of an additional product that is billed in a rhythm of its own.
    func indexBeside(_ product: ProductID, _ start: Int64) -> Int? {
        periods.firstIndex { $0.fact.isBeside && $0.start == start && $0.fact.product == product }
    }
}

extension SubscriptionState.PeriodEntry {
    /// True if it is inferred from its own end.
    fileprivate var isEndAlone: Bool {
        fact.isProvisional && fact.period.startMilliseconds == fact.period.endMilliseconds
    }
}

extension PeriodTimeline.Period {
    /// True if it is a part of an order's period, or goes on of it under another name.
    func continues(_ order: TransactionID) -> Bool { transaction.map { $0.continues(order) } ?? false }

    /// True if a statement is of this very transaction, and one of the two leaves out the base plan of the product.
    func names(_ other: Fact.Period) -> Bool {
        transaction != nil && transaction == other.transaction
            && fact.product.differsInPlanAlone(from: other.product)
    }
}
