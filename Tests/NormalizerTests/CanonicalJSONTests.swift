import NormalizerTesting
import FoundationEssentials
@testable import LifecycleEvents
import Normalizer
import Testing

@Suite("Canonical JSON")
struct CanonicalJSONTests {
    /// Foundation's encoder, which other versions of this package wrote stored rows with.
    private func reference(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array(try encoder.encode(value))
    }

    private func expectSame(_ value: some Encodable) throws {
        let written = String(decoding: try CanonicalJSON.bytes(value), as: UTF8.self)
        #expect(written == String(decoding: try reference(value), as: UTF8.self))
    }

    @Test("Any tree of values has the octets that Foundation gives it")
    func trees() throws {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<500 {
            let tree = Tree(depth: 4, &random)
            try expectSame(tree)
            #expect(try CanonicalJSON.value(Tree.self, from: try CanonicalJSON.bytes(tree)) == tree)
        }
        let scalars = (0..<0x300).compactMap(Unicode.Scalar.init).map { String(Character($0)) }
        try expectSame(scalars)
        try expectSame(Dictionary(scalars.map { ($0, $0) }, uniquingKeysWith: { first, _ in first }))
    }

    @Test("Types that describe themselves otherwise have the octets that Foundation gives them")
    func special() throws {
        try expectSame([Data([0, 1, 255]), Data()])
        try expectSame(["d": Date(timeIntervalSinceReferenceDate: 0.1), "e": Date(timeIntervalSince1970: 1e10)])
        try expectSame([URL(string: "https://example.com/a?b=\"")])
        try expectSame([Decimal(string: "1.10"), nil])
        try expectSame([0.1, 1e300, -0.0, 3])
        try expectSame([Float(0.1)])
        try expectSame([Int8.min, .max])
        try expectSame([UInt64.max])
        try expectSame(Int64.min)
        try expectSame(true)
        try expectSame("text")
        try expectSame(String?.none)
        #expect(throws: EncodingError.self) { try CanonicalJSON.bytes([Double.nan]) }
        #expect(throws: EncodingError.self) { try CanonicalJSON.bytes(Silent()) }
    }

    /// Reads as Foundation's decoder does, and fails with an error of the same kind.
    private func expectSame<Value: Decodable & Equatable>(_ type: Value.Type, reading json: String) {
        let foundation = Result { try JSONDecoder().decode(type, from: Data(json.utf8)) }.mapError(Refusal.init)
        let ours = Result { try CanonicalDecoder.value(type, from: Array(json.utf8)) }.mapError(Refusal.init)
        #expect(ours == foundation, "\(json)")
    }

