import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator
import SignatureCore
import WireJSON

/// Makes the vectors of `TestVectors/apple`, the same bytes every time.
///
/// Each case says by hand what has to come of it. The generator runs it and refuses to write a file that the adapter
/// disagrees with, so that the whole events in the files are not merely what the code happened to do.
package enum AppleVectors {
    /// The files, by name, with their lines.
    ///
    /// - Throws: ``VectorError`` that names the cases whose outcome is not the one stated.
    package static func lines() async throws -> [(file: String, lines: [String])] {
        let world = try AppleVectorWorld()
        let files: [(String, [AppleCase])] = [
            ("mapping.jsonl", try AppleMappingCases.all(world)),
            ("shapes.jsonl", try AppleShapeCases.all(world)),
            ("uploads.jsonl", try AppleUploadCases.all(world)),
            ("jws.jsonl", try AppleJWSCases.all(world)),
            ("x5c.jsonl", try AppleCertificateCases.all(world)),
            ("time.jsonl", try AppleTimeCases.all(world)),
            ("identity.jsonl", try AppleIdentityCases.all(world)),
            ("json.jsonl", try AppleJSONCases.all(world)),
            ("configuration.jsonl", try AppleConfigurationCases.all(world)),
        ]
        var result: [(file: String, lines: [String])] = []
        var ids: Set<String> = []
        var disagreements: [String] = []
        for (file, cases) in files {
            var lines: [String] = []
            for one in cases {
                guard ids.insert(one.id).inserted else { throw VectorError("\(one.id): stands twice") }
                do { lines.append(try await one.line()) } catch let error as VectorError {
                    disagreements.append(error.description)
                }
            }
            result.append((file, lines))
        }
        guard disagreements.isEmpty else { throw VectorError(disagreements.joined(separator: "\n")) }
        return result
    }
}

/// One case, with what has to come of it.
struct AppleCase {
    enum Expectation {
        /// Exactly these events, and where given these kinds of facts with each.
        case accept([LifecycleEvent], facts: [Fact.Kind]? = nil)
        case reject(DeliveryError.Code)
    }

    var id: String
    var body: [UInt8]
    var config: JSONMembers
    var expectation: Expectation
    /// The fine cause of a refusal.
    var reason: String?
    var tier = "must"
    var tags: [String] = []
    var note: String?

    func line() async throws -> String {
        var members = JSONMembers()
        members.append("id", .string("apple/\(id)"))
        members.append("provider", "apple")
        members.append("headers", ["Content-Type": "application/json"])
        members.append("config", .object(config))
        members.append("body_base64", .string(base64(body)))
        switch expectation {
        case .accept: members.append("expect", "accept")
        case .reject(let code):
            members.append("expect", "reject")
            members.append("code", .string(code.rawValue))
        }
        if let reason { members.append("reason", .string(reason)) }
        members.append("tier", .string(tier))
        if !tags.isEmpty { members.append("tags", .array(tags.map(JSONText.string))) }
        if let note { members.append("note", .string(note)) }

        let outcome = await VectorRunner.run(try Vector(line: members.bytes[...]))
        guard outcome.matched == true else {
            throw VectorError("\(id): \(outcome.difference ?? "not as stated")")
        }
        if case .accept(let expected, let facts) = expectation, case .success(let normalization) = outcome.result {
            let events = normalization.events
            guard events.map(\.event) == expected else {
                throw VectorError("\(id): stated \(expected), mapped \(events.map(\.event))")
            }
            let found = events.flatMap(\.facts).map(\.kind)
            if let facts, found != facts {
                throw VectorError("\(id): stated facts \(facts), asserted \(found)")
            }
            members.append(
                "events",
                .raw(String(decoding: try CanonicalJSON.bytes(events), as: UTF8.self))
            )
        }
        return members.text
    }
}

func base64(_ bytes: [UInt8]) -> String {
    String(decoding: Base64.encode(bytes.span), as: UTF8.self)
}
