public import FoundationEssentials

/// Credits that an account used: the only thing about credits that a host stores.
///
/// Append uses and never change them. Everything else is read from the states, see ``CreditStatement``.
public struct CreditUse: Hashable, Sendable, Codable {
    /// The host's name of the use, such as that of a job. A use with a name that is there already counts once, so a host
    /// that repeats a request uses nothing twice.
    public var id: String {
        get { name.rawValue }
        set { name = Name(newValue) }
    }
    package private(set) var name: Name
    /// How many credits were used. A negative number gives credits that last until they are used, such as those of a
    /// failed job, or a present from support.
    public var credits: Int64
    /// When they were used.
    @EventTime public var at: Date
    /// The purchase whose credits were used: any lineage of it, see ``CreditStatement/uses(of:id:)``. Such a use stays with the purchase
    /// when that moves to another account. Absent means any purchase of the account.
    public var subscription: SubscriptionID?
    /// The grant whose credits were used; absent means any.
    public var grant: CreditGrant.ID?

    /// Makes a use.
    public init(
        id: String,
        credits: Int64,
        at time: Date,
        subscription: SubscriptionID? = nil,
        grant: CreditGrant.ID? = nil
    ) {
        name = Name(id)
        self.credits = credits
        self.at = time
        self.subscription = subscription
        self.grant = grant
    }

    /// The id of a use, which is compared octet for octet: a user may choose a part of it.
    package struct Name: OpenValue, Comparable {
        package let rawValue: String
        package init(rawValue: String) { self.rawValue = rawValue }
    }

    private enum CodingKeys: String, CodingKey {
        case name = "id"
        case credits, at, subscription, grant
    }
}

extension CreditUse {
    /// The grant that it makes; nil if it uses credits.
    package var gift: CreditGrant.ID? { credits < 0 ? CreditGrant.ID(rawValue: name(of: "given")) : nil }

    /// Names what the statement makes of it.
    func name(of kind: String) -> String {
        [kind, id, subscription?.description, grant?.rawValue].compactMap(\.self).joined(separator: ":")
    }
}
