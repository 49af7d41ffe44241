import Foundation
import NotificationSimulator
import Normalizer
import Testing

@Suite("lifecycle check")
struct CheckCommandTests {
    private static let folder = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("TestVectors")

    private static var files: [String] {
        let enumerator = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        return (enumerator?.compactMap { ($0 as? URL)?.path } ?? []).filter { $0.hasSuffix(".jsonl") }.sorted()
    }

    @Test("All committed vectors are as expected, in the same words whatever the number of jobs")
    func committed() throws {
        let files = Self.files.filter { !$0.contains("/state/") }
        try #require(!files.isEmpty)
        let one = try CommandLineRun(["check", "--jobs", "1"] + files)
        let eight = try CommandLineRun(["check", "--jobs", "8"] + files)
        #expect(one.status == 0, "\(one.errors)")
        #expect(eight.status == 0)
        #expect(one.output == eight.output)
        #expect(one.output.split(separator: "\n").count >= 150)
        #expect(one.errors == eight.errors)
        #expect(one.output.contains(#""anomalies":["gracePeriodExpiresDate"]"#))
    }

    @Test("Events and statements that it prints go into a log as they are")
    func areLines() throws {
        let file = try #require(Self.files.first { $0.hasSuffix("stripe/invoice.jsonl") })
        let results = try CommandLineRun(["check", file]).output.split(separator: "\n").map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        let statements = results.flatMap { $0["statements"] as? [Any] ?? [] }
        #expect(!statements.isEmpty)
        let lines = try (results.flatMap { $0["events"] as? [Any] ?? [] } + statements).map {
            String(decoding: try JSONSerialization.data(withJSONObject: $0), as: UTF8.self)
        }
        let state = try CommandLineRun(["state", "-"], input: Data(lines.joined(separator: "\n").utf8))
        #expect(state.status == 0, "\(state.errors)")
    }

    private func run(_ lines: [String]) throws -> CommandLineRun {
        try CommandLineRun(["check", "-"], input: Data(lines.joined(separator: "\n").utf8))
    }

    private func line(expect: String, _ more: String = "") throws -> String {
        let simulator = try AppleSimulator(seed: "check")
        let start = Date(timeIntervalSince1970: 1_767_225_600)
        let delivery = try #require(try simulator.deliveries(.life, from: start).first)
        return """
            {"id":"case","provider":"apple","body_base64":"\(Data(delivery.body).base64EncodedString())",\
            "config":{"roots":["\(Data(simulator.rootCertificate).base64EncodedString())"],\
            "bundleId":"\(simulator.bundleId)","appAppleId":\(simulator.appAppleId),"environment":"Production",\
            "now":1767225601000},"expect":"\(expect)"\(more)}
            """
    }

    @Test("A case that differs is named, with what differs, and the exit status is 1")
    func differs() throws {
        for (expect, more, difference) in [
            ("reject", "", "expected reject, got accept with 1 events"),
            ("accept", #","events":[]"#, "expected 0 events, got 1: started"),
            (
                "accept", #","events":[{"kind":"expired"}],"match":"subset""#,
                #"events[0].kind: expected "expired", got "started""#
            ),
            (
                "accept", #","events":[{"kind":"started","gone":1}],"match":"subset""#,
                "events[0].gone: expected 1, got no such member"
            ),
            ("accept", #","events":[{"kind":"started"}]"#, "events[0]: expected no further member, got account, "),
        ] {
            let run = try run([try line(expect: expect, more)])
            #expect(run.status == 1)
            #expect(run.output.contains(#""matched":false"#))
            #expect(run.errors.contains("case: "))
            #expect(run.errors.contains(difference), "\(run.errors)")
        }
    }

    @Test("A subset of an event's members can be enough")
    func subset() throws {
        let run = try run([try line(expect: "accept", #","events":[{"kind":"started"}],"match":"subset""#)])
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains(#""matched":true"#))
        #expect(run.output.contains(#""answer":200"#))
    }

    @Test("More jobs than cases are no more than the cases")
    func jobs() throws {
        let run = try CommandLineRun(
            shell: "timeout 60 \"$0\" check --jobs \(Int.max) -",
            input: Data(try line(expect: "reject").utf8)
        )
        #expect(run.status == 1, "\(run.errors)")
    }

    @Test("A file without a case is no success, alone or beside others", arguments: ["", "\n \r\n"])
    func nothingToRun(content: String) throws {
        let alone = try CommandLineRun(["check", "-"], input: Data(content.utf8))
        #expect(alone.status == 1)
        #expect(alone.errors.contains("-: no case in this file"))
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("cases-\(UUID().uuidString).jsonl")
        defer { try? FileManager.default.removeItem(at: file) }
        try Data(content.utf8).write(to: file)
        let vector = try line(expect: "accept", #","events":[{"kind":"started"}],"match":"subset""#)
        let beside = try CommandLineRun(["check", "-", file.path], input: Data(vector.utf8))
        #expect(beside.status == 1)
        #expect(beside.errors.contains("\(file.lastPathComponent): no case in this file"))
        #expect(beside.errors.contains("1 as expected"))
    }

    @Test("A line that is no case is reported and counts")
    func unreadable() throws {
        let run = try run(["{", #"{"id":"x"}"#, ""])
        #expect(run.status == 1)
        #expect(run.output.isEmpty)
        #expect(run.errors.contains("-:1: not a test vector"))
        #expect(run.errors.contains("2 not readable"))
    }
}
