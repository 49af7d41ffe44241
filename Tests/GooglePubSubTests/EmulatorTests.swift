import Foundation
import GooglePubSub
import HTTPTransport
import LoopbackServer
import Normalizer
import PubSubEmulator
import Synchronization
import Testing

/// Carries a status from a task to a thread that waits for it.
private final class Status: Sendable {
    private let value = Mutex(0)
    private let isSettled = DispatchSemaphore(value: 0)

    func settle(_ status: Int) {
        value.withLock { $0 = status }
        isSettled.signal()
    }

    func wait() -> Int {
        isSettled.wait()
        return value.withLock { $0 }
    }
}

@Suite(
    .serialized,
    .enabled(if: Emulator.isInstalled, "\(Emulator.absence)"),
    .timeLimit(.minutes(5))
)
struct EmulatorTests {
    /// Every tenth message is given back the first time.
    @Test func pullsAThousandMessages() async throws {
        try await Emulator.run { emulator in
            try await emulator.createTopic()
            try await emulator.createSubscription()
            let tokens = (0..<1000).map { "token-\($0)" }
            for start in stride(from: 0, to: 1000, by: 100) {
                try await emulator.publish(tokens[start..<(start + 100)].map { Google.notification(token: $0) })
            }
            var configuration = PullWorker.Configuration(
                subscription: Emulator.subscription,
                endpoint: try .emulator(host: "127.0.0.1", port: emulator.port)
            )
            let reports = Mutex<[PullReport]>([])
            configuration.report = { report in reports.withLock { $0.append(report) } }
            configuration.redeliveryDelay = .seconds(1)
            let worker = try PullWorker(
                configuration,
                transport: emulator.transport,
                tokens: nil,
                now: { Google.receivedAt }
            )
            let adapter = try Google.adapter()
            let acted = Mutex<[String: Int]>([:])
            let refused = Mutex<Set<String>>([])
            struct NotYet: Error {}
            try await worker.run(adapter) { message, outcome in
                _ = try outcome.get()
                let proven = try adapter.receive(pulled: message.content, receivedAt: message.receivedAt)
                let text = String(decoding: proven.value.message.data, as: UTF8.self)
                let token = try #require(text.firstMatch(of: /"purchaseToken":"([^"]*)"/)).1
                if token.hasSuffix("7"), refused.withLock({ $0.insert(String(token)).inserted }) { throw NotYet() }
                let count = acted.withLock { acted in
                    acted[String(token), default: 0] += 1
                    return acted.count
                }
                if count == 1000 { worker.stop() }
            }
            #expect(acted.withLock { $0.keys.sorted() } == tokens.sorted())
            #expect(acted.withLock { $0.values.allSatisfy { $0 == 1 } })
            #expect(refused.withLock { $0.count } == 100)
            let acknowledged = reports.withLock { reports in
                reports.reduce(0) { if case .acknowledged(let count) = $1 { $0 + count } else { $0 } }
            }
            // A message whose acknowledgement is late comes again, and is acknowledged again without being acted on.
            #expect(acknowledged >= 1000)
            try await nothingIsLeft(configuration, emulator)
        }
    }

    /// Publishes one more message, which is then the only one that comes.
    private func nothingIsLeft(_ configuration: PullWorker.Configuration, _ emulator: Emulator) async throws {
        let worker = try PullWorker(
            configuration,
            transport: emulator.transport,
            tokens: nil,
            now: { Google.receivedAt }
        )
        try await emulator.publish([Google.notification(token: "last")])
        let seen = Mutex<[String]>([])
        try await worker.run { message in
            seen.withLock { $0.append(String(decoding: message.content.data, as: UTF8.self)) }
            worker.stop()
            return .acknowledge
        } quarantine: { _ in
        }
        #expect(seen.withLock { $0 } == [Google.notification(token: "last")])
    }

    /// In a process of its own: where other tests keep all threads busy, an extension comes after the lease, and the message again.
    @Test func longWorkIsNotDeliveredTwice() async {
        await #expect(processExitsWith: .success) {
            try await Emulator.run { emulator in
                try await emulator.createTopic()
                try await emulator.createSubscription()
                try await emulator.publish([Google.notification(token: "long")])
                var configuration = PullWorker.Configuration(
                    subscription: Emulator.subscription,
                    endpoint: try .emulator(host: "127.0.0.1", port: emulator.port)
                )
                let (extensions, continuation) = AsyncStream.makeStream(of: Void.self)
                let pulled = Mutex(0)
                configuration.leaseExtension = .seconds(10)
                configuration.report = { report in
                    if case .extended = report { continuation.yield() }
                    if case .pulled(let count) = report { pulled.withLock { $0 += count } }
                }
                let worker = try PullWorker(
                    configuration,
                    transport: emulator.transport,
                    tokens: nil,
                    now: { Google.receivedAt }
                )
                try await worker.run { _ in
                    // The second extension comes later than the subscription's own deadline.
                    var seen = 0
                    for await _ in extensions {
                        seen += 1
                        if seen == 2 { break }
                    }
                    worker.stop()
                    return .acknowledge
                } quarantine: { _ in
                }
                #expect(pulled.withLock { $0 } == 1)
            }
        }
    }

    /// The emulator signs no tokens, so the endpoint adds what Google would send; the bodies are the emulator's.
    @Test(arguments: [false, true])
    func takesPushes(isUnwrapped: Bool) async throws {
        let adapter = try Google.adapter()
        let token = try Google.token()
        let log = PushLog()
        let (finished, continuation) = AsyncStream.makeStream(of: Void.self)
        let server = try LoopbackServer(nil) { exchange in
            var headers = Delivery.Headers(exchange.request.headers.filter { $0.name.lowercased() != "authorization" })
            headers.add("Authorization", "Bearer \(token)")
            let delivery = Delivery(headers: headers, body: exchange.request.body, receivedAt: Google.receivedAt)
            let status = Status()
            Task { status.settle(await log.take(delivery, adapter)) }
            exchange.respond(status.wait())
            if log.acted.withLock({ $0.count }) == 50 { continuation.yield() }
        }
        defer { server.stop() }
        try await Emulator.run { emulator in
            try await emulator.createTopic()
            let layout = isUnwrapped ? #","noWrapper":{"writeMetadata":true}"# : ""
            try await emulator.createSubscription(
                #","pushConfig":{"pushEndpoint":"http://127.0.0.1:\#(server.port)/push"\#(layout)}"#
            )
            try await emulator.publish((0..<50).map { Google.notification(token: "token-\($0)") })
            for await _ in finished { break }
        }
        #expect(log.failures.withLock { $0 } == [])
        #expect(log.acted.withLock { $0.count } == 50)
        #expect(log.acted.withLock { $0.values.allSatisfy { $0 == 1 } })
    }
}

/// An endpoint's treatment of its pushes.
private final class PushLog: Sendable {
    let acted = Mutex<[String: Int]>([:])
    let failures = Mutex<[String]>([])
    private let seen = Mutex<Set<String>>([])

    /// Refuses each message whose id ends in 3 the first time.
    func take(_ delivery: Delivery, _ adapter: GooglePlayAdapter) async -> Int {
        do throws(DeliveryError) {
            let id = try await adapter.authenticate(delivery).value.message.messageID ?? ""
            let isNew = seen.withLock { $0.insert(id).inserted }
            if isNew, id.hasSuffix("3") { return 503 }
            acted.withLock { $0[id, default: 0] += 1 }
            return 204
        } catch {
            failures.withLock { $0.append("\(error)") }
            return GooglePubSubStatus.of(error)
        }
    }
}
