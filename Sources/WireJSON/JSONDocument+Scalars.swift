// The value of a scalar at a node. Here rather than on `JSONValue`, so that a member can be read without making a value of
// it, which holds on to the document.
extension JSONDocument {
    @inline(__always)
    private func require(_ expected: JSONNode.Kind, at node: Int) throws(JSONError.Reason) {
        let found = nodes[node].kind
        guard found == expected else { throw unexpectedKind(expected, found) }
    }

    @inline(never)
    private func unexpectedKind(_ expected: JSONNode.Kind, _ found: JSONNode.Kind) -> JSONError.Reason {
        .unexpectedKind(expected: expected.visible, found: found.visible)
    }

    func string(at node: Int) throws(JSONError.Reason) -> String {
        try require(.string, at: node)
        return string(nodes[node].range, hasEscape: nodes[node].flag)
    }

    func utf8Slice(at node: Int) throws(JSONError.Reason) -> ArraySlice<UInt8> {
        try require(.string, at: node)
        return text(nodes[node].range, hasEscape: nodes[node].flag)
    }

    func bool(at node: Int) throws(JSONError.Reason) -> Bool {
        switch nodes[node].kind {
        case .true: return true
        case .false: return false
        case let other: throw unexpectedKind(.true, other)
        }
    }

    func int64(at node: Int) throws(JSONError.Reason) -> Int64 {
        try require(.number, at: node)
        let entry = nodes[node]
        guard entry.flag else { throw .notAnInteger }
        let bytes = bytes
        let text = bytes.span.extracting(entry.range)
        let isNegative = text[0] == UInt8(ascii: "-")
        let digits = text.extracting((isNegative ? 1 : 0)..<text.count)
        var value: Int64 = 0
        // Whatever eighteen digits say fits.
        if digits.count <= 18 {
            for index in digits.indices { value = value &* 10 &+ Int64(digits[index] &- UInt8(ascii: "0")) }
            return isNegative ? 0 &- value : value
        }
        // Built downwards, since the negative range is the larger one.
        for index in digits.indices {
            let digit = Int64(digits[index] &- UInt8(ascii: "0"))
            let (product, overflows) = value.multipliedReportingOverflow(by: 10)
            let (difference, underflows) = product.subtractingReportingOverflow(digit)
            guard !overflows, !underflows else { throw .integerOutOfRange }
            value = difference
        }
        if isNegative { return value }
        guard value != .min else { throw .integerOutOfRange }
        return -value
    }

    func decimal(at node: Int) throws(JSONError.Reason) -> JSONDecimal {
        try require(.number, at: node)
        let bytes = bytes
        guard let decimal = JSONDecimal(bytes.span, nodes[node].range) else { throw .decimalOutOfRange }
        return decimal
    }
}
