public import FoundationEssentials
public import LifecycleEvents
import SignatureCore
import WireJSON

/// A subscription as RevenueCat's REST API shows it, in either version.
///
/// It is a snapshot: its content is true at the moment of the request. RevenueCat's own id of it says little, since one
/// purchase may go through several.
public struct RevenueCatSubscription: Hashable, Sendable {
    /// `status`
    public struct Status: OpenValue {
        /// RevenueCat's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// In a free trial.
        public static let trialing: Status = "trialing"
        /// Paid.
        public static let active: Status = "active"
        /// Over.
        public static let expired: Status = "expired"
        /// Access continues after a failed charge.
        public static let inGracePeriod: Status = "in_grace_period"
        /// The store tries to charge again, without access.
        public static let inBillingRetry: Status = "in_billing_retry"
        /// Paused.
        public static let paused: Status = "paused"
        /// Money went back. Only the older version of the API leads to it, which has no status.
        public static let refunded: Status = "refunded"
    }

    /// `auto_renewal_status`
    public struct AutoRenewal: OpenValue {
        /// RevenueCat's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It will renew.
        public static let willRenew: AutoRenewal = "will_renew"
        /// It will not.
        public static let willNotRenew: AutoRenewal = "will_not_renew"
        /// Another product will begin.
        public static let willChangeProduct: AutoRenewal = "will_change_product"
        /// It will pause.
        public static let willPause: AutoRenewal = "will_pause"
        /// It renews only if the customer agrees to a price.
        public static let requiresPriceIncreaseConsent: AutoRenewal = "requires_price_increase_consent"
        /// The next period is paid already and has not begun.
        public static let hasAlreadyRenewed: AutoRenewal = "has_already_renewed"
    }

    /// RevenueCat's id of the subscription; the older version has none.
    public var id: String?
    /// The customer that it belongs to. Of the older version it is the id that was asked for.
    public var customerID: String?
    /// Other ids of the same customer, as far as they are known.
    public var aliases: [String] = []
    /// The product in the store's words; the newer version names only its own id of it, ``productReference``.
    public var product: PurchasedProduct?
    /// RevenueCat's id of the product.
    public var productReference: String?
    /// Where the purchase lives.
    public var store: PurchaseStore
    /// The store's world that it lives in.
    public var environment: StoreEnvironment
    /// A transaction or order of the subscription.
    public var storeIdentifier: String?
    /// True if ``storeIdentifier`` is the transaction of the current period.
    public var namesCurrentTransaction: Bool
    /// The current period, or the last one.
    public var period: ServicePeriod?
    /// Until when it is paid. Later than the end of ``period`` only when the next period is paid and has not begun.
    public var paidUntil: Date?
    /// Under which terms the period is used, where stated.
    public var phase: PeriodPhase?
    /// How it stands.
    public var status: Status
    /// True if RevenueCat gives access. Nothing else decides that.
    public var givesAccess: Bool?
    /// The renewal, as RevenueCat words it.
    public var autoRenewal: AutoRenewal?
    /// The product that comes next, in the store's words, if one is arranged.
    public var pendingProduct: String?
    /// The end of the grace period, if there is one.
    public var graceUntil: Date?
    /// When the pause ends by itself.
    public var resumesAt: Date?
    /// When the money went back.
    public var refundedAt: Date?
    /// The ownership: bought or shared.
    public var ownership: Fact.Ownership
    /// The price charged for the period, where stated.
    public var price: Price?
    /// When a charge failed that has not succeeded since, where stated.
    var billingIssueAt: Date?
    /// True if a planned change is shown, even one whose product cannot be read.
    var hasPendingChange = false

    /// The SHA-256 of the part of the answer that it was read from, in hexadecimal.
    let digest: String
}

// It names a customer, so a log line that prints it must not show it.
extension RevenueCatSubscription: Redacted {
    /// The store and the status.
    public var description: String { "\(store) \(status)" }
}

// MARK: Facts

extension RevenueCatSubscription {
    /// The facts that the snapshot states, at the moment of the look-up.
    ///
    /// - Parameters:
    ///   - product: the store's product id, if the snapshot does not name it; without either, no period is stated.
    ///   - date: when it was asked for.
    public func facts(product: ProductID? = nil, at date: Date) -> [Fact] {
        facts(product: product, about: nil, at: date)
    }

