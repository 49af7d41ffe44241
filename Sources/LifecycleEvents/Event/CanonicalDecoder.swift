import FoundationEssentials
import WireJSON

/// Reads the values of a document that is indexed once, without the dictionaries that Foundation's decoder makes of its objects.
final class CanonicalDecoder: Decoder {
    fileprivate let value: JSONValue
    private let place: Place
    private let parent: CanonicalDecoder?

    var userInfo: [CodingUserInfoKey: Any] { [:] }

    var codingPath: [any CodingKey] {
        var path: [any CodingKey] = []
        var decoder = self
        while let parent = decoder.parent {
            path.append(decoder.place)
            decoder = parent
        }
        return path.reversed()
    }

    private init(root: JSONValue) {
        value = root
        place = .element(0)
        parent = nil
    }

    fileprivate init(_ value: JSONValue, at place: Place, in parent: CanonicalDecoder) {
        self.value = value
        self.place = place
        self.parent = parent
    }

    static func value<Value: Decodable>(_ type: Value.Type, from bytes: [UInt8]) throws -> Value {
        // A state is as long as its history. The depth is the greatest that Foundation reads.
        var limits = JSONLimits.ofAnyLength
        limits.maximumNodes = .max
        limits.maximumDepth = 512
        let document: JSONDocument
        do { document = try JSONDocument(parsing: bytes, limits: limits) } catch {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: "\(error)"))
        }
        return try CanonicalDecoder(root: document.root).decode(type)
    }

    // MARK: Values

    /// Reads the whole value.
    fileprivate func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        guard type != Data.self, type != URL.self, type != Decimal.self else { return try decodeByFoundation(type) }
        return try Value(from: self)
    }

    /// Foundation reads these types otherwise than they read themselves.
    fileprivate func decodeByFoundation<Value: Decodable>(_ type: Value.Type) throws -> Value {
        if value.isNull { throw notFound(type) }
        do { return try JSONDecoder().decode(type, from: Data(value.rawBytes)) } catch DecodingError.dataCorrupted {
            throw DecodingError.dataCorrupted(
                .init(codingPath: codingPath, debugDescription: "The value is out of range.")
            )
        } catch {
            throw mismatch(type)
        }
    }

    fileprivate func string() throws -> String {
        do { return try value.string() } catch { throw mismatch(String.self) }
    }

    fileprivate func bool() throws -> Bool {
        do { return try value.bool() } catch { throw mismatch(Bool.self) }
    }

    fileprivate func integer<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) throws -> Value {
        guard value.kind == .number else { throw mismatch(type) }
        if let number = try? value.int64(), let exact = Value(exactly: number) { return exact }
        // Beyond 64 bits with a sign, or written as `1.0`.
        return try decodeByFoundation(type)
    }

    fileprivate func mismatch(_ type: Any.Type) -> DecodingError {
        if value.isNull { return notFound(type) }
        return .typeMismatch(type, .init(codingPath: codingPath, debugDescription: "The value is of another type."))
    }

    fileprivate func notFound(_ type: Any.Type) -> DecodingError {
        .valueNotFound(type, .init(codingPath: codingPath, debugDescription: "The value is null or missing."))
    }

    // MARK: Containers

    func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard let object = try? value.object() else { throw mismatch([String: Any].self) }
        return KeyedDecodingContainer(ObjectContents(decoder: self, object: object))
    }

    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard let array = try? value.array() else { throw mismatch([Any].self) }
        return ArrayContents(decoder: self, array: array)
    }

    func singleValueContainer() -> any SingleValueDecodingContainer { ScalarContent(decoder: self) }
}

/// Where a value stands in another.
private enum Place: CodingKey {
    case member(String)
    case element(Int)

    init(stringValue: String) { self = .member(stringValue) }

    init(intValue: Int) { self = .element(intValue) }

    var stringValue: String {
        switch self {
        case .member(let name): name
        case .element(let index): "Index \(index)"
        }
    }

    var intValue: Int? {
        switch self {
        case .member: nil
        case .element(let index): index
        }
    }
}

