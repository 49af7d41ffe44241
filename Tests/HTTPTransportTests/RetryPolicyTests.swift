import HTTPTransport
import NormalizerTesting
import Testing

/// Gives one number again and again: 1 for the low end of a range, the largest for its high end.
private struct Constant: RandomNumberGenerator {
    var number: UInt64
    mutating func next() -> UInt64 { number }
}

@Suite struct RetryPolicyTests {
    private func request(_ method: HTTPTransportRequest.Method = .get) throws -> HTTPTransportRequest {
        try HTTPTransportRequest(method, HTTPSURL(host: "example.com"))
    }

    private func delay(
        _ policy: RetryPolicy = RetryPolicy(),
        after attempt: Int = 1,
        of method: HTTPTransportRequest.Method = .get,
        _ status: Int = 503,
        headers: HTTPTransportHeaders = [:],
        elapsed: Duration = .zero,
        random: UInt64 = .max
    ) throws -> Duration? {
        var generator = Constant(number: random)
        return policy.delay(
            afterAttempt: attempt,
            of: try request(method),
            outcome: .success(HTTPTransportResponse(status: status, headers: headers)),
            elapsed: elapsed,
            using: &generator
        )
    }

    @Test func jitterIsFullAndItsCeilingDoubles() throws {
        let policy = RetryPolicy(maximumAttempts: 100)
        for (attempt, ceiling) in [(1, 500), (2, 1000), (3, 2000), (4, 4000), (5, 5000), (99, 5000)] {
            #expect(try delay(policy, after: attempt, random: 1) == .zero)
            #expect(try delay(policy, after: attempt, random: .max) == .milliseconds(ceiling))
        }
        var generator = SystemRandomNumberGenerator()
        let delays = try (0..<1000).compactMap { _ in
            policy.delay(
                afterAttempt: 1,
                of: try request(),
                outcome: .failure(HTTPTransportError(.timeout, "")),
                elapsed: .zero,
                using: &generator
            )
        }
        #expect(delays.allSatisfy { (.zero)...(.milliseconds(500)) ~= $0 })
        #expect(Set(delays).count > 100)
    }

    @Test func extremePoliciesDoNotTrap() throws {
        let huge = Duration.seconds(Int64.max)
        let policy = RetryPolicy(
            maximumAttempts: .max,
            baseDelay: huge,
            maximumDelay: huge,
            maximumRetryAfter: huge,
            deadline: nil
        )
        #expect(try delay(policy, after: 1_000_000) != nil)
        let none = RetryPolicy(maximumAttempts: 0, baseDelay: .seconds(-1), maximumDelay: .seconds(-5))
        #expect(try delay(none) == nil)
        let negative = RetryPolicy(baseDelay: .seconds(-1), maximumDelay: .seconds(-5))
        #expect(try delay(negative) == .zero)
    }

    @Test func attemptsAreCounted() throws {
        #expect(try delay(after: 2) != nil)
        #expect(try delay(after: 3) == nil)
        #expect(try delay(.never, after: 1) == nil)
    }

    static let statuses = [200, 204, 301, 400, 401, 403, 404, 408, 409, 410, 429, 500, 501, 502, 503, 504]

    @Test(arguments: statuses)
    func statusDecides(status: Int) throws {
        #expect(try (delay(RetryPolicy(), status) != nil) == [408, 429, 500, 502, 503, 504].contains(status))
        #expect(try (delay(of: .post, status) != nil) == [429, 503].contains(status))
    }

    static let codes: [(HTTPTransportError.Code, Bool, Bool)] = [
        (.connectionFailed, true, true), (.connectionLost, true, false), (.timeout, true, false),
        (.protocolError, true, false), (.tls, false, false), (.responseTooLarge, false, false),
        (.canceled, false, false), (.shutDown, false, false), (.invalidRequest, false, false),
        (.transportFailure, false, false), (.init(rawValue: "mine"), false, false),
    ]

    @Test(arguments: codes)
    func errorDecides(code: HTTPTransportError.Code, idempotent: Bool, other: Bool) throws {
        let outcome = RetryPolicy.Outcome.failure(HTTPTransportError(code, ""))
        #expect(RetryPolicy.standardVerdict(for: try request(.get), outcome) == (idempotent ? .retry : .stop))
        #expect(RetryPolicy.standardVerdict(for: try request(.post), outcome) == (other ? .retry : .stop))
    }

