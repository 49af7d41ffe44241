import FoundationEssentials
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing

private let t0: Int64 = 1_767_225_600_000
private let t1: Int64 = 1_769_904_000_000
private let t2: Int64 = 1_772_323_200_000
private let day: Int64 = 86_400_000

private func date(_ milliseconds: Int64) -> Date { Date(timeIntervalSince1970: Double(milliseconds) / 1000) }

/// RevenueCat tells of a Play subscription and its add-ons in one webhook, with `items`.
@Suite("Add-ons on Play")
struct AddOnTests {
    private static let order = "GPA.3312-6386-1703-32297"
    private static let base = SubscriptionID(store: .playStore, environment: .production, id: order)
    private static let addOn = SubscriptionID(store: .playStore, environment: .production, id: "\(order):hifi")

    private func item(_ product: String, _ price: String, until end: Int64) -> JSONText {
        [
            "currency": "EUR", "expiration_at_ms": .integer(end), "price": .raw(price),
            "price_in_purchased_currency": .raw(price), "product_id": .string(product),
            "type": .string(product.hasPrefix("music") ? "base" : "addon"),
        ]
    }

    private func told(
        _ type: String,
        _ at: Int64,
        from start: Int64,
        to end: Int64,
        _ order: String,
        base: String = "music:monthly",
        itemsTo itemEnd: Int64? = nil,
        _ changes: KeyValuePairs<String, JSONText?> = [:]
    ) throws -> [NormalizedEvent] {
        var event: [(String, JSONText)] = [
            ("type", .string(type)), ("id", .string("\(type)-\(at)")), ("event_timestamp_ms", .integer(at)),
            ("app_user_id", "u1"), ("environment", "PRODUCTION"), ("store", "PLAY_STORE"), ("period_type", "NORMAL"),
            ("product_id", "music:monthly"), ("purchased_at_ms", .integer(start)), ("expiration_at_ms", .integer(end)),
            ("transaction_id", .string(order)), ("original_transaction_id", .string(Self.order)), ("currency", "EUR"),
            ("price", .raw("12.08")), ("price_in_purchased_currency", .raw("12.08")),
            (
                "items",
                .array([
                    item(base, "10.99", until: itemEnd ?? end), item("hifi:monthly", "1.09", until: itemEnd ?? end),
                ])
            ),
        ]
        for (name, value) in changes {
            event.removeAll { $0.0 == name }
            event.append((name, value ?? nil))
        }
        let body = JSONMembers([("api_version", "1.0"), ("event", .object(JSONMembers(event)))]).bytes
        let adapter = try RevenueCatAdapter(.init(authorizations: [Secret("a")]))
        let delivery = try RevenueCatSimulator(authorization: Secret("a")).delivery(body, receivedAt: date(at + 20_000))
        return try adapter.normalize(try adapter.authenticate(delivery)).events
    }

