public import FoundationEssentials
public import LifecycleEvents
package import WireJSON

/// A real-time developer notification, the message that Google Play publishes (RTDN reference,
/// `DeveloperNotification`).
///
/// It says that something happened to a purchase. Only the Play Developer API says what is true now. ``payload`` holds
/// the received bytes, with members that this version does not know.
public struct DeveloperNotification: Sendable, Hashable {
    /// The message's data, byte for byte.
    public let payload: [UInt8]

    /// The version of the format.
    public let version: String?
    /// The app.
    public let packageName: String
    /// When it happened.
    @EventTime public private(set) var eventTime: Date
    /// Its contents.
    public let content: Content

    /// The content of a notification: one of five bodies, or something newer.
    @nonexhaustive
    public enum Content: Sendable, Hashable {
        /// Something happened to a subscription.
        case subscription(SubscriptionHint)
        /// Something happened to a one-time product.
        case oneTimeProduct(OneTimeProductHint)
        /// Money went back.
        case voidedPurchase(VoidedPurchaseHint)
        /// A customer's bank asks, and Google wants the developer's view within a day.
        case pendingRefundReview(PendingRefundReview)
        /// Sent from the Play Console.
        case test(version: String?)
        /// None of the known bodies, or several at once; the names of those that are there.
        case unknown([String])
    }

    /// `subscriptionNotification`
    public struct SubscriptionHint: Sendable, Hashable {
        /// The version of the body.
        public let version: String?
        /// The type of the notification.
        public let type: SubscriptionNotificationType
        /// The purchase.
        public let purchaseToken: PurchaseToken
        /// The product, which Google has stopped documenting and leaves out for purchases of several items.
        public let subscriptionID: String?
    }

    /// `oneTimeProductNotification`
    public struct OneTimeProductHint: Sendable, Hashable {
        /// The version of the body.
        public let version: String?
        /// The type of the notification.
        public let type: OneTimeProductNotificationType
        /// The purchase.
        public let purchaseToken: PurchaseToken
        /// The product.
        public let sku: String?
    }

    /// `voidedPurchaseNotification`
    public struct VoidedPurchaseHint: Sendable, Hashable {
        /// The purchase.
        public let purchaseToken: PurchaseToken
        /// The order whose money went back: for a subscription perhaps one long past.
        public let orderID: String
        /// Subscription or one-time product.
        public let productType: ProductType?
        /// How much went back.
        public let refundType: RefundType?
    }

    /// `pendingRefundReviewNotification`
    public struct PendingRefundReview: Sendable, Hashable {
        /// The version of the body.
        public let version: String?
        /// The token that `orders.reviewrefund` needs with the answer.
        public let pendingRefundToken: PurchaseToken?
        /// The order in dispute.
        public let orderID: String
        /// Why; 7 is a chargeback.
        public let refundReason: Int64?
        /// The account that the app named at purchase.
        public let obfuscatedAccountID: String?
        /// The profile that the app named at purchase.
        public let obfuscatedProfileID: String?
    }

    /// `productType`
    public struct ProductType: OpenNumber {
        /// Google's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }
        /// A subscription.
        public static let subscription: ProductType = 1
        /// A one-time product.
        public static let oneTime: ProductType = 2
    }

    /// `refundType`
    public struct RefundType: OpenNumber {
        /// Google's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }
        /// All that was left of it.
        public static let full: RefundType = 1
        /// Some of the items of one order.
        public static let quantityBasedPartial: RefundType = 2
    }
}