    static let date = "Wed, 21 Oct 2026 07:28:00 GMT"

    static let asked: [(HTTPTransportHeaders, Duration?)] = [
        (["Retry-After": "7"], .seconds(7)),
        (["retry-after": "0"], .zero),
        (["Retry-After": "3", "retry-AFTER": "9", "Retry-After": "x"], .seconds(9)),
        (["Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT", "Date": date], .seconds(30)),
        (["Retry-After": "Wednesday, 21-Oct-26 07:28:30 GMT", "Date": date], .seconds(30)),
        (["Retry-After": "Wed Oct 21 07:28:30 2026", "Date": date], .seconds(30)),
        (["Retry-After": "Thu Oct  1 07:28:30 2026", "Date": date], .zero),
        (["Retry-After": "Fri, 01 Jan 2027 00:00:00 GMT", "Date": "Thu, 31 Dec 2026 23:59:59 GMT"], .seconds(1)),
        (["Retry-After": "Wed, 01 Mar 2028 00:00:00 GMT", "Date": "Mon, 28 Feb 2028 00:00:00 GMT"], .seconds(172_800)),
        (["Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT"], nil),
        (["Retry-After": "Wed, 21 Oct 2026 07:28:30 GMT", "Date": "now"], nil),
        (["Retry-After": ""], nil), (["Retry-After": "-1"], nil), (["Retry-After": "1.5"], nil),
        (["Retry-After": "+1"], nil), (["Retry-After": "１"], nil), (["Retry-After": " 5"], nil), ([:], nil),
        (["Retry-After": "99999999999999999999999999"], .seconds(999_999_999)),
        (["Retry-After": "Wed, 32 Oct 2026 07:28:30 GMT", "Date": date], nil),
        (["Retry-After": "Wed, 21 Okt 2026 07:28:30 GMT", "Date": date], nil),
        (["Retry-After": "Wed, 21 Oct 2026 24:00:00 GMT", "Date": date], nil),
        (["Retry-After": "Wed, 21 Oct 2026 07:28:30 CET", "Date": date], nil),
        (["Retry-After": "Wed, 21 Oct 99999 07:28:30 GMT", "Date": date], nil),
        (["Retry-After": String(repeating: "Wed, ", count: 1000), "Date": date], nil),
    ]

    @Test(arguments: asked.indices)
    func retryAfterIsRead(index: Int) {
        let (headers, expected) = Self.asked[index]
        #expect(HTTPTransportResponse(status: 503, headers: headers).retryAfter == expected)
    }

    @Test func retryAfterIsObeyedUpToTheLimit() throws {
        #expect(try delay(["Retry-After": "60"]) == .seconds(60))
        #expect(try delay(["Retry-After": "61"]) == nil)
        // The server's wish is the least; it does not take the jitter away.
        #expect(try delay(["Retry-After": "0"], random: .max) == .milliseconds(500))
        #expect(try delay(["Retry-After": "1"], random: .max) == .seconds(1))
    }

    private func delay(_ headers: HTTPTransportHeaders, random: UInt64 = 1) throws -> Duration? {
        try delay(RetryPolicy(), 503, headers: headers, random: random)
    }

    @Test func noWaitBehindTheDeadline() throws {
        let policy = RetryPolicy(deadline: .seconds(10))
        #expect(try delay(policy, 503, headers: ["Retry-After": "4"], elapsed: .seconds(5)) == .seconds(4))
        #expect(try delay(policy, 503, headers: ["Retry-After": "5"], elapsed: .seconds(5)) == nil)
        #expect(try delay(policy, elapsed: .seconds(10), random: 1) == nil)
        #expect(try delay(policy, elapsed: .seconds(11), random: 1) == nil)
    }

    @Test func providerHasItsOwnRule() throws {
        var policy = RetryPolicy()
        policy.verdict = { request, outcome in
            guard case .success(let response) = outcome, let word = response.headers["Stripe-Should-Retry"] else {
                return RetryPolicy.standardVerdict(for: request, outcome)
            }
            return word == "true" ? .retry : .stop
        }
        #expect(try delay(policy, 400, headers: ["Stripe-Should-Retry": "true"]) != nil)
        #expect(try delay(policy, 503, headers: ["Stripe-Should-Retry": "false"]) == nil)
        #expect(try delay(policy, 503) != nil)
    }
}

