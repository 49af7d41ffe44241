import AppleJWS
import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Testing
import WireJSON

/// Transactions of the Advanced Commerce API state refunds by item, and neither a type nor a percentage of their own.
@Suite("Refunds of items")
struct AppleItemRefundTests {
    private let start = AppleFixture.start
    private let fixture: AppleFixture
    private func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

    init() throws { fixture = try AppleFixture() }

    private func transaction(_ type: String, revokedAt: Date?) -> AppleSimulator.Transaction {
        var transaction = AppleSimulator.Transaction(
            transactionId: "100",
            originalTransactionId: "100",
            productId: "generic",
            purchaseDate: start,
            type: type
        )
        transaction.originalPurchaseDate = start
        (transaction.price, transaction.currency) = (9990, "USD")
        if type == "Auto-Renewable Subscription" { transaction.expiresDate = day(30) }
        transaction.revocationDate = revokedAt
        return transaction
    }

    private func item(
        _ sku: String,
        price: Int64,
        refunds: [(type: String, amount: Int64)] = [],
        takenOut: Date? = nil
    ) -> JSONText {
        let refunds = refunds.map { refund -> JSONText in
            [
                "refundAmount": .integer(refund.amount), "refundDate": .integer(day(10).millisecondsSince1970),
                "refundReason": "OTHER", "refundType": .string(refund.type),
            ]
        }
        var item = JSONMembers([("SKU", .string(sku)), ("price", .integer(price)), ("refunds", .array(refunds))])
        if let takenOut { item.append("revocationDate", .integer(takenOut.millisecondsSince1970)) }
        return .object(item)
    }

    private func reported(
        _ type: String,
        _ transaction: AppleSimulator.Transaction,
        status: Int64? = nil,
        items: [JSONText],
        at date: Date
    ) throws -> [NormalizedEvent] {
        let simulator = fixture.simulator
        var payload = simulator.payload(transaction, at: date)
        payload.append("advancedCommerceInfo", ["requestReferenceId": "r-1", "items": .array(items)])
        var data = JSONMembers([
            ("appAppleId", .integer(simulator.appAppleId)), ("bundleId", .string(simulator.bundleId)),
            ("environment", "Production"),
            ("signedTransactionInfo", .string(String(decoding: try simulator.jws(payload.bytes), as: UTF8.self))),
        ])
        if let status { data.append("status", .integer(status)) }
        let notification: JSONText = [
            "notificationType": .string(type), "notificationUUID": .string("\(type)-\(date.timeIntervalSince1970)"),
            "version": "2.0", "signedDate": .integer(date.millisecondsSince1970), "data": .object(data),
        ]
        let signed = try simulator.jws(Array(notification.text.utf8))
        return try fixture.adapter.events(AppleSimulator.delivery(of: signed, receivedAt: date))
    }

    private func scopes(_ events: [NormalizedEvent]) -> [LifecycleEvent.Refund.Scope] {
        events.compactMap { if case .refunded(let refund) = $0.event { refund.scope } else { nil } }
    }

    /// The rest of 100 credits for `coins` or `basic` once events are known, in the order given and in the reverse.
    private func balance(_ events: [NormalizedEvent]) -> [Int64] {
        let policy = CreditPolicy(["coins": .init(credits: 100), "basic": .init(credits: 100)])
        return [events, events.reversed()].map { order in
            let ledger = AccountLedger(applying: order)
            return CreditStatement(of: ledger.states, under: policy, uses: [], at: day(11)).balance
        }
    }

    @Test("a part of the money for coins goes back, and then all of it")
    func coins() throws {
        func refund(_ refunds: [(type: String, amount: Int64)], at date: Date) throws -> [NormalizedEvent] {
            let items = [
                item("coins", price: 5990, refunds: refunds),
                item("gems", price: 4000, refunds: refunds.last?.type == "FULL" ? [("FULL", 4000)] : []),
            ]
            return try reported("REFUND", transaction("Consumable", revokedAt: day(10)), items: items, at: date)
        }
        let bought = try reported(
            "ONE_TIME_CHARGE",
            transaction("Consumable", revokedAt: nil),
            items: [item("coins", price: 5990, refunds: []), item("gems", price: 4000, refunds: [])],
            at: day(0.1)
        )
        #expect(balance(bought) == [100, 100])
        let part = try refund([("CUSTOM", 1000)], at: day(10.1))
        #expect(scopes(part) == [.fraction(try #require(ExactDecimal("0.1001")))])
        let more = try refund([("CUSTOM", 1000), ("PRORATED", 500)], at: day(10.2))
        #expect(scopes(more) == [.fraction(try #require(ExactDecimal("0.15015")))])
        #expect(more.map(\.id) != part.map(\.id), "another refund is another fact")
        let all = try refund([("CUSTOM", 1000), ("FULL", 4990)], at: day(10.3))
        #expect(scopes(all) == [.full])
        #expect(balance(bought + part + more + all) == [0, 0])
    }

