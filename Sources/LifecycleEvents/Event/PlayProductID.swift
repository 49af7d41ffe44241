// `pro:monthly`: a subscription on Google Play, and which of its base plans.
extension String {
    /// Play names a base plan after a colon.
    package var namesBasePlan: Bool { utf8.contains(UInt8(ascii: ":")) }

    /// The product without its base plan.
    package var subscriptionFamily: String {
        prefix { $0 != ":" }.description
    }
}
