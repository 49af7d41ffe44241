public import FoundationEssentials
import LifecycleEvents
package import WireJSON

// The members have the names and meanings of Apple's documentation of the App Store Server API. App, environment and
// time of signing are the simulator's to fill in.
extension AppleSimulator {
    /// The content of a notification (`responseBodyV2DecodedPayload`).
    public struct Notification: Hashable, Sendable {
        /// The one object that a notification carries.
        public enum Content: Hashable, Sendable {
            /// `data`
            case data(PurchaseData)
            /// `summary`
            case summary(Summary)
            /// `externalPurchaseToken`
            case externalPurchaseToken(ExternalPurchaseToken)
            /// `appData`, with the app transaction to sign inside it
            case appData(AppTransaction)
        }

        /// `notificationType`
        public var notificationType: String
        /// `subtype`
        public var subtype: String?
        /// `notificationUUID`
        public var notificationUUID: String
        /// `version`
        public var version: String? = "2.0"
        /// `signedDate`
        public var signedDate: Date
        /// The one object that it carries.
        public var content: Content

        /// Makes a notification.
        public init(
            _ notificationType: String,
            _ subtype: String? = nil,
            notificationUUID: String,
            signedDate: Date,
            content: Content = .data(PurchaseData())
        ) {
            self.notificationType = notificationType
            self.subtype = subtype
            self.notificationUUID = notificationUUID
            self.signedDate = signedDate
            self.content = content
        }
    }

    /// The state of a purchase (`data`).
    public struct PurchaseData: Hashable, Sendable {
        /// `bundleVersion`
        public var bundleVersion: String? = "42"
        /// `status`
        public var status: Int64?
        /// `consumptionRequestReason`
        public var consumptionRequestReason: String?
        /// The transaction to sign as `signedTransactionInfo`.
        public var transactionInfo: Transaction?
        /// The renewal info to sign as `signedRenewalInfo`.
        public var renewalInfo: RenewalInfo?

        /// Makes the data of a purchase; without arguments, of none.
        public init(
            status: Int64? = nil,
            transactionInfo: Transaction? = nil,
            renewalInfo: RenewalInfo? = nil,
            consumptionRequestReason: String? = nil
        ) {
            self.status = status
            self.transactionInfo = transactionInfo
            self.renewalInfo = renewalInfo
            self.consumptionRequestReason = consumptionRequestReason
        }
    }

    /// The outcome of a mass extension (`summary`).
    public struct Summary: Hashable, Sendable {
        /// `productId`
        public var productId: String
        /// `requestIdentifier`
        public var requestIdentifier: String
        /// `storefrontCountryCodes`; none means all.
        public var storefrontCountryCodes: [String]
        /// `succeededCount`
        public var succeededCount: Int64
        /// `failedCount`
        public var failedCount: Int64

        /// Makes a summary.
        public init(
            productId: String,
            requestIdentifier: String,
            storefrontCountryCodes: [String] = [],
            succeededCount: Int64,
            failedCount: Int64
        ) {
            self.productId = productId
            self.requestIdentifier = requestIdentifier
            self.storefrontCountryCodes = storefrontCountryCodes
            self.succeededCount = succeededCount
            self.failedCount = failedCount
        }
    }

    /// A token for purchases outside the App Store (`externalPurchaseToken`).
    public struct ExternalPurchaseToken: Hashable, Sendable {
        /// `externalPurchaseId`, without the prefix that Sandbox adds.
        public var externalPurchaseId: String
        /// `tokenCreationDate`
        public var tokenCreationDate: Date
        /// `tokenType`
        public var tokenType: String?
        /// `tokenExpirationDate`
        public var tokenExpirationDate: Date?

        /// Makes a token.
        public init(
            externalPurchaseId: String,
            tokenCreationDate: Date,
            tokenType: String? = nil,
            tokenExpirationDate: Date? = nil
        ) {
            self.externalPurchaseId = externalPurchaseId
            self.tokenCreationDate = tokenCreationDate
            self.tokenType = tokenType
            self.tokenExpirationDate = tokenExpirationDate
        }
    }

