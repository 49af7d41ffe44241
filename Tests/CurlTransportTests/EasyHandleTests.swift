import CLifecycleCurl
import Testing

@testable import CurlTransport

@Suite struct EasyHandleTests {
    @Test func onlyHTTPSIsSpoken() throws {
        for url in ["http://127.0.0.1:1/", "file:///etc/hostname", "ftp://127.0.0.1:1/", "dict://127.0.0.1:1/"] {
            let handle = try EasyHandle()
            try handle.allowHTTPSOnly()
            try handle.set(CURLOPT_URL, url)
            try handle.set(CURLOPT_NOBODY, 1)
            #expect(unsafe curl_easy_perform(handle.pointer) == CURLE_UNSUPPORTED_PROTOCOL)
        }
    }

    @Test func refusedOptionIsAnError() throws {
        let handle = try EasyHandle()
        #expect(throws: (any Error).self) { try handle.set(CURLOPT_SSLVERSION, 99) }
        #expect(throws: (any Error).self) { try handle.set(CURLOPT_URL, "https://a\u{0}b/") }
    }
}
