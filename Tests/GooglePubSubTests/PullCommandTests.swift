import Foundation
import HTTPTransport
import LoopbackServer
import Normalizer
import Synchronization
import Testing
import WireJSON

/// `lifecycle pull` as a process of its own.
private final class PullProcess: Sendable {
    let folder: URL
    private let process = Process()

    /// - Parameters:
    ///   - output: where standard output goes, unless to a file in the folder.
    ///   - written: what that file ends with already; it is then appended to, as a shell's `>>` does.
    init(_ arguments: [String], in folder: URL, output: String? = nil, behind written: String? = nil) throws {
        self.folder = folder
        let folders = CommandLine.arguments.map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
        let executable = folders.map { $0.appendingPathComponent("lifecycle") }
            .first { FileManager.default.isExecutableFile(atPath: $0.path) }
        let url: URL = try #require(executable, "it is built with --traits CommandLineTool")
        process.executableURL = url
        process.arguments = ["pull"] + arguments
        try Data().write(to: folder.appendingPathComponent("errors"))
        try Data((written ?? "").utf8).write(to: folder.appendingPathComponent("output"))
        process.standardInput = FileHandle.nullDevice
        let handle = FileHandle(forWritingAtPath: output ?? folder.appendingPathComponent("output").path)
        let destination: FileHandle = try #require(handle)
        if written != nil { _ = fcntl(destination.fileDescriptor, F_SETFL, O_WRONLY | O_APPEND) }
        process.standardOutput = destination
        process.standardError = try FileHandle(forWritingTo: folder.appendingPathComponent("errors"))
        try process.run()
    }

    var isRunning: Bool { process.isRunning }

    func end(_ signal: Int32) { kill(process.processIdentifier, signal) }

    func status() -> Int32 {
        process.waitUntilExit()
        return process.terminationStatus
    }

    var errors: String { (try? text("errors")) ?? "" }

    func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: folder.appendingPathComponent(name)), as: UTF8.self)
    }
}

/// Google as a process pulls from it: Pub/Sub without TLS, as an emulator is, and token endpoint and Play API with.
private final class PlayedGoogle: Sendable {
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
            let prefix = "/v1/\(Google.subscription):"
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
        self.play = try LoopbackServer(LoopbackServer.TLS(LoopbackGoogle.identity.get())) { exchange in
            guard exchange.request.target == "/token" else { return play(&exchange) }
            let token = #"{"access_token":"token","expires_in":3599,"token_type":"Bearer"}"#
            exchange.respond(200, body: Array(token.utf8))
        }
        (self.folder, self.log, self.idle) = (folder, log, idle)
        try Data(LoopbackGoogle.authority.get().certificate).write(to: folder.appendingPathComponent("roots.pem"))
        try Data(KeyFile.text().utf8).write(to: folder.appendingPathComponent("key.json"))
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
        var members = [
            "subscription": "\"\(Google.subscription)\"", "packageName": "\"\(Google.package)\"",
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

    static func message(_ id: String, _ notification: String = Google.notification(type: 2, token: "t")) -> String {
        #"{"messageId":"\#(id)","data":"\#(Google.base64(Array(notification.utf8)))"}"#
    }

    static let subscribed: LoopbackServer.Script = { exchange in
        guard exchange.request.values("Authorization") == ["Bearer token"] else { return exchange.respond(401) }
        exchange.respond(200, body: ResolutionTests.subscription("ACTIVE").body)
    }
}

@Suite("lifecycle pull", .timeLimit(.minutes(5)))
struct PullCommandTests {
    @Test("prints events, keeps what gives none, and acknowledges only then")
    func printsAndAcknowledges() throws {
        let google = try PlayedGoogle(
            [
                PlayedGoogle.message("good"), PlayedGoogle.message("broken", "{\"secret-text\""),
                PlayedGoogle.message("other", Google.notification().replacing(Google.package, with: "com.other")),
                #"{"messageId":"unreadable","data":"*"}"#,
            ],
            play: PlayedGoogle.subscribed
        )
        defer { google.stop() }
        let run = try google.pull()
        #expect(run.status() == 0, "\(run.errors)")

        let lines = try run.text("output").split(separator: "\n")
        let events = try lines.map { try CanonicalJSON.value(NormalizedEvent.self, from: Array($0.utf8)) }
        #expect(events.map(\.kind) == [.renewed])
        #expect(events.first?.origin.channel == .refetch)

        let reported = google.log.all
        // A message about another app is left to its own receiver.
        let acknowledged = reported.filter { $0.verb == "acknowledge" }
        #expect(acknowledged.flatMap(\.ids).sorted() == ["0", "1", "3"])
        #expect(reported.contains { $0.verb == "modifyAckDeadline" && $0.ids == ["2"] })
        #expect(reported.first { $0.ids.contains("0") }?.lines == 1)

        let kept = try run.text("quarantine").split(separator: "\n")
        #expect(kept.count == 2)
        #expect(kept.count { $0.contains(#""code":"malformed""#) } == 2)
        #expect(!kept.contains { $0.contains("misdirected") })
        let attributes = try FileManager.default.attributesOfItem(atPath: google.path("quarantine"))
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let errors = try run.text("errors")
        #expect(errors.contains("broken: malformed: "))
        #expect(errors.contains("other: misdirected: "))
        #expect(!errors.contains("secret-text"))
    }

