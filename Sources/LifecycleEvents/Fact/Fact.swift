public import FoundationEssentials

/// One thing that a store asserted about a lineage. Events say what changed; facts say what is true.
///
/// Facts are joined into a state whose value does not depend on the order or the number of their arrivals. Each is a
/// statement about one thing with a name (a period by its start, a transaction by its id, the one renewal intent of a
/// lineage). If two statements are about the same thing, the one asserted later counts.
@nonexhaustive
public enum Fact: Hashable, Sendable {
    /// A period of access was paid or granted.
    case period(Period)
    /// A period ended before or at its stated end.
    case periodEnded(PeriodEnd)
    /// Access to a period stopped at a moment, or came back.
    case interruption(Interruption)
    /// The purchase as a whole is over or withheld, or open again.
    case closure(Closure)
    /// The renewal: will it happen, and on which terms.
    case renewalIntent(RenewalIntent)
    /// The product that renews next; it does not say if the purchase renews.
    case nextProduct(NextProduct)
    /// A product took the place of another at once.
    case productSwitch(ProductSwitch)
    /// The standing of charges: settled, in grace or failed.
    case billing(Billing)
    /// A pause that is on or planned, or none.
    case pause(PauseState)
    /// A price change is under way, or none.
    case priceChange(PriceChangeState)
    /// Money was taken.
    case charge(Charge)
    /// Money went back, or a refund was undone.
    case refund(RefundState)
    /// Something that does not renew was bought.
    case purchase(OneTimePurchase)
    /// The account that the lineage belongs to.
    case owner(Account)
    /// The lineage moved between accounts.
    case transfer(LifecycleEvent.Transfer)
    /// Another lineage is the same purchase, continued.
    case link(SubscriptionID)
    /// A transaction goes by another name as well.
    case transactionName(TransactionName)
    /// Another purchase of the same account takes the place of this one, under a name that is not stated.
    case succession(Succession)
}

extension Fact {
    /// How the user has access: by a purchase of their own, or shared with them.
    @nonexhaustive
    public enum Ownership: String, Hashable, Sendable, Codable {
        /// Bought.
        case purchased
        /// Shared by a family member.
        case familyShared = "family_shared"
    }

    /// A period of access, named by its start.
    public struct Period: Hashable, Sendable, Codable {
        /// From when until when.
        public var period: ServicePeriod
        /// The product that it gives access to.
        public var product: ProductID
        /// Under which terms it is used.
        public var phase: PeriodPhase
        /// The store's transaction or order behind it.
        public var transaction: Optional<TransactionID>  // In full: as in `NormalizedEvent`.
        /// Names an item that a subscription has in addition to its main product, such as an add-on: by its product.
        /// Nil for the main product. An item's period runs with the main product's period of the same start, and ends with it,
        /// unless an end is stated of one of the two alone.
        public var item: Optional<ProductID>
        /// Bought, or shared by a family member.
        public var ownership: Ownership
        /// True if it is only inferred from a statement about something else, such as an end or a failed charge. Any
        /// statement of the period itself takes its place, also an earlier one.
        public var isProvisional: Bool
        /// True if a statement about something else names the period while it runs, with the end that access has by then: the
        /// paid one, or that of a grace period. If no statement of the period itself states as much, this one counts. With
        /// ``isStartInferred`` it counts for a later end of a known period only, and makes no period. It ``isProvisional``, too.
        public var isRunning: Bool
        /// True if the start of ``period`` is not stated, and is the moment of the statement in its place. A statement of the
        /// start takes its place, also an earlier one.
        public var isStartInferred: Bool
        /// True if ``phase`` is not stated, and is the regular one in its place. A statement of the phase takes its place, also
        /// an earlier one.
        public var isPhaseInferred: Bool
        /// The commitment to several payments that it is paid under.
        public var commitment: Optional<Commitment>
        /// True if its ``item`` is billed in another rhythm than the main product. Then its period stands by itself, and runs
        /// next to the main product's.
        public var isBeside: Bool

