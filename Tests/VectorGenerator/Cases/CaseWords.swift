import ConformanceVectors
import SignatureCore
import WireJSON

/// `name`, or a slice of the text that it stands for: `name[from:to]`, where a negative bound counts from the end.
private struct CaseWord {
    let name: String
    private let bounds: [Substring]?

    /// - Parameter text: the text between two braces; nil if it is no word, but JSON for example.
    /// - Throws: `VectorError` for a slice without two bounds.
    init?(_ text: Substring) throws {
        let name = text.prefix { $0 != "[" }
        guard name.first?.isLetter == true, name.allSatisfy({ $0.isLetter || $0.isNumber || ".-".contains($0) }) else {
            return nil
        }
        self.name = String(name)
        if name.endIndex == text.endIndex {
            bounds = nil
        } else {
            let bounds = text[name.endIndex...].dropFirst().dropLast().split(
                separator: ":",
                omittingEmptySubsequences: false
            )
            guard text.last == "]", bounds.count == 2 else { throw VectorError("{\(text)}: no slice") }
            self.bounds = bounds
        }
    }

    /// The value of the word, or the slice of it.
    func slice(_ value: JSONText) throws -> JSONText {
        guard let bounds, let from = bounds.first, let to = bounds.last else { return value }
        let text = try value.string()
        let (start, end) = try (place(from, 0, in: text), place(to, text.count, in: text))
        guard start <= end else { throw VectorError("\(name): no slice [\(from):\(to)]") }
        return .string(String(text.dropFirst(start).prefix(end - start)))
    }

    private func place(_ bound: Substring, _ usual: Int, in text: String) throws -> Int {
        guard !bound.isEmpty else { return usual }
        guard let number = Int(bound), (-text.count...text.count).contains(number) else {
            throw VectorError("\(name): no place \(bound)")
        }
        return number < 0 ? text.count + number : number
    }
}

extension JSONText {
    /// The same with each `{word}` in its texts replaced. A text that is a word alone may become any value; within a longer
    /// text a value stands as JSON.
    ///
    /// - Parameter word: the replacement of a word in a text.
    /// - Throws: `VectorError` for a word that has none.
    func filled(_ word: (_ name: String, _ text: String) throws -> JSONText?) throws -> JSONText {
        switch self {
        case .object(let members): return .object(JSONMembers(try members.map { ($0.name, try $0.value.filled(word)) }))
        case .array(let elements): return .array(try elements.map { try $0.filled(word) })
        case .raw(let raw) where raw.first == "\"" && raw.contains("{"): return try Self.filled(string(), word) ?? self
        case .string(let text): return try Self.filled(text, word) ?? self
        default: return self
        }
    }

    /// The same, with words that stand for the same in every text.
    func filled(_ word: (_ name: String) throws -> JSONText?) throws -> JSONText {
        try filled { name, _ in try word(name) }
    }

    private static func filled(_ text: String, _ word: (String, String) throws -> JSONText?) throws -> JSONText? {
        var result = ""
        var rest = text[...]
        var isFilled = false
        while let end = rest.firstIndex(of: "}") {
            let part = rest[...end]
            rest = rest[part.endIndex...]
            guard let start = part.lastIndex(of: "{"), let found = try CaseWord(part[start...].dropFirst().dropLast())
            else {
                result += part
                continue
            }
            guard let replacement = try word(found.name, text) else {
                throw VectorError("{\(found.name)}: no such word")
            }
            let value = try found.slice(replacement)
            if part[start...].count == text.count { return value }
            result += try part[..<start] + (value.isText ? value.string() : value.text)
            isFilled = true
        }
        return isFilled ? .string(result + rest) : nil
    }

    private var isText: Bool {
        switch self {
        case .string: true
        case .raw(let raw): raw.first == "\""
        default: false
        }
    }

    /// The text, of a value that is one.
    func string() throws -> String {
        if case .string(let text) = self { return text }
        return try JSONDocument(parsing: bytes).root.string()
    }

    /// A text as it stands, any other value as JSON.
    var octets: [UInt8] {
        get throws { isText ? Array(try string().utf8) : bytes }
    }
}

extension [UInt8] {
    /// The octets of a text in hexadecimal.
    init(hexadecimal text: String) throws {
        let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else {
            throw VectorError("not in hexadecimal: \(text.prefix(80))")
        }
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

extension Sequence<UInt8> {
    var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

extension [String: JSONText] {
    /// The words of a JWS in compact serialisation: itself, under `name`, and its parts.
    ///
    /// - Parameter parts: its text in UTF-8, in parts between which a dot goes.
    init(jws parts: [[UInt8]], named name: String) {
        let text = String(decoding: Array(parts.joined(separator: ".".utf8)), as: UTF8.self)
        self = [name: .string(text)]
        for (part, text) in zip(["header", "payload", "signature"], text.split(separator: ".")) {
            self["\(name).\(part)"] = .string(String(text))
        }
    }
}
