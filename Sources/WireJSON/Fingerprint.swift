/// Thirty-one bits drawn from both ends of a member name, so that most unequal names differ in it
/// without looking at them again.
///
/// Anyone can make names that share one; nothing here relies on that being hard.
struct Fingerprint: Equatable {
    /// Bit 0 is always clear: the index keeps a flag there.
    let bits: UInt32

    @inline(__always)
    init(bits: UInt32) {
        self.bits = bits
    }

    @inline(__always)
    init(_ ends: NameEnds) {
        let second = ends.second &<< 32 | ends.second &>> 32
        let mixed = (ends.first ^ second) &* 0x9E37_79B9_7F4A_7C15
        self.init(bits: UInt32(truncatingIfNeeded: mixed &>> 32) & ~1)
    }

    /// The fingerprint of the octets that an escaped name stands for.
    @inline(never)
    init(ofEscaped text: Span<UInt8>, _ start: Int, _ end: Int) {
        let decoded = StringSyntax.decode(text, start..<end)
        self.init(NameEnds(of: decoded.span))
    }
}

extension Span<UInt8> {
    /// Eight octets, the first one lowest.
    @inline(__always)
    func word(at index: Int) -> UInt64 {
        // One check for eight octets: the sub-span's count is a constant to the optimizer.
        extracting(index..<index &+ 8).word(after: 0)
    }

    /// Four octets, the first one lowest.
    @inline(__always)
    func halfWord(at index: Int) -> UInt32 {
        let octets = extracting(index..<index &+ 4)
        return UInt32(octets[0]) | UInt32(octets[1]) &<< 8 | UInt32(octets[2]) &<< 16 | UInt32(octets[3]) &<< 24
    }

    /// Sixteen octets as two words.
    @inline(__always)
    func words(at index: Int) -> (UInt64, UInt64) {
        let octets = extracting(index..<index &+ 16)
        return (octets.word(after: 0), octets.word(after: 8))
    }

    @inline(__always)
    private func word(after start: Int) -> UInt64 {
        UInt64(self[start]) | UInt64(self[start &+ 1]) &<< 8 | UInt64(self[start &+ 2]) &<< 16
            | UInt64(self[start &+ 3]) &<< 24 | UInt64(self[start &+ 4]) &<< 32 | UInt64(self[start &+ 5]) &<< 40
            | UInt64(self[start &+ 6]) &<< 48 | UInt64(self[start &+ 7]) &<< 56
    }
}

/// How many of sixteen octets, the first one lowest, come before the first that is not zero.
@inline(__always)
func clearOctets(_ first: UInt64, _ second: UInt64) -> UInt32 {
    // Without a branch, which nothing would predict.
    let inFirst = first.trailingZeroBitCount &>> 3
    return UInt32(
        truncatingIfNeeded: inFirst &+ (second.trailingZeroBitCount &>> 3) & (0 &- inFirst &>> 3)
    )
}