    @Test("a message that Google cannot answer about comes again later, and is not printed")
    func redelivers() throws {
        let google = try PlayedGoogle([PlayedGoogle.message("a")]) { $0.respond(400 + 4) }
        defer { google.stop() }
        let troubled = try PlayedGoogle([PlayedGoogle.message("b")]) { $0.respond(503, [("Retry-After", "0")]) }
        defer { troubled.stop() }
        // A purchase that Google does not know gives no event, and is kept.
        let unknown = try google.pull()
        #expect(unknown.status() == 0)
        #expect(try unknown.text("quarantine").contains("purchase_gone"))
        #expect(google.log.all.map(\.verb) == ["acknowledge"])

        let run = try troubled.pull()
        #expect(run.status() == 0)
        #expect(try run.text("output").isEmpty)
        #expect(try run.text("quarantine").isEmpty)
        #expect(try run.text("errors").contains("b: unavailable: "))
        #expect(troubled.log.all.map(\.verb) == ["modifyAckDeadline"])
        #expect(troubled.log.all.first?.seconds == 10)
    }

    @Test("a network that drops everything is no empty subscription")
    func dropped() async throws {
        let google = try PlayedGoogle([], play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let hole = try FullListener()
        // One that would end by itself could be faster than this test.
        let run = try google.pull([], config: google.configuration(pubsub: hole.port))
        while run.isRunning, run.errors.isEmpty { try await Task.sleep(for: .milliseconds(50)) }
        #expect(run.errors.contains("pull: connectionFailed"))
        run.end(SIGTERM)
        #expect(run.status() == 0)
    }

    @Test("a network that is dead ends what has an end of its own")
    func dead() throws {
        let google = try PlayedGoogle([], play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let hole = try FullListener()
        let start = ContinuousClock.now
        let run = try google.pull(config: google.configuration(pubsub: hole.port))
        #expect(run.status() == 69)
        withExtendedLifetime(hole) {}
        #expect(start.duration(to: .now) < .seconds(180))
        #expect(run.errors.hasSuffix("Pub/Sub cannot be pulled from: connectionFailed\n"))
    }

    @Test("a signal ends it in an orderly way", arguments: [SIGINT, SIGTERM])
    func signals(signal: Int32) async throws {
        let google = try PlayedGoogle([PlayedGoogle.message("a")], holds: true, play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let run = try google.pull([])
        await google.idle.wait()
        run.end(signal)
        #expect(run.status() == 0, "\(run.errors)")
        #expect(try run.text("output").contains(#""kind":"renewed""#))
        #expect(google.log.all.flatMap(\.ids) == ["0"])
    }

    @Test("stops after so many messages")
    func limit() throws {
        let messages = (0..<5).map { PlayedGoogle.message("m\($0)", Google.notification(type: 2, token: "t\($0)")) }
        let google = try PlayedGoogle(messages, holds: true, play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let run = try google.pull(["--max-messages", "5"])
        #expect(run.status() == 0, "\(run.errors)")
        #expect(try run.text("output").split(separator: "\n").count == 5)
    }

    @Test("acknowledges nothing that it could not write")
    func fullDisk() throws {
        let google = try PlayedGoogle([PlayedGoogle.message("a")], holds: true, play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let run = try google.pull([], output: "/dev/full")
        #expect(run.status() == 74)
        #expect(google.log.all.map(\.verb) == ["modifyAckDeadline"])
    }

    /// A line that was being written when the machine went down was not acknowledged, and comes again.
    @Test("goes on behind a line that was torn off, and not within it", arguments: ["{\"torn", "{}\n", ""])
    func tornLines(written: String) throws {
        let google = try PlayedGoogle(
            [PlayedGoogle.message("good"), PlayedGoogle.message("broken", "{")],
            play: PlayedGoogle.subscribed
        )
        defer { google.stop() }
        try Data(written.utf8).write(to: URL(fileURLWithPath: google.path("quarantine")))
        let run = try google.pull(behind: written)
        #expect(run.status() == 0, "\(run.errors)")
        let isTorn = !written.isEmpty && !written.hasSuffix("\n")
        for (name, key) in [("output", #""kind":"renewed""#), ("quarantine", #""message_id":"broken""#)] {
            let text = try run.text(name)
            let added = written + (isTorn ? "\n" : "")
            #expect(text.hasPrefix(added + "{"))
            let line = text.dropFirst(added.count)
            #expect(line.contains(key))
            #expect(line.hasSuffix("}\n") && line.count { $0 == "\n" } == 1)
        }
        #expect(run.errors.contains("standard output ends within a line") == isTorn)
        #expect(run.errors.contains("quarantine ends within a line") == isTorn)
    }

    /// A part of a line can get onto a disk that is full, and what comes behind it would be within that line.
    @Test("writes and acknowledges nothing more once something could not be written")
    func nothingBehindATornLine() throws {
        let errors = Mutex<URL?>(nil)
        let messages = ["torn", "later"].map { PlayedGoogle.message($0, Google.notification(type: 2, token: $0)) }
        let google = try PlayedGoogle(messages, holds: true) { exchange in
            guard exchange.request.target.hasSuffix("/later") else { return PlayedGoogle.subscribed(&exchange) }
            let file = errors.withLock { $0 }
            while let file, (try? Data(contentsOf: file).isEmpty) == true { usleep(10_000) }
            exchange.respond(404)
        }
        defer { google.stop() }
        errors.withLock { $0 = google.folder.appendingPathComponent("errors") }
        let run = try google.pull([], output: "/dev/full")
        #expect(run.status() == 74)
        #expect(run.errors.contains("torn: its lines could not be written"))
        #expect(try run.text("quarantine").isEmpty)
        #expect(Set(google.log.all.map(\.verb)) == ["modifyAckDeadline"])
        #expect(google.log.all.flatMap(\.ids).sorted() == ["0", "1"])
    }

    @Test("a subscription that does not exist ends it")
    func noSubscription() throws {
        let google = try PlayedGoogle([], play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let config = try google.configuration { $0["subscription"] = #""projects/project-one/subscriptions/other""# }
        let run = try google.pull([], config: config)
        #expect(run.status() == 69)
        #expect(try run.text("errors").contains("not_found: "))
    }

    static let broken: [(String, String?)] = [
        ("subscription", nil), ("subscription", #""play-events""#), ("packageName", nil), ("packageName", #""..""#),
        ("serviceAccountFile", nil), ("serviceAccountFile", #""/nowhere""#), ("orderLookup", #""always""#),
        ("packagename", #""com.example.app""#), ("trustRootsFile", #""""#),
        ("trustRootsFile", #""/nowhere""#), ("trustRootsFile", #""/""#),
        ("emulator", #"{"pubsub":"pubsub.example.com:80"}"#), ("emulator", #"{"play":"10.0.0.1:443"}"#),
        ("emulator", #"{"token":"evil.example:443"}"#), ("emulator", #"{"pubsub":"localhost"}"#),
        ("emulator", #"{"other":"localhost:1"}"#), ("maximumOutstandingMessages", "0"),
    ]

    @Test("an invalid configuration sends no request", arguments: broken)
    func refusesConfigurations(name: String, value: String?) throws {
        let google = try PlayedGoogle([], play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let run = try google.pull(config: google.configuration { $0[name] = value })
        #expect(run.status() == 64)
        #expect(google.play.requestCount + google.pubsub.requestCount == 0)
        let errors = try run.text("errors")
        #expect(!errors.contains("PRIVATE KEY") && !errors.contains("evil.example"))
    }

    @Test("a key file whose token_uri leads elsewhere is refused")
    func tokenURI() throws {
        let google = try PlayedGoogle([], play: PlayedGoogle.subscribed)
        defer { google.stop() }
        try Data(KeyFile.text(["token_uri": "\"https://evil.example/token\""]).utf8)
            .write(to: google.folder.appendingPathComponent("key.json"))
        let run = try google.pull()
        #expect(run.status() == 64)
        #expect(google.play.requestCount == 0)
    }

    @Test(
        "pulls from Google's own emulator",
        .enabled(if: Emulator.isInstalled, "Google's Pub/Sub emulator, or Java for it, is not installed")
    )
    func emulator() async throws {
        let google = try PlayedGoogle([], play: PlayedGoogle.subscribed)
        defer { google.stop() }
        try await Emulator.run { emulator in
            try await emulator.createTopic()
            try await emulator.createSubscription("")
            try await emulator.publish((0..<100).map { "token-\($0)" })
            let run = try google.pull(["--max-messages", "100"], config: google.configuration(pubsub: emulator.port))
            #expect(run.status() == 0, "\(run.errors)")
            let lineages = try run.text("output").split(separator: "\n").map { line in
                try CanonicalJSON.value(NormalizedEvent.self, from: Array(line.utf8)).subscription?.id
            }
            #expect(Set(lineages).count == 100)
            #expect(try run.text("quarantine").isEmpty)
            // All were acknowledged: there is nothing left.
            let again = try google.pull(config: google.configuration(pubsub: emulator.port))
            #expect(again.status() == 0)
            #expect(try again.text("output").isEmpty)
        }
    }
}
