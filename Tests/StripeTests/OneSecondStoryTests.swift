import NormalizerTesting
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing

/// Stripe dates events by whole seconds, and what it sends of one act comes in one second or in several.
@Suite("The notifications of one act, dated by one second")
struct OneSecondStoryTests {
    static let versions: [StripeSimulator.Version] = [.v2020, .acacia, .endive]
    private static let start = date(created)

    private static func notifications(
        _ story: NotificationSimulator.CustomerStory,
        _ version: StripeSimulator.Version
    ) -> [SimulatedNotification]? {
        try? simulator(version).notifications(story, from: start)
    }

    /// The stories that Stripe can tell.
    static let stories = NotificationSimulator.CustomerStory.all.filter { notifications($0, .endive) != nil }

    private struct Reported {
        /// The step of the story, and whether it is what the merchant does about money that went back.
        let act: [Int]
        let time: Int64
        let content: [UInt8]
    }

    /// - Parameter isCollapsed: whether all that an act sends is dated as the last of it is.
    private static func reported(
        _ notifications: [SimulatedNotification],
        isCollapsed: Bool
    ) throws -> [Reported] {
        let disputed = Set(notifications.filter { $0.type.hasPrefix("charge.dispute") }.map(\.step))
        // The bank's decision is one act, and that the merchant cancels then another.
        func name(of notification: SimulatedNotification) -> [Int] {
            let isAnswer =
                disputed.contains(notification.step) && notification.type == "customer.subscription.deleted"
            return [notification.step, isAnswer ? 1 : 0]
        }
        let last = Dictionary(notifications.map { (name(of: $0), $0.occurredAt.seconds) }, uniquingKeysWith: max)
        return try notifications.map { notification in
            let act = name(of: notification)
            guard isCollapsed, let time = last[act] else {
                return Reported(act: act, time: notification.occurredAt.seconds, content: notification.content)
            }
            let text = String(decoding: notification.content, as: UTF8.self)
            let dated = "\"created\":\(notification.occurredAt.seconds),"
            let place = try #require(text.firstRange(of: dated))
            let data = try #require(text.firstRange(of: "\"data\":"))
            try #require(place.upperBound <= data.lowerBound)
            return Reported(
                act: act,
                time: time,
                content: Array(text.replacing(dated, with: "\"created\":\(time),", maxReplacements: 1).utf8)
            )
        }
    }

    private static func ledger(_ reported: [Reported], _ adapter: StripeAdapter) throws -> AccountLedger {
        var ledger = AccountLedger()
        for one in reported { _ = ledger.apply(try adapter.take(one.content, at: one.time)) }
        return ledger
    }

    private struct Reading: Hashable {
        let lineages: [SubscriptionID]
        let status: SubscriptionSnapshot.Status
        let product: ProductID?
        let period: ServicePeriod?
        let willRenew: Bool?
        let pendingProduct: ProductID?
        let isGranted: Bool
    }

    private static func readings(_ ledger: AccountLedger, at time: Int64) -> Set<Reading> {
        Set(
            ledger.states.map { state in
                let snapshot = state.snapshot(at: date(time))
                return Reading(
                    lineages: state.lineages,
                    status: snapshot.status,
                    product: snapshot.product,
                    period: snapshot.period,
                    willRenew: snapshot.willRenew,
                    pendingProduct: snapshot.pendingProduct,
                    isGranted: snapshot.access.isGranted
                )
            }
        )
    }

    @Test("come to what they come to when they are seconds apart, after each act and in any order", arguments: versions)
    func sameAsApart(version: StripeSimulator.Version) throws {
        #expect(Self.stories.count > 20)
        var generator = SeededGenerator(seed: 20_261_125)
        let adapter = try policed { $0.refundSource = .refunds }
        for story in Self.stories {
            guard let notifications = Self.notifications(story, version) else { continue }
            let apart = try Self.reported(notifications, isCollapsed: false)
            let collapsed = try Self.reported(notifications, isCollapsed: true)
            for (index, last) in apart.map(\.act).enumerated() where apart.dropFirst(index + 1).first?.act != last {
                let expected = try Self.ledger(Array(apart[...index]), adapter)
                let reported = collapsed[...index]
                let (before, act) = (reported.filter { $0.act != last }, reported.filter { $0.act == last })
                let orders = [
                    before + act, before + act.reversed(), act + before,
                    (before + act + act).shuffled(using: &generator),
                ]
                let time = act.map(\.time).max() ?? created
                for order in orders {
                    let ledger = try Self.ledger(order, adapter)
                    for later in [60, day, 12 * day, 40 * day] {
                        #expect(
                            Self.readings(ledger, at: time + later) == Self.readings(expected, at: time + later),
                            "\(story.id), notification \(index + 1), \(later / day) days later"
                        )
                    }
                }
            }
        }
    }
}

extension Date {
    fileprivate var seconds: Int64 { millisecondsSince1970 / 1000 }
}
