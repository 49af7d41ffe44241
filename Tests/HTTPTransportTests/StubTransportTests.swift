import HTTPTransport
import NormalizerTesting
import Testing

@Suite(.timeLimit(.minutes(5))) struct StubTransportTests {
    private func request(
        _ method: HTTPTransportRequest.Method = .get,
        _ host: String = "a.example",
        path: [HTTPSURL.PathSegment] = ["x"]
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
        #expect(try await code(transport, request(.get, "a.example", path: ["y"])) == .connectionFailed)
        #expect(transport.requests.count == 4)
    }

    @Test func aPathWithAQueryMatchesBoth() async throws {
        func asking(_ value: String?) throws -> HTTPTransportRequest {
            let query = value.map { [HTTPSURL.QueryItem("expand[]", $0)] } ?? []
            return try HTTPTransportRequest(.get, HTTPSURL(host: "a.example", path: ["x"], query: query))
        }
        let transport = StubTransport()
        transport.on(.init(path: "/x?expand%5B%5D=a"), respond: HTTPTransportResponse(status: 201))
        #expect(try await code(transport, asking("b")) == .connectionFailed)
        #expect(try await code(transport, asking(nil)) == .connectionFailed)
        #expect(try await transport.send(asking("a")).status == 201)
        transport.on(.init(path: "/x"), respond: HTTPTransportResponse(status: 202))
        #expect(try await transport.send(asking("b")).status == 202)
        #expect(try await transport.send(asking(nil)).status == 202)
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
