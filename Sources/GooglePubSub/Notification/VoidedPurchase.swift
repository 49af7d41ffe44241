public import FoundationEssentials
public import LifecycleEvents
import WireJSON

/// One row of the Play Developer API's list of voided purchases (`purchases.voidedpurchases.list`).
///
/// The list holds purchases that were taken back together with access: a refund without revocation is not on it. A row
/// is named by its order, since the renewals of a subscription share one token.
public struct VoidedPurchase: Sendable, Hashable {
    /// The purchase.
    public let purchaseToken: PurchaseToken
    /// The order whose money went back.
    public let orderID: String
    /// When it was bought.
    public let purchaseTime: Date?
    /// When it was voided.
    public let voidedTime: Date?
    /// The party that voided it.
    public let source: Source?
    /// Why.
    public let reason: Reason?
    /// How many of the items went back; absent when all that were left did.
    public let quantity: Int64?

    /// `voidedSource`
    public struct Source: OpenNumber {
        /// Google's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }
        /// The customer.
        public static let user: Source = 0
        /// The developer.
        public static let developer: Source = 1
        /// Google.
        public static let google: Source = 2
    }

    /// `voidedReason`
    public struct Reason: OpenNumber {
        /// Google's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }
        /// Some other reason.
        public static let other: Reason = 0
        /// The customer changed their mind.
        public static let remorse: Reason = 1
        /// It did not arrive.
        public static let notReceived: Reason = 2
        /// It does not work.
        public static let defective: Reason = 3
        /// It was bought by accident.
        public static let accidental: Reason = 4
        /// Another person paid with the customer's means.
        public static let fraud: Reason = 5
        /// A person close to the customer did.
        public static let friendlyFraud: Reason = 6
        /// The customer's bank took it back.
        public static let chargeback: Reason = 7
        /// The developer did not acknowledge it in time.
        public static let unacknowledged: Reason = 8
    }
}

extension VoidedPurchase {
    /// Why the money went back, in our words.
    var refundReason: LifecycleEvent.Refund.Reason {
        if source == .developer { return .developer }
        switch reason {
        case .notReceived?, .defective?: return .appIssue
        case nil: return .unknown
        default: return .other
        }
    }
}

extension VoidedPurchase {
    init(reading reader: ObjectReader) throws(JSONError) {
        purchaseToken = PurchaseToken(try reader.identifier("purchaseToken"))
        orderID = try reader.identifier("orderId")
        purchaseTime = try reader.optionalMillisecondTime("purchaseTimeMillis")
        voidedTime = try reader.optionalMillisecondTime("voidedTimeMillis")
        source = try reader.optionalNumber("voidedSource")
        reason = try reader.optionalNumber("voidedReason")
        quantity = try reader.optionalQuantity("voidedQuantity")
    }
}

extension PlayAnswer {
    /// The rows of a page of the list of voided purchases, as ``PlayDeveloperAPI/voidedPurchases(packageName:_:pageToken:)``
    /// gives it; none of an answer that is no page.
    ///
    /// - Throws: `DeliveryError` with `malformed`, marked authentic, if a row cannot be read.
    public func voidedPurchases() throws(DeliveryError) -> [VoidedPurchase] {
        try voidedPurchaseRows().map { $0.purchase }
    }

    /// The rows of a page, each with its octets.
    func voidedPurchaseRows() throws(DeliveryError) -> [(purchase: VoidedPurchase, octets: [UInt8])] {
        guard outcome == .found else { return [] }
        do throws(JSONError) {
            let rows = try ObjectReader(parsing: body).optionalArray("voidedPurchases").map(Array.init) ?? []
            return try rows.map { (row) throws(JSONError) in
                (purchase: try VoidedPurchase(reading: ObjectReader(row)), octets: Array(row.rawBytes))
            }
        } catch {
            throw DeliveryError(.malformed, "voided purchases: \(error)", isAuthentic: true, underlying: error)
        }
    }

    /// The row of a page that is about an order, byte for byte.
    func voidedPurchaseRow(token: PurchaseToken, orderID: String) -> [UInt8]? {
        guard let reader = try? ObjectReader(parsing: body), let rows = try? reader.optionalArray("voidedPurchases")
        else { return nil }
        return rows.first { row in
            guard let reader = try? ObjectReader(row), let found = try? VoidedPurchase(reading: reader) else {
                return false
            }
            return found.purchaseToken == token && found.orderID == orderID
        }.map { Array($0.rawBytes) }
    }
}
