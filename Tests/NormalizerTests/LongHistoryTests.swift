import NormalizerTesting
import Foundation
import Testing

@testable import Normalizer

/// An event is read with the periods around it, not with all of a long history. That must tell the same.
@Suite("An event after a long history")
struct LongHistoryTests {
    private static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "O1")
    private static let day: Int64 = 86_400_000
    private static let stories: UInt64 = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] == "1" ? 100 : 2
    /// The moment around which the random stories take place.
    private static let origin: Int64 = 1_772_355_600_000

    /// Some hundred days, each paid for by itself. A few have names that the stories use. A few, or nearly all, ended before their
    /// time, and some of these ends name another start or transaction than their period's.
    private func history(seed: UInt64, count: Int64? = nil) -> SubscriptionState {
        var random = SeededGenerator(seed: seed)
        let endsOneOf = seed % 2000 == 0 ? 12 : 1
        var state = SubscriptionState(Self.lineage)
        let count = count ?? Int64.random(in: 150...350, using: &random)
        let last = Self.origin + Int64.random(in: -10...50, using: &random) * Self.day
        for index in 0..<count {
            let start = Date(millisecondsSince1970: last - (count - index) * Self.day)
            let end = start.addingTimeInterval(86_400)
            let name: TransactionID = index % 97 == 5 ? "t\(1 + index / 97 % 3)" : "h\(index)"
            var facts: [Fact] = [
                .period(
                    Fact.Period(
                        ServicePeriod(start: start, end: end),
                        product: index % 60 < 40 ? "a" : "b",
                        phase: .regular,
                        transaction: index % 11 == 3 ? nil : name,
                        ownership: .purchased
                    )
                )
            ]
            if Int.random(in: 0..<endsOneOf, using: &random) == 0 {
                let reason: LifecycleEvent.Expired.Reason =
                    [.customer, .refunded, .replaced, .paused, .billing]
                    .randomElement(using: &random) ?? .customer
                // At times that of a neighbour, or of none.
                let days = Double([0, 0, 0, 0, 1, -1, 0.4, 0.0001].randomElement(using: &random) ?? 0)
                let names: [TransactionID?] = [name, name, name, nil, "h\(index - 1)", "t2", "unknown \(index)"]
                facts.append(
                    .periodEnded(
                        Fact.PeriodEnd(
                            start: start.addingTimeInterval(days * 86_400),
                            transaction: names.randomElement(using: &random) ?? nil,
                            at: reason == .billing ? start : end.addingTimeInterval(-3600),
                            reason: reason
                        )
                    )
                )
            }
            let origin = Origin.madeUp(notification: "n\(index)", digest: "n\(index)")
            let statement = StoreStatement(
                subscription: Self.lineage,
                provider: .apple,
                assertedAt: start,
                facts: facts,
                origin: origin
            )
            state.apply(statement)
        }
        return state
    }

    @Test("means what it means to a reader of all periods", arguments: (0..<8).map { UInt64($0) * 1000 })
    func near(first: UInt64) {
        var (count, bounded) = (0, 0)
        let history = history(seed: first)
        for seed in first..<first + Self.stories {
            var (near, whole) = (history, history)
            for story in [RandomStory(seed: seed), RandomStory(seed: seed + 500), RandomStory(seed: seed + 900)] {
                for event in story.events {
                    count += 1
                    if near.bound(of: event) != nil { bounded += 1 }
                    let (one, other) = (near.apply(event), whole.apply(event, catalog: nil, from: nil))
                    #expect(one == other, "seed \(seed): \(event.id)")
                }
                #expect(near == whole, "seed \(seed)")
                let timeline = PeriodTimeline(whole)
                for days in stride(from: -400, through: 100, by: 29) {
                    let time = Self.origin + Int64(days) * Self.day + 1
                    #expect(near.reading(at: time).decision == whole.access(at: time, timeline), "seed \(seed)")
                }
            }
        }
        // Some stories have a period without an end, and are read as a whole from then on.
        #expect(bounded * 3 > count, "\(bounded) of \(count)")
    }

    @Test("is read with as many periods after ten times as many", arguments: [200, 2000])
    func readPeriods(count: Int64) throws {
        let state = history(seed: 1, count: count)
        let order = try #require(state.periodOrder)
        let last = try #require(order.lastStart)
        let bound = try #require(order.bound(around: last))
        #expect(order.keys(from: bound).count == 65)
    }
}
