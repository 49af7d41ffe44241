package import LifecycleEvents

/// How one store differs from the others.
///
/// The model reads these values and compares no store's or provider's name. This file is the only place in `Normalizer` that
/// has such names. To add a store, add a value here; a store that is not listed has ``standard``.
package struct StoreRules: Hashable, Sendable {
    /// How long before a period begins the store may charge for it, in milliseconds; nil if it states a period only
    /// once it has begun. A customer who changes the product in that time never gets the period that was charged ahead.
    package var chargesAhead: Int64?

    /// True if a period that lies in the future by our clock has begun by the store's clock, so that nothing is left to
    /// wait for.
    package var statesOnlyBegunPeriods = false

    /// True if a statement of a purchase lists everything that runs in it. A period that such a statement leaves out, and
    /// that a later period overlaps, was replaced.
    package var listsAllItems = false

    /// True if the store does not mark the main item of a subscription. The main item before a renewal stays the main
    /// item after it, as long as it renews.
    package var keepsMainItem = false

    /// True if a subscription can end in the middle of a period that was paid for, and come back in it: at once, on request,
    /// or because its renewal was not paid. Such an end contradicts nothing.
    package var endsPeriodsAtOnce = false

    /// True if the store states a period before it is paid for. Credits wait for the charge.
    package var statesUnpaidPeriods = false

    /// True if a charge is the difference after the unused part of the old product is set off. Otherwise the charge is
    /// the whole price, and the store refunds the unused part.
    package var chargesNet = false

    /// True if a product may begin again before its end, in another rhythm or quantity, and the unused part is set off.
    package var restartsProduct = false

    /// True if the product may change in the middle of a period that continues.
    package var switchesWithinPeriods = false

    /// True if the store does not state when a renewed period began. A step within the period cannot name it by its start then,
    /// and is placed by its own time.
    package var omitsStarts = false

    /// True if every refund has a name of its own, so that a second refund of one payment is another refund and not the
    /// first one reported again.
    package var namesRefunds = false

    /// True if a refund only moves money. A one-time purchase ends when all of its money is refunded, even in parts,
    /// and a subscription continues. Money that a bank takes back in part leaves both.
    package var takesBackRefundedSales = false

    /// True if a payment is an invoice, which may come before the period that it pays for is stated.
    package var paysByInvoice = false

    /// True if every statement of a transaction says all that is true of it, the refund included, whatever it is about.
    /// A fact that such a statement leaves out is over.
    package var statesAllOfTransactions = false

    /// How long after a change the store may still sign statements that lack it, in milliseconds: its servers do not agree at
    /// once.
    package var settling: Int64 = 0

    /// True if a change of product that takes effect at once makes a new purchase with a name of its own. A renewal keeps
    /// the name, even where it is charged before the period before it ends.
    package var changesUnderNewName = false

    /// True if one order can pay for time that continues under another name, as after a change that is paid with time.
    package var ordersSpanNames = false

    /// True if a notification of a refund names the order alone. Only an answer says which of its products went back.
    package var notificationsNameWholeOrders = false

    /// True if a refund that ends access ends the purchase, and not only the period that it gave the money of back.
    package var revocationEndsPurchase = false

    /// True if the items of a purchase may have lineages of their own, with the name of the purchase in theirs.
    package var namesItemsByPurchase = false

    /// True if relays may state a product without its plan.
    package var relaysOmitPlans = false

    /// True if a customer who comes back makes a new purchase with a name of its own, which the store calls new.
    package var renamesOnReturn = false

    /// True if relays report such a new purchase without the purchase that it replaces.
    package var relaysOmitReplacedPurchase = false

    /// How far from the reported moment of a replacement the new purchase begins, in milliseconds, if its product is known.
    package var replacementWindow: Int64 = 0

    /// The same, if its product is not known, so that time alone distinguishes it from the account's other purchases.
    package var unnamedReplacementWindow: Int64 = 0

    /// True if the host's catalogue knows the direction of a change better than the store.
    package var catalogDecidesDirection = false

    /// True if nothing but the two products decides when a change takes effect.
    package var productsDecideTiming = false

    /// The consequence of a failed charge once there is no grace, or no more of it.
    package var troubleWithoutGrace: LifecycleEvent.Renewed.BillingTrouble = .retry

    /// True if a statement names the account that has the purchase when it is made. Others repeat the account that was set at purchase.
    package var namesPresentOwner = false

    /// The store whose name lineages have.
    package var lineageStore: PurchaseStore?

    /// A store that does nothing out of the ordinary.
    package static let standard = StoreRules()
}

