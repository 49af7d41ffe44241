import Foundation
import HTTPTransport
import LoopbackServer
import Normalizer
import NotificationSimulator
import PubSubEmulator
import Synchronization
import WireJSON

/// Google as a process pulls from it: Pub/Sub without TLS, as an emulator is, and token endpoint and Play API with.
final class PlayedGoogle: Sendable {
    /// The requests to Pub/Sub.
    struct Reported: Sendable, Hashable {
        var verb: String
        var ids: [String]
        var seconds: Int64?
        /// How many lines had been printed by then.
        var lines: Int
    }

    final class Log: Sendable {
        private let entries = Mutex<[Reported]>([])
        var all: [Reported] { entries.withLock { $0 } }
        func add(_ entry: Reported) { entries.withLock { $0.append(entry) } }
    }

    /// Its keys and names. The subscription is the emulator's, so that one configuration reaches either.
    static let simulator = Result { try GoogleSimulator(seed: "pull", subscription: Emulator.subscription) }
    private static let authority = Result { try TestAuthority() }
    private static let identity = Result { try authority.get().issue() }

    let folder: URL
    let pubsub: LoopbackServer
    let play: LoopbackServer
    let log: Log
    /// A pull that finds no message.
    let idle: Milestone

    /// - Parameters:
    ///   - messages: the JSON of messages; each is delivered once.
    ///   - holds: whether a pull without messages is kept waiting, as Pub/Sub does.
    init(_ messages: [String], holds: Bool = false, play: @escaping LoopbackServer.Script) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pull-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let waiting = Pending(messages)
        let (log, idle) = (Log(), Milestone())
        pubsub = try LoopbackServer(nil) { exchange in
            let prefix = "/v1/\(Emulator.subscription):"
            guard exchange.request.target.hasPrefix(prefix), exchange.request.values("Authorization").isEmpty else {
                return exchange.respond(404)
            }
            let verb = String(exchange.request.target.dropFirst(prefix.count))
            guard verb == "pull" else {
                log.add(Self.reported(verb, exchange.request.body, in: folder))
                return exchange.respond(200, body: Array("{}".utf8))
            }
            let batch = waiting.take()
            if batch.isEmpty {
                idle.reach()
                if holds { return exchange.waitForClientToClose() }
                return exchange.respond(200, body: Array("{}".utf8))
            }
            let entries = batch.enumerated().map { #"{"ackId":"\#($0)","message":\#($1)}"# }
            exchange.respond(200, body: Array("{\"receivedMessages\":[\(entries.joined(separator: ","))]}".utf8))
        }
        self.play = try LoopbackServer(LoopbackServer.TLS(Self.identity.get())) { exchange in
            guard exchange.request.target == "/token" else { return play(&exchange) }
            let token = #"{"access_token":"token","expires_in":3599,"token_type":"Bearer"}"#
            exchange.respond(200, body: Array(token.utf8))
        }
        (self.folder, self.log, self.idle) = (folder, log, idle)
        try Data(Self.authority.get().certificate).write(to: folder.appendingPathComponent("roots.pem"))
        try writeKeyFile(Self.simulator.get().serviceAccountKeyFile())
    }

    func writeKeyFile(_ file: SecretBytes) throws {
        try Data(file.bytes).write(to: folder.appendingPathComponent("key.json"))
    }

    private final class Pending: Sendable {
        private let messages: Mutex<[String]>
        init(_ messages: [String]) { self.messages = Mutex(messages) }
        func take() -> [String] {
            messages.withLock { messages in
                defer { messages = [] }
                return messages
            }
        }
    }

    private static func reported(_ verb: String, _ body: [UInt8], in folder: URL) -> Reported {
        let reader = try? ObjectReader(parsing: body)
        let output = try? Data(contentsOf: folder.appendingPathComponent("output"))
        return Reported(
            verb: verb,
            ids: (try? reader?.strings("ackIds").sorted()) ?? [],
            seconds: (try? reader?.optionalInt64("ackDeadlineSeconds")) ?? nil,
            lines: output?.count { $0 == 0x0A } ?? 0
        )
    }

    func path(_ name: String) -> String { folder.appendingPathComponent(name).path }

    func configuration(pubsub port: Int? = nil, _ change: (inout [String: String]) -> Void = { _ in }) throws -> String
    {
        let app = try Self.simulator.get().packageName
        var members = [
            "subscription": "\"\(Emulator.subscription)\"", "packageName": "\"\(app)\"",
            "serviceAccountFile": "\"\(path("key.json"))\"", "trustRootsFile": "\"\(path("roots.pem"))\"",
            "emulator": """
            {"pubsub":"127.0.0.1:\(port ?? pubsub.port)","play":"localhost:\(play.port)","token":"localhost:\(play.port)"}
            """,
        ]
        change(&members)
        let text = "{" + members.map { "\"\($0)\":\($1)" }.joined(separator: ",") + "}"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path("config.json")))
        return path("config.json")
    }

    func pull(
        _ arguments: [String] = ["--once"],
        output: String? = nil,
        behind written: String? = nil,
        config: String? = nil
    ) throws -> PullProcess {
        try PullProcess(
            ["--config", config ?? configuration(), "--quarantine", path("quarantine")] + arguments,
            in: folder,
            output: output,
            behind: written
        )
    }

    func stop() {
        pubsub.stop()
        play.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    /// A subscription's renewal.
    static func notification(of token: String = "t", package: String = "com.example.app") -> String {
        """
        {"version":"1.0","packageName":"\(package)","eventTimeMillis":"1779999910000",\
        "subscriptionNotification":{"version":"1.0","notificationType":2,"purchaseToken":"\(token)"}}
        """
    }

    static func message(_ id: String, _ notification: String = notification()) -> String {
        #"{"messageId":"\#(id)","data":"\#(Data(notification.utf8).base64EncodedString())"}"#
    }

    /// Answers about any purchase that it is an active subscription.
    static let subscribed: LoopbackServer.Script = { exchange in
        guard exchange.request.values("Authorization") == ["Bearer token"] else { return exchange.respond(401) }
        let item = #"{"productId":"p","expiryTime":"2026-12-31T00:00:00Z"}"#
        let purchase = #"{"subscriptionState":"SUBSCRIPTION_STATE_ACTIVE","lineItems":[\#(item)]}"#
        exchange.respond(200, body: Array(purchase.utf8))
    }
}
