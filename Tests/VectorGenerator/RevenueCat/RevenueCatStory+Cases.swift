import NotificationSimulator
import Normalizer
import WireJSON

extension RevenueCatStory {
    /// The webhooks of the stories as a file of cases, one after another, each twenty seconds after it was made.
    static var cases: JSONMembers {
        let cases = all.flatMap { story in
            story.moments.enumerated().map { index, moment -> JSONText in
                var now = t0
                if case .integer(let milliseconds)? = moment.event.members["event_timestamp_ms"] { now = milliseconds }
                return [
                    "id": .string("story/\(story.name)/\(index + 1)"), "why": .string(story.summary),
                    "now": .integer(now + 20_000), "body": .raw(String(decoding: moment.event.body, as: UTF8.self)),
                    "expect": moment.kind.map { ["events": [["kind": .string($0.rawValue)]]] }
                        ?? ["nothing": "reported_elsewhere"],
                ]
            }
        }
        return JSONMembers([
            ("provider", "revenuecat"), ("now", .integer(t0)),
            (
                "config",
                [
                    "authorization": .string(RevenueCatCaseSender.authorization),
                    "hmacSecrets": [.string(RevenueCatCaseSender.secret)],
                ]
            ),
            ("cases", .array(cases)),
        ])
    }
}