    @Test("each product has its own access, price and credits, and all end together")
    func lifecycle() throws {
        let policy = CreditPolicy(["music:monthly": .init(credits: 100), "hifi:monthly": .init(credits: 10)])
        var ledger = AccountLedger()
        var effects: [CreditAction.Effect] = []
        func take(_ events: [NormalizedEvent]) -> [String] {
            for event in events {
                let applied = ledger.apply(event)
                guard let state = event.subscription.flatMap({ ledger[$0] }) else { continue }
                effects += policy.actions(for: applied, in: state).map(\.effect)
            }
            return events.map { "\($0.kind.rawValue) \($0.product?.id ?? "") \($0.transaction ?? "")" }
        }
        func isGranted(_ lineage: SubscriptionID, _ time: Int64) -> Bool? {
            ledger[lineage]?.access(at: date(time)).isGranted
        }
        let bought = try told("INITIAL_PURCHASE", t0 + 5000, from: t0, to: t1, Self.order)
        #expect(take(bought) == ["started music \(Self.order)", "started hifi \(Self.order)"])
        #expect(bought.map(\.subscription) == [Self.base, Self.addOn])
        #expect(bought.compactMap { $0.price?.money.amount } == [ExactDecimal("10.99"), ExactDecimal("1.09")])
        #expect(bought[1].id == .periodBegan(Self.addOn, transaction: "\(Self.order)/hifi"))
        #expect(effects == [.reset(to: 100), .reset(to: 10)])
        #expect(isGranted(Self.addOn, t0 + day) == true)

        let off = try told("CANCELLATION", t0 + 5 * day, from: t0, to: t1, Self.order, ["cancel_reason": "UNSUBSCRIBE"])
        #expect(take(off).count == 2)
        #expect(ledger[Self.addOn]?.snapshot(at: date(t0 + 6 * day)).willRenew == false)

        let renewed = try told("RENEWAL", t1 + 5000, from: t1, to: t2, "\(Self.order)..0")
        #expect(take(renewed) == ["renewed music \(Self.order)..0", "renewed hifi \(Self.order)..0"])
        #expect(effects.suffix(2) == [.reset(to: 100), .reset(to: 10)])
        #expect([Self.base, Self.addOn].map { isGranted($0, t1 + day) } == [true, true])

        let refunded = try told(
            "CANCELLATION",
            t1 + 5 * day,
            from: t1,
            to: t1 + 5 * day,
            "\(Self.order)..0",
            itemsTo: t2,
            ["cancel_reason": "CUSTOMER_SUPPORT"]
        )
        #expect(take(refunded).count == 2)
        #expect([Self.base, Self.addOn].map { isGranted($0, t1 + 6 * day) } == [false, false])
    }

