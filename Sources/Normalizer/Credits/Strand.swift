/// The time within a period in which one of its products is paid for, whether it is the main product or one next to it.
///
/// Which product is the main one names a period, and says nothing of what is paid for. So a product that is the main one for a
/// part of its time, and an item next to another for the rest, has one strand.
struct Strand {
    var product: ProductID
    var start: Int64
    /// The first moment without it; nil if it lasts as long as its period gives access.
    var end: Int64?
    /// How the change that it began with was paid for.
    var proration: LifecycleEvent.ProductChange.Proration?
    /// The item that it is stated as; nil if it was the main product from its beginning to its end.
    var item: PeriodTimeline.Item?
    /// True if it was the main product when it began, and when it ended.
    var beginsAsMain: Bool
    var endsAsMain: Bool
    /// The place of the strand that it replaced: one price was swapped for another.
    var before: Int?
    /// Distinguishes it from the other strands of its product: how many prices were swapped before.
    var number = 0

    private static let tolerance = ServicePeriod.startTolerance

    /// The strands of a period in the order of their beginnings, those of the main product first.
    ///
    /// - Parameters:
    ///   - stretches: the main products, one after the other.
    ///   - items: the periods of the items that run with it.
    static func all(of stretches: [Stretch], _ items: [PeriodTimeline.Item]) -> [Strand] {
        var strands: [Strand] = []
        for (number, stretch) in stretches.enumerated() {
            strands.append(
                Strand(
                    product: stretch.product,
                    start: stretch.start,
                    end: number + 1 < stretches.count ? stretches[number + 1].start : nil,
                    proration: stretch.proration,
                    beginsAsMain: true,
                    endsAsMain: true
                )
            )
        }
        for item in items { add(item, to: &strands) }
        return linked(strands)
    }

    /// Strands in the order of their beginnings, each with the one that it replaced.
    static func linked(_ strands: [Strand]) -> [Strand] {
        guard strands.count > 1 else { return strands }
        var strands = strands.indices.sorted { (strands[$0].start, $0) < (strands[$1].start, $1) }.map { strands[$0] }
        for place in strands.indices.dropFirst() where strands[place].start > strands[0].start + tolerance {
            strands[place].before = replaced(by: place, in: strands)
            strands[place].number = strands[place].before.map { strands[$0].number + 1 } ?? 0
            while strands[..<place].contains(where: { $0.isNamed(as: strands[place]) }) { strands[place].number += 1 }
        }
        return strands
    }

    /// Adds an item. One that was, or became, the main product continues that strand.
    private static func add(_ item: PeriodTimeline.Item, to strands: inout [Strand]) {
        let (product, start, end) = (item.entry.fact.product, item.grantedSince, item.accessEnd)
        guard end > item.start, start < end else { return }
        func touches(_ strand: Strand) -> Bool {
            strand.product == product && start <= (strand.end ?? .max).addingClamped(tolerance)
                && end >= strand.start.addingClamped(-tolerance)
        }
        guard let place = strands.firstIndex(where: touches) else {
            let strand = Strand(product: product, start: start, end: end, beginsAsMain: false, endsAsMain: false)
            strands.append(strand)
            strands[strands.count - 1].item = item
            return
        }
        strands[place].item = item
        if start < strands[place].start { (strands[place].start, strands[place].beginsAsMain) = (start, false) }
        if let known = strands[place].end, known < end {
            (strands[place].end, strands[place].endsAsMain) = (end, false)
        }
    }

    /// The strand that ended when one began, if one price was swapped for another: of the main product for the main product, or the
    /// only one that ended for the only one that began.
    private static func replaced(by place: Int, in strands: [Strand]) -> Int? {
        let moment = strands[place].start
        func isNow(_ time: Int64?) -> Bool { time.map { abs($0 - moment) <= tolerance } ?? false }
        let begun = strands.indices.filter { isNow(strands[$0].start) }
        let ended = strands[..<place].indices.filter { isNow(strands[$0].end) && !begun.contains($0) }
        if strands[place].beginsAsMain, let main = ended.first(where: { strands[$0].endsAsMain }) { return main }
        return begun.count == 1 && ended.count == 1 ? ended[0] : nil
    }

    /// True if it was never the main product.
    var isItem: Bool { !beginsAsMain && !endsAsMain }

    private func isNamed(as other: Strand) -> Bool { product == other.product && number == other.number }
}

extension [Strand] {
    /// Adds the products that run next to a period's main one, each of which may end by itself.
    mutating func add(_ companions: [PeriodTimeline.Companion], of period: PeriodTimeline.Period) {
        if let end = period.mainProductEnd {
            for place in indices where self[place].endsAsMain && self[place].end == nil { self[place].end = end }
        }
        self += companions.map {
            let end = $0.end == .max ? nil : $0.end
            return Strand(product: $0.product, start: period.start, end: end, beginsAsMain: false, endsAsMain: false)
        }
    }
}

extension [Strand] {
    /// Leaves out products that are not paid for: each product that one replaced continues in its place.
    func leavingOut(_ isUnpaid: (Strand) -> Bool) -> [Strand] {
        guard contains(where: isUnpaid) else { return self }
        var paid: [Strand] = []
        /// Where each strand, or the one that continues in its place, stands among the paid ones.
        var places: [Int?] = []
        var leftOut: Set<Int> = []
        for (number, strand) in enumerated() {
            let before = strand.before.flatMap { places[$0] }
            // Back to what continued, the product is the same strand again.
            let isReturn =
                strand.before.map(leftOut.contains) ?? false && before.map { paid[$0].product } == strand.product
            guard isReturn || isUnpaid(strand) else {
                places.append(paid.count)
                paid.append(strand)
                paid[paid.count - 1].before = before
                continue
            }
            if !isReturn { leftOut.insert(number) }
            places.append(before)
            if let before { (paid[before].end, paid[before].endsAsMain) = (strand.end, strand.endsAsMain) }
        }
        return paid
    }
}

extension CreditPlan.Tenure {
    /// The tenure of a strand, without what a policy and the state's refunds say of it.
    init(
        _ strand: Strand,
        of period: PeriodTimeline.Period,
        in lineage: SubscriptionID,
        paidBy payment: ChargeIndex.Payment,
        id: CreditGrant.ID
    ) {
        let entry = strand.isItem ? strand.item?.entry ?? period.entry : period.entry
        let fact = entry.fact
        self.init(
            product: strand.product,
            phase: payment.isTrial ? .trial : fact.phase == .trial ? .regular : fact.phase,
            ownership: fact.ownership,
            lineage: lineage,
            start: strand.start,
            periodStart: period.start,
            end: strand.isItem ? fact.period.endMilliseconds : period.end,
            accessEnd: strand.end ?? period.accessEnd,
            from: payment.from.map { max($0, strand.start) },
            id: id
        )
        instalmentsEnd = entry.endBeforeDelay.flatMap { $0 > strand.start ? $0 : nil }
        isEndStated = strand.isItem || !period.isEndInferred
        isItem = strand.isItem
        isRest = strand.start > period.start
        isDropped = strand.end.map { strand.endsAsMain || $0 < min(period.accessEnd, period.end) } ?? false
        (part, paidPart) = (payment.part, payment.paidPart)
        change = payment.change
        // A product that joined later was not charged with the period.
        if !isRest || change != nil {
            (charge, total, isNet, isLine) = (payment.charge, payment.total, payment.isNet, payment.isLine)
            setOff = payment.setOff
        }
        brokenAt = period.brokenAt
        proration = strand.proration
        isRenewalOrder = rules.ordersSpanNames && period.transaction?.isRenewal == true
    }
}
