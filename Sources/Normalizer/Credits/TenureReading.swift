import FoundationEssentials

/// The stretches of a state's periods, and which took the place of which.
struct TenureReading {
    typealias Tenure = CreditPlan.Tenure

    let timeline: PeriodTimeline
    /// In the order of their beginnings.
    var tenures: [Tenure] = []
    /// The times when access continued after a failed charge, in order: credits used in them were used of the period before.
    private var graces: [Grace] = []
    /// By the place of their period in the timeline, with those of the items that run with it.
    private(set) var tenuresOfPeriod: [Int: [Int]] = [:]
    /// Those that a charge for a change within a period paid for, by its transaction.
    private var tenuresOfChange: [TransactionID: [Int]] = [:]
    /// The tenures of which one took the place of another within a period.
    private var swaps: [(before: Int, after: Int)] = []

    private static let slack = PeriodTimeline.replacementSlack
    /// A failed charge is stated within days of the paid end.
    private static let longestDelay: Int64 = 3 * 86_400_000

    init(_ state: SubscriptionState, _ policy: CreditPolicy) {
        timeline = PeriodTimeline(state)
        let charges = ChargeIndex(state, timeline)
        let refunds = Self.refunds(of: state, timeline)
        let switches = Self.switches(of: state, timeline)
        let items = timeline.itemsOfPeriods
        for (index, period) in timeline.periods.enumerated()
        where period.accessEnd > period.start || items[index] != nil {
            guard let lineage = period.lineages.min(by: { $0.precedes($1) }) else { continue }
            let rules = lineage.store.rules
            let stretches = period.accessEnd > period.start ? Stretch.all(of: period, switches[index] ?? []) : []
            var strands = Strand.all(of: stretches, items[index] ?? [])
            let companions = period.companions.filter { companion in
                items[index]?.contains { $0.entry.fact.product == companion.product } != true
            }
            if !stretches.isEmpty { strands.add(companions, of: period) }
            strands = strands.leavingOut { charges.isUnpaid($0, among: strands, in: period) }
            var isRestored = false
            if let transaction = period.transaction {
                isRestored = state.refund(of: transaction).map { $0.value.scope == nil } ?? false
            }
            var places: [Int?] = []
            for strand in strands {
                let payment = charges.payment(of: strand, among: strands, in: period, rules)
                guard payment.from != nil || rules.statesUnpaidPeriods else {
                    places.append(nil)
                    continue
                }
                var tenure = Tenure(
                    strand,
                    of: period,
                    in: lineage,
                    paidBy: payment,
                    id: Self.id(of: period, strand.product, number: strand.number, lineage)
                )
                tenure.allowance = policy.allowance(of: strand.product, in: lineage.store)
                // Instalments go by the calendar, and their price is that of all of them.
                if tenure.allowance?.every != nil { tenure.paidPart = nil }
                tenure.worth = payment.isTrial ? Money(ExactDecimal(0), "") : tenure.charge ?? tenure.allowance?.price
                tenure.isRestored = isRestored
                if !tenure.isRest {
                    tenure.refunds =
                        refunds[index]?.compactMap { refund in
                            CreditPlan.fraction(refund, of: strand.product, charge: payment.total).map {
                                (refund.at.millisecondsSince1970, $0)
                            }
                        } ?? []
                }
                if !tenure.isDropped, let cut = period.cut {
                    tenure.setEnd(cut, refundedAt: period.refundedAt, slack: Self.slack)
                }
                places.append(tenures.count)
                tenuresOfPeriod[index, default: []].append(tenures.count)
                if let before = strand.before.flatMap({ places[$0] }) { swaps.append((before, tenures.count)) }
                tenures.append(tenure)
            }
        }
        findSwapsBeside()
        graces = Self.graces(of: state, timeline)
        sort()
        for place in tenures.indices {
            if let change = tenures[place].change { tenuresOfChange[change, default: []].append(place) }
        }
    }

