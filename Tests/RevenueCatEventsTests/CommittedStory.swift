import ConformanceVectors
import NotificationSimulator
import Testing
import VectorGenerator
import WireJSON

/// A customer's story in the webhooks of `TestVectors/revenuecat/stories.jsonl`, in the order in which they were made. They may
/// arrive in any other.
struct CommittedStory: Sendable, CustomTestStringConvertible {
    let name: String
    private(set) var webhooks: [Vector] = []

    var testDescription: String { name }

    /// All stories; the id of a webhook ends in the name of its story and its number.
    static func all() throws -> [CommittedStory] {
        var stories: [CommittedStory] = []
        for webhook in try CommittedVectors.vectors("revenuecat/stories.jsonl") {
            let name = String(webhook.id.split(separator: "/").dropLast().last ?? "")
            if stories.last?.name != name { stories.append(CommittedStory(name: name)) }
            stories[stories.count - 1].webhooks.append(webhook)
        }
        return stories
    }
}

extension RevenueCatSimulator.Event {
    /// The event of a webhook, to be changed.
    init(of webhook: Vector) throws {
        let event = try #require(try JSONDocument(parsing: webhook.body).root.object()["event"])
        self.init([:])
        for member in try event.object().members {
            members.append(member.name, .raw(String(decoding: member.value.rawBytes, as: UTF8.self)))
        }
    }
}
