/// Reads a document once, from the first octet to the last: checks all of it and writes down where each value lies.
///
/// Open arrays and objects are kept in the index itself, so depth takes no stack and no memory of its own.
struct StructureIndexer {
    private(set) var nodes: [JSONNode] = []
    private var names = OpenNames()
    private let maximumNodes: Int
    private let maximumDepth: Int

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
        try index(text)
    }

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

    private mutating func index(_ text: Span<UInt8>) throws(JSONError) {
        var index = 0
        var depth = 0
        var container = JSONNode.none
        var isObject = false
        var count = 0
        var expectation = Expectation.value

        while true {
            index = Self.skipWhitespace(text, from: index)
            guard index < text.count else {
                if expectation == .separator, depth == 0 { return }
                throw JSONError(.unexpectedEnd, offset: index)
            }
            let octet = text[index]

            if expectation == .separator {
                if depth == 0 { throw JSONError(.trailingOctets, offset: index) }
                if octet == UInt8(ascii: ",") {
                    index &+= 1
                    if !isObject {
                        expectation = .value
                        continue
                    }
                    expectation = .name
                    index = Self.skipWhitespace(text, from: index)
                    guard index < text.count else { throw JSONError(.unexpectedEnd, offset: index) }
                    // Falls into the reading of a name below.
                } else {
                    guard octet == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                        throw JSONError(.unexpectedOctet, offset: index)
                    }
                    index &+= 1
                    try close(&container, &isObject, &count, at: index, in: text)
                    depth &-= 1
                    continue
                }
            }

            if expectation == .name || expectation == .firstName {
                let opening = text[index]
                guard opening == StringSyntax.quotationMark else {
                    guard expectation == .firstName, opening == UInt8(ascii: "}") else {
                        throw JSONError(.unexpectedOctet, offset: index)
                    }
                    index &+= 1
                    try close(&container, &isObject, &count, at: index, in: text)
                    depth &-= 1
                    expectation = .separator
                    continue
                }
                index = try name(text, at: index)
                index = Self.skipWhitespace(text, from: index)
                guard index < text.count else { throw JSONError(.unexpectedEnd, offset: index) }
                guard text[index] == UInt8(ascii: ":") else { throw JSONError(.unexpectedOctet, offset: index) }
                index &+= 1
                expectation = .value
                index = Self.skipWhitespace(text, from: index)
                guard index < text.count else { throw JSONError(.unexpectedEnd, offset: index) }
            }

            // A value.
            let first = text[index]
            if first == UInt8(ascii: "]"), expectation == .firstElement {
                index &+= 1
                try close(&container, &isObject, &count, at: index, in: text)
                depth &-= 1
                expectation = .separator
                continue
            }
            guard nodes.count < maximumNodes else {
                throw JSONError(.tooManyNodes(limit: maximumNodes), offset: index)
            }
            count &+= 1
            expectation = .separator
            switch first {
            case StringSyntax.quotationMark:
                let start = index &+ 1
                var hasEscape = false
                let end = try StringSyntax.end(of: text, from: start, hasEscape: &hasEscape)
                nodes.append(JSONNode(kind: .string, flag: hasEscape, start: start, end: end, next: nodes.count &+ 1))
                index = end &+ 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < maximumDepth else { throw JSONError(.tooDeep(limit: maximumDepth), offset: index) }
                depth &+= 1
                if container != JSONNode.none { nodes[Int(container)].setCount(count) }
                count = 0
                isObject = first == UInt8(ascii: "{")
                expectation = isObject ? .firstName : .firstElement
                let opened = nodes.count
                nodes.append(
                    JSONNode(kind: isObject ? .object : .array, start: index, end: index, next: Int(container))
                )
                container = UInt32(truncatingIfNeeded: opened)
                index &+= 1
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let start = index
                let isInteger = try Self.number(text, &index)
                nodes.append(JSONNode(kind: .number, flag: isInteger, start: start, end: index, next: nodes.count &+ 1))
            case UInt8(ascii: "t"):
                try literal("true", .true, text, &index)
            case UInt8(ascii: "f"):
                try literal("false", .false, text, &index)
            case UInt8(ascii: "n"):
                try literal("null", .null, text, &index)
            default:
                throw JSONError(.unexpectedOctet, offset: index)
            }
        }
    }

    // MARK: Parts of a document

    @inline(__always)
    private mutating func name(_ text: Span<UInt8>, at index: Int) throws(JSONError) -> Int {
        // One more than the name itself: its value needs a node as well, and its count has to fit.
        guard nodes.count < maximumNodes else { throw JSONError(.tooManyNodes(limit: maximumNodes), offset: index) }
        let start = index &+ 1
        var hasEscape = false
        let end = try StringSyntax.end(of: text, from: start, hasEscape: &hasEscape)
        let fingerprint: Fingerprint
        if hasEscape {
            let decoded = StringSyntax.decode(text, start..<end)
            fingerprint = Fingerprint(of: decoded.span, 0, decoded.count)
        } else {
            fingerprint = Fingerprint(of: text, start, end)
        }
        let node = nodes.count
        nodes.append(
            JSONNode(nameAt: start, end: end, fingerprint: fingerprint, hasEscape: hasEscape, next: node &+ 1)
        )
        names.append(fingerprint, node: node)
        return end &+ 1
    }

    /// Ends the innermost array or object and returns to the one around it.
    @inline(__always)
    private mutating func close(
        _ container: inout UInt32,
        _ isObject: inout Bool,
        _ count: inout Int,
        at end: Int,
        in text: Span<UInt8>
    ) throws(JSONError) {
        if isObject {
            if let duplicate = names.removeInnermost(count, nodes, text) {
                throw JSONError(.duplicateMember, offset: Int(nodes[duplicate].start) &- 1)
            }
        }
        let closed = Int(container)
        container = nodes[closed].next
        nodes[closed].end = UInt32(truncatingIfNeeded: end)
        nodes[closed].next = UInt32(truncatingIfNeeded: nodes.count)
        nodes[closed].setCount(count)
        if container == JSONNode.none {
            isObject = false
            count = 0
        } else {
            isObject = nodes[Int(container)].kind == .object
            count = nodes[Int(container)].count
        }
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
        _ text: Span<UInt8>,
        _ index: inout Int
    ) throws(JSONError) {
        let start = index
        for octet in name.utf8 {
            guard index < text.count else { throw JSONError(.unexpectedEnd, offset: index) }
            guard text[index] == octet else { throw JSONError(.unexpectedOctet, offset: index) }
            index &+= 1
        }
        nodes.append(JSONNode(kind: kind, start: start, end: index, next: nodes.count &+ 1))
    }
}
