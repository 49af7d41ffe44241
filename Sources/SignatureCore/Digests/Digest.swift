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

    package func withSpan<Result, Failure: Error>(
        _ body: (Span<UInt8>) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try body(octets.span)
    }

    package var bytes: [UInt8] {
        octets.indices.map { octets[$0] }
    }

    /// Sixty-four lower-case hexadecimal digits.
    package var hexadecimal: String {
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(64)
        for index in octets.indices {
            text.append(digits[Int(octets[index] >> 4)])
            text.append(digits[Int(octets[index] & 15)])
        }
        return String(decoding: text, as: UTF8.self)
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
