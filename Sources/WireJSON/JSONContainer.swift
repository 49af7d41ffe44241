/// The index's record of an array or object, next to its node: where it lies in the one around it, and where its
/// members are listed.
struct JSONContainer {
    static let none = UInt32.max

    let node: UInt32
    /// The array or object around it; `none` for the root.
    let parent: UInt32
    /// Which element or member of the one around it this is.
    let position: UInt32
    /// How many arrays and objects are around it.
    let depth: UInt32
    /// How many elements or members it has.
    var count: UInt32 = 0
    /// Where an object's names begin in `DocumentIndex.members`, as a `NameTable` or side by side.
    var members: UInt32 = 0

    @inline(__always)
    init(node: Int, parent: UInt32, position: Int, depth: Int) {
        self.node = UInt32(truncatingIfNeeded: node)
        self.parent = parent
        self.position = UInt32(truncatingIfNeeded: position)
        self.depth = UInt32(truncatingIfNeeded: depth)
    }
}

/// A member name among those of its object: the fingerprint, and the name's node.
struct JSONMember {
    /// An empty place: the first node of a document is no name.
    static let none = JSONMember(Fingerprint(bits: 0), node: 0)

    private let bits: UInt64

    @inline(__always)
    init(_ fingerprint: Fingerprint, node: Int) {
        bits = UInt64(fingerprint.bits) &<< 32 | UInt64(truncatingIfNeeded: node) & 0xFFFF_FFFF
    }

    @inline(__always)
    var node: Int { Int(truncatingIfNeeded: bits & 0xFFFF_FFFF) }

    @inline(__always)
    var isNone: Bool { bits == 0 }

    @inline(__always)
    func isLike(_ other: JSONMember) -> Bool { (bits ^ other.bits) &>> 32 == 0 }

    @inline(__always)
    func isLike(_ fingerprint: Fingerprint) -> Bool { bits &>> 32 == UInt64(fingerprint.bits) }

    @inline(__always)
    var fingerprint: Fingerprint { Fingerprint(bits: UInt32(truncatingIfNeeded: bits &>> 32)) }

    /// By fingerprint, then by place in the document.
    static func < (left: JSONMember, right: JSONMember) -> Bool { left.bits < right.bits }
}
