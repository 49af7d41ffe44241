import FoundationEssentials
public import LifecycleEvents

/// One item of a subscription purchase as Google Play gave it, with the reason for the question.
///
/// The facts are those of the answer alone. A notification adds its time, and that a charge was made.
struct PlayItem {
    /// The reason of the look-up.
    enum Reason: Hashable {
        /// The notification's number.
        case notification(SubscriptionNotificationType)
        /// The notification says that money went back, at a moment.
        case voided(at: Date)
        /// None but our own wish to know.
        case question
    }

    let purchase: SubscriptionPurchase
    let item: SubscriptionPurchase.LineItem
    /// True if it stands for the purchase, and the purchase's lineage is its own. Further items have lineages of their own.
    let isMain: Bool
    /// True if it has the names of the purchase and not names of its own: it represents the purchase, or did so until
    /// its successor replaced it.
    let hasPurchaseName: Bool
    /// The product in the name of its lineage; nil if that is the purchase's alone.
    let nameProduct: String?
    /// The products in the names that it may have had before under this token.
    let formerNameProducts: [String]
    /// True if another item has taken its place.
    let isOutlived: Bool
    /// True if it has taken the place of another item.
    let isSuccessor: Bool
    let token: PurchaseToken
    let reason: Reason
    /// The time of the notification's event; the time of the answer if there is no notification.
    let eventTime: Date
    /// When Google Play gave the answer.
    let assertedAt: Date
    /// The last paid order, if it was asked for.
    let order: PlayOrder?
    /// The entry in the list of voided purchases, if it was asked for.
    let voided: VoidedPurchase?
    /// The purchase that this one took the place of, if it was asked for.
    let predecessor: SubscriptionPurchase?
    /// The items of the purchases before this one that the item continues, newest first.
    let ancestors: [FormerItem]
}

extension PlayItem {
    /// The notification's type.
    var type: SubscriptionNotificationType? {
        if case .notification(let type) = reason { type } else { nil }
    }
}

// MARK: Identity

extension PlayItem {
    var environment: StoreEnvironment { purchase.isTestPurchase ? .sandbox : .production }

    var lineage: SubscriptionID {
        SubscriptionID(
            store: .playStore,
            environment: environment,
            id: LineageName(token.fingerprint).item(nameProduct)
        )
    }

    /// Names the last paid order. Items share an order, and each has it in a lineage of its own.
    var transaction: TransactionID? { item.orderID }

    var account: Account? {
        Account(purchase.accountIdentifiers) ?? Account(purchase.outOfAppPurchase?.accountIdentifiers)
    }

    var product: PurchasedProduct {
        PurchasedProduct(
            id: ProductID(item.productID),
            basePlan: item.basePlanID,
            offer: offer,
            offerTags: item.offerTags.isEmpty ? nil : item.offerTags
        )
    }

    var productName: ProductID { item.productName }

    private var offer: Offer? {
        let isCode = item.signupPromotion != nil
        guard item.offerID != nil || isCode else { return nil }
        let kind: Offer.Kind
        switch item.offerPhase {
        case _ where isCode: kind = .code
        case .freeTrial?, .introductory?: kind = .introductory
        default: kind = .promotional
        }
        return Offer(kind: kind, id: item.offerID, payment: item.offerPhase == .freeTrial ? .freeTrial : nil)
    }
}

extension SubscriptionPurchase.LineItem {
    /// The product as periods and changes name it, and as relays do: a base plan decides on duration and price.
    var productName: ProductID { ProductID(productID).under(basePlanID) }

    /// The order that paid for the current period.
    var orderID: TransactionID? { latestSuccessfulOrderID.map(TransactionID.init) }
}

extension Account {
    init?(_ identifiers: SubscriptionPurchase.AccountIdentifiers?) {
        guard let identifiers else { return nil }
        self.init([
            identifiers.obfuscatedAccountID.map { Identifier($0, .obfuscatedAccountID) },
            identifiers.obfuscatedProfileID.map { Identifier($0, .obfuscatedProfileID) },
            identifiers.externalAccountID.map { Identifier($0, .externalAccountID) },
        ])
    }

    /// The first identifier binds; the others are further names.
    init?(_ identifiers: [Identifier?]) {
        let present = identifiers.compactMap(\.self)
        guard let first = present.first else { return nil }
        self.init(first.id, first.source, aliases: Array(present.dropFirst()))
    }
}

extension Account.Source {
    /// Google's `externalAccountId`: the user's account with the app, if Google links accounts.
    public static let externalAccountID: Account.Source = "external_account_id"
}
