public import LifecycleEvents

// Resources hold personal data: printing them shows only their length.

extension SubscriptionPurchase: Codable, CodedByPayload, Redacted {
    /// The length of the resource.
    public var description: String { "subscription purchase (\(payload.count) bytes)" }
}

extension ProductPurchase: Codable, CodedByPayload, Redacted {
    /// The length of the resource.
    public var description: String { "product purchase (\(payload.count) bytes)" }
}

extension PlayOrder: Codable, CodedByPayload, Redacted {
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
