import FoundationEssentials
public import LifecycleEvents

// The resource crosses a queue as received. Both ends read it, so both see every member, known or not. Resources hold
// personal data: printing them shows only their length.

extension SubscriptionPurchase: Codable {
    /// Reads the resource again.
    public init(from decoder: any Decoder) throws {
        let payload = Array(try decoder.singleValueContainer().decode(Data.self))
        self = try decoder.reread { try Self(payload: payload) }
    }

    /// Writes the resource.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(payload))
    }
}

extension SubscriptionPurchase: Redacted {
    /// The length of the resource.
    public var description: String { "subscription purchase (\(payload.count) bytes)" }
}

extension ProductPurchase: Codable {
    /// Reads the resource again.
    public init(from decoder: any Decoder) throws {
        let payload = Array(try decoder.singleValueContainer().decode(Data.self))
        self = try decoder.reread { try Self(payload: payload) }
    }

    /// Writes the resource.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(payload))
    }
}

extension ProductPurchase: Redacted {
    /// The length of the resource.
    public var description: String { "product purchase (\(payload.count) bytes)" }
}

extension PlayOrder: Codable {
    /// Reads the resource again.
    public init(from decoder: any Decoder) throws {
        let payload = Array(try decoder.singleValueContainer().decode(Data.self))
        self = try decoder.reread { try Self(payload: payload) }
    }

    /// Writes the resource.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Data(payload))
    }
}

extension PlayOrder: Redacted {
    /// The length of the resource.
    public var description: String { "order (\(payload.count) bytes)" }
}

// The account of a purchase is personal data wherever it stands.
extension SubscriptionPurchase.AccountIdentifiers: Redacted {
    /// Which identifiers are there, without them.
    public var description: String {
        let names = [
            externalAccountID.map { _ in "externalAccountId" },
            obfuscatedAccountID.map { _ in "obfuscatedExternalAccountId" },
            obfuscatedProfileID.map { _ in "obfuscatedExternalProfileId" },
        ]
        return names.compactMap(\.self).map { "\($0):<redacted>" }.joined(separator: ", ")
    }
}

extension DeveloperNotification.PendingRefundReview: Redacted {
    /// The reason's number.
    public var description: String { "refund review, reason \(refundReason.map { String($0) } ?? "not stated")" }
}
