import WireJSON

/// A JSON value that can be edited. Scalars stay as they were written.
indirect enum JSONTree {
    case scalar([UInt8])
    case array([JSONTree])
    case object([(name: String, value: JSONTree)])

    init?(_ bytes: [UInt8]) {
        guard let document = try? JSONDocument(parsing: bytes) else { return nil }
        self.init(document.root)
    }

    private init(_ value: JSONValue) {
        switch value.kind {
        case .array: self = .array(((try? value.array()).map { Array($0) } ?? []).map(JSONTree.init))
        case .object:
            var members: [(name: String, value: JSONTree)] = []
            if let object = try? value.object() {
                for (name, member) in object.members { members.append((name, JSONTree(member))) }
            }
            self = .object(members)
        default: self = .scalar(Array(value.rawBytes))
        }
    }

    var bytes: [UInt8] { text.bytes }

    private var text: JSONText {
        switch self {
        case .scalar(let bytes): .raw(String(decoding: bytes, as: UTF8.self))
        case .array(let elements): .array(elements.map(\.text))
        case .object(let members): .object(JSONMembers(members.map { ($0.name, $0.value.text) }))
        }
    }

    /// How many values there are, this one included.
    var count: Int {
        switch self {
        case .scalar: 1
        case .array(let elements): elements.reduce(1) { $0 + $1.count }
        case .object(let members): members.reduce(1) { $0 + $1.value.count }
        }
    }

    /// Changes the value at a place in the order of the text, 0 being this one.
    mutating func edit(at place: Int, _ change: (inout JSONTree) -> Void) {
        guard place > 0 else { return change(&self) }
        var rest = place - 1
        switch self {
        case .scalar: break
        case .array(var elements):
            for index in elements.indices {
                let count = elements[index].count
                if rest < count {
                    elements[index].edit(at: rest, change)
                    break
                }
                rest -= count
            }
            self = .array(elements)
        case .object(var members):
            for index in members.indices {
                let count = members[index].value.count
                if rest < count {
                    members[index].value.edit(at: rest, change)
                    break
                }
                rest -= count
            }
            self = .object(members)
        }
    }

    /// The value at a place.
    func value(at place: Int) -> JSONTree {
        var copy = self
        var found = self
        copy.edit(at: place) { found = $0 }
        return found
    }

    /// The string under a name, anywhere.
    func strings(named wanted: String) -> [[UInt8]] {
        switch self {
        case .scalar: []
        case .array(let elements): elements.flatMap { $0.strings(named: wanted) }
        case .object(let members):
            members.flatMap { name, value -> [[UInt8]] in
                if name == wanted, case .scalar(let text) = value, text.first == UInt8(ascii: "\"") {
                    return [Array(text.dropFirst().dropLast())]
                }
                return value.strings(named: wanted)
            }
        }
    }

    /// The elements of the array under a name of this object; none where there is no such array.
    func elements(named wanted: String) -> [JSONTree] {
        guard case .object(let members) = self,
            case .array(let elements)? = members.first(where: { $0.name == wanted })?.value
        else { return [] }
        return elements
    }

    /// Puts one scalar in place of another, wherever it stands.
    mutating func replace(_ scalar: [UInt8], by other: [UInt8]) {
        switch self {
        case .scalar(let bytes): if bytes == scalar { self = .scalar(other) }
        case .array(var elements):
            for index in elements.indices { elements[index].replace(scalar, by: other) }
            self = .array(elements)
        case .object(var members):
            for index in members.indices { members[index].value.replace(scalar, by: other) }
            self = .object(members)
        }
    }

    /// The scalars in it.
    var scalars: [[UInt8]] {
        switch self {
        case .scalar(let bytes): [bytes]
        case .array(let elements): elements.flatMap(\.scalars)
        case .object(let members): members.flatMap { $0.value.scalars }
        }
    }
}

/// One change to a JSON text, read from six octets.
struct JSONEdit {
    /// Which of a delivery's texts.
    var part: Int
    private var operation: UInt8
    private var place: Int
    private var argument: Int