    /// Finds the items that took the place of others next to the main product: each has a period of its own, and they have one start.
    private mutating func findSwapsBeside() {
        let beside = timeline.periods.indices.filter {
            timeline.periods[$0].fact.isBeside && tenuresOfPeriod[$0] != nil
        }
        for (_, places) in Dictionary(grouping: beside, by: { timeline.periods[$0].start }) where places.count > 1 {
            var tenureOf: [ProductID: Int] = [:]
            let strands = Strand.linked(
                places.map { place in
                    let period = timeline.periods[place]
                    tenureOf[period.fact.product] = tenuresOfPeriod[place]?.first
                    return Strand(
                        product: period.fact.product,
                        start: period.grantedSince,
                        end: period.accessEnd < period.end ? period.accessEnd : nil,
                        beginsAsMain: false,
                        endsAsMain: false
                    )
                }
            )
            for strand in strands {
                guard let before = strand.before.flatMap({ tenureOf[strands[$0].product] }),
                    let after = tenureOf[strand.product]
                else { continue }
                swaps.append((before, after))
            }
        }
    }

    /// The tenures that a refunded payment paid for. A change within a period that was charged by itself is not the period's payment.
    func tenures(paidByTransactionOf refund: Fact.RefundState) -> [Int] {
        if let changed = tenuresOfChange[refund.transaction] { return changed }
        guard let period = timeline.index(of: refund) else { return [] }
        return (tenuresOfPeriod[period] ?? []).filter { tenures[$0].change == nil }
    }

    /// An end that was stated in grace ends the grace, also if access was given again since: then, or when it was stated, where
    /// nothing but the unpaid time ended.
    private static func graces(of state: SubscriptionState, _ timeline: PeriodTimeline) -> [Grace] {
        let failed = state.registers.outstanding.flatMap { lineage, registers in
            registers.graces.compactMap { Grace($0, of: lineage, timeline) }
        }
        guard !failed.isEmpty else { return [] }
        let ends = timeline.periods.flatMap { period in
            let end = period.cut ?? period.liftedCut.flatMap { $0.reason == .paused ? nil : $0 }
            return [end].compactMap(\.self).map { (stated: $0.by.milliseconds, at: $0.at, periodEnd: period.end) }
                + period.unpaidGaps.map { (stated: $0.by.milliseconds, at: $0.from, periodEnd: period.end) }
        }
        .sorted { $0.stated < $1.stated }
        return failed.map { grace in
            var grace = grace
            var index = ends.partitioningIndex { $0.stated >= grace.stated }
            while index < ends.count, ends[index].stated < grace.until {
                let end = ends[index]
                if end.periodEnd >= grace.stated.addingClamped(-longestDelay) {
                    grace.until = min(grace.until, end.at > grace.stated ? end.at : end.stated)
                }
                index += 1
            }
            return grace
        }
        .sorted { $0.from < $1.from }
    }

    private mutating func sort() {
        let order = tenures.indices.sorted {
            tenures[$0].start != tenures[$1].start ? tenures[$0].start < tenures[$1].start : $0 < $1
        }
        var places = Array(repeating: 0, count: order.count)
        for (place, index) in order.enumerated() { places[index] = place }
        tenures = order.map { tenures[$0] }
        tenuresOfPeriod = tenuresOfPeriod.mapValues { $0.map { places[$0] } }
        swaps = swaps.map { (places[$0.before], places[$0.after]) }
    }

    /// The store's name of the payment if it has one, else the second of the beginning; and the product.
    private static func id(
        of period: PeriodTimeline.Period,
        _ product: ProductID,
        number: Int,
        _ lineage: SubscriptionID
    ) -> CreditGrant.ID {
        let hasOrders = lineage.store.rules.ordersSpanNames
        let start = TransactionID(String(period.start.flooredQuotient(dividingBy: 1000)))
        let subject = hasOrders ? period.transaction?.order ?? start : start
        // An order is of one product, which a relay may know without its base plan.
        let product = hasOrders ? product.subscription : product
        let name = number == 0 ? "payout" : "payout \(number)"
        return CreditGrant.ID(
            rawValue: EventID(
                "credits_period",
                in: lineage.scope(of: subject),
                subject.rawValue,
                product.rawValue,
                name
            )
            .description
        )
    }

    static func switches(of state: SubscriptionState, _ timeline: PeriodTimeline) -> [Int: [Fact.ProductSwitch]] {
        var switches: [Int: [Fact.ProductSwitch]] = [:]
        for key in state.switches.keys.sorted() {
            guard let change = state.switches[key]?.value,
                let index = timeline.index(
                    transaction: change.transaction,
                    start: change.periodStart.millisecondsSince1970
                )
            else { continue }
            switches[index, default: []].append(change)
        }
        return switches
    }

