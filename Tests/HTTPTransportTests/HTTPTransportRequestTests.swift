import HTTPTransport
import Testing

@Suite struct HTTPTransportRequestTests {
    private func request(_ headers: HTTPTransportHeaders = [:]) throws -> HTTPTransportRequest {
        let url = try HTTPSURL(host: "example.com", path: ["hidden"], query: [.init("page", "hidden")])
        return try HTTPTransportRequest(.post, url, headers: headers, body: Array("hidden".utf8))
    }

    static let hostileFields = [
        ("X", "a\r\nHost: evil"), ("X", "a\nb"), ("X", "a\rb"), ("X", "a\u{0}b"), ("X", "\u{7F}"), ("X", "\u{1B}"),
        ("X\r\nY", "a"), ("X\u{0}", "a"), ("", "a"), ("X Y", "a"), ("X:", "a"), ("Ü", "a"), ("X\t", "a"), ("(X)", "a"),
        ("X", String(repeating: "a", count: 16_385)), (String(repeating: "a", count: 257), "a"),
        ("Host", "evil"), ("host", "evil"), ("Content-Length", "0"), ("Transfer-Encoding", "chunked"),
        ("Connection", "close"), ("Expect", "100-continue"), ("Upgrade", "h2c"), ("TE", "trailers"),
        ("Proxy-Authorization", "Basic x"), ("Accept-Encoding", "br"),
    ]

    @Test(arguments: hostileFields)
    func hostileFieldIsRefused(name: String, value: String) throws {
        let error = #expect(throws: HTTPTransportError.self) { try request([name: value]) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("evil") != true)
        var other = try request()
        #expect(throws: HTTPTransportError.self) { try other.setHeader(name, to: value) }
        #expect(try other == request())
    }

    @Test func settingReplacesWhateverTheCase() throws {
        var request = try request(["authorization": "a", "X": "1"])
        try request.setHeader("Authorization", to: "b\tc")
        #expect(request.headers.values("AUTHORIZATION") == ["b\tc"])
        #expect(request.headers["x"] == "1")
    }

    @Test func namesAreComparedInASCIIOnly() {
        let headers: HTTPTransportHeaders = ["K": "1"]
        // The Kelvin sign has a lower-case k.
        #expect(headers["\u{212A}"] == nil)
        #expect(headers["k"] == "1")
    }

    @Test func nothingIsShown() throws {
        let request = try request(["Authorization": "Bearer hidden", "X": "hidden"])
        let response = HTTPTransportResponse(status: 200, headers: ["X": "hidden"], body: Array("hidden".utf8))
        let segment = HTTPSURL.PathSegment("hidden")
        let item = HTTPSURL.QueryItem("page", "hidden")
        for value in [request, response, request.url, request.headers, request.headers.fields, segment, item] as [Any] {
            var shown = "\(value) " + String(reflecting: value)
            dump(value, to: &shown)
            #expect(!shown.contains("hidden"), "\(type(of: value))")
            #expect(!shown.contains("104"), "\(type(of: value)) shows octets")
        }
        #expect("\(request)".contains("POST https://example.com [Authorization: <13 bytes>"))
    }

    @Test func impossibleRequestsAreRefused() throws {
        let url = try HTTPSURL(host: "example.com")
        #expect(throws: HTTPTransportError.self) { try HTTPTransportRequest(.get, url, body: [1]) }
        #expect(throws: HTTPTransportError.self) { try HTTPTransportRequest(.head, url, body: [1]) }
        #expect(throws: HTTPTransportError.self) { try HTTPTransportRequest(.get, url, timeout: .zero) }
        #expect(throws: HTTPTransportError.self) { try HTTPTransportRequest(.get, url, maximumResponseBytes: -1) }
    }

    @Test func methodSaysWhetherItMayBeRepeated() throws {
        let url = try HTTPSURL(host: "example.com")
        for method in [HTTPTransportRequest.Method.get, .head, .put, .delete] {
            #expect(try HTTPTransportRequest(method, url).isIdempotent)
        }
        #expect(try !HTTPTransportRequest(.post, url).isIdempotent)
        #expect(try !HTTPTransportRequest(.patch, url).isIdempotent)
    }
}
