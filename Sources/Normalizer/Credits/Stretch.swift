import FoundationEssentials

/// A part of a period with one product. Most periods have one.
struct Stretch {
    var product: ProductID
    var start: Int64
    /// How the change that it began with was paid for.
    var proration: LifecycleEvent.ProductChange.Proration?

    /// The parts of a period: by its stated changes, and by its stated products if a change was not stated.
    static func all(of period: PeriodTimeline.Period, _ switches: [Fact.ProductSwitch]) -> [Stretch] {
        let tolerance = ServicePeriod.startTolerance
        let beginning = switches.last { $0.at.millisecondsSince1970 <= period.start + tolerance }
        let within = switches.filter {
            let at = $0.at.millisecondsSince1970
            return at > period.start + tolerance && at < period.end
        }
        let rules = period.lineages.first?.store.rules ?? .standard
        guard !within.isEmpty || (rules.switchesWithinPeriods && period.products.count > 1) else {
            return [Stretch(product: period.fact.product, start: period.grantedSince, proration: beginning?.proration)]
        }
        var stretches = within.map {
            Stretch(product: $0.to, start: $0.at.millisecondsSince1970, proration: $0.proration)
        }
        let stated = period.products.sorted { $0.value != $1.value ? $0.value < $1.value : $0.key < $1.key }
        for (product, time) in stated where !stretches.contains(where: { $0.product == product }) {
            stretches.append(Stretch(product: product, start: min(max(time, period.start), period.end)))
        }
        stretches.sort { $0.start != $1.start ? $0.start < $1.start : $0.product < $1.product }
        if let first = stretches.first, first.start > period.start + tolerance, let from = within.first?.from {
            stretches.insert(Stretch(product: from, start: period.start), at: 0)
        }
        stretches[0].start = period.start
        if let proration = beginning?.proration { stretches[0].proration = proration }
        // Of two products that were stated at one time, the last stated counts. A product that continues is one
        // stretch.
        var joined: [Stretch] = []
        for stretch in stretches where stretch.start < period.end {
            if joined.last?.product == stretch.product { continue }
            if let last = joined.last, stretch.start - last.start <= tolerance {
                if stretch.product == period.fact.product || last.product != period.fact.product {
                    joined[joined.count - 1].product = stretch.product
                }
                continue
            }
            joined.append(stretch)
        }
        return joined
    }
}
