/// Lists the names of an object, and finds one that it has twice.
///
/// Names are compared as the octets they decode to. Few names are compared pair by pair, more where they meet in a table,
/// and many are sorted, so that no choice of names costs more than O(n log n) comparisons.
enum DuplicateNames {
    /// Appends the names of an object to those of all objects.
    ///
    /// - Returns: the node of a name that repeats another one of them, if there is one.
    @inline(__always)
    static func append(
        _ names: Span<JSONMember>,
        to members: inout OutputSpan<JSONMember>,
        nodes: Span<JSONNode>,
        in text: Span<UInt8>
    ) -> Int? {
        if let table = NameTable(of: names.count) {
            return append(names, as: table, to: &members, nodes: nodes, in: text)
        }
        for index in names.indices { members.append(names[index]) }
        guard names.count > 1 else { return nil }
        return names.count <= NameTable.fewest
            ? amongFew(names, nodes: nodes, in: text) : amongMany(names, nodes: nodes, in: text)
    }

    @inline(__always)
    private static func amongFew(_ names: Span<JSONMember>, nodes: Span<JSONNode>, in text: Span<UInt8>) -> Int? {
        for later in 1..<names.count {
            for earlier in 0..<later where names[later].isLike(names[earlier]) {
                if order(names[earlier], names[later], nodes: nodes, in: text) == 0 { return names[later].node }
            }
        }
        return nil
    }

    /// Open addressing with linear probing: whatever the fingerprints, few names can have a table.
    @inline(never)
    private static func append(
        _ names: Span<JSONMember>,
        as table: NameTable,
        to members: inout OutputSpan<JSONMember>,
        nodes: Span<JSONNode>,
        in text: Span<UInt8>
    ) -> Int? {
        let first = members.count
        members.append(repeating: .none, count: table.count)
        var members = members.mutableSpan
        var areCompared = false
        for later in names.indices {
            let name = names[later]
            var place = table.place(of: name.fingerprint)
            while !members[first &+ place].isNone {
                let earlier = members[first &+ place]
                if !areCompared, name.isLike(earlier) {
                    if order(earlier, name, nodes: nodes, in: text) == 0 { return name.node }
                    // Seldom met, easily made and as long as a document may be: to compare each of such names with
                    // all before it would take a hundred times as long as reading them.
                    if let duplicate = amongMany(names, nodes: nodes, in: text) { return duplicate }
                    areCompared = true
                }
                place = table.place(after: place)
            }
            members[first &+ place] = name
        }
        return nil
    }

    @inline(never)
    private static func amongMany(_ names: Span<JSONMember>, nodes: Span<JSONNode>, in text: Span<UInt8>) -> Int? {
        var sorted: [JSONMember] = []
        sorted.reserveCapacity(names.count)
        for index in names.indices { sorted.append(names[index]) }
        sorted.sort { $0 < $1 }
        var start = 0
        while start < sorted.count {
            var end = start &+ 1
            while end < sorted.count, sorted[end].isLike(sorted[start]) { end &+= 1 }
            if end &- start > 1 {
                let alike = sorted[start..<end].sorted { order($0, $1, nodes: nodes, in: text) < 0 }
                for (one, other) in zip(alike, alike.dropFirst()) where order(one, other, nodes: nodes, in: text) == 0 {
                    return max(one.node, other.node)
                }
            }
            start = end
        }
        return nil
    }

    /// Negative, zero or positive, by the octets both names decode to.
    private static func order(
        _ one: JSONMember,
        _ other: JSONMember,
        nodes: Span<JSONNode>,
        in text: Span<UInt8>
    ) -> Int {
        let one = nodes[one.node]
        let other = nodes[other.node]
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
