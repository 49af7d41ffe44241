/// What lies where in a document.
struct DocumentIndex {
    /// Values and member names, in the order of the document.
    private(set) var nodes: [JSONNode] = []
    /// Arrays and objects, in the order in which they begin.
    private(set) var containers: [JSONContainer] = []
    /// The members of each object, side by side, so that looking for one takes a walk over neighbours.
    private(set) var members: [JSONMember] = []

    /// Reads a document once, from the first octet to the last: checks all of it and writes down where each value lies.
    init(_ text: Span<UInt8>, limits: JSONLimits) throws(JSONError) {
        let maximumBytes = min(limits.maximumBytes, Int(Int32.max))
        guard text.count <= maximumBytes else {
            throw JSONError(.tooLarge(limit: maximumBytes), offset: max(0, maximumBytes))
        }
        if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF {
            throw JSONError(.byteOrderMark, offset: 0)
        }
        let limit = min(limits.maximumNodes, JSONNode.maximumCount)
        let maximumNodes = max(0, limit)
        // Room for what documents usually hold; where that is too little, for the most that one of this length can.
        if try read(text, nodes: min(text.count / 8 + 8, maximumNodes), containers: text.count / 64 + 8, limits) == nil
        {
            return
        }
        let most = min(text.count, maximumNodes)
        if let position = try read(text, nodes: most, containers: most, limits) {
            throw JSONError(.tooManyNodes(limit: limit), offset: position)
        }
    }

    /// The position at which there was no room for more, or nil.
    private mutating func read(
        _ text: Span<UInt8>,
        nodes maximumNodes: Int,
        containers maximumContainers: Int,
        _ limits: JSONLimits
    ) throws(JSONError) -> Int? {
        var position: Int?
        var nodes: [JSONNode] = []
        var containers: [JSONContainer] = []
        var members: [JSONMember] = []
        // Unlike an initializer with a capacity, this is compiled for its elements and looks up no types while it runs.
        try nodes.append(addingCapacity: maximumNodes) { (nodes) throws(JSONError) in
            try containers.append(addingCapacity: maximumContainers) { (containers) throws(JSONError) in
                try members.append(addingCapacity: maximumNodes / 2 + 1) { (members) throws(JSONError) in
                    position = try StructureIndexer.index(
                        text,
                        &nodes,
                        &containers,
                        &members,
                        maximumDepth: limits.maximumDepth
                    )
                }
            }
        }
        self.nodes = nodes
        self.containers = containers
        self.members = members
        return position
    }
}

/// The grammar of RFC 8259. What is open is kept in the index itself, so depth takes no stack.
enum StructureIndexer {
    /// Appends all of a document to an index.
    ///
    /// - Returns: the position at which one of the spans was full, or nil.
    static func index(
        _ text: Span<UInt8>,
        _ nodes: inout OutputSpan<JSONNode>,
        _ containers: inout OutputSpan<JSONContainer>,
        _ members: inout OutputSpan<JSONMember>,
        maximumDepth: Int
    ) throws(JSONError) -> Int? {
        // In a variable that nothing else can refer to, where it needs no store and no load for each node.
        var own = consume nodes
        let result: Result<Int?, JSONError>
        do throws(JSONError) {
            result = .success(try read(text, &own, &containers, &members, maximumDepth: maximumDepth))
        } catch {
            result = .failure(error)
        }
        nodes = own
        return try result.get()
    }

