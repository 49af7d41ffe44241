import ConformanceVectors
import Normalizer
import NotificationSimulator
import Stripe

extension StripeVectors {
    /// Signed bodies that are empty, nonsense, or for another receiver.
    static func envelopeCases() throws -> [Case] {
        let customer: JSONText = ["id": "cus_1", "object": "customer"]
        let event = simulator(.endive).event("customer.created", id: "evt_1", created: created, object: customer)
        var cases: [Case] = []
        func add(_ id: String, _ why: String, _ body: [UInt8], config: JSONMembers? = nil, _ expect: Expectation) throws
        {
            cases.append(try signed("envelope/\(id)", why, body: body, config: config, expect))
        }
        func changed(_ change: (inout JSONMembers) -> Void) -> [UInt8] {
            var copy = event
            change(&copy)
            return copy.bytes
        }

        try add("noise", "an event that changes nothing", event.bytes, .events([]))
        try add(
            "unknown-type",
            "a type of tomorrow is kept under its own name",
            changed { $0["type"] = "customer.subscription.teleported" },
            .events(["unmapped"])
        )
        try add(
            "unknown-members",
            "members of tomorrow",
            changed { $0["tomorrow"] = ["x": [1, 2, nil]] },
            .events([])
        )
        try add("ping", "a connectivity test", changed { $0["type"] = "ping" }, .events(["notice"]))
        try add(
            "request-string",
            "the request was a bare string until 2017",
            changed { $0["request"] = "req_1" },
            .events([])
        )
        try add(
            "no-version",
            "no API version, request or count, as before 2014",
            changed {
                $0["api_version"] = .null
                $0["request"] = nil
                $0["pending_webhooks"] = nil
            },
            .events([])
        )
        try add(
            "object-null",
            "a known type without its object",
            changed {
                $0["type"] = "customer.subscription.updated"
                $0["data"] = ["object": nil]
            },
            .reject(.malformed)
        )
        try add(
            "test-mode",
            "test mode where live is expected",
            changed { $0["livemode"] = false },
            .reject(.misdirected)
        )
        try add(
            "live-mode",
            "live where test mode is expected",
            event.bytes,
            config: config(isLive: false),
            .reject(.misdirected)
        )
        try add(
            "mode-absent",
            "no word on the mode where one is expected",
            changed { $0["livemode"] = nil },
            .reject(.misdirected)
        )
        try add(
            "mode-any",
            "both modes are taken",
            changed { $0["livemode"] = false },
            config: config(isLive: nil),
            .events([])
        )

        let text = String(decoding: event.bytes, as: UTF8.self)
        let refused: [(String, String, [UInt8])] = [
            ("empty", "no body", []),
            ("not-json", "no JSON", Array("hello".utf8)),
            ("array", "no object", Array("[\(text)]".utf8)),
            ("two-documents", "one event and another", Array("\(text)\(text)".utf8)),
            ("trailing-garbage", "octets behind the event", Array("\(text)x".utf8)),
            ("byte-order-mark", "a byte order mark", [0xEF, 0xBB, 0xBF] + event.bytes),
            ("trailing-comma", "not RFC 8259", Array("{\"x\":[1,],\(text.dropFirst())".utf8)),
            ("nan", "not RFC 8259", Array("{\"x\":NaN,\(text.dropFirst())".utf8)),
            (
                "leading-zero", "not RFC 8259, in a member that nobody reads",
                Array("{\"x\":01,\(text.dropFirst())".utf8)
            ),
            (
                "not-utf8", "an octet that is no UTF-8",
                Array("{\"x\":\"".utf8) + [0xFF] + Array("\",\(text.dropFirst())".utf8)
            ),
            ("lone-surrogate", "half a character", Array("{\"x\":\"\\ud800\",\(text.dropFirst())".utf8)),
            ("duplicate", "a member that is there twice", Array("{\"id\":\"evt_2\",\(text.dropFirst())".utf8)),
            ("duplicate-escaped", "twice, once in disguise", Array("{\"\\u0069d\":\"evt_2\",\(text.dropFirst())".utf8)),
            (
                "deep", "nested 100 deep",
                Array(
                    "{\"x\":\(String(repeating: "[", count: 100))\(String(repeating: "]", count: 100)),\(text.dropFirst())"
                        .utf8
                )
            ),
            ("unclosed", "nested and never closed", Array(String(repeating: "[", count: 5000).utf8)),
            ("other-object", "an object that is no event", changed { $0["object"] = "customer" }),
            ("no-object", "no word on what it is", changed { $0["object"] = nil }),
            ("no-id", "no id", changed { $0["id"] = nil }),
            ("empty-id", "an empty id", changed { $0["id"] = "" }),
            ("number-id", "a number for an id", changed { $0["id"] = 7 }),
            ("no-type", "no type", changed { $0["type"] = nil }),
            ("number-type", "a number for a type", changed { $0["type"] = 7 }),
            ("no-created", "no time", changed { $0["created"] = nil }),
            ("created-string", "a string for a time", changed { $0["created"] = "1772366400" }),
            ("created-fraction", "a fraction for a time", changed { $0["created"] = .raw("1772366400.0") }),
            ("created-negative", "a time before 1970", changed { $0["created"] = -1 }),
            (
                "created-milliseconds", "a time in milliseconds: the year 58133",
                changed { $0["created"] = 1_772_366_400_000 }
            ),
            ("created-beyond-int64", "a time beyond 64 bits", changed { $0["created"] = .raw("9223372036854775808") }),
            ("livemode-string", "a string for the mode", changed { $0["livemode"] = "true" }),
            ("data-string", "a string for the data", changed { $0["data"] = "none" }),
        ]
        for (id, why, body) in refused { try add("bad-\(id)", why, body, .reject(.malformed)) }
        var small = config(isLive: nil)
        small.append("maxBodyBytes", .integer(Int64(event.bytes.count) - 1))
        try add("bad-too-long", "one octet more than is taken", event.bytes, config: small, .reject(.malformed))
        return cases
    }
}
