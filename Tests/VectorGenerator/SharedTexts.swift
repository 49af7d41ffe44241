import NotificationSimulator
import SignatureCore
import WireJSON

/// The texts that the lines of a file share: whole bodies, what is encoded in them, and long words, such as certificates.
struct SharedTexts {
    /// A part of a body or of a header field.
    indirect enum Part: Hashable {
        case plain(String)
        /// Letters and digits that may stand in several texts.
        case word(String)
        /// The encoding of another text, with its name.
        case encoded(String, [Part])
    }

    /// Shorter texts are not worth a name.
    private static let shortest = 60
    private static let shortestWord = 100

    private var names: [[Part]: String] = [:]
    private var shared: [[Part]] = []

    /// - Parameters:
    ///   - bodies: the bodies of all cases.
    ///   - fields: the values of all header fields.
    init(bodies: [[Part]], fields: [String]) {
        var counts: [[Part]: (count: Int, order: Int)] = [:]
        /// True if it is the first of its kind.
        func count(_ text: [Part]) -> Bool {
            let order = counts.count
            counts[text, default: (0, order)].count += 1
            return counts[text]?.count == 1
        }
        func countParts(of text: [Part]) {
            for part in text {
                switch part {
                case .plain: break
                case .word: _ = count([part])
                case .encoded(_, let inner): if count([part]) { countParts(of: inner) }
                }
            }
        }
        for field in fields where field.utf8.count >= Self.shortestWord { _ = count([.word(field)]) }
        for body in bodies where body.count == 1 || count(body) { countParts(of: body) }
        let found = counts.filter { $0.value.count > 1 && Self.length($0.key) >= Self.shortest }
        // A text stands after those that it is made of.
        shared = found.sorted { (Self.depth($0.key), $0.value.order) < (Self.depth($1.key), $1.value.order) }.map(\.key)
        for (index, text) in shared.enumerated() { names[text] = "t\(index + 1)" }
    }

    /// The texts by their names, for the first line.
    var members: JSONMembers {
        JSONMembers(shared.map { text in (names[text] ?? "", definition(text)) })
    }

    // MARK: Writing

    /// A text as it stands in a line.
    func json(_ text: [Part]) -> JSONText {
        if let name = names[text] { return ["text": .string(name)] }
        var elements: [JSONText] = []
        var plain = ""
        func end() {
            if !plain.isEmpty { elements.append(.string(plain)) }
            plain = ""
        }
        for part in text {
            switch part {
            case .plain(let part): plain += part
            case .word(let word) where names[[part]] == nil: plain += word
            case .word, .encoded:
                end()
                elements.append(names[[part]].map { ["text": .string($0)] } ?? definition([part]))
            }
        }
        end()
        guard let only = elements.first, elements.count == 1 else {
            return elements.isEmpty ? "" : .array(elements)
        }
        return only
    }

    /// The definition of a name.
    private func definition(_ text: [Part]) -> JSONText {
        switch text.first {
        case .word(let word) where text.count == 1: return .string(word)
        case .encoded(let encoding, let inner) where text.count == 1:
            return .object(JSONMembers([(encoding, json(inner))]))
        default:
            var others = self
            others.names[text] = nil
            return others.json(text)
        }
    }

    /// The value of a header field, where it is shared.
    func json(field: String) -> JSONText? {
        names[[.word(field)]].map { ["text": .string($0)] }
    }

    private static func length(_ text: [Part]) -> Int {
        text.reduce(0) { length, part in
            switch part {
            case .plain(let text), .word(let text): length + text.utf8.count
            case .encoded(_, let inner): length + self.length(inner)
            }
        }
    }

    private static func depth(_ text: [Part]) -> Int {
        let parts = text.map { part in
            switch part {
            case .plain, .word: 0
            case .encoded(_, let inner): 1 + depth(inner)
            }
        }
        // A body is made of words and of what is encoded.
        return (parts.max() ?? 0) * 2 + (text.count > 1 ? 1 : 0)
    }

    // MARK: Reading

    /// The parts of a text: those of a compact JWS and the data of a message are encodings of other texts.
    static func parts(of text: String) -> [Part] {
        var parts: [Part] = []
        var plain: [UInt8] = []
        func end() {
            if !plain.isEmpty { parts.append(.plain(String(decoding: plain, as: UTF8.self))) }
            plain = []
        }
        for (run, isLong) in runs(Array(text.utf8), longerThan: 23) {
            if isLong, let inner = decoded(run) {
                end()
                parts.append(inner)
            } else if isLong, run.count >= shortestWord {
                end()
                parts.append(.word(String(decoding: run, as: UTF8.self)))
            } else {
                plain += run
            }
        }
        end()
        return parts
    }

    /// Octets cut where words begin and end that are longer than `limit`, of the characters of base64 and base64url.
    private static func runs(
        _ octets: [UInt8],
        longerThan limit: Int
    ) -> [(run: ArraySlice<UInt8>, isLong: Bool)] {
        var result: [(ArraySlice<UInt8>, Bool)] = []
        var (start, index) = (0, 0)
        while index < octets.count {
            var end = index
            while end < octets.count, isEncoded[Int(octets[end])] { end += 1 }
            if end - index > limit {
                if start < index { result.append((octets[start..<index], false)) }
                result.append((octets[index..<end], true))
                start = end
            }
            index = max(end, index + 1)
        }
        if start < octets.count { result.append((octets[start...], false)) }
        return result
    }

    private static let isEncoded: [Bool] = (0...255).map { octet in
        switch UInt8(octet) {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "+"),
            UInt8(ascii: "/"), UInt8(ascii: "="):
            true
        default: false
        }
    }

    /// The decoded word, if it is JSON and encodes to the same word.
    private static func decoded(_ word: ArraySlice<UInt8>) -> Part? {
        let octets = Array(word)
        guard octets.starts(with: "ey".utf8) || octets.starts(with: "W".utf8) else { return nil }
        if let bytes = try? Base64URL.decode(octets, octets.indices), Base64URL.encode(bytes.span) == octets,
            let text = json(bytes)
        {
            return .encoded("base64url", parts(of: text))
        }
        if let bytes = try? Base64.decode(octets.span), Base64.encode(bytes.span) == octets, let text = json(bytes) {
            return .encoded("base64", parts(of: text))
        }
        return nil
    }

    private static func json(_ bytes: [UInt8]) -> String? {
        guard bytes.first == UInt8(ascii: "{") || bytes.first == UInt8(ascii: "[") else { return nil }
        return String(validating: bytes, as: UTF8.self)
    }
}
