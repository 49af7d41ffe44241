/// The kind of a change from one product to another, and the time at which a store carries it out.
public struct ProductChangeClass: Hashable, Sendable, Codable {
    /// When a change takes effect.
    @nonexhaustive
    public enum Timing: String, Hashable, Sendable, Codable {
        /// At once.
        case immediate
        /// When the current period ends.
        case atPeriodEnd = "at_period_end"
    }

    /// Up, down, or across.
    public var direction: LifecycleEvent.ProductChange.Direction
    /// When it takes effect.
    public var timing: Timing
    /// The use of the money for the unused part.
    public var proration: LifecycleEvent.ProductChange.Proration

    /// Makes a classification.
    public init(
        direction: LifecycleEvent.ProductChange.Direction,
        timing: Timing,
        proration: LifecycleEvent.ProductChange.Proration
    ) {
        self.direction = direction
        self.timing = timing
        self.proration = proration
    }
}

extension ProductCatalog {
    /// Up, down or across; nil for unknown products, products of different groups, or one and the same product.
    public func direction(from old: ProductID, to new: ProductID) -> LifecycleEvent.ProductChange.Direction? {
        guard old != new, let old = self[old], let new = self[new], old.group == new.group else { return nil }
        if new.level < old.level { return .upgrade }
        return new.level > old.level ? .downgrade : .crossgrade
    }

    /// The App Store's rule: upgrades and crossgrades of the same duration begin at once, with the unused part given
    /// back; downgrades and crossgrades of another duration begin when the period ends.
    ///
    /// - Returns: nil if ``direction(from:to:)`` is nil.
    public func appStoreChange(from old: ProductID, to new: ProductID) -> ProductChangeClass? {
        guard let direction = direction(from: old, to: new) else { return nil }
        let isImmediate =
            direction == .upgrade || (direction == .crossgrade && self[old]?.duration == self[new]?.duration)
        return ProductChangeClass(
            direction: direction,
            timing: isImmediate ? .immediate : .atPeriodEnd,
            proration: isImmediate ? .refund : .none
        )
    }

    /// The change that a store makes of one from a product to another, if nothing but the two decides it.
    func change(from old: ProductID, to new: ProductID, in store: PurchaseStore) -> ProductChangeClass? {
        store.rules.productsDecideTiming ? appStoreChange(from: old, to: new) : nil
    }
}
