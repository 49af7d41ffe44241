/// The hash table that the index keeps for the names of an object.
///
/// Few names are listed side by side instead, since a walk over them takes no longer, and so are many, since anyone can make
/// names of one hash. Without tables a verified subscription update takes 3 % more instructions.
struct NameTable {
    /// The most names that are few.
    static let fewest = 6
    /// The most names that are not many.
    static let most = 120

    /// A power of two, from two to less than four places for each name: a walk from any place soon comes to an empty one.
    let count: Int
    private let shift: UInt32

    /// Nil if so many names are listed side by side.
    @inline(__always)
    init?(of names: Int) {
        guard names > Self.fewest, names <= Self.most else { return nil }
        let bits = Int.bitWidth &- (names &- 1).leadingZeroBitCount &+ 1
        count = 1 &<< bits
        shift = UInt32(truncatingIfNeeded: 32 &- bits)
    }

    /// Where to look for a name first: at the upper bits of its fingerprint, on which all of the name's ends have a bearing.
    @inline(__always)
    func place(of fingerprint: Fingerprint) -> Int { Int(fingerprint.bits &>> shift) }

    @inline(__always)
    func place(after place: Int) -> Int { (place &+ 1) & (count &- 1) }
}
