import Foundation
import LifecycleJournal
import Normalizer

/// News as a CloudEvent 1.0 in structured JSON (<https://github.com/cloudevents/spec>).
struct CloudEvent: Encodable {
    private let specversion = "1.0"
    private let datacontenttype = "application/json"
    private let id: String
    private let source: String
    private let type: String
    private let subject: String?
    private let time: String
    private let data: AppliedEvent

    init(_ applied: AppliedEvent) {
        let event = applied.event
        id = event.id.description
        source = "/lifecycle/\(event.store)/\(event.environment)" + (event.app.map { "/\($0)" } ?? "")
        type = "lifecycle.\(event.kind.rawValue)"
        subject = event.subscription?.description
        time = event.occurredAt.formatted(.iso8601.year().month().day().time(includingFractionalSeconds: true))
        data = applied
    }
}
