import ConformanceVectors
import Normalizer
import NotificationSimulator
import Stripe

extension StripeVectors {
    /// The body that most signature cases are about: an event that says nothing more.
    static let plainBody = simulator(.endive).event(
        "customer.created",
        id: "evt_signature",
        created: created,
        object: ["id": "cus_1", "object": "customer", "name": "Zoë \u{1F600}"]
    ).bytes

    static func signatureCases() throws -> [Case] {
        let body = plainBody
        let stamp = String(created)
        let good = try code(body, stamp)
        let other = try code(body, stamp, otherSecret)
        let wrong = String(repeating: "0", count: 64)
        var cases: [Case] = []
        func add(
            _ id: String,
            _ why: String,
            _ header: String?,
            body: [UInt8] = body,
            config: JSONMembers = config(isLive: nil),
            _ expect: Expectation
        ) {
            cases.append(
                Case(
                    id: "signature/\(id)",
                    why: why,
                    headers: header.map { ["Stripe-Signature": .string($0)] } ?? [:],
                    body: body,
                    config: config,
                    expect: expect
                )
            )
        }
        let accepted = Expectation.events([])

        add("valid", "one timestamp, one code", "t=\(stamp),v1=\(good)", accepted)
        add("valid-with-v0", "other schemes are passed over", "t=\(stamp),v1=\(good),v0=\(wrong)", accepted)
        add("valid-unknown-scheme", "other schemes are passed over", "t=\(stamp),v2=zz,v1=\(good)", accepted)
        add("valid-order", "elements in another order", "v1=\(good),t=\(stamp)", accepted)
        add("valid-spaces", "white space around elements", "t=\(stamp) , v1=\(good) ", accepted)
        add("valid-trailing-comma", "an empty element", "t=\(stamp),v1=\(good),", accepted)
        add("valid-flag", "an element without a value", "t=\(stamp),x,v1=\(good)", accepted)
        add("rolled-first", "two codes, the first is ours", "t=\(stamp),v1=\(good),v1=\(other)", accepted)
        add("rolled-second", "two codes, the second is ours", "t=\(stamp),v1=\(other),v1=\(good)", accepted)
        add(
            "rolled-new-secret",
            "two secrets, signed with the second",
            "t=\(stamp),v1=\(other)",
            config: config(secrets: [secret, otherSecret], isLive: nil),
            accepted
        )
        add(
            "rolled-both",
            "two secrets, two codes",
            "t=\(stamp),v1=\(good),v1=\(other)",
            config: config(secrets: [otherSecret, secret], isLive: nil),
            accepted
        )
        add("junk-code-beside", "a code that is none, beside a good one", "t=\(stamp),v1=zz,v1=\(good)", accepted)
        add(
            "sixteen-codes",
            "as many codes as there may be, the last is ours",
            "t=\(stamp)" + String(repeating: ",v1=\(wrong)", count: 15) + ",v1=\(good)",
            accepted
        )
        add(
            "header-name-case",
            "header names compare without case",
            nil,
            accepted
        )
        cases[cases.count - 1].headers = ["stripe-signature": .string("t=\(stamp),v1=\(good)")]

        for (id, age, tolerance, isAccepted) in [
            ("age-300000-ms", Int64(300_000), nil, true), ("age-300001-ms", 300_001, nil, false),
            ("future-300000-ms", -300_000, nil, true), ("future-300001-ms", -300_001, nil, false),
            ("age-600-s-tolerance-600-s", 600_000, 600, true), ("age-1-ms-tolerance-0", 1, 0, false),
            ("age-0-tolerance-0", 0, 0, true), ("age-3-days", 259_200_000, nil, false),
        ] as [(String, Int64, Int64?, Bool)] {
            add(
                id,
                "the timestamp \(age) ms before receipt",
                "t=\(stamp),v1=\(good)",
                config: config(tolerance: tolerance, isLive: nil, now: created * 1000 + age),
                isAccepted ? accepted : .reject(.stale)
            )
        }
        for (id, text) in [("zero", "0"), ("int64-max", "9223372036854775807"), ("year-9999", "253402300799")] {
            add(
                "timestamp-\(id)",
                "signed, at an end of the range",
                "t=\(text),v1=\(try code(body, text))",
                .reject(.stale)
            )
        }

        add("no-header", "nothing to verify", nil, .reject(.unauthenticated))
        add("no-v1", "a timestamp alone", "t=\(stamp)", .reject(.unauthenticated))
        add("v0-only", "downgrade to another scheme", "t=\(stamp),v0=\(good)", .reject(.unauthenticated))
        add("v1-empty", "an empty code", "t=\(stamp),v1=", .reject(.unauthenticated))
        add("wrong-code", "a code of zeros", "t=\(stamp),v1=\(wrong)", .reject(.unauthenticated))
        add(
            "other-secret",
            "signed with a secret that is not ours",
            "t=\(stamp),v1=\(other)",
            .reject(.unauthenticated)
        )
        add("truncated", "a prefix of the code", "t=\(stamp),v1=\(good.dropLast())", .reject(.unauthenticated))
        add("truncated-8", "half of the code", "t=\(stamp),v1=\(good.prefix(32))", .reject(.unauthenticated))
        add("extended", "the code and more", "t=\(stamp),v1=\(good)0", .reject(.unauthenticated))
        add("upper-case", "upper-case digits", "t=\(stamp),v1=\(good.uppercased())", .reject(.unauthenticated))
        add("nul", "the code and a NUL", "t=\(stamp),v1=\(good)\u{0}", .reject(.unauthenticated))
        add("prefixed", "0x before the code", "t=\(stamp),v1=0x\(good.dropFirst(2))", .reject(.unauthenticated))
        add(
            "full-width",
            "digits outside of ASCII",
            "t=\(stamp),v1=\u{FF10}\(good.dropFirst())",
            .reject(.unauthenticated)
        )
        add("quoted", "the code in quotation marks", "t=\(stamp),v1=\"\(good)\"", .reject(.unauthenticated))
        add(
            "other-timestamp",
            "the code of another time",
            "t=\(created + 1),v1=\(good)",
            .reject(.unauthenticated)
        )
        add(
            "body-alone",
            "a code that does not cover the time",
            "t=\(stamp),v1=\(try StripeSimulator.bareCode(body, secret: Secret(secret)))",
            .reject(.unauthenticated)
        )
        add(
            "secret-without-prefix",
            "signed with what follows whsec_",
            "t=\(stamp),v1=\(try code(body, stamp, String(secret.dropFirst(6))))",
            .reject(.unauthenticated)
        )
        for (id, change) in [
            ("newline", body + [0x0A]), ("space", [0x20] + body), ("byte-order-mark", [0xEF, 0xBB, 0xBF] + body),
            ("last-octet", Array(body.dropLast())), ("empty", []),
            ("one-bit", Array(body.dropLast(2)) + [body[body.count - 2] ^ 1] + Array(body.suffix(1))),
        ] as [(String, [UInt8])] {
            add(
                "body-changed-\(id)",
                "the body is not the one that was signed",
                "t=\(stamp),v1=\(good)",
                body: change,
                .reject(.unauthenticated)
            )
        }

        add("no-timestamp", "a code alone", "v1=\(good)", .reject(.malformed))
        add("empty-header", "nothing in it", "", .reject(.malformed))
        add("two-timestamps", "which one is meant?", "t=\(created - 900),t=\(stamp),v1=\(good)", .reject(.malformed))
        add("same-timestamp-twice", "one is enough", "t=\(stamp),t=\(stamp),v1=\(good)", .reject(.malformed))
        for (id, text) in [
            ("empty", ""), ("plus", "+\(stamp)"), ("minus", "-\(stamp)"), ("fraction", "\(stamp).0"),
            ("exponent", "1e9"), ("leading-zero", "0\(stamp)"), ("nan", "NaN"), ("separator", "1_772_366_400"),
            ("letters", "\(stamp)s"), ("hexadecimal", "0x69a42c00"), ("full-width", "\u{FF11}772366400"),
            ("beyond-int64", "9223372036854775808"), ("inner-space", "17723 66400"),
        ] {
            add(
                "timestamp-\(id)",
                "not a canonical decimal number",
                "t=\(text),v1=\(try code(body, text))",
                .reject(.malformed)
            )
        }
        add(
            "seventeen-codes",
            "more codes than there may be",
            "t=\(stamp)" + String(repeating: ",v1=\(wrong)", count: 16) + ",v1=\(good)",
            .reject(.malformed)
        )
        add(
            "long-header",
            "more than 8 KiB",
            "t=\(stamp),v1=\(good)," + String(repeating: "x", count: 8192),
            .reject(.malformed)
        )
        add("twice", "the header came twice", nil, .reject(.malformed))
        cases[cases.count - 1].headers = [
            "Stripe-Signature": [.string("t=\(stamp),v1=\(good)"), .string("t=\(stamp),v1=\(good)")]
        ]

        for (id, secrets) in [
            ("no-secret", []), ("empty-secret", [""]), ("blank-secret", ["  "]),
            ("empty-secret-among-others", [secret, ""]), ("secret-with-newline", [secret + "\n"]),
        ] {
            add(
                id,
                "a receiver that anybody could authenticate to does not start",
                "t=\(stamp),v1=\(good)",
                config: config(secrets: secrets, isLive: nil),
                .reject(.configuration)
            )
        }
        return cases
    }
}
