/// The elements of an array, in order.
package struct JSONArray: Sequence, Sendable {
    let document: JSONDocument
    let node: Int
    /// As in `JSONError.path`.
    package let path: String

    package var count: Int { document.nodes[node].count }
    package var isEmpty: Bool { count == 0 }
    package var underestimatedCount: Int { count }
    package var first: JSONValue? {
        isEmpty ? nil : JSONValue(document: document, node: node &+ 1, parent: path, step: .element(0))
    }

    package func makeIterator() -> Iterator {
        Iterator(array: self, cursor: node &+ 1, end: Int(document.nodes[node].next))
    }

    package struct Iterator: IteratorProtocol {
        let array: JSONArray
        var cursor: Int
        let end: Int
        var position = 0

        package mutating func next() -> JSONValue? {
            guard cursor < end else { return nil }
            let value = JSONValue(
                document: array.document,
                node: cursor,
                parent: array.path,
                step: .element(position)
            )
            cursor = Int(array.document.nodes[cursor].next)
            position &+= 1
            return value
        }
    }
}
