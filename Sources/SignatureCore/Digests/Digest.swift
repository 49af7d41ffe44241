/// A SHA-256 digest, compared in constant time.
package struct Digest: Sendable, Hashable, CustomStringConvertible {
    private let octets: InlineArray<32, UInt8>

    init(_ octets: InlineArray<32, UInt8>) {
        self.octets = octets
    }

    /// A digest received from elsewhere; nil unless it has 32 octets.
    package init?(_ bytes: Span<UInt8>) {
        guard bytes.count == 32 else { return nil }
        octets = InlineArray { bytes[$0] }
    }

    package var bytes: [UInt8] {
        octets.indices.map { octets[$0] }
    }

    /// Sixty-four lower-case hexadecimal digits.
    package var hexadecimal: String { hexadecimal(octets: octets.count) }

    /// The lower-case hexadecimal digits of its first octets, two for each.
    package func hexadecimal(octets count: Int) -> String {
        var text = InlineArray<64, UInt8>(repeating: 0)
        let count = min(max(count, 0), octets.count)
        for index in 0..<count {
            text[2 &* index] = Self.digit(octets[index] &>> 4)
            text[2 &* index &+ 1] = Self.digit(octets[index] & 15)
        }
        let digits = text.span.extracting(first: 2 &* count)
        return unsafe digits.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    @inline(__always)
    private static func digit(_ value: UInt8) -> UInt8 {
        value &+ (value < 10 ? UInt8(ascii: "0") : UInt8(ascii: "a") &- 10)
    }

    /// Reads sixty-four lower-case hexadecimal digits; nil for anything else.
    package init?(hexadecimal text: Span<UInt8>) {
        guard text.count == 64 else { return nil }
        var octets = InlineArray<32, UInt8>(repeating: 0)
        var all: UInt8 = 0
        for index in octets.indices {
            let high = Self.value(ofDigit: text[2 &* index])
            let low = Self.value(ofDigit: text[2 &* index &+ 1])
            all |= high | low
            octets[index] = high &<< 4 | low
        }
        guard all < 16 else { return nil }
        self.octets = octets
    }

    /// More than fifteen for a character that is no digit.
    @inline(__always)
    private static func value(ofDigit octet: UInt8) -> UInt8 {
        let number = octet &- UInt8(ascii: "0")
        if number < 10 { return number }
        let letter = octet &- UInt8(ascii: "a")
        return letter < 6 ? letter &+ 10 : 0xFF
    }

    /// Eight octets from the one at `index`, most significant first.
    package func word(at index: Int) -> UInt64 {
        var word: UInt64 = 0
        for offset in 0..<8 { word = word &<< 8 | UInt64(octets[index &+ offset]) }
        return word
    }

    package var description: String { hexadecimal }

    package static func == (left: Digest, right: Digest) -> Bool {
        constantTimeEquals(left.octets.span, right.octets.span)
    }

    package func hash(into hasher: inout Hasher) {
        for index in octets.indices {
            hasher.combine(octets[index])
        }
    }
}
