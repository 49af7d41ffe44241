import FoundationEssentials

extension Normalization {
    /// The result with the host's knowledge of its products: the type of one-time products, how long they give access, and
    /// which subscriptions can replace one another. The store's own statements stay.
    ///
    /// Ids do not change. ``anomalies`` names each product whose type neither the store nor the catalogue knows, or whose purchase option
    /// a statement without an event leaves open: it gives access until its type is known.
    public func described(by catalog: ProductCatalog) -> Normalization {
        var described = self
        described.events = events.map { $0.described(by: catalog) }
        described.furtherStatements = furtherStatements.map { $0.described(by: catalog) }
        described.noChange?.statement = noChange?.statement?.described(by: catalog)
        let statements = described.furtherStatements + [described.noChange?.statement].compactMap(\.self)
        let stated = statements.flatMap(\.facts)
        let open = Self.unknownProducts(of: stated.filter(catalog.leavesOpen))
        let unknown = Self.unknownProducts(
            of: described.events.flatMap(\.facts) + stated.filter { !catalog.leavesOpen($0) }
        )
        described.anomalies += unknown.map { "the catalogue has no product \($0)" }
        described.anomalies += open.map { "the purchase option of \($0) is not known" }
        return described
    }

    /// The products whose type or end is not known, in order.
    private static func unknownProducts(of facts: [Fact]) -> [ProductID] {
        let products = facts.compactMap { fact -> ProductID? in
            guard case .purchase(let bought) = fact, bought.purchase.isUnknown else { return nil }
            return bought.product
        }
        return Set(products).sorted()
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
        described.facts = facts.map { catalog.leavesOpen($0) ? $0 : $0.described(by: catalog, option: nil) }
        return described
    }
}

extension ProductCatalog {
    /// True for a purchase that a statement without an event leaves as the store states it: the purchase options of the product
    /// differ, and only an event says which one was bought.
    fileprivate func leavesOpen(_ fact: Fact) -> Bool {
        guard case .purchase(let bought) = fact else { return false }
        return oneTimeProducts.keys.contains { $0.differsInPlanAlone(from: bought.product) }
    }

    /// The products that can take a product's place, in order; nil if it is not listed.
    fileprivate func products(replacing id: ProductID) -> [ProductID]? {
        let listed = products[id].map { [$0] } ?? products.values.filter { $0.id.mayBe(id) }
        guard !listed.isEmpty else { return nil }
        let groups = Set(listed.map(\.group))
        return products.values.filter { $0.id != id && groups.contains($0.group) }.map(\.id).sorted()
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
