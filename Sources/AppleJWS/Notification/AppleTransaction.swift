public import FoundationEssentials
public import LifecycleEvents
package import WireJSON

/// A transaction as Apple signs it (App Store Server API, `JWSTransactionDecodedPayload`).
///
/// Members that identify a purchase are required; all others are as optional as Apple documents them. ``payload`` holds the
/// proven bytes, with members that this version does not know.
public struct AppleTransaction: Sendable, Hashable {
    /// The decoded JWS payload, byte for byte as signed.
    public let payload: [UInt8]
    let isSigned: Bool
    let anomalies: [String]

    /// Identifies this purchase or renewal.
    public let transactionID: String
    /// Identifies the first purchase of the lineage.
    public let originalTransactionID: String
    /// The lineage before a migration.
    public let previousOriginalTransactionID: String?
    /// Identifies the period across devices, for renewals.
    public let webOrderLineItemID: String?
    /// Identifies the Apple Account in this app.
    public let appTransactionID: String?
    /// The app's value at purchase, in lower case; absent for the nil UUID, which says that it set none.
    public let appAccountToken: String?
    /// The app.
    public let bundleID: String
    /// The product.
    public let productID: String
    /// The subscription group.
    public let subscriptionGroupIdentifier: String?

    /// When the purchase or renewal was charged: the start of its period.
    public let purchaseDate: Date
    /// When the first purchase of the lineage was made.
    public let originalPurchaseDate: Date?
    /// When the period ends; auto-renewable subscriptions only.
    public let expiresDate: Date?
    /// When Apple refunded it or took it out of Family Sharing.
    public let revocationDate: Date?
    /// When Apple signed this.
    public let signedDate: Date

    /// The price that the customer paid.
    public let price: Money?
    /// How many were bought.
    public let quantity: Int64?

    /// The type of the product.
    public let type: ProductType?
    /// The ownership: bought or shared.
    public let inAppOwnershipType: OwnershipType?
    /// The cause: the customer or the renewal.
    public let transactionReason: Reason?
    /// The kind of offer that the period was sold under.
    public let offerType: OfferType?
    /// The offer.
    public let offerIdentifier: String?
    /// How the offer is paid.
    public let offerDiscountType: OfferDiscountType?
    /// How long the offer lasts, as an ISO 8601 duration.
    public let offerPeriod: String?
    /// Apple's world that it lives in.
    public let environment: AppleEnvironment
    /// The storefront's country, ISO 3166-1 alpha-3.
    public let storefront: String?
    /// The storefront's id.
    public let storefrontID: String?

    /// Set on the transaction that another of the group replaced, with its unused part refunded.
    public let isUpgraded: Bool
    /// Why Apple refunded it.
    public let revocationReason: RevocationReason?
    /// How Apple refunded it.
    public let revocationType: RevocationType?
    /// How much of it Apple refunded, in thousandths of a percent, 0…100 000.
    public let revocationPercentage: Int64?
    /// The billing: up front or by month.
    public let billingPlanType: BillingPlanType?
    /// The commitment that monthly bills belong to.
    public let commitment: Commitment?
    /// The Advanced Commerce API's part.
    public let advancedCommerce: AppleAdvancedCommerceInfo?

    /// `type`
    public struct ProductType: OpenValue {
        /// Apple's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Renews by itself.
        public static let autoRenewable: ProductType = "Auto-Renewable Subscription"
        /// Owned for good.
        public static let nonConsumable: ProductType = "Non-Consumable"
        /// Used up.
        public static let consumable: ProductType = "Consumable"
        /// Access for a time that the developer decides.
        public static let nonRenewing: ProductType = "Non-Renewing Subscription"
    }

    /// `inAppOwnershipType`
    public struct OwnershipType: OpenValue {
        /// Apple's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Bought by this customer.
        public static let purchased: OwnershipType = "PURCHASED"
        /// Shared by a family member.
        public static let familyShared: OwnershipType = "FAMILY_SHARED"
    }

    /// `transactionReason`
    public struct Reason: OpenValue {
        /// Apple's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The customer.
        public static let purchase: Reason = "PURCHASE"
        /// The App Store, at renewal.
        public static let renewal: Reason = "RENEWAL"
    }

    /// `offerType`
    public struct OfferType: OpenCode {
        /// Apple's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }
        /// Introductory offer.
        public static let introductory: OfferType = 1
        /// Promotional offer.
        public static let promotional: OfferType = 2
        /// Offer code.
        public static let code: OfferType = 3
        /// Win-back offer.
        public static let winBack: OfferType = 4
    }

    /// `offerDiscountType`
    public struct OfferDiscountType: OpenValue {
        /// Apple's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Nothing is paid.
        public static let freeTrial: OfferDiscountType = "FREE_TRIAL"
        /// A lower price each period.
        public static let payAsYouGo: OfferDiscountType = "PAY_AS_YOU_GO"
        /// One lower price for the whole offer.
        public static let payUpFront: OfferDiscountType = "PAY_UP_FRONT"
        /// A one-time discount.
        public static let oneTime: OfferDiscountType = "ONE_TIME"
    }

    /// `revocationReason`
    public struct RevocationReason: OpenCode {
        /// Apple's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }
        /// Another reason.
        public static let other: RevocationReason = 0
        /// An actual or perceived issue with the app.
        public static let appIssue: RevocationReason = 1
    }

