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
        var entry: SubscriptionState.PeriodEntry
        /// The item that it was stated for, if the main item of the period before continues in its place.
        var statedProduct: ProductID?
        var transaction: TransactionID?
        var firstStated: Int64?
        /// The last statement about something else that names it while it runs.
        var named: Assertion<Fact.Period>?
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
        /// The products that run next to its main one, and when that ended by itself.
        var companions: [Companion] = []
        var mainProductEnd: Int64?
        /// The end of its main product by itself.
        var mainProductEndedBy: Citation?

        init(start: Int64, transaction: TransactionID?, entry: SubscriptionState.PeriodEntry) {
            self.start = start
            self.transaction = transaction
            self.entry = entry
            end = entry.fact.period.endMilliseconds
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

        func grants(at time: Int64) -> Bool {
            start <= time && time < accessEnd
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
    private(set) var unmatchedEnds: [Register<Fact.PeriodEnd>] = []
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
        let ends: [Register<Fact.PeriodEnd>]
        if let bound, let order = state.periodOrder {
            let read = order.keys(from: bound).compactMap { key in state.periods[key].map { (key, $0) } }
            gather(read)
            ends = state.ends.about(read.map(\.1), from: bound)
            note(ends, before: bound, in: state)
        } else {
            ends = Array(state.ends.all)
            gather(
                state.periods.filter { $0.value.fact.item == nil || $0.value.fact.isBeside }.map { ($0.key, $0.value) }
            )
            for entry in state.periods.values where entry.fact.item != nil { productsBeside.insert(entry.fact.product) }
            keepMainItems(state.periods)
        }
        gatherCompanions()
        applyNamedPeriods(of: state)
        apply(ends, in: state)
        applyRefunds(of: state)
        applyEarlyChanges()
        for (lineage, registers) in state.registers.outstanding {
            if let billing = registers.charging { applyGrace(billing, lineage: lineage) }
        }
        if newestIndex.map({ periods[$0].grace == nil }) ?? false {
            for (lineage, registers) in state.registers.outstanding where registers.hadGrace {
                applyLapsedGrace(registers, lineage: lineage)
            }
        }
        for (lineage, registers) in state.registers.outstanding where registers.hadGrace {
            applyPastGraces(registers, lineage: lineage)
        }
        applyEndsOfPurchases()
        applyClosures(of: state)
        applyReplacements()
        applyRemovals()
        if isWhole { gatherItems(of: state) }
        applyEndsOfMainItems(of: state)
        applyInterruptions(of: state)
        applyRetries(of: state)
        applyWithdrawals(of: state)
        interruptItems()
        applySwitches(of: state)
    }

    /// The newest period that was stated itself, the subject of the registers. It may begin in the future.
    var newest: Period? { newestIndex.map { periods[$0] } }

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

    func period(before start: Int64) -> Period? { lastBegun(by: start - 1).map { periods[$0] } }

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
            periods[last].named = [periods[last].named, entry.named].compactMap(\.self).max { $0.precedes($1) }
            let known = periods[last].transaction
            if periods[last].entry.statement.latest.precedes(entry.statement.latest) {
                periods[last].entry = entry.withTerms(of: periods[last].entry)
                periods[last].end = entry.fact.period.endMilliseconds
                periods[last].transaction = transaction ?? known
            } else {
                periods[last].entry = periods[last].entry.withTerms(of: entry)
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
        if transaction == nil, entry.fact.isProvisional, entry.named != nil, !period.fact.isProvisional,
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

    private mutating func apply(_ ends: [Register<Fact.PeriodEnd>], in state: SubscriptionState) {
        var latest: [Int: Register<Fact.PeriodEnd>] = [:]
        var unpaid: [Int: Register<Fact.PeriodEnd>] = [:]
        for register in ends {
            let start = register.value.start.millisecondsSince1970
            if let item = register.value.item {
                if let index = indexBeside(item, start) { latest[index] = register }
                continue
            }
            guard let index = index(transaction: register.value.transaction, start: start) else {
                unmatchedEnds.append(register)
                continue
            }
            guard !leaves(index, register) else { continue }
            let isUnpaid = register.value.isOfUnpaidPeriod
            if let known = isUnpaid ? unpaid[index] : latest[index], register.latest.precedes(known.latest) { continue }
            if isUnpaid { unpaid[index] = register } else { latest[index] = register }
        }
        // A period that is still not paid for ended as it began, whichever end is stated later.
        for (index, register) in unpaid
        where latest[index] == nil || !lifts(Cut(register.latest), periods[index], in: state) {
            latest[index] = register
        }
        for (index, register) in latest {
            let cut = Cut(register.latest)
            if lifts(cut, periods[index], in: state) {
                periods[index].liftedCut = cut
            } else {
                periods[index].cut = cut
            }
        }
    }

    // A statement of the period itself that is later than its end, and by no lesser authority, takes the end back. So
    // does the reversal of the refund that had ended it, and the payment for want of which it had ended: charges are paid once,
    // so that no order of the two matters.
    private func lifts(_ cut: Cut, _ period: Period, in state: SubscriptionState) -> Bool {
        if let charge = cut.outstandingCharge, state.isPaid(charge) { return true }
        // One that leaves nothing of the period can only be for want of the period's own charge, even if it does not name that.
        if cut.reason == .billing, cut.outstandingCharge == nil, cut.at <= period.start,
            state.payment(from: period.start, before: period.end, since: cut.by) != nil
        {
            return true
        }
        if cut.reason == .refunded, let transaction = period.transaction,
            state.isRestored(transaction, since: cut.by)
        {
            return true
        }
        // Webhooks of one moment have times of their own, and a purchase is no payment.
        if period.isUnpaid(by: cut), period.by.isOfMoment(of: cut.by) { return false }
        return !period.fact.isProvisional && period.end > cut.at
            && (period.by.takesBack(cut.by, mayLag: cut.mayLag) || period.entry.statement.wasTaken(after: cut.by))
    }

    private mutating func applyRefunds(of state: SubscriptionState) {
        for register in state.refunds.values {
            let refund = register.value
            guard refund.scope != nil, refund.endsAccess, !state.isLeftOut(register), !state.leavesAccess(register),
                let index = index(
                    transaction: state.transaction(named: refund.transaction),
                    start: refund.periodStart?.millisecondsSince1970 ?? state.chargedStart(of: refund.transaction)
                )
            else { continue }
            let cut = Cut(
                at: refund.at.millisecondsSince1970,
                reason: .refunded,
                by: register.by,
                endsPurchase: periods[index].lineages.contains(where: \.store.rules.revocationEndsPurchase)
            )
            // Time of the same order under another name is refunded, too.
            for refunded in periods.indices
            where refunded == index || periods[refunded].continues(refund.transaction) {
                periods[refunded].refundedAt = min(periods[refunded].refundedAt ?? .max, cut.at)
                if let known = periods[refunded].cut, known.precedes(cut) { continue }
                periods[refunded].cut = cut
            }
        }
    }

    // A failed charge is about the period whose renewal is outstanding. Once a newer one was stated it is settled.
    private mutating func applyGrace(_ register: Register<Fact.Billing>, lineage: SubscriptionID) {
        guard register.value.status != .settled else { return }
        apply(register, lineage: lineage)
    }

    // A later statement, such as the end of the purchase, takes back the rest of a grace, and not the part that has
    // passed. Grace that has run out does not replace grace that continues, of a linked lineage or of a state that was
    // stored without it.
    private mutating func applyLapsedGrace(_ registers: SubscriptionState.Registers, lineage: SubscriptionID) {
        guard let said = registers.billing, let grace = registers.grace else { return }
        apply(grace, until: said.by.milliseconds, lineage: lineage)
    }

    // Grace that another period has followed gave access until that period began. A payment within grace is for the period that was due,
    // so the billing date stays. A store may leave out that start.
    private mutating func applyPastGraces(_ registers: SubscriptionState.Registers, lineage: SubscriptionID) {
        for grace in registers.graces {
            guard let index = subject(of: grace, lineage: lineage), index != newestIndex,
                let next = periods[(index + 1)...].firstIndex(where: { $0.isPaidFor && !$0.isForestalled })
            else { continue }
            let end = periods[index].end
            if periods[next].entry.isStartInferred, end < periods[next].start,
                let until = grace.value.graceUntil?.millisecondsSince1970, periods[next].start <= until
            {
                periods[next].start = end
            }
            note(grace, until: periods[next].start, at: index)
        }
    }

    private mutating func apply(_ register: Register<Fact.Billing>, until limit: Int64 = .max, lineage: SubscriptionID)
    {
        guard let index = subject(of: register, lineage: lineage), index == newestIndex else { return }
        note(register.latest, until: limit, at: index)
    }

    private mutating func note(_ assertion: Assertion<Fact.Billing>, until limit: Int64, at index: Int) {
        guard let until = assertion.value.graceUntil.map({ min($0.millisecondsSince1970, limit) }),
            until > periods[index].end
        else { return }
        let isTakenBack = until == limit && index == newestIndex
        let grace = Grace(
            until: until,
            by: assertion.by,
            isTakenBack: isTakenBack,
            triedUntil: assertion.value.triedUntil
        )
        if let known = periods[index].grace, grace.by.precedes(known.by) { return }
        periods[index].grace = grace
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

    var newestIndex: Int? {
        periods.lastIndex { $0.isPaidFor && !$0.isForestalled } ?? periods.indices.last
    }

    /// The period that a failed charge is about.
    func subject(of register: Register<Fact.Billing>, lineage: SubscriptionID) -> Int? {
        subject(of: register.latest, lineage: lineage)
    }

    func subject(of assertion: Assertion<Fact.Billing>, lineage: SubscriptionID) -> Int? {
        if let start = assertion.value.periodStart?.millisecondsSince1970 {
            return index(transaction: nil, start: start)
        }
        let asserted = assertion.by.milliseconds
        return periods.lastIndex {
            $0.lineages.contains(lineage) && ($0.firstStated ?? $0.start) <= asserted && !$0.isForestalled
                && !isWithinStated($0, by: asserted)
        }
    }

    /// True if a period is inferred within one that was stated by a moment. An example is the period of a failed charge
    /// that succeeded in the end, for the time from its beginning on.
    private func isWithinStated(_ inferred: Period, by moment: Int64) -> Bool {
        inferred.fact.isProvisional
            && periods.contains { stated in
                stated.start <= inferred.start && inferred.start < stated.end && !stated.isForestalled
                    && stated.firstStated.map { $0 <= moment } == true
            }
    }

    /// True if a period still runs next to the later one: no change connects them, or one statement states both, or a later statement
    /// states this one, such as a year next to months of another product in one subscription. False if a statement since then
    /// names the later one alone, or calls this one replaced.
    private func runsBeside(_ index: Int, _ later: Int) -> Bool {
        if isOtherPurchase(later, than: index) { return true }
        let (by, other) = (periods[index].by, periods[later].by)
        return !periods[index].fact.isProvisional && periods[index].cut?.reason != .replaced
            && by.authority.rank >= other.authority.rank
            && (by.milliseconds > other.milliseconds || by == other || wasListedBeside(index, later))
    }

    /// True if one was listed when the later one was known, and the later one was last stated after this one had ended:
    /// a list of what runs says nothing about what has ended.
    private func wasListedBeside(_ index: Int, _ later: Int) -> Bool {
        guard periods[index].isStatedWithAllItems, periods[later].isStatedWithAllItems,
            let known = periods[later].firstStated
        else { return false }
        return periods[later].by.milliseconds >= periods[index].end && known <= periods[index].by.milliseconds
    }

    /// The period that replaces the rest of one.
    ///
    /// - Parameter first: the first after it that gives access to another product.
    private func successor(of index: Int, from first: Int?) -> Int? {
        guard let first, periods[first].start < periods[index].accessEnd else { return nil }
        guard runsBeside(index, first) else { return first }
        for later in first + 1..<min(first + Self.maximumBeside, periods.count)
        where periods[later].accessEnd > periods[later].start && !periods[later].entry.isProvisional
            && !periods[later].entry.isOfSameProduct(as: periods[index].entry)
        {
            guard periods[later].start < periods[index].accessEnd else { return nil }
            if !runsBeside(index, later) { return later }
        }
        return nil
    }

    // A store that charges ahead sells one product at a time: if the customer changed the product after the charge, the new
    // product is the one that was bought, and the period that was charged for does not begin.
    private mutating func applyEarlyChanges() {
        for index in periods.indices.dropLast() where periods[index + 1].start < periods[index].end {
            let changed = periods[index]
            guard let stated = changed.firstStated, !changed.fact.isProvisional,
                let chargedAhead = changed.chargesAhead
            else { continue }
            for ahead in index + 1..<min(index + Self.maximumBeside, periods.count) {
                guard periods[ahead].start < changed.end else { break }
                guard let charged = periods[ahead].firstStated, !periods[ahead].fact.isProvisional,
                    !periods[ahead].entry.isOfSameProduct(as: changed.entry)
                else { continue }
                // A period that began before the charge and was reported late, as by a restored purchase, replaced
                // nothing.
                guard periods[ahead].start - changed.start <= chargedAhead else { continue }
                // A later statement about it, such as its refund, does not make it begin.
                guard stated < periods[ahead].start && charged < stated || isReplacedByNothingLater(ahead)
                else { continue }
                periods[ahead].replacement = Cut(at: periods[ahead].start, reason: .replaced, by: changed.by)
            }
        }
    }

    /// True if a period that began within a day of a change is stated as replaced, and no later period could have
    /// replaced it: then the change did. A transaction that becomes known afterwards, as from a history, is no evidence
    /// for more.
    private func isReplacedByNothingLater(_ index: Int) -> Bool {
        let period = periods[index]
        guard period.cut?.reason == .replaced else { return false }
        return !periods[(index + 1)...].prefix(Self.maximumBeside).contains {
            $0.start < period.end && !$0.fact.isProvisional && !$0.entry.isOfSameProduct(as: period.entry)
        }
    }

    /// True if a later period continues the product of one. A statement that lists all items and leaves out a period that
    /// has not ended replaces it with the periods that it lists.
    private func isContinued(_ index: Int, by later: Int) -> Bool {
        guard periods[index].entry.isOfSameProduct(as: periods[later].entry) else { return false }
        return periods[index].end <= periods[later].start || !periods[index].isStatedWithAllItems
            || !periods[later].isStatedWithAllItems || runsBeside(index, later)
    }

    /// The period of an additional product that is billed in a rhythm of its own.
    func indexBeside(_ product: ProductID, _ start: Int64) -> Int? {
        periods.firstIndex { $0.fact.isBeside && $0.start == start && $0.fact.product == product }
    }

    /// An additional product that a later list of all items leaves out is gone since then.
    private mutating func applyRemovals() {
        guard periods.contains(where: \.fact.isBeside),
            let last = periods.filter(\.isStatedWithAllItems).max(by: { $0.by.milliseconds < $1.by.milliseconds })?.by
        else { return }
        for index in periods.indices where periods[index].fact.isBeside && periods[index].isStatedWithAllItems {
            let period = periods[index]
            guard period.by.milliseconds < last.milliseconds, period.start < last.milliseconds,
                last.milliseconds < period.accessEnd
            else { continue }
            periods[index].replacement = Cut(at: last.milliseconds, reason: .replaced, by: last)
        }
    }

    private mutating func applyReplacements() {
        var next: Int?
        var nextOfAnotherProduct: Int?
        for index in periods.indices.reversed() {
            let isSameProduct = next.map { isContinued(index, by: $0) } ?? false
            let accessEnd = periods[index].accessEnd
            if let successor = successor(of: index, from: isSameProduct ? nextOfAnotherProduct : next) {
                periods[index].replacement = Cut(
                    at: periods[successor].start,
                    reason: .replaced,
                    by: periods[successor].by
                )
            }
            if accessEnd > periods[index].start, !periods[index].entry.isProvisional {
                if !isSameProduct { nextOfAnotherProduct = next }
                next = index
            }
        }
    }
}

extension SubscriptionState.PeriodEntry {
    /// True if it is inferred from its own end.
    fileprivate var isEndAlone: Bool { isProvisional && fact.period.startMilliseconds == fact.period.endMilliseconds }
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

extension PeriodTimeline.Period {
    /// True if a snapshot of the period takes its end back by leaving it out, as when it is shared again.
    func isTakenBackInPassing(_ end: PeriodTimeline.Cut) -> Bool {
        end.mayLag && end.by.isSnapshot && by.isSnapshot && by.takesBack(end.by, mayLag: true)
    }
}

extension PeriodTimeline.Cut {
    /// True if a snapshot shows the end by a member of its own, which it may lack at first. A period that ran out shows
    /// that by its dates.
    var mayLag: Bool { reason == .unknown || reason == .replaced || reason == .refunded }

    init(_ end: Assertion<Fact.PeriodEnd>) {
        self.init(
            at: end.value.at.millisecondsSince1970,
            reason: end.value.reason,
            by: end.by,
            outstandingCharge: end.value.outstandingCharge,
            endsPurchase: end.value.endsPurchase
        )
    }

    func precedes(_ other: Self) -> Bool {
        at == other.at ? !by.precedes(other.by) : at < other.at
    }
}

extension SubscriptionState.PeriodEntry {
    fileprivate var isProvisional: Bool { fact.isProvisional }

    fileprivate func isOfSameProduct(as other: Self) -> Bool { fact.product == other.fact.product }
}

extension Array {
    /// The first index from which on `isAfter` holds; it must hold for all that follow.
    func partitioningIndex(_ isAfter: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = low + (high - low) / 2
            if isAfter(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