    @inline(__always)
    private static func read(
        _ text: Span<UInt8>,
        _ nodes: inout OutputSpan<JSONNode>,
        _ containers: inout OutputSpan<JSONContainer>,
        _ members: inout OutputSpan<JSONMember>,
        maximumDepth: Int
    ) throws(JSONError) -> Int? {
        var position = 0
        // The innermost array or object, and how many elements or members it has so far.
        var container = JSONContainer.none
        var isObject = false
        var count = 0
        var depth = 0
        var expectsName = false
        var indentation = Indentation()

        value: while true {
            var octet: UInt8
            (position, octet) = try token(text, position, &indentation, deeper: 0)
            if expectsName {
                guard octet == StringSyntax.quotationMark else { throw error(.unexpectedOctet, position) }
                guard nodes.count < nodes.capacity else { return position }
                let start = position &+ 1
                let (end, hasEscape, fingerprint) = try StringSyntax.endOfName(in: text, from: start)
                nodes.append(
                    JSONNode(
                        nameAt: start,
                        end: end,
                        fingerprint: fingerprint,
                        hasEscape: hasEscape,
                        next: nodes.count &+ 1
                    )
                )
                (position, octet) = try afterName(text, end)
            }
            guard nodes.count < nodes.capacity else { return position }
            let start = position
            let next = nodes.count &+ 1
            var isEmpty = false
            switch octet {
            case StringSyntax.quotationMark:
                let (end, hasEscape) = try StringSyntax.end(of: text, from: start &+ 1)
                nodes.append(JSONNode(kind: .string, flag: hasEscape, start: start &+ 1, end: end, next: next))
                position = end &+ 1
                count &+= 1
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                let isInteger = try number(text, &position)
                nodes.append(JSONNode(kind: .number, flag: isInteger, start: start, end: position, next: next))
                count &+= 1
            case UInt8(ascii: "n"):
                try literal(0x6C6C_756E, 0, text, &position)
                nodes.append(JSONNode(kind: .null, start: start, end: position, next: next))
                count &+= 1
            case UInt8(ascii: "t"):
                try literal(0x6575_7274, 0, text, &position)
                nodes.append(JSONNode(kind: .true, start: start, end: position, next: next))
                count &+= 1
            case UInt8(ascii: "f"):
                try literal(0x6573_6C61, 1, text, &position)
                nodes.append(JSONNode(kind: .false, start: start, end: position, next: next))
                count &+= 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard depth < maximumDepth else { throw error(.tooDeep(limit: maximumDepth), position) }
                guard containers.count < containers.capacity else { return position }
                if depth > 0 { containers[Int(container)].count = UInt32(truncatingIfNeeded: count) }
                let opened = containers.count
                containers.append(JSONContainer(node: nodes.count, parent: container, position: count, depth: depth))
                isObject = octet == UInt8(ascii: "{")
                nodes.append(
                    JSONNode(kind: isObject ? .object : .array, container: opened, start: start, end: start, next: next)
                )
                container = UInt32(truncatingIfNeeded: opened)
                depth &+= 1
                count = 0
                (position, octet) = try token(text, position &+ 1, &indentation, deeper: 1)
                isEmpty = octet == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]"))
                if !isEmpty {
                    expectsName = isObject
                    continue value
                }
            default:
                throw error(.unexpectedOctet, position)
            }

            while true {
                if !isEmpty {
                    if depth == 0 {
                        position = afterWhitespace(text, position)
                        guard position == text.count else { throw error(.trailingOctets, position) }
                        return nil
                    }
                    (position, octet) = try token(text, position, &indentation, deeper: -1)
                    if octet == UInt8(ascii: ",") {
                        position &+= 1
                        expectsName = isObject
                        continue value
                    }
                    guard octet == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                        throw error(.unexpectedOctet, position)
                    }
                }
                // The end of the innermost array or object, and a return to the one around it.
                isEmpty = false
                position &+= 1
                let closed = Int(container)
                let node = Int(containers[closed].node)
                containers[closed].count = UInt32(truncatingIfNeeded: count)
                if isObject {
                    containers[closed].members = UInt32(truncatingIfNeeded: members.count)
                    guard members.freeCapacity >= count else { return position }
                    var name = node &+ 1
                    for _ in 0..<count {
                        members.append(JSONMember(nodes[name].fingerprint, node: name))
                        name = Int(nodes[name &+ 1].next)
                    }
                    if let duplicate = DuplicateNames.last(count, of: members.span, nodes.span, text) {
                        throw error(.duplicateMember, Int(nodes[duplicate].start) &- 1)
                    }
                }
                nodes[node].end = UInt32(truncatingIfNeeded: position)
                nodes[node].next = UInt32(truncatingIfNeeded: nodes.count)
                container = containers[closed].parent
                depth &-= 1
                if depth > 0 {
                    count = Int(containers[Int(container)].count) &+ 1
                    isObject = nodes[Int(containers[Int(container)].node)].kind == .object
                }
            }
        }
    }

    // MARK: Octets

    @inline(never)
    private static func error(_ reason: JSONError.Reason, _ offset: Int) -> JSONError {
        JSONError(reason, offset: offset)
    }

    /// Where the value of the name that ends at `end` begins, and its first octet.
    @inline(__always)
    private static func afterName(_ text: Span<UInt8>, _ end: Int) throws(JSONError) -> (Int, UInt8) {
        // As in `StringSyntax.end(of:from:)`.
        let index = end & 0x7FFF_FFFF
        if index &+ 4 <= text.count {
            let octets = text.halfWord(at: index)
            // A colon, and mostly a space.
            if octets & 0x00FF_FF00 == 0x0020_3A00 {
                let octet = UInt8(truncatingIfNeeded: octets &>> 24)
                if octet > 0x20 { return (index &+ 3, octet) }
            } else if octets & 0x0000_FF00 == 0x0000_3A00 {
                let octet = UInt8(truncatingIfNeeded: octets &>> 16)
                if octet > 0x20 { return (index &+ 2, octet) }
            }
        }
        return try colonAndValue(text, index &+ 1)
    }

    @inline(never)
    private static func colonAndValue(_ text: Span<UInt8>, _ position: Int) throws(JSONError) -> (Int, UInt8) {
        let (colon, octet) = try tokenAfterMore(text, position)
        guard octet == UInt8(ascii: ":") else { throw error(.unexpectedOctet, colon) }
        return try tokenAfterMore(text, colon &+ 1)
    }

    /// Where the next octet that is not white space is, and which, where a line may end.
    ///
    /// - Parameter deeper: How many arrays and objects more are around the next line than around the last one.
    @inline(__always)
    private static func token(
        _ text: Span<UInt8>,
        _ position: Int,
        _ indentation: inout Indentation,
        deeper: Int
    ) throws(JSONError) -> (Int, UInt8) {
        // As in `StringSyntax.end(of:from:)`.
        let index = position & 0x7FFF_FFFF
        if index < text.count {
            let octet = text[index]
            if octet > 0x20 { return (index, octet) }
            if octet == 0x0A, index &+ 1 &+ Indentation.maximum < text.count {
                let last = indentation.count
                if deeper != 0 { indentation.expect(deeper: deeper) }
                if indentation.begins(text.words(at: index &+ 1)) {
                    let next = index &+ 1 &+ indentation.count
                    let octet = text[next]
                    if octet > 0x20 { return (next, octet) }
                }
                return try tokenOfLine(text, index &+ 1, &indentation, after: last)
            }
        }
        return try tokenAfterMore(text, index)
    }

    @inline(never)
    private static func tokenOfLine(
        _ text: Span<UInt8>,
        _ start: Int,
        _ indentation: inout Indentation,
        after last: Int
    ) throws(JSONError) -> (Int, UInt8) {
        indentation.count(text.words(at: start), after: last)
        let next = start &+ indentation.count
        let octet = text[next]
        if octet > 0x20 { return (next, octet) }
        return try tokenAfterMore(text, next)
    }

    @inline(never)
    private static func tokenAfterMore(_ text: Span<UInt8>, _ position: Int) throws(JSONError) -> (Int, UInt8) {
        let position = afterWhitespace(text, position)
        guard position < text.count else { throw error(.unexpectedEnd, position) }
        return (position, text[position])
    }

    /// RFC 8259 §2 allows space, tab, line feed and carriage return.
    @inline(__always)
    private static func afterWhitespace(_ text: Span<UInt8>, _ position: Int) -> Int {
        var index = position
        while true {
            // As in `StringSyntax.end(of:from:)`.
            index &= 0x7FFF_FFFF
            guard index < text.count else { return index }
            let octet = text[index]
            if octet > 0x20 { return index }
            guard octet == 0x20 || octet == 0x0A || octet == 0x0D || octet == 0x09 else { return index }
            index &+= 1
        }
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
        guard index < text.count, text[index] == UInt8(ascii: ".") || text[index] | 0x20 == UInt8(ascii: "e") else {
            return true
        }
        try fractionAndExponent(text, &index)
        return false
    }

    @inline(never)
    private static func fractionAndExponent(_ text: Span<UInt8>, _ index: inout Int) throws(JSONError) {
        if text[index] == UInt8(ascii: ".") {
            index &+= 1
            try digits(text, &index)
        }
        if index < text.count, text[index] | 0x20 == UInt8(ascii: "e") {
            index &+= 1
            if index < text.count, text[index] == UInt8(ascii: "+") || text[index] == UInt8(ascii: "-") {
                index &+= 1
            }
            try digits(text, &index)
        }
    }

    @inline(__always)
    private static func digits(_ text: Span<UInt8>, _ index: inout Int) throws(JSONError) {
        let start = index
        index &= 0x7FFF_FFFF
        if index &+ 16 < text.count {
            let words = text.words(at: index)
            index &+= clearOctets(notDigits(words.0), notDigits(words.1))
        }
        while index < text.count, text[index] &- UInt8(ascii: "0") < 10 { index &+= 1 }
        guard index > start else {
            throw error(index < text.count ? .invalidNumber : .unexpectedEnd, index)
        }
    }

    /// Sets the top bit of the lowest octet that is not a digit. Bits above that one mean nothing: a carry may have reached
    /// them.
    @inline(__always)
    private static func notDigits(_ word: UInt64) -> UInt64 {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let values = word ^ (ones &* 0x30)
        return (values | (values &+ (ones &* 0x76))) & (ones &* 0x80)
    }

    /// Moves past `null`, `true` or `false`, given as its last four octets, the first of them lowest.
    ///
    /// - Parameter before: How many octets come before those; they were looked at.
    @inline(__always)
    private static func literal(
        _ octets: UInt32,
        _ before: Int,
        _ text: Span<UInt8>,
        _ position: inout Int
    ) throws(JSONError) {
        // As in `StringSyntax.end(of:from:)`.
        let index = (position &+ before) & 0x7FFF_FFFF
        guard index &+ 4 <= text.count, text.halfWord(at: index) == octets else {
            throw malformedLiteral(octets, text, index)
        }
        position = index &+ 4
    }

    @inline(never)
    private static func malformedLiteral(_ octets: UInt32, _ text: Span<UInt8>, _ position: Int) -> JSONError {
        for offset in 0..<4 {
            guard position &+ offset < text.count else { break }
            guard text[position &+ offset] == UInt8(truncatingIfNeeded: octets &>> (8 &* UInt32(offset))) else {
                return error(.unexpectedOctet, position &+ offset)
            }
        }
        return error(.unexpectedEnd, text.count)
    }
}
