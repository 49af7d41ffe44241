import LifecycleEvents

/// An event before its envelope, and its subject: the events of one notification may differ in it, such as in its terms.
///
/// A class, because it is large: a struct takes 4 200 instructions more of 187 000 for a verified subscription update.
final class Draft {
    let event: EventDraft
    let subject: EventSubject

    init(_ event: EventDraft, about subject: EventSubject) { (self.event, self.subject) = (event, subject) }

    /// - Parameter fact: the store's further fact with this event, besides the subject's facts.
    convenience init(
        _ id: EventID,
        _ event: LifecycleEvent,
        about subject: EventSubject,
        effectiveAt: Milliseconds? = nil,
        with fact: Fact? = nil
    ) {
        var subject = subject
        if let fact { subject.facts.append(fact) }
        self.init(EventDraft(id: id, event: event, effectiveAt: effectiveAt?.date), about: subject)
    }
}
