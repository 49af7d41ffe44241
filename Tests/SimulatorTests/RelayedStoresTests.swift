import NormalizerTesting
import Foundation
import Normalizer
import NotificationSimulator
import StoryReceiving
import Testing

/// RevenueCat tells of purchases in several stores, each in a way of its own.
@Suite("RevenueCat over every store")
struct RelayedStoresTests {
    private static let start = Date(millisecondsSince1970: 1_767_607_200_000)
    /// So many orders of a story that has more.
    private static let orders = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] == "1" ? 60 : 12

    @Test("a documented story comes to what it says at each store", arguments: RevenueCatSimulator.stores)
    func kinds(store: PurchaseStore) async throws {
        let relay = RevenueCatSimulator(seed: "stores", store: store)
        for story in CustomerStory.all where relay.absence(of: story) == nil {
            let kinds = try await StoryPlayback(story, by: relay, from: Self.start).kinds
            for expectation in try relay.expectations(of: story) {
                let actual = kinds[expectation.step] ?? []
                #expect(actual == expectation.kinds, "\(store.rawValue) \(story.id), step \(expectation.step + 1)")
            }
        }
    }

    @Test(
        "a documented story leaves one state and no contradiction in any order, even if all of an act comes at one time",
        arguments: RevenueCatSimulator.stores,
        [false, true]
    )
    func stories(store: PurchaseStore, isCollapsed: Bool) async throws {
        let relay = RevenueCatSimulator(seed: "stores", store: store)
        let stories = CustomerStory.all.filter { relay.absence(of: $0) == nil }
        #expect(stories.count >= 10)
        for story in stories {
            let simulator: any StorySimulator = isCollapsed ? InOneMoment(relay) : relay
            let taken = try await StoryPlayback(story, by: simulator, from: Self.start).taken
            #expect(taken.allSatisfy { $0.result.events.allSatisfy { $0.event.kind != .unmapped } })
            let expected = AccountLedger(applying: taken.map(\.result))
            for order in Self.orders(of: taken.count) {
                let ledger = AccountLedger(applying: order.map { taken[$0].result })
                let found = ledger.states.flatMap { ledger.contradictions(of: $0) }.map {
                    "\($0.kind.rawValue) of \($0.subject)"
                }
                let types = order.map { taken[$0].notification.type }
                #expect(found == [], "\(store.rawValue) \(story.id) after \(types)")
                #expect(ledger == expected, "\(store.rawValue) \(story.id) after \(types)")
                guard found.isEmpty, ledger == expected else { break }
            }
        }
    }

    /// All orders of few, and some of many, with repetitions.
    private static func orders(of count: Int) -> [[Int]] {
        guard count > 4 else { return permutations(of: Array(0..<count)) }
        var random = SeededGenerator(seed: UInt64(count))
        return [Array(0..<count), Array((0..<count).reversed())]
            + (0..<orders).map { _ in
                (Array(0..<count) + [Int.random(in: 0..<count, using: &random)]).shuffled(using: &random)
            }
    }
}

/// RevenueCat that stamps all webhooks of one act with one time, as it does with those of a failed charge.
private struct InOneMoment: StorySimulator {
    private let relay: RevenueCatSimulator

    init(_ relay: RevenueCatSimulator) { self.relay = relay }

    var provider: Provider { relay.provider }
    var receiverConfiguration: [UInt8] { relay.receiverConfiguration }

    func delivery(of notification: SimulatedNotification, sentAt: Date) throws(SimulatorError) -> Delivery {
        try relay.delivery(of: notification, sentAt: sentAt)
    }

    func notifications(_ story: CustomerStory, from start: Date) throws(SimulatorError) -> [SimulatedNotification] {
        var first: [Int: Int64] = [:]
        return try relay.notifications(story, from: start).map { notification in
            let own = notification.occurredAt.millisecondsSince1970
            let shared = min(own, first[notification.step] ?? own)
            first[notification.step] = shared
            var notification = notification
            let body = String(decoding: notification.content, as: UTF8.self)
            notification.content = Array(
                body.replacing("\"event_timestamp_ms\":\(own)", with: "\"event_timestamp_ms\":\(shared)").utf8
            )
            notification.occurredAt = Date(millisecondsSince1970: shared)
            return notification
        }
    }
}
