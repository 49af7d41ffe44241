import FoundationEssentials

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

// MARK: Types from a catalogue

extension Normalization {
    /// The result with the host's knowledge of its products: the type of one-time products, how long they give access, and
    /// which subscriptions can replace one another. The store's own statements stay.
    ///
    /// Ids do not change. ``anomalies`` names each product whose type neither the store nor the catalogue knows: it
    /// gives access until its type is known.
    public func described(by catalog: ProductCatalog) -> Normalization {
        var described = self
        described.events = events.map { $0.described(by: catalog) }
        described.furtherStatements = furtherStatements.map { $0.described(by: catalog) }
        described.noChange?.statement = noChange?.statement?.described(by: catalog)
        var unknown: Set<ProductID> = []
        for case .purchase(let purchase) in described.statements.flatMap(\.facts) where purchase.purchase.isUnknown {
            unknown.insert(purchase.product)
        }
        described.anomalies += unknown.sorted().map { "the catalogue has no product \($0)" }
        return described
    }
}

extension NormalizedEvent {
    /// The event with a catalogue's knowledge of its products.
    func described(by catalog: ProductCatalog) -> NormalizedEvent {
        var described = self
        described.facts = facts.map { $0.described(by: catalog, option: product?.basePlan) }
        if case .oneTimePurchased(let purchase) = event, let id = product?.id {
            described.event = .oneTimePurchased(
                purchase.described(by: catalog.oneTimeProduct(id, option: product?.basePlan), at: occurredAt)
            )
        }
        return described
    }
}

extension StoreStatement {
    /// The statement with a catalogue's knowledge of its products.
    func described(by catalog: ProductCatalog) -> StoreStatement {
        var described = self
        described.facts = facts.map { $0.described(by: catalog, option: nil) }
        return described
    }
}

extension Fact {
    fileprivate func described(by catalog: ProductCatalog, option: String?) -> Fact {
        switch self {
        case .purchase(var bought):
            let product = catalog.oneTimeProduct(bought.product, option: option)
            bought.purchase = bought.purchase.described(by: product, at: bought.at)
            return .purchase(bought)
        case .succession(var succession) where succession.to == nil:
            succession.among = catalog.products(replacing: succession.from)
            return .succession(succession)
        default: return self
        }
    }
}

extension LifecycleEvent.OneTimePurchase {
    /// True if its type or its end is unknown.
    fileprivate var isUnknown: Bool {
        switch type {
        case .unknown: true
        case .nonRenewing: expires == nil
        case .consumable, .nonConsumable: false
        }
    }

    /// - Parameter time: when it was bought, from which on it gives access.
    fileprivate func described(by product: ProductCatalog.OneTimeProduct?, at time: Date) -> Self {
        guard let product, isUnknown else { return self }
        var described = self
        if type == .unknown { described.type = product.type }
        if described.type == .nonRenewing, expires == nil, let duration = product.duration, duration.leadsForward {
            described.expires = Date(
                millisecondsSince1970: duration.adding(times: 1, to: time.millisecondsSince1970)
            )
        }
        return described
    }
}