    /// The edits that an input stands for: at most 24.
    static func list(_ input: ArraySlice<UInt8>) -> [JSONEdit] {
        var edits: [JSONEdit] = []
        var rest = input
        while rest.count >= 6, edits.count < 24 {
            let octets = Array(rest.prefix(6))
            edits.append(
                JSONEdit(
                    part: Int(octets[0]),
                    operation: octets[1],
                    place: Int(octets[2]) << 8 | Int(octets[3]),
                    argument: Int(octets[4]) << 8 | Int(octets[5])
                )
            )
            rest = rest.dropFirst(6)
        }
        return edits
    }

    private static let values: [String] = [
        "null", "true", "false", "0", "1", "-1", "2", "3", "13", "99", "9223372036854775807", "-9223372036854775808",
        "9223372036854775808", "1.5", "1e3", "1e400", "1e-400", "0.000000000000000000000000000000000000001",
        "253402300799999", "253402300800000", "1772366400000", "1772366400", "-1772366400000", "1000000000000000000000",
        #""""#, #"" ""#, #""0""#, #""-1""#, #""9223372036854775807""#, #""99999999999999999999""#, #""1772366400000""#,
        #""2026-03-01T12:00:00Z""#, #""2026-03-01T12:00:00.123456789Z""#, #""9999-12-31T23:59:59.999Z""#,
        #""1969-12-31T23:59:59Z""#, #""2026-02-30T00:00:00Z""#, #""2026-03-01T12:00:00+99:99""#, #""\u0000""#,
        #""\ud83d\ude00""#, #""c4n4ry-0123456789""#, #""USD""#, #""usd""#, #""XXX""#, #""P1M""#, #""P-1M""#,
        #""P99999999999Y""#, #""604800s""#, #""-315576000001s""#, "[]", "{}", "[[]]", "[null]", #"{"id":null}"#,
        #"{"units":"9223372036854775807","nanos":999999999,"currencyCode":"EUR"}"#,
        #"{"units":"-1","nanos":1,"currencyCode":"EUR"}"#, #"{"data":[]}"#, #"{"data":[{}],"has_more":true}"#,
        "\"\(String(repeating: "x", count: 5000))\"", "[\(String(repeating: "0,", count: 400))0]",
        "\(String(repeating: "[", count: 70))\(String(repeating: "]", count: 70))",
    ]

    /// - Parameter words: scalars that this provider uses.
    func apply(to tree: inout JSONTree, words: [[UInt8]]) {
        let place = place % tree.count
        let argument = argument
        switch operation % 8 {
        case 0: tree.edit(at: place) { $0 = .scalar(Array(Self.values[argument % Self.values.count].utf8)) }
        case 1: if !words.isEmpty { tree.edit(at: place) { $0 = .scalar(words[argument % words.count]) } }
        case 2:
            let other = tree.value(at: argument % tree.count)
            if other.count < 200 { tree.edit(at: place) { $0 = other } }
        case 3: tree.edit(at: place) { $0.dropChild(argument) }
        case 4: tree.edit(at: place) { $0.repeatChild(argument) }
        case 5: tree.edit(at: place) { $0.renameChild(argument) }
        case 6: tree.edit(at: place) { $0 = .array([$0]) }
        default: tree.edit(at: place) { $0.changeScalar(argument) }
        }
    }
}

extension JSONTree {
    fileprivate mutating func dropChild(_ index: Int) {
        switch self {
        case .scalar: break
        case .array(var elements):
            if !elements.isEmpty { elements.remove(at: index % elements.count) }
            self = .array(elements)
        case .object(var members):
            if !members.isEmpty { members.remove(at: index % members.count) }
            self = .object(members)
        }
    }

    fileprivate mutating func repeatChild(_ index: Int) {
        switch self {
        case .scalar: break
        case .array(var elements):
            if !elements.isEmpty { elements.append(elements[index % elements.count]) }
            self = .array(elements)
        case .object(var members):
            if !members.isEmpty { members.append(members[index % members.count]) }
            self = .object(members)
        }
    }

    fileprivate mutating func renameChild(_ index: Int) {
        guard case .object(var members) = self, !members.isEmpty else { return }
        members[index % members.count].name += "_"
        self = .object(members)
    }

    /// Changes one octet of a scalar.
    fileprivate mutating func changeScalar(_ argument: Int) {
        guard case .scalar(var bytes) = self, !bytes.isEmpty else { return }
        bytes[(argument >> 8) % bytes.count] ^= UInt8(truncatingIfNeeded: argument)
        self = .scalar(bytes)
    }
}
