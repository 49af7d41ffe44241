import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Another language derives an identity by the table in `docs/model.md`, from what an event's JSON holds.
@Suite("Identities of Stripe's events, derived from their JSON alone")
struct IdentityRuleTests {
    static let versions: [StripeSimulator.Version] = [.v2020, .acacia, .endive]

    /// The identity by the table; nil for the kinds whose identity is that of a notification.
    private func identity(_ event: NormalizedEvent) -> EventID? {
        guard let lineage = event.subscription else { return nil }
        let any = SubscriptionID(store: event.store, environment: event.environment, id: "")
        func date(_ change: LifecycleEvent.ProductChange) -> Date? {
            if case .atPeriodEnd(let date) = change.timing { date } else { event.effectiveAt }
        }
        switch event.event {
        case .started, .renewed:
            guard let product = event.product?.id, let start = event.period?.start else { return nil }
            return .periodBegan(lineage, product: product, start: start)
        case .refunded(let refund):
            return .refunded(any, refund: refund.refund ?? refund.transaction.rawValue)
        case .refundReversed(let reference):
            return .refundReversed(any, transaction: reference.refund.map(TransactionID.init) ?? reference.transaction)
        case .chargeback(let chargeback):
            return .chargeback(
                any,
                dispute: chargeback.dispute ?? chargeback.transaction.rawValue,
                stage: chargeback.stage
            )
        case .productChangeScheduled(let change):
            return .changeScheduled(
                lineage,
                from: change.fromBasePlan.map(ProductID.init) ?? change.from ?? "",
                to: change.toBasePlan.map(ProductID.init) ?? change.to,
                at: date(change)
            )
        case .productChangeReverted(let change):
            return .changeReverted(
                lineage,
                product: change.toBasePlan.map(ProductID.init) ?? change.to,
                at: date(change)
            )
        case .oneTimePurchased:
            return event.transaction.map { .purchased(lineage, transaction: $0, product: event.product?.id) }
        default:
            return nil
        }
    }

    @Test("all of Stripe's stories", arguments: versions)
    func stories(version: StripeSimulator.Version) throws {
        let (simulator, adapter) = (simulator(version), try adapter())
        var kinds: Set<LifecycleEvent.Kind> = []
        for story in NotificationSimulator.CustomerStory.all {
            guard let notifications = try? simulator.notifications(story, from: date(created)) else { continue }
            for notification in notifications {
                let time = notification.occurredAt.millisecondsSince1970 / 1000
                for event in try adapter.take(notification.content, at: time).events {
                    let json = try CanonicalJSON.bytes(event)
                    let read = try CanonicalJSON.value(NormalizedEvent.self, from: json)
                    // A resumption in the middle of a period is no beginning.
                    guard let identity = identity(read), read.origin.type != "customer.subscription.resumed" else {
                        continue
                    }
                    kinds.insert(read.kind)
                    #expect(identity == event.id, "\(story.id): \(String(decoding: json, as: UTF8.self))")
                }
            }
        }
        #expect(
            kinds == [
                .started, .renewed, .refunded, .refundReversed, .chargeback, .productChangeScheduled,
                .productChangeReverted, .oneTimePurchased,
            ]
        )
    }

    @Test("a refund that its charge alone reports has a name of its own in the event")
    func charge() throws {
        let charge = PaymentJoinTests.charge(500, of: "pi_1", at: created, .acacia)
        let event = try #require(try adapter().take(charge.body, at: charge.time).events.first)
        guard case .refunded(let refund) = event.event else {
            Issue.record("\(event.kind)")
            return
        }
        #expect(refund.refund == "ch_1/refunded/500/\(created)")
        #expect(identity(event) == event.id)
    }

    @Test("a change that awaits its payment, and its end")
    func pendingUpdate() throws {
        let before = RareFlowTests.active(.basic)
        var waiting = before
        waiting.pendingUpdate = [
            "expires_at": .integer(created + day),
            "subscription_items": [
                ["id": "si_1", "object": "subscription_item", "price": StripePrice.pro.price(), "quantity": 1]
            ],
        ]
        let update = RareFlowTests.updated(waiting, from: before, at: created + 60, .endive)
        let expired: RareFlowTests.Taken = (
            PitfallTests.body("pending_update_expired", before, at: created + day, id: "evt_expired", in: .endive),
            created + day
        )
        let events = try [update, expired].flatMap { try adapter().take($0.body, at: $0.time).events }
        #expect(events.map(\.kind) == [.productChangeScheduled, .productChangeReverted])
        for event in events { #expect(identity(event) == event.id) }
    }
}
