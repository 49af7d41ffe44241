import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator

/// Forms that a payload may have without meaning anything else: values Apple may add, members it may leave out, and
/// what JSON leaves free.
enum AppleShapeCases {
    typealias World = AppleVectorWorld
    typealias Mapping = AppleMappingCases

    static func all(_ world: World) throws -> [AppleCase] {
        try values(world) + amounts(world) + texts(world)
    }

    private static func renewal(
        _ world: World,
        _ id: String,
        _ transaction: (inout JSONMembers) -> Void = { _ in },
        info: (inout JSONMembers) -> Void = { _ in },
        data: (inout JSONMembers) -> Void = { _ in },
        outer: (inout JSONMembers) -> Void = { _ in },
        facts: [Fact.Kind]? = AppleMappingCases.usual,
        note: String? = nil,
        _ event: LifecycleEvent = AppleMappingCases.renewed(.scheduled)
    ) throws -> AppleCase {
        try world.accepted(
            "shapes/\(id)",
            world.notification(
                "DID_RENEW",
                try world.purchase(world.renewal(transaction), world.renewalInfo(info), status: 1, data),
                outer
            ),
            [event],
            facts: facts,
            tags: ["shape"],
            note: note
        )
    }

    private static func values(_ world: World) throws -> [AppleCase] {
        [
            try renewal(
                world,
                "unknown-members",
                {
                    $0["novelty"] = ["deep": [1, "two", ["three": nil]]]
                    $0["deviceVerification"] = "AAAA"
                },
                info: { $0["novelty"] = true },
                data: { $0["novelty"] = [1] },
                outer: { $0["novelty"] = "new" },
                note: "members that nobody knows are kept with the payload and change nothing"
            ),
            try renewal(
                world,
                "unknown-values",
                {
                    $0["transactionReason"] = "WHIM"
                    $0["inAppOwnershipType"] = "BORROWED"
                    $0["billingPlanType"] = "BARTER"
                },
                info: {
                    $0["autoRenewStatus"] = 7
                    $0["priceIncreaseStatus"] = 9
                },
                data: { $0["status"] = 99 }
            ),
            try renewal(
                world,
                "null-members-are-absent",
                {
                    $0["offerType"] = nil
                    $0["revocationDate"] = .null
                    $0["appAccountToken"] = .null
                    $0["offerIdentifier"] = .null
                },
                info: { $0["gracePeriodExpiresDate"] = .null },
                outer: { $0["subtype"] = .null }
            ),
            try renewal(
                world,
                "descriptive-members-of-other-types",
                {
                    $0["storefront"] = 840
                    $0["storefrontId"] = ["id": 1]
                    $0["offerPeriod"] = 7
                },
                info: { $0["eligibleWinBackOfferIds"] = "one" },
                data: { $0["bundleVersion"] = 42 },
                outer: { $0["version"] = 2 },
                note: "they only describe: they read as absent and are counted as anomalies"
            ),
            try renewal(world, "without-version", outer: { $0["version"] = nil }),
            try renewal(world, "later-version", outer: { $0["version"] = "3.0" }),
            try renewal(
                world,
                "account-token-in-capitals",
                { $0["appAccountToken"] = "6E6B6B3C-6D42-4C0E-8F0E-2F3F0B6F7A10" },
                note: "a UUID is one in either case"
            ),
            try renewal(
                world,
                "account-token-nil",
                { $0["appAccountToken"] = "00000000-0000-0000-0000-000000000000" },
                note: "the nil UUID says that the app set none"
            ),
            try renewal(
                world,
                "without-account",
                {
                    $0["appAccountToken"] = nil
                    $0["appTransactionId"] = nil
                },
                info: { $0["appTransactionId"] = nil },
                facts: [.period, .charge, .renewalIntent, .billing, .priceChange]
            ),
            try renewal(
                world,
                "advanced-commerce",
                {
                    $0["advancedCommerceInfo"] = [
                        "descriptors": ["description": "All of it", "displayName": "Pro"],
                        "estimatedTax": 800, "period": "P1M", "taxCode": "C003-00-1",
                        "requestReferenceId": "9a0f7d5b-2f39-4c89-9d55-0f6d13b8a8d7",
                        "taxExclusivePrice": 9190, "taxRate": "0.0870",
                        "items": [
                            [
                                "SKU": "sku-1", "description": "A part", "displayName": "Part", "price": 9990,
                                "offer": [
                                    "period": "P1M", "periodCount": 3, "price": 4990, "reason": "ACQUISITION",
                                ],
                                "refunds": [
                                    [
                                        "refundAmount": 1000, "refundDate": .integer(World.start),
                                        "refundReason": "MODIFY_ITEMS_REFUND", "refundType": "CUSTOM",
                                    ]
                                ],
                                "revocationDate": .integer(World.start),
                            ]
                        ],
                    ]
                },
                facts: [.period, .charge, .refund, .renewalIntent, .billing, .priceChange, .owner],
                note: "what went back of an item is stated with whatever else is told",
                AppleMappingCases.renewed(
                    .scheduled,
                    .regular,
                    Price(AppleMappingCases.money("9.99"), .charged, tax: AppleMappingCases.money("0.8"))
                )
            ),
            try renewal(
                world,
                "without-renewal-status",
                info: { $0["autoRenewStatus"] = nil },
                facts: [.period, .charge, .nextProduct, .billing, .priceChange, .owner],
                note: "what is not stated is not guessed"
            ),
            try world.accepted(
                "shapes/without-renewal-info",
                world.notification("DID_RENEW", try world.purchase(world.renewal())),
                [Mapping.renewed(.scheduled)],
                facts: [.period, .charge, .owner],
                tags: ["shape"],
                note: "no renewal info, no status: will_renew is absent rather than derived from something else"
            ),
        ]
    }

