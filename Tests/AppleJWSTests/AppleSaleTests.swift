import AppleJWS
import FoundationEssentials
import Normalizer
import Testing

@Suite("Where something was sold, and under which further names")
struct AppleSaleTests {
    let cases: AppleReportedCases

    init() throws { cases = try AppleReportedCases() }

    @Test(
        "the storefront is the country of the event",
        arguments: [("USA", "US"), ("DEU", "DE"), ("GBR", "GB"), ("XKS", "XK"), ("ZWE", "ZW")]
    )
    func country(storefront: String, country: String) throws {
        let sold = cases.transaction("1", ["storefront": "\"\(storefront)\""])
        let result = try cases.notified("SUBSCRIBED", "INITIAL_BUY", of: sold, with: cases.renewal(), at: 0)
        #expect(result.events.map(\.country) == [country])
        #expect(result.anomalies.isEmpty)
        #expect(try cases.uploaded(sold, at: 1).events.map(\.country) == [country])
    }

    @Test("a storefront that no country has is an anomaly and no country", arguments: ["EUR", "usa", "", "US"])
    func unknownStorefront(storefront: String) throws {
        let sold = cases.transaction("1", ["storefront": "\"\(storefront)\""])
        for result in [
            try cases.notified("SUBSCRIBED", "INITIAL_BUY", of: sold, with: cases.renewal(), at: 0),
            try cases.uploaded(sold, at: 1),
        ] {
            #expect(result.events.map(\.country) == [nil])
            #expect(result.anomalies == ["storefront"])
        }
    }

    @Test("the line of the order and the offers to come back by are in the event, and in its JSON")
    func furtherNames() throws {
        let over = cases.renewal([
            "autoRenewStatus": "0", "expirationIntent": "1", "eligibleWinBackOfferIds": #"["best","second"]"#,
        ])
        let expired = try cases.notified(
            "EXPIRED",
            "VOLUNTARY",
            of: cases.transaction("1", ["webOrderLineItemId": #""71000001""#]),
            with: over,
            status: 2,
            at: 30
        )
        let event = try #require(expired.events.first)
        #expect(event.lineItem == "71000001")
        #expect(event.renewal?.winBackOffers == ["best", "second"])
        #expect(try CanonicalJSON.value(NormalizedEvent.self, from: CanonicalJSON.bytes(event)) == event)
        // No offer is none, and not an empty list.
        let renewing = try cases.notified(
            "SUBSCRIBED",
            "INITIAL_BUY",
            of: cases.transaction(),
            with: cases.renewal(),
            at: 0
        )
        #expect(renewing.events.map(\.renewal?.winBackOffers) == [nil])
        #expect(renewing.events.map(\.lineItem) == [nil])
    }

    @Test("the items of an Advanced Commerce purchase have their own prices and refunds")
    func items() throws {
        func milliseconds(_ days: Double) -> Int64 { Int64(cases.day(days).timeIntervalSince1970 * 1000) }
        func usd(_ milliunits: Int128) throws -> Money {
            Money(try #require(ExactDecimal(coefficient: milliunits, scale: 3)), "USD")
        }
        let info = """
            {"requestReferenceId":"r","estimatedTax":790,"items":[\
            {"SKU":"coins","price":5990,"refunds":[{"refundAmount":1000,"refundDate":\(milliseconds(9)),\
            "refundReason":"LEGAL","refundType":"CUSTOM"}]},\
            {"SKU":"gems","price":4000,"revocationDate":\(milliseconds(9)),\
            "refunds":[{"refundDate":\(milliseconds(9)),"refundType":"FULL"}]},{"price":1}]}
            """
        let sold = cases.transaction("1", ["productId": #""generic""#, "advancedCommerceInfo": info])
        let refunded = try cases.notified("REFUND", of: sold, with: cases.renewal(), at: 10)
        let event = try #require(refunded.events.first)
        #expect(
            event.items == [
                PurchasedItem(
                    product: "coins",
                    price: try usd(5990),
                    refunds: [.init(amount: try usd(1000), at: cases.day(9), reason: "LEGAL")]
                ),
                PurchasedItem(
                    product: "gems",
                    price: try usd(4000),
                    removedAt: cases.day(9),
                    refunds: [.init(amount: try usd(4000), at: cases.day(9))]
                ),
            ]
        )
        #expect(event.product?.id == "coins")
        #expect(event.price?.tax == (try usd(790)))
        #expect(try CanonicalJSON.value(NormalizedEvent.self, from: CanonicalJSON.bytes(event)) == event)
        #expect(try cases.uploaded(sold, at: 11).events.map(\.items) == [event.items])
        #expect(try cases.uploaded(cases.transaction(), at: 1).events.map(\.items) == [nil])
    }
}
