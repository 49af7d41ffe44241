import GooglePubSub
import HTTPTransport
import Normalizer
import NormalizerTesting
import Testing

@Suite(.timeLimit(.minutes(5)))
struct RemoteKeySourceTests {
    let clock = TestClock()
    let transport = StubTransport()
    let source: RemoteKeySource

    init() throws {
        source = try RemoteKeySource(transport: transport, clock: clock)
    }

    static func answer(
        _ ids: [String],
        _ headers: HTTPTransportHeaders = ["Cache-Control": "public, max-age=3600, must-revalidate"]
    ) throws -> HTTPTransportResponse {
        let keys = try Google.keys.get()
        return HTTPTransportResponse(
            status: 200,
            headers: headers,
            body: try Google.keySet(ids.map { ($0, $0 == "next" ? keys.next : keys.current) })
        )
    }

    func code(_ id: String) async -> DeliveryError.Code? {
        do throws(DeliveryError) {
            _ = try await source.key(id)
            return nil
        } catch {
            #expect(!error.description.contains("evil"))
            return error.code
        }
    }

    /// Lets a fetch begin without waiting for it.
    func yield() async { for _ in 0..<100 { await Task.yield() } }

    @Test func fetchesFromGoogleAndKeeps() async throws {
        let first = try Self.answer(["current"])
        transport.on(.any, times: 1) { (_) throws(HTTPTransportError) in first }
        transport.on(.any, respond: try Self.answer(["current", "next"]))
        #expect(transport.requests.isEmpty)
        #expect(await code("current") == nil)
        clock.advance(by: .seconds(3239))
        #expect(await code("current") == nil)
        await yield()
        #expect(transport.requests.map(\.url.absoluteString) == ["https://www.googleapis.com/oauth2/v3/certs"])
        // A push waits for it, for no more than ten seconds.
        #expect(transport.requests.first?.timeout == .seconds(5))
        #expect(transport.requests.first?.maximumResponseBytes == JSONWebKeySet.maximumBytes)
        clock.advance(by: .seconds(1))
        #expect(await code("current") == nil)
        // A request for a key that is not there yet waits for the renewal.
        #expect(await code("next") == nil)
        #expect(transport.requests.count == 2)
        clock.advance(by: .seconds(3600))
        #expect(await code("current") == nil)
        #expect(transport.requests.count == 3)
    }

    /// A set that is valid serves, however long another one takes.
    @Test func nobodyWaitsForARenewalWhileTheSetIsValid() async throws {
        let answer = try Self.answer(["current"])
        transport.on(.any, times: 1) { (_) throws(HTTPTransportError) in answer }
        transport.on(hang: .any)
        #expect(await code("current") == nil)
        clock.advance(by: .seconds(3240))
        for _ in 0..<10 { #expect(await code("current") == nil) }
        while transport.requests.count < 2 { await Task.yield() }
        clock.advance(by: .milliseconds(359_999))
        #expect(await code("current") == nil)
        #expect(transport.requests.count == 2)
    }

    @Test func renewalThatFailedIsNotRepeatedAtOnce() async throws {
        let answer = try Self.answer(["current"])
        transport.on(.any, times: 1) { (_) throws(HTTPTransportError) in answer }
        transport.on(.any, fail: .timeout)
        #expect(await code("current") == nil)
        clock.advance(by: .seconds(3240))
        for _ in 0..<20 {
            #expect(await code("current") == nil)
            await yield()
        }
        #expect(transport.requests.count == 2)
        clock.advance(by: .seconds(5))
        #expect(await code("current") == nil)
        while transport.requests.count < 3 { await Task.yield() }
    }

    /// A key that Google has withdrawn is taken for no longer than Google said, unless there is trouble.
    @Test func setWhoseTimeIsOverWaitsForTheNext() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let (first, second) = (try Self.answer(["current"]), try Self.answer(["next"]))
        transport.on(.any, times: 1) { (_) throws(HTTPTransportError) in first }
        transport.on(.any) { (_) throws(HTTPTransportError) in
            for await _ in gate {}
            return second
        }
        #expect(await code("current") == nil)
        clock.advance(by: .seconds(3600))
        let one = Task { await code("current") }
        while transport.requests.count < 2 { await Task.yield() }
        let other = Task { await code("current") }
        await yield()
        open.finish()
        #expect(await one.value == .untrusted)
        #expect(await other.value == .untrusted)
        #expect(transport.requests.count == 2)
    }

