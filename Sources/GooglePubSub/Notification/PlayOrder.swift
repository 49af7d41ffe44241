public import FoundationEssentials
public import LifecycleEvents
package import WireJSON

/// An order as the Play Developer API gives it (`orders.get`): the only source of the charge, its tax, and its refunds.
public struct PlayOrder: Sendable, Hashable {
    /// The resource, byte for byte as received.
    public let payload: [UInt8]

    /// The order.
    public let orderID: String
    /// The purchase that it belongs to.
    public let purchaseToken: PurchaseToken?
    /// How the order stands.
    public let state: State?
    /// When it was made.
    public let createTime: Date?
    /// The price that the customer paid, tax included.
    public let total: Money?
    /// The tax in it.
    public let tax: Money?
    /// True if the prices of the products include tax; else it is added to them.
    public let isTaxInclusive: Bool
    /// The purchased products.
    public let lineItems: [LineItem]
    /// When it was paid.
    public let processedTime: Date?
    /// The refund of the whole order.
    public let refund: Refund?
    /// Refunds of parts of it.
    public let partialRefunds: [PartialRefund]

    /// `state`
    public struct State: OpenValue {
        /// Google's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Not paid yet.
        public static let pending: State = "PENDING"
        /// Paid.
        public static let processed: State = "PROCESSED"
        /// Never paid.
        public static let canceled: State = "CANCELED"
        /// A refund is under way.
        public static let pendingRefund: State = "PENDING_REFUND"
        /// Some of it went back.
        public static let partiallyRefunded: State = "PARTIALLY_REFUNDED"
        /// All of it went back.
        public static let refunded: State = "REFUNDED"
    }

    /// One item of the order.
    public struct LineItem: Sendable, Hashable {
        /// The product.
        public let productID: String
        /// The price that the customer paid for it, tax included.
        public let total: Money?
        /// The tax in it.
        public let tax: Money?
        /// The period that it paid for. A record for accounting, which later changes do not touch.
        public let servicePeriodStart: Date?
        /// The end of that period.
        public let servicePeriodEnd: Date?
        /// How many were bought.
        public let quantity: Int64?
        /// The purchase option, of a one-time product.
        public let purchaseOptionID: String?
    }

    /// `orderHistory.refundEvent`
    public struct Refund: Sendable, Hashable {
        /// When it went back.
        public let time: Date?
        /// How much went back.
        public let total: Money?
        /// Why.
        public let reason: Reason?

        /// `refundReason`
        public struct Reason: OpenValue {
            /// Google's name.
            public let rawValue: String
            /// Keeps a name as it is.
            public init(rawValue: String) { self.rawValue = rawValue }
            /// Some other reason.
            public static let other: Reason = "OTHER"
            /// The customer's bank took it back.
            public static let chargeback: Reason = "CHARGEBACK"
        }
    }

    /// `orderHistory.partialRefundEvents`
    public struct PartialRefund: Sendable, Hashable {
        /// When it was asked for.
        public let createTime: Date?
        /// When it went back.
        public let processTime: Date?
        /// True if it has gone back yet.
        public let isProcessed: Bool
        /// How much went back.
        public let total: Money?
    }
}

extension PlayOrder {
    /// Decodes a resource.
    ///
    /// - Throws: `JSONError` if a time, an amount or an identifier is of the wrong type.
    package init(payload: [UInt8]) throws(JSONError) {
        let reader = try ObjectReader(parsing: payload)
        self.payload = payload
        orderID = try reader.identifier("orderId")
        purchaseToken = try reader.optionalToken("purchaseToken")
        state = try reader.optionalOpen("state")
        createTime = try reader.optionalTime("createTime")
        total = try reader.optionalMoney("total")
        tax = try reader.optionalMoney("tax")
        isTaxInclusive = try reader.optionalReader("orderDetails")?.optionalBool("taxInclusive") ?? false
        var lineItems: [LineItem] = []
        if let items = try reader.optionalArray("lineItems") {
            for item in items { lineItems.append(try LineItem(ObjectReader(item))) }
        }
        self.lineItems = lineItems
        let history = try reader.optionalReader("orderHistory")
        processedTime = try history?.optionalReader("processedEvent")?.optionalTime("eventTime")
        refund = try history?.optionalReader("refundEvent").map { (event) throws(JSONError) in
            Refund(
                time: try event.optionalTime("eventTime"),
                total: try event.optionalReader("refundDetails")?.optionalMoney("total"),
                reason: try event.optionalOpen("refundReason")
            )
        }
        var partialRefunds: [PartialRefund] = []
        if let events = try history?.optionalArray("partialRefundEvents") {
            for event in events { partialRefunds.append(try PartialRefund(ObjectReader(event))) }
        }
        self.partialRefunds = partialRefunds
    }
}

extension PlayOrder.LineItem {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        productID = try reader.identifier("productId")
        total = try reader.optionalMoney("total")
        tax = try reader.optionalMoney("tax")
        let subscription = try reader.optionalReader("subscriptionDetails")
        servicePeriodStart = try subscription?.optionalTime("servicePeriodStartTime")
        servicePeriodEnd = try subscription?.optionalTime("servicePeriodEndTime")
        let purchase = try reader.optionalReader("oneTimePurchaseDetails")
        quantity = try purchase?.optionalQuantity("quantity")
        purchaseOptionID = try purchase?.optionalString("purchaseOptionId")
    }
}

extension PlayOrder.PartialRefund {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        createTime = try reader.optionalTime("createTime")
        processTime = try reader.optionalTime("processTime")
        isProcessed = try reader.optionalString("state") == "PROCESSED_SUCCESSFULLY"
        total = try reader.optionalReader("refundDetails")?.optionalMoney("total")
    }
}
