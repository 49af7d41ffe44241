public import FoundationEssentials
public import LifecycleEvents
import WireJSON

/// A notification as Apple signs it (App Store Server Notifications V2, `responseBodyV2DecodedPayload`), with the data
/// inside it proven as well.
public struct AppleNotification: Sendable, Hashable {
    /// The decoded JWS payload, byte for byte as signed.
    public let payload: [UInt8]
    let isSigned: Bool
    let ownAnomalies: [String]

    /// The type of the notification.
    public let type: NotificationType
    /// The subtype.
    public let subtype: Subtype?
    /// Identifies the notification, through all its retries.
    public let notificationUUID: String
    /// The version of the format.
    public let version: String?
    /// When Apple signed this.
    public let signedDate: Date
    /// Its contents.
    public internal(set) var content: Content

    /// `notificationType`
    public struct NotificationType: OpenValue {
        /// Apple's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// A subscription began, or began again.
        public static let subscribed: NotificationType = "SUBSCRIBED"
        /// A subscription renewed.
        public static let didRenew: NotificationType = "DID_RENEW"
        /// A renewal failed.
        public static let didFailToRenew: NotificationType = "DID_FAIL_TO_RENEW"
        /// The grace period ended without payment.
        public static let gracePeriodExpired: NotificationType = "GRACE_PERIOD_EXPIRED"
        /// A subscription expired.
        public static let expired: NotificationType = "EXPIRED"
        /// Automatic renewal was turned on or off.
        public static let didChangeRenewalStatus: NotificationType = "DID_CHANGE_RENEWAL_STATUS"
        /// Another product was chosen.
        public static let didChangeRenewalPref: NotificationType = "DID_CHANGE_RENEWAL_PREF"
        /// An offer was redeemed.
        public static let offerRedeemed: NotificationType = "OFFER_REDEEMED"
        /// A price increase was announced or agreed to.
        public static let priceIncrease: NotificationType = "PRICE_INCREASE"
        /// The developer changed a price.
        public static let priceChange: NotificationType = "PRICE_CHANGE"
        /// The developer changed descriptions.
        public static let metadataUpdate: NotificationType = "METADATA_UPDATE"
        /// The developer migrated a subscription.
        public static let migration: NotificationType = "MIGRATION"
        /// Something was bought that does not renew.
        public static let oneTimeCharge: NotificationType = "ONE_TIME_CHARGE"
        /// Money went back.
        public static let refund: NotificationType = "REFUND"
        /// A refund was declined.
        public static let refundDeclined: NotificationType = "REFUND_DECLINED"
        /// A refund was undone.
        public static let refundReversed: NotificationType = "REFUND_REVERSED"
        /// A customer asked for a refund.
        public static let consumptionRequest: NotificationType = "CONSUMPTION_REQUEST"
        /// Family Sharing ended.
        public static let revoke: NotificationType = "REVOKE"
        /// A renewal date moved.
        public static let renewalExtended: NotificationType = "RENEWAL_EXTENDED"
        /// A mass extension ended, or failed for one subscription.
        public static let renewalExtension: NotificationType = "RENEWAL_EXTENSION"
        /// An external purchase token needs reporting.
        public static let externalPurchaseToken: NotificationType = "EXTERNAL_PURCHASE_TOKEN"
        /// A parent withdrew consent.
        public static let rescindConsent: NotificationType = "RESCIND_CONSENT"
        /// The developer asked for a test.
        public static let test: NotificationType = "TEST"
    }

    /// `subtype`
    public struct Subtype: OpenValue {
        /// Apple's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// First purchase in the group.
        public static let initialBuy: Subtype = "INITIAL_BUY"
        /// Purchase after a lapse.
        public static let resubscribe: Subtype = "RESUBSCRIBE"
        /// Renewal after failed attempts.
        public static let billingRecovery: Subtype = "BILLING_RECOVERY"
        /// Failed with a grace period.
        public static let gracePeriod: Subtype = "GRACE_PERIOD"
        /// Ended because renewal was off.
        public static let voluntary: Subtype = "VOLUNTARY"
        /// Ended because no charge succeeded.
        public static let billingRetry: Subtype = "BILLING_RETRY"
        /// Ended because a price increase was not agreed to.
        public static let priceIncrease: Subtype = "PRICE_INCREASE"
        /// Ended because the product was not for sale.
        public static let productNotForSale: Subtype = "PRODUCT_NOT_FOR_SALE"
        /// Renewal was turned off.
        public static let autoRenewDisabled: Subtype = "AUTO_RENEW_DISABLED"
        /// Renewal was turned on.
        public static let autoRenewEnabled: Subtype = "AUTO_RENEW_ENABLED"
        /// A change in effect now.
        public static let upgrade: Subtype = "UPGRADE"
        /// A change in effect from the next renewal.
        public static let downgrade: Subtype = "DOWNGRADE"
        /// Not answered yet.
        public static let pending: Subtype = "PENDING"
        /// Agreed to, or needing no consent.
        public static let accepted: Subtype = "ACCEPTED"
        /// The end of a mass extension.
        public static let summary: Subtype = "SUMMARY"
        /// An extension that failed.
        public static let failure: Subtype = "FAILURE"
        /// A token that was not reported.
        public static let unreported: Subtype = "UNREPORTED"
        /// A token that was made.
        public static let created: Subtype = "CREATED"
        /// A token that still lives.
        public static let activeTokenReminder: Subtype = "ACTIVE_TOKEN_REMINDER"
    }

