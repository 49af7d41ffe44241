#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

extension String {
    /// True if both are the same octets: canonical equivalents, which are equal to `==`, differ.
    package func hasOctets(of other: String) -> Bool {
        utf8.span.elementsEqual(other.utf8.span)
    }

    /// The order of `<`, and that of the octets between canonical equivalents, which `<` leaves in no order.
    package func precedes(_ other: String) -> Bool {
        self == other ? utf8.lexicographicallyPrecedes(other.utf8) : self < other
    }
}

extension Span where Element == UInt8 {
    /// A copy of the octets.
    package var array: [UInt8] {
        [UInt8](capacity: count) { output in
            for index in indices { output.append(self[index]) }
        }
    }

    /// Where an octet first stands.
    package func firstIndex(of octet: UInt8) -> Int? {
        unsafe withUnsafeBytes { buffer in
            guard let start = buffer.baseAddress, let found = unsafe memchr(start, CInt(octet), buffer.count) else {
                return nil
            }
            return unsafe UnsafeRawPointer(found) - start
        }
    }

    /// True if both hold the same octets. Its time reveals how many, so compare no secrets with it.
    package func elementsEqual(_ other: Span<UInt8>) -> Bool {
        guard count == other.count else { return false }
        return unsafe withUnsafeBytes { left in
            unsafe other.withUnsafeBytes { right in
                guard let left = left.baseAddress, let right = right.baseAddress else { return true }
                return unsafe memcmp(left, right, count) == 0
            }
        }
    }
}
