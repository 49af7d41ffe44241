import Foundation
import Normalizer

/// What it costs to apply one event to a state, against the length of the history behind it.
struct StateBenchmark {
    private static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "1")
    private static let start = Date(timeIntervalSince1970: 1_000_000_000)

    func run() throws {
        print("State")
        for count in [10, 100, 1000] {
            let state = Self.state(periods: count)
            let next = Self.renewal(count)
            let applied = Measurement(iterations: 50) {
                var copy = state
                _ = copy.apply(next)
            } against: {
                _ = state.access(at: next.occurredAt)
            }
            report("  one renewal applied to \(count) periods", microseconds(applied.first), count == 1000 ? "< 1000 µs" : "")
            report("  access decision over \(count) periods", microseconds(applied.second))
        }
        let state = Self.state(periods: 1000)
        var repeated = state
        let duplicate = Self.renewal(999)
        for _ in 0..<2000 { _ = repeated.apply(duplicate) }
        guard repeated == state else { throw BenchmarkError("duplicates change the state") }
        let duplicates = Measurement(iterations: 50) {
            var copy = repeated
            _ = copy.apply(duplicate)
        } against: {
            var copy = state
            _ = copy.apply(duplicate)
        }
        report("  a duplicate after 2 000 duplicates, against the first", times(duplicates.ratio), "no growth")
    }

    private static func state(periods count: Int) -> SubscriptionState {
        var state = SubscriptionState(lineage)
        for index in 0..<count { _ = state.apply(renewal(index)) }
        return state
    }

    private static func renewal(_ index: Int) -> NormalizedEvent {
        let begin = start.addingTimeInterval(Double(index) * 86_400)
        let period = ServicePeriod(start: begin, end: begin.addingTimeInterval(86_400))
        let price = Price(Money(ExactDecimal(5), "USD"), .charged)
        return NormalizedEvent(
            id: .periodBegan(lineage, transaction: "\(index)"),
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
            ],
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
