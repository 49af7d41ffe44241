/// The length of a name and eight octets from either end: all of a name that has no more than sixteen.
struct NameEnds: Equatable {
    let count: Int
    /// Of a name with fewer than eight octets, those there are, and zeros.
    let first: UInt64
    /// Zero where there are fewer than eight.
    let last: UInt64

    @inline(__always)
    init(of name: Span<UInt8>) {
        count = name.count
        if count >= 8 {
            first = name.word(at: 0)
            last = name.word(at: count &- 8)
        } else if count >= 4 {
            // The halves overlap in octets that are the same in both.
            let upper = UInt64(name.halfWord(at: count &- 4))
            first = UInt64(name.halfWord(at: 0)) | upper &<< (UInt64(truncatingIfNeeded: count &- 4) &* 8)
            last = 0
        } else {
            var octets: UInt64 = 0
            for index in 0..<count { octets |= UInt64(name[index]) &<< (UInt64(truncatingIfNeeded: index) &* 8) }
            first = octets
            last = 0
        }
    }

    /// A name inside a document, where most often something follows it that can be read together with it.
    @inline(__always)
    init(of text: Span<UInt8>, _ start: Int, _ end: Int) {
        let name = text.extracting(start..<end)
        if name.count >= 8 {
            count = name.count
            first = name.word(at: 0)
            last = name.word(at: count &- 8)
        } else if start &+ 8 <= text.count {
            count = name.count
            let kept = (1 &<< (UInt64(truncatingIfNeeded: count) &* 8)) &- 1
            first = text.word(at: start) & kept
            last = 0
        } else {
            self = Self.atEnd(name)
        }
    }

    @inline(never)
    private static func atEnd(_ name: Span<UInt8>) -> NameEnds { NameEnds(of: name) }
}
