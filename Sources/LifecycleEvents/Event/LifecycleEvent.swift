public import FoundationEssentials

/// An event in one vocabulary for every provider: one case for each thing that a backend reacts to.
///
/// An event says what changed, for side effects. Derive access from the facts that come with it, not from events;
/// ``accessEffect`` is only the effect of this event by itself.
@nonexhaustive
public enum LifecycleEvent: Hashable, Sendable {
    /// A purchase awaits payment or approval. It grants nothing.
    case purchasePending(PurchasePending)
    /// A pending purchase came to nothing. It was never paid.
    case purchasePendingCanceled(PurchasePending)
    /// A subscription began.
    case started(Started)
    /// Another period of a subscription was paid or granted.
    case renewed(Renewed)
    /// A charge failed.
    case billingIssue(BillingIssue)
    /// The grace period ended without payment; the store may continue to try.
    case gracePeriodExpired
    /// The subscription will not renew. Access stays until the paid period ends.
    case autoRenewDisabled(AutoRenewDisabled)
    /// The subscription will renew again.
    case autoRenewEnabled
    /// Access ended.
    case expired(Expired)
    /// Another product will begin later.
    case productChangeScheduled(ProductChange)
    /// A scheduled product change was withdrawn.
    case productChangeReverted(ProductChange)
    /// Another product began.
    case productChanged(ProductChange)
    /// The subscription will pause when its period ends.
    case pauseScheduled(Pause)
    /// The subscription paused. A resumption is ``renewed(_:)`` with that cause.
    case paused(Pause)
    /// The current period ends later than before, without a charge.
    case extended(Extension)
    /// The price will change, was agreed to, refused, or has changed.
    case priceChange(PriceChange)
    /// An offer was redeemed that changes the price and nothing else.
    case offerRedeemed(OfferRedemption)
    /// Something was bought that does not renew.
    case oneTimePurchased(OneTimePurchase)
    /// The customer asked the store for their money, and the store asks the developer.
    case refundRequested(RefundRequest)
    /// The store gave money back.
    case refunded(Refund)
    /// The store declined to give money back.
    case refundDeclined(TransactionReference)
    /// A refund was undone; the credits or access that it took are due again.
    case refundReversed(TransactionReference)
    /// The customer disputes a charge with their bank.
    case chargeback(Chargeback)
    /// Access was taken away before its end.
    case revoked(Revocation)
    /// The purchase moved to another account.
    case transferred(Transfer)
    /// The purchase must be acknowledged to the store, or it will be refunded.
    case acknowledgementRequired(AcknowledgementDeadline)
    /// Something worth knowing that changes no access.
    case notice(Notice)
    /// Authentic, but unknown to this version. The provider's own words are kept; nothing is lost.
    case unmapped(Unmapped)
}

extension LifecycleEvent {
    /// The effect of an event by itself on access.
    @nonexhaustive
    public enum AccessEffect: String, Hashable, Sendable, Codable {
        /// Nothing.
        case none
        /// Gives access.
        case grants
        /// Access stays although it would have ended.
        case keeps
        /// Takes access away.
        case removes
        /// Moves access to another account.
        case moves
    }

    /// The effect of this event by itself on access.
    public var accessEffect: AccessEffect {
        switch self {
        case .started, .renewed, .productChanged, .extended, .oneTimePurchased, .refundReversed: .grants
        case .billingIssue(let issue): issue.access.effect
        case .gracePeriodExpired, .expired, .paused, .revoked: .removes
        case .refunded(let refund): refund.affectsCurrentPeriod == true ? .removes : .none
        case .chargeback(let chargeback): chargeback.stage == .lost ? .removes : .none
        case .offerRedeemed(let redemption): redemption.period == nil ? .none : .grants
        case .transferred: .moves
        case .purchasePending, .purchasePendingCanceled, .autoRenewDisabled, .autoRenewEnabled,
            .productChangeScheduled, .productChangeReverted, .pauseScheduled, .priceChange, .refundRequested,
            .refundDeclined, .acknowledgementRequired, .notice, .unmapped:
            .none
        }
    }
}

extension LifecycleEvent {
    /// A purchase that is not paid yet.
    public struct PurchasePending: Hashable, Sendable, Codable {
        /// The product that was asked for.
        public var product: ProductID

        /// Makes the detail of a pending purchase.
        public init(product: ProductID) { self.product = product }
    }

