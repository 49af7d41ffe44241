// `pro:monthly`: a subscription on Google Play, and which of its base plans.
extension String {
    /// Play names a base plan after a colon.
    package var namesBasePlan: Bool { utf8.contains(UInt8(ascii: ":")) }

    /// True if both may name one product: some channels leave out the base plan.
    package func mayBe(_ other: String) -> Bool {
        guard self != other else { return true }
        return namesBasePlan != other.namesBasePlan && subscriptionFamily == other.subscriptionFamily
    }

    /// The product without its base plan.
    package var subscriptionFamily: String {
        utf8.firstIndex(of: UInt8(ascii: ":")).map { String(self[..<$0]) } ?? self
    }
}
