import FoundationEssentials

extension ProductCatalog {
    /// A product that is bought once, of which only the App Store says by itself what it is.
    ///
    /// Google Play and Stripe say that something was bought, and not whether it is used up, owned for good, or lent.
    public struct OneTimeProduct: Hashable, Sendable, Codable {
        /// The store's product id; with a colon and the purchase option where the options of a product differ, such as
        /// `film:rent`.
        public var id: String
        /// The kind of product.
        public var type: LifecycleEvent.OneTimePurchase.ProductType
        /// How long it gives access, for what is lent or does not renew.
        public var duration: CalendarDuration?

        /// Describes a product.
        ///
        /// - Parameters:
        ///   - id: the store's product id, with `:option` where the purchase options of a product differ.
        ///   - type: what it is; `nonRenewing` for a rental and for a pass.
        ///   - duration: how long it gives access from the purchase on; without one a stated end counts.
        public init(
            id: String,
            type: LifecycleEvent.OneTimePurchase.ProductType,
            duration: CalendarDuration? = nil
        ) {
            self.id = id
            self.type = type
            self.duration = duration
        }
    }

    /// The product of a one-time purchase: by its purchase option, else by its id alone, else by ``unlisted``.
    ///
    /// - Parameters:
    ///   - id: the store's identifier of the product.
    ///   - option: the purchase option, where the store names one.
    public func oneTimeProduct(_ id: String, option: String? = nil) -> OneTimeProduct? {
        option.flatMap { oneTimeProducts["\(id):\($0)"] } ?? oneTimeProducts[id]
            ?? unlisted.map { OneTimeProduct(id: id, type: $0) }
    }
}

// MARK: What a catalogue adds to what a store says

extension Normalization {
    /// The result with what the host's catalogue knows of products that are bought once: their type, and how long they give
    /// access. What the store states itself stays.
    ///
    /// Ids do not change. Each product whose type neither the store nor the catalogue knows is named among the
    /// ``anomalies``: until it is known better it gives access.
    public func described(by catalog: ProductCatalog) -> Normalization {
        var described = self
        described.events = events.map { $0.described(by: catalog) }
        described.furtherStatements = furtherStatements.map { $0.described(by: catalog) }
        described.noChange?.statement = noChange?.statement?.described(by: catalog)
        var unknown: Set<String> = []
        for case .purchase(let purchase) in described.statements.flatMap(\.facts) where purchase.purchase.isUnknown {
            unknown.insert(purchase.product)
        }
        described.anomalies += unknown.sorted().map { "the catalogue has no product \($0)" }
        return described
    }
}

extension NormalizedEvent {
    /// The event with what a catalogue knows of what was bought once.
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
    /// The statement with what a catalogue knows of what was bought once.
    func described(by catalog: ProductCatalog) -> StoreStatement {
        var described = self
        described.facts = facts.map { $0.described(by: catalog, option: nil) }
        return described
    }
}

extension Fact {
    fileprivate func described(by catalog: ProductCatalog, option: String?) -> Fact {
        guard case .purchase(var bought) = self else { return self }
        let product = catalog.oneTimeProduct(bought.product, option: option)
        bought.purchase = bought.purchase.described(by: product, at: bought.at)
        return .purchase(bought)
    }
}

extension LifecycleEvent.OneTimePurchase {
    /// True if it is not known what was bought, or until when.
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
