/// The member names of all open objects, the innermost object's last, to tell when one object has a name twice.
///
/// Names are compared as the octets they decode to. Few names are compared pair by pair; many are sorted, so that no
/// choice of names costs more than O(n log n) comparisons.
struct OpenNames {
    /// Fingerprint above, node below.
    private var entries: [UInt64] = []
    private static let pairwise = 16

    @inline(__always)
    mutating func append(_ fingerprint: Fingerprint, node: Int) {
        entries.append(UInt64(fingerprint.bits) &<< 32 | UInt64(truncatingIfNeeded: node))
    }

    /// Forgets the last `count` names, and gives the node of one that repeats another, if there is one.
    mutating func removeInnermost(_ count: Int, _ nodes: [JSONNode], _ text: Span<UInt8>) -> Int? {
        let duplicate =
            count <= Self.pairwise
            ? duplicateAmongFew(count, nodes, text)
            : duplicateAmongMany(count, nodes, text)
        entries.removeLast(min(count, entries.count))
        return duplicate
    }

    private func duplicateAmongFew(_ count: Int, _ nodes: [JSONNode], _ text: Span<UInt8>) -> Int? {
        let entries = entries.span
        let first = entries.count &- count
        guard count > 1, first >= 0 else { return nil }
        for later in first &+ 1..<entries.count {
            let entry = entries[later]
            for earlier in first..<later where (entries[earlier] ^ entry) &>> 32 == 0 {
                if Self.order(nodes[Self.node(entries[earlier])], nodes[Self.node(entry)], text) == 0 {
                    return Self.node(entry)
                }
            }
        }
        return nil
    }

    private func duplicateAmongMany(_ count: Int, _ nodes: [JSONNode], _ text: Span<UInt8>) -> Int? {
        let sorted = entries.suffix(count).sorted()
        var start = 0
        while start < sorted.count {
            var end = start &+ 1
            while end < sorted.count, (sorted[end] ^ sorted[start]) &>> 32 == 0 { end &+= 1 }
            if end &- start > 1 {
                let alike = sorted[start..<end].sorted {
                    Self.order(nodes[Self.node($0)], nodes[Self.node($1)], text) < 0
                }
                for (one, other) in zip(alike, alike.dropFirst())
                where Self.order(nodes[Self.node(one)], nodes[Self.node(other)], text) == 0 {
                    return max(Self.node(one), Self.node(other))
                }
            }
            start = end
        }
        return nil
    }

    private static func node(_ entry: UInt64) -> Int {
        Int(entry & 0xFFFF_FFFF)
    }

    /// Negative, zero or positive, by the octets both names decode to.
    private static func order(_ one: JSONNode, _ other: JSONNode, _ text: Span<UInt8>) -> Int {
        if !one.nameHasEscape, !other.nameHasEscape {
            let shared = min(one.range.count, other.range.count)
            let first = one.range.lowerBound
            let second = other.range.lowerBound
            var distance = 0
            while distance &+ 8 <= shared, text.word(at: first &+ distance) == text.word(at: second &+ distance) {
                distance &+= 8
            }
            while distance < shared {
                let left = text[first &+ distance]
                let right = text[second &+ distance]
                if left != right { return Int(left) &- Int(right) }
                distance &+= 1
            }
            return one.range.count &- other.range.count
        }
        var first = DecodedOctets(one.range)
        var second = DecodedOctets(other.range)
        while true {
            switch (first.next(in: text), second.next(in: text)) {
            case (nil, nil): return 0
            case (nil, _): return -1
            case (_, nil): return 1
            case (let left?, let right?):
                if left != right { return Int(left) &- Int(right) }
            }
        }
    }
}
