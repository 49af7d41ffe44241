import FoundationEssentials
import Normalizer
import Testing

private let t0 = Date(timeIntervalSince1970: 1_767_225_600)
private let t1 = t0.addingTimeInterval(31 * 86_400)
private let period = ServicePeriod(start: t0, end: t1)
private let money = Money(ExactDecimal(10), "USD")
private let price = Price(money, .charged)

/// One of every case, and of every shape of its detail.
private let events: [LifecycleEvent] = [
    .purchasePending(.init(product: "p")),
    .purchasePendingCanceled(.init(product: "p")),
    .started(.init(origin: .familyShared, phase: .trial, period: period, price: price)),
    .renewed(.init(cause: .scheduled, phase: .regular, period: period)),
    .renewed(.init(cause: .trialConversion, phase: .regular, period: period)),
    .renewed(.init(cause: .introductoryConversion, phase: .regular, period: period)),
    .renewed(.init(cause: .recovery(from: .grace), phase: .regular, period: period)),
    .renewed(.init(cause: .recovery(from: .retry), phase: .regular, period: period)),
    .renewed(.init(cause: .recovery(from: .hold), phase: .regular, period: period)),
    .renewed(.init(cause: .recovery(from: .unknown), phase: .regular, period: period)),
    .renewed(.init(cause: .resumption, phase: .regular, period: period)),
    .renewed(.init(cause: .planChange, phase: .regular, period: period)),
    .renewed(.init(cause: .topUp, phase: .prepaid, period: period)),
    .renewed(.init(cause: .unknown, phase: .promotional, period: period)),
    .billingIssue(.init(access: .grace(until: t1), retryUntil: t1, actionRequired: true)),
    .billingIssue(.init(access: .suspended)),
    .gracePeriodExpired,
    .autoRenewDisabled(.init(reason: .priceIncreaseDeclined, accessUntil: t1)),
    .autoRenewEnabled,
    .expired(.init(reason: .productUnavailable)),
    .productChangeScheduled(
        .init(from: "a", to: "b", direction: .downgrade, timing: .atPeriodEnd(t1), basis: .store)
    ),
    .productChangeReverted(.init(to: "a", direction: .addOns, timing: .atPeriodEnd(nil), basis: .inferred)),
    .productChanged(
        .init(to: "b", direction: .upgrade, timing: .immediate, basis: .catalog, proration: .refund, period: period)
    ),
    .pauseScheduled(.init(resumesAt: t1)),
    .paused(.init()),
    .extended(.init(from: t0, to: t1, reason: .storeOutage)),
    .priceChange(.init(stage: .pending, old: money, new: money, effectiveAt: t1, consentRequired: true)),
    .offerRedeemed(
        .init(offer: Offer(kind: .winBack, id: "o", payment: .payUpFront, duration: "P1M"), period: period)
    ),
    .oneTimePurchased(.init(type: .nonConsumable, quantity: 2, price: price, expires: t1, familyShared: true)),
    .refundRequested(.init(transaction: "1", reason: "OTHER", answerBy: t1)),
    .refunded(.init(transaction: "1", scope: .full, reason: .appIssue, affectsCurrentPeriod: true)),
    .refunded(
        .init(transaction: "1", scope: .fraction(ExactDecimal(1)), reason: "new", affectsCurrentPeriod: false)
    ),
    .refunded(.init(transaction: "1", scope: .quantity(3), reason: .other, affectsCurrentPeriod: nil)),
    .refunded(.init(transaction: "1", scope: .amount(money), reason: .developer, affectsCurrentPeriod: nil)),
    .refundDeclined(.init(transaction: "1")),
    .refundReversed(.init(transaction: "1")),
    .chargeback(.init(stage: .lost, transaction: "1", amount: money)),
    .revoked(.init(reason: .familySharingEnded)),
    .transferred(.init(from: [.init("u1", .appUserID)], to: [.init("u2", .appUserID)])),
    .acknowledgementRequired(.init(deadline: t1)),
    .notice(.init(.trialEnding, facts: ["b": "2", "a": "1"])),
    .unmapped(.init(type: "NEW", subtype: "THING")),
]

private let facts: [Fact] = [
    .period(.init(period, product: "p", phase: .regular, transaction: "1", ownership: .familyShared)),
    .periodEnded(.init(start: t0, transaction: nil, at: t1, reason: .paused)),
    .renewalIntent(
        .init(RenewalTerms(willRenew: false, nextProduct: "q", nextPrice: money, renewsAt: t1), reason: .customer)
    ),
    .billing(.init(.grace, periodStart: t0, graceUntil: t1, retryUntil: t1)),
    .billing(
        .init(
            .grace,
            charge: .init(transaction: "1", attempt: 2, changeStart: t0, items: [.init(product: "p", price: money)])
        )
    ),
    .pause(.init(.scheduled, resumesAt: t1)),
    .priceChange(.init(nil)),
    .priceChange(.init(.init(stage: .accepted, consentRequired: false))),
    .charge(.init(transaction: "1", price: price, at: t0)),
    .refund(.init(transaction: "1", scope: .full, at: t1, periodStart: t0, endsAccess: true)),
    .refund(.init(transaction: "1", scope: nil, at: t1, periodStart: nil, endsAccess: false)),
    .refund(
        .init(transaction: "1", refund: "2", scope: nil, at: t1, periodStart: nil, endsAccess: false, undone: money)
    ),
    .purchase(.init(transaction: "1", product: "p", purchase: .init(type: .consumable, quantity: 1), at: t0)),
    .owner(Account("u", .stripeCustomer, aliases: [.init("v", .metadata)])),
    .transfer(.init(from: [], to: [.init("u2", .appUserID)])),
    .link(SubscriptionID(store: .playStore, environment: .sandbox, id: "x")),
]

