import LifecycleEvents

/// The result of one lineage's part of an answer.
struct LineageDraft {
    let lineage: SubscriptionID
    var drafts: [EventDraft]
    var subject: EventSubject

    /// - Parameter subject: the lineage's purchase. Its transaction is the order that access rests on.
    init(_ lineage: SubscriptionID, drafts: [EventDraft] = [], subject: EventSubject) {
        self.lineage = lineage
        self.drafts = drafts
        self.subject = subject
        self.subject.lineage = lineage
    }
}
