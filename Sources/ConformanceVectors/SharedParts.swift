import Normalizer
import ReceiverConfiguration
import SignatureCore
package import WireJSON

/// The parts to which the lines of a file refer. Its first line may have them: `{"shared":{"objects":{…},"texts":{…}}}`.
///
/// Root certificates, key sets and tokens are the same in hundreds of cases, and a megabyte each time if written out.
package struct SharedParts: Sendable {
    private var objects: [String: JSONValue] = [:]
    private var texts: [String: [UInt8]] = [:]

    /// Nothing is shared: every line says everything itself.
    package init() {}

    private init(_ value: JSONValue) throws(JSONError) {
        let shared = try ObjectReader(value)
        if let value = shared.optionalValue("objects") {
            for member in try value.object().members { objects[member.name] = member.value }
        }
        if let value = shared.optionalValue("texts") {
            // A text may be made of those before it.
            for member in try value.object().members {
                let text = try octets(member.value)
                texts[member.name] = text
            }
        }
    }

    /// Reads a line; nil if it is a case.
    package static func read(_ line: ArraySlice<UInt8>) throws(VectorError) -> SharedParts? {
        // Most lines are cases, which are not parsed twice.
        guard line.starts(with: Array(#"{"shared":"#.utf8)) else { return nil }
        do throws(JSONError) {
            let document = try JSONDocument(parsing: Array(line), limits: Receivers.limits)
            return try SharedParts(try ObjectReader(document.root).value("shared"))
        } catch {
            throw VectorError("not the shared parts of a file: \(error)")
        }
    }

    /// A value, whole: where it is an object with a member `base`, the object of that name, changed by the other members.
    package func whole(_ value: JSONValue) throws(JSONError) -> JSONValue {
        guard value.kind == .object, let base = try ObjectReader(value).optionalValue("base") else { return value }
        guard let object = objects[try base.string()] else { throw base.error(.missing) }
        let changes = try value.object().members.filter { $0.name != "base" }
        let text = try Self.changed(object, by: changes)
        return try JSONDocument(parsing: text, limits: Receivers.limits).root
    }

    /// The text of an object after changes: null takes a member away, an object changes one, and anything else replaces it.
    private static func changed(
        _ object: JSONValue,
        by changes: [(name: String, value: JSONValue)]
    ) throws(JSONError) -> [UInt8] {
        let object = try object.object().members
        var texts: [[UInt8]] = []
        for (name, value) in object {
            guard let change = changes.first(where: { $0.name == name })?.value else {
                texts.append(member(name, Array(value.rawBytes)))
                continue
            }
            switch (change.kind, value.kind) {
            case (.null, _): break
            case (.object, .object): texts.append(member(name, try changed(value, by: Array(change.object().members))))
            default: texts.append(member(name, Array(change.rawBytes)))
            }
        }
        for change in changes where !object.contains(where: { $0.name == change.name }) {
            texts.append(member(change.name, Array(change.value.rawBytes)))
        }
        return [UInt8(ascii: "{")] + Array(texts.joined(separator: [UInt8(ascii: ",")])) + [UInt8(ascii: "}")]
    }

    /// A member, whose name is written as the encoder escapes it.
    private static func member(_ name: String, _ value: [UInt8]) -> [UInt8] {
        ((try? CanonicalJSON.bytes(name)) ?? Array("\"\"".utf8)) + [UInt8(ascii: ":")] + value
    }

    /// The octets that a text stands for: a string; `{"text":name}`, which the file shares; `{"base64":text}` or
    /// `{"base64url":text}`, the encoding of another text; or a list of these, one after the other.
    package func octets(_ value: JSONValue) throws(JSONError) -> [UInt8] {
        switch value.kind {
        case .string: return try value.utf8()
        case .array:
            var octets: [UInt8] = []
            for part in try value.array() {
                let more = try self.octets(part)
                octets += more
            }
            return octets
        default:
            let reader = try ObjectReader(value)
            if let inner = reader.optionalValue("base64") {
                let octets = try octets(inner)
                return Base64.encode(octets.span)
            }
            if let inner = reader.optionalValue("base64url") {
                let octets = try octets(inner)
                return Base64URL.encode(octets.span)
            }
            let name = try reader.value("text")
            guard let text = texts[try name.string()] else { throw name.error(.missing) }
            return text
        }
    }
}