// Each value cites the page that states it.
extension StoreRules {
    /// The App Store, also the one of the Mac.
    ///
    /// - `chargesAhead`: up to 24 hours, and upgrades take effect at once. https://developer.apple.com/app-store/subscriptions/
    /// - `statesAllOfTransactions`: `revocationDate` is a member of the transaction, and is removed when the refund is reversed.
    ///   https://developer.apple.com/documentation/appstoreserverapi/revocationdate
    ///   https://developer.apple.com/forums/thread/757986
    /// - `settling`: Apple does not say how long a copy lags behind a refund. Ten minutes are ours, for the removal that
    ///   https://developer.apple.com/forums/thread/757986 describes.
    /// - `catalogDecidesDirection`: `UPGRADE` also covers a crossgrade between products of one duration.
    ///   https://developer.apple.com/documentation/appstoreservernotifications/subtype
    /// - `productsDecideTiming`: https://developer.apple.com/app-store/subscriptions/
    /// - `lineageStore`: an original transaction identifier names a purchase in either.
    ///   https://developer.apple.com/documentation/appstoreserverapi/originaltransactionid
    /// - `keepsMainItem`: the items of a subscription are a list, none of which is the main one.
    ///   https://developer.apple.com/documentation/appstoreserverapi/advancedcommercetransactioninfo
    static let appStore = StoreRules(
        chargesAhead: 86_400_000,
        keepsMainItem: true,
        statesAllOfTransactions: true,
        settling: 600_000,
        catalogDecidesDirection: true,
        productsDecideTiming: true,
        lineageStore: .appStore
    )

    /// Google Play.
    ///
    /// - `omitsStarts`: a purchase has the end of its period, and the start of the first one only.
    ///   https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2
    /// - `changesUnderNewName`: a change of plan makes a new purchase with a new token and a new order.
    ///   https://developer.android.com/google/play/billing/subscriptions#change
    /// - `ordersSpanNames`: a change that is paid with time has no order of its own.
    ///   https://developer.android.com/google/play/billing/subscriptions#change
    /// - `notificationsNameWholeOrders`: a notification of a voided purchase has the order and no product.
    ///   https://developer.android.com/google/play/billing/rtdn-reference
    /// - `revocationEndsPurchase`: to revoke is to end the purchase at once, whichever order was refunded.
    ///   https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2/revoke
    /// - `namesItemsByPurchase`: a purchase is a list of items, which end one by one or all at once.
    ///   https://developer.android.com/google/play/billing/subscription-with-addons
    /// - `relaysOmitPlans`: a base plan is another member of the purchase than the product.
    ///   https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2
    /// - `relaysOmitReplacedPurchase`: the purchase that was replaced is `linkedPurchaseToken`, a token that relays do not state.
    ///   https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptionsv2
    /// - `replacementWindow`: a change that takes effect at once begins when it was made, and a relay may report it some minutes later. A
    ///   quarter of an hour is ours, since neither Google nor a relay documents one.
    ///   https://www.revenuecat.com/docs/integrations/webhooks/event-types-and-fields
    /// - `unnamedReplacementWindow`: a relay names the new product only of a deferred change. It usually reports within a minute; two
    ///   minutes allow for clocks. https://www.revenuecat.com/docs/integrations/webhooks
    /// - `renamesOnReturn`: a customer who comes back once a purchase has expired gets a new token.
    ///   https://developer.android.com/google/play/billing/lifecycle/subscriptions#resubscribe
    /// - `troubleWithoutGrace`: an account hold follows a failed charge.
    ///   https://developer.android.com/google/play/billing/subscriptions#account-hold
    static let playStore = StoreRules(
        omitsStarts: true,
        changesUnderNewName: true,
        ordersSpanNames: true,
        notificationsNameWholeOrders: true,
        revocationEndsPurchase: true,
        namesItemsByPurchase: true,
        relaysOmitPlans: true,
        renamesOnReturn: true,
        relaysOmitReplacedPurchase: true,
        replacementWindow: 900_000,
        unnamedReplacementWindow: 120_000,
        troubleWithoutGrace: .hold
    )

