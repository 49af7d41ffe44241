import AppleJWS
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
        #expect(try await store.kept().isEmpty)
    }

    /// Hands something in for somebody who is signed in.
    private func upload(
        _ body: [UInt8],
        to path: String,
        for user: String,
        by client: any TestClientProtocol
    ) async throws -> Int {
        let uri = "/uploads/\(path)/\(user)"
        return try await client.execute(uri: uri, method: .post, body: ByteBuffer(bytes: body)) { $0.status.code }
    }

    private func hasAccess(_ user: String, by client: any TestClientProtocol) async throws -> Bool {
        let answer = try await client.execute(uri: "/access/\(user)", method: .get) { Array(buffer: $0.body) }
        return try CanonicalJSON.value(AccountAccess.self, from: answer).decision.isGranted
    }

    @Test("What an app hands in of the App Store's belongs to who is signed in, and to nobody else")
    func signedTransaction() async throws {
        var transaction = AppleSimulator.Transaction(
            transactionId: "1",
            originalTransactionId: "1",
            productId: "pro",
            purchaseDate: Teller.start,
            type: "Auto-Renewable Subscription"
        )
        transaction.expiresDate = Teller.end
        let genuine = try AppleSimulator(seed: "backend").signed(transaction, at: Teller.start)
        let forged = try AppleSimulator(seed: "forger").signed(transaction, at: Teller.start)
        let routes = Routes(adapters: ["apple": try Teller("apple").adapter([])], store: store, now: { Self.now })
        try await Application(router: routes.router()).test(.router) { client in
            let path = "apple/transaction"
            let refused = try await upload(forged, to: path, for: "ada", by: client)
            #expect(refused == 400)
            #expect(try await hasAccess("app_account_token/ada", by: client) == false)
            for user in ["ada", "ada", "eve"] {
                #expect(try await upload(genuine, to: path, for: user, by: client) == 200)
            }
            #expect(try await hasAccess("app_account_token/ada", by: client))
            #expect(try await hasAccess("app_account_token/eve", by: client) == false)
            #expect(try await upload(genuine, to: "apple/receipt", for: "ada", by: client) == 404)
            #expect(
                try await upload(genuine, to: "stripe/transaction", for: "ada", by: client) == 404
            )
        }
        #expect(try await store.outbox().map(\.event.kind) == [.started])
    }

    @Test("What an app hands in of Google Play's is asked about, and its notification is no news")
    func purchaseToken() async throws {
        let teller = try Teller("google")
        let story = try #require(Story.named("initial-purchase"))
        let resources = try teller.simulator.notifications(story, from: Teller.start).flatMap(\.resources)
        let purchase = try #require(resources.first { $0.path.contains("/subscriptionsv2/") })
        let token = try #require(purchase.path.split(separator: "/").last).utf8
        let app = try GoogleSimulator(seed: "backend").packageName
        let adapter = try teller.adapter(resources)
        let routes = Routes(adapters: ["google": adapter], store: store, packageName: app, now: { Self.now })
        try await Application(router: routes.router()).test(.router) { client in
            let path = "google/subscription"
            let unknown = try await upload(Array("made-up".utf8), to: path, for: "eve", by: client)
            #expect(unknown == 404)
            #expect(try await upload(Array("..".utf8), to: path, for: "eve", by: client) == 400)
            #expect(
                try await upload(Array(token), to: "google/gift", for: "eve", by: client) == 404
            )
            #expect(try await upload(Array(token), to: path, for: "eve", by: client) == 200)
            let owner = try #require(try await store.outbox().first?.account)
            #expect(try await hasAccess("obfuscated_account_id/\(owner.id)", by: client))
            #expect(try await hasAccess("obfuscated_account_id/eve", by: client) == false)
        }
        let told = try await store.outbox()
        #expect(told.map(\.event.kind).prefix(1) == [.started])
        try await withPurchase(toldBy: teller, to: teller) { client, delivery in
            let status = try await post(delivery, to: "google", by: client)
            #expect(status == 200)
        }
        #expect(try await store.outbox() == told)
    }

    @Test("Who comes back from Checkout has what was bought before its webhook comes, which is no news")
    func checkout() async throws {
        let teller = try Teller("stripe")
        let story = try #require(Story.named("consumable-refunded"))
        let notifications = try teller.simulator.notifications(story, from: Teller.start).filter { $0.step == 0 }
        let resources = notifications.flatMap(\.resources)
        let session = try #require(resources.first { $0.path.hasPrefix("/v1/checkout/sessions/") })
        let id = try #require(session.path.split(separator: "?").first?.split(separator: "/").last)
        let routes = Routes(adapters: ["stripe": try teller.adapter(resources)], store: store, now: { Self.now })
        try await Application(router: routes.router()).test(.router) { client in
            for (query, expected) in [("", 400), ("?session_id=..", 400), ("?session_id=cs_made_up", 400)] {
                let status = try await client.execute(uri: "/checkout/done\(query)", method: .get) { $0.status.code }
                #expect(status == expected, "\(query)")
            }
            #expect(try await store.outbox() == [])
            for _ in 1...2 {
                let uri = "/checkout/done?session_id=\(id)"
                let status = try await client.execute(uri: uri, method: .get) { $0.status.code }
                #expect(status == 200)
            }
            let told = try await store.outbox()
            #expect(told.map(\.event.kind) == [.oneTimePurchased])
            for notification in notifications {
                let delivery = try teller.simulator.delivery(of: notification, sentAt: Self.now)
                #expect(try await post(delivery, to: "stripe", by: client) == 200)
            }
            #expect(try await store.outbox() == told)
        }
    }

    @Test("Credits are told, and used as long as there are any")
    func credits() async throws {
        let story = try #require(Story.named("initial-purchase"))
        let results = try #require(try await Teller("stripe").results(story))
        let event = try #require(results.flatMap(\.events).first)
        let account = try #require(event.account)
        let product = try #require(event.product?.id)
        let store = try EventStore(DatabaseQueue(), policy: CreditPolicy([product: .init(credits: 50)]))
        for result in results { try await store.update(for: result, at: Self.now) }
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

    @Test("What is genuine and cannot be taken is kept, once, until a backend can take it")
    func quarantine() async throws {
        let teller = try Teller("apple")
        let apple = try AppleSimulator(seed: "backend")
        let ofAnotherApp = try AppleAdapter(
            AppleConfiguration(
                apps: [.init(bundleID: "com.example.other", appAppleID: 1)],
                environments: [.production],
                trustAnchors: AppleTrustAnchors(der: [apple.rootCertificate])
            )
        )
        let story = try #require(Story.named("initial-purchase"))
        let told = try #require(try teller.simulator.notifications(story, from: Teller.start).first)
        let delivery = try teller.simulator.delivery(of: told, sentAt: Self.now)
        let database = try DatabaseQueue(path: file.path)
        var routes = Routes(adapters: ["apple": ofAnotherApp], store: store, now: { Self.now })
        try await Application(router: routes.router()).test(.router) { client in
            try await database.write { try $0.execute(sql: "ALTER TABLE quarantine RENAME TO away") }
            let status = try await post(delivery, to: "apple", by: client)
            #expect(status == 503)
            try await database.write { try $0.execute(sql: "ALTER TABLE away RENAME TO quarantine") }
            for _ in 1...2 { #expect(try await post(delivery, to: "apple", by: client) == 200) }
        }
        #expect(try await store.outbox() == [])
        try await routes.takeInKept()
        let kept = try await store.kept()
        #expect(kept.map(\.provider) == ["apple"])
        #expect(kept.map(\.delivery.body) == [delivery.body])
        routes = Routes(adapters: ["apple": try teller.adapter([])], store: store, now: { Self.now + 86_400 })
        for _ in 1...2 { try await routes.takeInKept() }
        #expect(try await store.kept().isEmpty)
        let news = try await store.outbox()
        #expect(news.map(\.event.kind) == [.started])
        #expect(news.map(\.receivedAt) == [Self.now])
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
