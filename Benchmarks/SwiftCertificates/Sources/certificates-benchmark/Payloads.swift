import Foundation

// Apple's payloads with the members that they have of a subscription.

protocol SignedPayload: Decodable {
    var signedDate: Date { get }
}

struct Envelope: Decodable {
    var signedPayload: String
}

struct NotificationPayload: SignedPayload {
    struct Contents: Decodable {
        var appAppleId: Int64?
        var bundleId: String?
        var bundleVersion: String?
        var environment: String?
        var status: Int32?
        var consumptionRequestReason: String?
        var signedTransactionInfo: String?
        var signedRenewalInfo: String?
    }
    var notificationType: String
    var subtype: String?
    var notificationUUID: String
    var version: String?
    var signedDate: Date
    var data: Contents?
}

struct TransactionPayload: SignedPayload {
    var appAccountToken: UUID?
    var appTransactionId: String?
    var bundleId: String?
    var currency: String?
    var environment: String?
    var expiresDate: Date?
    var inAppOwnershipType: String?
    var isUpgraded: Bool?
    var offerDiscountType: String?
    var offerIdentifier: String?
    var offerPeriod: String?
    var offerType: Int32?
    var originalPurchaseDate: Date?
    var originalTransactionId: String?
    var price: Int64?
    var productId: String?
    var purchaseDate: Date?
    var quantity: Int32?
    var revocationDate: Date?
    var revocationPercentage: Int32?
    var revocationReason: Int32?
    var revocationType: String?
    var signedDate: Date
    var storefront: String?
    var storefrontId: String?
    var subscriptionGroupIdentifier: String?
    var transactionId: String?
    var transactionReason: String?
    var type: String?
    var webOrderLineItemId: String?
}

struct RenewalInfoPayload: SignedPayload {
    var appAccountToken: UUID?
    var appTransactionId: String?
    var autoRenewProductId: String?
    var autoRenewStatus: Int32?
    var currency: String?
    var eligibleWinBackOfferIds: [String]?
    var environment: String?
    var expirationIntent: Int32?
    var gracePeriodExpiresDate: Date?
    var isInBillingRetryPeriod: Bool?
    var offerDiscountType: String?
    var offerIdentifier: String?
    var offerPeriod: String?
    var offerType: Int32?
    var originalTransactionId: String?
    var priceIncreaseStatus: Int32?
    var productId: String?
    var recentSubscriptionStartDate: Date?
    var renewalDate: Date?
    var renewalPrice: Int64?
    var signedDate: Date
}
