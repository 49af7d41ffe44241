import HTTPTransport
import Testing

@Suite("An address of a responder for certificates") struct CertificateStatusURLTests {
    @Test(
        "is refused",
        arguments: [
            "", "ocsp.example.com", "ftp://ocsp.example.com/", "http:/ocsp.example.com/", "http://", "http:///path",
            "http://localhost/", "http://LOCALHOST/", "http://a.localhost/", "http://intranet/", "http://127.0.0.1/",
            "http://10.0.0.1/", "http://169.254.169.254/latest/meta-data", "http://2130706433/", "http://0x7f.1/",
            "http://[::1]/", "http://user@ocsp.example.com/", "http://user:pass@ocsp.example.com/",
            "http://ocsp.example.com:80/", "http://ocsp.example.com:443/", "http://ocsp.example.com:6379/",
            "http://ocsp.example.com/?a=b", "http://ocsp.example.com/#a", "http://ocsp.example.com/../a",
            "http://ocsp.example.com/a b", "http://ocsp.example.com/a\r\nHost: b", "http://ocsp.example.com\\@b/",
            "http://ocsp.example.com/a\u{0}b", "https://ocsp.example.com:6379/", "https://localhost/",
        ]
    )
    func refused(text: String) {
        let error = #expect(throws: HTTPTransportError.self) { try HTTPSURL.certificateStatus(text) }
        #expect(error?.code == .invalidRequest)
    }

    @Test("is spoken to as it says, and is no emulator")
    func taken() throws {
        let url = try HTTPSURL.certificateStatus("http://OCSP.example.com/ocsp03-wwdrg602")
        #expect(url.absoluteString == "http://ocsp.example.com/ocsp03-wwdrg602")
        #expect(url.scheme == "http")
        #expect(url.isCertificateStatus)
        #expect(!url.isEmulator)
        #expect(try HTTPSURL.certificateStatus("HTTP://ocsp.example.com").absoluteString == "http://ocsp.example.com/")
        let secure = try HTTPSURL.certificateStatus("https://ocsp.example.com/a")
        #expect(secure.absoluteString == "https://ocsp.example.com/a")
        #expect(!secure.isCertificateStatus)
    }

    @Test("cannot be had by any other way than a certificate")
    func door() throws {
        #expect(throws: HTTPTransportError.self) { try HTTPSURL("http://ocsp.example.com/") }
        #expect(try !HTTPSURL("https://ocsp.example.com/").isCertificateStatus)
        #expect(try !HTTPSURL.emulator(port: 8080).isCertificateStatus)
    }
}
