import SignatureCore
import Testing

@Suite struct DigestTests {
    /// FIPS 180-2, appendix B.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func knownDigests(text: String, expected: String) {
        #expect(SHA256.hash(text.utf8.span).hexadecimal == expected)
    }

    /// Texts of up to 512 octets are kept in another place than longer ones.
    @Test(arguments: [0, 1, 511, 512, 513, 1024, 2000], [1, 7, 511, 512, 513])
    func aTextIsHashedAsOnePiece(count: Int, piece: Int) {
        let octets = (0..<count).map { UInt8($0 % 251) }
        var text = HashedText()
        for start in stride(from: 0, to: count, by: piece) {
            text.append(octets[start..<min(start + piece, count)].span)
        }
        let (kept, digest) = (text.octets, text.digest)
        #expect(kept == octets)
        #expect(digest == SHA256.hash(octets.span))
    }

    @Test(arguments: [0, 9, 10, -1, -10, 1_772_300_000, .max, .min] as [Int64])
    func numbersAreHashedInDecimalDigits(number: Int64) {
        var text = HashedText()
        text.append(String(repeating: " ", count: 500))
        text.append(number)
        let kept = text.octets
        #expect(kept == ascii(String(repeating: " ", count: 500) + String(number)))
    }

    @Test func digestsCompareByValue() throws {
        let digest = SHA256.hash(ascii("a").span)
        #expect(digest == SHA256.hash(ascii("a").span))
        #expect(digest != SHA256.hash(ascii("b").span))
        #expect(Set([digest, SHA256.hash(ascii("a").span)]).count == 1)
        let copy = Digest(digest.bytes.span)
        #expect(copy == digest)
        let short = Digest(Array(digest.bytes.dropLast()).span)
        #expect(short == nil)
        #expect(digest.hexadecimal == hexadecimal(digest.bytes))
        for count in [0, 8, 32] {
            #expect(digest.hexadecimal(octets: count) == hexadecimal(Array(digest.bytes.prefix(count))))
        }
    }

    private func isEqual(_ left: [UInt8], _ right: [UInt8]) -> Bool { constantTimeEquals(left.span, right.span) }

    @Test func equalityNeedsEqualLengths() {
        #expect(isEqual([UInt8](), [UInt8]()))
        #expect(isEqual(ascii("abc"), ascii("abc")))
        #expect(!isEqual(ascii("abc"), ascii("abd")))
        #expect(!isEqual(ascii("abc"), ascii("abcd")))
        #expect(!isEqual(ascii("abc"), [UInt8]()))
    }

    struct MACCase: Sendable, CustomTestStringConvertible {
        let number: Int
        let key: [UInt8]
        let data: [UInt8]
        let code: String
        var testDescription: String { "RFC 4231 case \(number)" }
    }

    static let macCases = [
        MACCase(
            number: 1,
            key: [UInt8](repeating: 0x0b, count: 20),
            data: ascii("Hi There"),
            code: "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
        ),
        MACCase(
            number: 2,
            key: ascii("Jefe"),
            data: ascii("what do ya want for nothing?"),
            code: "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        ),
        MACCase(
            number: 3,
            key: [UInt8](repeating: 0xaa, count: 20),
            data: [UInt8](repeating: 0xdd, count: 50),
            code: "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
        ),
        MACCase(
            number: 4,
            key: Array(1...25),
            data: [UInt8](repeating: 0xcd, count: 50),
            code: "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
        ),
        MACCase(
            number: 6,
            key: [UInt8](repeating: 0xaa, count: 131),
            data: ascii("Test Using Larger Than Block-Size Key - Hash Key First"),
            code: "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
        ),
        MACCase(
            number: 7,
            key: [UInt8](repeating: 0xaa, count: 131),
            data: ascii(
                "This is a test using a larger than block-size key and a larger than block-size data. The key needs to "
                    + "be hashed before being used by the HMAC algorithm."
            ),
            code: "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
        ),
    ]

    /// Beginning anew, where this libcrypto can, and with a copy for each code, as libcrypto before 3.0.3 needs it.
    static let beginnings: [Bool?] = [nil, false]

    @Test(arguments: macCases, beginnings)
    func knownCodes(known: MACCase, beginsAnew: Bool?) throws {
        let keyed = try HMACSHA256(key: known.key.span, beginsAnew: beginsAnew)
        // Twice, since the second has to start from the key again.
        for _ in 0..<2 {
            #expect(try keyed.authenticationCode(over: known.data.span).hexadecimal == known.code)
        }
        let data = known.data.span
        #expect(
            try keyed.authenticationCode(over: data.extracting(..<3), data.extracting(3...)).hexadecimal == known.code
        )
        #expect(
            try keyed.authenticationCode(over: data.extracting(..<1), data.extracting(1..<4), data.extracting(4...))
                .hexadecimal == known.code
        )
    }

    @Test(arguments: beginnings)
    func codesDoNotMixWithOthersOfTheKey(beginsAnew: Bool?) async throws {
        let known = try #require(Self.macCases.last)
        let keyed = try HMACSHA256(key: known.key.span, beginsAnew: beginsAnew)
        // One that is finished before it, one that is given up, and one that goes on while others begin.
        var first = try keyed.start()
        try first.update(known.data.span.extracting(..<5))
        do {
            var abandoned = try keyed.start()
            try abandoned.update(known.data.span)
        }
        _ = try keyed.authenticationCode(over: known.key.span)
        #expect(try keyed.authenticationCode(over: known.data.span).hexadecimal == known.code)
        try first.update(known.data.span.extracting(5...))
        #expect(try first.finalize().hexadecimal == known.code)

        let codes = try await withThrowingTaskGroup(of: Set<String>.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var codes: Set<String> = []
                    for _ in 0..<500 { codes.insert(try keyed.authenticationCode(over: known.data.span).hexadecimal) }
                    return codes
                }
            }
            return try await group.reduce(into: Set<String>()) { $0.formUnion($1) }
        }
        #expect(codes == [known.code])
    }

    /// More at once than contexts are kept, and then again with those that were.
    @Test(arguments: beginnings)
    func manyAtOnce(beginsAnew: Bool?) throws {
        let known = try #require(Self.macCases.last)
        let keyed = try HMACSHA256(key: known.key.span, beginsAnew: beginsAnew)
        func codes(_ count: Int) throws -> [String] {
            guard count > 0 else { return [] }
            var computation = try keyed.start()
            try computation.update(known.data.span)
            return try codes(count - 1) + [try computation.finalize().hexadecimal]
        }
        for _ in 0..<2 { #expect(try codes(20) == Array(repeating: known.code, count: 20)) }
    }

    @Test func emptyKeyIsRefused() {
        #expect(failure { () throws(SignatureError) in try HMACSHA256(key: [UInt8]().span) }?.kind == .key)
    }
}
