public import FoundationEssentials
public import LifecycleEvents
package import WireJSON

/// The members that the Advanced Commerce API adds to a transaction or to renewal info (`advancedCommerceInfo`).
public struct AppleAdvancedCommerceInfo: Sendable, Hashable {
    /// An item of the purchase.
    public struct Item: Sendable, Hashable {
        /// The developer's SKU.
        public let sku: String?
        /// The name that the customer reads.
        public let displayName: String?
        /// The description that the customer reads.
        public let description: String?
        /// Its price.
        public let price: Money?
        /// When it was taken out.
        public let revocationDate: Date?
        /// The offer that it is sold under.
        public let offer: Offer?
        /// Its refunds.
        public let refunds: [Refund]
        /// A price increase under way.
        public let priceIncrease: PriceIncrease?
    }

    /// An offer on an item.
    public struct Offer: Sendable, Hashable {
        /// How long a period lasts, as an ISO 8601 duration.
        public let period: String?
        /// How many periods.
        public let periodCount: Int64?
        /// The price under the offer.
        public let price: Money?
        /// Why it is made: `ACQUISITION`, `WIN_BACK`, `RETENTION`, or a value that Apple adds.
        public let reason: String?
    }

    /// Money that went back for an item.
    public struct Refund: Sendable, Hashable {
        /// How much.
        public let amount: Money?
        /// When.
        public let date: Date?
        /// Why, in Apple's words.
        public let reason: String?
        /// `FULL`, `PRORATED`, `CUSTOM`, or a value that Apple adds.
        public let type: String?
    }

    /// A price increase of an item.
    public struct PriceIncrease: Sendable, Hashable {
        /// The SKUs that depend on it.
        public let dependentSKUs: [String]
        /// The new price.
        public let price: Money?
        /// `SCHEDULED`, `PENDING`, `ACCEPTED`, or a value that Apple adds.
        public let status: String?
    }

    /// The request that brought it about, a UUID of the developer's.
    public let requestReferenceID: String?
    /// Ties renewal info to the state that a later change request is based on.
    public let consistencyToken: String?
    /// The name that the customer reads.
    public let displayName: String?
    /// The description that the customer reads.
    public let description: String?
    /// How long a period lasts, as an ISO 8601 duration.
    public let period: String?
    /// Apple's tax code.
    public let taxCode: String?
    /// The tax rate, as the decimal text that Apple writes.
    public let taxRate: String?
    /// The tax inside the price.
    public let estimatedTax: Money?
    /// The price without tax.
    public let taxExclusivePrice: Money?
    /// The purchased items.
    public let items: [Item]
}

extension AppleAdvancedCommerceInfo {
    package init?(
        optional name: MemberName,
        of parent: inout ObjectReader,
        currency: String?,
        isSigned: Bool
    ) throws(JSONError) {
        guard let value = parent.optionalValue(name) else { return nil }
        var reader = try ObjectReader(value)
        requestReferenceID = try reader.optionalString("requestReferenceId")
        consistencyToken = try reader.optionalString("consistencyToken")
        if let descriptors = reader.optionalValue("descriptors") {
            var described = try ObjectReader(descriptors)
            displayName = described.descriptiveString("displayName")
            description = described.descriptiveString("description")
        } else {
            displayName = nil
            description = nil
        }
        period = reader.descriptiveString("period")
        taxCode = reader.descriptiveString("taxCode")
        taxRate = reader.descriptiveString("taxRate")
        estimatedTax = try reader.optionalMilliunits("estimatedTax", currency: currency)
        taxExclusivePrice = try reader.optionalMilliunits("taxExclusivePrice", currency: currency)
        var items: [Item] = []
        if let elements = try reader.optionalArray("items") {
            for element in elements {
                items.append(try Item(element, currency: currency, isSigned: isSigned))
            }
        }
        self.items = items
        for path in reader.anomalies { parent.note(path) }
    }
}

extension AppleAdvancedCommerceInfo.Item {
    fileprivate init(_ value: JSONValue, currency: String?, isSigned: Bool) throws(JSONError) {
        var reader = try ObjectReader(value)
        sku = try reader.optionalString("SKU")
        displayName = reader.descriptiveString("displayName")
        description = reader.descriptiveString("description")
        price = try reader.optionalMilliunits("price", currency: currency)
        revocationDate = try reader.optionalDate("revocationDate", isSigned: isSigned)
        if let value = reader.optionalValue("offer") {
            var offered = try ObjectReader(value)
            offer = AppleAdvancedCommerceInfo.Offer(
                period: offered.descriptiveString("period"),
                periodCount: try offered.optionalInt64("periodCount"),
                price: try offered.optionalMilliunits("price", currency: currency),
                reason: offered.descriptiveString("reason")
            )
        } else {
            offer = nil
        }
        var refunds: [AppleAdvancedCommerceInfo.Refund] = []
        if let elements = try reader.optionalArray("refunds") {
            for element in elements {
                var refunded = try ObjectReader(element)
                refunds.append(
                    AppleAdvancedCommerceInfo.Refund(
                        amount: try refunded.optionalMilliunits("refundAmount", currency: currency),
                        date: try refunded.optionalDate("refundDate", isSigned: isSigned),
                        reason: refunded.descriptiveString("refundReason"),
                        type: refunded.descriptiveString("refundType")
                    )
                )
            }
        }
        self.refunds = refunds
        if let value = reader.optionalValue("priceIncreaseInfo") {
            var increased = try ObjectReader(value)
            priceIncrease = AppleAdvancedCommerceInfo.PriceIncrease(
                dependentSKUs: increased.descriptiveStrings("dependentSKUs") ?? [],
                price: try increased.optionalMilliunits("price", currency: currency),
                status: increased.descriptiveString("status")
            )
        } else {
            priceIncrease = nil
        }
    }
}
