/// The host's products: those that can replace one another, their ranks, their lengths, and the types of one-time
/// products.
///
/// Products are named as in `Fact.Period.product`: a subscription on Google Play with its base plan, `pro:monthly`.
public struct ProductCatalog: Hashable, Sendable, Codable {
    /// A product of the catalogue.
    public struct Product: Hashable, Sendable, Codable {
        /// The store's product id.
        public var id: ProductID
        /// The group; only products of one group take one another's place.
        public var group: String
        /// The level of service; 1 is the highest.
        public var level: Int
        /// How long a period lasts.
        public var duration: CalendarDuration

        /// Describes a product.
        public init(id: ProductID, group: String, level: Int, duration: CalendarDuration) {
            self.id = id
            self.group = group
            self.level = level
            self.duration = duration
        }

        private enum CodingKeys: String, CodingKey, CaseIterable { case id, group, level, duration }

        /// Reads a product.
        ///
        /// - Throws: `DecodingError.dataCorrupted` for an unknown member.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.closedContainer(keyedBy: CodingKeys.self)
            id = try container.decode(ProductID.self, forKey: .id)
            group = try container.decode(String.self, forKey: .group)
            level = try container.decode(Int.self, forKey: .level)
            duration = try container.decode(CalendarDuration.self, forKey: .duration)
        }
    }

    /// The products that renew, by id.
    public private(set) var products: [ProductID: Product]
    /// The products that are bought once, by id.
    public private(set) var oneTimeProducts: [ProductID: OneTimeProduct]
    /// The type of a one-time product that is listed neither here nor at the store. Without it such a purchase gives
    /// access until it is known better: who has paid is not locked out by a gap in a list. `consumable` refuses that.
    public var unlisted: LifecycleEvent.OneTimePurchase.ProductType?

    /// Makes a catalogue; of two products with one id the later counts.
    ///
    /// - Parameters:
    ///   - products: the products that renew.
    ///   - oneTimeProducts: the products that are bought once.
    ///   - unlisted: the type of other one-time products; nil leaves that open, and such a purchase gives access.
    public init(
        _ products: some Sequence<Product>,
        oneTimeProducts: some Sequence<OneTimeProduct> = EmptyCollection(),
        unlisted: LifecycleEvent.OneTimePurchase.ProductType? = nil
    ) {
        self.products = Dictionary(products.map { ($0.id, $0) }) { _, later in later }
        self.oneTimeProducts = Dictionary(oneTimeProducts.map { ($0.id, $0) }) { _, later in later }
        self.unlisted = unlisted
    }

    /// The product of an id.
    public subscript(id: ProductID) -> Product? { products[id] }

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case products, unlisted
        case oneTimeProducts = "one_time_products"
    }

    /// Reads `{"products":[…],"one_time_products":[…],"unlisted":…}`, or the list of products alone.
    ///
    /// - Throws: `DecodingError.dataCorrupted` for an unknown member, such as a misspelled one.
    public init(from decoder: any Decoder) throws {
        if (try? decoder.unkeyedContainer()) != nil {
            self.init(try decoder.singleValueContainer().decode([Product].self))
            return
        }
        let container = try decoder.closedContainer(keyedBy: CodingKeys.self)
        self.init(
            try container.decodeIfPresent([Product].self, forKey: .products) ?? [],
            oneTimeProducts: try container.decodeIfPresent([OneTimeProduct].self, forKey: .oneTimeProducts) ?? [],
            unlisted: try container.decodeIfPresent(
                LifecycleEvent.OneTimePurchase.ProductType.self,
                forKey: .unlisted
            )
        )
    }

    /// Writes the products in the order of their ids; as a list where there is nothing else.
    public func encode(to encoder: any Encoder) throws {
        guard !oneTimeProducts.isEmpty || unlisted != nil else {
            var container = encoder.singleValueContainer()
            try container.encode(products.valuesInOrder)
            return
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(products.valuesInOrder, forKey: .products)
        try container.encode(oneTimeProducts.valuesInOrder, forKey: .oneTimeProducts)
        try container.encodeIfPresent(unlisted, forKey: .unlisted)
    }
}
