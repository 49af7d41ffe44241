public import FoundationEssentials
import SignatureCore

/// The product that an event is about, in the store's own words.
public struct PurchasedProduct: Hashable, Sendable, Codable {
    /// The store's product id: Apple `productId`, Google subscription or one-time product id, Stripe `prod_…`.
    public var id: ProductID
    // `Optional` in full: as in `NormalizedEvent`.

    /// Google's base plan, Stripe's price id, or Apple's billing plan.
    public var basePlan: Optional<String>
    /// The offer that the current period was sold under.
    public var offer: Optional<Offer>
    /// The developer's own tags of the plan and the offer, on Google Play; absent if there are none.
    public var offerTags: Optional<[String]>
    /// Apple's subscription group.
    public var group: Optional<String>
    /// How many were bought; absent if the store does not say.
    public var quantity: Optional<Int64>
    /// Further products of the same subscription for the same period; absent if there are none.
    public var addOns: Optional<[PurchasedProduct]>

    /// Makes a product reference.
    public init(
        id: ProductID,
        basePlan: String? = nil,
        offer: Offer? = nil,
        offerTags: [String]? = nil,
        group: String? = nil,
        quantity: Int64? = nil,
        addOns: [PurchasedProduct]? = nil
    ) {
        self.id = id
        self.basePlan = basePlan
        self.offer = offer
        self.offerTags = offerTags
        self.group = group
        self.quantity = quantity
        self.addOns = addOns
    }

    private enum CodingKeys: String, CodingKey {
        case id, offer, group, quantity
        case offerTags = "offer_tags"
        case addOns = "add_ons"
        case basePlan = "base_plan"
    }
}

/// A price below the regular one, or none at all, under conditions that the store names.
public struct Offer: Hashable, Sendable, Codable {
    /// The kind of offer.
    public struct Kind: OpenValue {
        /// The name used in JSON.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// For customers who never had the subscription.
        public static let introductory: Kind = "introductory"
        /// For existing or lapsed customers, signed by the developer.
        public static let promotional: Kind = "promotional"
        /// Redeemed with a code.
        public static let code: Kind = "code"
        /// For lapsed customers, chosen by the store.
        public static let winBack: Kind = "win_back"
    }

    /// How an offer is paid.
    public struct Payment: OpenValue {
        /// The name used in JSON.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Nothing is paid during the offer.
        public static let freeTrial: Payment = "free_trial"
        /// A lower price each period.
        public static let payAsYouGo: Payment = "pay_as_you_go"
        /// One lower price for the whole offer.
        public static let payUpFront: Payment = "pay_up_front"
        /// A one-time discount.
        public static let oneTime: Payment = "one_time"
    }

    /// The kind of offer.
    public var kind: Kind
    /// The store's identifier of the offer.
    public var id: String?
    /// How it is paid.
    public var payment: Payment?
    /// How long it lasts, as an ISO 8601 duration.
    public var duration: String?

    /// Makes an offer.
    public init(kind: Kind, id: String? = nil, payment: Payment? = nil, duration: String? = nil) {
        self.kind = kind
        self.id = id
        self.payment = payment
        self.duration = duration
    }
}

/// A stretch of access: from `start` until, not including, `end`.
public struct ServicePeriod: Hashable, Sendable, Codable {
    /// The first moment of access.
    @EventTime public var start: Date
    /// The first moment without; absent means that it never ends by itself.
    @OptionalEventTime public var end: Date?

    /// Two starts of one period as different channels know it lie no further apart than this, in milliseconds.
    package static let startTolerance: Int64 = 1000

    /// Makes a period. An `end` before `start` is kept as the store stated it; nothing is granted by it.
    public init(start: Date, end: Date?) {
        self.start = start
        self.end = end
    }

    package var startMilliseconds: Int64 { start.millisecondsSince1970 }
    /// `Int64.max` where the period never ends by itself.
    package var endMilliseconds: Int64 { end?.millisecondsSince1970 ?? .max }
}

/// A commitment to several payments, such as a year that is billed by month.
public struct Commitment: Hashable, Sendable, Codable {
    // `Optional` in full: as in `NormalizedEvent`.