    /// The beginning of a subscription.
    public struct Started: Hashable, Sendable, Codable {
        /// How it came about.
        @nonexhaustive
        public enum Origin: String, Hashable, Sendable, Codable {
            /// Bought for the first time.
            case new
            /// Bought again after a lapse.
            case resubscribed
            /// Shared by a family member.
            case familyShared = "family_shared"
            /// Given without payment.
            case granted
            /// Given because the store could not be reached; not paid yet.
            case temporary
            /// Moved here from another subscription.
            case migrated
        }

        /// How it came about.
        public var origin: Origin
        /// Under which terms the period is used.
        public var phase: PeriodPhase
        /// The period that began.
        public var period: ServicePeriod
        /// The price, where stated.
        public var price: Price?

        /// Makes the detail of a start.
        public init(origin: Origin, phase: PeriodPhase, period: ServicePeriod, price: Price? = nil) {
            self.origin = origin
            self.phase = phase
            self.period = period
            self.price = price
        }
    }

    /// Another period of a subscription.
    public struct Renewed: Hashable, Sendable, Codable {
        /// Why there is another period.
        @nonexhaustive
        public enum Cause: Hashable, Sendable {
            /// The period before ran out and the store charged as planned.
            case scheduled
            /// A free trial turned into a paid period.
            case trialConversion
            /// An introductory price turned into the regular one.
            case introductoryConversion
            /// A failed charge succeeded at last.
            case recovery(from: BillingTrouble)
            /// A pause ended.
            case resumption
            /// The period belongs to another product than the one before.
            case planChange
            /// A prepaid subscription was topped up.
            case topUp
            /// The provider does not say.
            case unknown
        }

        /// The state that a failed charge had led to.
        @nonexhaustive
        public enum BillingTrouble: String, Hashable, Sendable, Codable {
            /// Access went on in a grace period.
            case grace
            /// The store retried, without access.
            case retry
            /// The subscription was on account hold, without access.
            case hold
            /// The provider does not say.
            case unknown
        }

        /// Why there is another period.
        public var cause: Cause
        /// Under which terms the period is used.
        public var phase: PeriodPhase
        /// The period that was paid or granted. It may begin in the future: some stores charge ahead.
        public var period: ServicePeriod
        /// The price, where stated.
        public var price: Price?

        /// Makes the detail of a renewal.
        public init(cause: Cause, phase: PeriodPhase, period: ServicePeriod, price: Price? = nil) {
            self.cause = cause
            self.phase = phase
            self.period = period
            self.price = price
        }
    }

    /// A failed charge.
    public struct BillingIssue: Hashable, Sendable {
        /// Access while the store tries again.
        @nonexhaustive
        public enum Access: Hashable, Sendable {
            /// Access stays until the end of the grace period.
            case grace(until: Date)
            /// Access ends with the paid period: account hold, or billing retry without grace.
            case suspended
            /// Not stated: the charge is for a change, and the store says by another event if that leaves anything of access.
            case unknown

            fileprivate var effect: AccessEffect {
                switch self {
                case .grace: .keeps
                case .suspended: .removes
                case .unknown: .none
                }
            }
        }

        /// Access while the store tries again.
        public var access: Access
        /// Until when the store tries again, where stated.
        @OptionalEventTime public var retryUntil: Date?
        /// True if the customer has to do something beyond having money, such as confirm with their bank.
        public var actionRequired: Bool

        /// Makes the detail of a failed charge.
        public init(access: Access, retryUntil: Date? = nil, actionRequired: Bool = false) {
            self.access = access
            self.retryUntil = retryUntil
            self.actionRequired = actionRequired
        }
    }

    /// The end of automatic renewal.
    public struct AutoRenewDisabled: Hashable, Sendable, Codable {
        /// The reason why renewal is off.
        @nonexhaustive
        public enum Reason: String, Hashable, Sendable, Codable {
            /// The customer.
            case customer
            /// The developer.
            case developer
            /// The store, on its own account.
            case store
            /// A charge that failed.
            case billing
            /// A price increase that was not agreed to.
            case priceIncreaseDeclined = "price_increase_declined"
            /// The customer, while a commitment still runs: charges and access continue to its end.
            case commitment
            /// The provider does not say.
            case unknown
        }

        /// The reason why renewal is off.
        public var reason: Reason
        /// Until when access lasts, where stated.
        @OptionalEventTime public var accessUntil: Date?
        /// The customer's answer when asked why, in the store's own word, such as Stripe's `too_expensive`.
        public var feedback: String?
        /// The store's own word for the reason, if it says more than ``reason``, such as Stripe's `payment_disputed`.
        public var statedReason: String?

