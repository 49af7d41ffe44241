import Foundation
import HTTPTransport
import Normalizer
import NormalizerTesting
import Testing

@testable import GooglePubSub

@Suite("Google Play's catalogue of products", .timeLimit(.minutes(5)))
struct PlayCatalogueTests {
    let transport = StubTransport()

    private func adapter() throws -> GooglePlayAdapter {
        let api = try PlayDeveloperAPI(transport: transport, tokens: CountingTokens(), clock: TestClock(jumping: true))
        return try Google.adapter(api: api)
    }

    private func on(_ list: String, _ pages: String...) {
        for (index, page) in pages.enumerated() {
            let token = index == 0 ? nil : "page-\(index)"
            transport.on(
                .init(
                    .get,
                    path: "\(ResolutionTests.root)/\(list)",
                    where: { $0.url.query == "pageSize=1000" + (token.map { "&pageToken=\($0)" } ?? "") }
                ),
                respond: HTTPTransportResponse(status: 200, body: Array(page.utf8))
            )
        }
    }

    private static let subscriptions = [
        """
        {"subscriptions":[{"productId":"pro","basePlans":[
        {"basePlanId":"monthly","state":"ACTIVE","autoRenewingBasePlanType":{"billingPeriodDuration":"P1M"}},
        {"basePlanId":"yearly","autoRenewingBasePlanType":{"billingPeriodDuration":"P1Y"}},
        {"basePlanId":"topup","prepaidBasePlanType":{"billingPeriodDuration":"P30D"}},
        {"basePlanId":"spread","installmentsBasePlanType":{"billingPeriodDuration":"P1M","committedPaymentsCount":12}},
        {"basePlanId":"odd","autoRenewingBasePlanType":{"billingPeriodDuration":"PT5M"}},
        {"basePlanId":"new","someBasePlanType":{"billingPeriodDuration":"P1M"}}]}],"nextPageToken":"page-1"}
        """,
        #"{"subscriptions":[{"productId":"basic","basePlans":[{"basePlanId":"weekly","autoRenewingBasePlanType":{"billingPeriodDuration":"P1W"}}]},{"productId":"empty"}]}"#,
    ]

