import Foundation
import LifecycleJournal
import Normalizer

/// A CloudEvent 1.0 in structured JSON (<https://github.com/cloudevents/spec>).
struct CloudEvent<Content: Encodable>: Encodable {
    private let specversion = "1.0"
    private let datacontenttype = "application/json"
    private let id: String
    private let source: String
    private let type: String
    private let subject: String?
    @EventTime private var time: Date
    private let data: Content

    init(id: String, type: String, about event: NormalizedEvent, data: Content) {
        self.id = id
        self.type = type
        self.data = data
        source = "/lifecycle/\(event.store)/\(event.environment)" + (event.app.map { "/\($0)" } ?? "")
        subject = event.subscription?.description
        time = event.occurredAt
    }
}

extension CloudEvent<AppliedEvent> {
    /// A piece of news.
    init(_ applied: AppliedEvent) {
        let event = applied.event
        self.init(id: event.id.description, type: "lifecycle.\(event.kind.rawValue)", about: event, data: applied)
    }
}