    /// A transaction (`JWSTransactionDecodedPayload`).
    public struct Transaction: Hashable, Sendable {
        /// `transactionId`
        public var transactionId: String
        /// `originalTransactionId`
        public var originalTransactionId: String
        /// `previousOriginalTransactionId`
        public var previousOriginalTransactionId: String?
        /// `webOrderLineItemId`
        public var webOrderLineItemId: String?
        /// `appTransactionId`
        public var appTransactionId: String?
        /// `appAccountToken`
        public var appAccountToken: String?
        /// `productId`
        public var productId: String
        /// `subscriptionGroupIdentifier`
        public var subscriptionGroupIdentifier: String?
        /// `purchaseDate`
        public var purchaseDate: Date
        /// `originalPurchaseDate`
        public var originalPurchaseDate: Date?
        /// `expiresDate`
        public var expiresDate: Date?
        /// `revocationDate`
        public var revocationDate: Date?
        /// `price`, in thousandths of the currency's unit.
        public var price: Int64?
        /// `currency`
        public var currency: String?
        /// `quantity`
        public var quantity: Int64? = 1
        /// `type`
        public var type: String
        /// `inAppOwnershipType`
        public var inAppOwnershipType: String = "PURCHASED"
        /// `transactionReason`
        public var transactionReason: String? = "PURCHASE"
        /// `offerType`
        public var offerType: Int64?
        /// `offerIdentifier`
        public var offerIdentifier: String?
        /// `offerDiscountType`
        public var offerDiscountType: String?
        /// `offerPeriod`
        public var offerPeriod: String?
        /// `storefront`
        public var storefront: String? = "USA"
        /// `storefrontId`
        public var storefrontId: String? = "143441"
        /// `isUpgraded`
        public var isUpgraded: Bool?
        /// `revocationReason`
        public var revocationReason: Int64?
        /// `revocationType`
        public var revocationType: String?
        /// `revocationPercentage`, in thousandths of a percent.
        public var revocationPercentage: Int64?

        /// Makes a transaction with the members that all have.
        public init(
            transactionId: String,
            originalTransactionId: String,
            productId: String,
            purchaseDate: Date,
            type: String
        ) {
            self.transactionId = transactionId
            self.originalTransactionId = originalTransactionId
            self.productId = productId
            self.purchaseDate = purchaseDate
            self.type = type
        }
    }

    /// Renewal info (`JWSRenewalInfoDecodedPayload`).
    public struct RenewalInfo: Hashable, Sendable {
        /// `originalTransactionId`
        public var originalTransactionId: String
        /// `productId`
        public var productId: String
        /// `autoRenewProductId`
        public var autoRenewProductId: String
        /// `autoRenewStatus`
        public var autoRenewStatus: Int64 = 1
        /// `isInBillingRetryPeriod`
        public var isInBillingRetryPeriod: Bool?
        /// `expirationIntent`
        public var expirationIntent: Int64?
        /// `priceIncreaseStatus`
        public var priceIncreaseStatus: Int64?
        /// `gracePeriodExpiresDate`
        public var gracePeriodExpiresDate: Date?
        /// `offerType`
        public var offerType: Int64?
        /// `offerIdentifier`
        public var offerIdentifier: String?
        /// `offerDiscountType`
        public var offerDiscountType: String?
        /// `offerPeriod`
        public var offerPeriod: String?
        /// `renewalPrice`, in thousandths of the currency's unit.
        public var renewalPrice: Int64?
        /// `currency`
        public var currency: String?
        /// `renewalDate`
        public var renewalDate: Date?
        /// `recentSubscriptionStartDate`
        public var recentSubscriptionStartDate: Date?
        /// `eligibleWinBackOfferIds`
        public var eligibleWinBackOfferIds: [String] = []
        /// `appAccountToken`
        public var appAccountToken: String?
        /// `appTransactionId`
        public var appTransactionId: String?

        /// Makes renewal info with the members that all have.
        public init(originalTransactionId: String, productId: String, autoRenewProductId: String) {
            self.originalTransactionId = originalTransactionId
            self.productId = productId
            self.autoRenewProductId = autoRenewProductId
        }
    }

    /// The purchase of the app itself (`AppTransaction`).
    public struct AppTransaction: Hashable, Sendable {
        /// `appTransactionId`
        public var appTransactionId: String
        /// `applicationVersion`
        public var applicationVersion: String = "42"
        /// `versionExternalIdentifier`
        public var versionExternalIdentifier: Int64 = 880_000_042
        /// `originalPurchaseDate`
        public var originalPurchaseDate: Date
        /// `originalApplicationVersion`
        public var originalApplicationVersion: String = "1.0"
        /// `originalPlatform`
        public var originalPlatform: String = "iOS"
        /// `preorderDate`
        public var preorderDate: Date?

        /// Makes an app transaction.
        public init(appTransactionId: String, originalPurchaseDate: Date) {
            self.appTransactionId = appTransactionId
            self.originalPurchaseDate = originalPurchaseDate
        }
    }
}

