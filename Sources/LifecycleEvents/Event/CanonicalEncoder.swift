import FoundationEssentials
import WireJSON

/// Writes a value as ``CanonicalJSON`` while the value describes itself.
///
/// Foundation's encoder first makes a tree of the whole value, which took two fifths of the processor time of a delivery that is stored.
/// This one appends to the document, and puts the members of an object in order where the object ends.
final class CanonicalEncoder: Encoder {
    private enum Form { case array, object }

    /// No type of this package uses the path of a value that it writes.
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    private let document: Document
    private var start: Int
    private var firstMember: Int
    private var form: Form?
    fileprivate private(set) var count = 0
    /// Values whose containers may still be written to, and the values that come after them.
    private var pending: [(name: String, encoder: CanonicalEncoder)] = []
    /// The encoder of the last value in this one, for the next.
    private var inner: CanonicalEncoder?

    private init(in document: Document = Document()) {
        self.document = document
        start = document.text.octets.count
        firstMember = document.text.members.count
    }

    static func octets(of value: some Encodable) throws -> [UInt8] {
        let encoder = CanonicalEncoder()
        try encoder.write(value)
        let octets = encoder.document.text.octets
        guard !octets.isEmpty else { throw encoder.error(value, "The value describes nothing.") }
        return octets
    }

    func container<Key: CodingKey>(keyedBy type: Key.Type) -> KeyedEncodingContainer<Key> {
        form = form ?? .object
        return KeyedEncodingContainer(ObjectWriter(encoder: self))
    }

    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        form = form ?? .array
        return ArrayWriter(encoder: self)
    }

    func singleValueContainer() -> any SingleValueEncodingContainer { ScalarWriter(encoder: self) }

    private func error(_ value: Any, _ description: String) -> EncodingError {
        .invalidValue(value, .init(codingPath: [], debugDescription: description))
    }

    // MARK: Values

    /// Writes the value of a member or an element, or the document's.
    fileprivate func write<Value: Encodable>(_ value: Value) throws {
        // Comparing types costs less than a cast that fails. Foundation writes three types otherwise than they describe themselves.
        if Value.self == String.self, let text = value as? String {
            write(text: text)
        } else if Value.self == Data.self || Value.self == URL.self || Value.self == Decimal.self {
            try writeByFoundation(value)
        } else {
            let encoder = takeInner()
            try value.encode(to: encoder)
            try encoder.finish()
            inner = encoder
        }
    }

    /// An encoder for a value that begins here. A value that has kept its encoder, or a container of it, does not share it.
    private func takeInner() -> CanonicalEncoder {
        guard isKnownUniquelyReferenced(&inner), let encoder = inner else { return CanonicalEncoder(in: document) }
        inner = nil
        encoder.start = document.text.octets.count
        encoder.firstMember = document.text.members.count
        encoder.form = nil
        encoder.count = 0
        encoder.pending = []
        return encoder
    }

    fileprivate func write(text: String) { document.text.append(quoting: text) }

    fileprivate func write(token: some StringProtocol) { document.text.octets.append(contentsOf: token.utf8) }

    /// Floating-point numbers, too, have the digits that Foundation gives them.
    fileprivate func writeByFoundation(_ value: some Encodable) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .withoutEscapingSlashes
        document.text.octets += try encoder.encode(value)
    }

    // MARK: Members and elements

    fileprivate func writeMember(_ name: String, _ value: some Encodable) throws {
        try write(value, of: .object, named: name)
    }

    fileprivate func writeElement(_ value: some Encodable) throws { try write(value, of: .array) }

    private func write(_ value: some Encodable, of form: Form, named name: String = "") throws {
        guard self.form == form else { throw error(value, "The value is both an object and an array.") }
        // A value after a container that may still be written to waits, as that one does.
        guard pending.isEmpty else { return try nested(named: name).write(value) }
        let mark = document.text.mark
        begin(name)
        do {
            let start = document.text.octets.count
            try write(value)
            if document.text.octets.count == start { write(token: "{}") }
            count += 1
        } catch {
            // A type may go on without a member that cannot be written.
            document.text.cut(to: mark)
            throw error
        }
    }

    private func begin(_ name: String) {
        if form == .object { document.text.beginMember(name) } else { document.text.beginElement() }
    }

    /// An encoder of a document of its own for a value that is complete only when this one is.
    fileprivate func nested(named name: String = "") -> CanonicalEncoder {
        let encoder = CanonicalEncoder()
        pending.append((name, encoder))
        count += 1
        return encoder
    }

    private func finish() throws {
        for (name, encoder) in pending {
            try encoder.finish()
            begin(name)
            let octets = encoder.document.text.octets
            if octets.isEmpty { write(token: "{}") } else { document.text.octets += octets }
        }
        switch form {
        case .object: document.text.endObject(from: start, firstMember: firstMember)
        case .array: document.text.end(from: start, UInt8(ascii: "["), UInt8(ascii: "]"))
        case nil: return
        }
    }
}

