import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator

/// Payloads that a signature covers and that are nevertheless no sound JSON, or hold values that must not be guessed.
enum AppleJSONCases {
    typealias World = AppleVectorWorld

    static func all(_ world: World) throws -> [AppleCase] {
        try documents(world) + values(world)
    }

    private static func documents(_ world: World) throws -> [AppleCase] {
        let plain = world.test().text
        func refused(_ id: String, _ payload: [UInt8], tier: String = "should") throws -> AppleCase {
            world.refused(
                "json/\(id)",
                try world.production.jws(payload),
                .malformed,
                "payload",
                tier: tier,
                tags: ["json"],
                note: nil
            )
        }
        func refused(_ id: String, _ text: String, tier: String = "should") throws -> AppleCase {
            try refused(id, Array(text.utf8), tier: tier)
        }
        /// The payload with a value in an unread member.
        func unread(_ value: String) -> String { "\(plain.dropLast()),\"unread\":\(value)}" }
        let utf16 = plain.utf16.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        return [
            try refused("member-twice", "\(plain.dropLast()),\"signedDate\":1}"),
            try refused("member-twice-escaped", "\(plain.dropLast()),\"signed\\u0044ate\":1}"),
            try refused(
                "member-twice-nested",
                plain.replacing("\"bundleId\"", with: "\"bundleId\":\"com.example.other\",\"bundle\\u0049d\"")
            ),
            try refused("member-twice-unread", unread(#"{"a":1,"a":2}"#)),
            try refused("byte-order-mark", "\u{FEFF}\(plain)"),
            try refused("utf-16", utf16),
            try refused("trailing-comma", "\(plain.dropLast()),}"),
            try refused("trailing-octets", "\(plain)x", tier: "must"),
            try refused("two-documents", plain + plain, tier: "must"),
            try refused("comment", "/**/\(plain)", tier: "must"),
            try refused("single-quotes", plain.replacing("\"", with: "'"), tier: "must"),
            try refused("array", "[\(plain)]", tier: "must"),
            try refused("string", "\"TEST\"", tier: "must"),
            try refused("null", "null", tier: "must"),
            try refused("not-a-number", unread("NaN"), tier: "must"),
            try refused("infinity", unread("-Infinity"), tier: "must"),
            try refused("leading-zero-unread", unread("01")),
            try refused("lone-minus-unread", unread("-")),
            try refused("bare-fraction-unread", unread("1.")),
            try refused("plus-unread", unread("+1")),
            try refused("hexadecimal-unread", unread("0x10")),
            try refused("unknown-escape-unread", unread(#""\q""#)),
            try refused("raw-control-unread", unread("\"\u{1}\"")),
            try refused("raw-newline-unread", unread("\"\n\"")),
            try refused("lone-surrogate-unread", unread(#""\ud800""#)),
            try refused("invalid-utf8-unread", Array(unread("\"").dropLast().utf8) + [0xC3, 0x28, 0x22, 0x7D]),
            try refused("overlong-utf8-unread", Array(unread("\"").dropLast().utf8) + [0xC0, 0xAF, 0x22, 0x7D]),
            try refused("nul-after-document", "\(plain)\u{0}"),
            try refused(
                "deep-unread",
                unread(String(repeating: "[", count: 200) + String(repeating: "]", count: 200))
            ),
            try refused("deep-and-open", String(repeating: "{\"a\":", count: 2000), tier: "must"),
        ]
    }

    private static func values(_ world: World) throws -> [AppleCase] {
        func outer(_ id: String, _ change: (inout JSONMembers) -> Void) throws -> AppleCase {
            world.refused(
                "json/\(id)",
                try world.sign(world.test(change)),
                .malformed,
                "payload",
                tags: ["payload"]
            )
        }
        func inner(_ id: String, _ name: String, _ value: JSONText) throws -> AppleCase {
            world.refused(
                "json/\(id)",
                body: World.body(try world.sign(world.renewal { $0[name] = value }), under: "jws"),
                .malformed,
                "payload",
                config: world.config { $0["kind"] = "transaction" },
                tags: ["payload", "transaction"]
            )
        }
        return [
            try outer("without-type") { $0["notificationType"] = nil },
            try outer("type-empty") { $0["notificationType"] = "" },
            try outer("type-number") { $0["notificationType"] = 7 },
            try outer("subtype-number") { $0["subtype"] = 7 },
            try outer("without-uuid") { $0["notificationUUID"] = nil },
            try outer("uuid-empty") { $0["notificationUUID"] = "" },
            try outer("uuid-number") { $0["notificationUUID"] = 1 },
            try inner("price-fraction", "price", .raw("9990.5")),
            try inner("price-written-as-fraction", "price", .raw("9990.0")),
            try inner("price-exponent", "price", .raw("1e4")),
            try inner("price-huge", "price", .raw("1e400")),
            try inner("price-beyond-int64", "price", .raw("9223372036854775808")),
            try inner("price-string", "price", "9990"),
            try inner("price-bool", "price", true),
            try inner("currency-number", "currency", 840),
            try inner("quantity-string", "quantity", "1"),
            try inner("upgraded-string", "isUpgraded", "true"),
            try inner("upgraded-number", "isUpgraded", 1),
            try inner("type-of-product-number", "type", 1),
            try inner("revocation-percentage-too-large", "revocationPercentage", 100_001),
            try inner("revocation-percentage-negative", "revocationPercentage", -1),
            try inner("offer-type-string", "offerType", "1"),
            try inner("commitment-array", "commitmentInfo", []),
            try inner("account-token-number", "appAccountToken", 1),
            world.refused(
                "json/subscription-notification-without-transaction",
                try world.sign(world.notification("DID_RENEW", world.app())),
                .malformed,
                "payload",
                tags: ["payload"],
                note: "authentic, and about nothing that could be acted on: to be accepted and kept"
            ),
            world.refused(
                "json/subscription-notification-of-a-consumable",
                try world.sign(
                    world.notification(
                        "DID_RENEW",
                        world.purchase(world.oneTime("Consumable", product: "com.example.app.coins"))
                    )
                ),
                .malformed,
                "payload",
                tags: ["payload"]
            ),
        ]
    }
}
