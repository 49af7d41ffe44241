/// One entry of the index: a value or a member name.
///
/// Nodes lie in document order. An object's members follow it as name, value, name, value; an array's elements follow
/// it one after the other; `next` leads past everything that belongs to a value, so that skipping costs one step.
struct JSONNode {
    enum Kind: UInt32 {
        case null, `false`, `true`, number, string, array, object
    }

    /// First octet; for strings and names, the first after the quotation mark.
    var start: UInt32
    /// One past the last octet; for strings and names, the closing quotation mark.
    var end: UInt32
    /// The node after this value and all it holds.
    var next: UInt32
    /// Value: kind, flag, container. Name: fingerprint, flag.
    var word: UInt32

    /// The number of a container has to fit next to kind and flag.
    static let maximumCount = 1 << 28 - 1

    @inline(__always)
    init(kind: Kind, flag: Bool = false, container: Int = 0, start: UInt32, end: UInt32, next: Int) {
        self.start = start
        self.end = end
        self.next = UInt32(truncatingIfNeeded: next)
        self.word = kind.rawValue | (flag ? 8 : 0) | UInt32(truncatingIfNeeded: container) &<< 4
    }

    @inline(__always)
    init(nameAt start: UInt32, end: UInt32, fingerprint: Fingerprint, hasEscape: Bool, next: Int) {
        self.start = start
        self.end = end
        self.next = UInt32(truncatingIfNeeded: next)
        self.word = fingerprint.bits | (hasEscape ? 1 : 0)
    }

    @inline(__always)
    var range: Range<Int> { Int(start)..<Int(max(start, end)) }

    // MARK: Values

    @inline(__always)
    var kind: Kind { Kind(rawValue: word & 7) ?? .null }
    /// A string holds an escape; a number has neither fraction nor exponent.
    @inline(__always)
    var flag: Bool { word & 8 != 0 }
    /// For an array or object, which of the containers it is.
    @inline(__always)
    var container: Int { Int(word &>> 4) }

    // MARK: Names

    @inline(__always)
    var nameHasEscape: Bool { word & 1 != 0 }
}
