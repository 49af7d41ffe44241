import SchemaSupport
import Testing
import WireJSON

/// Generated documents: the reader's verdict must be the plain grammar's, and an accepted document must be readable to
/// the last octet.
@Suite struct FuzzTests {
    private static let seed = Array(
        #"{"id":"evt_1","é":[1,-2.50e+3,0.1,{"a\u0062":"\ud83d\ude00é\n","b":""}],"t":true,"f":false,"z":null,"o":{"😀":"€"}}"#
            .utf8
    )

    private func check(_ bytes: [UInt8]) throws {
        let error = refusal(bytes)
        let isAccepted = ReferenceGrammar.accepts(bytes)
        #expect((error == nil) == isAccepted, "\(bytes)")
        if let error {
            #expect(error.offset >= 0 && error.offset <= bytes.count)
            return
        }
        guard isAccepted else { return }
        let root = try parse(bytes)
        try readAll(root, within: 0..<bytes.count, of: bytes)
    }

    private func readAll(_ value: JSONValue, within range: Range<Int>, of bytes: [UInt8]) throws {
        let raw = value.rawBytes
        #expect(range.lowerBound <= raw.startIndex && raw.endIndex <= range.upperBound)
        #expect(value.offset == raw.startIndex)
        #expect(try Tree(parse(Array(raw))) == Tree(value))
        if let inside = value.rawUTF8Range {
            #expect(inside == raw.startIndex + 1..<raw.endIndex - 1)
            #expect(try value.utf8() == Array(bytes[inside]))
        }
        if value.kind == .string {
            #expect(try value.isString(value.string()))
            #expect(try Array(value.string().utf8) == value.utf8())
        }
        if value.kind == .number {
            _ = try? value.int64()
            _ = try? value.decimal()
        }
        if value.kind == .array {
            let elements = Array(try value.array())
            #expect(try elements.count == value.array().count)
            for element in elements { try readAll(element, within: raw.indices, of: bytes) }
        }
        if value.kind == .object {
            let object = try value.object()
            let members = Array(object.members)
            #expect(members.count == object.count)
            for (name, member) in members {
                #expect(object[MemberName(name)]?.offset == member.offset)
                try readAll(member, within: raw.indices, of: bytes)
            }
        }
    }

    @Test(arguments: 0..<16)
    func everyOctetReplacedByEveryOther(part: Int) throws {
        for position in stride(from: part, to: Self.seed.count, by: 16) {
            var bytes = Self.seed
            for octet in UInt8.min...UInt8.max {
                bytes[position] = octet
                try check(bytes)
            }
        }
    }

    @Test func everyOctetRemovedOrDoubled() throws {
        for position in Self.seed.indices {
            var shorter = Self.seed
            shorter.remove(at: position)
            try check(shorter)
            var longer = Self.seed
            longer.insert(Self.seed[position], at: position)
            try check(longer)
        }
    }

    /// From an alphabet in which random text is often nearly JSON.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func randomTokens(seed: UInt64) throws {
        let tokens = [
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"\\u0061\"", "0", "-1", "1e2", "2.5", "true", "null", " ",
            "\n",
            "\"", "\\", "é", "\u{0}", "[]", "{}", "\"a\":1", ",\"b\":", "[1,", "]}",
        ].map { Array($0.utf8) }
        var generator = SplitMix(seed)
        for _ in 0..<2_000 {
            let count = Int.random(in: 1...14, using: &generator)
            try check((0..<count).flatMap { _ in tokens[Int.random(in: tokens.indices, using: &generator)] })
        }
    }

    /// Lines that begin as the last one did, and lines that do not, some with what looks like white space and is none.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func randomLines(seed: UInt64) throws {
        let tokens = [
            "{", "\"a\":[", "1", ",", "{}", ",", "[", "\"b\"", "]", "]", ",", "\"c\":{", "\"d\":null", "}", "}",
        ]
        var generator = SplitMix(seed)
        for _ in 0..<500 {
            var indentation = 0
            let oddities = Int.random(in: 0..<4, using: &generator)
            var bytes: [UInt8] = []
            for token in tokens {
                if Bool.random(using: &generator) { indentation = Int.random(in: 0...20, using: &generator) }
                var line = Array("\n\(String(repeating: " ", count: indentation))".utf8)
                if oddities == 0, Int.random(in: 0..<8, using: &generator) == 0 {
                    let octets: [UInt8] = [0x00, 0x09, 0x0B, 0x0D, 0x1F, 0x21, 0x60, 0xA0]
                    line[Int.random(in: line.indices, using: &generator)] =
                        octets[Int.random(in: octets.indices, using: &generator)]
                }
                bytes += line + Array(token.utf8)
            }
            try check(bytes)
        }
    }

    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func randomOctets(seed: UInt64) throws {
        var generator = SplitMix(seed)
        for _ in 0..<1_000 {
            let count = Int.random(in: 0...64, using: &generator)
            try check((0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) })
        }
    }

    /// Several changes at once to a sound document.
    @Test(arguments: 1...8 as ClosedRange<UInt64>)
    func mutations(seed: UInt64) throws {
        let pieces = acceptedDocuments.filter { $0.bytes.count < 80 }.map(\.bytes)
        var generator = SplitMix(seed)
        for _ in 0..<500 {
            var bytes = Self.seed
            for _ in 0..<Int.random(in: 1...4, using: &generator) {
                let position = Int.random(in: bytes.indices, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[position] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
                case 2:
                    bytes.insert(contentsOf: pieces[Int.random(in: pieces.indices, using: &generator)], at: position)
                default:
                    let end = min(bytes.count - 1, position + Int.random(in: 1...5, using: &generator))
                    bytes.removeSubrange(position..<end)
                }
            }
            try check(bytes)
        }
    }
}

/// SplitMix64: small, and the same on every run.
private struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
