extension Span where Element == UInt8 {
    /// A copy of the octets.
    package var array: [UInt8] {
        [UInt8](capacity: count) { output in
            for index in indices { output.append(self[index]) }
        }
    }

    /// Where an octet first stands, looking at eight at a time.
    package func firstIndex(of octet: UInt8) -> Int? {
        // Loads stay within the buffer, which is that of the span and does not leave the closure.
        unsafe withUnsafeBytes { buffer in
            let ones: UInt64 = 0x0101_0101_0101_0101
            let pattern = ones &* UInt64(octet)
            var index = 0
            while index &+ 8 <= buffer.count {
                let word = unsafe buffer.loadUnaligned(fromByteOffset: index, as: UInt64.self) ^ pattern
                // The lowest top bit that is set is that of the lowest octet that is zero.
                let zeros = (word &- ones) & ~word & (ones &* 0x80)
                if zeros != 0 { return index &+ UInt64(littleEndian: zeros).trailingZeroBitCount &>> 3 }
                index &+= 8
            }
            while index < buffer.count {
                if unsafe buffer[index] == octet { return index }
                index &+= 1
            }
            return nil
        }
    }

    /// Whether both hold the same octets. Their time tells how many, so nothing secret is compared with it.
    package func elementsEqual(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                var index = 0
                while index &+ 8 <= left.count {
                    guard
                        unsafe left.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                            == right.loadUnaligned(fromByteOffset: index, as: UInt64.self)
                    else { return false }
                    index &+= 8
                }
                while index < left.count {
                    guard unsafe left[index] == right[index] else { return false }
                    index &+= 1
                }
                return true
            }
        }
    }
}