    private static func refunds(of state: SubscriptionState, _ timeline: PeriodTimeline) -> [Int: [Fact.RefundState]] {
        var refunds: [Int: [Fact.RefundState]] = [:]
        for register in state.refundsOfTransactions where register.value.scope != nil {
            guard let index = timeline.index(of: register.value) else { continue }
            refunds[index, default: []].append(register.value)
        }
        return refunds.mapValues { $0.sorted { $0.at < $1.at } }
    }

    // MARK: Successors

    /// Finds the immediate successor of each tenure.
    mutating func link() {
        merge()
        var next: [ProductID: Int] = [:]
        nextOfFamily = Array(repeating: nil, count: tenures.count)
        for place in tenures.indices.reversed() {
            nextOfFamily[place] = next[tenures[place].family]
            if tenures[place].isPaid, !tenures[place].isRest { next[tenures[place].family] = place }
        }
        // All are found before one is linked, since that changes the later one.
        var links = swaps
        for (index, places) in tenuresOfPeriod {
            let last = places.filter { !tenures[$0].isDropped }
            for place in last {
                guard let next = successor(of: place, among: last, timeline.periods[index]) else { continue }
                links.append((place, next))
            }
        }
        links.sort(by: <)
        // The cycle's end may be known of the first product alone, or of the last.
        for (place, next) in links { findPaidEnd(after: place, of: next) }
        for (place, next) in links.reversed() { findPaidEnd(of: place, before: next) }
        for (place, next) in links { link(place, to: next) }
        // A payment that came after its period was replaced has given its credits by then. That one may have been replaced, too, before
        // its payment came.
        for place in tenures.indices.reversed() {
            guard let own = tenures[place].from, let after = tenures[place].after, let from = tenures[after].from,
                own >= from
            else { continue }
            tenures[place].from = tenures[place].start
        }
    }

    /// If only what ended it is known of the new product, its paid end is not: some changes leave the cycle as it is.
    private mutating func findPaidEnd(after place: Int, of next: Int) {
        let place = tenures[place].root ?? place
        guard place < next, tenures[next].isPaid, tenures[next].leavesPaidEnd, !tenures[next].isEndStated,
            tenures[place].end > tenures[next].start.addingClamped(Self.slack)
        else { return }
        tenures[next].end = tenures[place].end
        tenures[next].instalmentsEnd = tenures[place].instalmentsEnd
    }

    /// The same of the old product.
    private mutating func findPaidEnd(of place: Int, before next: Int) {
        let place = tenures[place].root ?? place
        guard place < next, tenures[next].isPaid, tenures[next].leavesPaidEnd,
            tenures[place].end <= tenures[next].start.addingClamped(Self.slack)
        else { return }
        tenures[place].end = tenures[next].end
        tenures[place].instalmentsEnd = tenures[next].instalmentsEnd
    }

    private mutating func link(_ place: Int, to next: Int) {
        let place = tenures[place].root ?? place
        guard place < next, tenures[next].isPaid else { return }
        tenures[place].after = next
        // If it replaced several tenures, the one that began last is set off.
        if tenures[next].before.map({ $0 < place }) ?? true { tenures[next].before = place }
        // The cycle stays as long as it was. It is charged for up to the end that the change found, which may be put off later.
        let (end, length) = (tenures[place].end, tenures[place].cycleLength)
        if tenures[next].proration == .proratedCharge {
            tenures[next].isRest = true
            tenures[next].isNet = true
            tenures[next].chargedEnd = end
            tenures[next].periodStart = end.addingClamped(-length)
        } else if tenures[next].isChargedAtNothing, !tenures[next].isRest {
            tenures[next].periodStart = tenures[next].end.addingClamped(-length)
        }
    }

    /// A payment that continues under another name gives no new credits: its access is that of the payment.
    private mutating func merge() {
        var known: [CreditGrant.ID: Int] = [:]
        for place in tenures.indices {
            guard let first = known[tenures[place].id] else {
                known[tenures[place].id] = place
                continue
            }
            tenures[place].from = nil
            tenures[place].root = first
            if tenures[place].start <= tenures[first].accessEnd.addingClamped(Self.slack) {
                tenures[first].accessEnd = max(tenures[first].accessEnd, tenures[place].accessEnd)
            }
        }
    }

