public import LifecycleEvents
import SignatureCore

/// The reference by which Google Play knows a purchase.
///
/// A holder of it can look the purchase up, so it prints as `<redacted>`, and nothing that leaves this module carries
/// it but requests to the Play Developer API. ``fingerprint`` names the purchase everywhere else.
public struct PurchaseToken: Hashable, Sendable {
    /// The token, verbatim.
    public let value: String

    /// Keeps a token as it is.
    public init(_ value: String) { self.value = value }

    /// The SHA-256 of the token's octets, in hexadecimal: the `id` of the lineage that the token begins.
    public var fingerprint: String {
        SHA256.hash(Array(value.utf8).span).hexadecimal
    }
}

extension PurchaseToken: Redacted {
    /// `<redacted>`
    public var description: String { "<redacted>" }
}

extension PurchaseToken: Codable {
    /// Reads the token as a string.
    public init(from decoder: any Decoder) throws {
        value = try decoder.singleValueContainer().decode(String.self)
    }

    /// Writes the token as a string: protect the place where it is stored.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(value)
    }
}