    @Test("a refund that takes nothing away leaves the subscription")
    func kept() throws {
        let subscription = transaction("Auto-Renewable Subscription", revokedAt: nil)
        let items = [item("basic", price: 5990, refunds: []), item("extra", price: 4000, refunds: [])]
        let begun = try reported("SUBSCRIBED", subscription, status: 1, items: items, at: day(0.1))
        #expect(begun.map(\.kind) == [.started])
        let refunded = [
            item("basic", price: 5990, refunds: []), item("extra", price: 4000, refunds: [("PRORATED", 2000)]),
        ]
        let events = begun + (try reported("REFUND", subscription, status: 1, items: refunded, at: day(10.1)))
        #expect(scopes(events) == [.fraction(try #require(ExactDecimal("0.2002")))])
        let ledger = AccountLedger(applying: events)
        #expect(ledger.states[0].access(at: day(11)).isGranted)
    }

    @Test("an item that is refunded ends by itself, and takes its own credits", arguments: ["plan", "extra"])
    func taken(sku: String) throws {
        let subscription = transaction("Auto-Renewable Subscription", revokedAt: nil)
        let prices: [(String, Int64)] = [("plan", 6990), ("extra", 3000)]
        let begun = try reported(
            "SUBSCRIBED",
            subscription,
            status: 1,
            items: prices.map { item($0, price: $1) },
            at: day(0.1)
        )
        let refunded = try reported(
            "REFUND",
            subscription,
            status: 1,
            items: prices.map {
                $0 == sku ? item($0, price: $1, refunds: [("FULL", $1)], takenOut: day(10)) : item($0, price: $1)
            },
            at: day(10.1)
        )
        let kept = sku == "plan" ? "extra" : "plan"
        var renewal = transaction("Auto-Renewable Subscription", revokedAt: nil)
        (renewal.transactionId, renewal.transactionReason) = ("101", "RENEWAL")
        (renewal.purchaseDate, renewal.expiresDate) = (day(30), day(60))
        let next = try reported(
            "DID_RENEW",
            renewal,
            status: 1,
            items: prices.filter { $0.0 == kept }.map { item($0, price: $1) },
            at: day(30)
        )
        let policy = CreditPolicy(["plan": .init(credits: 1000), "extra": .init(credits: 100)])
        for order in [begun + refunded, refunded + begun, refunded, begun + refunded + next, next + refunded + begun] {
            let ledger = AccountLedger(applying: order)
            let state = try #require(ledger.states.first)
            func products(at days: Double) -> [ProductID] {
                guard case .granted(_, let grant) = state.access(at: day(days)) else { return [] }
                return ([grant.product] + (grant.otherProducts ?? [])).sorted()
            }
            #expect(products(at: 5) == ["extra", "plan"])
            #expect(products(at: 15) == [ProductID(kept)])
            #expect(state.snapshot(at: day(15)).product == ProductID(kept) && state.contradictions.isEmpty)
            #expect(state.snapshot(at: day(15)).pendingProduct == nil)
            func balance(at days: Double) -> Int64 {
                CreditStatement(of: [state], under: policy, uses: [], at: day(days)).balance
            }
            #expect(balance(at: 5) == 1100)
            #expect(balance(at: 15) == (kept == "plan" ? 1000 : 100))
        }
        var ledger = AccountLedger()
        let reported = (begun + refunded + next).map { ledger.apply($0) }
        guard reported.count == 3, case .refunded(let refund) = reported[1].event.event,
            case .renewed(let renewed) = reported[2].event.event
        else {
            Issue.record("\(reported.map(\.event.kind))")
            return
        }
        #expect(refund.affectsCurrentPeriod == true)
        #expect(renewed.cause == .scheduled)
    }

    @Test("a non-consumable whose refund takes nothing away is kept", arguments: ["CUSTOM", "FULL"])
    func bought(type: String) throws {
        let transaction = transaction("Non-Consumable", revokedAt: nil)
        let bought = try reported(
            "ONE_TIME_CHARGE",
            transaction,
            items: [item("course", price: 9990, refunds: [])],
            at: day(0.1)
        )
        let refund = (type: type, amount: Int64(type == "FULL" ? 9990 : 1000))
        let refunded = try reported(
            "REFUND",
            transaction,
            items: [item("course", price: 9990, refunds: [refund])],
            at: day(10.1)
        )
        var ledger = AccountLedger()
        let effects: [LifecycleEvent.AccessEffect] = (bought + refunded).map {
            ledger.apply($0).event.event.accessEffect
        }
        #expect(effects == [.grants, .none])
        #expect(refunded[0].event.accessEffect == LifecycleEvent.AccessEffect.none)
        #expect(ledger.states[0].access(at: day(11)).isGranted)
    }
}
