import Foundation
import GooglePubSub
import HTTPTransport
import Normalizer
import NormalizerTesting
import Synchronization
import Testing
import WireJSON

@Suite(.timeLimit(.minutes(5)))
struct PullWorkerTests {
    let clock = TestClock()
    let subscription = ScriptedSubscription()
    let reports = Reports()

    final class Reports: Sendable {
        let all = Mutex<[PullReport]>([])
        func count(_ isCounted: (PullReport) -> Bool) -> Int { all.withLock { $0.count(where: isCounted) } }
    }

    func worker(
        transport: (any HTTPTransportProtocol)? = nil,
        _ change: (inout PullWorker.Configuration) -> Void = { _ in }
    ) throws -> PullWorker {
        var configuration = PullWorker.Configuration(subscription: Google.subscription)
        configuration.report = { [reports] report in reports.all.withLock { $0.append(report) } }
        change(&configuration)
        return try PullWorker(
            configuration,
            transport: transport ?? subscription.transport,
            tokens: FixedAccessToken(SecretBytes("token")),
            clock: clock,
            now: { Google.receivedAt }
        )
    }

    /// Moves the clock when a task other than the worker's own ticking waits on it.
    func driveClock() -> Task<Void, Never> {
        let clock = clock
        return Task {
            while !Task.isCancelled {
                await clock.waitForSleepers(2)
                clock.advance(by: .milliseconds(100))
                await Task.yield()
            }
        }
    }

    /// Runs the worker until so many messages have been handled, then stops it.
    func run(
        _ worker: PullWorker,
        until count: Int,
        _ handler: @escaping @Sendable (PullWorker.Message) async -> PullWorker.Disposition
    ) async throws -> [String] {
        let handled = Mutex<[String]>([])
        try await worker.run { message in
            let disposition = await handler(message)
            let total = handled.withLock { handled in
                handled.append(message.content.messageID ?? "")
                return handled.count
            }
            if total == count { worker.stop() }
            return disposition
        } quarantine: { _ in
        }
        return handled.withLock { $0 }
    }

    @Test func acknowledgesWhatIsDealtWith() async throws {
        let ids = (0..<1000).map { "m\($0)" }
        subscription.publish(ids)
        let handled = try await run(worker(), until: 1000) { _ in .acknowledge }
        #expect(handled.sorted() == ids.sorted())
        #expect(subscription.state.withLock { $0.acknowledged.sorted() } == ids.sorted())
        #expect(subscription.transport.requests.allSatisfy { $0.headers["Authorization"] == "Bearer token" })
    }

    @Test func givesBackWhatIsWantedAgain() async throws {
        subscription.publish(["a", "b", "c"])
        let failed = Mutex<Set<String>>([])
        let handled = try await run(worker(), until: 6) { message in
            failed.withLock { $0.insert(message.content.messageID ?? "").inserted } ? .redeliver : .acknowledge
        }
        #expect(handled.sorted() == ["a", "a", "b", "b", "c", "c"])
        #expect(subscription.state.withLock { $0.acknowledged.sorted() } == ["a", "b", "c"])
        #expect(subscription.state.withLock { $0.returned.sorted() } == ["a", "b", "c"])
    }

    @Test func acknowledgesOnlyAfterwards() async throws {
        subscription.publish(["a"])
        let subscription = subscription
        _ = try await run(worker(), until: 1) { _ in
            for _ in 0..<100 { await Task.yield() }
            #expect(subscription.state.withLock { $0.acknowledged.isEmpty })
            return .acknowledge
        }
        #expect(subscription.state.withLock { $0.acknowledged } == ["a"])
    }