/// `subscriptionNotification.notificationType`
public struct SubscriptionNotificationType: OpenNumber {
    /// Google's number.
    public let rawValue: Int64
    /// Keeps a number as it is.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Back from account hold, or resumed from a pause.
    public static let recovered: SubscriptionNotificationType = 1
    /// Charged for another period.
    public static let renewed: SubscriptionNotificationType = 2
    /// Will not renew, by anyone's decision.
    public static let canceled: SubscriptionNotificationType = 3
    /// Bought, under a new token: also plan changes, top-ups and repurchases.
    public static let purchased: SubscriptionNotificationType = 4
    /// On account hold.
    public static let onHold: SubscriptionNotificationType = 5
    /// In its grace period.
    public static let inGracePeriod: SubscriptionNotificationType = 6
    /// Will renew after all.
    public static let restarted: SubscriptionNotificationType = 7
    /// A price increase was agreed to; 19 says it as well.
    public static let priceChangeConfirmed: SubscriptionNotificationType = 8
    /// The developer moved the renewal date.
    public static let deferred: SubscriptionNotificationType = 9
    /// Paused.
    public static let paused: SubscriptionNotificationType = 10
    /// A pause was planned, moved or dropped.
    public static let pauseScheduleChanged: SubscriptionNotificationType = 11
    /// Taken away before its end.
    public static let revoked: SubscriptionNotificationType = 12
    /// Ended.
    public static let expired: SubscriptionNotificationType = 13
    /// Items were added, removed or replaced.
    public static let itemsChanged: SubscriptionNotificationType = 17
    /// Canceled while payments of a commitment remain.
    public static let cancellationScheduled: SubscriptionNotificationType = 18
    /// A price change was announced, agreed to or dropped.
    public static let priceChangeUpdated: SubscriptionNotificationType = 19
    /// A pending purchase came to nothing.
    public static let pendingPurchaseCanceled: SubscriptionNotificationType = 20
    /// Consent to a step-up in price is wanted, or was given.
    public static let priceStepUpConsentUpdated: SubscriptionNotificationType = 22
}

/// `oneTimeProductNotification.notificationType`
public struct OneTimeProductNotificationType: OpenNumber {
    /// Google's number.
    public let rawValue: Int64
    /// Keeps a number as it is.
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Paid.
    public static let purchased: OneTimeProductNotificationType = 1
    /// A pending purchase came to nothing, or the purchase was taken back.
    public static let canceled: OneTimeProductNotificationType = 2
}

extension DeveloperNotification {
    private static let bodies: [MemberName] = [
        "subscriptionNotification", "oneTimeProductNotification", "voidedPurchaseNotification",
        "pendingRefundReviewNotification", "testNotification",
    ]

    /// Decodes a message's data, however long it is.
    ///
    /// - Throws: `DeliveryError` with `malformed` if the JSON is not JSON, or a name, a token or a time is absent
    ///   or of the wrong type.
    public init(payload: [UInt8]) throws(DeliveryError) {
        do throws(JSONError) {
            try self.init(payload: payload, root: JSONDocument(parsing: payload, limits: .ofAnyLength).root)
        } catch {
            throw DeliveryError(.malformed, "notification: \(error)", underlying: error)
        }
    }

    package init(payload: [UInt8], root: JSONValue) throws(JSONError) {
        let reader = try ObjectReader(root)
        self.payload = payload
        version = try reader.optionalString("version")
        packageName = try reader.identifier("packageName")
        guard let eventTime = try reader.optionalMillisecondTime("eventTimeMillis") else {
            throw JSONError(.missing, path: "eventTimeMillis", offset: root.offset)
        }
        _eventTime = EventTime(wrappedValue: eventTime)
        content = try Content(reader)
    }

    /// The purchase that the notification is about, if it names one by its token.
    public var purchaseToken: PurchaseToken? {
        switch content {
        case .subscription(let hint): hint.purchaseToken
        case .oneTimeProduct(let hint): hint.purchaseToken
        case .voidedPurchase(let hint): hint.purchaseToken
        case .pendingRefundReview, .test, .unknown: nil
        }
    }

    /// The member that the notification's body stands under.
    package var bodyName: String {
        switch content {
        case .subscription: "subscriptionNotification"
        case .oneTimeProduct: "oneTimeProductNotification"
        case .voidedPurchase: "voidedPurchaseNotification"
        case .pendingRefundReview: "pendingRefundReviewNotification"
        case .test: "testNotification"
        case .unknown(let names): names.isEmpty ? "DeveloperNotification" : names.joined(separator: "+")
        }
    }

