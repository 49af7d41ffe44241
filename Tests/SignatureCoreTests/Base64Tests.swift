import SignatureCore
import Testing

@Suite struct Base64Tests {
    /// RFC 4648 §10.
    static let pairs = [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ]

    @Test(arguments: pairs)
    func knownValues(plain: String, encoded: String) throws {
        #expect(try Base64.decode(encoded.utf8.span) == ascii(plain))
        #expect(Base64.encode(plain.utf8.span) == ascii(encoded))
        let unpadded = String(encoded.prefix { $0 != "=" })
        #expect(try Base64URL.decode(unpadded.utf8.span) == ascii(plain))
        #expect(Base64URL.encode(plain.utf8.span) == ascii(unpadded))
    }

    @Test(arguments: [
        "Zg", "Zg=", "Zg===", "Zm8", "Zm9vYg", "=", "==", "===", "====", "Z===", "Zg=A", "Zh==", "Zm9=", "QR==",
        "Zm9v\n",
        "Zm 9", "Zm9v====", "Zm9v=", "Zg==Zg==", "-_-_", "Zm9\0", "Zm9vYm\u{e9}=", " Zm9v", "Zm9*",
    ])
    func standardRefuses(text: String) {
        #expect(failure { () throws(SignatureError) in try Base64.decode(text.utf8.span) }?.kind == .malformed)
    }

    @Test(arguments: [
        "Z", "Zg==", "Zm8=", "Zh", "Zm9", "QR", "+/+/", "Zm9v\n", "Zm9v ", "Zm9vY", "Zm9v.", "Zm9v\0", "Zm9\u{e9}",
        "====",
    ])
    func urlRefuses(text: String) {
        #expect(failure { () throws(SignatureError) in try Base64URL.decode(text.utf8.span) }?.kind == .malformed)
    }

    @Test func alphabetsDifferInTwoCharacters() throws {
        let octets: [UInt8] = [0xfb, 0xff, 0xbf]
        #expect(Base64.encode(octets.span) == ascii("+/+/"))
        #expect(Base64URL.encode(octets.span) == ascii("-_-_"))
        #expect(try Base64.decode(ascii("+/+/").span) == octets)
        #expect(try Base64URL.decode(ascii("-_-_").span) == octets)
    }

    @Test func everyOctetOutsideTheAlphabetIsRefusedInEveryPlace() {
        let alphabet = Set(ascii("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"))
        for octet in UInt8.min...UInt8.max where !alphabet.contains(octet) {
            // Four groups that are read together, one by itself, and a rest.
            for place in 0..<23 {
                var text = [UInt8](repeating: UInt8(ascii: "A"), count: 23)
                text[place] = octet
                #expect(failure { () throws(SignatureError) in try Base64URL.decode(text.span) } != nil)
            }
        }
    }

    @Test func oneTextForOneValue() throws {
        var scrambler = Scrambler(1)
        for count in 0..<200 {
            let octets = scrambler.octets(count)
            let standard = Base64.encode(octets.span)
            #expect(try Base64.decode(standard.span) == octets)
            let url = Base64URL.encode(octets.span)
            #expect(try Base64URL.decode(url.span) == octets)
            // Whatever decodes at all is the one text that encoding gives.
            var changed = url
            guard !changed.isEmpty else { continue }
            changed[Int.random(in: changed.indices, using: &scrambler)] = UInt8.random(in: 32...127, using: &scrambler)
            if let decoded = try? Base64URL.decode(changed.span) {
                #expect(Base64URL.encode(decoded.span) == changed)
            }
        }
    }

    @Test(arguments: [-1..<2, 0..<5, 4..<5, 5..<9])
    func rangesOutsideAreRefused(range: Range<Int>) {
        #expect(failure { () throws(SignatureError) in try Base64.decode(ascii("Zm9v"), range) }?.kind == .malformed)
        #expect(failure { () throws(SignatureError) in try Base64URL.decode(ascii("Zm9v"), range) }?.kind == .malformed)
    }

    @Test func rangesInside() throws {
        #expect(try Base64URL.decode(ascii("..Zm9v.."), 2..<6) == ascii("foo"))
    }
}
