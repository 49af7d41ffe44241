import Foundation
import GooglePubSub
import Normalizer
import Testing

@Suite struct PubSubMessageTests {
    func authenticate(
        _ body: String,
        _ headers: [(String, String)] = []
    ) async throws -> PubSubMessage {
        let delivery = try Google.delivery(Array(body.utf8), headers: headers)
        return try await Google.adapter().authenticate(delivery).value.message
    }

    static let data = Google.base64(Array(Google.notification().utf8))

    static func wrapped(_ message: String, _ more: String = #","subscription":"\#(Google.subscription)""#) -> String {
        "{\"message\":{\(message)}\(more)}"
    }

    @Test func readsAllOfAWrappedPush() async throws {
        let message = try await authenticate(
            Self.wrapped(
                """
                "data":"\(Self.data)","messageId":"1","publishTime":"2026-05-28T20:26:40.123456789Z",\
                "attributes":{"a":"b","n":7},"orderingKey":"k"
                """,
                #","subscription":"\#(Google.subscription)","deliveryAttempt":3"#
            )
        )
        #expect(
            message
                == PubSubMessage(
                    subscription: Google.subscription,
                    messageID: "1",
                    publishTime: Date(timeIntervalSince1970: 1_780_000_000.123),
                    attributes: ["a": "b"],
                    orderingKey: "k",
                    deliveryAttempt: 3,
                    data: Array(Google.notification().utf8)
                )
        )
    }

    @Test(arguments: [
        #""message_id":"1","publish_time":"2026-05-28T20:26:40Z""#, #""messageId":"1","message_id":"2""#,
        #""messageId":"1","publishTime":"yesterday","attributes":null,"orderingKey":"""#,
        #""messageId":"1","attributes":[],"publishTime":7"#, #""messageId":null,"message_id":"1""#,
    ])
    func readsBothSpellings(members: String) async throws {
        let message = try await authenticate(Self.wrapped("\"data\":\"\(Self.data)\",\(members)"))
        #expect(message.messageID == "1")
        #expect(message.orderingKey == nil)
        #expect(message.attributes.isEmpty)
    }

    /// By its id a message is known: taken for an id, an empty one would make all of them the same message.
    @Test(arguments: [#""messageId":"""#, #""message_id":"""#, #""messageId":null"#])
    func anEmptyIDIsNone(member: String) async throws {
        let body = Self.wrapped("\"data\":\"\(Self.data)\",\(member)")
        #expect(try await authenticate(body).messageID == nil)
    }

    @Test func emptyMetadataIsNone() async throws {
        let body = Google.notification()
        let message = try await authenticate(
            body,
            [
                ("x-goog-pubsub-subscription-name", ""), ("x-goog-pubsub-message-id", ""),
                ("x-goog-pubsub-ordering-key", ""),
            ]
        )
        #expect(message == PubSubMessage(data: Array(body.utf8)))
    }

    @Test func readsEveryBase64() async throws {
        for (first, second) in [("?", "~"), ("??", "~~~"), ("???", ">>>>")] {
            // Characters in which the two alphabets differ, with each length of padding.
            let notification = Google.notification(token: "\(first)\u{FF}\(second)ÿÿ")
            let standard = Google.base64(Array(notification.utf8))
            let url = Google.base64URL(Array(notification.utf8))
            for text in [standard, standard.replacing("=", with: ""), url, url + String(standard.filter { $0 == "=" })]
            {
                let message = try await authenticate(Self.wrapped("\"data\":\"\(text)\",\"messageId\":\"1\""))
                #expect(String(decoding: message.data, as: UTF8.self) == notification)
            }
        }
    }

    @Test(arguments: [
        "", "[]", "null", "{}", "{\"message\":null}", "{\"message\":[]}", "{\"message\":\"x\"}", "\u{FEFF}{}",
        wrapped(""), wrapped("\"messageId\":\"1\""), wrapped(#""data":"","messageId":"1""#),
        wrapped(#""data":7,"messageId":"1""#), wrapped("\"data\":\"\(data)\",\"messageId\":7"),
        wrapped("\"data\":\"\(data)=\",\"messageId\":\"1\""), wrapped("\"data\":\"\(data)\\n\",\"messageId\":\"1\""),
        wrapped("\"data\":\" \(data)\",\"messageId\":\"1\""), wrapped(#""data":"-+-+","messageId":"1""#),
        wrapped(#""data":"QR==","messageId":"1""#), wrapped(#""data":"e30=","messageId":"1""#),
        wrapped(#""data":"W10=","messageId":"1""#), wrapped(#""data":"bm8ganNvbg==","messageId":"1""#),
        wrapped("\"data\":\"\(data)\",\"messageId\":\"1\",\"data\":\"\(data)\""),
        wrapped("\"data\":\"\(data)\"", ",\"subscription\":7"),
        "{\"message\":{\"data\":\"\(data)\"},\"subscription\":\"\(Google.subscription)\"", "{\"packageName\":7}",
    ])
    func whatIsAuthenticAndUnreadableIsKept(body: String) async throws {
        let error = try #require(await Google.adapter().refusal(try Google.delivery(Array(body.utf8))))
        #expect(error.code == .malformed)
        #expect(error.isAuthentic)
        #expect(Acknowledgement(for: .failure(error), provider: .google).decision == .acceptAndQuarantine)
        #expect(GooglePubSubStatus.of(error) == 200)
        #expect(!error.description.contains("secret"))
    }

    @Test func unprovenBodiesAreNotRead() async throws {
        let delivery = Delivery(headers: [:], body: Array("{".utf8), receivedAt: Google.receivedAt)
        let error = try #require(await Google.adapter().refusal(delivery))
        #expect(error.code == .unauthenticated)
    }

    @Test(arguments: [
        #","subscription":"projects/project-two/subscriptions/play-events""#, "", #","subscription":null"#,
        #","subscription":"""#, #","subscription":"\#(Google.subscription)/""#,
        #","subscription":"projects/project-one/subscriptions/x/../play-events""#,
    ])
    func refusesOtherSubscriptions(subscription: String) async throws {
        let body = Self.wrapped("\"data\":\"\(Self.data)\",\"messageId\":\"1\"", subscription)
        let error = try #require(await Google.adapter().refusal(try Google.delivery(Array(body.utf8))))
        #expect(error.code == .misdirected)
        #expect(error.isAuthentic)
        #expect(GooglePubSubStatus.of(error) == 403)
    }

    @Test(arguments: ["com.example.app2", "com.example", "COM.example.app", "com.example.app\\u0000", ""])
    func refusesOtherPackages(name: String) async throws {
        let notification = Google.notification().replacing(Google.package, with: name)
        let error = try #require(await Google.adapter().refusal(try Google.delivery(Google.wrapped(notification))))
        #expect(error.code == .misdirected || name.isEmpty && error.code == .malformed)
        #expect(error.isAuthentic)
        #expect(GooglePubSubStatus.of(error) == (name.isEmpty ? 200 : 403))
    }

    @Test func readsAnUnwrappedPush() async throws {
        let body = Google.notification()
        let bare = try await authenticate(body)
        #expect(bare == PubSubMessage(data: Array(body.utf8)))
        let full = try await authenticate(
            body,
            [
                ("X-Goog-PubSub-Subscription-Name", Google.subscription), ("x-goog-pubsub-message-id", "1"),
                ("x-goog-pubsub-publish-time", "2026-05-28T20:26:40.5Z"), ("x-goog-pubsub-ordering-key", "k"),
            ]
        )
        #expect(
            full
                == PubSubMessage(
                    subscription: Google.subscription,
                    messageID: "1",
                    publishTime: Date(timeIntervalSince1970: 1_780_000_000.5),
                    orderingKey: "k",
                    data: Array(body.utf8)
                )
        )
    }

    @Test(arguments: [
        ([("x-goog-pubsub-subscription-name", "projects/project-two/subscriptions/play-events")], 403),
        (
            [
                ("x-goog-pubsub-subscription-name", Google.subscription),
                ("X-Goog-PubSub-Subscription-Name", Google.subscription),
            ], 200
        ),
        ([("x-goog-pubsub-message-id", "1"), ("x-goog-pubsub-message-id", "2")], 200),
        ([("x-goog-pubsub-message-id", String(repeating: "1", count: 9000))], 200),
    ])
    func refusesForeignMetadata(headers: [(String, String)], status: Int) async throws {
        let delivery = try Google.delivery(Array(Google.notification().utf8), headers: headers)
        let error = try #require(await Google.adapter().refusal(delivery))
        #expect(error.isAuthentic)
        #expect(GooglePubSubStatus.of(error) == status)
    }

    @Test func refusesLargeBodies() async throws {
        var configuration = Google.configuration()
        configuration.maximumBodyBytes = Google.wrapped().count
        #expect(try await Google.adapter(configuration).refusal(try Google.delivery()) == nil)
        configuration.maximumBodyBytes -= 1
        let error = try #require(await Google.adapter(configuration).refusal(try Google.delivery()))
        #expect(error.code == .malformed)
        #expect(GooglePubSubStatus.of(error) == 200)
        let data = Array(Google.notification().utf8)
        let pulled = PubSubMessage(subscription: Google.subscription, data: data)
        configuration.maximumBodyBytes = data.count
        _ = try Google.adapter(configuration).receive(pulled: pulled, receivedAt: Google.receivedAt)
        configuration.maximumBodyBytes -= 1
        let refused = #expect(throws: DeliveryError.self) {
            try Google.adapter(configuration).receive(pulled: pulled, receivedAt: Google.receivedAt)
        }
        #expect(refused?.code == .malformed)
    }

    @Test func readsBodiesAsLongAsConfigured() async throws {
        var configuration = Google.configuration()
        configuration.maximumBodyBytes = 8 << 20
        let long = Google.notification().dropLast() + #","padding":"\#(String(repeating: "x", count: 3 << 20))"}"#
        let adapter = try Google.adapter(configuration)
        let proven = [
            try await adapter.authenticate(try Google.delivery(Google.wrapped(String(long)))),
            try await adapter.authenticate(try Google.delivery(Array(long.utf8))),
            try adapter.receive(
                pulled: PubSubMessage(subscription: Google.subscription, data: Array(long.utf8)),
                receivedAt: Google.receivedAt
            ),
        ]
        for one in proven {
            #expect(one.value.content.payload.count == long.utf8.count)
            let queued = try CanonicalJSON.value(
                Authenticated<GoogleNotification>.self,
                from: CanonicalJSON.bytes(one)
            )
            #expect(queued.value == one.value)
        }
    }

    @Test func pulledMessages() throws {
        let message = PubSubMessage(
            subscription: Google.subscription,
            messageID: "1",
            data: Array(Google.notification().utf8)
        )
        let proven = try Google.adapter().receive(pulled: message, receivedAt: Google.receivedAt)
        #expect(proven.channel == .pull)
        #expect(proven.evidence == Origin.Evidence(.tls))
        #expect(proven.value.message == message)
        for wrong in [
            PubSubMessage(subscription: nil, data: message.data), PubSubMessage(subscription: "x", data: message.data),
            PubSubMessage(subscription: Google.subscription, data: [0x7B]),
        ] {
            let error = #expect(throws: DeliveryError.self) {
                try Google.adapter().receive(pulled: wrong, receivedAt: Google.receivedAt)
            }
            #expect(error?.isAuthentic == true)
        }
    }

    @Test func crossesAQueue() async throws {
        let proven = try await Google.adapter().authenticate(try Google.delivery())
        let stored = try JSONEncoder().encode(proven)
        let read = try JSONDecoder().decode(Authenticated<GoogleNotification>.self, from: stored)
        #expect(read.value == proven.value)
        #expect(read.receivedAt == proven.receivedAt)
        #expect(!"\(proven.value)\(String(reflecting: proven.value))".contains("secret"))
    }
}