    /// The one object that a notification carries.
    @nonexhaustive
    public enum Content: Sendable, Hashable {
        /// `data`
        /// Indirect, because every copy of a notification would copy its content.
        indirect case data(PurchaseData)
        /// `summary`
        case summary(ExtensionSummary)
        /// `externalPurchaseToken`
        case externalPurchaseToken(ExternalPurchaseToken)
        /// `appData`
        case appData(AppData)
    }

    /// The state of one purchase when the notification was signed.
    public struct PurchaseData: Sendable, Hashable {
        /// Apple's world that it lives in.
        public let environment: AppleEnvironment
        /// The App Store's id of the app; absent in Sandbox.
        public let appAppleID: Int64?
        /// The app.
        public let bundleID: String
        /// The version of the app.
        public let bundleVersion: String?
        /// The state of the subscription.
        public let status: Status?
        /// Why the customer wants their money back.
        public let consumptionRequestReason: String?
        /// The transaction, proven like the notification.
        public internal(set) var transaction: AppleTransaction?
        /// The renewal info, proven like the notification.
        public internal(set) var renewalInfo: AppleRenewalInfo?
    }

    /// `data.status`
    public struct Status: OpenCode {
        /// Apple's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }
        /// Active.
        public static let active: Status = 1
        /// Expired.
        public static let expired: Status = 2
        /// In billing retry, without access.
        public static let billingRetry: Status = 3
        /// In a grace period, with access.
        public static let gracePeriod: Status = 4
        /// Revoked.
        public static let revoked: Status = 5

        /// True if the customer has access.
        var givesAccess: Bool { self == .active || self == .gracePeriod }
    }

    /// The outcome of a mass extension of renewal dates.
    public struct ExtensionSummary: Sendable, Hashable {
        /// Apple's world that it concerns.
        public let environment: AppleEnvironment
        /// The App Store's id of the app; absent in Sandbox.
        public let appAppleID: Int64?
        /// The app.
        public let bundleID: String
        /// The product.
        public let productID: String?
        /// The request, a UUID of the developer's.
        public let requestIdentifier: String?
        /// The storefronts' countries, ISO 3166-1 alpha-3; none means all.
        public let storefrontCountryCodes: [String]
        /// How many were extended.
        public let succeededCount: Int64?
        /// How many were not.
        public let failedCount: Int64?
    }

    /// A token for purchases outside the App Store.
    public struct ExternalPurchaseToken: Sendable, Hashable {
        /// Identifies the token.
        public let externalPurchaseID: String
        /// When it was made.
        public let tokenCreationDate: Date?
        /// The App Store's id of the app.
        public let appAppleID: Int64?
        /// The app.
        public let bundleID: String
        /// `ACQUISITION`, `SERVICES`, or a value that Apple adds.
        public let tokenType: String?
        /// When it stops.
        public let tokenExpirationDate: Date?

        /// Apple's world that it lives in. The object names none; the id of a Sandbox token begins with `SANDBOX`.
        public var environment: AppleEnvironment { Self.environment(of: externalPurchaseID) }

        static func environment(of externalPurchaseID: String) -> AppleEnvironment {
            externalPurchaseID.utf8.starts(with: "SANDBOX".utf8) ? .sandbox : .production
        }
    }

    /// Something about the app on one Apple Account.
    public struct AppData: Sendable, Hashable {
        /// Apple's world that it lives in.
        public let environment: AppleEnvironment
        /// The App Store's id of the app; absent in Sandbox.
        public let appAppleID: Int64?
        /// The app.
        public let bundleID: String
        /// The app transaction, proven like the notification.
        public internal(set) var appTransaction: AppleAppTransaction?
    }
}

/// The parts of a notification that name an app.
protocol NamingApp {
    var environment: AppleEnvironment { get }
    var appAppleID: Int64? { get }
    var bundleID: String { get }
}

extension AppleNotification.PurchaseData: NamingApp {}
extension AppleNotification.ExtensionSummary: NamingApp {}
extension AppleNotification.ExternalPurchaseToken: NamingApp {}
extension AppleNotification.AppData: NamingApp {}

/// Where the JWS inside a notification stand in its payload.
struct NestedData: Sendable {
    var transaction: Range<Int>?
    var renewalInfo: Range<Int>?
    var appTransaction: Range<Int>?
}

