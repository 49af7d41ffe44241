import Foundation
import GooglePubSub
import HTTPTransport
import Normalizer
import NormalizerTesting
import Synchronization
import Testing
import WireJSON

/// The fate of ids in a request that Pub/Sub refuses.
extension PullWorkerTests {
    private static func ids(_ request: HTTPTransportRequest) -> [String] {
        (try? ObjectReader(parsing: request.body).strings("ackIds")) ?? []
    }

    private static func refusal(_ verdicts: [(id: String, verdict: String)]) -> HTTPTransportResponse {
        let metadata = verdicts.map { "\"\($0.id)\":\"\($0.verdict)\"" }.joined(separator: ",")
        let details =
            verdicts.isEmpty
            ? ""
            : #"""
            ,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"EXACTLY_ONCE_ACKID_FAILURE",\#
            "domain":"pubsub.googleapis.com","metadata":{\#(metadata)}}]
            """#
        let body = #"{"error":{"code":400,"message":"secret","status":"INVALID_ARGUMENT"\#(details)}}"#
        return HTTPTransportResponse(status: 400, body: Array(body.utf8))
    }

    /// - Parameter verdict: what is said of an id; nil for one that is taken.
    private func transport(
        _ verb: String,
        naming isNaming: Bool,
        _ verdict: @escaping @Sendable (String) -> String?
    ) -> StubTransport {
        let (transport, inner) = (StubTransport(), subscription.transport)
        transport.on(.init(where: { $0.url.path.hasSuffix(verb) })) { (request) throws(HTTPTransportError) in
            let ids = Self.ids(request)
            let verdicts = ids.compactMap { id in verdict(id).map { (id: id, verdict: $0) } }
            guard !verdicts.isEmpty else { return try await inner.send(request) }
            if isNaming {
                let taken = ids.filter { id in !verdicts.contains { $0.id == id } }.map { "\"\($0)\"" }
                let body = #"{"ackIds":[\#(taken.joined(separator: ","))],"ackDeadlineSeconds":60}"#
                _ = try await inner.send(HTTPTransportRequest(.post, request.url, body: Array(body.utf8)))
            }
            return Self.refusal(isNaming ? verdicts : [])
        }
        transport.on(.any) { (request) throws(HTTPTransportError) in try await inner.send(request) }
        return transport
    }

    private func lost() -> Int {
        reports.all.withLock { all in
            all.reduce(0) { if case .acknowledgementsLost(let count) = $1 { $0 + count } else { $0 } }
        }
    }

    private func acknowledged() -> Int {
        reports.all.withLock { all in
            all.reduce(0) { if case .acknowledged(let count) = $1 { $0 + count } else { $0 } }
        }
    }

    /// Works on so many messages at once, so that one request acknowledges them.
    private func runTogether(_ worker: PullWorker, _ count: Int) async throws {
        let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])
        _ = try await run(worker, until: count) { _ in
            await withCheckedContinuation { continuation in
                let all = waiting.withLock { waiting in
                    waiting.append(continuation)
                    return waiting.count == count ? waiting : []
                }
                for one in all { one.resume() }
            }
            return .acknowledge
        }
    }

    private static func take(_ flag: inout Bool) -> Bool {
        defer { flag = false }
        return flag
    }

    private func publish(_ count: Int) { subscription.publish((1...count).map { "m\($0)" }) }

    @Test func onlyTheAcknowledgementsThatAreNamedAreLost() async throws {
        let isFirst = Mutex(true)
        publish(5)
        let transport = transport(":acknowledge", naming: true) { id in
            switch id {
            case "ack-2": "PERMANENT_FAILURE_INVALID_ACK_ID"
            case "ack-3" where isFirst.withLock { Self.take(&$0) }: "TRANSIENT_FAILURE_UNORDERED_ACK_ID"
            default: nil
            }
        }
        let driver = driveClock()
        defer { driver.cancel() }
        try await runTogether(worker(transport: transport) { $0.acknowledgementDeadline = .seconds(600) }, 5)
        #expect(subscription.state.withLock { $0.acknowledged.sorted() } == ["m1", "m3", "m4", "m5"])
        #expect(lost() == 1)
        #expect(acknowledged() == 4)
    }

    /// As for an id that is malformed, where nothing says which one is.
    @Test func acknowledgementsBesideOneThatIsRefusedAreTaken() async throws {
        publish(100)
        let transport = transport(":acknowledge", naming: false) { $0 == "ack-41" ? "" : nil }
        let worker = try worker(transport: transport) { $0.maximumOutstandingMessages = 100 }
        try await runTogether(worker, 100)
        #expect(subscription.state.withLock { $0.acknowledged.count } == 99)
        #expect(lost() == 1)
        #expect(acknowledged() == 99)
    }

    @Test func refusalsCostABoundedNumberOfRequests() async throws {
        publish(500)
        let transport = transport(":acknowledge", naming: false) { _ in "" }
        let worker = try worker(transport: transport) {
            $0.maximumOutstandingMessages = 500
            $0.maximumMessagesPerPull = 500
        }
        try await runTogether(worker, 500)
        #expect(lost() == 500)
        // However the messages were dealt with, a request of one id is not divided any more.
        let named = transport.requests.filter { $0.url.path.hasSuffix(":acknowledge") }.map { Self.ids($0).count }
        #expect(named.count < 200)
    }

    /// Five hundred ids of the length that they have are more than an answer takes otherwise.
    @Test func refusalThatNamesManyIsRead() async throws {
        let transport = StubTransport()
        let ids = (0..<500).map { String(repeating: "x", count: 220) + "\($0)" }
        let entries = ids.map { #"{"ackId":"\#($0)","message":{"messageId":"\#($0)"}}"# }
        let body = Array("{\"receivedMessages\":[\(entries.joined(separator: ","))]}".utf8)
        transport.on(Self.pull, times: 1) { (_) throws(HTTPTransportError) in
            HTTPTransportResponse(status: 200, body: body)
        }
        transport.on(.init(where: { $0.url.path.hasSuffix(":acknowledge") })) { (request) throws(HTTPTransportError) in
            Self.refusal(Self.ids(request).map { ($0, "PERMANENT_FAILURE_INVALID_ACK_ID") })
        }
        transport.on(hang: Self.pull)
        let worker = try worker(transport: transport) {
            $0.maximumOutstandingMessages = 500
            $0.maximumMessagesPerPull = 500
        }
        try await runTogether(worker, 500)
        #expect(lost() == 500)
        #expect(reports.count { $0 == .trouble(.acknowledge, "responseTooLarge") } == 0)
    }

    /// One whose deadline has passed must not have the others lose theirs.
    @Test(arguments: [true, false])
    func messagesBesideOneThatIsVoidAreHeld(isNaming: Bool) async throws {
        let refused = Mutex(0)
        let transport = transport(":modifyAckDeadline", naming: isNaming) { id in
            guard id == "ack-1" else { return nil }
            refused.withLock { $0 += 1 }
            return "PERMANENT_FAILURE_INVALID_ACK_ID"
        }
        subscription.publish(["void", "held", "too"])
        let isHeld = Mutex<Bool?>(nil)
        _ = try await run(worker(transport: transport), until: 3) { message in
            guard message.content.messageID == "held" else {
                while isHeld.withLock({ $0 == nil }) { try? await Task.sleep(for: .milliseconds(1)) }
                return .acknowledge
            }
            let isFirst = await becomes { $0.extended.contains("held") && $0.extended.contains("too") }
            // It is not asked about again, also once the others' deadlines come near.
            let asked = refused.withLock { $0 }
            let isSecond = await becomes(within: .seconds(100)) { $0.extended.count >= 4 }
            isHeld.withLock { $0 = isFirst && isSecond && refused.withLock { $0 } == asked }
            return .acknowledge
        }
        #expect(isHeld.withLock { $0 } == true)
    }

    /// A supervisor waits a few seconds before it kills a process. Acknowledgements are sent if they still can be by
    /// then.
    @Test(arguments: [(Duration.seconds(3), true), (.seconds(15), false)])
    func stopWaitsForATokenOnlySoLong(delay: Duration, isReported: Bool) async throws {
        subscription.publish(["a"])
        let (endpoint, transport, inner) = (StubTransport(), StubTransport(), subscription.transport)
        let token = HTTPTransportResponse(
            status: 200,
            body: Array(#"{"access_token":"token","expires_in":3599,"token_type":"Bearer"}"#.utf8)
        )
        let isAsked = Mutex(false)
        let isGiven = Mutex(false)
        endpoint.on(.any, times: 1) { (_) throws(HTTPTransportError) in token }
        endpoint.on(.any) { [clock] (_) throws(HTTPTransportError) in
            isAsked.withLock { $0 = true }
            do {
                try await clock.sleep(for: delay)
                isGiven.withLock { $0 = true }
            } catch {
                // Canceled: the token is not needed any more.
            }
            return token
        }
        transport.on(.init(where: { $0.url.path.hasSuffix(":acknowledge") }), times: 1) {
            (_) throws(HTTPTransportError) in PlayDeveloperAPITests.error(401, reason: "authError")
        }
        transport.on(.any) { (request) throws(HTTPTransportError) in try await inner.send(request) }
        let worker = try worker(tokensFrom: endpoint, over: transport)
        let isOver = Mutex(false)
        let running = Task {
            defer { isOver.withLock { $0 = true } }
            _ = try await run(worker, until: 1) { _ in .acknowledge }
        }
        while !isAsked.withLock({ $0 }) { await Task.yield() }
        let start = clock.now
        // The clock stands still while a token that came is used, however long a busy machine takes over it.
        while !isOver.withLock({ $0 }) {
            if !isGiven.withLock({ $0 }) { clock.advance(by: .milliseconds(100)) }
            try await Task.sleep(for: .milliseconds(start.duration(to: clock.now) < .seconds(6) ? 2 : 50))
        }
        #expect(start.duration(to: clock.now) < .seconds(15))
        try await running.value
        #expect(subscription.state.withLock { $0.acknowledged } == (isReported ? ["a"] : []))
        #expect(lost() == (isReported ? 0 : 1))
    }
}