        /// Makes the detail of an end of renewal.
        public init(reason: Reason, accessUntil: Date? = nil, feedback: String? = nil, statedReason: String? = nil) {
            self.reason = reason
            self.accessUntil = accessUntil
            self.feedback = feedback
            self.statedReason = statedReason
        }

        private enum CodingKeys: String, CodingKey {
            case reason, feedback
            case accessUntil = "access_until"
            case statedReason = "stated_reason"
        }
    }

    /// The end of access.
    public struct Expired: Hashable, Sendable, Codable {
        /// Why access ended.
        @nonexhaustive
        public enum Reason: String, Hashable, Sendable, Codable {
            /// The customer had turned renewal off.
            case customer
            /// The store gave up charging.
            case billing
            /// A price increase was not agreed to.
            case priceIncreaseDeclined = "price_increase_declined"
            /// The product was not for sale any more.
            case productUnavailable = "product_unavailable"
            /// The subscription paused.
            case paused
            /// Another product took its place. This is not churn.
            case replaced
            /// The developer ended it.
            case developer
            /// The money went back.
            case refunded
            /// The provider does not say.
            case unknown
        }

        /// Why access ended.
        public var reason: Reason
        /// The customer's answer when asked why, in the store's own word.
        public var feedback: String?
        /// The store's own word for the reason, if it says more than ``reason``, such as Stripe's `payment_disputed`.
        public var statedReason: String?

        /// Makes the detail of an expiry.
        public init(reason: Reason, feedback: String? = nil, statedReason: String? = nil) {
            self.reason = reason
            self.feedback = feedback
            self.statedReason = statedReason
        }

        private enum CodingKeys: String, CodingKey {
            case reason, feedback
            case statedReason = "stated_reason"
        }
    }

    /// A change from one product to another.
    public struct ProductChange: Hashable, Sendable {
        /// The kind of change.
        @nonexhaustive
        public enum Direction: String, Hashable, Sendable, Codable {
            /// To a higher level of service.
            case upgrade
            /// To a lower level of service.
            case downgrade
            /// To another product of the same level.
            case crossgrade
            /// Another quantity of the same product.
            case quantity
            /// Items added to or removed from the same subscription.
            case addOns = "add_ons"
            /// Not stated, and not derivable without a catalogue.
            case unknown
        }

        /// When the change takes effect.
        @nonexhaustive
        public enum Timing: Hashable, Sendable {
            /// At once.
            case immediate
            /// When the current period ends.
            case atPeriodEnd(Date?)
        }

        /// The basis of the direction.
        @nonexhaustive
        public enum Basis: String, Hashable, Sendable, Codable {
            /// The store said so.
            case store
            /// The host's product catalogue.
            case catalog
            /// Comparison with earlier knowledge.
            case inferred
        }

        /// The store's treatment of the unused part's money.
        @nonexhaustive
        public enum Proration: String, Hashable, Sendable, Codable {
            /// The new product is charged in full.
            case fullCharge = "full_charge"
            /// The new product is charged, less the unused part.
            case proratedCharge = "prorated_charge"
            /// The unused part becomes time.
            case timeCredit = "time_credit"
            /// Nothing is charged before the next renewal.
            case deferred
            /// No adjustment is made.
            case none
            /// The store returns the unused part.
            case refund
        }

        // `Optional` in full: as in `NormalizedEvent`.

        /// The product before, where known.
        public var from: Optional<ProductID>
        /// The product after.
        public var to: ProductID
        /// The kind of change.
        public var direction: Direction
        /// When it takes effect.
        public var timing: Timing
        /// The basis of `direction`.
        public var basis: Basis
        /// The store's treatment of the unused part's money, where stated.
        public var proration: Optional<Proration>
        /// The period of the new product, once it began.
        public var period: Optional<ServicePeriod>
        /// The plan or price of ``from``, if the store names the change by it, as Stripe does.
        public var fromBasePlan: Optional<String>
        /// The plan or price of ``to``, if the store names the change by it.
        public var toBasePlan: Optional<String>

        /// Makes the detail of a product change.
        public init(
            from: ProductID? = nil,
            to: ProductID,
            direction: Direction,
            timing: Timing,
            basis: Basis,
            proration: Proration? = nil,
            period: ServicePeriod? = nil,
            fromBasePlan: String? = nil,
            toBasePlan: String? = nil
        ) {
            self.from = from
            self.to = to
            self.fromBasePlan = fromBasePlan
            self.toBasePlan = toBasePlan
            self.direction = direction
            self.timing = timing
            self.basis = basis
            self.proration = proration
            self.period = period
        }
    }