@Suite("Events as JSON")
struct EventCodingTests {
    private func envelope(_ event: LifecycleEvent) -> NormalizedEvent {
        let lineage = SubscriptionID(store: .appStore, environment: .sandbox, id: "1")
        return NormalizedEvent(
            id: EventID(.notified, in: lineage, "1"),
            event: event,
            provider: .apple,
            store: .appStore,
            environment: .sandbox,
            app: "com.example.app",
            subscription: lineage,
            transaction: "2",
            account: Account("u", .appAccountToken),
            product: PurchasedProduct(id: "p", basePlan: "b", offer: Offer(kind: .code), group: "g", quantity: 1),
            period: period,
            price: price,
            renewal: RenewalTerms(willRenew: true),
            occurredAt: t0,
            effectiveAt: t0,
            assertedAt: t0,
            receivedAt: t1,
            facts: facts,
            origin: Origin(
                type: "T",
                subtype: "S",
                notificationID: "n",
                channel: .webhook,
                evidence: .init(.jwsX5C, key: "k"),
                digest: "d",
                mapper: "apple/1"
            )
        )
    }

    @Test("Every event reads back as it was, and is written the same again", arguments: events)
    func roundTrip(event: LifecycleEvent) throws {
        let envelope = envelope(event)
        let json = try CanonicalJSON.bytes(envelope)
        let read = try CanonicalJSON.value(NormalizedEvent.self, from: json)
        #expect(read == envelope)
        #expect(try CanonicalJSON.bytes(read) == json)
        #expect(!String(decoding: json, as: UTF8.self).contains("null"))
        let object = try CanonicalJSON.value([String: AnyMember].self, from: json)
        #expect(object["kind"]?.text == event.kind.rawValue)
    }

    @Test("A printed event shows which one it is, and nothing of a person")
    func printing() {
        let event = envelope(.unmapped(.init(type: "marker", subtype: "marker")))
        var dumped = ""
        dump(event, to: &dumped)
        for text in ["\(event)", String(reflecting: event), "\([event])", dumped] {
            #expect(text.contains(event.id.description))
            #expect(!text.contains("marker"))
        }
    }

    @Test("Every case has a name of its own")
    func kinds() {
        #expect(Set(events.map(\.kind)).count == 28)
    }

    @Test("A minimal event has no empty members")
    func minimal() throws {
        let event = NormalizedEvent(
            id: EventID(provider: .apple, environment: .sandbox, notification: "n"),
            event: .notice(.init(.test)),
            provider: .apple,
            store: .appStore,
            environment: .sandbox,
            occurredAt: t0,
            effectiveAt: t0,
            assertedAt: t0,
            receivedAt: t0,
            origin: Origin(type: "TEST", channel: .webhook, evidence: .init(.jwsX5C), digest: "d", mapper: "apple/1")
        )
        let text = String(decoding: try CanonicalJSON.bytes(event), as: UTF8.self)
        #expect(
            text
                == #"{"asserted_at":"2026-01-01T00:00:00.000Z","detail":{"facts":{},"kind":"test"},"#
                + #""effective_at":"2026-01-01T00:00:00.000Z","environment":"sandbox","id":"\#(event.id)","#
                + #""kind":"notice","occurred_at":"2026-01-01T00:00:00.000Z","origin":{"channel":"webhook","#
                + #""digest":"d","evidence":{"method":"jws_x5c"},"mapper":"apple/1","type":"TEST"},"#
                + #""provider":"apple","received_at":"2026-01-01T00:00:00.000Z","store":"app_store"}"#
        )
    }

    @Test(
        "JSON that is not an event does not read as one",
        arguments: [
            #"{"kind":"new_kind"}"#, #"{"kind":"expired"}"#, #"{"kind":"expired","detail":{"reason":"x"}}"#, #"{}"#,
            #"{"kind":"billing_issue","detail":{"access":"other","action_required":false}}"#,
            #"{"kind":"refunded","detail":{"transaction":"1","scope":{"type":"half"},"reason":"other"}}"#,
        ]
    )
    func refused(json: String) {
        #expect(throws: InvalidValue.self) {
            try CanonicalJSON.value(LifecycleEvent.self, from: Array(json.utf8))
        }
    }

    @Test("Cancelling never takes access away; ending does")
    func accessEffects() {
        #expect(LifecycleEvent.autoRenewDisabled(.init(reason: .customer)).accessEffect == .none)
        #expect(LifecycleEvent.expired(.init(reason: .customer)).accessEffect == .removes)
        #expect(LifecycleEvent.billingIssue(.init(access: .grace(until: t1))).accessEffect == .keeps)
        #expect(LifecycleEvent.billingIssue(.init(access: .suspended)).accessEffect == .removes)
        let past = LifecycleEvent.Refund(transaction: "1", scope: .full, reason: .other, affectsCurrentPeriod: false)
        #expect(LifecycleEvent.refunded(past).accessEffect == .none)
        #expect(LifecycleEvent.purchasePending(.init(product: "p")).accessEffect == .none)
    }

    private struct AnyMember: Decodable {
        let text: String?

        init(from decoder: any Decoder) throws {
            text = try? decoder.singleValueContainer().decode(String.self)
        }
    }
}
