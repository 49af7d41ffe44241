import SignatureCore
import Testing

@Suite("Signatures over a time and a body")
struct TimestampedSignatureTests {
    static let body = ascii(#"{"id":"EVT-2","name":"café"}"#)

    func read(_ fields: String..., maximumBytes: Int = 8192) throws(SignatureError) -> TimestampedSignature {
        try TimestampedSignature(fields: fields, maximumBytes: maximumBytes, maximumSignatures: 16)
    }

    func code(_ timestamp: String, _ secret: String) throws(SignatureError) -> String {
        let prefix = ascii(timestamp + ".")
        let octets = ascii(secret)
        let key = try HMACSHA256(key: octets.span)
        return try key.authenticationCode(over: prefix.span, Self.body.span).hexadecimal
    }

    @Test("the key that signed is found among keys, codes and parts of other names")
    func signer() throws {
        let keys = try ["one", "two", "three"].map { secret in
            let octets = ascii(secret)
            return try HMACSHA256(key: octets.span)
        }
        let other = String(repeating: "a", count: 64)
        let shorter = Array(Self.body.dropLast())
        let genuine = try code("1700000100", "two")
        for fields in [
            ["t=1700000100,v1=\(genuine)"],
            [" v1 =\(other) ,\tv1=\(genuine) , t = 1700000100\t, v0=\(other), flag, =, t2=5"],
            ["t=1700000100", "v1=\(other)", "v1=\(genuine)"],
        ] {
            let signature = try TimestampedSignature(fields: fields, maximumBytes: 8192, maximumSignatures: 16)
            #expect(signature.timestamp == 1_700_000_100)
            #expect(try signature.signer(of: Self.body.span, among: keys) == 1)
            #expect(try signature.signer(of: shorter.span, among: keys) == nil)
            #expect(try signature.signer(of: Self.body.span, among: []) == nil)
        }
        let later = try read("t=1700000101,v1=\(genuine)")
        #expect(try later.signer(of: Self.body.span, among: keys) == nil)
    }

    @Test("a time is read to the ends of its range", arguments: ["0", "1", "1700000100", "9223372036854775807"])
    func times(text: String) throws {
        #expect(try read("t=\(text)").timestamp == Int64(text))
    }

    @Test(
        "a time that is not canonical decimal is refused",
        arguments: ["", "00", "01", "+1", "-1", "1.0", "1e3", "0x1", "1 2", "9223372036854775808", "１"]
    )
    func otherTimes(text: String) {
        #expect(failure { () throws(SignatureError) in try read("t=\(text)") }?.kind == .malformed)
    }

    @Test("there is exactly one time")
    func oneTime() {
        #expect(failure { () throws(SignatureError) in try read() }?.kind == .malformed)
        #expect(failure { () throws(SignatureError) in try read("v1=\(String(repeating: "a", count: 64))") } != nil)
        #expect(failure { () throws(SignatureError) in try read("t=1,t=1") }?.kind == .malformed)
        #expect(failure { () throws(SignatureError) in try read("t=1", "t=1") }?.kind == .malformed)
        #expect(failure { () throws(SignatureError) in try read("T=1") }?.kind == .malformed)
    }

    @Test("a signature that does not have the form of a code counts, and matches none")
    func codes() throws {
        let digits = String(repeating: "0123456789abcdef", count: 4)
        for text in [
            "", "a", String(digits.dropLast()), digits + "0", digits.uppercased(), String(digits.dropLast()) + "g",
        ] {
            let signature = try read("t=1,v1=\(text)")
            #expect(signature.codes.isEmpty)
        }
        #expect(try read("t=1,v1=\(digits)").codes.map(\.hexadecimal) == [digits])
        let sixteen = String(repeating: ",v1=", count: 16)
        #expect(try read("t=1\(sixteen)").codes.isEmpty)
        #expect(failure { () throws(SignatureError) in try read("t=1\(sixteen),v1=\(digits)") }?.kind == .limit)
    }

    @Test("many parts are read once, and too many bytes not at all")
    func bounds() throws {
        let parts = Array(repeating: "x", count: 10_000).joined(separator: ",")
        #expect(try read(parts, "t=1", maximumBytes: 1 << 20).timestamp == 1)
        #expect(failure { () throws(SignatureError) in try read(parts, "t=1") }?.kind == .limit)
        let exact = "t=1," + String(repeating: "x", count: 8188)
        #expect(try read(exact).timestamp == 1)
        #expect(failure { () throws(SignatureError) in try read(exact + "x") }?.kind == .limit)
        #expect(failure { () throws(SignatureError) in try read(exact, "") }?.kind == .limit)
    }
}
