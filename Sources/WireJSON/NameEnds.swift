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
        guard start &+ 8 <= text.count else {
            self = Self.atEnd(text.extracting(start..<end))
            return
        }
        // Without a branch on the length, which nothing would predict.
        count = end &- start
        let isLong = UInt64(truncatingIfNeeded: (7 &- count) &>> 63)
        let kept = (1 &<< (UInt64(truncatingIfNeeded: count) &* 8)) &- 1
        first = text.word(at: start) & (kept | isLong)
        last = text.word(at: max(end &- 8, 0)) & isLong
    }

    @inline(never)
    private static func atEnd(_ name: Span<UInt8>) -> NameEnds { NameEnds(of: name) }
}