    private static func amounts(_ world: World) throws -> [AppleCase] {
        func priced(_ id: String, _ price: JSONText, _ currency: String, _ amount: String) throws -> AppleCase {
            try renewal(
                world,
                "price-\(id)",
                {
                    $0["price"] = price
                    $0["currency"] = .string(currency)
                },
                Mapping.renewed(
                    .scheduled,
                    .regular,
                    Price(Money(ExactDecimal(amount) ?? ExactDecimal(-1), currency), .charged)
                )
            )
        }
        return [
            try priced("yen", 1_200_000, "JPY", "1200"),
            try priced("beyond-32-bits", 4_294_967_296_990, "IDR", "4294967296.99"),
            try priced("beyond-double", 9_007_199_254_740_993, "VND", "9007199254740.993"),
            try priced("largest", .integer(.max), "VND", "9223372036854775.807"),
            try priced("thousandth", 1, "KWD", "0.001"),
            try renewal(
                world,
                "price-without-currency",
                { $0["currency"] = nil },
                facts: [.period, .renewalIntent, .billing, .priceChange, .owner],
                note: "a number without a currency is no amount",
                Mapping.renewed(.scheduled, .regular, nil)
            ),
        ]
    }

    private static func texts(_ world: World) throws -> [AppleCase] {
        func outer(_ id: String, _ text: String, note: String? = nil) throws -> AppleCase {
            AppleCase(
                id: "shapes/\(id)",
                body: World.body(try world.production.jws(Array(text.utf8))),
                config: world.config(),
                expectation: .accept([World.testEvent]),
                tags: ["shape", "json"],
                note: note
            )
        }
        let plain = world.test().text
        let jws = try world.sign(world.test())
        let jwsText = String(decoding: jws, as: UTF8.self)
        func body(_ id: String, _ text: String, note: String? = nil) -> AppleCase {
            AppleCase(
                id: "shapes/\(id)",
                body: Array(text.utf8),
                config: world.config(),
                expectation: .accept([World.testEvent]),
                tags: ["shape", "json"],
                note: note
            )
        }
        return [
            try outer("white-space", " \r\n\t" + plain.replacing(",", with: " ,\n ").replacing(":{", with: " : {\t")),
            try outer("escaped-member-names", plain.replacing("\"data\"", with: #""d\u0061ta""#)),
            try outer("escaped-slash", plain.replacing("\"42\"", with: #""4\/2""#)),
            try outer("escaped-values", plain.replacing("com.example.app", with: #"com.ex\u0061mple.app"#)),
            try outer("surrogate-pair", plain.replacing("\"42\"", with: #""\ud83d\ude00""#)),
            body("body-with-other-members", #"{"version":1,"signedPayload":"\#(jwsText)","later":[null]}"#),
            body("body-with-white-space", "\n{ \"signedPayload\" :\t\"\(jwsText)\" }\r\n"),
        ]
    }
}