@Suite(.timeLimit(.minutes(5))) struct RetryingSendTests {
    private func request(_ timeout: Duration = .seconds(10)) throws -> HTTPTransportRequest {
        try HTTPTransportRequest(.get, HTTPSURL(host: "example.com"), timeout: timeout)
    }

    @Test func retriesUntilItSucceeds() async throws {
        let transport = StubTransport()
        transport.on(.any, times: 1, fail: .connectionFailed)
        transport.on(
            .any,
            respond: HTTPTransportResponse(status: 429, headers: ["Retry-After": "7"]),
            HTTPTransportResponse(status: 200)
        )
        let clock = TestClock(jumping: true)
        let response = try await transport.send(request(), retrying: RetryPolicy(), clock: clock)
        #expect(response.status == 200)
        #expect(transport.requests.count == 3)
        #expect(clock.sleeps.count == 2)
        #expect(clock.sleeps.last == .seconds(7))
    }

    @Test func lastOutcomeIsGivenBack() async throws {
        let transport = StubTransport()
        transport.on(.any, respond: HTTPTransportResponse(status: 503))
        let clock = TestClock(jumping: true)
        #expect(try await transport.send(request(), retrying: RetryPolicy(), clock: clock).status == 503)
        #expect(transport.requests.count == 3)

        transport.removeRules()
        transport.on(.any, fail: .timeout)
        await #expect(throws: HTTPTransportError.self) {
            try await transport.send(try request(), retrying: RetryPolicy(), clock: clock)
        }
        #expect(transport.requests.count == 6)
    }

    @Test func oneAttemptHasItsOwnTime() async throws {
        let transport = StubTransport()
        transport.on(.any, respond: HTTPTransportResponse(status: 200))
        _ = try await transport.send(request(.seconds(600)), retrying: .never, clock: TestClock())
        #expect(transport.requests.map(\.timeout) == [.seconds(600)])
    }

    @Test func deadlineShortensTheAttempts() async throws {
        let clock = TestClock()
        let transport = StubTransport()
        transport.on(.any) { (request) throws(HTTPTransportError) in
            clock.advance(by: request.timeout)
            throw HTTPTransportError(.timeout, "")
        }
        let policy = RetryPolicy(maximumAttempts: 10, baseDelay: .zero, deadline: .seconds(25))
        await #expect(throws: HTTPTransportError.self) {
            try await transport.send(try request(), retrying: policy, clock: clock)
        }
        #expect(transport.requests.map(\.timeout) == [.seconds(10), .seconds(10), .seconds(5)])
    }

    @Test func nothingIsSentWithoutTimeForIt() async throws {
        let transport = StubTransport()
        let policy = RetryPolicy(deadline: .zero)
        let error = await #expect(throws: HTTPTransportError.self) {
            try await transport.send(try request(), retrying: policy, clock: TestClock())
        }
        #expect(error?.code == .timeout)
        #expect(transport.requests.isEmpty)
    }

    @Test func waitEndsWhenTheTaskIsCanceled() async throws {
        let transport = StubTransport()
        transport.on(.any, respond: HTTPTransportResponse(status: 503, headers: ["Retry-After": "30"]))
        let clock = TestClock()
        let task = Task { try await transport.send(try request(), retrying: RetryPolicy(), clock: clock) }
        await clock.waitForSleepers()
        task.cancel()
        let error = await #expect(throws: HTTPTransportError.self) { try await task.value }
        #expect(error?.code == .canceled)
        #expect(transport.requests.count == 1)
    }

    @Test func clockThatIsMovedWakesTheSleeper() async throws {
        let transport = StubTransport()
        transport.on(
            .any,
            respond: HTTPTransportResponse(status: 503, headers: ["Retry-After": "30"]),
            HTTPTransportResponse(status: 200)
        )
        let clock = TestClock()
        let task = Task { try await transport.send(try request(), retrying: RetryPolicy(), clock: clock) }
        await clock.waitForSleepers()
        clock.advance(by: .seconds(29))
        #expect(transport.requests.count == 1)
        clock.advance(by: .seconds(1))
        #expect(try await task.value.status == 200)
    }
}
