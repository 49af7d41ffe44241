import Foundation
import GRDB
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Normalizer
import NotificationSimulator
import Testing

@testable import Backend

@Suite("What the backend answers")
struct RoutesTests {
    private static let now = Teller.start + 3600
    private let file: TemporaryDatabase
    private let store: EventStore

    init() throws {
        file = try TemporaryDatabase()
        store = try EventStore(DatabasePool(path: file.path))
    }

    /// Sends what a provider tells of a purchase to a backend that knows another provider of that name, or this one.
    private func withPurchase(
        toldBy teller: Teller,
        to receiver: Teller,
        _ body: @Sendable (_ client: any TestClientProtocol, _ delivery: Delivery) async throws -> Void
    ) async throws {
        let notifications = try teller.simulator.notifications(
            try #require(Story.named("initial-purchase")),
            from: Teller.start
        )
        let adapter = try receiver.adapter(notifications.resources(upTo: notifications.count - 1))
        let routes = Routes(adapters: [receiver.name: adapter], store: store, now: { Self.now })
        try await Application(router: routes.router()).test(.router) { client in
            for notification in notifications {
                try await body(client, try teller.simulator.delivery(of: notification, sentAt: Self.now))
            }
        }
    }

    private func post(_ delivery: Delivery, to name: String, by client: any TestClientProtocol) async throws -> Int {
        var headers = HTTPFields()
        for (name, value) in delivery.headers.all {
            headers.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        let body = ByteBuffer(bytes: delivery.body)
        return try await client.execute(uri: "/hooks/\(name)", method: .post, headers: headers, body: body) {
            $0.status.code
        }
    }

    @Test("What is genuine is taken, and gives access", arguments: Teller.names)
    func genuine(_ name: String) async throws {
        let teller = try Teller(name)
        try await withPurchase(toldBy: teller, to: teller) { client, delivery in
            #expect(try await post(delivery, to: name, by: client) == 200)
            let account = try #require(try await store.outbox().first?.account)
            let uri = "/access/\(account.source)/" + account.id.utf8.map { "%" + String($0, radix: 16) }.joined()
            let answer = try await client.execute(uri: uri, method: .get) { Array(buffer: $0.body) }
            #expect(try CanonicalJSON.value(AccountAccess.self, from: answer).decision.isGranted)
            let other = try await client.execute(uri: uri + "x", method: .get) { Array(buffer: $0.body) }
            #expect(try !CanonicalJSON.value(AccountAccess.self, from: other).decision.isGranted)
        }
    }

    @Test("What is forged is refused, and nothing of it is kept", arguments: Teller.names)
    func forged(_ name: String) async throws {
        try await withPurchase(toldBy: Teller(name, seed: "forger"), to: Teller(name)) { client, delivery in
            let status = try await post(delivery, to: name, by: client)
            #expect(status == (name == "stripe" ? 400 : 401))
        }
        #expect(try await store.outbox() == [])
    }

    @Test("Credits are told, and used as long as there are any")
    func credits() async throws {
        let story = try #require(Story.named("initial-purchase"))
        let results = try #require(try await Teller("stripe").results(story))
        let event = try #require(results.flatMap(\.events).first)
        let account = try #require(event.account)
        let product = try #require(event.product?.id)
        let store = try EventStore(DatabaseQueue(), policy: CreditPolicy([product: .init(credits: 50)]))
        for result in results { try await store.update(for: result) }
        let routes = Routes(adapters: [:], store: store, now: { Self.now })
        try await Application(router: routes.router()).test(.router) { client in
            let uri = "/credits/\(account.source)/\(account.id)"
            let before = try await client.execute(uri: uri, method: .get) { String(buffer: $0.body) }
            #expect(before == "50")
            for (number, expected) in [("30", 200), ("30", 409), ("-1", 409), ("some", 400)] {
                let use = try await client.execute(uri: "\(uri)/use/\(number)", method: .post) { $0.status.code }
                #expect(use == expected, "\(number)")
            }
            let after = try await client.execute(uri: uri, method: .get) { String(buffer: $0.body) }
            #expect(after == "20")
        }
    }

    @Test("What cannot be stored is asked for again, and is news when it comes")
    func unavailable() async throws {
        let teller = try Teller("apple")
        let database = try DatabaseQueue(path: file.path)
        try await withPurchase(toldBy: teller, to: teller) { client, delivery in
            try await database.write { try $0.execute(sql: "ALTER TABLE outbox RENAME TO away") }
            #expect(try await post(delivery, to: "apple", by: client) == 503)
            try await database.write { try $0.execute(sql: "ALTER TABLE away RENAME TO outbox") }
            #expect(try await store.outbox() == [])
            #expect(try await post(delivery, to: "apple", by: client) == 200)
        }
        // As another process finds it.
        let news = try await EventStore(DatabaseQueue(path: file.path)).outbox()
        #expect(news.map(\.event.kind) == [.started])
    }

    @Test("No address but a configured provider's takes anything")
    func unknown() async throws {
        let teller = try Teller("stripe")
        try await withPurchase(toldBy: teller, to: teller) { client, delivery in
            let status = try await post(delivery, to: "acorn", by: client)
            #expect(status == 404)
        }
    }
}
