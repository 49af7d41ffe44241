import FoundationEssentials
import SchemaSupport
import Testing
import WireJSON

@Suite struct GrammarTests {
    @Test(arguments: refusedDocuments)
    func refuses(refused: Refusal) {
        #expect(refusal(refused.document.bytes)?.reason == refused.reason)
        #expect(!ReferenceGrammar.accepts(refused.document.bytes))
    }

    /// The member is never read, and the document is refused for it all the same.
    @Test(arguments: refusedDocuments.filter { $0.reason != .byteOrderMark && $0.reason != .unexpectedEnd })
    func refusesInAMemberNobodyReads(refused: Refusal) {
        let bytes = Array(#"{"unread":"#.utf8) + refused.document.bytes + Array(#","id":1}"#.utf8)
        #expect(refusal(bytes) != nil)
    }

    @Test(arguments: acceptedDocuments)
    func accepts(accepted: Case) throws {
        #expect(refusal(accepted.bytes) == nil)
        #expect(ReferenceGrammar.accepts(accepted.bytes))
        let root = try parse(accepted.bytes)
        // White space aside, the root's octets are the document, and a part read alone is what it is in the whole.
        #expect(try Tree(parse(Array(root.rawBytes))) == Tree(root))
    }

    @Test func tablesAreAsLargeAsPromised() {
        #expect(acceptedDocuments.count >= 90)
        #expect(refusedDocuments.count >= 180)
        #expect(Set(acceptedDocuments.map(\.name)).count == acceptedDocuments.count)
        #expect(Set(refusedDocuments.map(\.document.name)).count == refusedDocuments.count)
    }

    /// A second opinion on what strings, names and nesting mean. Numbers are left out, since `Decodable` rounds them, and
    /// names that are canonically equivalent, since it takes them for one.
    @Test(arguments: acceptedDocuments.filter { !$0.name.contains("canonically equivalent") })
    func agreesWithTheDecoderOfThePlatform(accepted: Case) throws {
        let theirs = try JSONDecoder().decode(DecodedTree.self, from: Data(accepted.bytes))
        #expect(try theirs.tree == Tree(parse(accepted.bytes)).withoutNumbers)
    }

    @Test(arguments: [
        #"{"id":"evt_1","n":[1,-2.5e3,0.1,{"a\u0062":"\ud83d\ude00é\n"}],"t":true,"f":false,"z":null,"":{}}"#,
        "[[],{},\"\u{10FFFF}\", 0 ]",
    ])
    func refusesEveryBeginningOfADocument(text: String) {
        let bytes = Array(text.utf8)
        #expect(refusal(bytes) == nil)
        for length in 0..<bytes.count {
            #expect(refusal(Array(bytes.prefix(length))) != nil, "first \(length) octets")
        }
    }
}

/// The platform decoder's reading of a document.
private struct DecodedTree: Decodable {
    let tree: Tree

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }
        init?(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(from decoder: any Decoder) throws {
        if let members = try? decoder.container(keyedBy: Key.self) {
            var read: [[UInt8]: Tree] = [:]
            for key in members.allKeys {
                read[Array(key.stringValue.utf8)] = try members.decode(DecodedTree.self, forKey: key).tree
            }
            tree = .object(read)
        } else if var elements = try? decoder.unkeyedContainer() {
            var read: [Tree] = []
            while !elements.isAtEnd { read.append(try elements.decode(DecodedTree.self).tree) }
            tree = .array(read)
        } else {
            let scalar = try decoder.singleValueContainer()
            if scalar.decodeNil() {
                tree = .null
            } else if let bool = try? scalar.decode(Bool.self) {
                tree = .bool(bool)
            } else if let string = try? scalar.decode(String.self) {
                tree = .string(Array(string.utf8))
            } else {
                tree = .number([])
            }
        }
    }
}

extension Tree {
    fileprivate var withoutNumbers: Tree {
        switch self {
        case .number: .number([])
        case .array(let elements): .array(elements.map(\.withoutNumbers))
        case .object(let members): .object(members.mapValues(\.withoutNumbers))
        default: self
        }
    }
}