    @Test func holdsAMessageWhileItIsWorkedOn() async throws {
        subscription.publish(["a"])
        let (clock, subscription) = (clock, subscription)
        _ = try await run(worker(), until: 1) { _ in
            for round in 1...3 {
                await clock.waitForSleepers()
                // A quarter of the subscription's deadline, then nothing for as long as the extension lasts.
                clock.advance(by: .milliseconds(2500))
                while subscription.state.withLock({ $0.extended.count }) < round { await Task.yield() }
                for _ in 0..<18 {
                    await clock.waitForSleepers()
                    clock.advance(by: .milliseconds(2500))
                }
            }
            return .acknowledge
        }
        #expect(subscription.state.withLock { $0.extended.allSatisfy { $0 == "a" } })
        #expect(subscription.state.withLock { $0.acknowledged } == ["a"])
        let request = try #require(
            subscription.transport.requests.first { $0.url.path.hasSuffix(":modifyAckDeadline") }
        )
        #expect(String(decoding: request.body, as: UTF8.self) == #"{"ackIds":["ack-1"],"ackDeadlineSeconds":60}"#)
    }

    @Test func letsGoOfAMessageThatTakesTooLong() async throws {
        subscription.publish(["a"])
        let (clock, subscription) = (clock, subscription)
        _ = try await run(worker { $0.maximumExtension = .seconds(3) }, until: 1) { _ in
            await clock.waitForSleepers()
            clock.advance(by: .milliseconds(2500))
            while subscription.state.withLock({ $0.extended.isEmpty }) { await Task.yield() }
            for _ in 0..<100 {
                await clock.waitForSleepers()
                clock.advance(by: .milliseconds(2500))
            }
            return .acknowledge
        }
        #expect(subscription.state.withLock { $0.extended } == ["a"])
    }

    @Test func handsNothingOverTwice() async throws {
        subscription.publish(["a"])
        let subscription = subscription
        let reports = reports
        let handled = try await run(worker(), until: 2) { message in
            if message.content.messageID == "a" {
                // Comes again while it is worked on, and its first delivery becomes void.
                subscription.expireLeases()
                while reports.count({ $0 == .repeated }) < 1 { await Task.yield() }
                subscription.publish(["b"])
            }
            return .acknowledge
        }
        #expect(handled.sorted() == ["a", "b"])
        #expect(subscription.state.withLock { $0.acknowledged.sorted() } == ["a", "b"])
    }

    @Test func remembersWhatWasDealtWith() async throws {
        let (subscription, reports) = (subscription, reports)
        subscription.publish(["a"])
        let handled = try await run(worker(), until: 2) { message in
            if message.content.messageID == "a" {
                subscription.publish(["b"])
                return .acknowledge
            }
            while subscription.state.withLock({ $0.acknowledged.isEmpty }) { await Task.yield() }
            // Published once, delivered again although it was acknowledged.
            subscription.publish(["a"])
            while reports.count({ $0 == .repeated }) < 1 { await Task.yield() }
            return .acknowledge
        }
        #expect(handled == ["a", "b"])
        #expect(subscription.state.withLock { $0.acknowledged.sorted() } == ["a", "a", "b"])
    }

    @Test(arguments: [1, 3, 7])
    func keepsNoMoreInHandThanAllowed(limit: Int) async throws {
        subscription.publish((0..<50).map { "m\($0)" })
        let inHand = Mutex((now: 0, most: 0))
        let worker = try worker { $0.maximumOutstandingMessages = limit }
        _ = try await run(worker, until: 50) { _ in
            inHand.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            for _ in 0..<20 { await Task.yield() }
            inHand.withLock { $0.now -= 1 }
            return .acknowledge
        }
        #expect(inHand.withLock { $0.most } <= limit)
    }

    @Test func pullsNoMoreBytesThanAllowed() async throws {
        subscription.publish((0..<20).map { "m\($0)" }, data: [UInt8](repeating: 0x61, count: 1000))
        let worker = try worker {
            $0.maximumOutstandingBytes = 2500
            $0.maximumMessagesPerPull = 1
        }
        let inHand = Mutex((now: 0, most: 0))
        _ = try await run(worker, until: 20) { _ in
            inHand.withLock {
                $0.now += 1
                $0.most = max($0.most, $0.now)
            }
            for _ in 0..<20 { await Task.yield() }
            inHand.withLock { $0.now -= 1 }
            return .acknowledge
        }
        #expect(inHand.withLock { $0.most } <= 3)
    }

    /// Pub/Sub refuses a request that is too large, with all that it names.
    @Test func noRequestNamesMoreThanItMay() async throws {
        let ids = (0..<1200).map { "m\($0)" }
        subscription.publish(ids)
        let waiting = Mutex<[CheckedContinuation<Void, Never>]>([])
        let worker = try worker {
            $0.maximumOutstandingMessages = 1200
            $0.maximumMessagesPerPull = 1000
        }
        _ = try await run(worker, until: 1200) { _ in
            await withCheckedContinuation { continuation in
                let all = waiting.withLock { waiting in
                    waiting.append(continuation)
                    return waiting.count == 1200 ? waiting : []
                }
                for one in all { one.resume() }
            }
            return .acknowledge
        }
        let named = try subscription.transport.requests.filter { $0.url.path.hasSuffix(":acknowledge") }
            .map { try ObjectReader(parsing: $0.body).strings("ackIds").count }
        #expect(named.allSatisfy { $0 <= 500 })
        #expect(subscription.state.withLock { $0.acknowledged.sorted() } == ids.sorted())
    }

    @Test func stopInterruptsAPullThatWaits() async throws {
        let worker = try worker()
        let transport = subscription.transport
        async let running: Void = worker.run { _ in
            .acknowledge
        } quarantine: { _ in
        }
        while transport.requests.isEmpty { await Task.yield() }
        worker.stop()
        try await running
        await #expect(throws: PullError.self) {
            try await worker.run { _ in
                .acknowledge
            } quarantine: { _ in
            }
        }
    }

    func worker(tokensFrom endpoint: StubTransport, over transport: StubTransport? = nil) throws -> PullWorker {
        var configuration = PullWorker.Configuration(subscription: Google.subscription)
        configuration.report = { [reports] report in reports.all.withLock { $0.append(report) } }
        return try PullWorker(
            configuration,
            transport: transport ?? subscription.transport,
            tokens: ServiceAccountTokenSource(
                KeyFile.account(),
                scopes: [.pubSub],
                transport: endpoint,
                clock: clock,
                now: { Google.receivedAt }
            ),
            clock: clock,
            now: { Google.receivedAt }
        )
    }

    /// The endpoint for access tokens can keep a worker waiting as well.
    @Test func stopInterruptsAWaitForAnAccessToken() async throws {
        let endpoint = StubTransport()
        endpoint.on(hang: .any)
        let worker = try worker(tokensFrom: endpoint)
        async let running: Void = worker.run { _ in
            .acknowledge
        } quarantine: { _ in
        }
        while endpoint.requests.isEmpty { await Task.yield() }
        worker.stop()
        try await running
        #expect(subscription.transport.requests.isEmpty)
    }

    @Test func endsWithTheTransportOfItsTokens() async throws {
        let endpoint = StubTransport()
        endpoint.on(.any, times: 1, fail: .shutDown)
        endpoint.on(.any, respond: ServiceAccountTokenSourceTests.error(400, "invalid_grant"))
        let worker = try worker(tokensFrom: endpoint)
        let driver = driveClock()
        defer { driver.cancel() }
        let error = await #expect(throws: PullError.self) {
            try await worker.run { _ in
                .acknowledge
            } quarantine: { _ in
            }
        }
        #expect(error?.cause == .shutDown)
        #expect(endpoint.requests.count == 1)
    }

    @Test func stopFinishesWhatIsInHand() async throws {
        subscription.publish(["a", "b", "c"])
        let worker = try worker()
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let started = Mutex(0)
        async let running: Void = worker.run { message in
            started.withLock { $0 += 1 }
            if message.content.messageID == "a" { for await _ in gate {} }
            return .acknowledge
        } quarantine: { _ in
        }
        while started.withLock({ $0 }) < 3 { await Task.yield() }
        worker.stop()
        let pulls = subscription.transport.requests.count { $0.url.path.hasSuffix(":pull") }
        subscription.publish(["d"])
        open.finish()
        try await running
        #expect(subscription.state.withLock { $0.acknowledged.sorted() } == ["a", "b", "c"])
        #expect(started.withLock { $0 } == 3)
        #expect(subscription.transport.requests.count { $0.url.path.hasSuffix(":pull") } <= pulls + 1)
    }

    @Test func cancellationStillTellsWhatHandlersAnswered() async throws {
        subscription.publish(["a", "b"])
        let worker = try worker()
        let started = Mutex(0)
        let running = Task {
            try await worker.run { message in
                started.withLock { $0 += 1 }
                while !Task.isCancelled { await Task.yield() }
                return message.content.messageID == "a" ? .acknowledge : .redeliver
            } quarantine: { _ in
            }
        }
        while started.withLock({ $0 }) < 2 { await Task.yield() }
        running.cancel()
        try await running.value
        #expect(subscription.state.withLock { $0.acknowledged } == ["a"])
        #expect(subscription.state.withLock { $0.returned } == ["b"])
    }

    /// Handlers that wind down still work: their messages are held, and each is answered as soon as it is done.
    @Test func cancellationKeepsWhatIsInHandUntilItIsDealtWith() async throws {
        subscription.publish(["quick", "slow"])
        let worker = try worker()
        let started = Mutex(0)
        let isReleased = Mutex(false)
        let running = Task {
            try await worker.run { message in
                started.withLock { $0 += 1 }
                while !Task.isCancelled { await Task.yield() }
                while message.content.messageID == "slow", !isReleased.withLock({ $0 }) { await Task.yield() }
                return .acknowledge
            } quarantine: { _ in
            }
        }
        while started.withLock({ $0 }) < 2 { await Task.yield() }
        running.cancel()
        let isReported = await becomes { $0.acknowledged == ["quick"] }
        let isHeld = await becomes { $0.extended.contains("slow") }
        isReleased.withLock { $0 = true }
        try await running.value
        #expect(isReported)
        #expect(isHeld)
        #expect(subscription.state.withLock { $0.acknowledged } == ["quick", "slow"])
    }

    /// True if the subscription reaches a state within so much time.
    func becomes(
        within time: Duration = .seconds(10),
        _ isSo: @Sendable (ScriptedSubscription.State) -> Bool
    ) async -> Bool {
        for _ in 0..<1000 {
            if subscription.state.withLock({ isSo($0) }) { return true }
            clock.advance(by: time / 1000)
            try? await Task.sleep(for: .milliseconds(1))
        }
        // Due work may take a busy machine a while longer.
        for _ in 0..<1000 {
            if subscription.state.withLock({ isSo($0) }) { return true }
            try? await Task.sleep(for: .milliseconds(20))
        }
        return false
    }

    static let pull = StubTransport.Pattern(where: { $0.url.path.hasSuffix(":pull") })

    /// Why pulling ends that would go on otherwise.
    private func failure(over transport: StubTransport) async -> PullError? {
        await #expect(throws: PullError.self) {
            try await worker(transport: transport).run { _ in
                .acknowledge
            } quarantine: { _ in
            }
        }
    }

    @Test(arguments: [
        (401, "permissionDenied", PullError.Cause.denied), (403, "forbidden", .denied), (404, "notFound", .notFound),
        (400, "badRequest", .invalid),
    ])
    func endsWhereItCannotGoOn(status: Int, reason: String, cause: PullError.Cause) async throws {
        let transport = StubTransport()
        transport.on(Self.pull, respond: PlayDeveloperAPITests.error(status, reason: reason))
        let error = await failure(over: transport)
        #expect(error?.cause == cause)
        #expect(error?.description.contains("secret") == false)
    }

    @Test func endsWithItsTransport() async throws {
        let transport = StubTransport()
        transport.on(Self.pull, times: 1, fail: .shutDown)
        transport.on(Self.pull, respond: PlayDeveloperAPITests.error(404))
        let driver = driveClock()
        defer { driver.cancel() }
        let error = await failure(over: transport)
        #expect(error?.cause == .shutDown)
        #expect(transport.requests.count { $0.url.path.hasSuffix(":pull") } == 1)
    }

    @Test func waitsOutTrouble() async throws {
        let transport = StubTransport()
        for answer in [
            PlayDeveloperAPITests.error(500), PlayDeveloperAPITests.error(429),
            HTTPTransportResponse(status: 200, body: [0x3C]),
            PlayDeveloperAPITests.error(403, reason: "rateLimitExceeded"),
            HTTPTransportResponse(status: 200, body: Array("{}".utf8)),
        ] { transport.on(Self.pull, times: 1) { (_) throws(HTTPTransportError) in answer } }
        for code in [HTTPTransportError.Code.timeout, .connectionFailed, .tls, .protocolError] {
            transport.on(Self.pull, times: 1, fail: code)
        }
        transport.on(Self.pull, respond: PlayDeveloperAPITests.error(404))
        let driver = driveClock()
        defer { driver.cancel() }
        let error = await failure(over: transport)
        #expect(error?.cause == .notFound)
        #expect(transport.requests.count { $0.url.path.hasSuffix(":pull") } == 10)
        #expect(reports.count { if case .trouble(.pull, _) = $0 { true } else { false } } == 8)
    }

    /// Behind a firewall that drops everything no connection comes about: that is not an empty subscription.
    @Test(arguments: [(Duration.seconds(5), true), (.seconds(90), false)])
    func noAnswerIsTroubleUnlessItWasWaitedForToTheEnd(waited: Duration, isTrouble: Bool) async throws {
        let transport = StubTransport()
        let clock = clock
        transport.on(Self.pull, times: 1) { (_) throws(HTTPTransportError) in
            clock.advance(by: waited)
            throw HTTPTransportError(.timeout, "no answer")
        }
        transport.on(Self.pull, respond: PlayDeveloperAPITests.error(404))
        let driver = driveClock()
        defer { driver.cancel() }
        _ = await failure(over: transport)
        #expect(reports.count { $0 == .trouble(.pull, "timeout") } == (isTrouble ? 1 : 0))
        #expect(reports.count { $0 == .idle } == (isTrouble ? 0 : 1))
    }

    @Test func asksForLessWhereTooMuchCame() async throws {
        let transport = StubTransport()
        transport.on(Self.pull, times: 3, fail: .responseTooLarge)
        transport.on(Self.pull, times: 4) { (_) throws(HTTPTransportError) in
            HTTPTransportResponse(status: 200, body: Array("{}".utf8))
        }
        transport.on(Self.pull, respond: PlayDeveloperAPITests.error(404))
        let driver = driveClock()
        defer { driver.cancel() }
        _ = await failure(over: transport)
        let asked = try transport.requests.filter { $0.url.path.hasSuffix(":pull") }
            .map { try ObjectReader(parsing: $0.body).int64("maxMessages") }
        #expect(asked == [100, 50, 25, 12, 24, 48, 96, 100])
    }

    @Test func waitsForLongerEachTimeUntilItSucceeds() async throws {
        let transport = StubTransport()
        transport.on(Self.pull, times: 5) { (_) throws(HTTPTransportError) in PlayDeveloperAPITests.error(500) }
        transport.on(Self.pull, times: 1) { (_) throws(HTTPTransportError) in
            HTTPTransportResponse(status: 200, body: Array("{}".utf8))
        }
        transport.on(Self.pull, times: 1) { (_) throws(HTTPTransportError) in PlayDeveloperAPITests.error(500) }
        transport.on(Self.pull, respond: PlayDeveloperAPITests.error(404))
        let driver = driveClock()
        defer { driver.cancel() }
        _ = await failure(over: transport)
        // Without the ticks at which messages are held, and the bound of the end.
        let waits = clock.sleeps.filter { $0 != .milliseconds(2500) && $0 != .seconds(5) }
        #expect(waits.count == 6)
        for (wait, longest) in zip(waits, [200, 400, 800, 1600, 3200, 200]) {
            #expect((.milliseconds(longest / 2))...(.milliseconds(longest)) ~= wait)
        }
    }

    @Test func acknowledgementsThatAreRefusedAreGivenUp() async throws {
        let transport = StubTransport()
        let acknowledge = StubTransport.Pattern(where: { $0.url.path.hasSuffix(":acknowledge") })
        transport.on(acknowledge, respond: PlayDeveloperAPITests.error(403, reason: "forbidden"))
        let inner = subscription.transport
        transport.on(.any) { (request) throws(HTTPTransportError) in try await inner.send(request) }
        subscription.publish(["a"])
        _ = try await run(worker(transport: transport), until: 1) { _ in .acknowledge }
        #expect(reports.count { $0 == .acknowledgementsLost(1) } == 1)
        #expect(transport.requests.count { $0.url.path.hasSuffix(":acknowledge") } == 1)
    }

    /// They are not tried again once the worker has ended.
    @Test func acknowledgementsThatAreLeftInTheEndAreReported() async throws {
        let acknowledge = StubTransport.Pattern(where: { $0.url.path.hasSuffix(":acknowledge") })
        let transport = StubTransport()
        transport.on(acknowledge, fail: .tls)
        let inner = subscription.transport
        transport.on(.any) { (request) throws(HTTPTransportError) in try await inner.send(request) }
        subscription.publish(["a", "b"])
        _ = try await run(worker(transport: transport), until: 2) { _ in .acknowledge }
        let lost = reports.all.withLock { all in
            all.reduce(0) { if case .acknowledgementsLost(let count) = $1 { $0 + count } else { $0 } }
        }
        #expect(lost == 2)
    }

    @Test func acknowledgementsAreTriedAgain() async throws {
        let acknowledge = StubTransport.Pattern(where: { $0.url.path.hasSuffix(":acknowledge") })
        let transport = StubTransport()
        transport.on(acknowledge, times: 2, fail: .connectionFailed)
        let inner = subscription.transport
        transport.on(.any) { (request) throws(HTTPTransportError) in try await inner.send(request) }
        subscription.publish(["a"])
        let driver = driveClock()
        defer { driver.cancel() }
        let handled = try await run(
            worker(transport: transport) {
                $0.acknowledgementDeadline = .seconds(600)
            },
            until: 1
        ) { _ in .acknowledge }
        #expect(handled == ["a"])
        #expect(subscription.state.withLock { $0.acknowledged } == ["a"])
    }

    /// Without waiting for another message to be dealt with.
    @Test func acknowledgementsAreTriedAgainWhileOthersAreWorkedOn() async throws {
        let transport = StubTransport()
        let acknowledge = StubTransport.Pattern(where: { $0.url.path.hasSuffix(":acknowledge") })
        transport.on(acknowledge, times: 3, fail: .connectionFailed)
        let inner = subscription.transport
        transport.on(.any) { (request) throws(HTTPTransportError) in try await inner.send(request) }
        subscription.publish(["a", "b"])
        let isReported = Mutex(false)
        _ = try await run(worker(transport: transport) { $0.acknowledgementDeadline = .seconds(20) }, until: 2) {
            message in
            if message.content.messageID == "b" {
                let isSo = await becomes { $0.acknowledged == ["a"] }
                isReported.withLock { $0 = isSo }
            }
            return .acknowledge
        }
        #expect(isReported.withLock { $0 })
        #expect(reports.count { $0 == .trouble(.acknowledge, "connectionFailed") } == 1)
    }

    /// An unreadable message is kept and then acknowledged. Otherwise it would come as long as Pub/Sub keeps it.
    @Test func unreadableMessagesAreHandedOverAndAcknowledged() async throws {
        let transport = StubTransport()
        let good = Google.base64(Array("x".utf8))
        let body = """
            {"receivedMessages":[{"ackId":"1"},{"ackId":"2","message":7},\
            {"ackId":"3","message":{"data":"*","messageId":"n"}},{"message":{"data":"\(good)"}},\
            {"ackId":"4","message":{"data":"\(good)","messageId":"m"}}]}
            """
        transport.on(Self.pull, times: 1) { (_) throws(HTTPTransportError) in
            HTTPTransportResponse(status: 200, body: Array(body.utf8))
        }
        transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array("{}".utf8)))
        let worker = try worker(transport: transport)
        struct Unstored: Error {}
        let kept = Mutex<[String]>([])
        let total = Mutex(0)
        @Sendable func count() {
            if total.withLock({
                $0 += 1; return $0
            }) == 4 {
                worker.stop()
            }
        }
        try await worker.run { message in
            #expect(message.content.messageID == "m")
            count()
            return .acknowledge
        } quarantine: { message in
            #expect(message.error.code == .malformed)
            #expect(message.error.isAuthentic)
            #expect(message.receivedAt == Google.receivedAt)
            #expect(!"\(message)\(String(reflecting: message))".contains("*"))
            defer { count() }
            let text = String(decoding: message.bytes, as: UTF8.self)
            kept.withLock { $0.append(text) }
            if text == "7" { throw Unstored() }
        }
        #expect(kept.withLock { $0.sorted() } == [#"7"#, #"{"ackId":"1"}"#, #"{"data":"*","messageId":"n"}"#])
        #expect(reports.count { $0 == .unreadable } == 3)
        func ids(_ verb: String) throws -> [String] {
            try transport.requests.filter { $0.url.path.hasSuffix(verb) }
                .flatMap { try ObjectReader(parsing: $0.body).strings("ackIds") }.sorted()
        }
        #expect(try ids(":acknowledge") == ["1", "3", "4"])
        #expect(try ids(":modifyAckDeadline") == ["2"])
    }

    /// A message that cannot be handled yet would come again at once if it were given back at once.
    @Test func leavesAMessageAloneForLongerEachTime() async throws {
        subscription.publish(["a"])
        _ = try await run(worker(), until: 9) { _ in .redeliver }
        #expect(subscription.state.withLock { $0.delays } == [10, 20, 40, 80, 160, 320, 600, 600, 600])
    }

    @Test func countsDeliveriesAsPubSubDoes() async throws {
        let transport = StubTransport()
        let body = #"{"receivedMessages":[{"ackId":"1","message":{"messageId":"m"},"deliveryAttempt":4}]}"#
        transport.on(Self.pull, times: 1) { (_) throws(HTTPTransportError) in
            HTTPTransportResponse(status: 200, body: Array(body.utf8))
        }
        transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array("{}".utf8)))
        _ = try await run(worker(transport: transport) { $0.redeliveryDelay = .seconds(3) }, until: 1) { message in
            #expect(message.content.deliveryAttempt == 4)
            return .redeliver
        }
        let reported = transport.requests.filter { $0.url.path.hasSuffix(":modifyAckDeadline") }
        #expect(
            reported.map { String(decoding: $0.body, as: UTF8.self) } == [#"{"ackIds":["1"],"ackDeadlineSeconds":24}"#]
        )
    }

    @Test func countsNoFurtherThanNumbersGo() async throws {
        let transport = StubTransport()
        let body = #"{"receivedMessages":[{"ackId":"1","message":{"messageId":"m"},"deliveryAttempt":\#(Int.max)}]}"#
        transport.on(Self.pull, times: 3) { (_) throws(HTTPTransportError) in
            HTTPTransportResponse(status: 200, body: Array(body.utf8))
        }
        transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array("{}".utf8)))
        let handled = try await run(worker(transport: transport), until: 3) { _ in .redeliver }
        #expect(handled == ["m", "m", "m"])
        let reported = transport.requests.filter { $0.url.path.hasSuffix(":modifyAckDeadline") }
        #expect(
            try reported.allSatisfy { try ObjectReader(parsing: $0.body).int64("ackDeadlineSeconds") == 600 }
        )
    }

    @Test func worksWithAnAdapter() async throws {
        subscription.publish(["good"], data: Array(Google.notification().utf8))
        subscription.publish(["broken"], data: Array("{".utf8))
        // As a string the data are no base64; the message itself cannot be read.
        subscription.publish(["unreadable"], text: "*")
        subscription.publish(["later"], data: Array(Google.notification(token: "later").utf8))
        subscription.publish(["unstored"], data: Array(Google.notification(token: "unstored").utf8))
        let play = StubTransport()
        play.on(.init(where: { $0.url.path.hasSuffix("/later") }), times: 1, fail: .connectionFailed)
        play.on(.any, respond: ResolutionTests.subscription("ACTIVE"))
        let api = try PlayDeveloperAPI(transport: play, tokens: CountingTokens(), retry: .never)
        let adapter = try Google.adapter(api: api)
        let worker = try worker()
        let outcomes = Mutex<[String: [DeliveryError.Code?]]>([:])
        struct Unstored: Error {}
        try await worker.run(adapter) { message, outcome in
            let id = message.content.messageID ?? "unreadable"
            let code: DeliveryError.Code? = if case .failure(let error) = outcome { error.code } else { nil }
            let (isFirst, total) = outcomes.withLock { outcomes in
                outcomes[id, default: []].append(code)
                return (outcomes[id]?.count == 1, outcomes.values.reduce(0) { $0 + $1.count })
            }
            if total == 7 { worker.stop() }
            if id == "unstored", isFirst { throw Unstored() }
        }
        #expect(
            outcomes.withLock { $0 } == [
                "good": [nil], "broken": [.malformed], "later": [.unavailable, nil], "unstored": [nil, nil],
                "unreadable": [.malformed],
            ]
        )
        #expect(
            subscription.state.withLock { $0.acknowledged.sorted() } == [
                "broken", "good", "later", "unreadable", "unstored",
            ]
        )
    }

    @Test(
        arguments: [
            { $0.subscription = "play-events" }, { $0.subscription = "projects/p/subscriptions/.." },
            { $0.subscription = "projects/project-one/subscriptions/a/b" }, { $0.maximumOutstandingMessages = 0 },
            { $0.maximumMessagesPerPull = 1001 }, { $0.leaseExtension = .seconds(9) },
            { $0.leaseExtension = .seconds(601) }, { $0.redeliveryDelay = .zero },
            { $0.maximumRedeliveryDelay = .seconds(601) }, { $0.maximumRedeliveryDelay = .seconds(9) },
            { $0.pullTimeout = .zero }, { $0.stopTimeout = .zero }, { $0.maximumOutstandingBytes = 0 },
            { $0.maximumMessagesPerPull = 0 },
            { $0.maximumResponseBytes = 0 }, { $0.rememberedMessages = -1 }, { $0.acknowledgementDeadline = .zero },
            { $0.acknowledgementDeadline = .seconds(601) }, { $0.maximumExtension = .seconds(-1) },
            { $0.maximumOutstandingMessages = 10_001 },
        ] as [@Sendable (inout PullWorker.Configuration) -> Void]
    )
    func refusesConfigurations(change: @Sendable (inout PullWorker.Configuration) -> Void) {
        #expect(throws: ConfigurationError.self) { try worker(change) }
    }

    @Test func tokensGoToGoogleOnly() throws {
        var configuration = PullWorker.Configuration(subscription: Google.subscription)
        let transport = StubTransport()
        #expect(throws: ConfigurationError.self) {
            try PullWorker(configuration, transport: transport, tokens: nil, now: { Google.receivedAt })
        }
        configuration.endpoint = try .emulator(port: 8085)
        #expect(throws: ConfigurationError.self) {
            try PullWorker(
                configuration,
                transport: transport,
                tokens: FixedAccessToken(SecretBytes("token")),
                now: { Google.receivedAt }
            )
        }
    }
}
