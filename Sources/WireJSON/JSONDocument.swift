/// A document that was checked from end to end and can be read by reference.
///
/// It keeps the received octets, without copying them, and a flat index of what lies where. A string is decoded when
/// it is read; a member nobody asks for costs nothing further.
package final class JSONDocument: Sendable {
    let bytes: ArraySlice<UInt8>
    let nodes: [JSONNode]

    /// Checks and indexes a document.
    ///
    /// The whole of it has to be UTF-8 and RFC 8259, including what nobody will read. Beyond the RFC's grammar are
    /// refused: a byte order mark, a member name that occurs twice in one object (after unescaping), an escaped
    /// surrogate without its other half, and whatever exceeds `limits`.
    ///
    /// - Complexity: O(n log n) in the worst case, O(n) for objects of few members; stack use is constant.
    package init(parsing bytes: ArraySlice<UInt8>, limits: JSONLimits = JSONLimits()) throws(JSONError) {
        self.bytes = bytes
        nodes = try StructureIndexer(bytes.span, limits: limits).nodes
    }

    package convenience init(parsing bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
        try self.init(parsing: bytes[...], limits: limits)
    }

    package var root: JSONValue {
        JSONValue(document: self, node: 0, parent: "", step: .root)
    }

    /// The node of the value that the object at `object` has under a name.
    func member(_ name: MemberName, of object: Int) -> Int? {
        let wanted = name.text.utf8.span
        let fingerprint = Fingerprint(of: wanted, 0, wanted.count)
        let nodes = nodes
        var cursor = object &+ 1
        let end = Int(nodes[object].next)
        while cursor < end {
            if nodes[cursor].fingerprint == fingerprint, isName(nodes[cursor], wanted) { return cursor &+ 1 }
            cursor = Int(nodes[cursor &+ 1].next)
        }
        return nil
    }

    private func isName(_ node: JSONNode, _ wanted: Span<UInt8>) -> Bool {
        isText(node.range, hasEscape: node.nameHasEscape, wanted)
    }

    /// Whether the string in `range` decodes to exactly these octets.
    func isText(_ range: Range<Int>, hasEscape: Bool, _ wanted: Span<UInt8>) -> Bool {
        let bytes = bytes
        let text = bytes.span
        if !hasEscape {
            guard range.count == wanted.count else { return false }
            for distance in 0..<wanted.count where text[range.lowerBound &+ distance] != wanted[distance] {
                return false
            }
            return true
        }
        var octets = DecodedOctets(range)
        for index in 0..<wanted.count {
            guard octets.next(in: text) == wanted[index] else { return false }
        }
        return octets.next(in: text) == nil
    }

    /// The octets of a string or name: those of the document itself unless there is something to unescape.
    func text(_ range: Range<Int>, hasEscape: Bool) -> ArraySlice<UInt8> {
        guard hasEscape else { return source(range) }
        let bytes = bytes
        return StringSyntax.decode(bytes.span, range)[...]
    }

    func source(_ range: Range<Int>) -> ArraySlice<UInt8> {
        bytes[bytes.startIndex &+ range.lowerBound..<bytes.startIndex &+ range.upperBound]
    }
}