    /// The tenure that takes the place of one in the middle of its period.
    ///
    /// - Parameter all: the tenures that its period ends with.
    private func successor(of place: Int, among all: [Int], _ period: PeriodTimeline.Period) -> Int? {
        let tenure = tenures[place]
        func isTakenPlaceBy(_ other: Int) -> Bool {
            let next = tenures[other]
            // A stated change may begin some seconds behind the only end that is known of the old product.
            let isBefore =
                next.start.isClearly(before: tenure.end)
                || next.proration != nil && next.start < tenure.end.addingClamped(Self.slack)
            guard next.isPaid, !next.isRenewalOrder, next.proration != .deferred, isBefore else { return false }
            guard next.start > tenure.start, next.periodStart != tenure.periodStart else { return false }
            guard tenure.overSince.map({ $0 > next.start }) ?? true else { return false }
            // A product that continues is renewed, unless the store sets off its unused part, or the rest of it pays for the new time.
            return tenure.isChanged(to: next) || next.isChargedAtNothing
                || (tenure.rules.restartsProduct && tenure.phase != .trial)
        }
        func next(_ range: Range<Int>) -> Int? {
            let candidates = range.filter(isTakenPlaceBy)
            if let same = candidates.first(where: { !tenure.isChanged(to: tenures[$0]) }) { return same }
            // A product that continues takes no other's place.
            if range.contains(where: { tenure.isContinued(by: tenures[$0]) }), tenure.isItem { return nil }
            let others = candidates.filter { other in
                !all.contains { $0 != place && tenures[$0].isContinued(by: tenures[other]) }
            }
            if let main = others.first(where: { tenures[$0].isItem == tenure.isItem }) { return main }
            let ended = all.filter { place in !range.contains { tenures[place].isContinued(by: tenures[$0]) } }
            return ended.count == 1 && others.count == 1 ? others[0] : nil
        }
        if let replacement = period.replacement { return next(places(from: replacement.at, to: replacement.at)) }
        let cut = period.cut.flatMap { [.refunded, .paused].contains($0.reason) ? nil : $0 }
        if let cut,
            let next = next(places(from: cut.at.addingClamped(-Self.slack), to: cut.at.addingClamped(Self.slack)))
        {
            return next
        }
        // The end of a plan that was bought again uncharged may be stated late, or never.
        guard let next = nextOfFamily[place], isTakenPlaceBy(next),
            tenures[next].isChargedAtNothing || (cut == nil && tenure.rules.restartsProduct)
        else { return nil }
        return next
    }

    private func places(from first: Int64, to last: Int64) -> Range<Int> {
        let start = tenures.partitioningIndex { $0.start >= first }
        let end = tenures.partitioningIndex { $0.start > last }
        return start..<max(start, end)
    }

    /// The next tenure of the same product that was paid for.
    private var nextOfFamily: [Int?] = []

    // MARK: When credits end

    /// Finds the time when the credits of each tenure end, and decides if the rest is kept.
    mutating func findStops(_ policy: CreditPolicy) {
        // Later tenures are worked out first.
        var next: [ProductID: Int] = [:]
        var access = Array(repeating: Int64.max, count: tenures.count)
        var nextPaid: [Int?] = Array(repeating: nil, count: tenures.count + 1)
        for place in tenures.indices.reversed() {
            let tenure = tenures[place]
            // A product that joins or changes within a period leaves the rest that counts until that period is paid for.
            let begins = tenure.isPaid && !tenure.keepsCredits && !tenure.isRest
            nextPaid[place] = begins ? place : nextPaid[place + 1]
            access[place] = accessEnd(of: place, access)
            if let after = tenure.after {
                let isSame = tenures[after].family == tenure.family
                if tenures[after].keepsCredits || (isSame && !policy.carriesOver) {
                    (tenures[place].stop, tenures[place].isCarriedOver) = (
                        tenures[after].stop, tenures[after].isCarriedOver
                    )
                } else {
                    (tenures[place].stop, tenures[place].isCarriedOver) = (
                        tenures[after].from ?? access[place], policy.carriesOver
                    )
                }
            } else {
                var stop = graceEnd(of: tenure, access[place])
                // A renewal replaces the rest, and so does a product that begins when the paid time is over.
                if let renewal = next[tenure.family], let from = tenures[renewal].from { stop = min(stop, from) }
                if tenure.end < .max,
                    let follows = nextPaid[first(from: tenure.end - ServicePeriod.startTolerance, after: place)],
                    let from = tenures[follows].from
                {
                    stop = min(stop, from)
                }
                tenures[place].stop = stop
            }
            if tenure.isPaid, !tenure.isRest { next[tenure.family] = place }
        }
    }

