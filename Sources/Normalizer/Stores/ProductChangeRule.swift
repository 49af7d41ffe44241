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

    /// True if the store gives the money of the unused part back. A refund that comes with such a change is no churn.
    public var isRefundExpected: Bool { proration == .refund }

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

/// Google Play's replacement modes (`SubscriptionsV2`, `replacementMode` of the billing library).
public struct PlayReplacementMode: OpenValue {
    /// The name that Play uses.
    public let rawValue: String
    /// Keeps a name as it is.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// At once; the unused part becomes time.
    public static let withTimeProration: PlayReplacementMode = "WITH_TIME_PRORATION"
    /// At once; the difference for the rest of the period is charged.
    public static let chargeProratedPrice: PlayReplacementMode = "CHARGE_PRORATED_PRICE"
    /// At once; the new price is charged from the next renewal on.
    public static let withoutProration: PlayReplacementMode = "WITHOUT_PRORATION"
    /// At once; the full new price is charged, and the unused part becomes time.
    public static let chargeFullPrice: PlayReplacementMode = "CHARGE_FULL_PRICE"
    /// At the next renewal.
    public static let deferred: PlayReplacementMode = "DEFERRED"
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
        switch store {
        case .appStore, .macAppStore: appStoreChange(from: old, to: new)
        default: nil
        }
    }

    /// Google Play's rule: the app's replacement mode decides when, the catalogue decides the direction.
    ///
    /// - Returns: nil if ``direction(from:to:)`` is nil, or for a mode that this version does not know.
    public func playChange(from old: ProductID, to new: ProductID, mode: PlayReplacementMode) -> ProductChangeClass? {
        guard let direction = direction(from: old, to: new) else { return nil }
        let proration: LifecycleEvent.ProductChange.Proration
        switch mode {
        case .withTimeProration: proration = .timeCredit
        case .chargeProratedPrice: proration = .proratedCharge
        case .withoutProration: proration = .none
        case .chargeFullPrice: proration = .fullCharge
        case .deferred: proration = .deferred
        default: return nil
        }
        return ProductChangeClass(
            direction: direction,
            timing: mode == .deferred ? .atPeriodEnd : .immediate,
            proration: proration
        )
    }

    /// Stripe's rule: a schedule waits for the end of the period, everything else is at once; the update decides about
    /// the money.
    ///
    /// - Returns: nil if ``direction(from:to:)`` is nil.
    public func stripeChange(from old: ProductID, to new: ProductID, isScheduled: Bool, prorates: Bool)
        -> ProductChangeClass?
    {
        direction(from: old, to: new).map {
            ProductChangeClass(
                direction: $0,
                timing: isScheduled ? .atPeriodEnd : .immediate,
                proration: isScheduled ? .deferred : prorates ? .proratedCharge : .none
            )
        }
    }
}
