/// Bounds that are checked before any work is done on unproven bytes.
package enum Limits {
    /// The longest body that an adapter reads unless it is configured otherwise.
    package static let bodyBytes = 1 << 20
    package static let headerBytes = 8 << 10
    package static let headerSignatures = 16
    package static let jwksBytes = 64 << 10
    package static let jwksKeys = 16

    /// Whole numbers that are exact in every reader of JSON (RFC 8259 §6): how many were bought, paid or tried.
    package static let numbers: ClosedRange<Int64> = -(1 << 53) + 1...(1 << 53) - 1

    /// Times that are read at all, in milliseconds since 1970: the years 1970…9999.
    package static let milliseconds: ClosedRange<Int64> = 0...253_402_300_799_999

    /// Refuses octets that are too many to be read.
    package static func check(_ octets: [UInt8], named name: String = "body", atMost maximum: Int) throws(DeliveryError)
    {
        guard octets.count <= maximum else {
            throw DeliveryError(.malformed, "\(name) of \(octets.count) bytes is longer than \(maximum)")
        }
    }
}