    /// Which of its payments this is, from 1 on.
    public var payment: Optional<Int64>
    /// How many payments it has.
    public var payments: Optional<Int64>
    /// The sum of all payments.
    public var total: Optional<Money>
    /// When it ends. Until then the store charges, even if the customer has turned renewal off.
    @OptionalEventTime public var endsAt: Date?

    /// Makes a commitment.
    public init(payment: Int64? = nil, payments: Int64? = nil, total: Money? = nil, endsAt: Date? = nil) {
        self.payment = payment
        self.payments = payments
        self.total = total
        self.endsAt = endsAt
    }

    private enum CodingKeys: String, CodingKey {
        case payment, payments, total
        case endsAt = "ends_at"
    }
}

/// Under which terms a period is used.
@nonexhaustive
public enum PeriodPhase: String, Hashable, Sendable, Codable {
    /// Free of charge, at the beginning.
    case trial
    /// At an introductory price.
    case introductory
    /// At another reduced price, or granted free of charge later on.
    case promotional
    /// At the regular price.
    case regular
    /// Paid in advance, without renewal.
    case prepaid
}

/// The account that a purchase belongs to, as far as the provider says.
public struct Account: Hashable, Sendable, Codable {
    /// Where an account identifier comes from, which decides how far it can be trusted.
    public struct Source: OpenValue {
        /// The name used in JSON.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Apple's `appAccountToken`, set by the app at purchase: a UUID, in either case.
        public static let appAccountToken: Source = "app_account_token"
        /// Apple's `appTransactionId`: one per Apple Account and app.
        public static let appTransactionID: Source = "app_transaction_id"
        /// Google's `obfuscatedExternalAccountId`, set by the app at purchase.
        public static let obfuscatedAccountID: Source = "obfuscated_account_id"
        /// Google's `obfuscatedExternalProfileId`, set by the app at purchase.
        public static let obfuscatedProfileID: Source = "obfuscated_profile_id"
        /// RevenueCat's `app_user_id`, `original_app_user_id` or an alias.
        public static let appUserID: Source = "app_user_id"
        /// Stripe's customer, `cus_…`, or the account that stands for it, `acct_…`.
        public static let stripeCustomer: Source = "stripe_customer"
        /// Stripe Checkout's `client_reference_id`, set by the host.
        public static let clientReferenceID: Source = "client_reference_id"
        /// A metadata entry that the host set.
        public static let metadata: Source = "metadata"

        /// The sources of this package's adapters. An adapter of another package may have its own.
        public static let known: [Source] = [
            .appAccountToken, .appTransactionID, .obfuscatedAccountID, .obfuscatedProfileID, .appUserID,
            .stripeCustomer,
            .clientReferenceID, .metadata,
        ]
    }

    /// One identifier with its source.
    public struct Identifier: Hashable, Sendable, Codable {
        /// The identifier, verbatim; an `appAccountToken` in lower case.
        public var id: String
        /// Where it comes from.
        public var source: Source

        /// Makes an identifier.
        public init(_ id: String, _ source: Source) {
            self.id = source.canonical(id)
            self.source = source
        }

        /// Reads an identifier.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            let source = try container.decode(Source.self, forKey: .source)
            self.init(try container.decode(String.self, forKey: .id), source)
        }

        private enum CodingKeys: String, CodingKey { case id, source }

        /// The key for an index over accounts: the identifier without its source, a UUID in lower case. A transfer
        /// moves purchases under the same key, whatever source named it.
        public var lookupKey: String { isUUID ? id.lowercased() : id }

        /// True if it is the text of a UUID.
        package var isUUID: Bool { id.isUUID }

        /// The one spelling of this account: a UUID names the same account in either case, whatever its source, since
        /// Swift writes upper case and most databases write lower.
        package var canonical: Identifier { Identifier(lookupKey, source) }