    /// The number that distinguishes notifications of one body, verbatim.
    package var typeNumber: String? {
        switch content {
        case .subscription(let hint): String(hint.type.rawValue)
        case .oneTimeProduct(let hint): String(hint.type.rawValue)
        case .voidedPurchase(let hint): hint.refundType.map { String($0.rawValue) }
        case .pendingRefundReview(let review): review.refundReason.map { String($0) }
        case .test, .unknown: nil
        }
    }
}

extension DeveloperNotification.Content {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        let known: Set<String> = ["version", "packageName", "eventTimeMillis"]
        var names: [String] = []
        for (name, value) in reader.object.members where !value.isNull && !known.contains(name) { names.append(name) }
        func only(_ name: MemberName) -> JSONValue? { names.count == 1 ? reader.optionalValue(name) : nil }
        // Another member next to the body is an addition to the format and does not matter.
        let bodies = names.filter { name in DeveloperNotification.isBody(name) }
        if bodies.count == 1 { names = bodies }
        if let body = only("subscriptionNotification") {
            self = .subscription(try .init(ObjectReader(body)))
        } else if let body = only("oneTimeProductNotification") {
            self = .oneTimeProduct(try .init(ObjectReader(body)))
        } else if let body = only("voidedPurchaseNotification") {
            self = .voidedPurchase(try .init(ObjectReader(body)))
        } else if let body = only("pendingRefundReviewNotification") {
            self = .pendingRefundReview(try .init(ObjectReader(body)))
        } else if let body = only("testNotification") {
            self = .test(version: try ObjectReader(body).optionalString("version"))
        } else {
            self = .unknown(bodies.isEmpty ? names.sorted() : bodies.sorted())
        }
    }
}

extension DeveloperNotification {
    fileprivate static func isBody(_ name: String) -> Bool { bodies.contains { $0.text == name } }
}

extension DeveloperNotification.SubscriptionHint {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        version = try reader.optionalString("version")
        type = try reader.requiredNumber("notificationType")
        purchaseToken = try reader.purchaseToken()
        subscriptionID = try reader.optionalString("subscriptionId")
    }
}

extension DeveloperNotification.OneTimeProductHint {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        version = try reader.optionalString("version")
        type = try reader.requiredNumber("notificationType")
        purchaseToken = try reader.purchaseToken()
        sku = try reader.optionalString("sku")
    }
}

extension DeveloperNotification.VoidedPurchaseHint {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        purchaseToken = try reader.purchaseToken()
        orderID = try reader.identifier("orderId")
        productType = try reader.optionalNumber("productType")
        refundType = try reader.optionalNumber("refundType")
    }
}

extension DeveloperNotification.PendingRefundReview {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        version = try reader.optionalString("version")
        pendingRefundToken = try reader.optionalToken("pendingRefundToken")
        orderID = try reader.identifier("orderId")
        refundReason = try reader.optionalWireInteger("refundReason")
        obfuscatedAccountID = try reader.optionalIdentifier("obfuscatedAccountId")
        obfuscatedProfileID = try reader.optionalIdentifier("obfuscatedProfileId")
    }
}

extension ObjectReader {
    fileprivate func requiredNumber<Value: OpenNumber>(_ name: MemberName) throws(JSONError) -> Value {
        guard let number: Value = try optionalNumber(name) else { throw try value(name).error(.missing) }
        return number
    }

    fileprivate func purchaseToken() throws(JSONError) -> PurchaseToken {
        let token = PurchaseToken(try identifier("purchaseToken"))
        guard token.value.utf8.count <= Limits.purchaseTokenBytes else {
            throw try value("purchaseToken").error(.tooLarge(limit: Limits.purchaseTokenBytes))
        }
        return token
    }
}

extension DeveloperNotification: Codable, CodedByPayload, Redacted {
    /// Body and number, and the length of the payload.
    public var description: String {
        "\(bodyName)\(typeNumber.map { "/\($0)" } ?? "") (\(payload.count) bytes)"
    }
}
