import FoundationEssentials
import LifecycleEvents

/// The facts of a transaction and its renewal info, for any notification that brings them.
///
/// Both are snapshots: each states all that Apple knows at the moment of signing. So a fact depends on the type of the notification
/// only where the data leaves it out: `endings`, `isBought` and ``AppleRenewalSnapshot``.
///
/// A class, because its holders would copy the whole transaction.
final class AppleSnapshot {
    let transaction: AppleTransaction
    let renewal: AppleRenewalSnapshot?
    let status: AppleNotification.Status?
    /// Which notification brings it, if one does.
    let notification: (type: AppleNotification.NotificationType, subtype: AppleNotification.Subtype?)?

    /// The moment that the statement is about.
    let assertedAt: Date

    init(
        transaction: AppleTransaction,
        renewalInfo: AppleRenewalInfo?,
        status: AppleNotification.Status? = nil,
        notification: (type: AppleNotification.NotificationType, subtype: AppleNotification.Subtype?)? = nil,
        assertedAt: Date
    ) {
        self.transaction = transaction
        renewal = renewalInfo.map {
            AppleRenewalSnapshot(
                renewalInfo: $0,
                transaction: transaction,
                status: status,
                notification: notification,
                assertedAt: assertedAt
            )
        }
        self.status = status
        self.notification = notification
        self.assertedAt = assertedAt
    }

    var renewalInfo: AppleRenewalInfo? { renewal?.renewalInfo }
}

extension AppleSnapshot {
    var lineage: SubscriptionID {
        SubscriptionID(
            store: .appStore,
            environment: transaction.environment.canonical,
            id: transaction.originalTransactionID
        )
    }

    /// True if it is paid for by the period, and renews. A pass that does not renew has an end as well.
    var isSubscription: Bool {
        switch transaction.type {
        case .autoRenewable?: true
        case .consumable?, .nonConsumable?, .nonRenewing?: false
        default: transaction.expiresDate != nil
        }
    }

    /// The name of the payment. A non-consumable gets another transaction each time it is restored, and is still the
    /// one purchase that the original transaction names and dates; a refund of it is a refund of all.
    var purchaseID: TransactionID {
        transaction.type == .nonConsumable ? TransactionID(transaction.originalTransactionID) : transactionID
    }

    var transactionID: TransactionID { TransactionID(transaction.transactionID) }

    var isFamilyShared: Bool { transaction.inAppOwnershipType == .familyShared }

    /// Purchases by families have no token of their own: the app of the member did not buy.
    var account: Account? {
        account(
            token: transaction.appAccountToken ?? renewalInfo?.appAccountToken,
            appTransaction: transaction.appTransactionID ?? renewalInfo?.appTransactionID
        )
    }

    /// The account that renewal info of another moment names; an app transaction is no second one next to a token.
    func owner(by renewalInfo: AppleRenewalInfo) -> Account? {
        guard renewalInfo.appAccountToken != nil || transaction.appAccountToken == nil else { return nil }
        return account(token: renewalInfo.appAccountToken, appTransaction: renewalInfo.appTransactionID)
    }

    private func account(token: String?, appTransaction: String?) -> Account? {
        if !isFamilyShared, let token {
            let aliases = appTransaction.map { [Account.Identifier($0, .appTransactionID)] } ?? []
            return Account(token, .appAccountToken, aliases: aliases)
        }
        return appTransaction.map { Account($0, .appTransactionID) }
    }

    var period: ServicePeriod {
        ServicePeriod(start: beganAt, end: transaction.expiresDate)
    }

    /// When the purchase began. A renewal is charged ahead. A purchase is not: it has begun by the time at which Apple
    /// signs it, even if Apple dates it an hour ahead, as at the end of daylight saving time.
    var beganAt: Date { transaction.began(by: assertedAt, status) }

    var product: PurchasedProduct {
        PurchasedProduct(
            id: transaction.catalogProduct,
            basePlan: transaction.billingPlanType?.rawValue,
            offer: offer,
            group: transaction.sku == nil ? transaction.subscriptionGroupIdentifier : transaction.productID,
            quantity: transaction.quantity,
            addOns: addOns.isEmpty ? nil : addOns
        )
    }

    /// The product with its billing plan, as facts, catalogues and credits name it.
    var productName: ProductID { transaction.catalogProduct.under(transaction.billingPlanType?.partOfProduct) }

    var terms: RenewalTerms? { renewal?.terms }

    var disabledReason: LifecycleEvent.AutoRenewDisabled.Reason? { renewal?.disabledReason }

    var graceUntil: Date? { renewal?.graceUntil }

    /// True if another product renews than the one that was paid for last.
    var plansChange: Bool { renewal?.nextProduct.map { $0 != productName } ?? false }

    /// Statements that Apple makes in one place and leaves out in the one where they belong: worth a look-up.
    var anomalies: [String] {
        var anomalies = renewal?.anomalies ?? []
        if notification?.type == .refund, transaction.revocationDate == nil, refundOfItems == nil {
            anomalies.append("revocationDate")
        }
        if transaction.storefront != nil, country == nil { anomalies.append("storefront") }
        return anomalies
    }

    var ownership: Fact.Ownership { isFamilyShared ? .familyShared : .purchased }

