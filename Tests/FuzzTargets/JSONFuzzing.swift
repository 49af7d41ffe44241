import ConformanceVectors
import SchemaSupport
import WireJSON

/// The reader agrees with a grammar written for clarity alone, and what it takes can be read to the last octet.
enum JSONFuzzing {
    static func run(_ input: [UInt8], _ meter: inout Meter) throws(Violation) -> Outcome {
        let document: JSONDocument?
        do throws(JSONError) {
            document = try meter { () throws(JSONError) in try JSONDocument(parsing: input) }
        } catch {
            document = nil
            try promise(0...input.count ~= error.offset, "an error lies outside of the document")
            try promise(!error.description.contains(Corpus.canary), "an error shows what was read")
            if case .tooManyNodes = error.reason { return .refused }
        }
        try promise((document != nil) == ReferenceGrammar.accepts(input), "reader and grammar disagree")
        guard let document else { return .refused }
        do {
            try meter { try readAll(document.root, in: input.indices, of: input) }
        } catch let violation as Violation {
            throw violation
        } catch {
            throw Violation("what was accepted cannot be read: \(error)")
        }
        return .accepted
    }

    private static func readAll(_ value: JSONValue, in range: Range<Int>, of bytes: [UInt8]) throws {
        let raw = value.rawBytes
        try promise(range.lowerBound <= raw.startIndex && raw.endIndex <= range.upperBound, "a value lies outside")
        switch value.kind {
        case .null: break
        case .bool: _ = try value.bool()
        case .number:
            let decimal = try? value.decimal()
            if let integer = try? value.int64() {
                try promise(decimal?.int64 == integer, "an integer and its decimal differ")
            }
        case .string:
            let octets = try value.utf8()
            try promise(value.isString(try value.string()), "a string is not itself")
            if let inside = value.rawUTF8Range {
                try promise(bytes[inside].elementsEqual(octets), "a string lies elsewhere")
            }
        case .array:
            let elements = Array(try value.array())
            try promise(try elements.count == value.array().count, "an array has another count")
            for element in elements { try readAll(element, in: raw.indices, of: bytes) }
        case .object:
            let object = try value.object()
            var count = 0
            for (_, member) in object.members {
                count += 1
                try readAll(member, in: raw.indices, of: bytes)
            }
            try promise(count == object.count, "an object has another count")
            if let (name, member) = object.members.first(where: { _ in true }) {
                try promise(object[MemberName(name)]?.offset == member.offset, "a member is not found by its name")
            }
        }
    }

    static func seeds() -> [[UInt8]] {
        Corpus.vectors.filter { $0.body.count < 4096 }.map(\.body)
            + Corpus.signedPayloads.compactMap(JWSFuzzing.payload)
            + [
                Array(#"{"a":[1,-2.50e+3,0.1,{"a\u0062":"\ud83d\ude00é\n"}],"t":true,"f":false,"z":null}"#.utf8),
                Array(#"{"c4n4ry-0123456789":"c4n4ry-0123456789","c4n4ry-0123456789":0}"#.utf8),
            ]
    }
}