        /// Makes the fact.
        public init(
            _ period: ServicePeriod,
            product: ProductID,
            phase: PeriodPhase,
            transaction: TransactionID?,
            item: ProductID? = nil,
            ownership: Ownership = .purchased,
            isProvisional: Bool = false,
            isRunning: Bool = false,
            isStartInferred: Bool = false,
            isPhaseInferred: Bool = false,
            commitment: Commitment? = nil,
            isBeside: Bool = false
        ) {
            self.period = period
            self.product = product
            self.phase = phase
            self.transaction = transaction
            self.item = item
            self.ownership = ownership
            self.isProvisional = isProvisional
            self.isRunning = isRunning
            self.isStartInferred = isStartInferred
            self.isPhaseInferred = isPhaseInferred
            self.commitment = commitment
            self.isBeside = isBeside
        }

        private enum CodingKeys: String, CodingKey {
            case period, product, phase, transaction, item, ownership, commitment
            case isProvisional = "provisional"
            case isRunning = "running"
            case isStartInferred = "start_inferred"
            case isPhaseInferred = "phase_inferred"
            case isBeside = "beside"
        }

        /// Reads the fact; an absent `provisional`, `running`, `start_inferred`, `phase_inferred` or `beside` is false.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            period = try container.decode(ServicePeriod.self, forKey: .period)
            product = try container.decode(ProductID.self, forKey: .product)
            phase = try container.decode(PeriodPhase.self, forKey: .phase)
            transaction = try container.decodeIfPresent(TransactionID.self, forKey: .transaction)
            item = try container.decodeIfPresent(ProductID.self, forKey: .item)
            ownership = try container.decode(Ownership.self, forKey: .ownership)
            isProvisional = try container.decodeIfPresent(Bool.self, forKey: .isProvisional) ?? false
            isRunning = try container.decodeIfPresent(Bool.self, forKey: .isRunning) ?? false
            isStartInferred = try container.decodeIfPresent(Bool.self, forKey: .isStartInferred) ?? false
            isPhaseInferred = try container.decodeIfPresent(Bool.self, forKey: .isPhaseInferred) ?? false
            commitment = try container.decodeIfPresent(Commitment.self, forKey: .commitment)
            isBeside = try container.decodeIfPresent(Bool.self, forKey: .isBeside) ?? false
        }