    /// The request that asks again waits; others do not meanwhile, as long as known keys are used at all.
    @Test func anOutageIsWaitedForByOneAtATime() async throws {
        let answer = try Self.answer(["current"])
        transport.on(.any, times: 1) { (_) throws(HTTPTransportError) in answer }
        transport.on(.any, times: 1, fail: .timeout)
        transport.on(hang: .any)
        #expect(await code("current") == nil)
        clock.advance(by: .seconds(3600))
        #expect(await code("current") == nil)
        clock.advance(by: .seconds(5))
        let first = Task { await code("current") }
        while transport.requests.count < 3 { await Task.yield() }
        for _ in 0..<10 { #expect(await code("current") == nil) }
        first.cancel()
        #expect(await first.value == .unavailable)
    }

    @Test func whoIsCanceledLeavesAtOnce() async throws {
        transport.on(hang: .any)
        let task = Task { await code("current") }
        while transport.requests.isEmpty { await Task.yield() }
        task.cancel()
        #expect(await task.value == .unavailable)
    }

    @Test(
        arguments: [
            (["Cache-Control": "max-age=7200"], 7200), (["Cache-Control": "max-age=7200", "Age": "3000"], 4200),
            (["Cache-Control": "max-age=1"], 300), (["Cache-Control": "max-age=0, no-store"], 300),
            (["Cache-Control": "max-age=7200", "Age": "99999999999999999999"], 300),
            (["Cache-Control": "max-age=999999999999999999999"], 86_400), ([:], 3600),
            (["Cache-Control": "no-cache"], 3600), (["Cache-Control": "max-age=-5"], 3600),
            (["Cache-Control": "max-age=x"], 3600), (["Cache-Control": "Public, MAX-AGE=\"1200\""], 1200),
            (["Cache-Control": "max-age=9000", "cache-control": "max-age=1000"], 1000),
            (["Cache-Control": "s-maxage=9000,max-age = 700"], 700), (["Age": "10"], 3600),
            (["Cache-Control": "s-maxage=700, max-age=9000, stale-if-error=60"], 9000),
        ] as [(HTTPTransportHeaders, Int)]
    )
    func lifetime(headers: HTTPTransportHeaders, seconds: Int) async throws {
        transport.on(.any, respond: try Self.answer(["current"], headers))
        #expect(await code("current") == nil)
        // Another set is asked for when a tenth of the time is left.
        clock.advance(by: .seconds(seconds) / 10 * 9 - .milliseconds(1))
        #expect(await code("current") == nil)
        await yield()
        #expect(transport.requests.count == 1)
        clock.advance(by: .seconds(seconds) / 10 + .milliseconds(1))
        #expect(await code("current") == nil)
        #expect(transport.requests.count == 2)
    }

    @Test func oneFetchServesAll() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let answer = try Self.answer(["current"])
        transport.on(.any) { (_) throws(HTTPTransportError) in
            for await _ in gate {}
            return answer
        }
        await withTaskGroup(of: DeliveryError.Code?.self) { group in
            for _ in 0..<50 { group.addTask { await code("current") } }
            for _ in 0..<50 { group.addTask { await code("evil") } }
            while transport.requests.isEmpty { await Task.yield() }
            open.finish()
            var refused = 0
            for await code in group where code != nil {
                #expect(code == .untrusted)
                refused += 1
            }
            #expect(refused == 50)
        }
        #expect(transport.requests.count == 1)
    }

