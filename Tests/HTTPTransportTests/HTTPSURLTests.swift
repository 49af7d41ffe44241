import HTTPTransport
import Testing

@Suite struct HTTPSURLTests {
    @Test func buildsEncoded() throws {
        let url = try HTTPSURL(host: "API.example.com", path: ["v1", "a/b"], query: [.init("expand[]", "x&y")])
        #expect(url.absoluteString == "https://api.example.com/v1/a%2Fb?expand%5B%5D=x%26y")
    }
}