    var periodFact: Fact {
        .period(
            Fact.Period(
                period,
                product: productName,
                phase: phase,
                transaction: transactionID,
                ownership: ownership,
                commitment: commitment
            )
        )
    }

    /// The purchase as events name it.
    var subject: EventSubject {
        let account = account
        return EventSubject(
            lineage: lineage,
            transaction: purchaseID,
            account: account,
            product: product,
            period: isSubscription ? period : nil,
            price: price,
            country: country,
            commitment: commitment,
            lineItem: lineItem,
            items: items,
            renewal: terms,
            facts: facts(account)
        )
    }

    private func facts(_ account: Account?) -> [Fact] {
        var facts: [Fact] = []
        if isSubscription {
            facts.append(periodFact)
            facts += itemFacts
        } else {
            facts.append(
                .purchase(
                    Fact.OneTimePurchase(
                        transaction: purchaseID,
                        product: productName,
                        purchase: oneTimePurchase,
                        at: beganAt
                    )
                )
            )
        }
        if let price, price.role == .charged {
            facts.append(.charge(Fact.Charge(transaction: purchaseID, price: price, at: beganAt)))
        }
        facts += endings
        facts += renewal?.facts ?? []
        if let account { facts.append(.owner(account)) }
        facts += possession
        if let previous = transaction.previousOriginalTransactionID {
            facts.append(
                .link(SubscriptionID(store: lineage.store, environment: lineage.environment, id: previous))
            )
        }
        return facts
    }

    /// The buyer owns. A new purchase in a lineage, or a change of plan at once, that is stated under an account moves the lineage
    /// to it from then on, whatever states it; the account of a renewal does not. An account that is set for the next renewal alone
    /// is named, and owns nothing yet.
    private var possession: [Fact] {
        guard !isFamilyShared, let token = transaction.appAccountToken else { return [] }
        var facts: [Fact] = []
        if let next = renewalInfo?.appAccountToken, next != token {
            facts.append(.owner(Account(next, .appAccountToken)))
        }
        // A purchase for good keeps its owner when it is restored.
        if isSubscription, isBought, !transaction.isFirst {
            facts.append(.transfer(.init(from: [], to: [.init(token, .appAccountToken)], at: beganAt)))
        }
        return facts
    }

    /// True if the customer bought it. Older payloads leave that to the type of the notification.
    private var isBought: Bool {
        switch (notification?.type, notification?.subtype) {
        case (.subscribed?, _), (.offerRedeemed?, .resubscribe?), (.offerRedeemed?, .initialBuy?): true
        case (.didChangeRenewalPref?, .upgrade?), (.offerRedeemed?, .upgrade?): true
        default: transaction.isPurchase
        }
    }

    var oneTimePurchase: LifecycleEvent.OneTimePurchase {
        let type: LifecycleEvent.OneTimePurchase.ProductType
        switch transaction.type {
        case .consumable?: type = .consumable
        case .nonConsumable?: type = .nonConsumable
        case .nonRenewing?: type = .nonRenewing
        default: type = .unknown
        }
        return LifecycleEvent.OneTimePurchase(
            type: type,
            quantity: transaction.quantity ?? 1,
            price: price,
            expires: transaction.expiresDate,
            familyShared: isFamilyShared
        )
    }
}

extension AppleTransaction {
    /// The developer's own name of the product, by the Advanced Commerce API.
    var sku: String? { advancedCommerce?.mainSKU(from: purchaseDate) }

    /// The product, without its billing plan.
    var catalogProduct: ProductID { ProductID(sku ?? productID) }

    /// True if the customer brought it about, and no renewal did. Older payloads do not say; the first of a lineage is a purchase.
    var isPurchase: Bool { transactionReason.map { $0 == .purchase } ?? isFirst }

    /// True if it began its lineage.
    var isFirst: Bool { transactionID == originalTransactionID }

    /// As in ``AppleSnapshot/beganAt``.
    func began(by assertedAt: Date, _ status: AppleNotification.Status?) -> Date {
        // `purchaseDate` of a restored transaction is that of the restore (StoreKit, `Transaction.purchaseDate`).
        if type == .nonConsumable, !isFirst, let originalPurchaseDate { return originalPurchaseDate }
        guard purchaseDate > assertedAt, isPurchase, status.map(\.givesAccess) ?? true else { return purchaseDate }
        return assertedAt
    }

    var retryUntil: Date? { environment.retryUntil(after: expiresDate) }
}

extension AppleEnvironment {
    /// Apple tries for up to 60 days after the period (App Store Connect help, "Enable billing grace period"). Elsewhere
    /// it is minutes, by a setting of the tester's ("Manage Sandbox Apple Account settings") that nothing states.
    func retryUntil(after paidUntil: Date?) -> Date? {
        self == .production ? paidUntil?.addingTimeInterval(60 * 86_400) : nil
    }
}

extension AppleTransaction.BillingPlanType {
    /// The plan in a product's name: `year:MONTHLY`. A plan that is paid at once counts as none, so that a product keeps its name
    /// when Apple begins to state its plan.
    var partOfProduct: String? { self == .billedUpFront ? nil : rawValue }
}
