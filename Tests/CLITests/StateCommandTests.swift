import Foundation
import NotificationSimulator
import Normalizer
import Testing

@Suite("lifecycle state and explain")
struct StateCommandTests {
    /// The events of the demo, as `normalize` prints them, in a given order.
    private func events(_ order: ([String]) -> [String] = { $0 }) throws -> Data {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("demo-\(UUID().uuidString).jsonl")
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try CommandLineRun(["demo", "--out", file.path])
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("HTTP 401"))
        let lines = String(decoding: try Data(contentsOf: file), as: UTF8.self).split(separator: "\n").map(String.init)
        return Data(order(lines).joined(separator: "\n").utf8)
    }

    @Test("The state does not depend on order or repetition")
    func converges() throws {
        let once = try CommandLineRun(["state", "--at", "2026-03-28T00:00:00Z", "-"], input: try events())
        let shuffled = try CommandLineRun(
            ["state", "--at", "2026-03-28T00:00:00Z", "-"],
            input: try events { $0.reversed() + $0 }
        )
        #expect(once.status == 0, "\(once.errors)")
        #expect(once.output == shuffled.output)
        #expect(once.output.contains(#""access":"granted""#))
        #expect(once.output.contains(#""product":"com.example.app.pro.monthly""#))
    }

    @Test("An account's access is asked for by its identifier")
    func account() throws {
        let input = try events()
        let first = try #require(String(decoding: input, as: UTF8.self).split(separator: "\n").first)
        let event = try CanonicalJSON.value(NormalizedEvent.self, from: Array(first.utf8))
        let account = try #require(event.account).id
        let at = ["--at", "2026-05-01T00:00:00Z"]
        let known = try CommandLineRun(["state", "--account", account] + at + ["-"], input: input)
        #expect(known.output.contains(#""environment":"production""#))
        #expect(known.output.contains(#""access":"denied""#))
        #expect(
            try CommandLineRun(["state", "--account", account.uppercased()] + at + ["-"], input: input).output
                == known.output
        )
    }

    @Test("An explanation names decision and statements, and no account")
    func explains() throws {
        let input = try events()
        let run = try CommandLineRun(["explain", "--text", "--at", "2026-03-28", "-"], input: input)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("access until 2026-04-27T10:00:00.000Z"))
        #expect(run.output.contains("apple "))
        let first = try #require(String(decoding: input, as: UTF8.self).split(separator: "\n").first)
        let event = try CanonicalJSON.value(NormalizedEvent.self, from: Array(first.utf8))
        for identifier in try #require(event.account).identifiers { #expect(!run.output.contains(identifier.id)) }
    }

    @Test("A line that is no event is refused with 65, a date that is none with 64")
    func refused() throws {
        #expect(try CommandLineRun(["state", "-"], input: Data("{}".utf8)).status == 65)
        #expect(try CommandLineRun(["explain", "-"], input: Data("{}".utf8)).status == 65)
        for command in ["state", "explain"] {
            #expect(try CommandLineRun(["help", command]).output.contains("Exit status: 65"))
        }
        #expect(try CommandLineRun(["state", "--at", "yesterday", "-"], input: Data()).status == 64)
    }
}
