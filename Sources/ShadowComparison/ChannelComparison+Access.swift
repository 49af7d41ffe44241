import FoundationEssentials
import Normalizer

extension ChannelComparison {
    mutating func compareAccess(
        _ left: Channel,
        _ right: Channel,
        of purchases: AccountLedger,
        tolerance: Int64,
        in range: Range<Date>?
    ) {
        let (first, second) = (AccountLedger(statements: left.statements), AccountLedger(statements: right.statements))
        func expected(of channel: Channel, toldBy other: Channel) -> Set<SubscriptionID> {
            Set(
                other.distinct.filter { channel.canReport($0) && range?.contains($0.assertedAt) != false }
                    .compactMap(\.subscription)
            )
        }
        let expectedFirst = expected(of: left, toldBy: right)
        let expectedSecond = expected(of: right, toldBy: left)
        for purchase in purchases.states {
            let names = purchase.lineages
            let states = [first, second].map { ledger in
                Dictionary(names.compactMap { ledger[$0] }.map { ($0.subscription, $0) }) { state, _ in state }
                    .values.filter { !$0.isEmpty }
            }
            guard !states[0].isEmpty, !states[1].isEmpty else {
                if states[1].isEmpty, names.contains(where: expectedSecond.contains) {
                    lineagesOnlyFirst.append(purchase.subscription)
                } else if states[0].isEmpty, names.contains(where: expectedFirst.contains) {
                    lineagesOnlySecond.append(purchase.subscription)
                }
                continue
            }
            access += Self.stretches(purchase.subscription, between: states[0], and: states[1], in: range).filter {
                stretch in
                guard let until = stretch.until else { return true }
                let (length, overflow) = until.millisecondsSince1970
                    .subtractingReportingOverflow(stretch.from.millisecondsSince1970)
                return overflow || length >= tolerance
            }
        }
    }

    private static func stretches(
        _ lineage: SubscriptionID,
        between first: [SubscriptionState],
        and second: [SubscriptionState],
        in range: Range<Date>?
    ) -> [AccessDifference] {
        var moments: Set<Date> = []
        for state in first + second {
            var moment = Date(millisecondsSince1970: 0)
            // A state changes by itself a bounded number of times.
            while let next = state.nextTransition(after: moment), moments.count < 10_000 {
                moments.insert(next)
                moment = next
            }
        }
        if let range { moments = moments.filter { $0 < range.upperBound }.union([range.lowerBound]) }
        var differences: [AccessDifference] = []
        var open: AccessDifference?
        func close(_ end: Date?) {
            guard var stretch = open else { return }
            stretch.until = end
            differences.append(stretch)
            open = nil
        }
        for moment in moments.sorted() where range.map({ moment >= $0.lowerBound }) ?? true {
            let isFirst = first.contains { $0.access(at: moment).isGranted }
            let isSecond = second.contains { $0.access(at: moment).isGranted }
            let winner: Bool? = isFirst == isSecond ? nil : isFirst
            if let current = open, winner != current.isFirstGranting { close(moment) }
            if let winner, open == nil {
                open = AccessDifference(subscription: lineage, from: moment, until: nil, isFirstGranting: winner)
            }
        }
        close(range?.upperBound)
        return differences
    }
}

extension AccountLedger {
    /// Takes statements alone, without the events' dispositions.
    init(statements: [StoreStatement]) {
        self.init()
        for statement in statements { apply(statement) }
    }
}
