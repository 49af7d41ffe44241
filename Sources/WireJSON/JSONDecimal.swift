/// A decimal number, exactly: `coefficient` divided by ten to the power of `scale`.
///
/// In lowest terms, so that equal numbers are equal values: `1.50`, `1.5` and `15e-1` are all 15 and 1, and the scale
/// is only positive where a fraction remains.
package struct JSONDecimal: Hashable, Sendable, CustomStringConvertible {
    /// Digits before and after the point together; the magnitude of every such coefficient fits `Int128`.
    package static let maximumDigits = 38

    package let coefficient: Int128
    /// Digits after the point, from 0 to `maximumDigits`.
    package let scale: Int

    /// The number, when it is whole and fits 64 bits.
    package var int64: Int64? { scale == 0 ? Int64(exactly: coefficient) : nil }

    /// Plain notation, without exponent.
    package var description: String {
        let digits = String(coefficient.magnitude)
        let sign = coefficient < 0 ? "-" : ""
        guard scale > 0 else { return sign + digits }
        let padded = String(repeating: "0", count: max(0, scale + 1 - digits.utf8.count)) + digits
        return "\(sign)\(padded.dropLast(scale)).\(padded.suffix(scale))"
    }

    /// Reads a number whose grammar was checked; `nil` when it has too many digits.
    init?(_ text: Span<UInt8>, _ range: Range<Int>) {
        var index = range.lowerBound
        let isNegative = text[index] == UInt8(ascii: "-")
        if isNegative { index &+= 1 }

        var coefficient: Int128 = 0
        var significant = 0
        // Zeros since the last digit that counts: they matter only if another one follows.
        var zeros = 0
        var fraction = 0
        var isFraction = false
        while index < range.upperBound {
            let octet = text[index]
            if octet == UInt8(ascii: ".") {
                isFraction = true
            } else if octet &- UInt8(ascii: "0") < 10 {
                if isFraction { fraction &+= 1 }
                if octet == UInt8(ascii: "0") {
                    zeros &+= 1
                } else {
                    if significant > 0 {
                        guard significant &+ zeros < Self.maximumDigits else { return nil }
                        for _ in 0..<zeros { coefficient *= 10 }
                        significant &+= zeros
                    }
                    coefficient = coefficient * 10 + Int128(octet &- UInt8(ascii: "0"))
                    significant &+= 1
                    zeros = 0
                }
            } else {
                break
            }
            index &+= 1
        }
        guard significant > 0 else {
            self.coefficient = 0
            self.scale = 0
            return
        }

        // No document is long enough for a mantissa that brings an exponent beyond this back into range.
        let bound = 1 << 40
        var exponent = 0
        if index < range.upperBound {
            index &+= 1
            let isBelow = text[index] == UInt8(ascii: "-")
            if isBelow || text[index] == UInt8(ascii: "+") { index &+= 1 }
            while index < range.upperBound {
                exponent = min(bound, exponent &* 10 &+ Int(text[index] &- UInt8(ascii: "0")))
                index &+= 1
            }
            if isBelow { exponent = -exponent }
        }

        var scale = fraction &- zeros &- exponent
        if scale < 0 {
            guard significant &- scale <= Self.maximumDigits else { return nil }
            for _ in scale..<0 { coefficient *= 10 }
            scale = 0
        }
        guard scale <= Self.maximumDigits else { return nil }
        self.coefficient = isNegative ? -coefficient : coefficient
        self.scale = scale
    }
}

extension Int64 {
    /// True for an integer that every reader of JSON reads exactly, also one that keeps numbers in binary64 (RFC 8259
    /// §6).
    package var isExactInJSON: Bool { magnitude < 1 << 53 }
}
