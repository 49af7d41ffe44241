/// Finds the position of each value in a document.
struct DocumentIndex {
    /// Values and member names, in the order of the document.
    private(set) var nodes: [JSONNode] = []
    /// Arrays and objects, in the order in which they begin.
    private(set) var containers: [JSONContainer] = []
    /// The members of each object, in a form that makes looking for one a matter of neighbours.
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
        let usual = min(text.count / 8 + 8, maximumNodes)
        if try read(text, nodes: usual, containers: text.count / 64 + 8, openNames: 120, limits) == nil { return }
        let most = min(text.count, maximumNodes)
        if let position = try read(text, nodes: most, containers: most, openNames: most / 2 + 1, limits) {
            throw JSONError(.tooManyNodes(limit: limit), offset: position)
        }
    }

    /// The position at which there was no room for more, or nil.
    private mutating func read(
        _ text: Span<UInt8>,
        nodes maximumNodes: Int,
        containers maximumContainers: Int,
        openNames: Int,
        _ limits: JSONLimits
    ) throws(JSONError) -> Int? {
        var position: Int?
        var nodes: [JSONNode] = []
        var containers: [JSONContainer] = []
        var members: [JSONMember] = []
        var open: [JSONMember] = []
        // Unlike an initializer with a capacity, this is compiled for its elements and looks up no types while it runs.
        // One node more than there may be, since a name and its value take their room at once.
        try nodes.append(addingCapacity: maximumNodes + 1) { (nodes) throws(JSONError) in
            try containers.append(addingCapacity: maximumContainers) { (containers) throws(JSONError) in
                // A table has less than four places for each name.
                try members.append(addingCapacity: (maximumNodes / 2 + 1) * 4) { (members) throws(JSONError) in
                    try open.append(addingCapacity: openNames) { (open) throws(JSONError) in
                        position = try StructureIndexer.index(
                            text,
                            nodes: &nodes,
                            containers: &containers,
                            members: &members,
                            open: &open,
                            maximumDepth: limits.maximumDepth
                        )
                    }
                }
            }
        }
        if position == nil, nodes.count > maximumNodes { position = nodes.last.map { Int($0.start) } }
        self.nodes = nodes
        self.containers = containers
        self.members = members
        return position
    }
}

/// The grammar of RFC 8259. Open arrays and objects are kept in the index itself, so depth takes no stack.
enum StructureIndexer {
    /// Appends all of a document to an index.
    ///
    /// - Parameter open: takes the names of objects that have not ended; empty in the end.
    /// - Returns: the position at which one of the spans was full, or nil.
    static func index(
        _ text: Span<UInt8>,
        nodes: inout OutputSpan<JSONNode>,
        containers: inout OutputSpan<JSONContainer>,
        members: inout OutputSpan<JSONMember>,
        open: inout OutputSpan<JSONMember>,
        maximumDepth: Int
    ) throws(JSONError) -> Int? {
        // In a variable that nothing else can refer to, if it needs no store and no load for each node.
        var own = consume nodes
        var ownOpen = consume open
        let result: Result<Int?, JSONError>
        do throws(JSONError) {
            result = .success(
                try read(
                    text,
                    nodes: &own,
                    containers: &containers,
                    members: &members,
                    open: &ownOpen,
                    maximumDepth: maximumDepth
                )
            )
        } catch {
            result = .failure(error)
        }
        nodes = own
        open = ownOpen
        return try result.get()
    }

    /// The innermost array or object.
    private struct Scope {
        var container = JSONContainer.none
        var isObject = false
        /// How many elements or members it has so far.
        var count = 0
        var depth = 0
    }