    @Test("Types that read themselves otherwise read as Foundation reads them")
    func reading() throws {
        expectSame([Data].self, reading: #"["AAH/"]"#)
        expectSame([Data].self, reading: #"["?"]"#)
        expectSame([Date].self, reading: "[0.5]")
        expectSame([URL].self, reading: #"["https://example.com/a"]"#)
        expectSame([Decimal?].self, reading: "[1.10, null]")
        expectSame([Double].self, reading: "[1, -0.5, 1e300]")
        expectSame([UInt64].self, reading: "[18446744073709551615]")
        for number in ["1", "-1", "1.0", "128", "1.5", "99999999999999999999", "\"1\"", "null", "true"] {
            expectSame([Int8].self, reading: "[\(number)]")
            expectSame([Int64?].self, reading: "[\(number)]")
        }
        for json in [
            "{}", "[]", "null", "1", #"{"z":null}"#, #"{"z":[]}"#, #"{"z":[1],"a":{"b":"t","m":null}}"#,
            #"{"z":[1,null,{"a":2},[3],4],"a":{"b":"t"},"super":5}"#, #"{"z":[1,2],"a":{"b":"t"}}"#,
            #"{"z":[1,null,{},[3],4],"a":{"b":"t"},"super":5}"#, #"{"z":[1,null,{"a":2},[3]],"a":{"b":"t"}}"#,
        ] {
            expectSame(NestedReading.self, reading: json)
            expectSame(String.self, reading: json)
            expectSame([String: String].self, reading: json)
        }
    }

    @Test("Containers may be nested, shared, repeated and left empty")
    func containers() throws {
        try expectSame(Nesting())
        try expectSame([Nesting(), Nesting()])
        try expectSame(Sharing())
        try expectSame(["a": Silent(), "b": Silent()])
        try expectSame([Silent(), Silent()])
        try expectSame(Choice.allCases)
        try expectSame(Careless())
    }
}

private indirect enum Tree: Codable, Hashable {
    case null, bool(Bool), number(Int64), text(String), list([Tree]), object([String: Tree])

    init(depth: Int, _ random: inout SeededGenerator) {
        func text(_ random: inout SeededGenerator) -> String {
            let letters = Array("ab_AB1\"\\/\n\u{0}\u{1F}\u{7F}\u{301}é\u{E9}\u{65}ﬁ€😀\u{2028}")
            let count = Int.random(in: 0...8, using: &random)
            return String((0..<count).compactMap { _ in letters.randomElement(using: &random) })
        }
        switch Int.random(in: 0...(depth > 0 ? 7 : 3), using: &random) {
        case 0: self = .null
        case 1: self = .bool(.random(using: &random))
        case 2: self = .number(.random(in: .min ... .max, using: &random))
        case 3: self = .text(text(&random))
        case 4, 5:
            var list: [Tree] = []
            for _ in 0..<Int.random(in: 0...5, using: &random) { list.append(Tree(depth: depth - 1, &random)) }
            self = .list(list)
        default:
            var object: [String: Tree] = [:]
            for _ in 0..<Int.random(in: 0...5, using: &random) {
                object[text(&random)] = Tree(depth: depth - 1, &random)
            }
            self = .object(object)
        }
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let bool = try? container.decode(Bool.self) {
            self = .bool(bool)
        } else if let number = try? container.decode(Int64.self) {
            self = .number(number)
        } else if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let list = try? container.decode([Tree].self) {
            self = .list(list)
        } else {
            self = .object(try container.decode([String: Tree].self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let bool): try container.encode(bool)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let list): try container.encode(list)
        case .object(let object): try container.encode(object)
        }
    }
}

private enum Name: String, CodingKey { case z, a, m, b, deep }

/// Describes nothing.
private struct Silent: Encodable {
    func encode(to encoder: any Encoder) {}
}

/// A synthesised form, which nests its containers.
private enum Choice: Encodable, CaseIterable {
    case empty, one(Int), named(text: String, other: Bool)

    static var allCases: [Choice] { [.empty, .one(1), .named(text: "t", other: false)] }
}

/// Writes to several containers in turn.
private struct Nesting: Encodable {
    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Name.self)
        try object.encode(1, forKey: .z)
        var list = object.nestedUnkeyedContainer(forKey: .m)
        var nested = object.nestedContainer(keyedBy: Name.self, forKey: .b)
        try list.encode("first")
        try nested.encode(2, forKey: .z)
        try object.encode(3, forKey: .a)
        try list.encodeNil()
        var deep = list.nestedContainer(keyedBy: Name.self)
        var deeper = list.nestedUnkeyedContainer()
        try list.encode(4)
        try deep.encode(5, forKey: .deep)
        try deeper.encode(["6"])
        try Sharing().encode(to: list.superEncoder())
        try nested.encodeNil(forKey: .a)
        try Sharing().encode(to: object.superEncoder(forKey: .deep))
        try "super".encode(to: object.superEncoder())
    }
}

private struct NestedReading: Decodable, Equatable {
    var numbers: [Int] = []
    var text: String
    var names: Set<Name>
    var hasName: Bool
    var absent: String?

    init(from decoder: any Decoder) throws {
        let object = try decoder.container(keyedBy: Name.self)
        names = Set(object.allKeys)
        var list = try object.nestedUnkeyedContainer(forKey: .z)
        numbers.append(try list.decode(Int.self))
        if try list.decodeNil() {
            numbers.append(try list.nestedContainer(keyedBy: Name.self).decode(Int.self, forKey: .a))
            var deep = try list.nestedUnkeyedContainer()
            while !deep.isAtEnd { numbers.append(try deep.decode(Int.self)) }
            numbers.append(try Int(from: list.superDecoder()))
            numbers.append(try Int(from: object.superDecoder()))
        }
        numbers.append(list.currentIndex)
        let nested = try object.nestedContainer(keyedBy: Name.self, forKey: .a)
        text = try nested.decode(String.self, forKey: .b)
        absent = try nested.decodeIfPresent(String.self, forKey: .m)
        hasName = nested.contains(.m)
        _ = try object.superDecoder(forKey: .a).container(keyedBy: Name.self)
        if !list.isAtEnd { numbers.append(try list.decode(Int.self)) }
    }
}

/// The kind of a decoder's error. Foundation names no place of a number out of range.
private enum Refusal: Error, Equatable {
    case missing, null, type, corrupt, other

    init(_ error: any Error) {
        self =
            switch error as? DecodingError {
            case .keyNotFound: .missing
            case .valueNotFound: .null
            case .typeMismatch: .type
            case .dataCorrupted: .corrupt
            default: .other
            }
    }
}

/// Writes an object through two containers, a member twice.
private struct Sharing: Encodable {
    func encode(to encoder: any Encoder) throws {
        var first = encoder.container(keyedBy: Name.self)
        try first.encode("gone", forKey: .m)
        try first.encode("a", forKey: .a)
        var second = encoder.container(keyedBy: Name.self)
        try second.encode("last", forKey: .m)
        try first.encode("z", forKey: .z)
    }
}

/// Goes on where a member cannot be written.
private struct Careless: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Name.self)
        try container.encode(1, forKey: .z)
        try? container.encode(["a": [1, .nan]], forKey: .m)
        try container.encode(2, forKey: .a)
    }
}
