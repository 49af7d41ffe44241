import LifecycleEvents

/// The body of `purchases.subscriptions.acknowledge`.
struct AcknowledgementBody {
    private struct Content: Encodable {
        struct ExternalAccountIDs: Encodable {
            var obfuscatedAccountId: String?
            var obfuscatedProfileId: String?
        }

        var externalAccountIds: ExternalAccountIDs?
    }

    /// Google takes no longer ones.
    private static let maximumCharacters = 64

    let octets: [UInt8]

    /// - Returns: nil for an account that names neither an obfuscated account id nor a profile id, or one that is too long.
    init?(_ account: Account?) {
        var content = Content()
        if let account {
            func id(_ source: Account.Source) -> String? { account.identifiers.first { $0.source == source }?.id }
            let (accountID, profileID) = (id(.obfuscatedAccountID), id(.obfuscatedProfileID))
            let named = [accountID, profileID].compactMap(\.self)
            guard !named.isEmpty, named.allSatisfy({ 1...Self.maximumCharacters ~= $0.count }) else { return nil }
            content.externalAccountIds = .init(obfuscatedAccountId: accountID, obfuscatedProfileId: profileID)
        }
        guard let octets = try? CanonicalJSON.bytes(content) else { return nil }
        self.octets = octets
    }
}
