import FoundationEssentials
import Normalizer
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("Members that Google Play's answers leave out, or list again")
struct PlayRuleTests {
    typealias Vectors = GoogleVectors
    static let start = Vectors.event
    static let day = Vectors.day
    static let month = 30 * day

    private static var bought: Vectors.Purchase {
        Vectors.purchase("ACTIVE").with {
            $0.start = start
            $0.items[0].order = Vectors.order
            $0.items[0].expiry = start + month
        }
    }

    private static func ledger(_ results: [Normalization]) -> (AccountLedger, [AppliedEvent]) {
        var ledger = AccountLedger()
        var applied: [AppliedEvent] = []
        for result in results { applied += ledger.apply(result) }
        return (ledger, applied)
    }

    private static func unanswered(_ hint: String, at time: Int64 = start) throws -> Normalization {
        let kind: GoogleResolution.Lookup.Resource = hint.contains("\"productType\":2") ? .product : .subscription
        return try ResolutionMapping(
            resolved: Play.resolved(
                hint,
                [.init(kind, about: Vectors.token, PlayAnswer(.gone, status: 410, body: []))],
                askedAt: time + 1500
            )
        ).normalization
    }

    @Test("a charge that fails at the end of a pause ends the pause: it is tried again, and paid it is a recovery")
    func holdAfterPause() throws {
        let resumes = Self.start + 2 * Self.month
        let paused = Self.bought.with { $0.state = "PAUSED" }
        let hold = Self.bought.with { $0.state = "ON_HOLD" }
        let paid = Self.bought.with {
            $0.items[0].order = Vectors.order + "..0"
            $0.items[0].expiry = resumes + Self.month
        }
        let results = [
            try Play.map(4, Self.bought, at: Self.start),
            try Play.map(10, paused, at: Self.start + Self.month),
            try Play.map(5, hold, at: resumes),
            try Play.map(1, paid, at: resumes + Self.day),
        ]
        let (onPause, _) = Self.ledger(Array(results.prefix(2)))
        #expect(onPause.states.map { $0.snapshot(at: Play.date(resumes - Self.day)).status } == [.paused])
        let (onHold, _) = Self.ledger(Array(results.prefix(3)))
        #expect(onHold.states.map { $0.snapshot(at: Play.date(resumes + 3000)).status } == [.billingRetry])
        let (all, applied) = Self.ledger(results)
        #expect(all.states.map { $0.access(at: Play.date(resumes + 2 * Self.day)).isGranted } == [true])
        guard case .renewed(let renewed)? = applied.last?.event.event else {
            Issue.record("no renewal")
            return
        }
        #expect(renewed.cause == .recovery(from: .hold))
    }

    private static func item(_ product: String, renewal: Int?, expiry: Int64) -> Vectors.Item {
        Play.item.with {
            $0.product = product
            $0.order = Vectors.order + (renewal.map { "..\($0)" } ?? "")
            $0.expiry = expiry
        }
    }

    @Test("an add-on that goes at the end of the period ends by itself, and the renewal beside it is one")
    func removal() throws {
        let end = Self.start + Self.month
        let leaving = Self.item("voice", renewal: nil, expiry: end).with {
            $0.isRenewing = false
            $0.extra["deferredItemRemoval"] = "{}"
        }
        func listed(_ items: [Vectors.Item]) -> Vectors.Purchase {
            Self.bought.with { $0.items = items }
        }
        let first = listed([Self.item("premium", renewal: nil, expiry: end), leaving.with { $0.extra = [:] }])
        let renewed = listed([leaving, Self.item("premium", renewal: 0, expiry: end + Self.month)])
        let results = [
            try Play.map(4, first, at: Self.start), try Play.map(2, renewed, at: end + 5000, askedAt: end + 9000),
        ]
        let reported = results[1].events.map { "\($0.product?.id ?? ""): \($0.kind.rawValue)" }
        #expect(Set(reported) == ["premium: renewed", "voice: expired"])
        let (ledger, applied) = Self.ledger(results)
        let causes = applied.compactMap { applied -> LifecycleEvent.Renewed.Cause? in
            if case .renewed(let renewed) = applied.event.event { renewed.cause } else { nil }
        }
        #expect(causes == [.scheduled])
        guard case .expired(let expired)? = results[1].events.first(where: { $0.kind == .expired })?.event else {
            Issue.record("no end")
            return
        }
        #expect(expired.reason == .customer)
        // The month that was paid for stays.
        #expect(ledger.states.allSatisfy { $0.access(at: Play.date(end - Self.day)).isGranted })
        #expect(ledger.states.filter { $0.access(at: Play.date(end + Self.day)).isGranted }.count == 1)
    }