    /// A pause, planned or begun.
    public struct Pause: Hashable, Sendable, Codable {
        /// When it ends by itself, where stated.
        @OptionalEventTime public var resumesAt: Date?
        /// Why, in the store's own word, such as Stripe's `trial_end_without_payment_method`.
        public var reason: String?

        /// Makes the detail of a pause.
        public init(resumesAt: Date? = nil, reason: String? = nil) {
            self.resumesAt = resumesAt
            self.reason = reason
        }

        private enum CodingKeys: String, CodingKey {
            case reason
            case resumesAt = "resumes_at"
        }
    }

    /// A later end of the current period.
    public struct Extension: Hashable, Sendable, Codable {
        /// Why the end moved.
        @nonexhaustive
        public enum Reason: String, Hashable, Sendable, Codable {
            /// The developer asked for it.
            case developer
            /// The store makes up for an outage.
            case storeOutage = "store_outage"
            /// The developer moved the renewal date.
            case deferral
            /// The provider does not say.
            case unknown
        }

        /// The end before, where known.
        @OptionalEventTime public var from: Date?
        /// The end now.
        @EventTime public var to: Date
        /// Why it moved.
        public var reason: Reason

        /// Makes the detail of an extension.
        public init(from: Date? = nil, to: Date, reason: Reason) {
            self.from = from
            self.to = to
            self.reason = reason
        }
    }

    /// A change of price.
    public struct PriceChange: Hashable, Sendable, Codable {
        /// How far the change has come.
        @nonexhaustive
        public enum Stage: String, Hashable, Sendable, Codable {
            /// Announced, or awaiting consent.
            case pending
            /// Agreed to, or needing no consent.
            case accepted
            /// Refused.
            case declined
            /// In force.
            case applied
        }

        /// How far the change has come.
        public var stage: Stage
        /// The price before, where stated.
        public var old: Money?
        /// The price after, where stated.
        public var new: Money?
        /// From when the new price is charged, where stated.
        @OptionalEventTime public var effectiveAt: Date?
        /// True if the subscription ends unless the customer agrees.
        public var consentRequired: Bool

        /// Makes the detail of a price change.
        public init(
            stage: Stage,
            old: Money? = nil,
            new: Money? = nil,
            effectiveAt: Date? = nil,
            consentRequired: Bool
        ) {
            self.stage = stage
            self.old = old
            self.new = new
            self.effectiveAt = effectiveAt
            self.consentRequired = consentRequired
        }

        private enum CodingKeys: String, CodingKey {
            case stage, old, new
            case effectiveAt = "effective_at"
            case consentRequired = "consent_required"
        }
    }

    /// A redeemed offer.
    public struct OfferRedemption: Hashable, Sendable, Codable {
        /// The offer.
        public var offer: Offer
        /// The period that the offer began, if it began one.
        public var period: ServicePeriod?

        /// Makes the detail of a redemption.
        public init(offer: Offer, period: ServicePeriod? = nil) {
            self.offer = offer
            self.period = period
        }
    }

    /// Something bought that does not renew.
    public struct OneTimePurchase: Hashable, Sendable, Codable {
        /// The kind of product.
        @nonexhaustive
        public enum ProductType: String, Hashable, Sendable, Codable {
            /// Used up.
            case consumable
            /// Owned for good.
            case nonConsumable = "non_consumable"
            /// Access for a time that the host decides.
            case nonRenewing = "non_renewing"
            /// The provider does not say.
            case unknown
        }

        /// The kind of product.
        public var type: ProductType
        /// How many were bought.
        public var quantity: Int64
        /// The price of all of them, where stated.
        public var price: Price?
        /// When access ends, if the store says so.
        @OptionalEventTime public var expires: Date?
        /// True if it came through Family Sharing.
        public var familyShared: Bool

        /// Makes the detail of a one-time purchase.
        public init(
            type: ProductType,
            quantity: Int64,
            price: Price? = nil,
            expires: Date? = nil,
            familyShared: Bool = false
        ) {
            self.type = type
            self.quantity = quantity
            self.price = price
            self.expires = expires
            self.familyShared = familyShared
        }

        private enum CodingKeys: String, CodingKey {
            case type, quantity, price, expires
            case familyShared = "family_shared"
        }
    }

