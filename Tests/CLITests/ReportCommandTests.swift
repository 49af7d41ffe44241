import Foundation
import Testing

@Suite("lifecycle report") struct ReportCommandTests {
    private func events() throws -> URL {
        let events = FileManager.default.temporaryDirectory.appendingPathComponent("report-\(UUID().uuidString).jsonl")
        try #require(try CommandLineRun(["demo", "--out", events.path]).status == 0)
        return events
    }

    @Test("shows the purchases of a log, and of one account alone")
    func page() throws {
        let events = try events()
        defer { try? FileManager.default.removeItem(at: events) }
        let all = try CommandLineRun(["report", events.path, "--html", "--at", "2026-03-25T00:00:00Z"])
        #expect(all.status == 0, "\(all.errors)")
        #expect(all.output.hasPrefix("<!DOCTYPE html>"))
        let sections = all.output.components(separatedBy: "<section").count - 1
        #expect(sections > 1)
        let account = "69e7cb3a-c7a9-421f-a7e1-d4d502395a33"
        let one = try CommandLineRun(["report", events.path, "--account", account, "--at", "2026-03-25T00:00:00Z"])
        #expect(one.status == 0, "\(one.errors)")
        #expect((1..<sections).contains(one.output.components(separatedBy: "<section").count - 1))
    }
}
