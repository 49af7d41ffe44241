import Configuration
import Foundation
import Gateway
import HTTPTypes
import Hummingbird
import Logging
import Normalizer
import NotificationSimulator
import SQLiteJournal

/// A gateway with Apple and Stripe, on a database of its own.
struct Bench {
    static let now = Date(timeIntervalSince1970: 1_790_000_000)
    static let readToken = "read-token-0123456789"
    static let adminToken = "admin-token-0123456789"

    let folder: URL
    let apple: AppleSimulator
    let stripe: StripeSimulator

    init() throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "gateway-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        apple = try AppleSimulator(seed: "gateway")
        stripe = StripeSimulator(signingSecret: SecretBytes("whsec_gateway0123456789"))
        try Data(apple.rootCertificate).write(to: folder.appending(path: "root.der"))
    }

    /// Settings as a file has them; nil takes one out.
    func settings(_ changes: [String: ConfigValue?] = [:]) -> ConfigReader {
        var values: [AbsoluteConfigKey: ConfigValue] = [
            "database.url": .init(.string("sqlite:\(folder.path)/gateway.sqlite"), isSecret: false),
            "sources": .init(.stringArray(["apple", "shop"]), isSecret: false),
            "source.apple.provider": "apple",
            "source.apple.bundle_ids": .init(.stringArray([apple.bundleId]), isSecret: false),
            "source.apple.app_apple_id": .init(.int(Int(apple.appAppleId)), isSecret: false),
            "source.apple.environments": .init(.stringArray(["production"]), isSecret: false),
            "source.apple.root_certificates_file": .init(.string("\(folder.path)/root.der"), isSecret: false),
            "source.shop.provider": "stripe",
            "source.shop.signing_secrets": .init(.stringArray(["whsec_gateway0123456789"]), isSecret: true),
            "tokens": .init(.stringArray(["reader", "operator"]), isSecret: false),
            "token.reader.secret": .init(.string(Self.readToken), isSecret: true),
            "token.operator.secret": .init(.string(Self.adminToken), isSecret: true),
            "token.operator.scopes": .init(.stringArray(["read", "write", "admin"]), isSecret: false),
            "hooks.answer_at_once": .init(.bool(false), isSecret: false),
        ]
        for (key, value) in changes { values[AbsoluteConfigKey(ConfigKey(key))] = value }
        return ConfigReader(provider: InMemoryProvider(values: values))
    }

    func gateway(_ changes: [String: ConfigValue?] = [:], at time: Date = Bench.now) async throws -> Gateway {
        var logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        logger.logLevel = .critical
        return try await Gateway(try GatewayConfiguration(settings(changes)), logger: logger, now: { time })
    }

    /// The database of the gateway, for tests that write into it.
    func storage() async throws -> SQLiteJournalStorage {
        try await SQLiteJournalStorage(path: "\(folder.path)/gateway.sqlite")
    }

    /// A month that began an hour ago.
    func transaction(account: String?, number: Int = 1) throws -> AppleSimulator.Transaction {
        let start = Self.now.addingTimeInterval(-3600)
        var transaction = AppleSimulator.Transaction(
            transactionId: "200000000000000\(number)",
            originalTransactionId: "200000000000000\(number)",
            productId: "pro.monthly",
            purchaseDate: start,
            type: "Auto-Renewable Subscription"
        )
        transaction.expiresDate = start.addingTimeInterval(30 * 86_400)
        transaction.appAccountToken = account
        transaction.price = 9990
        transaction.currency = "USD"
        return transaction
    }

    /// The notification of its purchase, by an account.
    func purchase(account: String? = "0f8fad5b-d9cb-469f-a165-70867728950e", number: Int = 1) throws -> Delivery {
        let notification = AppleSimulator.Notification(
            "SUBSCRIBED",
            "INITIAL_BUY",
            notificationUUID: "6a8a2d9c-0c51-4d43-8d43-3a8f9ed1f00\(number)",
            signedDate: Self.now.addingTimeInterval(-3598),
            content: .data(.init(status: 1, transactionInfo: try transaction(account: account, number: number)))
        )
        return try apple.delivery(notification, receivedAt: Self.now)
    }
}

extension RouterClient {
    /// Posts a delivery to a hook, as its provider does.
    @discardableResult
    func deliver(_ delivery: Delivery, to source: String = "apple") async throws -> Answer {
        var headers: HTTPFields = [:]
        for (name, value) in delivery.headers.all { HTTPField.Name(name).map { headers[$0] = value } }
        return try await executeRequest(
            uri: "/hooks/\(source)",
            method: .post,
            headers: headers,
            body: ByteBuffer(bytes: delivery.body)
        )
    }

    /// Asks with a token.
    func get(_ uri: String, _ token: String = Bench.readToken) async throws -> Answer {
        try await executeRequest(uri: uri, method: .get, headers: [.authorization: "Bearer \(token)"], body: nil)
    }
}

extension RouterClient {
    /// Deletes with a token.
    func delete(_ uri: String, token: String = Bench.adminToken) async throws -> Answer {
        try await executeRequest(uri: uri, method: .delete, headers: [.authorization: "Bearer \(token)"], body: nil)
    }
}

extension RouterClient.Answer {
    var text: String { String(buffer: body) }
}

extension RouterClient {
    /// Posts with a token.
    @discardableResult
    func post(_ uri: String, _ body: String = "", token: String = Bench.adminToken) async throws -> Answer {
        try await executeRequest(
            uri: uri,
            method: .post,
            headers: [.authorization: "Bearer \(token)"],
            body: ByteBuffer(string: body)
        )
    }
}
