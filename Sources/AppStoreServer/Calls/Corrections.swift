public import AppleJWS
public import FoundationEssentials
import HTTPTransport
public import LifecycleEvents
import WireJSON

/// Your answer to Apple's question about a refund
/// (<https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information>).
public struct ConsumptionInformation: Hashable, Sendable {
    /// The delivery of a purchase by your app, from an open set.
    public struct Delivery: OpenValue {
        /// Apple's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// It works.
        public static let delivered: Delivery = "DELIVERED"
        /// It was not delivered because of a quality issue.
        public static let qualityIssue: Delivery = "UNDELIVERED_QUALITY_ISSUE"
        /// Something else was delivered.
        public static let wrongItem: Delivery = "UNDELIVERED_WRONG_ITEM"
        /// A server was out of order.
        public static let serverOutage: Delivery = "UNDELIVERED_SERVER_OUTAGE"
        /// It was not delivered for another reason.
        public static let other: Delivery = "UNDELIVERED_OTHER"
    }

    /// Your wish to Apple, from an open set.
    public struct RefundPreference: OpenValue {
        /// Apple's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Refuse.
        public static let decline: RefundPreference = "DECLINE"
        /// Refund everything.
        public static let grantFull: RefundPreference = "GRANT_FULL"
        /// Refund the unused part.
        public static let grantProrated: RefundPreference = "GRANT_PRORATED"
    }

    /// The delivery by your app.
    public var delivery: Delivery
    /// True if the customer could try a sample before buying.
    public var sampleContentProvided: Bool
    /// How much was used, in thousandths of a percent: 0 to 100 000. Apple refuses it for auto-renewable subscriptions.
    public var consumptionMillipercent: Int?
    /// Your wish to Apple.
    public var refundPreference: RefundPreference?

    /// Describes the use of a purchase.
    public init(
        _ delivery: Delivery,
        sampleContentProvided: Bool,
        consumptionMillipercent: Int? = nil,
        refundPreference: RefundPreference? = nil
    ) {
        self.delivery = delivery
        self.sampleContentProvided = sampleContentProvided
        self.consumptionMillipercent = consumptionMillipercent
        self.refundPreference = refundPreference
    }
}

/// Why subscriptions are prolonged (`extendReasonCode`).
public struct ExtensionReason: OpenCode {
    /// Apple's number.
    public let rawValue: Int64
    /// Keeps a number as it is.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Not said.
    public static let undeclared: ExtensionReason = 0
    /// The customer was dissatisfied.
    public static let customerSatisfaction: ExtensionReason = 1
    /// Another reason.
    public static let other: ExtensionReason = 2
    /// Your service was out of order.
    public static let serviceIssue: ExtensionReason = 3
}

/// The outcome of an extension.
public struct RenewalExtension: Hashable, Sendable {
    /// True if the renewal date was moved.
    public var succeeded: Bool
    /// The new renewal date.
    public var renewsAt: Date?
}

/// How far an extension for all subscribers of a product has come.
public struct MassExtensionStatus: Hashable, Sendable {
    /// True if Apple has finished.
    public var isComplete: Bool
    /// When it finished.
    public var completedAt: Date?
    /// How many subscriptions were prolonged.
    public var succeeded: Int64?
    /// How many were not.
    public var failed: Int64?
}

// Each of these changes something at Apple. None is ever sent without your call.
extension AppStoreServerClient {
    /// Answers a `CONSUMPTION_REQUEST`. Apple waits twelve hours for it.
    ///
    /// - Parameters:
    ///   - information: the answers to Apple's questions.
    ///   - transaction: the transaction that the request names.
    ///   - customerConsented: that the customer agreed to sharing this with Apple. Without consent nothing is sent.
    ///   - environment: the server that sent the request.
    /// - Throws: ``AppStoreServerError``; `invalidRequest` without consent, for a share outside 0 to 100 000, for a purchase by
    ///   Family Sharing and for Advanced Commerce.
    public func sendConsumption(
        _ information: ConsumptionInformation,
        ofTransaction transaction: String,
        customerConsented: Bool,
        in environment: Environment
    ) async throws(AppStoreServerError) {
        struct Body: Encodable {
            var customerConsented = true
            var deliveryStatus: String
            var sampleContentProvided: Bool
            var consumptionPercentage: Int?
            var refundPreference: String?
        }
        guard customerConsented else {
            throw AppStoreServerError(.invalidRequest, "consumption information needs the customer's consent")
        }
        guard information.consumptionMillipercent.map({ (0...100_000).contains($0) }) ?? true else {
            throw AppStoreServerError(.invalidRequest, "consumption must be 0 to 100000 thousandths of a percent")
        }
        let body = Body(
            deliveryStatus: information.delivery.rawValue,
            sampleContentProvided: information.sampleContentProvided,
            consumptionPercentage: information.consumptionMillipercent,
            refundPreference: information.refundPreference?.rawValue
        )
        let call = Call(
            endpoint: .consumption,
            method: .put,
            path: ["v2", "transactions", "consumption", try Self.identifier(transaction)],
            body: try Self.body(body)
        )
        _ = try await ask(call, in: environment)
    }

