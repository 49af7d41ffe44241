import Normalizer

/// Deliveries that no provider sent.
enum Tampering {
    /// Bytes that are no provider's notification.
    static let garbage: [(name: String, body: [UInt8])] = [
        ("empty body", []),
        ("not UTF-8", [0xFF, 0xFE, 0x00, 0xC0, 0x80]),
        ("not JSON", Array("signedPayload=abc&type=refund".utf8)),
        ("null", Array("null".utf8)),
        ("empty object", Array("{}".utf8)),
        ("deep nesting", [UInt8](repeating: UInt8(ascii: "["), count: 100_000)),
        ("unended string", Array("{\"".utf8) + [UInt8](repeating: UInt8(ascii: "a"), count: 10_000)),
        ("two megabytes", [UInt8](repeating: UInt8(ascii: " "), count: 2 << 20)),
    ]

    /// A delivery with octets changed where the proof covers them: of every kind of octet the first, the middle and the
    /// last one; and deliveries with octets cut and added.
    static func deliveries<Adapter>(
        _ delivery: Delivery,
        _ proof: AdapterConformance<Adapter>.Proof
    ) -> [Delivery] {
        switch proof {
        case .body:
            return changed(delivery.body).map { body in
                var altered = delivery
                altered.body = body
                return altered
            }
        case .header(let name):
            let values = delivery.headers.values(name)
            guard let value = values.first else { return [] }
            return changed(Array(value.utf8)).compactMap { bytes in
                let text = String(decoding: bytes, as: UTF8.self)
                guard text != value else { return nil }
                return Delivery(headers: [name: text], body: delivery.body, receivedAt: delivery.receivedAt)
            }
        }
    }

    private enum Kind: Hashable {
        case digit, upper, lower, space, other(UInt8)

        init(_ octet: UInt8) {
            switch octet {
            case 0x30...0x39: self = .digit
            case 0x41...0x5A: self = .upper
            case 0x61...0x7A: self = .lower
            case 0x09, 0x0A, 0x0D, 0x20: self = .space
            default: self = .other(octet)
            }
        }
    }

    private static func changed(_ bytes: [UInt8]) -> [[UInt8]] {
        guard !bytes.isEmpty else { return [] }
        var places: Set<Int> = [0, bytes.count - 1]
        for indices in Dictionary(grouping: bytes.indices, by: { Kind(bytes[$0]) }).values {
            places.formUnion([indices[0], indices[indices.count / 2], indices[indices.count - 1]])
        }
        var results: [[UInt8]] = []
        for place in places.sorted() {
            for bit in [0, 5, 7] as [UInt8] {
                var altered = bytes
                altered[place] ^= 1 << bit
                results.append(altered)
            }
            results.append(Array(bytes[..<place] + bytes[(place + 1)...]))
            results.append(Array(bytes[...place] + bytes[place...]))
        }
        results += [Array(bytes.prefix(bytes.count / 2)), bytes + [0], bytes + [UInt8(ascii: " ")], bytes + bytes]
        results.append([UInt8(ascii: " ")] + bytes)
        return results.filter { $0 != bytes }
    }

    /// Runs of sixteen characters and more, such as ids and tokens have: values, but not names of JSON members.
    static func telling<Adapter>(_ delivery: Delivery, _ proof: AdapterConformance<Adapter>.Proof) -> Set<String> {
        var texts = runs(delivery.body)
        if case .header(let name) = proof {
            for value in delivery.headers.values(name) { texts.formUnion(runs(Array(value.utf8))) }
        }
        return texts
    }

    private static func runs(_ bytes: [UInt8]) -> Set<String> {
        var runs: Set<String> = []
        var start: Int?
        // More than enough, and a bound for enormous bodies.
        let bytes = bytes.prefix(1 << 16)
        for index in 0...bytes.count {
            let octet = index < bytes.count ? bytes[index] : 0
            switch Kind(octet) {
            case .digit, .upper, .lower, .other(UInt8(ascii: "_")), .other(UInt8(ascii: "-")),
                .other(UInt8(ascii: ".")), .other(UInt8(ascii: "@")):
                start = start ?? index
            default:
                if let first = start, index - first >= 16, !isName(bytes, index) {
                    runs.insert(String(decoding: bytes[first..<min(index, first + 64)], as: UTF8.self))
                }
                start = nil
            }
        }
        return runs
    }

    /// True if a run that ends here is the name of a member.
    private static func isName(_ bytes: ArraySlice<UInt8>, _ end: Int) -> Bool {
        end + 1 < bytes.count && bytes[end] == UInt8(ascii: "\"") && bytes[end + 1] == UInt8(ascii: ":")
    }
}
