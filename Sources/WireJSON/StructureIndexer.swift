/// Reads a document once, from the first octet to the last: checks all of it and writes down where each value lies.
///
/// Open arrays and objects are kept in the index itself, so depth takes no stack and no memory of its own.
struct StructureIndexer {
    private(set) var nodes: [JSONNode] = []
    private var names = OpenNames()
    private let maximumNodes: Int
    private let maximumDepth: Int

    private var position = 0
    private var expectation = Expectation.value
    /// The innermost open array or object, and how many elements or members it has so far.
    private var container = JSONNode.none
    private var isObject = false
    private var count = 0
    private var depth = 0

    private enum Expectation {
        case value
        /// A value or, right after `[`, its end.
        case firstElement
        case name
        /// A name or, right after `{`, its end.
        case firstName
        /// What follows a value: a comma, the end of what is open, or the end of the document.
        case separator
    }

    init(_ text: Span<UInt8>, limits: JSONLimits) throws(JSONError) {
        let maximumBytes = min(limits.maximumBytes, Int(Int32.max))
        guard text.count <= maximumBytes else {
            throw JSONError(.tooLarge(limit: maximumBytes), offset: max(0, maximumBytes))
        }
        maximumNodes = min(limits.maximumNodes, JSONNode.maximumCount)
        maximumDepth = limits.maximumDepth
        nodes.reserveCapacity(max(0, min(text.count / 8 + 8, maximumNodes)))
        if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF {
            throw JSONError(.byteOrderMark, offset: 0)
        }
        while let octet = next(text) {
            switch expectation {
            case .separator: try separator(octet, text)
            case .value: try value(octet, text)
            case .name: try name(octet, text)
            case .firstElement:
                if octet == UInt8(ascii: "]") { try close(text) } else { try value(octet, text) }
            case .firstName:
                if octet == UInt8(ascii: "}") { try close(text) } else { try name(octet, text) }
            }
        }
        guard expectation == .separator, depth == 0 else { throw JSONError(.unexpectedEnd, offset: position) }
    }

    // MARK: Parts of a document

    /// The next octet that is not white space.
    @inline(__always)
    private mutating func next(_ text: Span<UInt8>) -> UInt8? {
        position = Self.skipWhitespace(text, from: position)
        return position < text.count ? text[position] : nil
    }

