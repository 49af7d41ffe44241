/// The periods of a long history in the order of their starts.
///
/// An event is read with the periods around it, and this finds them: the cost of an event does not grow with the
/// history before it. It follows from the periods, so states that know the same are equal whether they keep it or not.
struct PeriodOrder: Sendable {
    /// A shorter history is read as a whole, which costs less than an order of it.
    static let leastCount = 128
    /// How many periods are read before the first that an event is about. No rule looks further around a period.
    private static let margin = 64

    private var order: StartOrder<SubscriptionState.PeriodKey>
    /// For each place, the latest end of the periods up to it.
    private var latestEnds: [Int64] = []
    /// True if some period is of an item next to the main product. What is the main product then follows from all
    /// periods before, and the history is read as a whole.
    private(set) var hasItems = false

    init(_ periods: [SubscriptionState.PeriodKey: SubscriptionState.PeriodEntry]) {
        order = StartOrder(periods.map { .init(start: $0.value.fact.period.startMilliseconds, key: $0.key) })
        latestEnds.reserveCapacity(periods.count)
        for place in order.places {
            guard let entry = periods[place.key] else { continue }
            latestEnds.append(max(latestEnds.last ?? .min, entry.latestEnd))
            if entry.fact.item != nil { hasItems = true }
        }
    }

    /// Takes in a period that is new or was stated differently before.
    ///
    /// - Parameters:
    ///   - key: the period's key.
    ///   - known: the period as it was stated before.
    ///   - periods: all periods, with the new statement.
    mutating func note(
        _ key: SubscriptionState.PeriodKey,
        from known: SubscriptionState.PeriodEntry?,
        in periods: [SubscriptionState.PeriodKey: SubscriptionState.PeriodEntry]
    ) {
        guard let period = periods[key]?.fact else { return }
        if period.item != nil { hasItems = true }
        var first = latestEnds.count
        if let known, let index = order.remove(key, from: known.fact.period.startMilliseconds) {
            latestEnds.remove(at: index)
            first = index
        }
        let index = order.insert(key, at: period.period.startMilliseconds)
        latestEnds.insert(.min, at: index)
        for changed in min(first, index)..<latestEnds.count {
            let end = periods[order.places[changed].key]?.latestEnd ?? .min
            let latest = changed > 0 ? max(latestEnds[changed - 1], end) : end
            // From here on nothing changes.
            if changed > max(first, index), latestEnds[changed] == latest { return }
            latestEnds[changed] = latest
        }
    }

    /// The start of the last period.
    var lastStart: Int64? { order.places.last?.start }

    /// The start of the first period to read for what happens at a moment or later: no earlier period runs any more when
    /// it begins. Nil if that is the first of all.
    func bound(around moment: Int64) -> Int64? {
        var index = order.firstIndex(from: moment) - Self.margin
        while index > 0 {
            let (before, start) = (order.places[index - 1].start, order.places[index].start)
            if before < start, latestEnds[index - 1] <= start { return start }
            index -= 1
        }
        return nil
    }

    /// The keys of the periods that begin at a moment, give or take a tolerance.
    func keys(near start: Int64, within tolerance: Int64) -> [SubscriptionState.PeriodKey] {
        order.keys(near: start, within: tolerance)
    }

    /// The keys of the periods that begin at a moment or later.
    func keys(from start: Int64) -> [SubscriptionState.PeriodKey] {
        order.keys(from: start)
    }
}

// It follows from the periods, which are compared.
extension PeriodOrder: Hashable {
    static func == (lhs: Self, rhs: Self) -> Bool { true }
    func hash(into hasher: inout Hasher) {}
}