        /// True if two identifiers are octet for octet the same. Swift also equates strings that only look alike, which
        /// are two customers to a store and to a database. Compare the UTF-8 of ``lookupKey`` to ask for the
        /// same account.
        public static func == (left: Identifier, right: Identifier) -> Bool {
            left.id.hasOctets(of: right.id) && left.source == right.source
        }
    }

    /// The identifier that binds the purchase, verbatim; an `appAccountToken` in lower case.
    public var id: String
    /// Where it comes from.
    public var source: Source
    /// Further identifiers of the same account, in the provider's order.
    public var aliases: [Identifier]

    /// Makes an account reference.
    public init(_ id: String, _ source: Source, aliases: [Identifier] = []) {
        self.id = source.canonical(id)
        self.source = source
        self.aliases = aliases
    }

    /// Every identifier, the binding one first.
    public var identifiers: [Identifier] { [Identifier(id, source)] + aliases }

    /// True if both have the same identifiers in the same order, octet for octet.
    public static func == (left: Account, right: Account) -> Bool {
        left.id.hasOctets(of: right.id) && left.source == right.source && left.aliases == right.aliases
    }

    private enum CodingKeys: String, CodingKey { case id, source, aliases }

    /// Reads an account; absent aliases are none.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        source = try container.decode(Source.self, forKey: .source)
        id = source.canonical(try container.decode(String.self, forKey: .id))
        aliases = try container.decodeIfPresent([Identifier].self, forKey: .aliases) ?? []
    }

    /// Writes an account; no aliases are left out.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(id, forKey: .id)
        try container.encode(source, forKey: .source)
        if !aliases.isEmpty { try container.encode(aliases, forKey: .aliases) }
    }
}

extension Account.Source {
    /// One spelling for one account: Swift writes a UUID in upper case, and Apple in lower.
    fileprivate func canonical(_ id: String) -> String {
        self == .appAccountToken && id.isUUID ? id.lowercased() : id
    }
}

extension String {
    /// True if this is the text of a UUID, RFC 9562 §4, in either case.
    fileprivate var isUUID: Bool {
        let octets = utf8.span
        guard octets.count == 36 else { return false }
        for index in octets.indices {
            switch (index, octets[index]) {
            case (8, let octet), (13, let octet), (18, let octet), (23, let octet):
                guard octet == UInt8(ascii: "-") else { return false }
            case (_, UInt8(ascii: "0")...UInt8(ascii: "9")), (_, UInt8(ascii: "a")...UInt8(ascii: "f")),
                (_, UInt8(ascii: "A")...UInt8(ascii: "F")):
                break
            default: return false
            }
        }
        return true
    }
}

// Account identifiers are personal data: a log line that prints an event shows their sources, not their values.
extension Account: Redacted {
    /// The sources of the identifiers, without the identifiers.
    public var description: String {
        identifiers.map { "\($0.source):<redacted>" }.joined(separator: ", ")
    }
}

extension Account.Identifier: Redacted {
    /// The source, without the identifier.
    public var description: String { "\(source):<redacted>" }
}

/// The plan for the end of the period, as last stated.
public struct RenewalTerms: Hashable, Sendable, Codable {
    /// True if the store will try to renew.
    public var willRenew: Bool
    // `Optional` in full: as in `NormalizedEvent`.

    /// The product that renews next, where stated.
    public var nextProduct: Optional<ProductID>
    /// The price of the next renewal, where stated.
    public var nextPrice: Optional<Money>
    /// When the next renewal is due, where stated.
    @OptionalEventTime public var renewsAt: Date?
    /// The offers that the customer may come back by after the end, the best first; absent if the store states none.
    public var winBackOffers: Optional<[String]>

    /// Makes renewal terms.
    public init(
        willRenew: Bool,
        nextProduct: ProductID? = nil,
        nextPrice: Money? = nil,
        renewsAt: Date? = nil,
        winBackOffers: [String]? = nil
    ) {
        self.willRenew = willRenew
        self.nextProduct = nextProduct
        self.nextPrice = nextPrice
        self.renewsAt = renewsAt
        self.winBackOffers = winBackOffers
    }

    private enum CodingKeys: String, CodingKey {
        case willRenew = "will_renew"
        case nextProduct = "next_product"
        case nextPrice = "next_price"
        case renewsAt = "renews_at"
        case winBackOffers = "win_back_offers"
    }
}
