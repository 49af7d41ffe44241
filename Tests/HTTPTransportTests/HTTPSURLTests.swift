import HTTPTransport
import Testing

@Suite struct HTTPSURLTests {
    static let hostileSegments = [
        "", ".", "..", "\r\n", "a\u{0}b", "a\nHost: evil", "\u{7F}", "\u{85}", "a\u{1B}[2J",
    ]

    @Test(arguments: hostileSegments)
    func hostileSegmentIsRefused(segment: String) throws {
        let error = #expect(throws: HTTPTransportError.self) {
            try HTTPSURL(host: "example.com", path: ["v1", .init(segment), "end"])
        }
        #expect(error?.code == .invalidRequest)
        let base = try HTTPSURL(host: "example.com", path: ["v1"])
        #expect(throws: HTTPTransportError.self) { try base.appending(path: [.init(segment)]) }
        #expect(throws: HTTPTransportError.self) { try HTTPSURL(host: "e.com", path: [.init(segment, verb: "pull")]) }
    }

    static let encodings = [
        ("a/b", "a%2Fb"), ("../..", "..%2F.."), ("...", "..."), ("%2e%2e", "%252e%252e"), ("a b+c", "a%20b%2Bc"),
        ("a?b#c", "a%3Fb%23c"), ("a;b=c,d:e@f", "a%3Bb%3Dc%2Cd%3Ae%40f"), ("\\", "%5C"), ("é", "%C3%A9"),
        ("A-Za-z0-9-._~", "A-Za-z0-9-._~"), ("\u{2028}", "%E2%80%A8"), ("abc.AO-J1Oy_x", "abc.AO-J1Oy_x"),
    ]

    @Test(arguments: encodings)
    func everythingButUnreservedIsEncoded(text: String, encoded: String) throws {
        let url = try HTTPSURL(host: "example.com", path: [.init(text)], query: [.init(text, text)])
        #expect(url.absoluteString == "https://example.com/\(encoded)?\(encoded)=\(encoded)")
    }

    @Test func customMethodKeepsItsColon() throws {
        let url = try HTTPSURL(host: "example.com", path: ["tokens", .init("a:b", verb: "acknowledge")])
        #expect(url.path == "/tokens/a%3Ab:acknowledge")
    }

    static let hostileHosts = [
        "", ".", "a..b", "a.", "-a.com", "a-.com", "a b", "a/b", "user@host", "host:80", "host#", "host?", "höst",
        "host\r\n", "host\u{0}", "[::1]", "127.1", "0x7f000001", "2130706433", "127.0.0.256", "127.0.0.01", "1.2.3.4.5",
        "a.1", "0x7f.1", String(repeating: "a", count: 64), String(repeating: "a.", count: 127) + "a",
    ]

    @Test(arguments: hostileHosts)
    func hostileHostIsRefused(host: String) {
        #expect(throws: HTTPTransportError.self) { try HTTPSURL(host: host) }
        // In a whole URL these end the host.
        guard !host.contains(where: { "/:?".contains($0) }) else { return }
        #expect(throws: HTTPTransportError.self) { try HTTPSURL("https://\(host)/") }
    }

    @Test(arguments: ["localhost", "127.0.0.1", "a-b.example.com", "xn--hst-sna.example", "1a.example", "a_b.example"])
    func hostIsTaken(host: String) throws {
        #expect(try HTTPSURL(host: host).absoluteString == "https://\(host)/")
    }

    static let hostileTexts = [
        "", "http://example.com/", "HTTP://example.com/", "ftp://example.com/", "file:///etc/passwd", "//example.com/",
        "https:/example.com", "https:example.com", "https://", "https:///path", "https://u@example.com/",
        "https://u:p@example.com/", "https://example.com/#f", "https://example.com/a b", "https://example.com/a\r\nb",
        "https://example.com/\u{0}", "https://example.com/é", "https://example.com/%", "https://example.com/%4",
        "https://example.com/%zz", "https://example.com/%+1", "https://example.com/%00", "https://example.com/%0d%0a",
        "https://example.com/..", "https://example.com/a/../b", "https://example.com/%2e%2E/b",
        "https://example.com/.%2e", "https://example.com/./a", "https://example.com//a", "https://example.com/a//b",
        "https://example.com:/", "https://example.com:0/", "https://example.com:65536/", "https://example.com:+1/",
        "https://example.com:80:90/", "https://example.com\\@evil/", "https://example.com/a\\b", " https://example.com",
        "https://example.com/<script>", "https://example.com/?a\"b", "https://example.com/\"",
        "https://example.com/" + String(repeating: "a", count: 16_384),
    ]

    @Test(arguments: hostileTexts)
    func hostileTextIsRefused(text: String) {
        let error = #expect(throws: HTTPTransportError.self) { try HTTPSURL(text) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("passwd") != true)
        #expect(error?.message.contains("user or password") == text.contains("@"))
    }

    static let texts = [
        ("https://www.googleapis.com/oauth2/v3/certs", "https://www.googleapis.com/oauth2/v3/certs"),
        ("HTTPS://Example.COM", "https://example.com/"), ("https://example.com:443/A", "https://example.com/A"),
        ("https://example.com:8443/?a=b&c=%2F", "https://example.com:8443/?a=b&c=%2F"),
        ("https://example.com?x=1", "https://example.com/?x=1"), ("https://example.com/a/", "https://example.com/a/"),
        ("https://example.com/a:b?", "https://example.com/a:b"),
    ]

    @Test(arguments: texts)
    func textIsKept(text: String, url: String) throws {
        #expect(try HTTPSURL(text).absoluteString == url)
    }

    @Test(
        arguments: [
            ("HTTP://LocalHost:8080/news/?key=abc", "http://localhost:8080/news/?key=abc"),
            ("http://127.0.0.1", "http://127.0.0.1/"), ("http://127.0.0.1:443/a%2Fb", "http://127.0.0.1:443/a%2Fb"),
        ]
    )
    func textOfAnEmulatorIsKept(text: String, url: String) throws {
        #expect(try HTTPSURL.emulator(text).absoluteString == url)
    }

    @Test(
        arguments: [
            "https://localhost/", "http://example.com/", "http://127.1/", "http://u:p@localhost/",
            "http://localhost/#f",
            "http://localhost//a", "http://localhost:0/", "http://localhost.example.com/", "http://localhost/%zz",
        ]
    )
    func textOfNoEmulatorIsRefused(text: String) {
        let error = #expect(throws: HTTPTransportError.self) { try HTTPSURL.emulator(text) }
        #expect(error?.code == .invalidRequest)
    }

    @Test func appends() throws {
        let base = try HTTPSURL("https://example.com/v1/?a=b")
        let url = try base.appending(path: ["x/y"], query: [.init("c", "d e")])
        #expect(url.absoluteString == "https://example.com/v1/x%2Fy?a=b&c=d%20e")
        #expect(try base.appending(path: []).absoluteString == base.absoluteString)
        #expect(try HTTPSURL(host: "h").appending(path: ["a"]).absoluteString == "https://h/a")
    }

    @Test(
        arguments: [
            (["v2", "a/b", "c"], true), (["v2", "a/b"], false), (["v2", "a/b", "c", "d"], false),
            (["v2", "a", "b", "c"], false), (["v2", "a%2Fb", "c"], false), (["v2", "A/b", "c"], false),
            (["v2", "a/b", .init("c", verb: "d")], false), ([], false),
        ] as [([HTTPSURL.PathSegment], Bool)]
    )
    func leadsToItsSegmentsHoweverEachIsEncoded(segments: [HTTPSURL.PathSegment], isSo: Bool) throws {
        #expect(try HTTPSURL("https://example.com/v2/a%2fb/%63?x=1").leads(to: segments) == isSo)
    }

    @Test func lengthIsLimited() throws {
        let host = "example.com"
        let room = HTTPSURL.maximumLength - "https://example.com/".utf8.count
        _ = try HTTPSURL(host: host, path: [.init(String(repeating: "a", count: room))])
        #expect(throws: HTTPTransportError.self) {
            try HTTPSURL(host: host, path: [.init(String(repeating: "a", count: room + 1))])
        }
        #expect(throws: HTTPTransportError.self) {
            try HTTPSURL(host: host, path: [.init(String(repeating: "a", count: room))]).appending(path: ["b"])
        }
    }

    @Test(arguments: ["\r\nX: y", "a\u{0}", "\u{9F}"])
    func hostileQueryIsRefused(text: String) {
        #expect(throws: HTTPTransportError.self) { try HTTPSURL(host: "h", query: [.init("a", text)]) }
        #expect(throws: HTTPTransportError.self) { try HTTPSURL(host: "h", query: [.init(text, "a")]) }
        #expect(throws: HTTPTransportError.self) { try HTTPSURL(host: "h", query: [.init("", "a")]) }
    }
}
