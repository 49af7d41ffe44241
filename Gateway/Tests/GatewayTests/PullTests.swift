import CurlTransport
import Foundation
@testable import Gateway
import GooglePubSub
import HTTPTransport
import InMemoryLogging
import LifecycleJournal
import Logging
import Normalizer
import NormalizerTesting
import Testing

@Suite("Pull", .timeLimit(.minutes(5))) struct PullTests {
    private static let subscription = "projects/example/subscriptions/play"
    private static let good =
        #"{"version":"1.0","packageName":"com.example.app","eventTimeMillis":"1789999999000","testNotification":{"version":"1.0"}}"#
    private static let bad = "no notification"

    private let log = InMemoryLogHandler()
    private let journal = Journal(MemoryJournal(), now: { Bench.now })
    private let adapter: PulledPlayAdapter

    init() throws {
        let configuration = GooglePlayAdapter.Configuration(
            packageNames: ["com.example.app"],
            subscriptions: [Self.subscription],
            push: nil
        )
        adapter = PulledPlayAdapter(adapter: try GooglePlayAdapter(configuration, keys: nil, api: nil))
    }

    private func service(_ transport: any HTTPTransportProtocol, port: Int, answersAtOnce: Bool) throws -> PullService {
        PullService(
            source: "play",
            adapter: adapter,
            settings: PullSettings(
                configuration: PullWorker.Configuration(
                    subscription: Self.subscription,
                    endpoint: try .emulator(host: "127.0.0.1", port: port)
                ),
                transport: transport
            ),
            intake: Intake(journal: journal, answersAtOnce: answersAtOnce),
            metrics: GatewayMetrics(factory: PrometheusRegistry()),
            logger: Logger(label: "test") { _ in log },
            now: { Bench.now }
        )
    }

    /// A subscription that delivers its messages once, and notes what was acknowledged.
    private func stub() -> StubTransport {
        let transport = StubTransport()
        let entries = [("good", Self.good), ("bad", Self.bad)].map { id, text in
            let data = Data(text.utf8).base64EncodedString()
            return #"{"ackId":"\#(id)","message":{"data":"\#(data)","messageId":"\#(id)"}}"#
        }
        let body = Array("{\"receivedMessages\":[\(entries.joined(separator: ","))]}".utf8)
        let isPull = StubTransport.Pattern(where: { $0.url.path.hasSuffix(":pull") })
        transport.on(isPull, times: 1) { (_) throws(HTTPTransportError) in .init(status: 200, body: body) }
        transport.on(isPull) { (_) throws(HTTPTransportError) in
            try? await Task.sleep(for: .seconds(3600))
            throw HTTPTransportError(.canceled, "stopped")
        }
        transport.on(.any, respond: .init(status: 200, body: Array("{}".utf8)))
        return transport
    }

    @Test("keeps a message before it acknowledges it, and puts aside what cannot be read", arguments: [true, false])
    func keeping(answersAtOnce: Bool) async throws {
        let transport = stub()
        let service = try service(transport, port: 1, answersAtOnce: answersAtOnce)
        let running = Task { try await service.run() }
        func acknowledged() -> String {
            transport.requests.filter { $0.url.path.hasSuffix(":acknowledge") }
                .map { String(decoding: $0.body, as: UTF8.self) }.joined()
        }
        while !["good", "bad"].allSatisfy(acknowledged().contains) { try await Task.sleep(for: .milliseconds(5)) }
        running.cancel()
        try await running.value
        try await check(messageID: "bad")
        #expect(log.entries.compactMap { $0.metadata["code"] } == ["malformed"])
    }

    @Test(
        "takes what Google's emulator has, once",
        .enabled(if: Emulator.isInstalled, "Google's Pub/Sub emulator, or Java for it, is not installed")
    )
    func emulator() async throws {
        let emulator = try Emulator()
        try await emulator.ask(.put, ["topics", "play"], body: "{}")
        try await emulator.ask(.put, ["subscriptions", "play"], body: #"{"topic":"projects/example/topics/play"}"#)
        let data = [Self.good, Self.bad].map { #"{"data":"\#(Data($0.utf8).base64EncodedString())"}"# }
        try await emulator.ask(
            .post,
            ["topics", .init("play", verb: "publish")],
            body: "{\"messages\":[\(data.joined(separator: ","))]}"
        )
        let service = try service(emulator.transport, port: emulator.port, answersAtOnce: true)
        let running = Task { try await service.run() }
        var taken: (Int, Int) = (0, 0)
        while taken != (1, 1) {
            try await Task.sleep(for: .milliseconds(20))
            try await journal.work(with: ["play": adapter])
            taken = (try await journal.events().count, try await journal.quarantine.list().count)
        }
        running.cancel()
        try await running.value
        let left = try await emulator.ask(
            .post,
            ["subscriptions", .init("play", verb: "pull")],
            body: #"{"maxMessages":9,"returnImmediately":true}"#
        )
        #expect(left == "{}")
        try await check(messageID: nil)
        await emulator.transport.shutdown()
    }

    /// - Parameter messageID: the id of the message that cannot be read; nil where the emulator has chosen it.
    private func check(messageID: String?) async throws {
        try await journal.work(with: ["play": adapter])
        #expect(try await journal.events().map(\.event.event.origin.type) == ["testNotification"])
        let quarantined = try await journal.quarantine.list()
        #expect(quarantined.map(\.source) == ["play"])
        guard let messageID else { return }
        // It can be taken in later, and is the same bytes whenever it comes.
        let message = PubSubMessage(
            subscription: Self.subscription,
            messageID: messageID,
            deliveryAttempt: 7,
            data: Array(Self.bad.utf8)
        )
        let body = try PulledPlayAdapter.body(of: message)
        #expect(quarantined.map(\.delivery.body) == [body])
    }
}

/// Google's own Pub/Sub emulator, which ends with its owner.
private final class Emulator {
    private static let java = "/usr/bin/java"
    private static let archive: String? = {
        let folder = "/usr/lib/google-cloud-sdk/platform/pubsub-emulator/lib"
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return files.first { $0.hasSuffix("-all.jar") }.map { "\(folder)/\($0)" }
    }()

    static var isInstalled: Bool { archive != nil && FileManager.default.isExecutableFile(atPath: java) }

    // The emulator cannot choose a free port by itself.
    let port = Int.random(in: 20_000..<30_000)
    let transport: CurlHTTPTransport
    private let process = Process()

    init() throws {
        transport = try CurlHTTPTransport()
        process.executableURL = URL(fileURLWithPath: Self.java)
        process.arguments = ["-jar", try #require(Self.archive), "--host=127.0.0.1", "--port=\(port)"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
    }

    /// Asks until it has started.
    @discardableResult
    func ask(
        _ method: HTTPTransportRequest.Method,
        _ path: [HTTPSURL.PathSegment],
        body: String
    ) async throws -> String {
        let request = try HTTPTransportRequest(
            method,
            .emulator(host: "127.0.0.1", port: port, path: ["v1", "projects", "example"] + path),
            headers: ["Content-Type": "application/json"],
            body: Array(body.utf8),
            timeout: .seconds(60)
        )
        while true {
            do {
                let response = try await transport.send(request)
                try #require(response.isSuccess, "\(response)")
                return String(decoding: response.body, as: UTF8.self).filter { !$0.isWhitespace }
            } catch is HTTPTransportError where process.isRunning {
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
