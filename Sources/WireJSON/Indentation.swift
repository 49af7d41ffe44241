/// How many spaces the last line began with, and so, most likely, the next one.
///
/// To check a guess takes as long as to count. But a processor goes on from a guess at once, and from a count only when it
/// is known, so that counting would be waited for at each line.
struct Indentation {
    /// Lines with more are counted each time.
    static let maximum = 16
    private static var spaces: UInt64 { 0x2020_2020_2020_2020 }

    private(set) var count = 0
    /// All ones where a space is expected among the first eight octets of a line, and among the second eight.
    private var first: UInt64 = 0
    private var second: UInt64 = 0

    init() {}

    /// - Parameter words: The first sixteen octets of a line.
    @inline(__always)
    init(of words: (UInt64, UInt64)) {
        let others = (words.0 ^ Self.spaces, words.1 ^ Self.spaces)
        count = clearOctets(others.0, others.1)
        first = Self.octets(before: others.0)
        second = others.0 == 0 ? Self.octets(before: others.1) : 0
    }

    /// All ones below the lowest octet that is not zero.
    @inline(__always)
    private static func octets(before other: UInt64) -> UInt64 {
        (1 << (other.trailingZeroBitCount & ~7)) &- 1
    }

    /// Whether at least as many spaces are there.
    @inline(__always)
    func begins(_ words: (UInt64, UInt64)) -> Bool {
        (words.0 ^ Self.spaces) & first | (words.1 ^ Self.spaces) & second == 0
    }
}
