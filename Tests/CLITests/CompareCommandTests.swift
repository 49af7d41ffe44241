import Foundation
import NotificationSimulator
import Normalizer
import Testing

@Suite("lifecycle compare")
struct CompareCommandTests {
    private let folder: URL

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("lifecycle-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    }

    private func file(_ name: String, _ bytes: some Sequence<UInt8>) throws -> String {
        let url = folder.appendingPathComponent(name)
        try Data(bytes).write(to: url)
        return url.path
    }

    /// The events of webhooks, as `normalize` prints them.
    private func events(_ bodies: [[UInt8]]) throws -> String {
        let config = try file("config.json", #"{"authorization":"a","now":1769904100000}"#.utf8)
        let headers = try file("headers.json", #"{"authorization":"a"}"#.utf8)
        let files = try bodies.enumerated().map { try file("\($0).json", $1) }
        let run = try CommandLineRun(
            ["normalize", "--provider", "revenuecat", "--config", config, "--headers", headers] + files
        )
        #expect(run.status == 0, "\(run.errors)")
        return run.output
    }

    @Test("Says what agrees, what only one side has, and where access differs")
    func compares() throws {
        let purchase = RevenueCatSimulator.Event("INITIAL_PURCHASE", id: "1", at: 1_767_225_605_000).body
        let renewal = RevenueCatSimulator.Event("RENEWAL", id: "2", at: 1_769_904_005_000, .second).body
        let both = try file("both.jsonl", try events([purchase, renewal]).utf8)
        let one = try file("one.jsonl", try events([purchase]).utf8)

        let same = try CommandLineRun(["compare", "--all", both, both])
        #expect(same.status == 0)
        #expect(same.output.split(separator: "\n").count == 3)
        #expect(same.output.contains(#""agreement":true"#))
        #expect(same.errors.contains("period_began  2"))
        #expect(same.errors.contains("the two agree"))

        let missed = try CommandLineRun(["compare", both, one])
        #expect(missed.status == 1)
        let lines = missed.output.split(separator: "\n")
        #expect(lines.count == 3)
        #expect(lines.first?.contains(#""outcome":"only_first""#) == true)
        #expect(lines.dropFirst().first?.contains(#""outcome":"access""#) == true)
        #expect(lines.last?.contains(#""outcome":"summary""#) == true)
        #expect(missed.errors.contains("the two do not agree"))

        let before = try CommandLineRun(["compare", "--until", "2026-01-15T00:00:00Z", both, one])
        #expect(before.status == 0)
        #expect(before.output.split(separator: "\n").count == 1)
        try FileManager.default.removeItem(at: folder)
    }

    @Test("Nothing in common is no agreement, and times that are none are refused")
    func nothing() throws {
        let empty = try file("empty.jsonl", "\n".utf8)
        #expect(try CommandLineRun(["compare", empty, empty]).status == 1)
        for options in [
            ["--from", "yesterday"], ["--window", "-1"], ["--tolerance", "-1"],
            ["--from", "2026-02-01T00:00:00Z", "--until", "2026-02-01T00:00:00Z"],
        ] {
            #expect(try CommandLineRun(["compare"] + options + [empty, empty]).status == 64, "\(options)")
        }
        #expect(try CommandLineRun(["compare", "-", "-"]).status == 64)
        try FileManager.default.removeItem(at: folder)
    }

    @Test("Names the line that is no event, and shows nothing of it")
    func invalid() throws {
        let broken = try file("broken.jsonl", "\n{\"secret\":1}\n".utf8)
        let run = try CommandLineRun(["compare", broken, broken])
        #expect(run.status == 65)
        #expect(run.errors.contains("line 2"))
        #expect(!run.errors.contains("secret"))
        try FileManager.default.removeItem(at: folder)
    }
}
