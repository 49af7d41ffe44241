/// The elements of an array, in order.
package struct JSONArray: Sequence, Sendable {
    let document: JSONDocument
    let node: Int
    /// As in `JSONDocument.path(to:in:at:iterated:)`.
    let iterated: UInt64

    package var count: Int { document.count(of: node) }
    package var isEmpty: Bool { count == 0 }
    package var underestimatedCount: Int { count }
    package var first: JSONValue? {
        isEmpty ? nil : element(0, at: node &+ 1)
    }

    @inline(__always)
    private func element(_ position: Int, at node: Int) -> JSONValue {
        JSONValue(
            document: document,
            node: node,
            container: UInt32(truncatingIfNeeded: document.nodes[self.node].container),
            position: UInt32(truncatingIfNeeded: position),
            iterated: iterated
        )
    }

    /// The elements, which are all strings.
    package func strings() throws(JSONError) -> [String] {
        var strings: [String] = []
        strings.reserveCapacity(count)
        var cursor = node &+ 1
        let end = Int(document.nodes[node].next)
        while cursor < end {
            do throws(JSONError.Reason) { strings.append(try document.string(at: cursor)) } catch {
                throw element(strings.count, at: cursor).error(error)
            }
            cursor = Int(document.nodes[cursor].next)
        }
        return strings
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
            let value = array.element(position, at: cursor)
            cursor = Int(array.document.nodes[cursor].next)
            position &+= 1
            return value
        }
    }
}
