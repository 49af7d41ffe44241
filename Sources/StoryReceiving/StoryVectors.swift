import ConformanceVectors
package import FoundationEssentials
import Normalizer
package import NotificationSimulator
import SignatureCore
import WireJSON

/// Stories as test vectors: the provider's deliveries and answers, and the events that must follow.
package enum StoryVectors {
    /// One case for each notification.
    ///
    /// - Throws: `SimulatorError` if the provider has no such story; `VectorError` if the story comes to something
    ///   else than it says.
    package static func lines(
        _ story: CustomerStory,
        by simulator: any StorySimulator,
        from start: Date
    ) async throws -> [String] {
        let playback = try await StoryPlayback(story, by: simulator, from: start)
        try check(playback, of: story, by: simulator)
        let config = String(decoding: simulator.receiverConfiguration, as: UTF8.self)
        return try playback.taken.enumerated().map { index, taken in
            var headers = JSONMembers()
            for header in taken.delivery.headers.all { headers.append(header.name, .string(header.value)) }
            var members = JSONMembers([
                ("id", .string("story/\(simulator.provider.rawValue)/\(story.id)/\(index + 1)")),
                ("provider", .string(simulator.provider.rawValue)), ("headers", .object(headers)),
                ("body_base64", .string(String(decoding: Base64.encode(taken.delivery.body.span), as: UTF8.self))),
            ])
            let now = taken.delivery.receivedAt.millisecondsSince1970
            members.append("config", .raw("{\"now\":\(now),\(config.dropFirst())"))
            if let answers = taken.answers, simulator.provider == .google || !answers.isEmpty {
                members.append("http", .array(answers.map(\.json)))
            }
            members.append("expect", "accept")
            members.append(
                "events",
                .array(
                    try taken.result.events.map { .raw(String(decoding: try CanonicalJSON.bytes($0), as: UTF8.self)) }
                )
            )
            members.append("reason", .string("\(story.title) \(taken.notification.type)"))
            return members.text
        }
    }

    /// - Throws: `VectorError` if a step comes to something else than the story says.
    package static func check(_ playback: StoryPlayback, of story: CustomerStory, by simulator: any StorySimulator)
        throws
    {
        let kinds = playback.kinds
        for expectation in try simulator.expectations(of: story) {
            let actual = kinds[expectation.step] ?? []
            guard actual == expectation.kinds else {
                throw VectorError(
                    "\(story.id), step \(expectation.step + 1) at \(simulator.provider.rawValue): "
                        + "\(actual.map(\.rawValue)), expected \(expectation.kinds.map(\.rawValue))"
                )
            }
        }
    }
}

extension RecordedAnswer {
    fileprivate var json: JSONText {
        var fields = JSONMembers()
        for header in headers { fields.append(header.name, .string(header.value)) }
        return [
            "method": .string(method), "url": .string(url), "status": .integer(Int64(status)),
            "headers": .object(fields), "body": .raw(String(decoding: body, as: UTF8.self)),
        ]
    }
}
