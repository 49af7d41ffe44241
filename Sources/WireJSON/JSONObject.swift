/// The members of an object. No two have the same name.
package struct JSONObject: Sendable {
    let document: JSONDocument
    let node: Int
    /// As in `JSONError.path`.
    package let path: String

    package var count: Int { document.nodes[node].count }
    package var isEmpty: Bool { count == 0 }

    /// The member's value: `nil` when it is absent, a value of kind `null` when it is null.
    ///
    /// - Complexity: O(members); nothing is allocated.
    package subscript(_ name: MemberName) -> JSONValue? {
        guard let found = document.member(name, of: node) else { return nil }
        return JSONValue(document: document, node: found, parent: path, step: .member(name))
    }

    /// The member's value, which may be null.
    package func required(_ name: MemberName) throws(JSONError) -> JSONValue {
        if let value = self[name] { return value }
        throw JSONError(
            .missing,
            path: name.path(in: path),
            offset: document.nodes[node].range.lowerBound
        )
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
                let value = JSONValue(document: document, node: cursor &+ 1, parent: object.path, step: .someMember)
                cursor = Int(document.nodes[cursor &+ 1].next)
                return (name, value)
            }
        }
    }
}
