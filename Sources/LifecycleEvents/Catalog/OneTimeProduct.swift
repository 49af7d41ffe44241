extension ProductCatalog {
    /// A product that is bought once. Only the App Store states its type.
    ///
    /// Google Play and Stripe report the purchase, and not if the product is used up, owned for good, or rented.
    public struct OneTimeProduct: Hashable, Sendable, Codable {
        /// The store's product id; with a colon and the purchase option where the options of a product differ, such as
        /// `film:rent`.
        public var id: ProductID
        /// The kind of product.
        public var type: LifecycleEvent.OneTimePurchase.ProductType
        /// How long it gives access, for a rental or a pass.
        public var duration: CalendarDuration?

        /// Describes a product.
        ///
        /// - Parameters:
        ///   - id: the store's product id, with `:option` where the purchase options of a product differ.
        ///   - type: its type; `nonRenewing` for a rental and for a pass.
        ///   - duration: how long it gives access from the purchase on; without one a stated end counts.
        public init(
            id: ProductID,
            type: LifecycleEvent.OneTimePurchase.ProductType,
            duration: CalendarDuration? = nil
        ) {
            self.id = id
            self.type = type
            self.duration = duration
        }

        private enum CodingKeys: String, CodingKey, CaseIterable { case id, type, duration }

        /// Reads a product.
        ///
        /// - Throws: `DecodingError.dataCorrupted` for an unknown member. A misspelled `duration` would give access for good.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.closedContainer(keyedBy: CodingKeys.self)
            id = try container.decode(ProductID.self, forKey: .id)
            type = try container.decode(LifecycleEvent.OneTimePurchase.ProductType.self, forKey: .type)
            duration = try container.decodeIfPresent(CalendarDuration.self, forKey: .duration)
        }
    }

    /// The product of a one-time purchase: by its purchase option, else by its id alone, else by ``unlisted``.
    ///
    /// - Parameters:
    ///   - id: the store's identifier of the product.
    ///   - option: the purchase option, if the store names one.
    public func oneTimeProduct(_ id: ProductID, option: String? = nil) -> OneTimeProduct? {
        option.flatMap { oneTimeProducts[id.under($0)] } ?? oneTimeProducts[id]
            ?? unlisted.map { OneTimeProduct(id: id, type: $0) }
    }
}
