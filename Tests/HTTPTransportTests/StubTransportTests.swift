import HTTPTransport
import NormalizerTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct StubTransportTests {
    private func request(
        _ method: HTTPTransportRequest.Method = .get,
        _ host: String = "a.example",
        _ path: [HTTPSURL.PathSegment] = ["x"]
    ) throws -> HTTPTransportRequest {
        try HTTPTransportRequest(method, HTTPSURL(host: host, path: path), maximumResponseBytes: 3)
    }

    private func code(_ transport: StubTransport, _ request: HTTPTransportRequest) async -> HTTPTransportError.Code? {
        do {
            _ = try await transport.send(request)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func nobodyElseIsReached() async throws {
        let transport = StubTransport()
        transport.on(.init(.get, host: "a.example", path: "/x"), respond: HTTPTransportResponse(status: 200))
        #expect(try await code(transport, request()) == nil)
        #expect(try await code(transport, request(.post)) == .connectionFailed)
        #expect(try await code(transport, request(.get, "b.example")) == .connectionFailed)
        #expect(try await code(transport, request(.get, "a.example", ["y"])) == .connectionFailed)
        #expect(transport.requests.count == 4)
    }

    @Test func rulesAreUsedUpInOrder() async throws {
        let transport = StubTransport()
        let pattern = StubTransport.Pattern { $0.url.host == "a.example" }
        transport.on(pattern, times: 1, fail: .tls)
        transport.on(pattern, respond: HTTPTransportResponse(status: 201), HTTPTransportResponse(status: 202))
        #expect(try await code(transport, request()) == .tls)
        #expect(try await transport.send(request()).status == 201)
        #expect(try await transport.send(request()).status == 202)
        #expect(try await transport.send(request()).status == 202)
    }

    @Test func limitsOfTheRequestHold() async throws {
        let transport = StubTransport()
        transport.on(
            .any,
            respond: HTTPTransportResponse(status: 200, body: [1, 2, 3]),
            HTTPTransportResponse(status: 200, body: [1, 2, 3, 4])
        )
        #expect(try await code(transport, request()) == nil)
        #expect(try await code(transport, request()) == .responseTooLarge)
    }

    @Test func silenceEndsWithTheTask() async throws {
        let transport = StubTransport()
        transport.on(hang: .any)
        let task = Task { await code(transport, try request()) }
        while transport.requests.isEmpty { await Task.yield() }
        task.cancel()
        #expect(try await task.value == .canceled)
    }
}