private struct ObjectContents<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let decoder: CanonicalDecoder
    let object: JSONObject

    var codingPath: [any CodingKey] { decoder.codingPath }
    var allKeys: [Key] { object.members.compactMap { Key(stringValue: $0.name) } }

    func contains(_ key: Key) -> Bool { object.contains(MemberName(key.stringValue)) }

    func decodeNil(forKey key: Key) throws -> Bool { try decoder.member(key.stringValue, of: object).value.isNull }

    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
        try decoder.member(key.stringValue, of: object).decode(type)
    }

    func decodeIfPresent<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value? {
        try decoder.presentMember(key.stringValue, of: object)?.decode(type)
    }

    func nestedContainer<Nested: CodingKey>(
        keyedBy type: Nested.Type,
        forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
        try decoder.member(key.stringValue, of: object).container(keyedBy: type)
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try decoder.member(key.stringValue, of: object).unkeyedContainer()
    }

    func superDecoder() throws -> any Decoder { try decoder.member("super", of: object) }

    func superDecoder(forKey key: Key) throws -> any Decoder { try decoder.member(key.stringValue, of: object) }
}

extension CanonicalDecoder {
    /// The member of an object, which has to be there.
    fileprivate func member(_ name: String, of object: JSONObject) throws -> CanonicalDecoder {
        if let value = object[MemberName(name)] { return CanonicalDecoder(value, at: .member(name), in: self) }
        throw DecodingError.keyNotFound(
            Place.member(name),
            .init(codingPath: codingPath, debugDescription: "There is no such member.")
        )
    }

    /// The member of an object; nil if it is absent or null.
    fileprivate func presentMember(_ name: String, of object: JSONObject) -> CanonicalDecoder? {
        guard let value = object[MemberName(name)], !value.isNull else { return nil }
        return CanonicalDecoder(value, at: .member(name), in: self)
    }
}

private struct ArrayContents: UnkeyedDecodingContainer {
    private let decoder: CanonicalDecoder
    private var rest: JSONArray.Iterator
    private var next: JSONValue?
    let count: Int?
    private(set) var currentIndex = 0

    init(decoder: CanonicalDecoder, array: JSONArray) {
        self.decoder = decoder
        rest = array.makeIterator()
        next = rest.next()
        count = array.count
    }

    var codingPath: [any CodingKey] { decoder.codingPath }
    var isAtEnd: Bool { next == nil }

    private func element(_ type: Any.Type) throws -> CanonicalDecoder {
        let place = Place.element(currentIndex)
        guard let next else {
            let path: [any CodingKey] = codingPath + [place]
            throw DecodingError.valueNotFound(
                type,
                .init(codingPath: path, debugDescription: "The array is at its end.")
            )
        }
        return CanonicalDecoder(next, at: place, in: decoder)
    }

    private mutating func advance() {
        next = rest.next()
        currentIndex += 1
    }

    mutating func decodeNil() throws -> Bool {
        guard try element(Any?.self).value.isNull else { return false }
        advance()
        return true
    }

    mutating func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
        let value = try element(type).decode(type)
        advance()
        return value
    }

    mutating func decodeIfPresent<Value: Decodable>(_ type: Value.Type) throws -> Value? {
        guard !isAtEnd, try !decodeNil() else { return nil }
        return try decode(type)
    }

    mutating func nestedContainer<Nested: CodingKey>(keyedBy type: Nested.Type) throws -> KeyedDecodingContainer<Nested>
    {
        let container = try element([String: Any].self).container(keyedBy: type)
        advance()
        return container
    }

    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        let container = try element([Any].self).unkeyedContainer()
        advance()
        return container
    }

    mutating func superDecoder() throws -> any Decoder {
        let element = try element(Any.self)
        advance()
        return element
    }
}

private struct ScalarContent: SingleValueDecodingContainer {
    let decoder: CanonicalDecoder

    var codingPath: [any CodingKey] { decoder.codingPath }

    func decodeNil() -> Bool { decoder.value.isNull }

    func decode(_ type: Bool.Type) throws -> Bool { try decoder.bool() }

    func decode(_ type: String.Type) throws -> String { try decoder.string() }

    func decode(_ type: Double.Type) throws -> Double { try decoder.decodeByFoundation(type) }

    func decode(_ type: Float.Type) throws -> Float { try decoder.decodeByFoundation(type) }

    func decode<Value: FixedWidthInteger & Decodable>(_ type: Value.Type) throws -> Value { try decoder.integer(type) }

    func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try decoder.decode(type) }
}
