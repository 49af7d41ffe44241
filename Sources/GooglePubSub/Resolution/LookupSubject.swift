/// What a notification is about, as far as Google Play has to be asked.
package enum LookupSubject: Sendable, Hashable {
    /// `subscriptionNotification`.
    case subscription(purchaseToken: String, notificationType: Int64)
    /// `oneTimeProductNotification`.
    case oneTimeProduct(purchaseToken: String, notificationType: Int64)
    /// `voidedPurchaseNotification` of a subscription (`productType` 1).
    case voidedSubscription(purchaseToken: String, orderID: String)
    /// `voidedPurchaseNotification` of a one-time product (`productType` 2).
    case voidedProduct(purchaseToken: String, orderID: String)
    /// Everything else: a test, a refund review, a body nobody knows. No look-up by purchase token is made for it.
    case nothing

    var purchaseToken: String? {
        switch self {
        case .subscription(let token, _), .oneTimeProduct(let token, _), .voidedSubscription(let token, _),
            .voidedProduct(let token, _):
            token
        case .nothing: nil
        }
    }
}