        /// Writes the fact; `provisional`, `running`, `start_inferred`, `phase_inferred` and `beside` are left out where they are false.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(period, forKey: .period)
            try container.encode(product, forKey: .product)
            try container.encode(phase, forKey: .phase)
            try container.encodeIfPresent(transaction, forKey: .transaction)
            try container.encodeIfPresent(item, forKey: .item)
            try container.encode(ownership, forKey: .ownership)
            if isProvisional { try container.encode(true, forKey: .isProvisional) }
            if isRunning { try container.encode(true, forKey: .isRunning) }
            if isStartInferred { try container.encode(true, forKey: .isStartInferred) }
            if isPhaseInferred { try container.encode(true, forKey: .isPhaseInferred) }
            try container.encodeIfPresent(commitment, forKey: .commitment)
            if isBeside { try container.encode(true, forKey: .isBeside) }
        }
    }

    /// The renewal: will it happen, and on which terms.
    public struct RenewalIntent: Hashable, Sendable, Codable {
        /// The plan for the end of the period.
        public var terms: RenewalTerms
        /// Why it will not renew, now or later, if it will not and the reason is stated.
        public var reason: LifecycleEvent.AutoRenewDisabled.Reason?
        /// The end that is arranged, if that need not be the end of the current period. Until then it renews.
        @OptionalEventTime public var endsAt: Date?

        /// Makes the fact.
        public init(
            _ terms: RenewalTerms,
            reason: LifecycleEvent.AutoRenewDisabled.Reason? = nil,
            endsAt: Date? = nil
        ) {
            self.terms = terms
            self.reason = reason
            self.endsAt = endsAt
        }

        private enum CodingKeys: String, CodingKey {
            case terms, reason
            case endsAt = "ends_at"
        }
    }

    /// Which product renews next.
    public struct NextProduct: Hashable, Sendable, Codable {
        /// The product; absent when a planned change was withdrawn and the current product stays.
        public var product: ProductID?

        /// Makes the fact.
        public init(_ product: ProductID?) { self.product = product }
    }

    /// A product that replaced another at once: within a period that continues, or at the beginning of one.
    public struct ProductSwitch: Hashable, Sendable, Codable {
        /// The start of the period in which, or with which, the product changed.
        @EventTime public var periodStart: Date
        /// The transaction of that period, where stated.
        public var transaction: TransactionID?
        /// The product before, where stated.
        public var from: ProductID?
        /// The product since.
        public var to: ProductID
        /// When it changed.
        @EventTime public var at: Date
        /// The treatment of the unused part's money, where stated.
        public var proration: LifecycleEvent.ProductChange.Proration?

        /// Makes the fact.
        public init(
            periodStart: Date,
            transaction: TransactionID?,
            from: ProductID?,
            to: ProductID,
            at: Date,
            proration: LifecycleEvent.ProductChange.Proration?
        ) {
            self.periodStart = periodStart
            self.transaction = transaction
            self.from = from
            self.to = to
            self.at = at
            self.proration = proration
        }

        private enum CodingKeys: String, CodingKey {
            case transaction, from, to, at, proration
            case periodStart = "period_start"
        }
    }

    /// The standing of charges: settled, in grace or failed.
    public struct Billing: Hashable, Sendable, Codable {
        /// The consequence of a failed charge.
        @nonexhaustive
        public enum Status: String, Hashable, Sendable, Codable {
            /// No charge is outstanding.
            case settled
            /// A charge failed; access continues in a grace period.
            case grace
            /// A charge failed; the store tries again without access.
            case suspended
            /// A charge for a change failed. That says nothing about access, nor about any other charge.
            case unknown
        }

        /// The consequence of a failed charge.
        public var status: Status
        /// The start of the period whose renewal is outstanding, where known.
        @OptionalEventTime public var periodStart: Date?
        /// The end of the grace period, if there is one.
        @OptionalEventTime public var graceUntil: Date?
        /// Until when the store tries again, where stated.
        @OptionalEventTime public var retryUntil: Date?
        /// True if the statement may leave out some of the grace that the failed charge led to. Several such statements
        /// are about one failed charge, and the latest end that any of them states counts.
        public var isPartial: Bool
        /// True if the store says that grace runs and not until when, so that ``graceUntil`` is the longest that it can be.
        /// Worth asking about.
        public var isGraceInferred: Bool
        /// The charge that failed, if the store names it.
        public var charge: FailedCharge?

        /// One failed attempt to charge. A later attempt, and the failure of another transaction, is another fact.
        public struct FailedCharge: Hashable, Sendable, Codable {
            /// The transaction, order or invoice.
            public var transaction: TransactionID
            /// The number of the attempt, from 1.
            public var attempt: Int64
            /// True if the customer has to confirm the payment.
            public var actionRequired: Bool
            /// From when on it is for the rest of a period, if it is for a change within that period alone. ``items`` are then the products
            /// that the change began.
            @OptionalEventTime public var changeStart: Date?
            /// The part of each product, if the store states their parts.
            public var items: Optional<[PurchasedItem]>  // In full: as in `NormalizedEvent`.

            /// Makes the description of an attempt.
            public init(
                transaction: TransactionID,
                attempt: Int64,
                actionRequired: Bool = false,
                changeStart: Date? = nil,
                items: [PurchasedItem]? = nil
            ) {
                self.transaction = transaction
                self.attempt = attempt
                self.actionRequired = actionRequired
                self.changeStart = changeStart
                self.items = items
            }

            private enum CodingKeys: String, CodingKey {
                case transaction, attempt, items
                case actionRequired = "action_required"
                case changeStart = "change_start"
            }
        }

        /// Makes the fact.
        public init(
            _ status: Status,
            periodStart: Date? = nil,
            graceUntil: Date? = nil,
            retryUntil: Date? = nil,
            isPartial: Bool = false,
            isGraceInferred: Bool = false,
            charge: FailedCharge? = nil
        ) {
            self.status = status
            self.periodStart = periodStart
            self.graceUntil = graceUntil
            self.retryUntil = retryUntil
            self.isPartial = isPartial
            self.isGraceInferred = isGraceInferred
            self.charge = charge
        }

        private enum CodingKeys: String, CodingKey {
            case status, charge
            case periodStart = "period_start"
            case graceUntil = "grace_until"
            case retryUntil = "retry_until"
            case isPartial = "partial"
            case isGraceInferred = "grace_inferred"
        }

        /// Reads the fact; an absent `partial` or `grace_inferred` is false.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            status = try container.decode(Status.self, forKey: .status)
            _periodStart = try container.decode(OptionalEventTime.self, forKey: .periodStart)
            _graceUntil = try container.decode(OptionalEventTime.self, forKey: .graceUntil)
            _retryUntil = try container.decode(OptionalEventTime.self, forKey: .retryUntil)
            isPartial = try container.decodeIfPresent(Bool.self, forKey: .isPartial) ?? false
            isGraceInferred = try container.decodeIfPresent(Bool.self, forKey: .isGraceInferred) ?? false
            charge = try container.decodeIfPresent(FailedCharge.self, forKey: .charge)
        }

        /// Writes the fact; `partial` and `grace_inferred` are left out where they are false.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(status, forKey: .status)
            try container.encode(_periodStart, forKey: .periodStart)
            try container.encode(_graceUntil, forKey: .graceUntil)
            try container.encode(_retryUntil, forKey: .retryUntil)
            if isPartial { try container.encode(true, forKey: .isPartial) }
            if isGraceInferred { try container.encode(true, forKey: .isGraceInferred) }
            try container.encodeIfPresent(charge, forKey: .charge)
        }
    }

    /// A pause, or none.
    public struct PauseState: Hashable, Sendable, Codable {
        /// How far a pause has come.
        @nonexhaustive
        public enum Status: String, Hashable, Sendable, Codable {
            /// There is none.
            case none
            /// It begins when the period ends.
            case scheduled
            /// It is on.
            case paused
        }

        /// How far a pause has come.
        public var status: Status
        /// When it ends by itself, where stated.
        @OptionalEventTime public var resumesAt: Date?

        /// Makes the fact.
        public init(_ status: Status, resumesAt: Date? = nil) {
            self.status = status
            self.resumesAt = resumesAt
        }

        private enum CodingKeys: String, CodingKey {
            case status
            case resumesAt = "resumes_at"
        }
    }

    /// A price change under way; none when `change` is absent.
    public struct PriceChangeState: Hashable, Sendable, Codable {
        /// The change.
        public var change: LifecycleEvent.PriceChange?

        /// Makes the fact.
        public init(_ change: LifecycleEvent.PriceChange?) { self.change = change }
    }

    /// Money taken for a transaction.
    public struct Charge: Hashable, Sendable, Codable {
        /// The transaction.
        public var transaction: TransactionID
        /// How much.
        public var price: Price
        /// When.
        @EventTime public var at: Date
        /// The start of the period that it paid for, if another transaction, or none, names that.
        @OptionalEventTime public var periodStart: Date?
        /// From when on it paid for the rest of a period, if a change within that period was charged by itself. ``items`` are
        /// then the products that the change began.
        @OptionalEventTime public var changeStart: Date?
        /// The part of each product, before anything is set off, if it paid for several, or for more than a product, and the store
        /// states their parts. A relay's charge that may be for a change within its period names the product without a part. A
        /// charge for the rest of another product's cycle may name the part of a period that it paid for, after the set-off.
        public var items: Optional<[PurchasedItem]>  // In full: as in `NormalizedEvent`.
        /// The unused part of each product before a change that was set off in this payment; empty if nothing was. Nil if the store
        /// does not say.
        public var setOff: Optional<[PurchasedItem]>

        /// Makes the fact.
        public init(
            transaction: TransactionID,
            price: Price,
            at: Date,
            periodStart: Date? = nil,
            changeStart: Date? = nil,
            items: [PurchasedItem]? = nil,
            setOff: [PurchasedItem]? = nil
        ) {
            self.transaction = transaction
            self.price = price
            self.at = at
            self.periodStart = periodStart
            self.changeStart = changeStart
            self.items = items
            self.setOff = setOff
        }

        private enum CodingKeys: String, CodingKey {
            case transaction, price, at, items
            case periodStart = "period_start"
            case changeStart = "change_start"
            case setOff = "set_off"
        }
    }

    /// Another name of a transaction, such as the payment of an invoice: a statement about the one is about the other.
    public struct TransactionName: Hashable, Sendable, Codable {
        /// The transaction.
        public var transaction: TransactionID
        /// Its other name.
        public var name: TransactionID

        /// Makes the fact.
        public init(transaction: TransactionID, name: TransactionID) {
            self.transaction = transaction
            self.name = name
        }
    }

    /// The refund of a transaction, or its reversal.
    ///
    /// A statement with a ``refund`` is about that one refund; the others of the transaction count independently. A
    /// statement without one is about the transaction as a whole, and its amount is the total so far.
    public struct RefundState: Hashable, Sendable, Codable {
        /// The transaction.
        public var transaction: TransactionID
        /// The store's name of the refund, or of the dispute, if a transaction can have several.
        public var refund: Optional<String>
        /// How much went back; absent once a refund was undone.
        public var scope: LifecycleEvent.Refund.Scope?
        /// When it went back, or the refund was undone.
        @EventTime public var at: Date
        /// The start of the period that the transaction paid for, if it paid for one.
        @OptionalEventTime public var periodStart: Date?
        /// True if access to that period ended with the money.
        public var endsAccess: Bool
        /// How much went back of each item of the transaction, if the store states refunds by item; nothing went back of an item
        /// that is not listed.
        public var items: Optional<[Item]>  // In full: as in `NormalizedEvent`.
        /// How much a refund had given back that was undone, if the store states that.
        public var undone: Optional<Money>

        /// How much went back of an item.
        public struct Item: Hashable, Sendable, Codable {
            /// The product.
            public var product: ProductID
            /// How much of its price.
            public var scope: LifecycleEvent.Refund.Scope

            /// Makes the part of a refund.
            public init(product: ProductID, scope: LifecycleEvent.Refund.Scope) {
                self.product = product
                self.scope = scope
            }
        }

        /// Makes the fact.
        public init(
            transaction: TransactionID,
            refund: String? = nil,
            scope: LifecycleEvent.Refund.Scope?,
            at: Date,
            periodStart: Date?,
            endsAccess: Bool,
            items: [Item]? = nil,
            undone: Money? = nil
        ) {
            self.items = items
            self.undone = undone
            self.transaction = transaction
            self.refund = refund
            self.scope = scope
            self.at = at
            self.periodStart = periodStart
            self.endsAccess = endsAccess
        }

        private enum CodingKeys: String, CodingKey {
            case transaction, refund, scope, at, items, undone
            case periodStart = "period_start"
            case endsAccess = "ends_access"
        }
    }

    /// Something bought that does not renew.
    public struct OneTimePurchase: Hashable, Sendable, Codable {
        /// The transaction.
        public var transaction: TransactionID
        /// The product.
        public var product: ProductID
        /// The product's type, its quantity and its price.
        public var purchase: LifecycleEvent.OneTimePurchase
        /// When.
        @EventTime public var at: Date

        /// Makes the fact.
        public init(transaction: TransactionID, product: ProductID, purchase: LifecycleEvent.OneTimePurchase, at: Date)
        {
            self.transaction = transaction
            self.product = product
            self.purchase = purchase
            self.at = at
        }
    }
}