    /// A customer's wish to have money back.
    public struct RefundRequest: Hashable, Sendable, Codable {
        /// The transaction in question.
        public var transaction: TransactionID
        /// The reason that was given, in the provider's words.
        public var reason: String?
        /// By when the store wants an answer.
        @OptionalEventTime public var answerBy: Date?

        /// Makes the detail of a refund request.
        public init(transaction: TransactionID, reason: String? = nil, answerBy: Date? = nil) {
            self.transaction = transaction
            self.reason = reason
            self.answerBy = answerBy
        }

        private enum CodingKeys: String, CodingKey {
            case transaction, reason
            case answerBy = "answer_by"
        }
    }

    /// Money that went back.
    public struct Refund: Hashable, Sendable, Codable {
        /// How much of the transaction went back: in this refund as Stripe reports it, in all refunds of it by then as
        /// Google Play does.
        @nonexhaustive
        public enum Scope: Hashable, Sendable {
            /// All of it.
            case full
            /// This share of it, 0…1.
            case fraction(ExactDecimal)
            /// This many of the items bought.
            case quantity(Int64)
            /// This amount.
            case amount(Money)
        }

        /// Why the money went back.
        public struct Reason: OpenValue {
            /// The name used in JSON.
            public let rawValue: String
            /// Keeps a name as it is.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// Something was wrong with the app.
            public static let appIssue: Reason = "app_issue"
            /// Another reason of the customer's.
            public static let other: Reason = "other"
            /// The developer gave it back.
            public static let developer: Reason = "developer"
            /// The provider does not say.
            public static let unknown: Reason = "unknown"
        }

        /// The transaction that was refunded. For a subscription it may be a period long past.
        public var transaction: TransactionID
        /// How much of it went back.
        public var scope: Scope
        /// Why.
        public var reason: Reason
        /// True if the refund takes the access of now: true only if that rests on the refunded transaction and ends with
        /// it. Absent if the provider does not say and the state has to decide, and where nothing is taken, as by Stripe.
        public var affectsCurrentPeriod: Bool?
        /// The store's name of the refund, if a transaction can have several and each has a name, as on Stripe.
        public var refund: String?

        /// Makes the detail of a refund.
        public init(
            transaction: TransactionID,
            scope: Scope,
            reason: Reason,
            affectsCurrentPeriod: Bool?,
            refund: String? = nil
        ) {
            self.refund = refund
            self.transaction = transaction
            self.scope = scope
            self.reason = reason
            self.affectsCurrentPeriod = affectsCurrentPeriod
        }

        private enum CodingKeys: String, CodingKey {
            case transaction, scope, reason, refund
            case affectsCurrentPeriod = "affects_current_period"
        }
    }

    /// A transaction that something happened to.
    public struct TransactionReference: Hashable, Sendable, Codable {
        /// The store's id of the transaction.
        public var transaction: TransactionID
        /// The store's name of the refund that it is about, if it names refunds.
        public var refund: String?

        /// Makes a reference.
        public init(transaction: TransactionID, refund: String? = nil) {
            self.transaction = transaction
            self.refund = refund
        }
    }

    /// A dispute with the customer's bank.
    public struct Chargeback: Hashable, Sendable, Codable {
        /// How far the dispute has come.
        @nonexhaustive
        public enum Stage: String, Hashable, Sendable, Codable {
            /// Opened; the money may be held back.
            case opened
            /// Decided for the developer.
            case won
            /// Decided for the customer.
            case lost
            /// An inquiry before a dispute; no money has moved.
            case warning
            /// Averted before it became one, such as by a program of the card network; no money has moved by the dispute.
            case prevented
            /// Closed because the charge was refunded; the refund is reported by itself.
            case refunded
            /// Closed in a way that is none of these.
            case unknown
        }

        /// How far the dispute has come.
        public var stage: Stage
        /// The disputed transaction.
        public var transaction: TransactionID
        /// The disputed amount, where stated.
        public var amount: Money?
        /// Why the customer disputes it, in the store's own word, such as Stripe's `fraudulent`.
        public var reason: String?
        /// The store's name of the dispute, if it has one.
        public var dispute: String?

        /// Makes the detail of a dispute.
        public init(
            stage: Stage,
            transaction: TransactionID,
            amount: Money? = nil,
            reason: String? = nil,
            dispute: String? = nil
        ) {
            self.dispute = dispute
            self.stage = stage
            self.transaction = transaction
            self.amount = amount
            self.reason = reason
        }
    }

