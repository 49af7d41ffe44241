import CLifecycleCurl
import LoopbackServer
import Testing

@testable import CurlTransport

@Suite struct EasyHandleTests {
    @Test func onlyHTTPSIsSpoken() throws {
        for url in ["http://127.0.0.1:1/", "file:///etc/hostname", "ftp://127.0.0.1:1/", "dict://127.0.0.1:1/"] {
            let handle = try EasyHandle()
            try handle.secure()
            try handle.set(CURLOPT_URL, url)
            try handle.set(CURLOPT_NOBODY, 1)
            #expect(unsafe curl_easy_perform(handle.pointer) == CURLE_UNSUPPORTED_PROTOCOL)
        }
    }

    /// On some systems OpenSSL's own security level refuses TLS 1.1, too; this test turns that off.
    @Test(arguments: [false, true])
    func oldTLSIsRefusedWhateverTheSystemAllows(isSecure: Bool) throws {
        let authority = try TestAuthority()
        let tls = LoopbackServer.TLS(try authority.issue(), isOutdated: true)
        let server = try LoopbackServer(tls) { $0.respond(200) }
        defer { server.stop() }
        let handle = try EasyHandle()
        try handle.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_1)
        if isSecure { try handle.secure() }
        try handle.trust(.pem(authority.certificate))
        try handle.set(CURLOPT_SSL_CIPHER_LIST, "ALL:@SECLEVEL=0")
        try handle.set(CURLOPT_PROXY, "")
        try handle.set(CURLOPT_NOPROXY, "*")
        try handle.set(CURLOPT_NOBODY, 1)
        try handle.set(CURLOPT_URL, "https://localhost:\(server.port)/")
        #expect(unsafe curl_easy_perform(handle.pointer) == (isSecure ? CURLE_SSL_CONNECT_ERROR : CURLE_OK))
        #expect(server.requestCount == (isSecure ? 0 : 1))
    }

    @Test func refusedOptionIsAnError() throws {
        let handle = try EasyHandle()
        #expect(throws: (any Error).self) { try handle.set(CURLOPT_SSLVERSION, 99) }
        #expect(throws: (any Error).self) { try handle.set(CURLOPT_URL, "https://a\u{0}b/") }
    }
}