    @inline(__always)
    private mutating func separator(_ octet: UInt8, _ text: Span<UInt8>) throws(JSONError) {
        guard depth > 0 else { throw JSONError(.trailingOctets, offset: position) }
        if octet == UInt8(ascii: ",") {
            position &+= 1
            expectation = isObject ? .name : .value
        } else if octet == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) {
            try close(text)
        } else {
            throw JSONError(.unexpectedOctet, offset: position)
        }
    }

    /// A name and the colon after it.
    @inline(__always)
    private mutating func name(_ octet: UInt8, _ text: Span<UInt8>) throws(JSONError) {
        guard octet == StringSyntax.quotationMark else { throw JSONError(.unexpectedOctet, offset: position) }
        try reserveNode()
        let start = position &+ 1
        var hasEscape = false
        let end = try StringSyntax.end(of: text, from: start, hasEscape: &hasEscape)
        position = end &+ 1
        let fingerprint: Fingerprint
        if hasEscape {
            let decoded = StringSyntax.decode(text, start..<end)
            fingerprint = Fingerprint(of: decoded.span, 0, decoded.count)
        } else {
            fingerprint = Fingerprint(of: text, start, end)
        }
        names.append(fingerprint, node: nodes.count)
        nodes.append(
            JSONNode(nameAt: start, end: end, fingerprint: fingerprint, hasEscape: hasEscape, next: nodes.count &+ 1)
        )
        guard let colon = next(text) else { throw JSONError(.unexpectedEnd, offset: position) }
        guard colon == UInt8(ascii: ":") else { throw JSONError(.unexpectedOctet, offset: position) }
        position &+= 1
        expectation = .value
    }

    @inline(__always)
    private mutating func value(_ octet: UInt8, _ text: Span<UInt8>) throws(JSONError) {
        try reserveNode()
        count &+= 1
        expectation = .separator
        switch octet {
        case StringSyntax.quotationMark:
            let start = position &+ 1
            var hasEscape = false
            let end = try StringSyntax.end(of: text, from: start, hasEscape: &hasEscape)
            nodes.append(JSONNode(kind: .string, flag: hasEscape, start: start, end: end, next: nodes.count &+ 1))
            position = end &+ 1
        case UInt8(ascii: "{"): try open(.object)
        case UInt8(ascii: "["): try open(.array)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            let start = position
            var end = start
            let isInteger = try Self.number(text, &end)
            position = end
            nodes.append(JSONNode(kind: .number, flag: isInteger, start: start, end: position, next: nodes.count &+ 1))
        case UInt8(ascii: "t"): try literal("true", .true, text)
        case UInt8(ascii: "f"): try literal("false", .false, text)
        case UInt8(ascii: "n"): try literal("null", .null, text)
        default: throw JSONError(.unexpectedOctet, offset: position)
        }
    }

    @inline(__always)
    private func reserveNode() throws(JSONError) {
        guard nodes.count < maximumNodes else {
            throw JSONError(.tooManyNodes(limit: maximumNodes), offset: position)
        }
    }

    @inline(__always)
    private mutating func open(_ kind: JSONNode.Kind) throws(JSONError) {
        guard depth < maximumDepth else { throw JSONError(.tooDeep(limit: maximumDepth), offset: position) }
        depth &+= 1
        if container != JSONNode.none { nodes[Int(container)].setCount(count) }
        count = 0
        isObject = kind == .object
        expectation = isObject ? .firstName : .firstElement
        let opened = nodes.count
        nodes.append(JSONNode(kind: kind, start: position, end: position, next: Int(container)))
        container = UInt32(truncatingIfNeeded: opened)
        position &+= 1
    }

    /// Ends the innermost array or object and returns to the one around it.
    @inline(__always)
    private mutating func close(_ text: Span<UInt8>) throws(JSONError) {
        position &+= 1
        if isObject, let duplicate = names.removeInnermost(count, nodes, text) {
            throw JSONError(.duplicateMember, offset: Int(nodes[duplicate].start) &- 1)
        }
        let closed = Int(container)
        container = nodes[closed].next
        nodes[closed].end = UInt32(truncatingIfNeeded: position)
        nodes[closed].next = UInt32(truncatingIfNeeded: nodes.count)
        nodes[closed].setCount(count)
        if container == JSONNode.none {
            isObject = false
            count = 0
        } else {
            isObject = nodes[Int(container)].kind == .object
            count = nodes[Int(container)].count
        }
        depth &-= 1
        expectation = .separator
    }

    /// RFC 8259 §2 allows space, tab, line feed and carriage return.
    @inline(__always)
    private static func skipWhitespace(_ text: Span<UInt8>, from start: Int) -> Int {
        var index = start
        while index < text.count {
            let octet = text[index]
            if octet > 0x20 { return index }
            guard octet == 0x20 || octet == 0x0A || octet == 0x0D || octet == 0x09 else { return index }
            index &+= 1
            // Indentation is long runs of spaces.
            if octet != 0x20 {
                while index &+ 8 <= text.count {
                    let others = text.word(at: index) ^ 0x2020_2020_2020_2020
                    if others == 0 {
                        index &+= 8
                    } else {
                        index &+= others.trailingZeroBitCount &>> 3
                        break
                    }
                }
            }
        }
        return index
    }

    /// Moves past a number, RFC 8259 §6, and says whether it has neither fraction nor exponent.
    @inline(__always)
    private static func number(_ text: Span<UInt8>, _ index: inout Int) throws(JSONError) -> Bool {
        if text[index] == UInt8(ascii: "-") { index &+= 1 }
        if index < text.count, text[index] == UInt8(ascii: "0") {
            index &+= 1
        } else {
            try digits(text, &index)
        }
        var isInteger = true
        if index < text.count, text[index] == UInt8(ascii: ".") {
            isInteger = false
            index &+= 1
            try digits(text, &index)
        }
        if index < text.count, text[index] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            index &+= 1
            if index < text.count, text[index] == UInt8(ascii: "+") || text[index] == UInt8(ascii: "-") {
                index &+= 1
            }
            try digits(text, &index)
        }
        return isInteger
    }

    @inline(__always)
    private static func digits(_ text: Span<UInt8>, _ index: inout Int) throws(JSONError) {
        let start = index
        while index < text.count, text[index] &- UInt8(ascii: "0") < 10 { index &+= 1 }
        guard index > start else {
            throw JSONError(index < text.count ? .invalidNumber : .unexpectedEnd, offset: index)
        }
    }

    @inline(__always)
    private mutating func literal(
        _ name: String,
        _ kind: JSONNode.Kind,
        _ text: Span<UInt8>
    ) throws(JSONError) {
        let start = position
        for octet in name.utf8 {
            guard position < text.count else { throw JSONError(.unexpectedEnd, offset: position) }
            guard text[position] == octet else { throw JSONError(.unexpectedOctet, offset: position) }
            position &+= 1
        }
        nodes.append(JSONNode(kind: kind, start: start, end: position, next: nodes.count &+ 1))
    }
}
