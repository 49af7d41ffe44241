import FoundationEssentials
import NotificationSimulator
import Normalizer
import NormalizerTesting
import RevenueCatEvents
import Testing
import WireJSON

private let half = t0 + (t1 - t0) / 2

/// Plans of 10.00 with 200 credits and of 20.00 with 500, and what webhooks do to them.
@Suite("Credits by RevenueCat's webhooks")
struct CreditTests {
    typealias Event = RevenueCatSimulator.Event
    typealias Period = RevenueCatSimulator.Period

    static let policy = CreditPolicy([
        "basic_m": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
        "pro_m": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
        "rival_m": .init(credits: 300, price: Money(ExactDecimal(10), "USD")),
        "coins": .init(credits: 50),
    ])

    static func events(_ webhooks: [Event]) throws -> [NormalizedEvent] {
        let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")]))
        let simulator = RevenueCatSimulator(authorization: SecretBytes("a"))
        return try webhooks.flatMap { webhook in
            var at = t0
            if case .integer(let milliseconds)? = webhook.members["event_timestamp_ms"] { at = milliseconds }
            let receivedAt = Date(timeIntervalSince1970: Double(at + 20_000) / 1000)
            let delivery = try simulator.delivery(webhook.body, receivedAt: receivedAt)
            return try adapter.normalize(try adapter.authenticate(delivery)).events
        }
    }

    static func host(_ webhooks: Event...) throws -> Backend {
        Backend(try events(webhooks), policy)
    }

    static func event(
        _ type: String,
        at: Int64,
        _ period: Period,
        product: String,
        changing changes: KeyValuePairs<String, JSONText?> = [:]
    ) -> Event {
        Event(type, id: "\(type)-\(at)-\(product)", at: at, period, changing: ["product_id": .string(product)]).with(
            changes
        )
    }

    let basic = event("INITIAL_PURCHASE", at: t0 + 5000, .first, product: "basic_m").priced("10.00")
    let renewal = event("RENEWAL", at: t1 + 5000, .second, product: "basic_m").priced("10.00")

    @Test("a purchase pays out, a renewal replaces and never adds, and a repetition does nothing")
    func renewals() throws {
        #expect(try Self.host(basic).balance == 200)
        let again = renewal.with(["id": "resent by hand"])
        let host = try Self.host(basic, renewal, renewal, again)
        #expect(host.balance == 200)
    }

    @Test("turning renewal off takes nothing, the end of the period does, and what was bought stays")
    func ends() throws {
        let canceled = Self.event(
            "CANCELLATION",
            at: t0 + 10 * day,
            .first,
            product: "basic_m",
            changing: ["cancel_reason": "UNSUBSCRIBE"]
        )
        #expect(try Self.host(basic, canceled).balance == 200)
        let expired = Self.event(
            "EXPIRATION",
            at: t1 + 40_000,
            .first,
            product: "basic_m",
            changing: ["expiration_reason": "UNSUBSCRIBE"]
        )
        let coins = Self.event(
            "NON_RENEWING_PURCHASE",
            at: t0 + day,
            Period(t0 + day, to: t0 + day, "C1"),
            product: "coins",
            changing: ["original_transaction_id": "C1", "expiration_at_ms": .null, "entitlement_ids": .null]
        )
        let host = try Self.host(basic, coins, canceled, expired)
        #expect(host.balance == 50)
    }

    @Test("three packs bought at once pay thrice, and are as many as the store itself says")
    func severalAtOnce() throws {
        let packs = Self.event(
            "NON_RENEWING_PURCHASE",
            at: t0 + day,
            Period(t0 + day, to: t0 + day, "C1"),
            product: "coins",
            changing: [
                "original_transaction_id": "C1", "expiration_at_ms": .null, "entitlement_ids": .null,
                "quantity": 3,
            ]
        ).priced("14.97")
        #expect(try Self.host(packs).balance == 150)
        let event = try #require(try Self.events([packs]).first)
        let price = Money(try #require(ExactDecimal("14.97")), "USD")
        #expect(
            event.event
                == .oneTimePurchased(
                    .init(type: .consumable, quantity: 3, price: Price(price, .charged))
                )
        )
        for unstated in [JSONText?.none, .some(.null)] {
            #expect(try Self.host(packs.with(["quantity": unstated]), packs).balance == 150)
            #expect(try Self.host(packs.with(["quantity": unstated])).balance == 50)
        }
    }

    @Test("an immediate change at half the cycle pays three quarters of the new allowance, in either order")
    func upgrade() throws {
        let announced = Self.event(
            "PRODUCT_CHANGE",
            at: half,
            .first,
            product: "basic_m",
            changing: ["new_product_id": "pro_m"]
        )
        let began = Self.event("RENEWAL", at: half, Period(half, to: half + 31 * day, "O1-2"), product: "pro_m").priced(
            "20.00"
        )
        for order in [[announced, began], [began, announced]] {
            let host = Backend(try Self.events([basic] + order), Self.policy)
            #expect(host.balance == 375 + 200)
        }
        // The announcement's inference about the old period gives nothing; its purchase, when it comes last, does.
        let late = Backend(try Self.events([announced, began, basic, began, basic]), Self.policy)
        #expect(late.balance == 375 + 200)
    }

    @Test("a change across at the same price pays half of the new allowance at half the cycle")
    func crossgrade() throws {
        let began = Self.event("RENEWAL", at: half, Period(half, to: half + 31 * day, "O1-2"), product: "rival_m")
            .priced("10.00")
        #expect(try Self.host(basic, began).balance == 150 + 200)
    }

    @Test("a change at the end of the period pays when it begins")
    func downgrade() throws {
        let pro = Self.event("INITIAL_PURCHASE", at: t0 + 5000, .first, product: "pro_m").priced("20.00")
        let announced = Self.event(
            "PRODUCT_CHANGE",
            at: half,
            .first,
            product: "pro_m",
            changing: ["new_product_id": "basic_m"]
        )
        #expect(try Self.host(pro, announced).balance == 500)
        #expect(try Self.host(pro, announced, renewal).balance == 200)
    }

    @Test("one account on two stores: access by either, credits by each")
    func twoStores() throws {
        let web: KeyValuePairs<String, JSONText?> = ["store": "STRIPE", "original_transaction_id": "S1"]
        let stripe = Self.event(
            "INITIAL_PURCHASE",
            at: t0 + 6000,
            Period(t0, to: t1, "S1"),
            product: "pro_m",
            changing: web
        ).priced("20.00")
        let over = Self.event("EXPIRATION", at: t1 + 1000, Period(t0, to: t1, "S1"), product: "pro_m", changing: web)
        let host = try Self.host(stripe, basic, renewal, over)
        let account = Account.Identifier("u1", .appUserID)
        let access = host.ledger.access(of: account, at: Date(timeIntervalSince1970: Double(t1 + day) / 1000))
        #expect(access.decision.isGranted)
        #expect(access.grantors.map(\.subscription.store) == [.appStore])
        #expect(host.balance == 200)
    }
}
