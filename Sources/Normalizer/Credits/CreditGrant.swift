public import FoundationEssentials

/// Credits that were given, with their later changes.
public struct CreditGrant: Hashable, Sendable, Codable, Identifiable {
    /// The identity of a grant. It is made of facts alone: the period or purchase and the number of the instalment. So it is the same on every
    /// machine, in every order of arrival, and through every channel.
    public struct ID: OpenValue, Comparable {
        /// The text that JSON and databases hold.
        public let rawValue: String
        /// Keeps a text as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
    }

    /// Why credits were given.
    @nonexhaustive
    public enum Reason: Hashable, Sendable {
        /// A period began.
        case period
        /// A free trial began.
        case trial
        /// Another part of a longer period began; the first, which begins with the period, has number 0.
        case instalment(Int)
        /// A product replaced another at once, and the unused part of that was set off.
        case proratedChange
        /// These credits were left of another grant when a product took the place of its product.
        case carriedOver(from: ID)
        /// Something that does not renew was bought.
        case oneTime
        /// A period or purchase whose money went back and came again.
        case restored
        /// The host gave them: a ``CreditUse`` of less than zero.
        case given
        /// More was used than turns out to have been there. The grant makes up for it; it gives nothing if the policy
        /// has that owed.
        case overdrawn(use: String)
    }

    /// The identity of the grant.
    public var id: ID
    /// The purchase that it comes from; absent if the host gave it.
    public var subscription: SubscriptionID?
    /// The product that it is for.
    public var product: ProductID?
    /// How many credits were given.
    public var credits: Int64
    /// From when on they count.
    @EventTime public var from: Date
    /// Until when they count; absent means until they are used.
    @OptionalEventTime public var until: Date?
    /// Why they were given.
    public var reason: Reason
    /// How many of them were used.
    public var used: Int64 = 0
    /// How many of them are gone without having been used: lapsed, taken back or carried over.
    public var ended: Int64 = 0

    /// How many are left.
    public var left: Int64 { credits - used - ended }

    private enum CodingKeys: String, CodingKey {
        case id, subscription, product, credits, from, until, reason, used, ended
    }
}

/// Credits that ended without being used.
public struct CreditEnding: Hashable, Sendable, Codable {
    /// Why they ended.
    public struct Reason: OpenValue {
        /// The name used in JSON.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A renewal took their place, or the access that they came with ended.
        public static let lapsed: Reason = "lapsed"
        /// They became a grant of their own, that lasts until it is used.
        public static let carriedOver: Reason = "carried_over"
        /// The money for them went back.
        public static let takenBack: Reason = "taken_back"
        /// They were set off against credits that had been used and whose money went back.
        public static let setOff: Reason = "set_off"
    }

    /// The grant that they were of.
    public var grant: CreditGrant.ID
    /// How many.
    public var credits: Int64
    /// When.
    @EventTime public var at: Date
    /// Why.
    public var reason: Reason
}

extension CreditGrant.Reason: Codable {
    private enum CodingKeys: String, CodingKey { case type, number, grant, use }

    /// Reads `{"type":"carried_over","grant":"…"}`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(String.self, forKey: .type) {
        case "period": self = .period
        case "trial": self = .trial
        case "instalment": self = .instalment(try container.decode(Int.self, forKey: .number))
        case "prorated_change": self = .proratedChange
        case "carried_over": self = .carriedOver(from: try container.decode(CreditGrant.ID.self, forKey: .grant))
        case "one_time": self = .oneTime
        case "restored": self = .restored
        case "given": self = .given
        case "overdrawn": self = .overdrawn(use: try container.decode(String.self, forKey: .use))
        default:
            throw container.refusal("unknown reason", at: .type)
        }
    }

    /// Writes the form that `init(from:)` reads.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(name, forKey: .type)
        switch self {
        case .instalment(let number): try container.encode(number, forKey: .number)
        case .carriedOver(let grant): try container.encode(grant, forKey: .grant)
        case .overdrawn(let use): try container.encode(use, forKey: .use)
        case .period, .trial, .proratedChange, .oneTime, .restored, .given: break
        }
    }

    /// The name of the reason.
    public var name: String {
        switch self {
        case .period: "period"
        case .trial: "trial"
        case .instalment: "instalment"
        case .proratedChange: "prorated_change"
        case .carriedOver: "carried_over"
        case .oneTime: "one_time"
        case .restored: "restored"
        case .given: "given"
        case .overdrawn: "overdrawn"
        }
    }
}
