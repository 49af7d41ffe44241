import LifecycleEvents

/// An event before its envelope, and its subject: the events of one notification may differ in it, such as in its terms.
struct Draft {
    var event: EventDraft
    var subject: EventSubject

    /// - Parameter fact: the store's further fact with this event, besides the subject's facts.
    init(
        _ id: EventID,
        _ event: LifecycleEvent,
        about subject: EventSubject,
        effectiveAt: Milliseconds? = nil,
        with fact: Fact? = nil
    ) {
        self.event = EventDraft(id: id, event: event, effectiveAt: effectiveAt?.date)
        self.subject = subject
        if let fact { self.subject.facts.append(fact) }
    }

    var kind: LifecycleEvent.Kind { event.event.kind }
}
