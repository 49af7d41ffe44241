public import FoundationEssentials

/// Which statement a part of a state rests on: enough to find it in a log, nothing of its content.
///
/// It holds no time of receipt: the same statement delivered twice is the same citation.
public struct Citation: Hashable, Sendable, Codable {
    /// How close the one who told us is to the purchase.
    @nonexhaustive
    public enum Authority: String, Hashable, Sendable, Codable {
        /// A service that relays what a store told it.
        case relay
        /// The store that the purchase lives in.
        case store
    }

    /// When the statement was made.
    @EventTime public var assertedAt: Date
    /// How close the one who told us is to the purchase.
    public var authority: Authority
    /// Who told us.
    public var provider: Provider
    /// The provider's type of the notification, verbatim.
    public var type: String
    /// The provider's subtype, verbatim.
    public var subtype: String?
    /// The provider's own identity of the notification.
    public var notificationID: String?
    /// By which way it reached us.
    public var channel: Origin.Channel
    /// The SHA-256 of the raw bytes, in hexadecimal.
    public var digest: String

    /// Cites a statement.
    public init(_ statement: StoreStatement) {
        assertedAt = statement.assertedAt
        authority = statement.provider.speaks(for: statement.subscription.store) ? .store : .relay
        provider = statement.provider
        type = statement.origin.type
        subtype = statement.origin.subtype
        notificationID = statement.origin.notificationID
        channel = statement.origin.channel
        digest = statement.origin.digest
    }

    private enum CodingKeys: String, CodingKey {
        case authority, provider, type, subtype, channel, digest
        case assertedAt = "asserted_at"
        case notificationID = "notification_id"
    }

    package var milliseconds: Int64 { _assertedAt.milliseconds }
}

extension Citation: CustomStringConvertible {
    /// For example `apple DID_RENEW (1c2d…) webhook, stated 2026-01-31T09:30:00.000Z`.
    public var description: String {
        let name = subtype.map { "\(type)/\($0)" } ?? type
        let notification = notificationID.map { " (\($0))" } ?? ""
        return "\(provider) \(name)\(notification) by \(channel), stated \(RFC3339.string(milliseconds))"
    }
}

extension Provider {
    /// Whether what this provider says about a purchase in `store` is the store's own word.
    package func speaks(for store: Store) -> Bool {
        switch self {
        case .apple: store == .appStore || store == .macAppStore
        case .google: store == .playStore
        case .stripe: store == .stripe
        case .revenuecat: store == .rcBilling || store == .promotional || store == .testStore
        default: rawValue == store.rawValue
        }
    }
}

extension Citation.Authority {
    package var rank: Int {
        switch self {
        case .relay: 0
        case .store: 1
        }
    }
}
