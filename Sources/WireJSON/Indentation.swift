/// The number of spaces that the last line began with, and so, most likely, the next one.
///
/// To check a guess takes as long as to count. But a processor continues from a guess at once, and from a count only
/// when it is known, so counting would be waited for at each line.
struct Indentation {
    /// Lines with more are counted each time.
    static let maximum = 16
    private static var spaces: UInt64 { 0x2020_2020_2020_2020 }

    private(set) var count: UInt32 = 0
    /// By how many spaces the lines in an array or object differ from those around it.
    private var step = 2
    /// All ones where a space is expected among the first eight octets of a line, and among the second eight.
    private var first: UInt64 = 0
    private var second: UInt64 = 0

    /// Expects a line that has so many more arrays and objects around it than the last one.
    @inline(__always)
    mutating func expect(deeper: Int) {
        expect(UInt32(truncatingIfNeeded: min(max(Int(count) &+ deeper &* step, 0), Self.maximum)))
    }

    @inline(__always)
    private mutating func expect(_ spaces: UInt32) {
        count = spaces
        let bits = UInt64(spaces) &* 8
        first = (1 << bits) &- 1
        second = spaces > 8 ? (1 << (bits &- 64)) &- 1 : 0
    }

    /// Counts the spaces where another number was expected.
    ///
    /// - Parameter words: The first sixteen octets of a line.
    mutating func count(_ words: (UInt64, UInt64), after last: UInt32) {
        expect(clearOctets(words.0 ^ Self.spaces, words.1 ^ Self.spaces))
        if last < count, count < Self.maximum { step = Int(count &- last) }
    }

    /// True if at least as many spaces are there.
    @inline(__always)
    func begins(_ words: (UInt64, UInt64)) -> Bool {
        (words.0 ^ Self.spaces) & first | (words.1 ^ Self.spaces) & second == 0
    }
}
