import Synchronization
import AppStoreServer
import AppleJWS
import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import NormalizerTesting
import NotificationSimulator
import Testing

@Suite("Requests to the App Store Server API") struct RequestTests {
    static func refusal(_ status: Int, _ number: Int64?, headers: HTTPTransportHeaders = [:]) -> HTTPTransportResponse {
        let body =
            number.map { Array(#"{"errorCode":\#($0),"errorMessage":"secret of Apple"}"#.utf8) } ?? Array("<html>".utf8)
        return HTTPTransportResponse(status: status, headers: headers, body: body)
    }

    struct Outcome: CustomTestStringConvertible, Sendable {
        let status: Int
        let number: Int64?
        let attempts: Int
        let code: AppStoreServerError.Code
        var testDescription: String { "\(status) \(number ?? 0)" }

        init(_ status: Int, _ number: Int64?, attempts: Int, code: AppStoreServerError.Code) {
            self.status = status
            self.number = number
            self.attempts = attempts
            self.code = code
        }
    }

    @Test(
        "are repeated where that can help, and never otherwise",
        arguments: [
            Outcome(404, 4_040_002, attempts: 4, code: .unavailable),
            Outcome(404, 4_040_004, attempts: 4, code: .unavailable),
            Outcome(404, 4_040_006, attempts: 4, code: .unavailable),
            Outcome(500, 5_000_001, attempts: 4, code: .unavailable),
            Outcome(500, 5_000_000, attempts: 4, code: .unavailable),
            Outcome(503, nil, attempts: 4, code: .unavailable),
            Outcome(404, 4_040_010, attempts: 1, code: .notFound),
            Outcome(404, 4_040_001, attempts: 1, code: .notFound),
            Outcome(404, 4_040_003, attempts: 1, code: .unauthorized),
            // Another server's answers, such as a proxy's: they say nothing about the purchase.
            Outcome(404, nil, attempts: 4, code: .unavailable), Outcome(421, nil, attempts: 4, code: .unavailable),
            Outcome(400, nil, attempts: 4, code: .unavailable), Outcome(302, nil, attempts: 4, code: .unavailable),
            Outcome(400, 4_000_006, attempts: 1, code: .invalidRequest),
            Outcome(400, 4_999_999, attempts: 1, code: .invalidRequest),
            Outcome(403, 4_030_004, attempts: 1, code: .forbidden), Outcome(401, nil, attempts: 1, code: .unauthorized),
            Outcome(429, 4_290_000, attempts: 4, code: .rateLimited),
        ]
    )
    func repetition(outcome: Outcome) async throws {
        let world = try World()
        world.transport.on(.any, respond: Self.refusal(outcome.status, outcome.number))
        let client = try world.client()
        let error = await failure { () throws(AppStoreServerError) in try await client.transaction("1", in: .production)
        }
        #expect(error?.code == outcome.code)
        #expect(error?.number == outcome.number)
        #expect(error?.status == outcome.status)
        #expect(error?.description.contains("secret") == false)
        #expect(world.transport.requests.count == outcome.attempts)
    }

    @Test("that change something are not repeated where Apple may have acted on them")
    func testIsNotRepeated() async throws {
        let world = try World()
        world.transport.on(.any, respond: Self.refusal(502, nil))
        let client = try world.client()
        let error = await failure { () throws(AppStoreServerError) in
            try await client.requestTestNotification(in: .sandbox)
        }
        #expect(error?.code == .unavailable)
        #expect(world.transport.requests.count == 1)
    }

    // Read as seconds, this would be fifty-six thousand years.
    @Test("wait until the absolute time in milliseconds that Apple's Retry-After states")
    func absoluteRetryAfter() async throws {
        let world = try World()
        world.state.withLock { $0.production.purchases = [.init([.month("1")])] }
        let soon = String(Int64(World.start.timeIntervalSince1970 + 20) * 1000)
        world.transport.on(.any, times: 1) { _ throws(HTTPTransportError) in
            Self.refusal(429, 4_290_000, headers: ["Retry-After": soon])
        }
        world.serve()
        let client = try world.client()
        #expect(try await client.transaction("1", in: .production).value.transactionID == "1")
        #expect(world.clock.sleeps.contains { $0 >= .seconds(20) && $0 <= .seconds(22) })
    }

    @Test(
        "are not sent before the time that Apple states, and end at once with that time if it is far",
        arguments: [
            Outcome(429, 4_290_000, attempts: 1, code: .rateLimited),
            Outcome(503, nil, attempts: 1, code: .unavailable),
        ]
    )
    func longRetryAfter(outcome: Outcome) async throws {
        let world = try World()
        world.state.withLock { $0.production.purchases = [.init([.month("1")])] }
        let later = World.start.addingTimeInterval(600)
        let headers: HTTPTransportHeaders = ["Retry-After": String(Int64(later.timeIntervalSince1970) * 1000)]
        world.transport.on(.any, times: 1) { _ throws(HTTPTransportError) in
            Self.refusal(outcome.status, outcome.number, headers: headers)
        }
        world.serve()
        let client = try world.client()
        let error = await failure { () throws(AppStoreServerError) in try await client.transaction("1", in: .production)
        }
        #expect(error?.code == outcome.code)
        #expect(error?.isRetryable == true)
        #expect((error?.retryAt).map { abs($0.timeIntervalSince(later)) <= 1 } == true)
        #expect(world.transport.requests.count == 1)
        // 429 is about every request to the endpoint.
        guard outcome.status == 429 else { return }
        let next = await failure { () throws(AppStoreServerError) in try await client.transaction("1", in: .production)
        }
        #expect(next?.code == .rateLimited)
        #expect((next?.retryAt).map { abs($0.timeIntervalSince(later)) <= 1 } == true)
        #expect(world.transport.requests.count == 1)
        #expect(world.clock.sleeps.isEmpty)
        world.clock.advance(by: .seconds(540))
        #expect(try await client.transaction("1", in: .production).value.transactionID == "1")
        #expect(world.clock.sleeps.last.map { $0 >= .seconds(60) && $0 < .seconds(62) } == true)
    }

    @Test("keep to fifty a second, and leave a fifth of that to those who wait")
    func pacing() async throws {
        let world = try World()
        world.serve()
        world.state.withLock { $0.production.purchases = [.init([.month("1")])] }
        let client = try world.client()
        for _ in 0..<50 { _ = try await client.transaction("1", in: .production) }
        #expect(world.clock.sleeps.isEmpty)
        for _ in 0..<50 { _ = try await client.transaction("1", in: .production) }
        let waited = world.clock.sleeps.reduce(.zero, +)
        #expect(waited >= .milliseconds(990) && waited <= .milliseconds(1100))

        var background = try world.client()
        background.priority = .background
        let before = world.clock.sleeps.count
        for _ in 0..<40 { _ = try await background.transaction("1", in: .production) }
        #expect(world.clock.sleeps.count == before)
        _ = try await background.transaction("1", in: .production)
        #expect(world.clock.sleeps.count == before + 1)
    }

    /// Sandbox allows a tenth of Apple's one a second (https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits).
    @Test("count towards the rate whenever they are repeated")
    func repeatedAttempts() async throws {
        let world = try World()
        world.transport.on(.any, times: 2) { _ throws(HTTPTransportError) in Self.refusal(503, nil) }
        world.transport.on(.any, respond: Self.refusal(404, 4_040_008))
        let client = try world.client()
        for _ in 0..<2 {
            _ = await failure { () throws(AppStoreServerError) in
                try await client.testNotificationStatus("t", in: .sandbox)
            }
        }
        #expect(world.transport.requests.count == 4)
        let waited = world.clock.sleeps.reduce(.zero, +)
        #expect(waited >= .milliseconds(29_900) && waited <= .milliseconds(30_100), "\(waited)")
    }

    @Test("are sent in the order in which they were made, and those of customers first")
    func order() async throws {
        let world = try World()
        world.transport.on(.any, respond: Self.refusal(404, 4_040_008))
        let clock = TestClock()
        let client = try world.client(clock: clock)
        var background = client
        background.priority = .background
        func ask(_ client: AppStoreServerClient, _ token: String) async {
            _ = await failure { () throws(AppStoreServerError) in
                try await client.testNotificationStatus(token, in: .sandbox)
            }
        }
        await ask(client, "first")
        var tasks: [Task<Void, Never>] = []
        for (token, client) in [("past", background), ("a", client), ("b", client), ("gone", client), ("c", client)] {
            tasks.append(Task { await ask(client, token) })
            await clock.waitForSleepers(tasks.count)
        }
        // The place of one that waits no longer is free, so none sleeps for all of its time.
        #expect(clock.sleeps == Array(repeating: .seconds(10), count: 5))
        tasks[3].cancel()
        await tasks[3].value
        for count in 2...5 {
            while world.transport.requests.count < count {
                clock.advance(by: .seconds(1))
                for _ in 0..<100 { await Task.yield() }
            }
        }
        for task in tasks { await task.value }
        let sent = world.transport.requests.compactMap { $0.url.path.split(separator: "/").last }
        #expect(sent == ["first", "a", "b", "c", "past"])
    }

    @Test(
        "refuse what cannot be an identifier before anything is sent",
        arguments: ["", "1/../2", "1?x", "abc", "１", String(repeating: "1", count: 129)]
    )
    func identifiers(id: String) async throws {
        let world = try World()
        let client = try world.client()
        let error = await failure { () throws(AppStoreServerError) in
            try await client.subscriptionStatuses(ofTransaction: id)
        }
        #expect(error?.code == .invalidRequest)
        #expect(world.transport.requests.isEmpty)
    }

    @Test("are canceled while they wait for their turn")
    func cancellation() async throws {
        let world = try World()
        world.transport.on(hang: .any)
        let client = try world.client()
        let task = Task {
            await failure { () throws(AppStoreServerError) in try await client.transaction("1", in: .production) }
        }
        task.cancel()
        #expect(await task.value?.code == .canceled)
    }
}
