public import FoundationEssentials

extension Fact {
    /// The end of a period. It cuts the period that it names, and earlier ones only if the purchase ended with it.
    public struct PeriodEnd: Hashable, Sendable, Codable {
        /// The start of the period that ended.
        @EventTime public var start: Date
        /// The transaction of the period that ended, where stated.
        public var transaction: TransactionID?
        /// When access ended.
        @EventTime public var at: Date
        /// Why.
        public var reason: LifecycleEvent.Expired.Reason
        /// The charge that is outstanding, where access ended for want of it alone: once it is paid, the end is no more.
        public var outstandingCharge: TransactionID?
        /// The product that ended alone, of several that run together; nil if all of the period ended.
        public var item: Optional<ProductID>  // In full: as in `NormalizedEvent`.
        /// The product that the end was stated of, if the store sells several in one order and does not say which of them ended.
        public var product: Optional<ProductID>
        /// True if the purchase ended with the period: no earlier period of the lineage gives access beyond ``at``. A later
        /// period is not meant.
        public var endsPurchase: Bool

        /// Makes the fact.
        public init(
            start: Date,
            transaction: TransactionID?,
            at: Date,
            reason: LifecycleEvent.Expired.Reason,
            outstandingCharge: TransactionID? = nil,
            item: ProductID? = nil,
            product: ProductID? = nil,
            endsPurchase: Bool = false
        ) {
            self.start = start
            self.transaction = transaction
            self.at = at
            self.reason = reason
            self.outstandingCharge = outstandingCharge
            self.item = item
            self.product = product
            self.endsPurchase = endsPurchase
        }

        private enum CodingKeys: String, CodingKey {
            case start, transaction, at, reason, item, product
            case outstandingCharge = "outstanding_charge"
            case endsPurchase = "ends_purchase"
        }

        /// Reads the fact; an absent `ends_purchase` is false.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            _start = try container.decode(EventTime.self, forKey: .start)
            transaction = try container.decodeIfPresent(TransactionID.self, forKey: .transaction)
            _at = try container.decode(EventTime.self, forKey: .at)
            reason = try container.decode(LifecycleEvent.Expired.Reason.self, forKey: .reason)
            outstandingCharge = try container.decodeIfPresent(TransactionID.self, forKey: .outstandingCharge)
            item = try container.decodeIfPresent(ProductID.self, forKey: .item)
            product = try container.decodeIfPresent(ProductID.self, forKey: .product)
            endsPurchase = try container.decodeIfPresent(Bool.self, forKey: .endsPurchase) ?? false
        }

        /// Writes the fact; `ends_purchase` is left out where it is false.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(_start, forKey: .start)
            try container.encodeIfPresent(transaction, forKey: .transaction)
            try container.encode(_at, forKey: .at)
            try container.encode(reason, forKey: .reason)
            try container.encodeIfPresent(outstandingCharge, forKey: .outstandingCharge)
            try container.encodeIfPresent(item, forKey: .item)
            try container.encodeIfPresent(product, forKey: .product)
            if endsPurchase { try container.encode(true, forKey: .endsPurchase) }
        }
    }
}