    /// `revocationType`
    public struct RevocationType: OpenValue {
        /// Apple's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// All of it.
        public static let refundFull: RevocationType = "REFUND_FULL"
        /// The unused part.
        public static let refundProrated: RevocationType = "REFUND_PRORATED"
        /// Family Sharing ended.
        public static let familyRevoke: RevocationType = "FAMILY_REVOKE"
    }

    /// `billingPlanType`
    public struct BillingPlanType: OpenValue {
        /// Apple's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The whole period at once.
        public static let billedUpFront: BillingPlanType = "BILLED_UPFRONT"
        /// By month.
        public static let monthly: BillingPlanType = "MONTHLY"
    }

    /// A commitment of which this transaction is one monthly bill (`commitmentInfo`).
    public struct Commitment: Sendable, Hashable {
        /// Which bill of the commitment this is, from 1.
        public let billingPeriodNumber: Int64?
        /// How many there are.
        public let totalBillingPeriods: Int64?
        /// When the commitment ends.
        public let expiresDate: Date?
        /// The price of the whole commitment.
        public let price: Money?
    }
}

extension AppleTransaction {
    package init(payload: [UInt8], root: JSONValue, isSigned: Bool) throws(JSONError) {
        var reader = try ObjectReader(root)
        // Renewal info names a lineage too; it must not pass for a transaction of it.
        if let foreign = reader.optionalValue("autoRenewStatus") {
            throw foreign.error(.unexpectedKind(expected: .null, found: foreign.kind))
        }
        transactionID = try reader.identifier("transactionId")
        originalTransactionID = try reader.identifier("originalTransactionId")
        previousOriginalTransactionID = try reader.optionalString("previousOriginalTransactionId")
        webOrderLineItemID = try reader.optionalString("webOrderLineItemId")
        appTransactionID = try reader.optionalString("appTransactionId")
        appAccountToken = try reader.appAccountToken()
        bundleID = try reader.identifier("bundleId")
        productID = try reader.identifier("productId")
        subscriptionGroupIdentifier = try reader.optionalString("subscriptionGroupIdentifier")

        purchaseDate = Date(millisecondsSince1970: try reader.date("purchaseDate", isSigned: isSigned))
        originalPurchaseDate = try reader.optionalDate("originalPurchaseDate", isSigned: isSigned)
        expiresDate = try reader.optionalDate("expiresDate", isSigned: isSigned)
        revocationDate = try reader.optionalDate("revocationDate", isSigned: isSigned)
        signedDate = Date(millisecondsSince1970: try reader.date("signedDate", isSigned: isSigned))

        let currency = try reader.optionalString("currency")
        price = try reader.optionalMilliunits("price", currency: currency)
        quantity = try reader.optionalCount("quantity")

        type = try reader.optionalOpen("type")
        inAppOwnershipType = try reader.optionalOpen("inAppOwnershipType")
        transactionReason = try reader.optionalOpen("transactionReason")
        offerType = try reader.optionalCode("offerType")
        offerIdentifier = try reader.optionalString("offerIdentifier")
        offerDiscountType = try reader.optionalOpen("offerDiscountType")
        offerPeriod = reader.descriptiveString("offerPeriod")
        environment = AppleEnvironment(rawValue: try reader.string("environment"))
        storefront = reader.descriptiveString("storefront")
        storefrontID = reader.descriptiveString("storefrontId")

        isUpgraded = try reader.optionalBool("isUpgraded") ?? false
        revocationReason = try reader.optionalCode("revocationReason")
        revocationType = try reader.optionalOpen("revocationType")
        revocationPercentage = try reader.optionalInt64("revocationPercentage")
        if let revocationPercentage, !(0...100_000).contains(revocationPercentage) {
            throw try reader.value("revocationPercentage").error(.integerOutOfRange)
        }
        billingPlanType = reader.descriptiveOpen("billingPlanType")
        if let value = reader.optionalValue("commitmentInfo") {
            let info = try ObjectReader(value)
            commitment = Commitment(
                billingPeriodNumber: try info.optionalCount("billingPeriodNumber"),
                totalBillingPeriods: try info.optionalCount("totalBillingPeriods"),
                expiresDate: try info.optionalDate("commitmentExpiresDate", isSigned: isSigned),
                price: try info.optionalMilliunits("commitmentPrice", currency: currency)
            )
        } else {
            commitment = nil
        }
        advancedCommerce = try AppleAdvancedCommerceInfo(
            optional: "advancedCommerceInfo",
            of: &reader,
            currency: currency,
            isSigned: isSigned
        )
        // A subscription without an end would never stop granting access.
        if type == .autoRenewable, expiresDate == nil {
            throw JSONError(.missing, path: "expiresDate", offset: 0)
        }
        self.payload = payload
        self.isSigned = isSigned
        anomalies = reader.anomalies
    }
}

extension ObjectReader {
    /// The app's value at a purchase, in lower case; the nil UUID says that it set none.
    func appAccountToken() throws(JSONError) -> String? {
        let token = try optionalString("appAccountToken")?.lowercased()
        return token == "00000000-0000-0000-0000-000000000000" || token?.isEmpty == true ? nil : token
    }

    /// A required string that is not empty.
    func identifier(_ name: MemberName) throws(JSONError) -> String {
        let text = try string(name)
        guard !text.isEmpty else { throw try value(name).error(.missing) }
        return text
    }
}