    @Test func canceledWaiterLeavesTheFetchToTheOthers() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self)
        let answer = try Self.answer(["current"])
        transport.on(.any) { (_) throws(HTTPTransportError) in
            for await _ in gate {}
            return answer
        }
        let first = Task { await code("current") }
        while transport.requests.isEmpty { await Task.yield() }
        let second = Task { await code("current") }
        first.cancel()
        open.finish()
        #expect(await second.value == nil)
        #expect(transport.requests.count == 1)
    }

    /// The caller of the endpoint chooses the id.
    @Test func unknownIDsCauseOneFetchAMinute() async throws {
        transport.on(.any, respond: try Self.answer(["current"]))
        #expect(await code("current") == nil)
        clock.advance(by: .seconds(60))
        for number in 0..<100 { #expect(await code("evil-\(number)") == .untrusted) }
        #expect(transport.requests.count == 2)
        clock.advance(by: .seconds(59))
        #expect(await code("evil") == .untrusted)
        #expect(transport.requests.count == 2)
        clock.advance(by: .seconds(1))
        #expect(await code("evil") == .untrusted)
        #expect(transport.requests.count == 3)
        #expect(await code("current") == nil)
    }

    @Test func rotation() async throws {
        transport.on(
            .any,
            respond: try Self.answer(["current"]),
            try Self.answer(["current", "next"]),
            try Self.answer(["next"])
        )
        #expect(await code("current") == nil)
        clock.advance(by: .seconds(61))
        #expect(await code("next") == nil)
        #expect(await code("current") == nil)
        clock.advance(by: .seconds(3600))
        #expect(await code("current") == .untrusted)
        #expect(await code("next") == nil)
        #expect(transport.requests.count == 3)
    }

    @Test func outageIsTolerated() async throws {
        transport.on(.any, times: 1) { (_) throws(HTTPTransportError) in
            do { return try Self.answer(["current"]) } catch { throw HTTPTransportError(.protocolError, "no keys") }
        }
        transport.on(.any, fail: .connectionFailed)
        #expect(await code("current") == nil)
        clock.advance(by: .seconds(7199))
        #expect(await code("current") == nil)
        // Not refused for good: Google may have such a key by now.
        #expect(await code("next") == .unavailable)
        // Nor is what is known less good while a failure is too new to ask again.
        let requests = transport.requests.count
        #expect(await code("current") == nil)
        #expect(transport.requests.count == requests)
        clock.advance(by: .seconds(1))
        #expect(await code("current") == .unavailable)
        transport.removeRules()
        transport.on(.any, respond: try Self.answer(["next"]))
        clock.advance(by: .seconds(5))
        #expect(await code("next") == nil)
        #expect(await code("current") == .untrusted)
    }

    @Test func unknownIDDuringAnOutageIsUnavailable() async throws {
        transport.on(.any, times: 1) { (_) throws(HTTPTransportError) in
            do { return try Self.answer(["current"]) } catch { throw HTTPTransportError(.protocolError, "no keys") }
        }
        transport.on(.any, fail: .timeout)
        #expect(await code("current") == nil)
        clock.advance(by: .seconds(61))
        #expect(await code("next") == .unavailable)
        clock.advance(by: .seconds(30))
        #expect(await code("next") == .unavailable)
        #expect(await code("current") == nil)
    }

    @Test func outageIsNotHammered() async throws {
        transport.on(.any, fail: .connectionFailed)
        for _ in 0..<100 { #expect(await code("current") == .unavailable) }
        #expect(transport.requests.count == 1)
        clock.advance(by: .seconds(5))
        #expect(await code("current") == .unavailable)
        #expect(transport.requests.count == 2)
    }

    static let strange: [HTTPTransportResponse] = [
        HTTPTransportResponse(status: 500), HTTPTransportResponse(status: 404), HTTPTransportResponse(status: 204),
        HTTPTransportResponse(status: 301, headers: ["Location": "https://evil.example/"]),
        HTTPTransportResponse(status: 200), HTTPTransportResponse(status: 200, body: Array("<html>evil".utf8)),
        HTTPTransportResponse(status: 200, body: Array(#"{"keys":[]}"#.utf8)),
        HTTPTransportResponse(status: 200, body: [UInt8](repeating: 0x20, count: 65_537)),
    ]

    @Test(arguments: strange)
    func strangeAnswersFailClosed(answer: HTTPTransportResponse) async throws {
        transport.on(.any, respond: answer)
        #expect(await code("current") == .unavailable)
        #expect(transport.requests.allSatisfy { $0.url.host == "www.googleapis.com" })
    }

    @Test(arguments: [203, 206, 404, 503])
    func onlySuccessIsAKeySet(status: Int) async throws {
        var answer = try Self.answer(["current"])
        answer.status = status
        transport.on(.any, respond: answer)
        #expect(await code("current") == .unavailable)
    }

    @Test(
        arguments: [
            { $0.lifetime = .zero ... .seconds(60) }, { $0.outageTolerance = .seconds(-1) }, { $0.timeout = .zero },
            { $0.unknownKeyInterval = .zero }, { $0.failureInterval = .seconds(-1) }, { $0.defaultLifetime = .zero },
        ] as [@Sendable (inout RemoteKeySource.Policy) -> Void]
    )
    func refusesPoliciesThatMakeNoSense(change: @Sendable (inout RemoteKeySource.Policy) -> Void) {
        var policy = RemoteKeySource.Policy()
        change(&policy)
        #expect(throws: ConfigurationError.self) { try RemoteKeySource(transport: transport, policy: policy) }
    }

    @Test(arguments: strange)
    func strangeAnswersDoNotReplaceKeys(answer: HTTPTransportResponse) async throws {
        transport.on(.any, respond: try Self.answer(["current"]), answer)
        #expect(await code("current") == nil)
        clock.advance(by: .seconds(3600))
        #expect(await code("current") == nil)
        #expect(transport.requests.count == 2)
    }

    @Test func outageAnswersPushesWithUnavailable() async throws {
        transport.on(.any, fail: .timeout)
        let adapter = try GooglePlayAdapter(Google.configuration(), keys: source, api: nil)
        let error = try #require(await adapter.refusal(try Google.delivery()))
        #expect(error.code == .unavailable)
        #expect(GooglePubSubStatus.of(error) == 503)
    }

    /// An impossible token is refused without a request.
    @Test func refusesBeforeFetching() async throws {
        let adapter = try GooglePlayAdapter(Google.configuration(), keys: source, api: nil)
        let unsigned = try Google.token(header: #"{"alg":"none","kid":"current"}"#)
        #expect(await adapter.refusal(try Google.delivery(token: unsigned))?.code == .unauthenticated)
        #expect(transport.requests.isEmpty)
    }
}