    /// Stripe Billing.
    ///
    /// - `statesOnlyBegunPeriods`: a test clock runs ahead of ours. https://docs.stripe.com/billing/testing/test-clocks
    /// - `listsAllItems`: a subscription is its list of items. https://docs.stripe.com/api/subscriptions/object
    /// - `endsPeriodsAtOnce`: a subscription can be canceled at once, and paid for after it was unpaid.
    ///   https://docs.stripe.com/billing/subscriptions/cancel
    /// - `statesUnpaidPeriods`: a subscription is active an hour before the invoice of a cycle is paid, and for as long as an
    ///   invoice that is sent is open. https://docs.stripe.com/billing/invoices/subscription
    /// - `chargesNet`: an invoice sets off the unused part. https://docs.stripe.com/billing/subscriptions/prorations
    /// - `restartsProduct`: a billing cycle may begin anew. https://docs.stripe.com/billing/subscriptions/billing-cycle
    /// - `switchesWithinPeriods`: the price may change in the middle of a cycle.
    ///   https://docs.stripe.com/billing/subscriptions/change-price
    /// - `namesRefunds`: a refund has an identifier. https://docs.stripe.com/api/refunds/object
    /// - `takesBackRefundedSales`: a refund cancels nothing. https://docs.stripe.com/refunds
    /// - `paysByInvoice`: an invoice pays for a period. https://docs.stripe.com/billing/subscriptions/overview
    /// - `renamesOnReturn`: a canceled subscription cannot be reactivated. https://docs.stripe.com/billing/subscriptions/cancel
    static let stripe = StoreRules(
        statesOnlyBegunPeriods: true,
        listsAllItems: true,
        endsPeriodsAtOnce: true,
        statesUnpaidPeriods: true,
        chargesNet: true,
        restartsProduct: true,
        switchesWithinPeriods: true,
        namesRefunds: true,
        takesBackRefundedSales: true,
        paysByInvoice: true,
        renamesOnReturn: true
    )

    /// RevenueCat, whatever store it speaks of.
    ///
    /// - `namesPresentOwner`: all webhooks after a transfer name the new customer, in the API `customer_id` does, and a login after an
    ///   anonymous purchase has no webhook of its own. https://www.revenuecat.com/docs/projects/restore-behavior
    ///   https://community.revenuecat.com/general-questions-7/transfer-webhook-event-4804
    static let revenueCat = StoreRules(namesPresentOwner: true)

    /// RevenueCat's Web Billing.
    ///
    /// - `chargesAhead`: up to an hour. https://www.revenuecat.com/docs/web/web-billing/subscription-lifecycle
    static let webBilling = StoreRules(chargesAhead: 3_600_000)
}

extension PurchaseStore {
    /// The store whose name lineages have; nil if no store is known, as where a relay reports about accounts alone.
    package var ofLineages: PurchaseStore? { self == .unknown ? nil : rules.lineageStore ?? self }

    /// How this store differs from the others.
    package var rules: StoreRules {
        switch self {
        case .appStore, .macAppStore: .appStore
        case .playStore: .playStore
        case .stripe: .stripe
        case .rcBilling: .webBilling
        default: .standard
        }
    }
}

extension Account.Identifier {
    /// True if the app gives the name. A name that a store or a relay makes for its customer says nothing of the accounts of an app,
    /// and neither does the one that RevenueCat makes for a device without a login
    /// (https://www.revenuecat.com/docs/customers/identifying-customers).
    package var isOfApp: Bool {
        source != .stripeCustomer && source != .appTransactionID
            && !(source == .appUserID && !prefixOfMadeNames.isEmpty)
    }

    /// The beginning of all names that a relay makes, if this is one; else empty.
    package var prefixOfMadeNames: String {
        let prefix = "$RCAnonymousID:"
        return id.hasPrefix(prefix) ? prefix : ""
    }
}

extension Provider {
    /// The stores that this provider speaks for; nil if they have the provider's own name.
    ///
    /// RevenueCat sells by itself too: https://www.revenuecat.com/docs/web/web-billing/overview
    private var stores: [PurchaseStore]? {
        switch self {
        case .apple: [.appStore, .macAppStore]
        case .google: [.playStore]
        case .stripe: [.stripe]
        case .revenuecat: [.rcBilling, .promotional, .testStore]
        default: nil
        }
    }

    /// True if a statement of this provider about a purchase in `store` is the store's own.
    package func speaks(for store: PurchaseStore) -> Bool {
        stores?.contains(store) ?? (rawValue == store.rawValue)
    }

    /// True if it may know a purchase in `store`: one that it speaks for, or that it relays. A store knows no other store's purchases.
    package func mayKnow(_ store: PurchaseStore) -> Bool {
        let isRelay =
            switch self {
            case .apple, .google, .stripe: false
            default: true
            }
        return isRelay || speaks(for: store)
    }

    /// The rules of the statements that this provider makes. A relay states a purchase in its own way, so the rules of the
    /// store that it relays do not hold for them.
    package var rules: StoreRules {
        switch self {
        case .apple: .appStore
        case .google: .playStore
        case .stripe: .stripe
        case .revenuecat: .revenueCat
        default: .standard
        }
    }

    /// True for the host's own word, which counts only if no provider has said anything.
    package var isHost: Bool { self == .host }
}
