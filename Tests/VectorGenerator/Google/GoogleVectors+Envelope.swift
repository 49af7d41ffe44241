import ConformanceVectors
import Normalizer
import SignatureCore

// How a message is wrapped, and what may stand in it.
extension GoogleVectors {
    static func envelopeCases(_ issuer: Issuer) throws -> [Case] {
        let test = notification("testNotification", ["version": "\"1.0\""])
        let accepted = Expectation.events([Expected("notice", #"{"kind":"test"}"#)])
        var cases: [Case] = []

        func add(
            _ id: String,
            _ why: String,
            body: [UInt8],
            headers: [String: String] = [:],
            config: [String: String] = [:],
            _ expect: Expectation
        ) {
            var all = ["Authorization": JSON.string("Bearer \(issuer.token)")]
            for (name, value) in headers { all[name] = JSON.string(value) }
            cases.append(
                Case(
                    id: id,
                    why: why,
                    config: config,
                    expect: expect,
                    delivery: Delivery(headers: all, body: body)
                )
            )
        }
        func wrap(_ message: [String: String?], _ others: [String: String?] = [:]) -> [UInt8] {
            var members: [String: String?] = [
                "message": JSON.object(message), "subscription": JSON.string(subscriptionName),
            ]
            for (name, value) in others { members[name] = value }
            return Array(JSON.object(members).utf8)
        }
        func base64(_ text: String) -> String {
            String(decoding: Base64.encode(Array(text.utf8).span), as: UTF8.self)
        }
        func said(_ id: String, _ why: String, _ text: String, _ expect: Expectation) {
            add(id, why, body: wrapped(Array(text.utf8), id: id), expect)
        }

        // Layouts.
        add("wrapped", "as Pub/Sub sends it by default", body: wrapped(Array(test.utf8), id: "wrapped"), accepted)
        add(
            "wrapped-snake-case",
            "only the old spelling of the id",
            body: wrap(["data": JSON.string(base64(test)), "message_id": "\"17\""]),
            accepted
        )
        add(
            "wrapped-all",
            "everything that may stand beside the data",
            body: wrap(
                [
                    "data": JSON.string(base64(test)), "messageId": "\"17\"", "attributes": #"{"source":"play"}"#,
                    "orderingKey": "\"\"", "publishTime": JSON.time(noon - 10),
                ],
                ["deliveryAttempt": "3"]
            ),
            accepted
        )
        add(
            "wrapped-without-id",
            "a message that is known by its octets alone",
            body: wrap(["data": JSON.string(base64(test))]),
            accepted
        )
        add("unwrapped", "the data alone", body: Array(test.utf8), accepted)
        add(
            "unwrapped-metadata",
            "the data alone, with metadata in headers",
            body: Array(test.utf8),
            headers: [
                "x-goog-pubsub-subscription-name": subscriptionName,
                "x-goog-pubsub-message-id": "8923648723648723",
                "x-goog-pubsub-publish-time": "2026-03-01T11:59:59.600Z",
            ],
            accepted
        )
        add(
            "unwrapped-other-subscription",
            "metadata of another subscription",
            body: Array(test.utf8),
            headers: ["x-goog-pubsub-subscription-name": "projects/example/subscriptions/other"],
            .reject(.misdirected)
        )
        add(
            "base64-unpadded",
            "base64 without padding",
            body: wrap([
                "data": JSON.string(base64(test + " ").trimmingPadding), "messageId": "\"17\"",
            ]),
            accepted
        )
        for kind in [nil, subscriptionName, "projects/example/subscriptions/other"] as [String?] {
            add(
                "pulled-\(kind == subscriptionName ? "ours" : kind == nil ? "unnamed" : "other")",
                "a message that was pulled",
                body: Array(
                    JSON.object([
                        "message": JSON.object(["data": JSON.string(base64(test)), "messageId": "\"17\""]),
                        "subscription": kind.map(JSON.string),
                    ]).utf8
                ),
                config: ["kind": "\"pull\"", "jwks": "", "audience": "", "serviceAccountEmail": ""],
                kind == subscriptionName ? accepted : .reject(.misdirected)
            )
        }

        // Somebody else's.
        add(
            "subscription-other",
            "a message through another subscription",
            body: Array(
                JSON.object([
                    "message": JSON.object(["data": JSON.string(base64(test)), "messageId": "\"17\""]),
                    "subscription": "\"projects/example/subscriptions/play-rtdn2\"",
                ]).utf8
            ),
            .reject(.misdirected)
        )
        said(
            "package-other",
            "another app",
            notification("testNotification", ["version": "\"1.0\""], package: "com.example.other"),
            .reject(.misdirected)
        )
        said(
            "package-prefix",
            "an app whose name begins like ours",
            notification("testNotification", ["version": "\"1.0\""], package: packageName + ".pro"),
            .reject(.misdirected)
        )
        said(
            "package-path",
            "a name that climbs",
            notification("testNotification", ["version": "\"1.0\""], package: "../\(packageName)"),
            .reject(.misdirected)
        )

        // Broken.
        add("body-empty", "nothing at all", body: [], .reject(.malformed))
        add("body-array", "an array", body: Array("[]".utf8), .reject(.malformed))
        add(
            "body-truncated",
            "half a body",
            body: Array(wrapped(Array(test.utf8), id: "x").dropLast(20)),
            .reject(.malformed)
        )
        add(
            "body-bom",
            "a byte order mark",
            body: [0xEF, 0xBB, 0xBF] + wrapped(Array(test.utf8), id: "x"),
            .reject(.malformed)
        )
        add(
            "body-duplicate",
            "a member twice",
            body: Array(#"{"message":{"data":"e30="},"message":{"data":"e30="}}"#.utf8),
            .reject(.malformed)
        )
        add(
            "body-long",
            "longer than configured",
            body: wrapped(Array(test.utf8), id: "x"),
            config: ["maxBodyBytes": "100"],
            .reject(.malformed)
        )
        add("data-absent", "no data", body: wrap(["messageId": "\"17\""]), .reject(.malformed))
        add("data-number", "data that is a number", body: wrap(["data": "17"]), .reject(.malformed))
        add("data-junk", "data that is no base64", body: wrap(["data": "\"e30=!\""]), .reject(.malformed))
        said("data-not-json", "data that is no JSON", "version: 1.0", .reject(.malformed))
        said(
            "data-pseudo-json",
            "type names in place of values, as the documentation prints them",
            #"{"version":string,"packageName":string,"eventTimeMillis":long}"#,
            .reject(.malformed)
        )
        said("time-absent", "no time", #"{"packageName":"\#(packageName)","testNotification":{}}"#, .reject(.malformed))
        for (name, value) in [
            ("fraction", "1.5"), ("word", "\"soon\""), ("plus", "\"+1\""), ("negative", "-1"),
            ("beyond", "\"9223372036854775808\""),
            ("year-10000", "253402300800000"), ("bool", "true"),
        ] {
            said(
                "time-\(name)",
                "a time that is none",
                #"{"packageName":"\#(packageName)","eventTimeMillis":\#(value),"testNotification":{}}"#,
                .reject(.malformed)
            )
        }
        said(
            "time-number",
            "the time as a number, as it is documented",
            #"{"packageName":"\#(packageName)","eventTimeMillis":\#(event),"testNotification":{"version":"1.0"}}"#,
            accepted
        )
        said(
            "type-string",
            "a number that is a word",
            notification("subscriptionNotification", ["notificationType": "\"four\"", "purchaseToken": "\"t\""]),
            .reject(.malformed)
        )
        said(
            "type-digits",
            "a number that is written as protocol buffers write 64-bit integers",
            notification("subscriptionNotification", ["notificationType": "\"4\"", "purchaseToken": "\"t\""]),
            .nothing("needs_lookup")
        )
        said(
            "type-absent",
            "no number",
            notification("subscriptionNotification", ["purchaseToken": "\"t\""]),
            .reject(.malformed)
        )
        said(
            "token-absent",
            "no token",
            notification("subscriptionNotification", ["notificationType": "4"]),
            .reject(.malformed)
        )
        said(
            "token-empty",
            "an empty token",
            notification("subscriptionNotification", ["notificationType": "4", "purchaseToken": "\"\""]),
            .reject(.malformed)
        )
        said(
            "token-long",
            "a token of 2049 octets",
            hint(4, token: String(repeating: "t", count: 2049)),
            .reject(.malformed)
        )
        said(
            "void-without-order",
            "a voided purchase that names no order",
            notification("voidedPurchaseNotification", ["purchaseToken": "\"t\"", "productType": "1"]),
            .reject(.malformed)
        )

        // Unknown, and kept.
        said(
            "version-other",
            "another version of the format",
            #"{"version":"2.7","packageName":"\#(packageName)","eventTimeMillis":"\#(event)","testNotification":{}}"#,
            accepted
        )
        said(
            "member-unknown",
            "a member more beside the body",
            #"{"version":"1.0","packageName":"\#(packageName)","eventTimeMillis":"\#(event)","testNotification":{},"region":{"code":"DE"}}"#,
            accepted
        )
        said(
            "body-unknown",
            "a body that nobody knows yet",
            notification("subscriptionGiftNotification", ["giftToken": "\"t\""]),
            .events([Expected("unmapped", #"{"type":"subscriptionGiftNotification"}"#)])
        )
        said(
            "body-none",
            "no body",
            #"{"version":"1.0","packageName":"\#(packageName)","eventTimeMillis":"\#(event)"}"#,
            .events([Expected("unmapped", #"{"type":"DeveloperNotification"}"#)])
        )
        said(
            "body-two",
            "two bodies, which exclude each other",
            #"{"packageName":"\#(packageName)","eventTimeMillis":"\#(event)","testNotification":{},"subscriptionNotification":{"notificationType":4,"purchaseToken":"t"}}"#,
            .events([Expected("unmapped", #"{"type":"subscriptionNotification+testNotification"}"#)])
        )

        // Only a hint.
        said("hint-subscription", "nobody is asked", hint(4), .nothing("needs_lookup"))
        said("hint-one-time", "nobody is asked", oneTimeHint(1), .nothing("needs_lookup"))
        said("hint-voided", "nobody is asked", voidedHint(1, 1, order: order), .nothing("needs_lookup"))
        said(
            "hint-without-subscription-id",
            "the member that Google no longer documents",
            notification("subscriptionNotification", ["notificationType": "13", "purchaseToken": "\"t\""]),
            .nothing("needs_lookup")
        )

        // A day to answer.
        said(
            "refund-review",
            "a customer's bank asks",
            notification(
                "pendingRefundReviewNotification",
                [
                    "version": "\"1.0\"", "pendingRefundToken": "\"secret-refund-token\"",
                    "orderId": JSON.string(order), "refundReason": "7", "obfuscatedAccountId": "\"acct-7f3a\"",
                ]
            ),
            .events([
                Expected(
                    "refund_requested",
                    JSON.object([
                        "transaction": JSON.string(order), "reason": "\"chargeback\"",
                        "answer_by": JSON.time(event + day),
                    ])
                )
            ])
        )
        said(
            "refund-review-reason",
            "for a reason that has no name",
            notification(
                "pendingRefundReviewNotification",
                ["pendingRefundToken": "\"secret-refund-token\"", "orderId": JSON.string(order), "refundReason": "3"]
            ),
            .events([Expected("refund_requested", #"{"reason":"3"}"#)])
        )
        return cases
    }
}

extension String {
    fileprivate var trimmingPadding: String {
        var text = self
        while text.last == "=" { text.removeLast() }
        return text
    }
}