    private func facts(product: ProductID?, about lineage: SubscriptionID?, at date: Date) -> [Fact] {
        let transaction = periodTransaction(in: lineage)
        var facts: [Fact] = []
        if let period, let product = self.product.map(Self.name) ?? product {
            // A status other than `trialing` may also be that of a trial: in grace, for example, or over.
            let phase = phase ?? (status == .trialing ? .trial : nil)
            facts.append(
                .period(
                    .init(
                        period,
                        product: product,
                        phase: phase ?? .regular,
                        transaction: transaction,
                        ownership: ownership,
                        isProvisional: mayBeUnpaid,
                        isPhaseInferred: phase == nil
                    )
                )
            )
        }
        if let refundedAt, let period, let payment = transaction ?? keptTransaction?.keptPayment(from: period.start) {
            facts.append(
                .refund(
                    .init(
                        transaction: payment,
                        scope: .full,
                        at: refundedAt,
                        periodStart: period.start,
                        endsAccess: givesAccess != true
                    )
                )
            )
        } else if let end = cut(at: date), let period {
            facts.append(
                .periodEnded(.init(start: period.start, transaction: transaction, at: end.at, reason: end.reason))
            )
        }
        if let willRenew {
            let terms = RenewalTerms(
                willRenew: willRenew,
                nextProduct: pendingProduct.map(ProductID.init),
                renewsAt: paidUntil
            )
            facts.append(.renewalIntent(.init(terms)))
        }
        if keepsProduct, !store.notifiesOneReceiver { facts.append(.nextProduct(.init(nil))) }
        facts.append(.billing(billing(at: date)))
        if status == .paused || autoRenewal == .willPause {
            facts.append(.pause(.init(status == .paused ? .paused : .scheduled, resumesAt: resumesAt)))
        } else {
            facts.append(.pause(.init(.none)))
        }
        if autoRenewal == .requiresPriceIncreaseConsent {
            facts.append(.priceChange(.init(.init(stage: .pending, consentRequired: true))))
        }
        if let account { facts.append(.owner(account)) }
        return facts
    }

    private var account: Account? { customerID.flatMap { Account(appUserIDs: [$0] + aliases) } }

    /// The product as periods name it: with its base plan, if Google Play has one.
    static func name(_ product: PurchasedProduct) -> ProductID { product.id.under(product.basePlan) }

    /// The facts as a statement about a lineage, to apply to its state.
    ///
    /// The snapshot does not name the lineage: take that of the webhook or purchase that led to it.
    public func statement(about lineage: SubscriptionID, product: ProductID? = nil, at date: Date) -> StoreStatement {
        let envelope = EventEnvelope(
            provider: .revenuecat,
            store: lineage.store,
            environment: lineage.environment,
            occurredAt: date,
            assertedAt: date,
            receivedAt: date,
            origin: Origin(
                type: id == nil ? "subscriber" : "subscription",
                channel: .refetch,
                evidence: Origin.Evidence(.tls),
                digest: digest,
                mapper: Mapping.version
            )
        )
        return envelope.statement(facts(product: product, about: lineage, at: date), about: lineage)
    }

    /// The transaction that the store may keep for all periods; nil if it names the current period, or no transaction.
    private var keptTransaction: TransactionID? {
        namesCurrentTransaction && !store.namesEachPeriod ? storeIdentifier.map(TransactionID.init) : nil
    }

    /// The transaction that names the current period. One that is kept has the name of the purchase.
    private func periodTransaction(in lineage: SubscriptionID?) -> TransactionID? {
        guard namesCurrentTransaction, let storeIdentifier else { return nil }
        let isKept = keptTransaction != nil && (lineage == nil || lineage?.id == storeIdentifier)
        return isKept ? nil : TransactionID(storeIdentifier)
    }

    /// True if a charge has failed, and none has succeeded since.
    var isUnpaid: Bool { status == .inGracePeriod || status == .inBillingRetry }

    /// True if the store may have stated the period without a payment for it: a charge has failed, or access is over, which the newer version
    /// calls ``Status/expired`` whether it was paid or not. A charge that failed after the period is for the next one.
    private var mayBeUnpaid: Bool {
        guard store.statesUnpaidPeriods, isUnpaid || givesAccess == false, refundedAt == nil else { return false }
        guard let billingIssueAt, let end = period?.end else { return true }
        return billingIssueAt < end
    }

