import FoundationEssentials
import Normalizer
import Testing
import VectorGenerator
import WireJSON

@testable import GooglePubSub

@Suite("Google wire values")
struct MappingWireTests {
    private struct Probe {
        let reader: ObjectReader
        init(_ value: String) throws { reader = try ObjectReader(parsing: Array(#"{"v":\#(value)}"#.utf8)) }
    }

    @Test(
        "money is exact",
        arguments: [
            (#"{"currencyCode":"USD","nanos":990000000}"#, "0.99 USD"),
            (#"{"currencyCode":"KRW","units":"6500"}"#, "6500 KRW"),
            (#"{"currencyCode":"EUR","units":"9","nanos":990000000}"#, "9.99 EUR"),
            (#"{"currencyCode":"EUR","units":"-1","nanos":-750000000}"#, "-1.75 EUR"),
            (#"{"currencyCode":"EUR","nanos":1}"#, "0.000000001 EUR"),
            (#"{"currencyCode":"EUR"}"#, "0 EUR"),
            (#"{"currencyCode":"JPY","units":100}"#, "100 JPY"),
            (
                #"{"currencyCode":"IRR","units":"9223372036854775807","nanos":999999999}"#,
                "9223372036854775807.999999999 IRR"
            ),
            (
                #"{"currencyCode":"IRR","units":"-9223372036854775808","nanos":-999999999}"#,
                "-9223372036854775808.999999999 IRR"
            ),
        ]
    )
    func money(json: String, expected: String) throws {
        #expect(try Probe(json).reader.optionalMoney("v")?.description == expected)
    }

    @Test(
        "money that is none is refused",
        arguments: [
            #"{"currencyCode":"EUR","units":9.99}"#, #"{"currencyCode":"EUR","units":"9.99"}"#, #"{"units":"9"}"#,
            #"{"currencyCode":"EUR","units":"1","nanos":-1}"#, #"{"currencyCode":"EUR","nanos":1000000000}"#,
            #"{"currencyCode":"EUR","units":"+9"}"#, #"{"currencyCode":"EUR","units":""}"#, #"{"currencyCode":1}"#,
            #"{"currencyCode":"EUR","units":"9223372036854775808"}"#, #""9.99""#, "9",
            #"{"currencyCode":"EUR","nanos":1e3}"#,
        ]
    )
    func noMoney(json: String) throws {
        let probe = try Probe(json)
        #expect(throws: JSONError.self) { try probe.reader.optionalMoney("v") }
    }

    @Test(
        "times have any number of digits after the second",
        arguments: [
            ("2026-03-01T12:00:00Z", Int64(0)), ("2026-03-01T12:00:00.1Z", 100), ("2026-03-01T12:00:00.12Z", 120),
            ("2026-03-01T12:00:00.123Z", 123), ("2026-03-01T12:00:00.1234Z", 123), ("2026-03-01T12:00:00.123456Z", 123),
            ("2026-03-01T12:00:00.123456789Z", 123), ("2026-03-01T13:00:00+01:00", 0),
        ]
    )
    func times(text: String, milliseconds: Int64) throws {
        let date = try #require(try Probe("\"\(text)\"").reader.optionalTime("v"))
        #expect(date.millisecondsSince1970 == GoogleVectors.noon + milliseconds)
    }

    @Test(
        "times that are none are refused",
        arguments: [
            #""2026-03-01T12:00:00""#, #""2026-03-01""#, #""2026-02-30T12:00:00Z""#, #""2026-03-01T12:00:00.Z""#,
            "1772366400",
            #""1969-12-31T23:59:59Z""#, #""""#, "true",
        ]
    )
    func noTimes(json: String) throws {
        let probe = try Probe(json)
        #expect(throws: JSONError.self) { try probe.reader.optionalTime("v") }
    }

    @Test(
        "orders and their renewals",
        arguments: [
            ("GPA.1234-5678-9012-34567", "GPA.1234-5678-9012-34567", nil),
            ("GPA.1234-5678-9012-34567..0", "GPA.1234-5678-9012-34567", 0),
            ("GPA.1234-5678-9012-34567..12", "GPA.1234-5678-9012-34567", 12), ("GS.0000", "GS.0000", nil),
            ("GPA.1..", "GPA.1..", nil), ("GPA.1..x", "GPA.1..x", nil), ("..3", "..3", nil), ("", "", nil),
            (".", ".", nil),
            ("GPA.1..99999999999999999999", "GPA.1..99999999999999999999", nil),
        ] as [(String, String, Int?)]
    )
    func orders(text: String, base: String, renewal: Int?) {
        let order = TransactionID(text)
        #expect(order.firstOrder.rawValue == base)
        #expect(order.renewal == renewal)
    }

    @Test("a notification that crosses a queue is read again from the same bytes")
    func codable() throws {
        let purchase = try SubscriptionPurchase(
            payload: Array(GoogleVectors.purchase("IN_GRACE_PERIOD").with { $0.extra["newer"] = #"{"x":1}"# }.json.utf8)
        )
        #expect(try roundTrip(purchase) == purchase)
        #expect(purchase.pendingOrderID == "\(GoogleVectors.order)..2")
        let product = try ProductPurchase(payload: Array(GoogleVectors.Product().json.utf8))
        #expect(try roundTrip(product) == product)
        let notification = try DeveloperNotification(payload: Array(GoogleVectors.hint(4).utf8))
        #expect(try roundTrip(notification) == notification)
        #expect(try roundTrip(PurchaseToken("t")) == PurchaseToken("t"))
    }

    private func roundTrip<Value: Codable>(_ value: Value) throws -> Value {
        try CanonicalJSON.value(from: CanonicalJSON.bytes(value))
    }

    @Test("nothing prints a token, an account or a payload")
    func redaction() throws {
        let notification = try DeveloperNotification(payload: Array(GoogleVectors.hint(4).utf8))
        let purchase = try SubscriptionPurchase(payload: Array(GoogleVectors.purchase("ACTIVE").json.utf8))
        for text in [
            "\(notification)", String(reflecting: notification), String(reflecting: notification.content),
            "\(purchase)", String(reflecting: purchase), "\(String(describing: purchase.accountIdentifiers))",
            String(reflecting: PurchaseToken(GoogleVectors.token)),
        ] {
            #expect(!text.contains("AO-J1") && !text.contains("acct-7f3a"), "\(text.prefix(40))")
        }
    }

    @Test("voided purchases: numbers and words, and pages")
    func voidedPurchases() throws {
        let json = """
            {"tokenPagination":{"nextPageToken":"next"},"voidedPurchases":[\
            {"purchaseToken":"t","orderId":"GPA.1","purchaseTimeMillis":"1772366400000","voidedTimeMillis":1772366400000,\
            "voidedSource":"1","voidedReason":7},{"purchaseToken":"t","orderId":"GPA.2","voidedQuantity":3}]}
            """
        let page = PlayAnswer(.found, status: 200, body: Array(json.utf8))
        let rows = try page.voidedPurchases()
        #expect(page.nextPageToken == "next")
        #expect(rows.map(\.orderID) == ["GPA.1", "GPA.2"])
        #expect(rows[0].source == .developer)
        #expect(rows[0].reason == .chargeback)
        #expect(rows[0].voidedTime == rows[0].purchaseTime)
        #expect(rows.map(\.quantity) == [nil, 3])
        #expect(try PlayAnswer(.found, status: 200, body: Array("{}".utf8)).voidedPurchases().isEmpty)
        #expect(try PlayAnswer(.gone, status: 410).voidedPurchases().isEmpty)
        #expect(throws: DeliveryError.self) {
            try PlayAnswer(.found, status: 200, body: Array(#"{"voidedPurchases":[{}]}"#.utf8)).voidedPurchases()
        }
    }

    @Test(
        "every string of a purchase may be hostile",
        arguments: ["\u{0}", "\r\n", "\u{202E}", String(repeating: "x", count: 5000)]
    )
    func hostileStrings(text: String) throws {
        let purchase = GoogleVectors.purchase("ACTIVE").with {
            $0.linked = text
            $0.items[0].product = text
            $0.items[0].order = text
            $0.items[0].offer = text
            $0.extra["subscriptionState"] = GoogleVectors.JSON.string(text)
        }
        #expect(try Play.map(4, purchase).kinds == ["unmapped"])
        let active = purchase.with { $0.extra["subscriptionState"] = nil }
        #expect(try Play.map(4, active).kinds == ["started"])
    }

    @Test("items that are listed twice make no event twice")
    func repeatedItems() throws {
        let purchase = GoogleVectors.purchase("ACTIVE").with {
            $0.items += $0.items + [$0.items[0].with { $0.product = "b" }] + [$0.items[0].with { $0.product = "b" }]
        }
        let events = try Play.map(2, purchase).events
        #expect(events.map(\.product?.id) == ["b", "premium"])
        let product = GoogleVectors.Product(
            acknowledgement: "PENDING",
            otherItems: Array(repeating: #"{"productId":"coins_100"}"#, count: 3)
        )
        let bought = try Play.mapProduct(GoogleVectors.oneTimeHint(1), product).events
        #expect(bought.count == 5)
        #expect(Set(bought.map(\.id)).count == 5)
    }

    // Every octet of an answer, changed: an event, a reason or an error, never a trap.
    @Test(
        "no answer brings the mapping down",
        arguments: [("ACTIVE", 4), ("CANCELED", 3), ("EXPIRED", 13), ("IN_GRACE_PERIOD", 6)]
    )
    func mutations(state: String, number: Int) throws {
        var purchase = GoogleVectors.purchase(state)
        purchase.linked = "t"
        purchase.items[0].plan["priceChangeDetails"] =
            #"{"newPrice":{"currencyCode":"EUR","units":"1"},"priceChangeState":"CONFIRMED"}"#
        let original = Array(purchase.json.utf8)
        let notification = GoogleVectors.hint(number)
        var outcomes = 0
        for index in original.indices {
            for replacement in [0x00, 0x22, 0x2D, 0x39, 0x5D, 0x7D, original[index] ^ 0x20] as [UInt8] {
                var body = original
                body[index] = replacement
                let resolved = try Play.resolved(
                    notification,
                    [.init(.subscription, about: GoogleVectors.token, PlayAnswer(.found, status: 200, body: body))]
                )
                do throws(DeliveryError) {
                    _ = try ResolutionMapping(resolved: resolved).normalization
                } catch {
                    #expect(error.isAuthentic)
                }
                outcomes += 1
            }
        }
        #expect(outcomes == original.count * 7)
    }

    @Test("no notification brings the decoder down")
    func notificationMutations() {
        for original in [GoogleVectors.hint(4), GoogleVectors.voidedHint(2, 2, order: "GPA.1")].map({ Array($0.utf8) })
        {
            for index in original.indices {
                for replacement in [0x00, 0x22, 0x2D, 0x39, 0x7D, original[index] ^ 0x20] as [UInt8] {
                    var body = original
                    body[index] = replacement
                    if let decoded = try? DeveloperNotification(payload: body) {
                        #expect(decoded.payload == body)
                    }
                }
            }
        }
    }
}