extension Fact {
    /// The place of a purchase is taken by another one of the same account, in the same store. The statement names no purchase
    /// but the old one: the one that begins at that moment with another product is meant, and is the same purchase,
    /// continued.
    ///
    /// An account may buy something else at nearly the same time. So the product decides where it is known: ``to``, or one of
    /// ``among``. Without either, only a purchase that begins within two minutes is meant.
    public struct Succession: Hashable, Sendable, Codable {
        /// When the other one begins, give or take a quarter of an hour.
        @EventTime public var at: Date
        /// The product until then.
        public var from: ProductID
        /// The product from then on, where stated.
        public var to: ProductID?
        /// The products of which it is one, by the host's catalogue, if ``to`` is not stated; nil if the catalogue does not list
        /// ``from``.
        public var among: [ProductID]?

        /// Makes the fact.
        public init(at: Date, from: ProductID, to: ProductID? = nil, among: [ProductID]? = nil) {
            self.at = at
            self.from = from
            self.to = to
            self.among = among
        }
    }
}

extension Fact {
    /// The name of a fact's case.
    package enum Kind: String, Codable, CaseIterable {
        case period, interruption, closure, billing, pause, charge, refund, purchase, owner, transfer, link, succession
        case periodEnded = "period_ended"
        case renewalIntent = "renewal_intent"
        case nextProduct = "next_product"
        case productSwitch = "product_switch"
        case priceChange = "price_change"
        case transactionName = "transaction_name"
    }