    @inline(__always)
    private static func read(
        _ text: Span<UInt8>,
        nodes: inout OutputSpan<JSONNode>,
        containers: inout OutputSpan<JSONContainer>,
        members: inout OutputSpan<JSONMember>,
        open: inout OutputSpan<JSONMember>,
        maximumDepth: Int
    ) throws(JSONError) -> Int? {
        var scope = Scope()
        var (position, octet) = try tokenAfterMore(text, 0)
        while true {
            // For a value and its name.
            guard nodes.count &+ 1 < nodes.capacity else { return Int(position) }
            if scope.isObject {
                guard octet == StringSyntax.quotationMark else { throw error(.unexpectedOctet, Int(position)) }
                guard open.count < open.capacity else { return Int(position) }
                let start = position &+ 1
                let (end, hasEscape, fingerprint) = try StringSyntax.endOfName(in: text, from: start)
                open.append(JSONMember(fingerprint, node: nodes.count))
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
            let next = nodes.count &+ 1
            var end: UInt32
            switch octet {
            case StringSyntax.quotationMark:
                let hasEscape: Bool
                (end, hasEscape) = try StringSyntax.end(of: text, from: position &+ 1)
                nodes.append(JSONNode(kind: .string, flag: hasEscape, start: position &+ 1, end: end, next: next))
                end &+= 1
            case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
                end = position
                let isInteger = try number(text, &end)
                nodes.append(JSONNode(kind: .number, flag: isInteger, start: position, end: end, next: next))
            case UInt8(ascii: "n"):
                end = try literal(0x6C6C_756E, in: text, at: position)
                nodes.append(JSONNode(kind: .null, start: position, end: end, next: next))
            case UInt8(ascii: "t"):
                end = try literal(0x6575_7274, in: text, at: position)
                nodes.append(JSONNode(kind: .true, start: position, end: end, next: next))
            case UInt8(ascii: "f"):
                end = try literal(0x6573_6C61, in: text, at: position &+ 1)
                nodes.append(JSONNode(kind: .false, start: position, end: end, next: next))
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                guard scope.depth < maximumDepth else { throw error(.tooDeep(limit: maximumDepth), Int(position)) }
                guard containers.count < containers.capacity else { return Int(position) }
                let opened = containers.count
                let isObject = octet == UInt8(ascii: "{")
                begin(&scope, isObject: isObject, node: nodes.count, containers: &containers)
                nodes.append(
                    JSONNode(
                        kind: isObject ? .object : .array,
                        container: opened,
                        start: position,
                        end: position,
                        next: next
                    )
                )
                (position, octet) = try token(text, at: position &+ 1)
                guard octet == (isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else { continue }
                end = position &+ 1
                var all = nodes.mutableSpan
                try finish(
                    &scope,
                    at: end,
                    of: text,
                    nodes: &all,
                    containers: &containers,
                    members: &members,
                    open: &open
                )
            default:
                throw error(.unexpectedOctet, Int(position))
            }

            let index = Int(end)
            // Mostly a comma, and after it a line, a space, or what comes next.
            if scope.depth > 0, index &+ 18 < text.count, text[index] == UInt8(ascii: ",") {
                var next = end &+ 1
                octet = text[index &+ 1]
                if octet == 0x0A {
                    next = end &+ 2 &+ spaces(text, at: index &+ 2)
                    octet = text[Int(next)]
                } else if octet == 0x20 {
                    next = end &+ 2
                    octet = text[index &+ 2]
                }
                if octet > 0x20 {
                    scope.count &+= 1
                    position = next
                    continue
                }
            }
            var all = nodes.mutableSpan
            guard
                let next = try afterValue(
                    end,
                    in: text,
                    nodes: &all,
                    containers: &containers,
                    members: &members,
                    open: &open,
                    scope: &scope
                )
            else { return nil }
            (position, octet) = next
        }
    }

    // MARK: Arrays and objects

    @inline(__always)
    private static func begin(
        _ scope: inout Scope,
        isObject: Bool,
        node: Int,
        containers: inout OutputSpan<JSONContainer>
    ) {
        if scope.depth > 0 { containers[Int(scope.container)].count = UInt32(truncatingIfNeeded: scope.count) }
        let opened = UInt32(truncatingIfNeeded: containers.count)
        containers.append(
            JSONContainer(node: node, parent: scope.container, position: scope.count, depth: scope.depth)
        )
        scope.container = opened
        scope.isObject = isObject
        scope.count = 0
        scope.depth &+= 1
    }

    /// Where the next value or member begins, and its first octet; nil at the end of the document.
    ///
    /// - Parameter end: where the value before it ends.
    @inline(never)
    private static func afterValue(
        _ end: UInt32,
        in text: Span<UInt8>,
        nodes: inout MutableSpan<JSONNode>,
        containers: inout OutputSpan<JSONContainer>,
        members: inout OutputSpan<JSONMember>,
        open: inout OutputSpan<JSONMember>,
        scope: inout Scope
    ) throws(JSONError) -> (UInt32, UInt8)? {
        var end = end
        while scope.depth > 0 {
            scope.count &+= 1
            let (position, octet) = try token(text, at: end)
            if octet == UInt8(ascii: ",") {
                return try token(text, at: position &+ 1)
            }
            guard octet == (scope.isObject ? UInt8(ascii: "}") : UInt8(ascii: "]")) else {
                throw error(.unexpectedOctet, Int(position))
            }
            end = position &+ 1
            try finish(
                &scope,
                at: end,
                of: text,
                nodes: &nodes,
                containers: &containers,
                members: &members,
                open: &open
            )
        }
        let position = afterWhitespace(text, end)
        guard position == text.count else { throw error(.trailingOctets, Int(position)) }
        return nil
    }

    /// The end of the innermost array or object, and a return to the one around it.
    @inline(never)
    private static func finish(
        _ scope: inout Scope,
        at end: UInt32,
        of text: Span<UInt8>,
        nodes: inout MutableSpan<JSONNode>,
        containers: inout OutputSpan<JSONContainer>,
        members: inout OutputSpan<JSONMember>,
        open: inout OutputSpan<JSONMember>
    ) throws(JSONError) {
        let closed = Int(scope.container)
        let node = Int(containers[closed].node)
        let count = scope.count
        containers[closed].count = UInt32(truncatingIfNeeded: count)
        if scope.isObject {
            containers[closed].members = UInt32(truncatingIfNeeded: members.count)
            // In a variable of its own, as above.
            var list = consume members
            let duplicate = DuplicateNames.append(
                open.span.extracting(last: count),
                to: &list,
                nodes: nodes.span,
                in: text
            )
            members = list
            if let duplicate { throw error(.duplicateMember, Int(nodes[duplicate].start) &- 1) }
            open.removeLast(count)
        }
        nodes[node].end = end
        nodes[node].next = UInt32(truncatingIfNeeded: nodes.count)
        scope.container = containers[closed].parent
        scope.depth &-= 1
        if scope.depth > 0 {
            scope.count = Int(containers[Int(scope.container)].count)
            scope.isObject = nodes[Int(containers[Int(scope.container)].node)].kind == .object
        }
    }

    // MARK: Octets

    @inline(never)
    private static func error(_ reason: JSONError.Reason, _ offset: Int) -> JSONError {
        JSONError(reason, offset: offset)
    }

    /// Where the value of the name that ends at `end` begins, and its first octet.
    @inline(__always)
    private static func afterName(_ text: Span<UInt8>, _ end: UInt32) throws(JSONError) -> (UInt32, UInt8) {
        let index = Int(end)
        // A colon, and mostly a space.
        if index &+ 4 <= text.count, text[index &+ 1] == UInt8(ascii: ":") {
            if text[index &+ 2] == 0x20 {
                let octet = text[index &+ 3]
                if octet > 0x20 { return (end &+ 3, octet) }
            } else {
                let octet = text[index &+ 2]
                if octet > 0x20 { return (end &+ 2, octet) }
            }
        }
        return try colonAndValue(text, end &+ 1)
    }

    @inline(never)
    private static func colonAndValue(_ text: Span<UInt8>, _ position: UInt32) throws(JSONError) -> (UInt32, UInt8) {
        let (colon, octet) = try tokenAfterMore(text, position)
        guard octet == UInt8(ascii: ":") else { throw error(.unexpectedOctet, Int(colon)) }
        return try tokenAfterMore(text, colon &+ 1)
    }

    /// Where the next octet that is not white space is, and which, if a line may end.
    @inline(__always)
    private static func token(_ text: Span<UInt8>, at position: UInt32) throws(JSONError) -> (UInt32, UInt8) {
        let index = Int(position)
        if index < text.count {
            let octet = text[index]
            if octet > 0x20 { return (position, octet) }
            if octet == 0x0A, index &+ 17 < text.count {
                let next = position &+ 1 &+ spaces(text, at: index &+ 1)
                let octet = text[Int(next)]
                if octet > 0x20 { return (next, octet) }
            }
        }
        return try tokenAfterMore(text, position)
    }

    /// How many of sixteen octets are spaces, before the first that is none.
    @inline(__always)
    private static func spaces(_ text: Span<UInt8>, at index: Int) -> UInt32 {
        let spaces: UInt64 = 0x2020_2020_2020_2020
        let words = text.words(at: index)
        return clearOctets(words.0 ^ spaces, words.1 ^ spaces)
    }

    @inline(never)
    private static func tokenAfterMore(_ text: Span<UInt8>, _ position: UInt32) throws(JSONError) -> (UInt32, UInt8) {
        let position = afterWhitespace(text, position)
        guard position < text.count else { throw error(.unexpectedEnd, Int(position)) }
        return (position, text[Int(position)])
    }

    /// RFC 8259 §2 allows space, tab, line feed and carriage return.
    @inline(__always)
    private static func afterWhitespace(_ text: Span<UInt8>, _ position: UInt32) -> UInt32 {
        var position = position
        while position < text.count {
            let octet = text[Int(position)]
            if octet > 0x20 { return position }
            guard octet == 0x20 || octet == 0x0A || octet == 0x0D || octet == 0x09 else { return position }
            position &+= 1
        }
        return position
    }

    /// Moves past a number, RFC 8259 §6, and says whether it has neither fraction nor exponent.
    @inline(__always)
    private static func number(_ text: Span<UInt8>, _ position: inout UInt32) throws(JSONError) -> Bool {
        if text[Int(position)] == UInt8(ascii: "-") { position &+= 1 }
        if position < text.count, text[Int(position)] == UInt8(ascii: "0") {
            position &+= 1
        } else {
            try digits(text, &position)
        }
        guard position < text.count else { return true }
        let octet = text[Int(position)]
        guard octet == UInt8(ascii: ".") || octet | 0x20 == UInt8(ascii: "e") else { return true }
        try fractionAndExponent(text, &position)
        return false
    }

    @inline(never)
    private static func fractionAndExponent(_ text: Span<UInt8>, _ position: inout UInt32) throws(JSONError) {
        if text[Int(position)] == UInt8(ascii: ".") {
            position &+= 1
            try digits(text, &position)
        }
        if position < text.count, text[Int(position)] | 0x20 == UInt8(ascii: "e") {
            position &+= 1
            if position < text.count,
                text[Int(position)] == UInt8(ascii: "+") || text[Int(position)] == UInt8(ascii: "-")
            {
                position &+= 1
            }
            try digits(text, &position)
        }
    }

    @inline(__always)
    private static func digits(_ text: Span<UInt8>, _ position: inout UInt32) throws(JSONError) {
        let start = position
        let index = Int(position)
        if index &+ 16 < text.count {
            let words = text.words(at: index)
            position &+= clearOctets(notDigits(words.0), notDigits(words.1))
        }
        while position < text.count, text[Int(position)] &- UInt8(ascii: "0") < 10 { position &+= 1 }
        guard position > start else {
            throw error(position < text.count ? .invalidNumber : .unexpectedEnd, Int(position))
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

    /// The end of `null`, `true` or `false`, given as its last four octets, the first of them lowest.
    @inline(__always)
    private static func literal(
        _ octets: UInt32,
        in text: Span<UInt8>,
        at position: UInt32
    ) throws(JSONError) -> UInt32 {
        let index = Int(position)
        guard index &+ 4 <= text.count, text.halfWord(at: index) == octets else {
            throw malformedLiteral(octets, in: text, at: index)
        }
        return position &+ 4
    }

    @inline(never)
    private static func malformedLiteral(_ octets: UInt32, in text: Span<UInt8>, at position: Int) -> JSONError {
        for offset in 0..<4 {
            guard position &+ offset < text.count else { break }
            guard text[position &+ offset] == UInt8(truncatingIfNeeded: octets &>> (8 &* UInt32(offset))) else {
                return error(.unexpectedOctet, position &+ offset)
            }
        }
        return error(.unexpectedEnd, text.count)
    }
}
