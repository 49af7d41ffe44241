import Normalizer
import NotificationSimulator
import WireJSON

/// Makes the vectors of `TestVectors/revenuecat`, the same bytes every time: from the cases in `Tests/Vectors/revenuecat`, and
/// from stories, whose webhooks follow one another.
package enum RevenueCatVectors {
    /// The files, by name, with their lines.
    ///
    /// - Throws: `VectorError` that names the cases whose outcome is not the one stated.
    package static func files() async throws -> [(name: String, lines: [String])] {
        let sender = RevenueCatCaseSender()
        var files: [(name: String, lines: [String])] = []
        for name in ["authentication", "mapping", "stores", "bodies", "lookups"] {
            files.append((name, try await CaseFile(named: "revenuecat/\(name)").lines(signing: sender)))
        }
        files.append(("stories", try await CaseFile(stories.bytes).lines(signing: sender)))
        return files
    }

    /// 2026-01-01, 2026-02-01 and 2026-03-01.
    static let t0: Int64 = 1_767_225_600_000
    static let t1: Int64 = 1_769_904_000_000
    static let t2: Int64 = 1_772_323_200_000
    static let minute: Int64 = 60_000
    static let hour: Int64 = 3_600_000
    static let day: Int64 = 86_400_000

    /// The webhooks of the stories, one after another, each twenty seconds after it was made.
    private static var stories: JSONMembers {
        let cases = RevenueCatStory.all.flatMap { story in
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