/// A document that is being written. Its encoders share it.
private final class Document {
    var text = Text()
}

/// The octets of a document that is being written, and the members of the objects that are still open.
private struct Text {
    typealias Member = (name: String, start: Int)

    var octets: [UInt8] = []
    private(set) var members: [Member] = []
    private var ordered: [UInt8] = []

    var mark: (octets: Int, members: Int) { (octets.count, members.count) }

    mutating func cut(to mark: (octets: Int, members: Int)) {
        octets.removeSubrange(mark.octets...)
        members.removeSubrange(mark.members...)
    }

    mutating func append(quoting text: String) { JSONText.append(quoted: text, to: &octets) }

    // MARK: Arrays and objects

    // Each element and member begins with a comma. The end of the array or object makes the first comma its bracket.
    mutating func beginElement() { octets.append(UInt8(ascii: ",")) }

    mutating func beginMember(_ name: String) {
        members.append((name, octets.count))
        octets.append(UInt8(ascii: ","))
        append(quoting: name)
        octets.append(UInt8(ascii: ":"))
    }

    mutating func end(from start: Int, _ first: UInt8, _ last: UInt8) {
        if octets.count == start { octets.append(first) } else { octets[start] = first }
        octets.append(last)
    }

    /// Puts members in the order of their names, octet by octet. Of several with one name the last stays.
    mutating func endObject(from start: Int, firstMember: Int) {
        let others = members.indices.dropFirst(firstMember + 1)
        if !others.allSatisfy({ Self.precedes(members[$0 - 1].name, members[$0].name) }) {
            order(from: start, firstMember: firstMember)
        }
        members.removeSubrange(firstMember...)
        end(from: start, UInt8(ascii: "{"), UInt8(ascii: "}"))
    }

    private mutating func order(from start: Int, firstMember: Int) {
        var ranges: [(name: String, octets: Range<Int>)] = []
        ranges.reserveCapacity(members.count - firstMember)
        for index in firstMember..<members.count {
            let end = index + 1 < members.count ? members[index + 1].start : octets.count
            ranges.append((members[index].name, members[index].start..<end))
        }
        ranges.sort {
            $0.name == $1.name
                ? $0.octets.lowerBound < $1.octets.lowerBound : Self.precedes($0.name, $1.name)
        }
        ordered.removeAll(keepingCapacity: true)
        for (index, member) in ranges.enumerated() {
            if index + 1 < ranges.count, ranges[index + 1].name == member.name { continue }
            ordered += octets[member.octets]
        }
        octets.replaceSubrange(start..., with: ordered)
    }

    private static func precedes(_ name: String, _ other: String) -> Bool {
        name.utf8.lexicographicallyPrecedes(other.utf8)
    }
}

private struct Null: Encodable {
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encodeNil()
    }
}

private struct ObjectWriter<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let encoder: CanonicalEncoder

    var codingPath: [any CodingKey] { [] }

    func encodeNil(forKey key: Key) throws { try encoder.writeMember(key.stringValue, Null()) }

    func encode(_ value: some Encodable, forKey key: Key) throws { try encoder.writeMember(key.stringValue, value) }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) -> KeyedEncodingContainer<Nested> {
        encoder.nested(named: key.stringValue).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        encoder.nested(named: key.stringValue).unkeyedContainer()
    }

    func superEncoder() -> any Encoder { encoder.nested(named: "super") }

    func superEncoder(forKey key: Key) -> any Encoder { encoder.nested(named: key.stringValue) }
}

private struct ArrayWriter: UnkeyedEncodingContainer {
    let encoder: CanonicalEncoder

    var codingPath: [any CodingKey] { [] }
    var count: Int { encoder.count }

    func encodeNil() throws { try encoder.writeElement(Null()) }

    func encode(_ value: some Encodable) throws { try encoder.writeElement(value) }

    func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) -> KeyedEncodingContainer<Nested> {
        encoder.nested().container(keyedBy: type)
    }

    func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer { encoder.nested().unkeyedContainer() }

    func superEncoder() -> any Encoder { encoder.nested() }
}

private struct ScalarWriter: SingleValueEncodingContainer {
    let encoder: CanonicalEncoder

    var codingPath: [any CodingKey] { [] }

    func encodeNil() throws { encoder.write(token: "null") }

    func encode(_ value: Bool) throws { encoder.write(token: value ? "true" : "false") }

    func encode(_ value: String) throws { encoder.write(text: value) }

    func encode(_ value: Double) throws { try encoder.writeByFoundation(value) }

    func encode(_ value: Float) throws { try encoder.writeByFoundation(value) }

    func encode(_ value: some FixedWidthInteger & Encodable) throws { encoder.write(token: String(value)) }

    func encode(_ value: some Encodable) throws { try encoder.write(value) }
}
