/// Gzip (RFC 1952) by hand, for bodies that a test wants to unfold.
package enum Gzip {
    /// Octets, stored without compression.
    package static func stored(_ octets: [UInt8]) -> [UInt8] {
        precondition(octets.count < 65_536)
        let length = UInt16(octets.count)
        return header + [1] + little(length) + little(~length) + octets + little(checksum(octets))
            + little(UInt32(octets.count))
    }

    /// 1 + 258 × `runs` zero octets in 13 bits a run, and a checksum that no reader reaches.
    package static func bomb(runs: Int) -> [UInt8] {
        var output = header
        var pending: UInt32 = 0
        var count: UInt32 = 0
        func put(_ bits: UInt32, _ length: UInt32) {
            pending |= bits << count
            count += length
            while count >= 8 {
                output.append(UInt8(pending & 0xFF))
                pending >>= 8
                count -= 8
            }
        }
        // Fixed Huffman codes (RFC 1951, section 3.2.6), most significant bit first.
        put(0b011, 3)
        put(0b0000_1100, 8)
        for _ in 0..<runs {
            put(0b1010_0011, 8)
            put(0, 5)
        }
        put(0, 7)
        put(0, 7)
        return output + [0, 0, 0, 0, 0, 0, 0, 0]
    }

    private static let header: [UInt8] = [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 255]

    private static func little<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        (0..<(Number.bitWidth / 8)).map { UInt8(truncatingIfNeeded: number >> Number(8 * $0)) }
    }

    private static func checksum(_ octets: [UInt8]) -> UInt32 {
        ~octets.reduce(~UInt32(0)) { value, octet in
            (0..<8).reduce(value ^ UInt32(octet)) { value, _ in value >> 1 ^ (value & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
    }
}
