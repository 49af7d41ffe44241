/// The members of an object. No two have the same name.
package struct JSONObject: Sendable {
    let document: JSONDocument
    let node: Int
    /// As in `JSONDocument.path(to:in:at:iterated:)`.
    let iterated: UInt64

    /// As in `JSONError.path`.
    package var path: String { document.path(of: node, iterated: iterated) }

    package var count: Int { document.count(of: node) }
    package var isEmpty: Bool { count == 0 }

    /// The member's value: `nil` when it is absent, a value of kind `null` when it is null.
    ///
    /// - Complexity: O(members); nothing is allocated.
    package subscript(_ name: MemberName) -> JSONValue? {
        guard let found = document.member(name, of: node) else { return nil }
        return value(at: found, iterated: iterated)
    }

    /// True if the member is present, even as null.
    package func contains(_ name: MemberName) -> Bool { document.member(name, of: node) != nil }

    @inline(__always)
    func value(at member: Int, iterated: UInt64) -> JSONValue {
        JSONValue(
            document: document,
            node: member,
            container: UInt32(truncatingIfNeeded: document.nodes[node].container),
            position: 0,
            iterated: iterated
        )
    }

    /// Reads the member at a node, and says where it lies if it cannot be read.
    @inline(__always)
    func read<Result>(
        at node: Int,
        _ read: (JSONDocument, Int) throws(JSONError.Reason) -> Result
    ) throws(JSONError) -> Result {
        do throws(JSONError.Reason) { return try read(document, node) } catch {
            throw value(at: node, iterated: iterated).error(error)
        }
    }

    /// The member's value, which may be null.
    package func required(_ name: MemberName) throws(JSONError) -> JSONValue {
        if let value = self[name] { return value }
        throw missing(name)
    }

    func missing(_ name: MemberName) -> JSONError {
        JSONError(.missing, path: name.path(in: path), offset: document.nodes[node].range.lowerBound)
    }

    /// All members, in the order of the document.
    package var members: Members { Members(object: self) }

    package struct Members: Sequence, Sendable {
        let object: JSONObject

        package func makeIterator() -> Iterator {
            Iterator(object: object, cursor: object.node &+ 1, end: Int(object.document.nodes[object.node].next))
        }

        package var underestimatedCount: Int { object.count }

        package struct Iterator: IteratorProtocol {
            let object: JSONObject
            var cursor: Int
            let end: Int

            package mutating func next() -> (name: String, value: JSONValue)? {
                guard cursor < end else { return nil }
                let document = object.document
                let entry = document.nodes[cursor]
                let name = String(
                    decoding: document.text(entry.range, hasEscape: entry.nameHasEscape),
                    as: UTF8.self
                )
                let depth = UInt64(document.depth(of: object.node))
                let value = object.value(at: cursor &+ 1, iterated: object.iterated | 1 << depth)
                cursor = Int(document.nodes[cursor &+ 1].next)
                return (name, value)
            }
        }
    }
}