    /// Moves the renewal date of one subscription, at most twice within 365 days
    /// (<https://developer.apple.com/documentation/appstoreserverapi/extend-a-subscription-renewal-date>).
    ///
    /// - Parameters:
    ///   - transaction: the original transaction of the subscription.
    ///   - days: 1 to 90.
    ///   - reason: the reason that Apple records.
    ///   - requestIdentifier: yours, at most 128 bytes. Keep it, and use it again when you repeat the call.
    ///   - environment: the server that knows the subscription.
    /// - Throws: ``AppStoreServerError``; `forbidden` if Apple's rules do not allow it.
    public func extendRenewalDate(
        ofOriginalTransaction transaction: String,
        days: Int,
        reason: ExtensionReason,
        requestIdentifier: String,
        in environment: Environment
    ) async throws(AppStoreServerError) -> RenewalExtension {
        let call = Call(
            endpoint: .extend,
            method: .put,
            path: ["v1", "subscriptions", "extend", try Self.identifier(transaction)],
            body: try Self.body(
                ExtensionRequest(
                    extendByDays: try Self.checked(days: days),
                    extendReasonCode: reason.rawValue,
                    requestIdentifier: try Self.checked(requestIdentifier: requestIdentifier)
                )
            )
        )
        let answer = try await answer(to: call, in: environment)
        return try Self.reading { () throws(JSONError) in
            RenewalExtension(
                succeeded: try answer.reader.optionalBool("success") ?? false,
                renewsAt: try answer.reader.optionalInt64("effectiveDate").map(Self.date)
            )
        }
    }

    /// Moves the renewal dates of all subscribers of a product. It takes Apple hours or days.
    ///
    /// - Throws: ``AppStoreServerError``. The same `requestIdentifier` again begins nothing new.
    public func extendRenewalDates(
        ofProduct product: String,
        days: Int,
        reason: ExtensionReason,
        storefronts: [String] = [],
        requestIdentifier: String,
        in environment: Environment
    ) async throws(AppStoreServerError) {
        let call = Call(
            endpoint: .massExtension,
            method: .post,
            path: ["v1", "subscriptions", "extend", "mass"],
            body: try Self.body(
                ExtensionRequest(
                    extendByDays: try Self.checked(days: days),
                    extendReasonCode: reason.rawValue,
                    requestIdentifier: try Self.checked(requestIdentifier: requestIdentifier),
                    productId: product,
                    storefrontCountryCodes: storefronts.isEmpty ? nil : storefronts
                )
            )
        )
        _ = try await ask(call, in: environment)
    }

    /// How far ``extendRenewalDates(ofProduct:days:reason:storefronts:requestIdentifier:in:)`` has come.
    ///
    /// - Throws: ``AppStoreServerError``.
    public func massExtensionStatus(
        ofProduct product: String,
        requestIdentifier: String,
        in environment: Environment
    ) async throws(AppStoreServerError) -> MassExtensionStatus {
        let call = Call(
            endpoint: .massExtensionStatus,
            path: [
                "v1", "subscriptions", "extend", "mass", .init(product),
                .init(try Self.checked(requestIdentifier: requestIdentifier)),
            ]
        )
        let answer = try await answer(to: call, in: environment)
        return try Self.reading { () throws(JSONError) in
            MassExtensionStatus(
                isComplete: try answer.reader.optionalBool("complete") ?? false,
                completedAt: try answer.reader.optionalInt64("completeDate").map(Self.date),
                succeeded: try answer.reader.optionalInt64("succeededCount"),
                failed: try answer.reader.optionalInt64("failedCount")
            )
        }
    }

    /// Binds a purchase to a user of yours (<https://developer.apple.com/documentation/appstoreserverapi/set-app-account-token>).
    ///
    /// Apple's statements from then on name that user. Statements that were signed before keep the old one.
    ///
    /// - Throws: ``AppStoreServerError``; number 4000187 where the transaction is not an original one, 4000185 for Family Sharing.
    public func setAppAccountToken(
        _ token: UUID,
        ofOriginalTransaction transaction: String,
        in environment: Environment
    ) async throws(AppStoreServerError) {
        struct Body: Encodable { var appAccountToken: String }
        let call = Call(
            endpoint: .accountToken,
            method: .put,
            path: ["v1", "transactions", try Self.identifier(transaction), "appAccountToken"],
            body: try Self.body(Body(appAccountToken: token.uuidString.lowercased()))
        )
        _ = try await ask(call, in: environment)
    }

    /// Marks a transaction as finished, so that StoreKit does not hand it out again.
    ///
    /// - Throws: ``AppStoreServerError``.
    public func finish(
        transaction: String,
        in environment: Environment
    ) async throws(AppStoreServerError) {
        let call = Call(
            endpoint: .finish,
            method: .post,
            path: ["v1", "transactions", try Self.identifier(transaction), "finish"]
        )
        _ = try await ask(call, in: environment)
    }

    private static func checked(days: Int) throws(AppStoreServerError) -> Int {
        guard (1...90).contains(days) else {
            throw AppStoreServerError(.invalidRequest, "an extension must be 1 to 90 days, not \(days)")
        }
        return days
    }

    private static func checked(requestIdentifier id: String) throws(AppStoreServerError) -> String {
        guard (1...128).contains(id.utf8.count) else {
            throw AppStoreServerError(
                .invalidRequest,
                "a request identifier must have 1 to 128 bytes, not \(id.utf8.count)"
            )
        }
        return id
    }

    private static func date(_ milliseconds: Int64) -> Date {
        Date(millisecondsSince1970: min(max(milliseconds, 0), 253_402_300_799_999))
    }
}

private struct ExtensionRequest: Encodable {
    var extendByDays: Int
    var extendReasonCode: Int64
    var requestIdentifier: String
    var productId: String?
    var storefrontCountryCodes: [String]?
}