    @Test("becomes a catalogue with periods, rentals and the types that only the host knows")
    func catalogue() async throws {
        on("subscriptions", Self.subscriptions[0], Self.subscriptions[1])
        on(
            "oneTimeProducts",
            """
            {"oneTimeProducts":[{"productId":"coins","purchaseOptions":[{"purchaseOptionId":"buy","buyOption":{}}]},
            {"productId":"film","purchaseOptions":[{"purchaseOptionId":"buy","buyOption":{}},
            {"purchaseOptionId":"rent","rentOption":{"rentalPeriod":"P2D","expirationPeriod":"P1D"}},
            {"purchaseOptionId":"odd","rentOption":{}}]},{"productId":"unknown"}]}
            """
        )
        let read = try await adapter().catalogue(
            of: Google.package,
            ranks: ["pro": .init(group: "plans", level: 1), "basic": .init(group: "plans", level: 2)],
            types: ["coins": .consumable, "film:buy": .nonConsumable]
        )
        #expect(
            read.catalog
                == ProductCatalog(
                    [
                        .init(id: "pro:monthly", group: "plans", level: 1, duration: .month),
                        .init(id: "pro:yearly", group: "plans", level: 1, duration: .year),
                        .init(id: "pro:topup", group: "plans", level: 1, duration: .init(days: 30)),
                        .init(id: "pro:spread", group: "plans", level: 1, duration: .month),
                        .init(id: "basic:weekly", group: "plans", level: 2, duration: .week),
                    ],
                    oneTimeProducts: [
                        .init(id: "coins", type: .consumable),
                        .init(id: "film:buy", type: .nonConsumable),
                        .init(id: "film:rent", type: .nonRenewing, duration: .init(days: 2)),
                    ]
                )
        )
        #expect(read.unreadable == ["pro:odd", "pro:new", "film:odd"])
    }

    @Test("brings another catalogue up to date, and takes nothing out of it")
    func updating() async throws {
        on("subscriptions", Self.subscriptions[0], Self.subscriptions[1])
        on(
            "oneTimeProducts",
            """
            {"oneTimeProducts":[{"productId":"coins","purchaseOptions":[{"purchaseOptionId":"buy","buyOption":{}}]},
            {"productId":"film","purchaseOptions":[
            {"purchaseOptionId":"rent","rentOption":{"rentalPeriod":"P3D"}}]},{"productId":"unknown"}]}
            """
        )
        let known = ProductCatalog(
            [
                // Of another store, and of a plan that is gone.
                .init(id: "com.example.pro", group: "plans", level: 1, duration: .month),
                .init(id: "pro:weekly", group: "plans", level: 3, duration: .week),
                // Base plans of one subscription that differ in rank, one of them with a wrong length.
                .init(id: "pro:monthly", group: "plans", level: 2, duration: .year),
                .init(id: "pro:yearly", group: "plans", level: 1, duration: .year),
            ],
            oneTimeProducts: [
                .init(id: "coins", type: .consumable), .init(id: "film:rent", type: .nonRenewing, duration: .week),
                .init(id: "pass", type: .nonRenewing, duration: .month),
            ],
            unlisted: .nonConsumable
        )
        let read = try await adapter().catalogue(of: Google.package, updating: known)
        #expect(
            read.catalog
                == ProductCatalog(
                    [
                        .init(id: "com.example.pro", group: "plans", level: 1, duration: .month),
                        .init(id: "pro:weekly", group: "plans", level: 3, duration: .week),
                        .init(id: "pro:monthly", group: "plans", level: 2, duration: .month),
                        .init(id: "pro:yearly", group: "plans", level: 1, duration: .year),
                        // New plans are where the first known one of the subscription is.
                        .init(id: "pro:topup", group: "plans", level: 2, duration: .init(days: 30)),
                        .init(id: "pro:spread", group: "plans", level: 2, duration: .month),
                        .init(id: "basic:weekly", group: "basic", level: 1, duration: .week),
                    ],
                    oneTimeProducts: [
                        .init(id: "coins", type: .consumable),
                        .init(id: "film:rent", type: .nonRenewing, duration: .init(days: 3)),
                        .init(id: "pass", type: .nonRenewing, duration: .month),
                    ],
                    unlisted: .nonConsumable
                )
        )
        #expect(read.unreadable == ["pro:odd", "pro:new"])
    }

    @Test("without ranks lets only plans of one subscription replace one another")
    func ranks() async throws {
        on("subscriptions", Self.subscriptions[0], Self.subscriptions[1])
        on("oneTimeProducts", "{}")
        let read = try await adapter().catalogue(of: Google.package, unlisted: .consumable)
        #expect(read.catalog["pro:monthly"]?.group == "pro")
        #expect(read.catalog["basic:weekly"]?.group == "basic")
        #expect(read.catalog.unlisted == .consumable)
    }

    @Test(
        "is none if a part is missing",
        arguments: [(503, DeliveryError.Code.unavailable), (403, .denied), (400, .malformed)]
    )
    func trouble(status: Int, code: DeliveryError.Code) async throws {
        on("subscriptions", Self.subscriptions[0])
        transport.on(.any, respond: HTTPTransportResponse(status: status))
        let adapter = try adapter()
        let error = await #expect(throws: DeliveryError.self) { try await adapter.catalogue(of: Google.package) }
        #expect(error?.code == code)
    }

    @Test(
        "that leads round in a circle or is no list is refused",
        arguments: [
            (#"{"nextPageToken":"again"}"#, DeliveryError.Code.malformed),
            (#"{"subscriptions":[{"basePlans":[]}]}"#, .malformed), (#"{"subscriptions":7}"#, .malformed),
            // No answer of Google's, which is an object: something in between answered.
            ("[]", .unavailable),
        ]
    )
    func hostile(body: String, code: DeliveryError.Code) async throws {
        transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array(body.utf8)))
        let adapter = try adapter()
        let error = await #expect(throws: DeliveryError.self) { try await adapter.catalogue(of: Google.package) }
        #expect(error?.code == code)
        #expect(transport.requests.count <= 2)
    }

    @Test(
        "reads no period that it does not know",
        arguments: [
            "", "P", "1M", "P1", "PM", "P1H", "PT1M", "P1M1Y", "P1M1M", "P-1M", "P0D", "P12345D", "p1m", "P1.5M",
            "P1M ",
        ]
    )
    func periods(text: String) {
        #expect(CalendarDuration(period: text) == nil)
    }
}
