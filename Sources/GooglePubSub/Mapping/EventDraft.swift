import FoundationEssentials
import Normalizer

/// An event before its envelope.
struct EventDraft {
    var id: EventID
    var event: LifecycleEvent
    /// When it happened; absent means when Google says that the notification's cause did.
    var occurredAt: Date?
    /// From when it has effect; absent means when it happened.
    var effectiveAt: Date?
    /// The order that it is about, where it is not the last one that was paid.
    var transaction: String?
    /// The refunded part of that order.
    var price: Price?
}

/// The result of one lineage's part of an answer.
struct LineageDraft {
    var lineage: SubscriptionID
    var drafts: [EventDraft]
    var facts: [Fact]
    var account: Account?
    var product: PurchasedProduct?
    var period: ServicePeriod?
    var price: Price?
    /// The country that Google bills the customer in.
    var country: String?
    var renewal: RenewalTerms?
    /// The order that the lineage's access rests on.
    var transaction: String?

    var assignedFacts: [[Fact]] { facts.assigned(to: drafts.map(\.event)) }
}
