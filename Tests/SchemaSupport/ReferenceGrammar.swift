/// The grammar of RFC 8259 with our refusals, written for clarity alone: the recursive way, one function a production.
///
/// The reader's verdicts are compared with its verdicts on generated documents.
package struct ReferenceGrammar {
    private let bytes: [UInt8]
    private var position = 0
    private struct Refused: Error {}

    package static func accepts(_ bytes: [UInt8]) -> Bool {
        guard String(validating: bytes, as: UTF8.self) != nil else { return false }
        var grammar = ReferenceGrammar(bytes: bytes)
        do {
            try grammar.value(depth: 0)
            grammar.space()
            return grammar.position == bytes.count
        } catch {
            return false
        }
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var next: UInt8? { position < bytes.count ? bytes[position] : nil }

    private mutating func take(_ character: Character) -> Bool {
        guard next == character.asciiValue else { return false }
        position += 1
        return true
    }

    private mutating func expect(_ text: String) throws {
        for character in text where !take(character) { throw Refused() }
    }

    private mutating func space() {
        while let octet = next, [0x20, 0x09, 0x0A, 0x0D].contains(octet) { position += 1 }
    }

    private mutating func value(depth: Int) throws {
        space()
        switch next.map({ Character(Unicode.Scalar($0)) }) {
        case "n": try expect("null")
        case "t": try expect("true")
        case "f": try expect("false")
        case "\"": _ = try string()
        case "[": try array(depth: depth + 1)
        case "{": try object(depth: depth + 1)
        default: try number()
        }
    }

    private mutating func array(depth: Int) throws {
        guard depth <= 64 else { throw Refused() }
        try expect("[")
        space()
        if take("]") { return }
        repeat {
            try value(depth: depth)
            space()
        } while take(",")
        try expect("]")
    }

    private mutating func object(depth: Int) throws {
        guard depth <= 64 else { throw Refused() }
        try expect("{")
        space()
        if take("}") { return }
        var names: Set<[UInt16]> = []
        repeat {
            space()
            guard names.insert(try string()).inserted else { throw Refused() }
            space()
            try expect(":")
            try value(depth: depth)
            space()
        } while take(",")
        try expect("}")
    }

    /// The string as UTF-16, in which an escape is one unit.
    private mutating func string() throws -> [UInt16] {
        try expect("\"")
        var units: [UInt16] = []
        while !take("\"") {
            guard let octet = next, octet >= 0x20 else { throw Refused() }
            if !take("\\") {
                let start = position
                repeat { position += 1 } while next.map { $0 & 0xC0 == 0x80 } ?? false
                units += String(decoding: bytes[start..<position], as: UTF8.self).utf16
            } else if take("u") {
                let digits = String(decoding: bytes[position..<min(position + 4, bytes.count)], as: UTF8.self)
                guard digits.utf8.count == 4, digits.utf8.allSatisfy({ Character(Unicode.Scalar($0)).isHexDigit }),
                    let unit = UInt16(digits, radix: 16)
                else { throw Refused() }
                position += 4
                units.append(unit)
            } else {
                let letters = Array(#""\/bfnrt"#.utf8)
                let meanings: [UInt16] = [0x22, 0x5C, 0x2F, 0x08, 0x0C, 0x0A, 0x0D, 0x09]
                guard let letter = next, let index = letters.firstIndex(of: letter) else { throw Refused() }
                position += 1
                units.append(meanings[index])
            }
        }
        guard String(validating: units, as: UTF16.self) != nil else { throw Refused() }
        return units
    }

    private mutating func number() throws {
        _ = take("-")
        if !take("0") { try digits() }
        if take(".") { try digits() }
        if take("e") || take("E") {
            if !take("+") { _ = take("-") }
            try digits()
        }
    }

    private mutating func digits() throws {
        let start = position
        while let octet = next, (0x30...0x39).contains(octet) { position += 1 }
        guard position > start else { throw Refused() }
    }
}
