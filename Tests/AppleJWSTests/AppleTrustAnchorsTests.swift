import AppleJWS
import LifecycleEvents
import Testing

@Suite("Apple trust anchors")
struct AppleTrustAnchorsTests {
    @Test("in PEM, given as DER, say which initializer takes them")
    func pem() {
        let text = Array("-----BEGIN CERTIFICATE-----".utf8)
        let error = #expect(throws: ConfigurationError.self) { try AppleTrustAnchors(der: [text]) }
        #expect(
            error?.message == "Apple trust anchors: 27 octets are not a certificate: use init(pem:) for PEM"
        )
    }

    @Test("that are no certificate in any form are refused without the hint")
    func neither() {
        let error = #expect(throws: ConfigurationError.self) { try AppleTrustAnchors(der: [[0x30, 0x00]]) }
        #expect(error?.message == "Apple trust anchors: 2 octets are not a certificate")
    }
}
