/// Base64 as in RFC 4648 §4, where every value has exactly one text.
package enum Base64 {
    /// The octets that canonical, padded base64 stands for.
    ///
    /// - Throws: `malformed` for other characters, white space, missing or surplus padding, and unused bits that are set.
    package static func decode(_ text: Span<UInt8>) throws(SignatureError) -> [UInt8] {
        guard text.count % 4 == 0 else {
            throw SignatureError(.malformed, "base64 of \(text.count) characters is not padded")
        }
        var end = text.count
        if end > 0, text[end - 1] == UInt8(ascii: "=") {
            end -= 1
            if text[end - 1] == UInt8(ascii: "=") { end -= 1 }
        }
        return try Base64Alphabet.standard.decode(text.extracting(..<end))
    }

    package static func decode(_ text: [UInt8], _ range: Range<Int>) throws(SignatureError) -> [UInt8] {
        try require(range, within: text)
        return try decode(text.span.extracting(range))
    }

    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        Base64Alphabet.standard.encode(bytes, padded: true)
    }
}

/// Base64 with the URL-safe alphabet and no padding (RFC 7515 §2), where every value has exactly one text.
package enum Base64URL {
    /// The octets that unpadded base64url stands for.
    ///
    /// - Throws: `malformed` for other characters, padding, white space, an impossible length, and unused bits that are set.
    package static func decode(_ text: Span<UInt8>) throws(SignatureError) -> [UInt8] {
        try Base64Alphabet.url.decode(text)
    }

    package static func decode(_ text: [UInt8], _ range: Range<Int>) throws(SignatureError) -> [UInt8] {
        try require(range, within: text)
        return try decode(text.span.extracting(range))
    }

    package static func encode(_ bytes: Span<UInt8>) -> [UInt8] {
        Base64Alphabet.url.encode(bytes, padded: false)
    }
}

/// - Throws: `malformed` unless the range lies inside.
private func require(_ range: Range<Int>, within bytes: [UInt8]) throws(SignatureError) {
    guard range.lowerBound >= 0, range.upperBound <= bytes.count else {
        throw SignatureError(.malformed, "range reaches outside \(bytes.count) octets")
    }
}

/// The 64 characters of one variant and the tables that read them.
///
/// A class, because each use of a structure would copy its tables.
private final class Base64Alphabet: Sendable {
    static let standard = Base64Alphabet("+/")
    static let url = Base64Alphabet("-_")

    private let characters: [UInt8]
    /// For each place in a group of four and each character, its six bits where they belong in the 24-bit
    /// group; `invalid` for characters outside the alphabet. 4 × 256 entries, so that a group takes four loads.
    private let places: InlineArray<1024, UInt32>
    private static let invalid: UInt32 = 1 << 31

    init(_ lastTwo: String) {
        characters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789".utf8) + Array(lastTwo.utf8)
        var places = InlineArray<1024, UInt32>(repeating: Self.invalid)
        for (value, character) in characters.enumerated() {
            for place in 0..<4 {
                places[place * 256 + Int(character)] = UInt32(value) << UInt32(18 - 6 * place)
            }
        }
        self.places = places
    }

    /// Decodes whole groups and an unpadded rest.
    func decode(_ text: Span<UInt8>) throws(SignatureError) -> [UInt8] {
        // An array without room is the empty one that all threads share, and its count would be written below.
        guard !text.isEmpty else { return [] }
        let groups = text.count / 4
        let rest = text.count % 4
        guard rest != 1 else {
            throw SignatureError(.malformed, "base64 of \(text.count) characters stands for no octets")
        }
        // Every defect ends up in this one word, so that the loop does not branch on the input.
        var defects: UInt32 = 0
        let octets = unsafe [UInt8](unsafeUninitializedCapacity: groups * 3 + max(rest - 1, 0)) { output, count in
            let room = UnsafeMutableRawBufferPointer(output)
            var group = 0
            // Of this closure alone, so that it need not be stored each time.
            var found: UInt32 = 0
            // Four groups for one check. Four octets are written for each, of which the last is the next one's first:
            // another group or a rest has to follow.
            while group &* 4 &+ 16 < text.count {
                let characters = text.extracting(group &* 4..<group &* 4 &+ 16)
                for part in 0..<4 {
                    let bits = bits(characters, part &* 4)
                    found |= bits
                    unsafe room.storeBytes(
                        of: bits.byteSwapped &>> 8,
                        toByteOffset: (group &+ part) &* 3,
                        as: UInt32.self
                    )
                }
                group &+= 4
            }
            while group < groups {
                let bits = bits(text.extracting(group &* 4..<group &* 4 &+ 4), 0)
                found |= bits
                unsafe output[group &* 3] = UInt8(truncatingIfNeeded: bits &>> 16)
                unsafe output[group &* 3 &+ 1] = UInt8(truncatingIfNeeded: bits &>> 8)
                unsafe output[group &* 3 &+ 2] = UInt8(truncatingIfNeeded: bits)
                group &+= 1
            }
            defects = found
            count = groups * 3
            let start = groups * 4
            if rest == 2 {
                let bits = places[Int(text[start])] | places[256 + Int(text[start + 1])]
                defects |= bits | (bits & 0xffff == 0 ? 0 : Self.invalid)
                unsafe output[count] = UInt8(truncatingIfNeeded: bits >> 16)
                count += 1
            } else if rest == 3 {
                let bits =
                    places[Int(text[start])] | places[256 + Int(text[start + 1])] | places[512 + Int(text[start + 2])]
                defects |= bits | (bits & 0xff == 0 ? 0 : Self.invalid)
                unsafe output[count] = UInt8(truncatingIfNeeded: bits >> 16)
                unsafe output[count + 1] = UInt8(truncatingIfNeeded: bits >> 8)
                count += 2
            }
        }
        guard defects & Self.invalid == 0 else {
            throw SignatureError(.malformed, "base64 of \(text.count) characters is not canonical")
        }
        return octets
    }

    /// The 24 bits of four characters, and `invalid` if one is.
    @inline(__always)
    private func bits(_ text: Span<UInt8>, _ start: Int) -> UInt32 {
        places[Int(text[start])] | places[256 &+ Int(text[start &+ 1])] | places[512 &+ Int(text[start &+ 2])]
            | places[768 &+ Int(text[start &+ 3])]
    }

    func encode(_ bytes: Span<UInt8>, padded: Bool) -> [UInt8] {
        return [UInt8](capacity: (bytes.count / 3 + 1) * 4) { output in
            var index = 0
            while index < bytes.count {
                let count = min(3, bytes.count - index)
                var bits = UInt32(bytes[index]) << 16
                if count > 1 { bits |= UInt32(bytes[index + 1]) << 8 }
                if count > 2 { bits |= UInt32(bytes[index + 2]) }
                for place in 0...count {
                    output.append(characters[Int(bits >> UInt32(18 - 6 * place)) & 63])
                }
                if padded {
                    for _ in count..<3 { output.append(UInt8(ascii: "=")) }
                }
                index += 3
            }
        }
    }
}
