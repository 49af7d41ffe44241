/// The name of a product, read by the grammar of base plans.
///
/// `pro:monthly` is the base plan `monthly` of the subscription `pro` on Google Play. Other stores' names have no parts.
package struct ProductName: Hashable, Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    package var hasBasePlan: Bool { text.utf8.contains(UInt8(ascii: ":")) }

    /// The product without its base plan.
    package var subscription: String {
        text.utf8.firstIndex(of: UInt8(ascii: ":")).map { String(text[..<$0]) } ?? text
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
