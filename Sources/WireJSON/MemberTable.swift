/// Names that are looked for together: one walk over an object finds all of them, where each by itself takes one.
package final class MemberTable: Sendable {
    struct Entry: Sendable {
        let name: MemberName
        /// Another entry with the same hash, counted from one; zero if there is none.
        let next: Int
    }

    let entries: [Entry]
    /// By hash the last entry that has it, counted from one; zero if there is none.
    let slots: [Int]

    package init(_ names: [MemberName]) {
        var entries: [Entry] = []
        var slots = [Int](repeating: 0, count: 256)
        for name in names {
            let slot = name.fingerprint.hash
            entries.append(Entry(name: name, next: slots[slot]))
            slots[slot] = entries.count
        }
        self.entries = entries
        self.slots = slots
    }
}

/// Those members of an object that have a name in a table. A name is given by its place in the table.
package struct FoundMembers: Sendable {
    package let object: JSONObject
    /// The node of each value; zero, which is the root's, if there is none.
    private let nodes: [UInt32]

    package init(_ table: MemberTable, in object: JSONObject) {
        self.object = object
        nodes = object.document.members(table, of: object.node)
    }

    /// True if the member is present, even as null.
    package func contains(_ place: Int) -> Bool { nodes[place] != 0 }

    /// The member, unless it is absent or null.
    package func optionalValue(_ place: Int) -> JSONValue? {
        guard let node = node(place) else { return nil }
        return object.value(at: node, iterated: object.iterated)
    }

    package func optionalString(_ place: Int) throws(JSONError) -> String? {
        try optional(place) { (document, node) throws(JSONError.Reason) in try document.string(at: node) }
    }

    package func optionalInt64(_ place: Int) throws(JSONError) -> Int64? {
        try optional(place) { (document, node) throws(JSONError.Reason) in try document.int64(at: node) }
    }

    package func optionalDecimal(_ place: Int) throws(JSONError) -> JSONDecimal? {
        try optional(place) { (document, node) throws(JSONError.Reason) in try document.decimal(at: node) }
    }

    package func optionalBool(_ place: Int) throws(JSONError) -> Bool? {
        try optional(place) { (document, node) throws(JSONError.Reason) in try document.bool(at: node) }
    }

    @inline(__always)
    private func optional<Result>(
        _ place: Int,
        _ read: (JSONDocument, Int) throws(JSONError.Reason) -> Result
    ) throws(JSONError) -> Result? {
        guard let node = node(place) else { return nil }
        return try object.read(at: node, read)
    }

    /// The node of a member that is neither absent nor null.
    @inline(__always)
    private func node(_ place: Int) -> Int? {
        let node = Int(nodes[place])
        return node == 0 || object.document.nodes[node].kind == .null ? nil : node
    }
}