    /// True if the answer says that no other product comes next. The older version of the API states none, and so says nothing.
    var keepsProduct: Bool { id != nil && autoRenewal == .willRenew && !hasPendingChange }

    /// True if the store will try to renew; nil if RevenueCat does not know.
    public var willRenew: Bool? {
        switch autoRenewal {
        case .willRenew?, .willChangeProduct?, .willPause?, .requiresPriceIncreaseConsent?, .hasAlreadyRenewed?: true
        case .willNotRenew?: false
        default: nil
        }
    }

    /// The consequence of a failed charge. The newer version dates no grace: its `ends_at` is the paid end, unless it holds grace as the end
    /// of a webhook does. So a later end that is known counts, and without one access lasts for a day from when RevenueCat gave it. The
    /// page of the members: https://www.revenuecat.com/docs/api-v2/subscription-data-model
    private func billing(at date: Date) -> Fact.Billing {
        switch status {
        case .inGracePeriod:
            let stated = graceUntil ?? period?.end
            let isInferred = givesAccess == true && stated.map { $0 <= date } ?? true
            return Fact.Billing(
                .grace,
                periodStart: period?.start,
                graceUntil: isInferred ? date.addingTimeInterval(Self.undatedGrace) : stated,
                isPartial: id != nil,
                isGraceInferred: isInferred
            )
        case .inBillingRetry: return Fact.Billing(.suspended, periodStart: period?.start)
        default: return Fact.Billing(.settled, periodStart: period?.start)
        }
    }

    /// Ours: grace without an end is asked about every hour.
    private static let undatedGrace: TimeInterval = 86_400

    // Without access a period is over, whatever end it was given. A pause may have none.
    private func cut(at date: Date) -> (at: Date, reason: LifecycleEvent.Expired.Reason)? {
        guard givesAccess == false else { return nil }
        let reason: LifecycleEvent.Expired.Reason
        switch status {
        case .inBillingRetry: reason = .billing
        case .paused: reason = .paused
        default: reason = .unknown
        }
        return (min(paidUntil ?? period?.end ?? date, date), reason)
    }
}

// MARK: The newer version

extension RevenueCatSubscription {
    /// A list of subscriptions, with the address of its next page.
    static func list(_ body: [UInt8]) throws(JSONError) -> (items: [RevenueCatSubscription], nextPage: String?) {
        let reader = try ObjectReader(parsing: body)
        var items: [RevenueCatSubscription] = []
        for value in try reader.array("items") { items.append(try RevenueCatSubscription(v2: value)) }
        return (items, try reader.optionalString("next_page"))
    }

    init(v2 value: JSONValue) throws(JSONError) {
        var fields = FieldReader(try ObjectReader(value), isStrict: true)
        digest = SHA256.hash(Array(value.rawBytes).span).hexadecimal
        id = try fields.identifier("id")
        customerID = try fields.identifier("customer_id")
        productReference = try fields.identifier("product_id")
        store = try fields.store()
        environment = try fields.open("environment") ?? .unknown
        storeIdentifier = try fields.identifier("store_subscription_identifier")
        namesCurrentTransaction = false
        let began = try fields.date("starts_at")
        let start = try fields.date("current_period_starts_at") ?? began
        let end = try fields.date("current_period_ends_at")
        // A period without an end is that of a pause without one. It does not give access forever.
        paidUntil = try fields.date("ends_at") ?? end
        let until = end ?? paidUntil
        period = start.flatMap { start in until.map { ServicePeriod(start: start, end: $0) } }
        status = try fields.open("status") ?? "unknown"
        givesAccess = try fields.flag("gives_access")
        autoRenewal = try fields.open("auto_renewal_status")
        ownership = try fields.identifier("ownership") == "family_shared" ? .familyShared : .purchased
        let changes = fields.reader.optionalValue("pending_changes")
        hasPendingChange = changes != nil
        if let changes, changes.kind == .object,
            let next = try ObjectReader(changes).optionalValue("product"), next.kind == .object
        {
            var next = FieldReader(try ObjectReader(next), isStrict: true)
            pendingProduct = try next.identifier("store_identifier")
        }
        graceUntil = status == .inGracePeriod ? paidUntil : nil
    }
}
