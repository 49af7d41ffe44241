public import FoundationEssentials
public import LifecycleEvents
package import WireJSON

/// Apple's statement about the next renewal (App Store Server API, `JWSRenewalInfoDecodedPayload`).
///
/// It names neither app nor transaction; inside a notification it is tied to both by its lineage.
public struct AppleRenewalInfo: Sendable, Hashable {
    /// The decoded JWS payload, byte for byte as signed.
    public let payload: [UInt8]
    let isSigned: Bool
    let anomalies: [String]

    /// The lineage.
    public let originalTransactionID: String
    /// The current product.
    public let productID: String?
    /// The product that renews next.
    public let autoRenewProductID: String?
    /// If it renews.
    public let autoRenewStatus: AutoRenewStatus?
    /// True if the App Store is trying to charge again.
    public let isInBillingRetryPeriod: Bool?
    /// Why the subscription expired; only once it has.
    public let expirationIntent: ExpirationIntent?
    /// The customer's consent to a price increase; absent if there is none.
    public let priceIncreaseStatus: PriceIncreaseStatus?
    /// When the grace period ends.
    public let gracePeriodExpiresDate: Date?
    /// The kind of offer on the next renewal.
    public let offerType: AppleTransaction.OfferType?
    /// The offer on the next renewal.
    public let offerIdentifier: String?
    /// How the offer on the next renewal is paid.
    public let offerDiscountType: AppleTransaction.OfferDiscountType?
    /// How long the offer on the next renewal lasts, as an ISO 8601 duration.
    public let offerPeriod: String?
    /// The price of the next renewal.
    public let renewalPrice: Money?
    /// When the next renewal is due.
    public let renewalDate: Date?
    /// When the current stretch began; lapses of under 60 days do not end one.
    public let recentSubscriptionStartDate: Date?
    /// When Apple signed this.
    public let signedDate: Date
    /// Apple's world that it lives in.
    public let environment: AppleEnvironment
    /// The win-back offers that the customer may take, the best first.
    public let eligibleWinBackOfferIDs: [String]
    /// The app's value for the next renewal, in lower case; absent for the nil UUID, which says that it set none.
    public let appAccountToken: String?
    /// Identifies the Apple Account in this app.
    public let appTransactionID: String?
    /// The billing of the next renewal: up front or by month.
    public let renewalBillingPlanType: AppleTransaction.BillingPlanType?
    /// The commitment after the current one.
    public let commitment: Commitment?
    /// The Advanced Commerce API's part.
    public let advancedCommerce: AppleAdvancedCommerceInfo?

    /// `autoRenewStatus`
    public struct AutoRenewStatus: OpenCode {
        /// Apple's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }
        /// It will not renew.
        public static let off: AutoRenewStatus = 0
        /// It will renew.
        public static let on: AutoRenewStatus = 1
    }

    /// `expirationIntent`
    public struct ExpirationIntent: OpenCode {
        /// Apple's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }
        /// The customer cancelled.
        public static let customerCanceled: ExpirationIntent = 1
        /// The charge failed.
        public static let billingError: ExpirationIntent = 2
        /// The customer did not agree to a price increase.
        public static let priceIncreaseDeclined: ExpirationIntent = 3
        /// The product was not available.
        public static let productUnavailable: ExpirationIntent = 4
        /// Another reason.
        public static let other: ExpirationIntent = 5
    }

    /// `priceIncreaseStatus`
    public struct PriceIncreaseStatus: OpenCode {
        /// Apple's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }
        /// Not answered.
        public static let pending: PriceIncreaseStatus = 0
        /// Agreed to, or needing no consent.
        public static let accepted: PriceIncreaseStatus = 1
    }

    /// The commitment after the current one (`commitmentInfo`).
    public struct Commitment: Sendable, Hashable {
        /// The product.
        public let autoRenewProductID: String?
        /// On if there will be one.
        public let autoRenewStatus: AutoRenewStatus?
        /// How it is billed.
        public let billingPlanType: AppleTransaction.BillingPlanType?
        /// When it begins.
        public let renewalDate: Date?
        /// Its price.
        public let renewalPrice: Money?
    }
}

extension AppleRenewalInfo {
    package init(payload: [UInt8], root: JSONValue, isSigned: Bool) throws(JSONError) {
        var reader = try ObjectReader(root)
        // A transaction names its lineage too, and so does the request for a retention message (Retention Messaging API,
        // `DecodedRealtimeRequestBody`); neither must pass for renewal info.
        for name in ["transactionId", "requestIdentifier"] as [MemberName] {
            guard let foreign = reader.optionalValue(name) else { continue }
            throw foreign.error(.unexpectedKind(expected: .null, found: foreign.kind))
        }
        originalTransactionID = try reader.identifier("originalTransactionId")
        productID = try reader.optionalString("productId")
        autoRenewProductID = try reader.optionalString("autoRenewProductId")
        autoRenewStatus = try reader.optionalCode("autoRenewStatus")
        isInBillingRetryPeriod = try reader.optionalBool("isInBillingRetryPeriod")
        expirationIntent = try reader.optionalCode("expirationIntent")
        priceIncreaseStatus = try reader.optionalCode("priceIncreaseStatus")
        gracePeriodExpiresDate = try reader.optionalDate("gracePeriodExpiresDate", isSigned: isSigned)
        offerType = try reader.optionalCode("offerType")
        offerIdentifier = try reader.optionalString("offerIdentifier")
        offerDiscountType = try reader.optionalOpen("offerDiscountType")
        offerPeriod = reader.descriptiveString("offerPeriod")
        let currency = try reader.optionalString("currency")
        renewalPrice = try reader.optionalMilliunits("renewalPrice", currency: currency)
        renewalDate = try reader.optionalDate("renewalDate", isSigned: isSigned)
        recentSubscriptionStartDate = try reader.optionalDate("recentSubscriptionStartDate", isSigned: isSigned)
        signedDate = Date(millisecondsSince1970: try reader.date("signedDate", isSigned: isSigned))
        environment = AppleEnvironment(rawValue: try reader.string("environment"))
        eligibleWinBackOfferIDs = reader.descriptiveStrings("eligibleWinBackOfferIds") ?? []
        appAccountToken = try reader.appAccountToken()
        appTransactionID = try reader.optionalString("appTransactionId")
        renewalBillingPlanType = reader.descriptiveOpen("renewalBillingPlanType")
        if let value = reader.optionalValue("commitmentInfo") {
            let info = try ObjectReader(value)
            commitment = Commitment(
                autoRenewProductID: try info.optionalString("commitmentAutoRenewProductId"),
                autoRenewStatus: try info.optionalCode("commitmentAutoRenewStatus"),
                billingPlanType: try info.optionalOpen("commitmentRenewalBillingPlanType"),
                renewalDate: try info.optionalDate("commitmentRenewalDate", isSigned: isSigned),
                renewalPrice: try info.optionalMilliunits("commitmentRenewalPrice", currency: currency)
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
        self.payload = payload
        self.isSigned = isSigned
        anomalies = reader.anomalies
    }
}
