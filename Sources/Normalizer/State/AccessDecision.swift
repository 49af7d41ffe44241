public import FoundationEssentials

/// A decision on access at a moment, with its reason.
@nonexhaustive
public enum AccessDecision: Hashable, Sendable {
    /// Access is due, until the given moment as far as is known now; nil means without end.
    case granted(until: Date?, because: Grant)
    /// No access is due, since the given moment; nil if there never was any.
    case denied(since: Date?, because: Denial)

    /// The basis of access.
    public struct Grant: Hashable, Sendable, Codable {
        /// The kind of basis.
        @nonexhaustive
        public enum Basis: String, Hashable, Sendable, Codable {
            /// A period that was paid or granted.
            case period
            /// A grace period after a failed charge.
            case grace
            /// A product bought once.
            case purchase
            /// A product bought once whose type is not stated. It gives access until it is known better; see
            /// `ProductCatalog.oneTimeProducts`.
            case unclassified
        }

        /// The kind of basis.
        public var basis: Basis
        /// The lineage.
        public var subscription: SubscriptionID
        /// The product.
        public var product: ProductID
        /// Further products that the lineage gives access to at that moment, such as add-ons; nil if there are none.
        public var otherProducts: Optional<[ProductID]> = nil
        /// Under which terms a period is used; absent for a product bought once.
        public var phase: PeriodPhase?
        /// The store's transaction or order.
        public var transaction: TransactionID?
        /// The ownership: bought or shared.
        public var ownership: Fact.Ownership
        /// The statements behind it, the most immediate first.
        public var evidence: [Citation]

        private enum CodingKeys: String, CodingKey {
            case basis, subscription, product, phase, transaction, ownership, evidence
            case otherProducts = "other_products"
        }
    }

    /// Why there is no access.
    public struct Denial: Hashable, Sendable, Codable {
        /// The reason.
        @nonexhaustive
        public enum Reason: String, Hashable, Sendable, Codable {
            /// Nothing that gives access was ever stated.
            case never
            /// The period or pass that gives access begins later.
            case notBegun = "not_begun"
            /// The period has ended, and the store has not reported yet if it renewed. Ask it.
            case renewalDue = "renewal_due"
            /// The customer turned renewal off.
            case customer
            /// A charge failed.
            case billing
            /// A price increase was not agreed to.
            case priceIncreaseDeclined = "price_increase_declined"
            /// The product was not for sale any more.
            case productUnavailable = "product_unavailable"
            /// The subscription is paused.
            case paused
            /// Another product took its place.
            case replaced
            /// The developer ended it.
            case developer
            /// The money went back.
            case refunded
            /// It ended for a reason that is not stated.
            case unknown

            init(_ reason: LifecycleEvent.Expired.Reason) {
                self =
                    switch reason {
                    case .customer: .customer
                    case .billing: .billing
                    case .priceIncreaseDeclined: .priceIncreaseDeclined
                    case .productUnavailable: .productUnavailable
                    case .paused: .paused
                    case .replaced: .replaced
                    case .developer: .developer
                    case .refunded: .refunded
                    case .unknown: .unknown
                    }
            }

            init(_ reason: LifecycleEvent.AutoRenewDisabled.Reason?) {
                self =
                    switch reason {
                    case .customer, .commitment: .customer
                    case .developer: .developer
                    case .billing: .billing
                    case .priceIncreaseDeclined: .priceIncreaseDeclined
                    case .store, .unknown, nil: .unknown
                    }
            }
        }

        /// The reason.
        public var reason: Reason
        /// The lineage that gave access last, or is the one that was asked about.
        public var subscription: SubscriptionID
        /// The product that gave access last, where known.
        public var product: ProductID?
        /// The statements behind it, the most immediate first.
        public var evidence: [Citation]
    }

    /// True if access is granted.
    public var isGranted: Bool {
        switch self {
        case .granted: true
        case .denied: false
        }
    }

    /// The product that gives access, or gave it last.
    var product: ProductID? {
        switch self {
        case .granted(_, let grant): grant.product
        case .denied(_, let denial): denial.product
        }
    }

    /// The statements behind the decision, the most immediate first.
    public var evidence: [Citation] {
        switch self {
        case .granted(_, let grant): grant.evidence
        case .denied(_, let denial): denial.evidence
        }
    }
}

extension AccessDecision: Codable {
    private enum CodingKeys: String, CodingKey { case access, until, since, because }

    /// Reads `{"access":"granted","until":…,"because":{…}}` or `{"access":"denied","since":…,"because":{…}}`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        switch try container.decode(String.self, forKey: .access) {
        case "granted":
            self = .granted(
                until: try container.decode(OptionalEventTime.self, forKey: .until).wrappedValue,
                because: try container.decode(Grant.self, forKey: .because)
            )
        case "denied":
            self = .denied(
                since: try container.decode(OptionalEventTime.self, forKey: .since).wrappedValue,
                because: try container.decode(Denial.self, forKey: .because)
            )
        default:
            throw container.refusal("neither granted nor denied", at: .access)
        }
    }

    /// Writes the form that `init(from:)` reads.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        switch self {
        case .granted(let until, let grant):
            try container.encode("granted", forKey: .access)
            try container.encode(OptionalEventTime(wrappedValue: until), forKey: .until)
            try container.encode(grant, forKey: .because)
        case .denied(let since, let denial):
            try container.encode("denied", forKey: .access)
            try container.encode(OptionalEventTime(wrappedValue: since), forKey: .since)
            try container.encode(denial, forKey: .because)
        }
    }
}