    private func first(from time: Int64, after place: Int) -> Int {
        max(place + 1, tenures.partitioningIndex { $0.start >= time })
    }

    /// The end of the grace that followed a tenure, if that is later than when its access ended.
    private func graceEnd(of tenure: Tenure, _ accessEnd: Int64) -> Int64 {
        guard tenure.end < .max, accessEnd >= tenure.end - ServicePeriod.startTolerance else { return accessEnd }
        let first = graces.partitioningIndex { $0.from >= tenure.end.addingClamped(-Self.longestDelay) }
        return graces[first...].prefix { $0.from <= tenure.end.addingClamped(Self.longestDelay) }
            .reduce(accessEnd) { max($0, $1.until) }
    }

    /// When the access of a tenure ends. If what follows waits for its payment, or for the period that it was charged for: when that is
    /// over, paid, or begins.
    private func accessEnd(of place: Int, _ access: [Int64]) -> Int64 {
        let tenure = tenures[place]
        guard tenure.accessEnd < .max else { return tenure.accessEnd }
        for next in first(from: tenure.accessEnd - ServicePeriod.startTolerance, after: place)..<tenures.count
        where tenures[next].root == nil {
            guard tenures[next].start <= tenure.accessEnd.addingClamped(Self.slack) else { break }
            let brokenAt = tenures[next].brokenAt ?? .max
            guard let from = tenures[next].from, from <= tenures[next].accessEnd else {
                return min(access[next], brokenAt)
            }
            if from > tenures[next].start { return min(from, brokenAt) }
        }
        return tenure.accessEnd
    }
}

/// A time when access continued after a failed charge.
private struct Grace {
    /// When what had been paid for was over.
    var from: Int64
    /// When it was stated, or stated once more: long after it began, for example by an answer about the purchase.
    var stated: Int64
    var until: Int64

    init?(_ billing: Assertion<Fact.Billing>, of lineage: SubscriptionID, _ timeline: PeriodTimeline) {
        guard let until = billing.value.graceUntil?.millisecondsSince1970 else { return nil }
        (stated, self.until) = (billing.by.milliseconds, until)
        from = stated
        guard let index = timeline.subject(of: billing, lineage: lineage) else { return }
        let period = timeline.periods[index]
        // The charge was for the period that a store states unpaid, else for the one that was to follow.
        from = min(stated, lineage.store.rules.statesUnpaidPeriods ? period.start : period.end)
    }
}

extension PeriodTimeline.Period {
    /// When it ended, if access was given again since, or stopped for want of a payment before it ended. A pause leaves the rest.
    var brokenAt: Int64? {
        let ended = liftedCut.flatMap { $0.reason == .paused ? nil : $0.at }
        return ([ended].compactMap(\.self) + unpaidGaps.map(\.from)).min()
    }

    fileprivate var unpaidGaps: [PeriodTimeline.Gap] { gaps.filter { $0.reason == .billing } }
}

extension CreditPlan.Tenure {
    /// The name under which a product renews. A relay may know a product without its base plan.
    var family: ProductID { rules.relaysOmitPlans ? product.subscription : product }

    /// True if another is of another product, or of another base plan where both name theirs.
    func isChanged(to other: Self) -> Bool {
        family != other.family
            || (product != other.product && product.hasBasePlan && other.product.hasBasePlan)
    }

    /// True if the change that it began with left the end that was paid for as it was.
    fileprivate var leavesPaidEnd: Bool {
        switch proration {
        case .proratedCharge?, LifecycleEvent.ProductChange.Proration.none?: true
        case .timeCredit?, .fullCharge?, .deferred?, .refund?, nil: false
        }
    }

    /// How long the cycle is that its price is for.
    fileprivate var cycleLength: Int64 { max(0, (chargedEnd ?? end).addingClamped(-periodStart)) }

    /// True if another is a later time of the same product.
    fileprivate func isContinued(by other: Self) -> Bool {
        other.isPaid && other.periodStart > periodStart && !isChanged(to: other)
    }

    fileprivate mutating func setEnd(_ cut: PeriodTimeline.Cut, refundedAt: Int64?, slack: Int64) {
        switch cut.reason {
        case .refunded: overSince = cut.at
        case .replaced, .paused: break
        case _ where refundedAt != nil: overSince = cut.at
        // A store may state the end of a replaced purchase without a reason, and a little before its successor begins.
        default: overSince = cut.at.addingClamped(slack)
        }
    }
}
