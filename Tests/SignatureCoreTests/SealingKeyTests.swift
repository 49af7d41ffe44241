import Testing

@testable import SignatureCore

@Suite("Sealing") struct SealingKeyTests {
    @Test("opens what it sealed, under the same key and for the same place alone", arguments: [0, 1, 15, 16, 17, 4000])
    func roundTrip(length: Int) throws {
        let key = try SealingKey(Array("a secret".utf8), purpose: "test")
        let value = (0..<length).map { UInt8(truncatingIfNeeded: $0) }
        let sealed = try key.seal(value, for: "place")
        #expect(sealed.count == length + 28)
        #expect(try key.seal(value, for: "place") != sealed)
        #expect(try key.open(sealed, for: "place") == value)
        #expect(try key.open(sealed, for: "other place") == nil)
        #expect(try SealingKey(Array("a secret".utf8), purpose: "other").open(sealed, for: "place") == nil)
        #expect(try SealingKey(Array("other".utf8), purpose: "test").open(sealed, for: "place") == nil)
    }

    @Test("refuses whatever was changed or cut off")
    func tampering() throws {
        let key = try SealingKey(Array("a secret".utf8), purpose: "test")
        let sealed = try key.seal(Array("a token".utf8), for: "")
        #expect(try key.open(sealed, for: "") == Array("a token".utf8))
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1
            #expect(try key.open(changed, for: "") == nil)
            #expect(try key.open(Array(sealed.prefix(index)), for: "") == nil)
        }
        #expect(throws: SignatureError.self) { try SealingKey([], purpose: "test") }
    }
}
