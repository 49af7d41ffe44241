/// Classes of octets (RFC 3986, section 2; RFC 9110, section 5.6.2) and percent-encoding.
enum ASCII {
    static func isDigit(_ octet: UInt8) -> Bool { (0x30...0x39).contains(octet) }

    static func isAlphanumeric(_ octet: UInt8) -> Bool {
        isDigit(octet) || (0x41...0x5A).contains(octet) || (0x61...0x7A).contains(octet)
    }

    static func isUnreserved(_ octet: UInt8) -> Bool {
        isAlphanumeric(octet) || octet == 0x2D || octet == 0x2E || octet == 0x5F || octet == 0x7E
    }

    static func isControl(_ octet: UInt8) -> Bool { octet < 0x20 || octet == 0x7F }

    static func isTokenCharacter(_ octet: UInt8) -> Bool {
        switch octet {
        case 0x21, 0x23...0x27, 0x2A, 0x2B, 0x2D, 0x2E, 0x5E, 0x5F, 0x60, 0x7C, 0x7E: true
        default: isAlphanumeric(octet)
        }
    }

    /// C0, DEL and C1: a server that decodes before it splits must not meet any of them.
    static func hasControl(_ text: String) -> Bool {
        text.unicodeScalars.contains { $0.value < 0x20 || (0x7F...0x9F).contains($0.value) }
    }

    static func percentEncoded(_ text: String) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.utf8.count)
        for octet in text.utf8 {
            if isUnreserved(octet) {
                encoded.append(octet)
            } else {
                encoded.append(0x25)
                encoded.append(hexadecimalDigit(octet >> 4))
                encoded.append(hexadecimalDigit(octet & 0x0F))
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }

    static func percentDecoded(_ octets: ArraySlice<UInt8>) -> [UInt8] {
        var decoded: [UInt8] = []
        var rest = octets
        while let first = rest.first {
            let escaped = decodedEscape(rest)
            decoded.append(escaped ?? first)
            rest = rest.dropFirst(escaped == nil ? 1 : 3)
        }
        return decoded
    }

    /// The octet that `%XX` at the start stands for.
    static func decodedEscape(_ octets: ArraySlice<UInt8>) -> UInt8? {
        let escape = octets.prefix(3)
        guard escape.count == 3, escape.first == 0x25 else { return nil }
        let digits = escape.dropFirst()
        guard digits.allSatisfy({ isDigit($0) || (0x41...0x46).contains($0) || (0x61...0x66).contains($0) }) else {
            return nil
        }
        return UInt8(String(decoding: digits, as: UTF8.self), radix: 16)
    }

    /// True if it is `.` or `..`, with any dot written as `%2E` too (RFC 3986, section 6.2.2.2).
    static func isDotSegment(_ segment: ArraySlice<UInt8>) -> Bool {
        var rest = segment
        var dots = 0
        while let first = rest.first {
            if first == 0x2E {
                rest = rest.dropFirst()
            } else if decodedEscape(rest) == 0x2E {
                rest = rest.dropFirst(3)
            } else {
                return false
            }
            dots += 1
        }
        return dots == 1 || dots == 2
    }

    private static func hexadecimalDigit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? 0x30 + nibble : 0x37 + nibble
    }
}