extension AppleSimulator {
    package func payload(_ transaction: Transaction, at date: Date) -> JSONMembers {
        var members = JSONMembers()
        members.add("transactionId", transaction.transactionId)
        members.add("originalTransactionId", transaction.originalTransactionId)
        members.add("previousOriginalTransactionId", transaction.previousOriginalTransactionId)
        members.add("webOrderLineItemId", transaction.webOrderLineItemId)
        members.add("bundleId", bundleId)
        members.add("productId", transaction.productId)
        members.add("subscriptionGroupIdentifier", transaction.subscriptionGroupIdentifier)
        members.add("purchaseDate", transaction.purchaseDate.millisecondsSince1970)
        members.add(
            "originalPurchaseDate",
            (transaction.originalPurchaseDate ?? transaction.purchaseDate).millisecondsSince1970
        )
        members.add("expiresDate", transaction.expiresDate?.millisecondsSince1970)
        members.add("quantity", transaction.quantity)
        members.add("type", transaction.type)
        members.add("appAccountToken", transaction.appAccountToken)
        members.add("inAppOwnershipType", transaction.inAppOwnershipType)
        members.add("isUpgraded", transaction.isUpgraded)
        members.add("signedDate", date.millisecondsSince1970)
        members.add("revocationReason", transaction.revocationReason)
        members.add("revocationDate", transaction.revocationDate?.millisecondsSince1970)
        members.add("revocationType", transaction.revocationType)
        members.add("revocationPercentage", transaction.revocationPercentage)
        members.add("offerType", transaction.offerType)
        members.add("offerIdentifier", transaction.offerIdentifier)
        members.add("offerDiscountType", transaction.offerDiscountType)
        members.add("offerPeriod", transaction.offerPeriod)
        members.add("environment", environment.rawValue)
        members.add("transactionReason", transaction.transactionReason)
        members.add("storefront", transaction.storefront)
        members.add("storefrontId", transaction.storefrontId)
        members.add("price", transaction.price)
        members.add("currency", transaction.currency)
        members.add("appTransactionId", transaction.appTransactionId)
        return members
    }

    package func payload(_ renewalInfo: RenewalInfo, at date: Date) -> JSONMembers {
        var members = JSONMembers()
        members.add("originalTransactionId", renewalInfo.originalTransactionId)
        members.add("autoRenewProductId", renewalInfo.autoRenewProductId)
        members.add("productId", renewalInfo.productId)
        members.add("autoRenewStatus", renewalInfo.autoRenewStatus)
        members.add("isInBillingRetryPeriod", renewalInfo.isInBillingRetryPeriod)
        members.add("expirationIntent", renewalInfo.expirationIntent)
        members.add("priceIncreaseStatus", renewalInfo.priceIncreaseStatus)
        members.add("gracePeriodExpiresDate", renewalInfo.gracePeriodExpiresDate?.millisecondsSince1970)
        members.add("offerType", renewalInfo.offerType)
        members.add("offerIdentifier", renewalInfo.offerIdentifier)
        members.add("offerDiscountType", renewalInfo.offerDiscountType)
        members.add("offerPeriod", renewalInfo.offerPeriod)
        members.add("signedDate", date.millisecondsSince1970)
        members.add("environment", environment.rawValue)
        members.add("recentSubscriptionStartDate", renewalInfo.recentSubscriptionStartDate?.millisecondsSince1970)
        members.add("renewalDate", renewalInfo.renewalDate?.millisecondsSince1970)
        members.add("renewalPrice", renewalInfo.renewalPrice)
        members.add("currency", renewalInfo.currency)
        if !renewalInfo.eligibleWinBackOfferIds.isEmpty {
            members.append(
                "eligibleWinBackOfferIds",
                .array(renewalInfo.eligibleWinBackOfferIds.map(JSONText.string))
            )
        }
        members.add("appAccountToken", renewalInfo.appAccountToken)
        members.add("appTransactionId", renewalInfo.appTransactionId)
        return members
    }

    package func payload(_ appTransaction: AppTransaction, at date: Date) -> JSONMembers {
        var members = JSONMembers()
        members.add("receiptType", environment.rawValue)
        if environment == .production { members.add("appAppleId", appAppleId) }
        members.add("bundleId", bundleId)
        members.add("applicationVersion", appTransaction.applicationVersion)
        members.add("versionExternalIdentifier", appTransaction.versionExternalIdentifier)
        members.add("receiptCreationDate", date.millisecondsSince1970)
        members.add("originalPurchaseDate", appTransaction.originalPurchaseDate.millisecondsSince1970)
        members.add("originalApplicationVersion", appTransaction.originalApplicationVersion)
        members.add("preorderDate", appTransaction.preorderDate?.millisecondsSince1970)
        members.add("appTransactionId", appTransaction.appTransactionId)
        members.add("originalPlatform", appTransaction.originalPlatform)
        return members
    }
}
