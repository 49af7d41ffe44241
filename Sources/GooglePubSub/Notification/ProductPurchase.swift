public import FoundationEssentials
public import LifecycleEvents
package import WireJSON

/// A purchase of one-time products as the Play Developer API gives it (`ProductPurchaseV2`).
public struct ProductPurchase: Sendable, Hashable {
    /// The resource, byte for byte as received.
    public let payload: [UInt8]
    let anomalies: [String]

    /// How the purchase stands.
    public let state: State
    /// The order, if there is one.
    public let orderID: String?
    /// When it was paid; absent until then.
    public let completionTime: Date?
    /// If the developer has acknowledged it.
    public let acknowledgementState: AcknowledgementState?
    /// The account that the app named at purchase.
    public let obfuscatedAccountID: String?
    /// The profile that the app named at purchase.
    public let obfuscatedProfileID: String?
    /// The billing country, ISO 3166-1 alpha-2.
    public let regionCode: String?
    /// True if a licence tester bought it.
    public let isTestPurchase: Bool
    /// The purchased products.
    public let lineItems: [LineItem]

    /// `purchaseStateContext.purchaseState`
    public struct State: OpenValue {
        /// Google's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Paid.
        public static let purchased: State = "PURCHASED"
        /// Taken back, or never paid.
        public static let cancelled: State = "CANCELLED"
        /// Payment is outstanding.
        public static let pending: State = "PENDING"
    }

    /// One product of the purchase.
    public struct LineItem: Sendable, Hashable {
        /// The product.
        public let productID: String
        /// The purchase option.
        public let purchaseOptionID: String?
        /// The offer.
        public let offerID: String?
        /// The developer's tags of the purchase option and the offer.
        public let offerTags: [String]
        /// How many were bought; absent means one.
        public let quantity: Int64?
        /// How many of them were not given back.
        public let refundableQuantity: Int64?
        /// If it was used up.
        public let consumptionState: ConsumptionState?
        /// True if it is rented.
        public let isRental: Bool
        /// When a pre-ordered product is released.
        public let preorderReleaseTime: Date?
        /// True if it was pre-ordered.
        public let isPreorder: Bool
    }

    /// `consumptionState`
    public struct ConsumptionState: OpenValue {
        /// Google's name.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// Not used up, which something that is owned for good never is.
        public static let yetToBeConsumed: ConsumptionState = "CONSUMPTION_STATE_YET_TO_BE_CONSUMED"
        /// Used up, and can be bought again.
        public static let consumed: ConsumptionState = "CONSUMPTION_STATE_CONSUMED"
    }
}

extension ProductPurchase {
    /// Decodes a resource.
    ///
    /// - Throws: `JSONError` if a time, a quantity or an identifier is of the wrong type, or the state or the products
    ///   are missing.
    package init(payload: [UInt8]) throws(JSONError) {
        var reader = try ObjectReader(parsing: payload)
        self.payload = payload
        state = State(rawValue: try ObjectReader(reader.value("purchaseStateContext")).identifier("purchaseState"))
        orderID = try reader.optionalIdentifier("orderId")
        completionTime = try reader.optionalTime("purchaseCompletionTime")
        acknowledgementState = try reader.optionalOpen("acknowledgementState")
        obfuscatedAccountID = try reader.optionalIdentifier("obfuscatedExternalAccountId")
        obfuscatedProfileID = try reader.optionalIdentifier("obfuscatedExternalProfileId")
        regionCode = reader.descriptiveCountry("regionCode")
        isTestPurchase = reader.isPresent("testPurchaseContext")
        let items = try reader.array("productLineItem")
        guard (1...Limits.lineItems).contains(items.count) else {
            throw try reader.value("productLineItem").error(.integerOutOfRange)
        }
        var lineItems: [LineItem] = []
        for item in items { lineItems.append(try LineItem(ObjectReader(item))) }
        self.lineItems = PlayAddOns.inOrder(lineItems) { ($0.productID, $0.purchaseOptionID) }
        anomalies = reader.anomalies
    }
}

extension ProductPurchase.LineItem {
    fileprivate init(_ reader: ObjectReader) throws(JSONError) {
        productID = try reader.identifier("productId")
        var offer = try reader.optionalReader("productOfferDetails")
        purchaseOptionID = try offer?.optionalIdentifier("purchaseOptionId")
        offerID = try offer?.optionalIdentifier("offerId")
        offerTags = offer?.descriptiveStrings("offerTags") ?? []
        quantity = try offer?.optionalQuantity("quantity")
        refundableQuantity = try offer?.optionalQuantity("refundableQuantity")
        consumptionState = try offer?.optionalOpen("consumptionState")
        isRental = offer?.isPresent("rentOfferDetails") ?? false
        let preorder = try offer?.optionalReader("preorderOfferDetails")
        isPreorder = preorder != nil
        preorderReleaseTime = try preorder?.optionalTime("preorderReleaseTime")
    }
}

extension ObjectReader {
    /// A count of things: never negative.
    func optionalQuantity(_ name: MemberName) throws(JSONError) -> Int64? {
        guard let quantity = try optionalWireInteger(name) else { return nil }
        guard quantity >= 0, quantity.isExactInJSON else { throw try value(name).error(.integerOutOfRange) }
        return quantity
    }
}