    /// Access taken away before its end.
    public struct Revocation: Hashable, Sendable, Codable {
        /// Why access was taken away.
        @nonexhaustive
        public enum Reason: String, Hashable, Sendable, Codable {
            /// Family Sharing ended for this member. No money went back to them.
            case familySharingEnded = "family_sharing_ended"
            /// The developer took it away.
            case developer
            /// The store took it away.
            case store
            /// A parent withdrew consent for a child's use of the app.
            case consentRescinded = "consent_rescinded"
            /// The purchase was never acknowledged to the store.
            case unacknowledged
            /// The provider does not say.
            case unknown
        }

        /// Why access was taken away.
        public var reason: Reason

        /// Makes the detail of a revocation.
        public init(reason: Reason) { self.reason = reason }
    }

    /// A purchase that moved between accounts.
    public struct Transfer: Hashable, Sendable, Codable {
        /// The accounts that lose it.
        public var from: [Account.Identifier]
        /// The accounts that gain it.
        public var to: [Account.Identifier]
        /// When the purchase was made that moves it, in a fact that the store states again whenever it states that purchase. Absent
        /// where it moves when that is stated.
        @OptionalEventTime public var at: Date?

        /// Makes the detail of a transfer.
        public init(from: [Account.Identifier], to: [Account.Identifier], at: Date? = nil) {
            self.from = from
            self.to = to
            self.at = at
        }
    }

    /// A duty to acknowledge a purchase.
    public struct AcknowledgementDeadline: Hashable, Sendable, Codable {
        /// By when; later the store refunds and revokes.
        @EventTime public var deadline: Date

        /// Makes the detail of the duty.
        public init(deadline: Date) { self.deadline = deadline }
    }

    /// Something worth knowing.
    public struct Notice: Hashable, Sendable, Codable {
        /// The subject of the notice.
        public struct Kind: OpenValue {
            /// The name used in JSON.
            public let rawValue: String
            /// Keeps a name as it is.
            public init(rawValue: String) { self.rawValue = rawValue }

            /// The provider's test notification.
            public static let test: Kind = "test"
            /// A trial is about to end.
            public static let trialEnding: Kind = "trial_ending"
            /// A renewal is about to be charged.
            public static let renewalUpcoming: Kind = "renewal_upcoming"
            /// A subscription was moved to another product or programme.
            public static let migration: Kind = "migration"
            /// Names or descriptions changed.
            public static let metadata: Kind = "metadata"
            /// A mass extension of renewal dates has finished.
            public static let extensionSummary: Kind = "extension_summary"
            /// An extension of the renewal date failed.
            public static let extensionFailed: Kind = "extension_failed"
            /// An external purchase token needs reporting.
            public static let externalPurchaseToken: Kind = "external_purchase_token"
            /// An invoice was issued.
            public static let invoiceIssued: Kind = "invoice_issued"
            /// An invoice was paid that begins no period, such as for a change in the middle of one. The event has its price, and
            /// its lines as items.
            public static let invoicePaid: Kind = "invoice_paid"
            /// It is known which payment paid an invoice: refunds and disputes name the payment.
            public static let paymentLinked: Kind = "payment_linked"
            /// Another product was chosen. Its purchase says which, and from when on.
            public static let productChange: Kind = "product_change"
            /// Two account identifiers turned out to be one customer.
            public static let accountsLinked: Kind = "accounts_linked"
            /// A balance of virtual currency changed.
            public static let virtualCurrency: Kind = "virtual_currency"
            /// A customer entered an experiment.
            public static let experiment: Kind = "experiment"
            /// A customer saw or used a paywall.
            public static let paywall: Kind = "paywall"
            /// Anything else.
            public static let other: Kind = "other"
        }

        /// The subject of the notice.
        public var kind: Kind
        /// Details from the provider, under names of this package.
        public var facts: [String: String]

        /// Makes the detail of a notice.
        public init(_ kind: Kind, facts: [String: String] = [:]) {
            self.kind = kind
            self.facts = facts
        }
    }

    /// A notification of a kind that this version does not know.
    public struct Unmapped: Hashable, Sendable, Codable {
        /// The provider's type, verbatim.
        public var type: String
        /// The provider's subtype, verbatim.
        public var subtype: String?

        /// Makes the detail of an unknown notification.
        public init(type: String, subtype: String? = nil) {
            self.type = type
            self.subtype = subtype
        }
    }
}
