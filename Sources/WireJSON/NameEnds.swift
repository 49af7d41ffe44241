/// Eight octets from either end of a name, and its length: all of one that has no more than sixteen.
struct NameEnds: Equatable {
    let first: UInt64
    /// The octets after the eighth; where there are fewer, zeros follow. Of a name with more than sixteen, the last eight
    /// and, added to them, how many more it has.
    let second: UInt64

    @inline(__always)
    private init(_ first: UInt64, _ second: UInt64) {
        self.first = first
        self.second = second
    }

    @inline(__always)
    init(of name: Span<UInt8>) {
        let count = name.count
        if count >= 16 {
            self.init(of: name, 0, count)
        } else if count >= 8 {
            // Octets that both words hold are shifted out of the second.
            let last = name.word(at: count &- 8)
            self.init(name.word(at: 0), last >> (UInt64(truncatingIfNeeded: 16 &- count) &* 8))
        } else if count >= 4 {
            // The halves overlap in octets that are the same in both.
            let upper = UInt64(name.halfWord(at: count &- 4))
            let lower = UInt64(name.halfWord(at: 0))
            self.init(lower | upper &<< (UInt64(truncatingIfNeeded: count &- 4) &* 8), 0)
        } else {
            var octets: UInt64 = 0
            for index in 0..<count { octets |= UInt64(name[index]) &<< (UInt64(truncatingIfNeeded: index) &* 8) }
            self.init(octets, 0)
        }
    }

    /// The ends of a name of at least sixteen octets.
    @inline(__always)
    init(of text: Span<UInt8>, _ start: Int, _ end: Int) {
        self.init(text.word(at: start), text.word(at: end &- 8) &+ UInt64(truncatingIfNeeded: end &- start &- 16))
    }

    /// The ends of a name that is followed, within its first sixteen octets, by the first remarkable one.
    @inline(__always)
    init(of words: (UInt64, UInt64), before remarkable: (UInt64, UInt64)) {
        let first = Self.octets(before: remarkable.0)
        let second = remarkable.0 == 0 ? Self.octets(before: remarkable.1) : 0
        self.init(words.0 & first, words.1 & second)
    }

    /// All ones below the octet of the lowest top bit that is set, and everywhere if there is none.
    @inline(__always)
    private static func octets(before remarkable: UInt64) -> UInt64 {
        let lowest = remarkable &>> 7
        return (lowest &- 1) & ~lowest
    }
}
