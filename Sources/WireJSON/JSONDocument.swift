/// A document that was checked from end to end and can be read by reference.
///
/// It keeps the received octets, without copying them, and a flat index of their values. A string is decoded when it is
/// read; a member that is never read costs nothing further.
package final class JSONDocument: Sendable {
    let bytes: [UInt8]
    let nodes: [JSONNode]
    private let containers: [JSONContainer]
    private let members: [JSONMember]

    /// Checks and indexes a document.
    ///
    /// The whole of it has to be UTF-8 and RFC 8259, including members that are never read. Beyond the RFC's grammar are
    /// refused: a byte order mark, a member name that occurs twice in one object (after unescaping), an escaped
    /// surrogate without its other half, and whatever exceeds `limits`.
    ///
    /// - Complexity: O(n log n) in the worst case, O(n) for objects of few members; stack use is constant.
    package init(parsing bytes: [UInt8], limits: JSONLimits = JSONLimits()) throws(JSONError) {
        self.bytes = bytes
        let index = try DocumentIndex(bytes.span, limits: limits)
        nodes = index.nodes
        containers = index.containers
        members = index.members
    }

    package var root: JSONValue {
        JSONValue(document: self, node: 0, container: JSONContainer.none, position: 0, iterated: 0)
    }

    /// How many elements or members the array or object at a node has.
    @inline(__always)
    func count(of node: Int) -> Int { Int(containers[nodes[node].container].count) }

    /// How many arrays and objects are around the one at a node.
    func depth(of node: Int) -> UInt32 { containers[nodes[node].container].depth }

    /// The node of the value that the object at `object` has under a name.
    func member(_ name: MemberName, of object: Int) -> Int? {
        let container = containers[nodes[object].container]
        let first = Int(container.members)
        let list = members
        guard let table = NameTable(of: Int(container.count)) else {
            let members = list.span.extracting(first..<first &+ Int(container.count))
            for index in members.indices where members[index].isLike(name.fingerprint) {
                let node = members[index].node
                if isName(node, name) { return node &+ 1 }
            }
            return nil
        }
        let members = list.span.extracting(first..<first &+ table.count)
        var place = table.place(of: name.fingerprint)
        while !members[place].isNone {
            let node = members[place].node
            if members[place].isLike(name.fingerprint), isName(node, name) { return node &+ 1 }
            place = table.place(after: place)
        }
        return nil
    }

    /// As in `JSONError.path`, for a value at `position` of a container.
    ///
    /// - Parameter iterated: Which steps were taken by iteration, the one from the root lowest. Their names are the
    ///   document's own and stay out of the path; those of all other steps were asked for.
    func path(to node: Int, in container: UInt32, at position: UInt32, iterated: UInt64) -> String {
        var steps: [String] = []
        var (node, container, position) = (node, container, position)
        while container != JSONContainer.none {
            let around = containers[Int(container)]
            if nodes[Int(around.node)].kind == .array {
                steps.append("[\(position)]")
            } else {
                let name = nodes[node &- 1]
                let isIterated = around.depth >= 64 || iterated &>> UInt64(around.depth) & 1 != 0
                steps.append(
                    isIterated ? "*" : String(decoding: text(name.range, hasEscape: name.nameHasEscape), as: UTF8.self)
                )
                if container > 0 { steps.append(".") }
            }
            (node, container, position) = (Int(around.node), around.parent, around.position)
        }
        return steps.reversed().joined()
    }

    /// As in `JSONError.path`, for the array or object at a node.
    func path(of node: Int, iterated: UInt64) -> String {
        let container = containers[nodes[node].container]
        return path(to: node, in: container.parent, at: container.position, iterated: iterated)
    }

    /// True if the name at a node is exactly these octets.
    @inline(__always)
    private func isName(_ node: Int, _ name: MemberName) -> Bool {
        let entry = nodes[node]
        let range = entry.range
        if entry.nameHasEscape { return isEscapedText(range, name.text.utf8.span) }
        guard range.count == name.count else { return false }
        let bytes = bytes
        let text = bytes.span.extracting(range)
        guard NameEnds(of: text) == name.ends else { return false }
        return name.count <= 16 || isLongText(text, name.text.utf8.span)
    }

    /// True if the string in `range` decodes to exactly these octets.
    func isText(_ range: Range<Int>, hasEscape: Bool, _ wanted: Span<UInt8>) -> Bool {
        if hasEscape { return isEscapedText(range, wanted) }
        guard range.count == wanted.count else { return false }
        let bytes = bytes
        let text = bytes.span.extracting(range)
        guard NameEnds(of: text) == NameEnds(of: wanted) else { return false }
        return wanted.count <= 16 || isLongText(text, wanted)
    }

    /// True if texts whose ends are equal are equal between them, too.
    @inline(never)
    private func isLongText(_ text: Span<UInt8>, _ wanted: Span<UInt8>) -> Bool {
        var distance = 8
        while distance &+ 8 < wanted.count {
            guard text.word(at: distance) == wanted.word(at: distance) else { return false }
            distance &+= 8
        }
        return true
    }

    @inline(never)
    private func isEscapedText(_ range: Range<Int>, _ wanted: Span<UInt8>) -> Bool {
        let bytes = bytes
        let text = bytes.span
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

    /// The text of a string or name.
    func string(_ range: Range<Int>, hasEscape: Bool) -> String {
        // From a view rather than a slice, which would hold on to the octets.
        if !hasEscape {
            let bytes = bytes
            let octets = bytes.span.extracting(range)
            do { return String(copying: try UTF8Span(validating: octets)) } catch {}
        }
        return String(decoding: text(range, hasEscape: hasEscape), as: UTF8.self)
    }

    func source(_ range: Range<Int>) -> ArraySlice<UInt8> {
        bytes[range]
    }
}