    @Test("a list in another order is the same list")
    func listOrder() throws {
        let end = Self.start + Self.month
        let items = ["premium", "voice", "extra"].map { Self.item($0, renewal: 0, expiry: end) }
        let expected = try Play.map(2, Self.bought.with { $0.items = items }, at: Self.start)
        for order in [[0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let result = try Play.map(2, Self.bought.with { $0.items = order.map { items[$0] } }, at: Self.start)
            #expect(result.events.map(\.id) == expected.events.map(\.id), "\(order)")
            #expect(result.events.map(\.facts) == expected.events.map(\.facts), "\(order)")
        }
        // All of it ends, and that is no word against what was paid for.
        let ended = Self.bought.with {
            $0.items = items.reversed().map { $0.with { $0.expiry = Self.start + Self.day } }
        }
        .with { $0.state = "EXPIRED" }
        let (ledger, _) = Self.ledger([expected, try Play.map(12, ended, at: Self.start + Self.day)])
        #expect(ledger.states.count == items.count)
        for state in ledger.states {
            #expect(state.contradictions.isEmpty)
            #expect(!state.access(at: Play.date(Self.start + 2 * Self.day)).isGranted)
        }
        // Add-ons come after all other products.
        let named = try ResolutionMapping(
            resolved: Play.resolved(
                Vectors.hint(2, at: Self.start),
                [Play.found(.subscription, for: Vectors.token, Self.bought.with { $0.items = items }.json)]
            ),
            addOns: ["extra", "voice"]
        ).normalization
        #expect(named.events.first?.product?.id == "premium")
        #expect(expected.events.first?.product?.id == "extra")
    }

    @Test(
        "an event has the country that Google bills in, and the developer's tags of the plan",
        arguments: ["DE", "de", ""]
    )
    func countryAndTags(region: String) throws {
        let json = Self.bought.json.replacing("\"regionCode\":\"DE\"", with: "\"regionCode\":\"\(region)\"")
            .replacing("\"basePlanId\":", with: "\"offerTags\":[\"spring\",\"web\"],\"basePlanId\":")
        let resolved = try Play.resolved(
            Vectors.hint(4, at: Self.start),
            [Play.found(.subscription, for: Vectors.token, json)]
        )
        let result = try ResolutionMapping(resolved: resolved).normalization
        #expect(Set(result.events.map(\.country)) == [region == "DE" ? "DE" : nil])
        #expect(Set(result.events.map(\.product?.offerTags)) == [["spring", "web"]])
        #expect(result.anomalies.contains("regionCode") == (region == "de"))
        let event = try #require(result.events.first)
        #expect(try CanonicalJSON.value(NormalizedEvent.self, from: CanonicalJSON.bytes(event)) == event)
    }

    @Test("a purchase that is kept no more ends by what a notification says, and its refund has its id")
    func forgotten() throws {
        let revokedAt = Self.start + 10 * Self.day
        let revoked = try Self.unanswered(Vectors.hint(12, at: revokedAt), at: revokedAt)
        let (ledger, _) = Self.ledger([try Play.map(4, Self.bought, at: Self.start), revoked])
        #expect(ledger.states.count == 1)
        #expect(ledger.states.map { $0.access(at: Play.date(revokedAt - Self.day)).isGranted } == [true])
        #expect(ledger.states.map { $0.access(at: Play.date(revokedAt + Self.day)).isGranted } == [false])
        let bought = try Play.map(4, Self.bought, at: Self.start)
        for order in [Vectors.order, Vectors.order + "..0"] {
            let hint = Vectors.voidedHint(1, 1, order: order)
            let ended = Self.bought.with {
                $0.state = "EXPIRED"
                $0.items[0].order = order
            }
            let answered = try ResolutionMapping(
                resolved: Play.resolved(hint, [Play.found(.subscription, for: Vectors.token, ended.json)])
            ).normalization
            let unanswered = try Self.unanswered(hint)
            let refund = try #require(unanswered.events.first)
            #expect(refund.kind == .refunded)
            let id = answered.events.first { $0.kind == .refunded }?.id
            // Google does not state the start of the first period any more, which belongs to the name of its refund.
            #expect((refund.id == id) == (order != Vectors.order))
            for results in [[bought, answered, unanswered], [bought, unanswered, answered]] {
                let (_, applied) = Self.ledger(results)
                let reported = applied.filter { $0.event.kind == .refunded }.map(\.disposition)
                #expect(reported == [.applied, .duplicate], "\(order)")
            }
        }
    }

    @Test(
        "an order whose refund is under way is no refund, and one of a period that is over is none of the current one"
    )
    func refunds() throws {
        func voided(_ purchase: Vectors.Purchase, order: String?) throws -> [NormalizedEvent] {
            var lookups = [Play.found(.subscription, for: Vectors.token, purchase.json)]
            if let order { lookups.append(Play.found(.order, for: Vectors.order, order)) }
            return try ResolutionMapping(
                resolved: Play.resolved(Vectors.voidedHint(1, 1, order: Vectors.order), lookups)
            ).normalization.events
        }
        let ended = Self.bought.with {
            $0.state = "EXPIRED"
            $0.start = Self.start - Self.month
            $0.items[0].expiry = Self.start - 5000
        }
        let part =
            #"{"createTime":"2026-01-01T00:00:00Z","state":"PENDING","refundDetails":{"total":\#(Vectors.money(2))}}"#
        for members in [
            #""state":"PENDING_REFUND""#,
            #""state":"PROCESSED","orderHistory":{"processedEvent":{},"partialRefundEvents":[\#(part)]}"#,
            #""state":"PARTIALLY_REFUNDED","orderHistory":{"partialRefundEvents":[\#(part)]}"#,
        ] {
            let underWay = #"{"orderId":"\#(Vectors.order)",\#(members)}"#
            #expect(try voided(ended, order: underWay).map(\.kind) == [.unmapped, .revoked], "\(members)")
        }
        #expect(try voided(ended, order: nil).map(\.kind) == [.refunded, .revoked])
        let past = try voided(ended.with { $0.items[0].expiry = Self.start - Self.day }, order: nil)
        #expect(past.map(\.kind) == [.refunded])
        #expect(Self.affected(past) == [false])
    }

    private static func voidedAnswer(
        _ product: Int,
        _ answer: PlayAnswer,
        order members: String
    ) throws -> Normalization {
        try ResolutionMapping(
            resolved: Play.resolved(
                Vectors.voidedHint(product, 1, order: Vectors.order),
                [
                    .init(product == 1 ? .subscription : .product, about: Vectors.token, answer),
                    Play.found(.order, for: Vectors.order, #"{"orderId":"\#(Vectors.order)",\#(members)}"#),
                ]
            )
        ).normalization
    }

    private static func reported(_ result: Normalization) -> [String] {
        let events = result.events.compactMap { event -> String? in
            guard case .refunded(let refund) = event.event else { return event.kind.rawValue }
            return refund.scope == .full ? "all" : "part \(event.price?.money.amount.description ?? "")"
        }
        let facts = result.statements.flatMap(\.facts).compactMap { fact -> String? in
            guard case .refund(let refund) = fact else { return nil }
            return refund.scope == .full ? "all" : "part"
        }
        return events + facts
    }

    private static let processedPart =
        #"{"state":"PROCESSED_SUCCESSFULLY","refundDetails":{"total":\#(Vectors.money(2))}}"#

    @Test(
        "a refund is what its order says of it, whether Google still keeps the purchase or not",
        arguments: [
            (#""state":"REFUNDED""#, ["all", "all"]),
            (#""state":"PENDING_REFUND""#, ["unmapped"]),
            (#""state":"PROCESSED","orderHistory":{"processedEvent":{}}"#, []),
            (#""state":"PARTIALLY_REFUNDED""#, ["unmapped"]),
            (
                #""state":"PARTIALLY_REFUNDED","orderHistory":{"partialRefundEvents":[{"state":"PENDING"}]}"#,
                ["unmapped"]
            ),
            (
                #""state":"PARTIALLY_REFUNDED","orderHistory":{"partialRefundEvents":[\#(processedPart)]}"#,
                ["part 2", "part"]
            ),
        ]
    )
    func refundByOrder(order: String, reported: [String]) throws {
        for product in [1, 2] {
            let gone = try Self.voidedAnswer(product, PlayAnswer(.gone, status: 410), order: order)
            #expect(Self.reported(gone) == reported, "\(product)")
        }
        let running = PlayAnswer(.found, status: 200, body: Array(Self.bought.json.utf8))
        #expect(Self.reported(try Self.voidedAnswer(1, running, order: order)) == reported)
    }

    @Test("a part of an order of several products that are kept no more has no product to name")
    func partOfSeveral() throws {
        let members =
            #""state":"PARTIALLY_REFUNDED","lineItems":[{"productId":"a"},{"productId":"b"}],"#
            + #""orderHistory":{"partialRefundEvents":[\#(Self.processedPart)]}"#
        let gone = try Self.voidedAnswer(2, PlayAnswer(.gone, status: 410), order: members)
        #expect(Self.reported(gone) == ["unmapped"])
    }

    @Test("a part of a one-time purchase that does not state its quantities is not all of it")
    func partWithoutQuantity() throws {
        let members =
            #""state":"PARTIALLY_REFUNDED","orderHistory":{"partialRefundEvents":[\#(Self.processedPart)]}"#
        let bought = PlayAnswer(.found, status: 200, body: Array(Vectors.Product().json.utf8))
        #expect(Self.reported(try Self.voidedAnswer(2, bought, order: members)) == ["unmapped"])
    }

    @Test("a chargeback has the id of its refund, also for a part, whichever of the two it is called")
    func chargebackOfPart() throws {
        let product = Vectors.Product(details: ["quantity": "10", "refundableQuantity": "8"])
        let row = VoidedPurchaseHistoryTests.row(Vectors.token, Vectors.productOrder, reason: 7)
        let hint = Vectors.voidedHint(2, 2, order: Vectors.productOrder)
        let told = try Play.mapProduct(hint, product)
        let read = try Play.mapProduct(
            hint,
            product,
            others: [Play.found(.voidedPurchase, for: Vectors.productOrder, row)]
        )
        #expect(told.events.map(\.kind) == [.refunded])
        #expect(read.events.map(\.kind) == [.chargeback])
        #expect(read.events.map(\.id) == told.events.map(\.id))
    }

    /// A refund's effect on the current period.
    private static func affected(_ events: [NormalizedEvent]) -> [Bool?] {
        events.compactMap { event -> Bool?? in
            if case .refunded(let refund) = event.event { .some(refund.affectsCurrentPeriod) } else { nil }
        }
    }

    /// An upgrade sets off what was left, and a planned change goes on from the order: the answer about what was replaced
    /// does not say which.
    @Test("a refund of what another purchase took the place of leaves open what it affects, and ends nothing by itself")
    func refundOfReplaced() throws {
        let replaced = Self.bought.with {
            $0.state = "EXPIRED"
            $0.start = Self.start - 4 * Self.day
            $0.items[0].expiry = Self.start - 3 * Self.day
            $0.extra["canceledStateContext"] = #"{"replacementCancellation":{}}"#
        }
        let result = try ResolutionMapping(
            resolved: Play.resolved(
                Vectors.voidedHint(1, 1, order: Vectors.order),
                [Play.found(.subscription, for: Vectors.token, replaced.json)]
            )
        ).normalization
        #expect(result.events.map(\.kind) == [.refunded, .expired])
        #expect(Self.affected(result.events) == [nil])
        let ends = result.statements.flatMap(\.facts).compactMap { fact -> LifecycleEvent.Expired.Reason? in
            if case .periodEnded(let end) = fact { end.reason } else { nil }
        }
        #expect(ends == [.replaced])
    }

    @Test("a purchase that was cut short was taken away with its money, whenever that is reported")
    func cutShort() throws {
        let end = Self.start - Self.day
        func affected(paidUntil: Int64) throws -> [Bool?] {
            let order = #"""
                {"orderId":"\#(Vectors.order)","state":"REFUNDED","lineItems":[{"productId":"premium","subscriptionDetails":
                {"basePlanId":"monthly","servicePeriodEndTime":"\#(RFC3339.string(paidUntil))"}}]}
                """#
            let ended = Self.bought.with {
                $0.state = "EXPIRED"
                $0.start = end - Self.day
                $0.items[0].expiry = end
            }
            return Self.affected(
                try ResolutionMapping(
                    resolved: Play.resolved(
                        Vectors.voidedHint(1, 1, order: Vectors.order),
                        [
                            Play.found(.subscription, for: Vectors.token, ended.json),
                            Play.found(.order, for: Vectors.order, order),
                        ]
                    )
                ).normalization.events
            )
        }
        #expect(try affected(paidUntil: end + Self.month) == [true])
        #expect(try affected(paidUntil: end) == [false])
    }
}