    @Test("an add-on that RevenueCat was asked about pays out once, and its refund is the one that it tells of")
    func lookedUp() async throws {
        let policy = CreditPolicy(["music:monthly": .init(credits: 100), "hifi:monthly": .init(credits: 10)])
        let bought = try told("INITIAL_PURCHASE", t0 + 5000, from: t0, to: t1, Self.order)
        func entry(_ refundedAt: JSONText) -> KeyValuePairs<String, JSONText?> {
            [
                "store": "play_store", "store_transaction_id": .string(Self.order),
                "product_plan_identifier": "monthly", "refunded_at": refundedAt,
            ]
        }
        for isAskedFirst in [false, true] {
            var ledger = AccountLedger()
            var credits: Set<String> = []
            func take() {
                for event in bought {
                    let applied = ledger.apply(event)
                    guard let state = event.subscription.flatMap({ ledger[$0] }) else { continue }
                    credits.formUnion(policy.actions(for: applied, in: state).map(\.id))
                }
            }
            func ask(at time: Int64, refundedAt: JSONText = nil) async throws {
                for (lineage, product) in [(Self.base, "music"), (Self.addOn, "hifi")] {
                    let answer = try await ClientTests.subscriber(entry(refundedAt), product: product, at: time)
                    ledger.apply(answer.statement(about: lineage, at: date(time)))
                }
            }
            if !isAskedFirst { take() }
            try await ask(at: t0 + day)
            take()
            #expect(credits.count == 2)
            let state = try #require(ledger[Self.addOn])
            #expect(state.snapshot(at: date(t0 + day)).product == "hifi:monthly")
            try await ask(at: t0 + 6 * day, refundedAt: "2026-01-05T00:00:00Z")
            let refund = try told(
                "CANCELLATION",
                t0 + 6 * day,
                from: t0,
                to: t0 + 4 * day,
                Self.order,
                ["cancel_reason": "CUSTOMER_SUPPORT"]
            )
            // Looking told nobody; the second delivery is known, and no refund of something else.
            #expect(refund.map { ledger.apply($0).disposition } == [.applied, .applied])
            #expect(refund.map { ledger.apply($0).disposition } == [.duplicate, .duplicate])
            #expect(
                [Self.base, Self.addOn].map { ledger[$0]?.access(at: date(t0 + 7 * day)).isGranted } == [false, false]
            )
        }
    }

    @Test("the base product is no add-on, however its item names it")
    func baseNamedOtherwise() throws {
        let bought = try told("INITIAL_PURCHASE", t0 + 5000, from: t0, to: t1, Self.order, base: "music")
        #expect(bought.map(\.subscription) == [Self.base, Self.addOn])
    }

    /// What RevenueCat's guide calls different introductory periods: each product is charged by its own.
    private func told(
        _ type: String,
        _ phase: String,
        music: (price: String, end: Int64),
        hifi: (price: String, end: Int64)
    ) throws -> [NormalizedEvent] {
        try told(
            type,
            t0 + 5000,
            from: t0,
            to: music.end,
            Self.order,
            [
                "period_type": .string(phase), "cancel_reason": "UNSUBSCRIBE",
                "items": .array([
                    item("music:monthly", music.price, until: music.end),
                    item("hifi:monthly", hifi.price, until: hifi.end),
                ]),
            ]
        )
    }

    @Test("what is paid for beside a free trial, and what is free beside a paid product, has its own end and credits")
    func trials() throws {
        let policy = CreditPolicy([
            "music:monthly": .init(credits: 100, trialCredits: 5), "hifi:monthly": .init(credits: 10, trialCredits: 1),
        ])
        for isAddOnPaid in [true, false] {
            let (trial, paid) = (("0", t0 + 7 * day), ("1.09", t1))
            let phase = isAddOnPaid ? "TRIAL" : "NORMAL"
            let (music, hifi) = isAddOnPaid ? (trial, paid) : (paid, trial)
            let events = try told("INITIAL_PURCHASE", phase, music: music, hifi: hifi)
            var ledger = AccountLedger()
            var effects: [CreditAction.Effect] = []
            for event in events {
                let applied = ledger.apply(event)
                guard let state = event.subscription.flatMap({ ledger[$0] }) else { continue }
                effects += policy.actions(for: applied, in: state).map(\.effect)
            }
            #expect(effects == (isAddOnPaid ? [.reset(to: 5), .reset(to: 10)] : [.reset(to: 100), .reset(to: 1)]))
            let time = date(t0 + 8 * day)
            #expect(ledger[Self.base]?.access(at: time).isGranted == !isAddOnPaid)
            #expect(ledger[Self.addOn]?.access(at: time).isGranted == isAddOnPaid)
            let ends = try told("CANCELLATION", phase, music: music, hifi: hifi).compactMap { event in
                if case .autoRenewDisabled(let disabled) = event.event { disabled.accessUntil } else { nil }
            }
            #expect(ends == [date(music.1), date(hifi.1)])
        }
    }

    @Test("an add-on that is listed twice is told once")
    func listedTwice() throws {
        let items = ["music:monthly", "hifi:monthly", "hifi"].map { item($0, "1.09", until: t1) }
        let bought = try told("INITIAL_PURCHASE", t0, from: t0, to: t1, Self.order, ["items": .array(items)])
        #expect(bought.map(\.subscription) == [Self.base, Self.addOn])
    }

    @Test("one product alone, other stores and a null have no add-ons", arguments: ["PLAY_STORE", "APP_STORE"])
    func none(store: String) throws {
        let items: [JSONText] =
            store == "PLAY_STORE" ? [nil, .array([item("music:monthly", "12.08", until: t1)])] : ["?"]
        for value in items {
            let body: JSONText = [
                "api_version": "1.0",
                "event": [
                    "type": "INITIAL_PURCHASE", "id": "1", "event_timestamp_ms": .integer(t0), "app_user_id": "u1",
                    "environment": "PRODUCTION", "store": .string(store), "period_type": "NORMAL",
                    "product_id": "music:monthly", "purchased_at_ms": .integer(t0), "expiration_at_ms": .integer(t1),
                    "transaction_id": "1", "original_transaction_id": "1", "items": value,
                ],
            ]
            let adapter = try RevenueCatAdapter(.init(authorizations: [Secret("a")]))
            let delivery = try RevenueCatSimulator(authorization: Secret("a")).delivery(
                body.bytes,
                receivedAt: date(t0)
            )
            #expect(try adapter.normalize(try adapter.authenticate(delivery)).events.count == 1)
        }
    }
}
