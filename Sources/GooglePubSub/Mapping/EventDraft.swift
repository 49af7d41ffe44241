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
    /// What of that order went back.
    var price: Price?
}

extension EventDraft {
    /// The kinds of fact that speak of this event. Of several events made from one answer each carries its own, so that
    /// a state tells for each whether it is news.
    var subjects: Set<Fact.Kind> {
        switch event {
        case .started, .renewed, .productChanged, .extended: [.period, .charge, .link, .owner, .pause]
        case .billingIssue: [.billing, .periodEnded]
        case .expired, .revoked, .paused: [.periodEnded, .pause, .billing]
        case .pauseScheduled: [.pause]
        case .autoRenewDisabled, .autoRenewEnabled, .productChangeScheduled: [.renewalIntent]
        case .priceChange: [.priceChange]
        case .refunded, .chargeback: [.refund, .charge]
        case .oneTimePurchased: [.purchase, .charge, .owner]
        default: []
        }
    }
}

/// What one lineage's part of an answer comes to.
struct LineageDraft {
    var lineage: SubscriptionID
    var drafts: [EventDraft]
    var facts: [Fact]
    var account: Account?
    var product: PurchasedProduct?
    var period: ServicePeriod?
    var price: Price?
    var renewal: RenewalTerms?
    /// The order that the lineage's access rests on.
    var transaction: String?

    /// The facts of each draft: every fact goes to the first draft that is about it, else to the first of all.
    var assignedFacts: [[Fact]] {
        var assigned: [[Fact]] = drafts.map { _ in [] }
        for fact in facts {
            let index = drafts.firstIndex { $0.subjects.contains(fact.kind) } ?? 0
            if assigned.indices.contains(index) { assigned[index].append(fact) }
        }
        return assigned
    }
}