    package var kind: Kind {
        switch self {
        case .period: .period
        case .periodEnded: .periodEnded
        case .interruption: .interruption
        case .closure: .closure
        case .renewalIntent: .renewalIntent
        case .nextProduct: .nextProduct
        case .productSwitch: .productSwitch
        case .billing: .billing
        case .pause: .pause
        case .priceChange: .priceChange
        case .charge: .charge
        case .refund: .refund
        case .purchase: .purchase
        case .owner: .owner
        case .transfer: .transfer
        case .link: .link
        case .transactionName: .transactionName
        case .succession: .succession
        }
    }
}

extension Fact: Codable {
    private enum CodingKeys: String, CodingKey { case fact, detail }

    /// Reads `{"fact":…,"detail":…}`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func detail<Detail: Decodable>(_ type: Detail.Type = Detail.self) throws -> Detail {
            try container.decode(type, forKey: .detail)
        }
        switch try container.decode(Kind.self, forKey: .fact) {
        case .period: self = .period(try detail())
        case .periodEnded: self = .periodEnded(try detail())
        case .interruption: self = .interruption(try detail())
        case .closure: self = .closure(try detail())
        case .renewalIntent: self = .renewalIntent(try detail())
        case .nextProduct: self = .nextProduct(try detail())
        case .productSwitch: self = .productSwitch(try detail())
        case .billing: self = .billing(try detail())
        case .pause: self = .pause(try detail())
        case .priceChange: self = .priceChange(try detail())
        case .charge: self = .charge(try detail())
        case .refund: self = .refund(try detail())
        case .purchase: self = .purchase(try detail())
        case .owner: self = .owner(try detail())
        case .transfer: self = .transfer(try detail())
        case .link: self = .link(try detail())
        case .transactionName: self = .transactionName(try detail())
        case .succession: self = .succession(try detail())
        }
    }

    /// Writes `{"fact":…,"detail":…}`.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(kind, forKey: .fact)
        switch self {
        case .period(let detail): try container.encode(detail, forKey: .detail)
        case .periodEnded(let detail): try container.encode(detail, forKey: .detail)
        case .interruption(let detail): try container.encode(detail, forKey: .detail)
        case .closure(let detail): try container.encode(detail, forKey: .detail)
        case .renewalIntent(let detail): try container.encode(detail, forKey: .detail)
        case .nextProduct(let detail): try container.encode(detail, forKey: .detail)
        case .productSwitch(let detail): try container.encode(detail, forKey: .detail)
        case .billing(let detail): try container.encode(detail, forKey: .detail)
        case .pause(let detail): try container.encode(detail, forKey: .detail)
        case .priceChange(let detail): try container.encode(detail, forKey: .detail)
        case .charge(let detail): try container.encode(detail, forKey: .detail)
        case .refund(let detail): try container.encode(detail, forKey: .detail)
        case .purchase(let detail): try container.encode(detail, forKey: .detail)
        case .owner(let detail): try container.encode(detail, forKey: .detail)
        case .transfer(let detail): try container.encode(detail, forKey: .detail)
        case .link(let detail): try container.encode(detail, forKey: .detail)
        case .transactionName(let detail): try container.encode(detail, forKey: .detail)
        case .succession(let detail): try container.encode(detail, forKey: .detail)
        }
    }
}
