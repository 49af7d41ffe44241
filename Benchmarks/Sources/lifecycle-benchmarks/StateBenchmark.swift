import Foundation
import Normalizer

/// The cost of applying one event to a state, against the length of its history.
struct StateBenchmark {
    static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "1")
    private static let start = Date(timeIntervalSince1970: 1_000_000_000)

    func run() async throws {
        Table.title("State, by the length of the history behind it")
        for isEnded in [false, true] {
            var first: Double?
            let periods = isEnded ? "periods that have ended" : "periods"
            for count in [10, 1000, 10_000] {
                let held = Held(periods: count, isEnded: isEnded)
                let measured = try await Measurement(
                    iterations: 50,
                    [
                        Work { held.renew() }, Work { _ = held.state.access(at: held.now) },
                    ]
                )
                let shortest = first ?? measured.median(0)
                first = shortest
                Table.row(
                    "one renewal applied to \(count) \(periods); floor: to 10",
                    ours: microseconds(measured.median(0)),
                    floor: microseconds(shortest),
                    timesFloor: measured.median(0) / shortest,
                    target: count == 10_000 ? "× ≤ 20" : ""
                )
                Table.row("access decision over \(count) \(periods)", ours: microseconds(measured.median(1)))
            }
        }
        let linked = try await Measurement(
            rounds: 3,
            iterations: 1,
            [Work { try Self.link(10_000) }, Work { try Self.link(1000) }]
        )
        Table.row(
            "10000 lineages, each linked to the one before; floor: 1000",
            ours: microseconds(linked.median(0)),
            floor: microseconds(linked.median(1)),
            timesFloor: linked.ratio(0, to: 1)
        )
        let state = Self.state(periods: 1000)
        var repeated = state
        let duplicate = Self.renewal(999)
        for _ in 0..<2000 { _ = repeated.apply(duplicate) }
        guard repeated == state else { throw BenchmarkError("duplicates change the state") }
        let after = repeated
        let duplicates = try await Measurement(
            iterations: 50,
            [
                Work {
                    var copy = after
                    _ = copy.apply(duplicate)
                },
                Work {
                    var copy = state
                    _ = copy.apply(duplicate)
                },
            ]
        )
        Table.row(
            "a duplicate after 2 000 of them; floor: the first",
            ours: microseconds(duplicates.median(0)),
            floor: microseconds(duplicates.median(1)),
            timesFloor: duplicates.ratio(0, to: 1),
            target: "no growth"
        )
    }

    /// A state that its holder keeps and renews in place.
    private final class Held {
        private(set) var state: SubscriptionState
        private let short: SubscriptionState?
        private let first: Int
        private let isEnded: Bool
        private var next: Int

        init(periods count: Int, isEnded: Bool) {
            state = StateBenchmark.state(periods: count, isEnded: isEnded)
            short = count < 100 ? state : nil
            first = count
            next = count
            self.isEnded = isEnded
        }

        var now: Date { StateBenchmark.renewal(next - 1).occurredAt }

        /// A short history begins anew, before it is a long one.
        func renew() {
            if let short, next == first + 8 { (state, next) = (short, first) }
            _ = state.apply(StateBenchmark.renewal(next, isEnded: isEnded))
            next += 1
        }
    }

    private static func link(_ count: Int) throws {
        var ledger = AccountLedger()
        for index in 0..<count {
            var event = renewal(index)
            let name = SubscriptionID(store: .appStore, environment: .production, id: "\(index)")
            event.subscription = name
            if index > 0 {
                event.facts.append(.link(.init(store: .appStore, environment: .production, id: "\(index - 1)")))
            }
            _ = ledger.apply(event)
        }
        guard ledger.states.count == 1 else { throw BenchmarkError("linked lineages are not one state") }
    }

    private static func state(periods count: Int, isEnded: Bool = false) -> SubscriptionState {
        var state = SubscriptionState(lineage)
        for index in 0..<count { _ = state.apply(renewal(index, isEnded: isEnded)) }
        return state
    }

    /// - Parameter isEnded: true if the store states also that the period before has ended.
    static func renewal(_ index: Int, isEnded: Bool = false, of lineage: SubscriptionID = lineage) -> NormalizedEvent {
        let begin = start.addingTimeInterval(Double(index) * 86_400)
        let period = ServicePeriod(start: begin, end: begin.addingTimeInterval(86_400))
        let price = Price(Money(ExactDecimal(5), "USD"), .charged)
        let before = Fact.PeriodEnd(
            start: begin.addingTimeInterval(-86_400),
            transaction: "\(index - 1)",
            at: begin,
            reason: .customer
        )
        return NormalizedEvent(
            id: .periodBegan(lineage, transaction: "\(index)", product: "pro"),
            event: .renewed(.init(cause: .scheduled, phase: .regular, period: period, price: price)),
            provider: .apple,
            store: .appStore,
            environment: .production,
            subscription: lineage,
            transaction: "\(index)",
            period: period,
            price: price,
            occurredAt: begin,
            effectiveAt: begin,
            assertedAt: begin,
            receivedAt: begin,
            facts: [
                .period(.init(period, product: "p", phase: .regular, transaction: "\(index)")),
                .charge(.init(transaction: "\(index)", price: price, at: begin)),
                .renewalIntent(.init(RenewalTerms(willRenew: true))),
                .billing(.init(.settled, periodStart: begin)),
            ] + (isEnded ? [.periodEnded(before)] : []),
            origin: Origin(
                type: "DID_RENEW",
                notificationID: "\(index)",
                channel: .webhook,
                evidence: .init(.jwsX5C),
                digest: String(repeating: "0", count: 64),
                mapper: "apple/1"
            )
        )
    }
}
