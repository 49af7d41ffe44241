public import FoundationEssentials

/// One of several items that a transaction pays for, with its own part of the price and of the refunds.
public struct PurchasedItem: Hashable, Sendable, Codable {
    /// The product: for the App Store the developer's SKU (Advanced Commerce API, `items`).
    public var product: ProductID
    // `Optional` in full: as in `NormalizedEvent`.

    /// Its price, where stated.
    public var price: Optional<Money>
    /// Which part of a period it is for, if it is not for a whole one.
    public var part: Optional<Part>
    /// When it was taken out of the purchase, if it was.
    @OptionalEventTime public var removedAt: Date?
    /// The refunds of its price; absent if there are none.
    public var refunds: Optional<[Refund]>

    /// Makes an item.
    public init(
        product: ProductID,
        price: Money? = nil,
        part: Part? = nil,
        removedAt: Date? = nil,
        refunds: [Refund]? = nil
    ) {
        self.product = product
        self.price = price
        self.part = part
        self.removedAt = removedAt
        self.refunds = refunds
    }

    private enum CodingKeys: String, CodingKey {
        case product, price, part, refunds
        case removedAt = "removed_at"
    }

    /// A part of a period, such as the days up to a date of billing, by its price and that of the whole. Discounts and taxes are in
    /// neither of them.
    public struct Part: Hashable, Sendable, Codable {
        /// The price of the part.
        public var price: Money
        /// The price of a whole period.
        public var whole: Money

        /// Makes a part.
        public init(price: Money, whole: Money) {
            self.price = price
            self.whole = whole
        }
    }

    /// Money that went back for an item.
    public struct Refund: Hashable, Sendable, Codable {
        /// How much, where stated.
        public var amount: Optional<Money>
        /// When, where stated.
        @OptionalEventTime public var at: Date?
        /// Why, in the store's own word.
        public var reason: Optional<String>

        /// Makes a refund.
        public init(amount: Money? = nil, at: Date? = nil, reason: String? = nil) {
            self.amount = amount
            self.at = at
            self.reason = reason
        }

        private enum CodingKeys: String, CodingKey { case amount, at, reason }
    }
}
