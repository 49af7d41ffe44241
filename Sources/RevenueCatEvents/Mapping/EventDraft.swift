import FoundationEssentials
import LifecycleEvents

/// An event before its envelope.
struct EventDraft {
    var id: EventID
    var event: LifecycleEvent
    var facts: [Fact] = []
    var price: Price?
    var renewal: RenewalTerms?
    /// The account that it is about, if that is not the customer of the purchase.
    var account: Account?
    /// The transaction, if it is not the one that the fields name.
    var transaction: String?
    /// The period, if it is not the one that the fields state.
    var period: ServicePeriod?
    /// True if it is about the purchase that the fields name.
    var isAboutPurchase = true
    /// When it happened; absent means when RevenueCat made it.
    var occurredAt: Date?
    /// From when it has effect; absent means when it happened.
    var effectiveAt: Date?
}
