/// The id of a product, in the store's own words, as events, facts, catalogues and credits name it.
///
/// On Google Play a subscription and its base plan may stand in it together: `pro:monthly`. Other stores' ids have no parts.
public struct ProductID: OpenValue, Comparable, CodingKeyRepresentable {
    /// The id as the store writes it.
    public let rawValue: String
    /// Keeps an id as it is.
    public init(rawValue: String) { self.rawValue = rawValue }
}

// The grammar of base plans. All channels have to name products alike.
extension ProductID {
    /// The product under one of its plans, or the product itself for none.
    package func under(_ plan: String?) -> ProductID {
        guard let plan, !plan.isEmpty else { return self }
        return ProductID("\(rawValue):\(plan)")
    }

    package var hasBasePlan: Bool { rawValue.utf8.contains(UInt8(ascii: ":")) }

    /// The product without its base plan.
    package var subscription: ProductID {
        rawValue.utf8.firstIndex(of: UInt8(ascii: ":")).map { ProductID(String(rawValue[..<$0])) } ?? self
    }

    /// True for two base plans of one subscription, too.
    package func isOfSubscription(of other: Self) -> Bool { subscription == other.subscription }

    /// True if both may name one product: some channels leave out the base plan.
    package func mayBe(_ other: Self) -> Bool { self == other || differsInPlanAlone(from: other) }

    /// True if one of the two is the other without its base plan.
    package func differsInPlanAlone(from other: Self) -> Bool {
        hasBasePlan != other.hasBasePlan && subscription == other.subscription
    }
}