extension AppleNotification {
    /// Reads everything but the JWS inside, whose places it gives.
    static func read(
        payload: [UInt8],
        root: JSONValue,
        isSigned: Bool
    ) throws(JSONError) -> (notification: AppleNotification, nested: NestedData) {
        var reader = try ObjectReader(root)
        let type = NotificationType(rawValue: try reader.identifier("notificationType"))
        let subtype: Subtype? = try reader.optionalOpen("subtype")
        let uuid = try reader.identifier("notificationUUID")
        let version = reader.descriptiveString("version")
        let signedDate = Date(millisecondsSince1970: try reader.date("signedDate", isSigned: isSigned))

        let carriers = Self.carriers.filter { reader.optionalValue($0) != nil }
        guard carriers.count == 1, let carrier = carriers.first else {
            throw root.error(carriers.isEmpty ? .missing : .duplicateMember)
        }
        var body = try ObjectReader(try reader.value(carrier))
        var nested = NestedData()
        let content: Content
        switch carrier {
        case "data":
            nested.transaction = try body.optionalJWS("signedTransactionInfo")
            nested.renewalInfo = try body.optionalJWS("signedRenewalInfo")
            content = .data(
                PurchaseData(
                    environment: AppleEnvironment(rawValue: try body.string("environment")),
                    appAppleID: try body.optionalInt64("appAppleId"),
                    bundleID: try body.identifier("bundleId"),
                    bundleVersion: body.descriptiveString("bundleVersion"),
                    status: try body.optionalCode("status"),
                    consumptionRequestReason: body.descriptiveString("consumptionRequestReason")
                )
            )
        case "summary":
            content = .summary(
                ExtensionSummary(
                    environment: AppleEnvironment(rawValue: try body.string("environment")),
                    appAppleID: try body.optionalInt64("appAppleId"),
                    bundleID: try body.identifier("bundleId"),
                    productID: try body.optionalString("productId"),
                    requestIdentifier: try body.optionalString("requestIdentifier"),
                    storefrontCountryCodes: body.descriptiveStrings("storefrontCountryCodes") ?? [],
                    succeededCount: try body.optionalInt64("succeededCount"),
                    failedCount: try body.optionalInt64("failedCount")
                )
            )
        case "externalPurchaseToken":
            content = .externalPurchaseToken(
                ExternalPurchaseToken(
                    externalPurchaseID: try body.identifier("externalPurchaseId"),
                    tokenCreationDate: try body.optionalDate("tokenCreationDate", isSigned: isSigned),
                    appAppleID: try body.optionalInt64("appAppleId"),
                    bundleID: try body.identifier("bundleId"),
                    tokenType: body.descriptiveString("tokenType"),
                    tokenExpirationDate: try body.optionalDate("tokenExpirationDate", isSigned: isSigned)
                )
            )
        default:
            nested.appTransaction = try body.optionalJWS("signedAppTransactionInfo")
            content = .appData(
                AppData(
                    environment: AppleEnvironment(rawValue: try body.string("environment")),
                    appAppleID: try body.optionalInt64("appAppleId"),
                    bundleID: try body.identifier("bundleId")
                )
            )
        }
        let notification = AppleNotification(
            payload: payload,
            isSigned: isSigned,
            ownAnomalies: reader.anomalies + body.anomalies,
            type: type,
            subtype: subtype,
            notificationUUID: uuid,
            version: version,
            signedDate: signedDate,
            content: content
        )
        return (notification, nested)
    }

    /// True if a payload is of another kind than a notification. Nothing else that Apple signs has a member of these names; one
    /// that has any is a notification, whatever is wrong with it.
    static func isOfAnotherKind(_ root: JSONValue) -> Bool {
        guard let reader = try? ObjectReader(root) else { return false }
        return (["notificationType", "notificationUUID"] + carriers).allSatisfy { reader.optionalValue($0) == nil }
    }

    /// The app and the environment that a notification names that cannot be read otherwise.
    static func app(in root: JSONValue) -> (bundleID: String, environment: String)? {
        guard let reader = try? ObjectReader(root) else { return nil }
        for carrier in carriers {
            guard let value = reader.optionalValue(carrier), let body = try? ObjectReader(value),
                let bundleID = try? body.string("bundleId")
            else { continue }
            if let environment = try? body.string("environment") { return (bundleID, environment) }
            guard let token = try? body.string("externalPurchaseId") else { continue }
            return (bundleID, ExternalPurchaseToken.environment(of: token).rawValue)
        }
        return nil
    }

    private static let carriers: [MemberName] = ["data", "summary", "externalPurchaseToken", "appData"]

    /// Paths of descriptive members of an unexpected type, here and in the data inside.
    package var anomalies: [String] {
        switch content {
        case .data(let data): ownAnomalies + (data.transaction?.anomalies ?? []) + (data.renewalInfo?.anomalies ?? [])
        case .appData(let data): ownAnomalies + (data.appTransaction?.anomalies ?? [])
        case .summary, .externalPurchaseToken: ownAnomalies
        }
    }
}

extension ObjectReader {
    /// Where a JWS stands in the document. It is base64url and needs no escapes; one that has some is not a JWS.
    fileprivate func optionalJWS(_ name: MemberName) throws(JSONError) -> Range<Int>? {
        guard let value = optionalValue(name) else { return nil }
        guard value.kind == .string else {
            throw value.error(.unexpectedKind(expected: .string, found: value.kind))
        }
        guard let range = value.rawUTF8Range else { throw value.error(.invalidEscape) }
        return range
    }
}
