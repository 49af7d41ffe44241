import Foundation
import NotificationSimulator
import Normalizer
import Testing

@Suite("docs/simulator.md")
struct DocumentationTests {
    private static let text = Result {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        return try String(contentsOf: root.appendingPathComponent("docs/simulator.md"), encoding: .utf8)
    }

    /// The rows of a table behind its header.
    private func rows(_ header: String) throws -> [String] {
        let lines = try Self.text.get().split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        let start = try #require(lines.firstIndex(of: header))
        return Array(lines[(start + 2)...].prefix { $0.hasPrefix("|") })
    }

    @Test("says which provider has which story")
    func stories() throws {
        let expected = CustomerStory.all.map { story in
            let marks = CustomerStory.providers.map { story.absence(at: $0) == nil ? "yes" : "" }
            return "| `\(story.id)` | \(marks.joined(separator: " | ")) | \(story.title) |"
        }
        let header = "| story | \(CustomerStory.providers.map(\.rawValue).joined(separator: " | ")) | |"
        #expect(try rows(header) == expected, "\(header)\n\(expected.joined(separator: "\n"))")
    }

    @Test("says where providers differ, and why")
    func differences() throws {
        var expected: [String] = []
        for story in CustomerStory.all {
            for provider in CustomerStory.providers where story.absence(at: provider) == nil {
                for (step, expectation) in zip(story.steps, try story.expectations(at: provider)) {
                    guard let difference = expectation.difference else { continue }
                    let kinds = expectation.kinds.map { "`\($0.rawValue)`" }.joined(separator: ", ")
                    let events = kinds.isEmpty ? "none" : kinds
                    let row = "| \(step.act.name) | \(provider.rawValue) | \(events) | \(difference) |"
                    if !expected.contains(row) { expected.append(row) }
                }
            }
        }
        expected.sort()
        #expect(try rows("| act | provider | events | why |") == expected, "\(expected.joined(separator: "\n"))")
    }
}
