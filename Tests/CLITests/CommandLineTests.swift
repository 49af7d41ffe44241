import Foundation
import Testing

@testable import lifecycle

@Suite("lifecycle, whatever the subcommand")
struct CommandLineTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private func withEvents(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("whole-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let events = folder.appendingPathComponent("events.jsonl")
        try #require(try CommandLineRun(["demo", "--out", events.path]).status == 0)
        try body(events)
    }

    /// Runs a script with a terminal as standard output and standard error.
    private func terminal(_ script: String) throws -> CommandLineRun {
        try CommandLineRun(shell: "script -qec \"\(script)\" /dev/null")
    }

    @Test("The version is the changelog's: the last one, or the next one while it is worked on")
    func version() throws {
        let changelog = try String(contentsOf: Self.root.appendingPathComponent("CHANGELOG.md"), encoding: .utf8)
        let headings = changelog.split(separator: "\n").filter {
            $0.hasPrefix("## ") || $0.hasPrefix("### What version")
        }
        let next = headings.first { $0.hasPrefix("### What version") }?.split(separator: " ")[3]
        let last = headings.first { $0.hasPrefix("## ") && !$0.contains("Unreleased") }?.split(separator: " ")[1]
        let expected = try #require(next.map { "\($0)-dev" } ?? last.map(String.init))
        let run = try CommandLineRun(["--version"])
        #expect(run.status == 0)
        #expect(run.output == "\(expected)\n")
    }

    @Test("The help and the page name the same exit statuses")
    func statuses() throws {
        let page = try String(contentsOf: Self.root.appendingPathComponent("docs/command-line.md"), encoding: .utf8)
        let rows = page.split(separator: "\n").filter { $0.hasPrefix("| ") && $0.dropFirst(2).first?.isNumber == true }
        #expect(rows.map(String.init) == ExitStatus.meanings.map { "| \($0.code) | \($0.meaning) |" })
        let help = try CommandLineRun(["--help"]).output
            .split(whereSeparator: \.isWhitespace).joined(separator: " ")
        for (code, meaning) in ExitStatus.meanings { #expect(help.contains("\(code) \(meaning)")) }
    }

    @Test("Input without an event, and an account without a purchase, end with 66 and a line that says so")
    func nothing() throws {
        try withEvents { events in
            let policy = events.deletingLastPathComponent().appendingPathComponent("policy")
            try Data(#"{"allowances":{"pro":{"credits":1}}}"#.utf8).write(to: policy)
            for command in [["state"], ["explain"], ["report"], ["credits", "--policy", policy.path]] {
                let empty = try CommandLineRun(command + ["-"], input: Data("\n \n".utf8))
                #expect(empty.status == 66, "\(command)")
                #expect(empty.output.isEmpty && empty.errors == "the input has no event\n", "\(command)")
                let stranger = try CommandLineRun(command + ["--account", "stranger", events.path])
                #expect(stranger.status == 66, "\(command)")
                #expect(stranger.output.isEmpty && stranger.errors == "no purchase belongs to this account\n")
            }
        }
    }

    @Test("A date alone is its midnight in UTC, wherever a time is taken, and another text is refused with an example")
    func dates() throws {
        try withEvents { events in
            let (path, folder) = (events.path, events.deletingLastPathComponent().path)
            let journal = "sqlite:\(folder)/journal.sqlite"
            #expect(try CommandLineRun(["journal", "init", "--database", journal]).status == 0)
            let commands: [(String) -> [String]] = [
                { ["state", path, "--at", $0] }, { ["explain", path, "--at", $0] },
                { ["report", path, "--at", $0] }, { ["compare", path, path, "--from", $0] },
                { ["compare", path, path, "--until", $0] },
                { ["simulate", "test", "--out", folder, "--start", $0] },
                { ["chaos", "test", "--rounds", "1", "--start", $0] },
                { ["journal", "due", "--database", journal, "--at", $0] },
                { ["journal", "state", "a", "--source", "app_user_id", "--database", journal, "--at", $0] },
            ]
            for command in commands {
                let (date, time) = (
                    try CommandLineRun(command("2026-03-28")), try CommandLineRun(command("2026-03-28T00:00:00Z"))
                )
                #expect(date.status == time.status && date.status != 64, "\(command("…")): \(date.errors)")
                #expect(date.output == time.output)
                for text in ["yesterday", "2026-02-30", "2026-3-28"] {
                    let run = try CommandLineRun(command(text))
                    #expect(run.status == 64, "\(command(text))")
                    #expect(
                        run.errors.contains("expected RFC 3339 such as 2026-01-31T09:30:00Z, or a date"),
                        "\(run.errors)"
                    )
                }
            }
        }
    }

    @Test(
        "A terminal gets words and tables, a pipe JSON, and each can have the other's",
        arguments: ["state", "explain"]
    )
    func forms(command: String) throws {
        try withEvents { events in
            let arguments = "\(command) '\(events.path)' --at 2026-03-28"
            func isJSON(_ run: CommandLineRun) -> Bool {
                run.status == 0 && run.output.split(whereSeparator: \.isNewline).allSatisfy { $0.first == "{" }
            }
            #expect(isJSON(try CommandLineRun(shell: "\"$0\" \(arguments)")))
            #expect(!isJSON(try CommandLineRun(shell: "\"$0\" \(arguments) --text")))
            #expect(isJSON(try terminal("$0 \(arguments) --json")))
            let people = try terminal("$0 \(arguments)")
            #expect(!isJSON(people) && people.output.contains("until 2026-04-27T10:00:00.000Z"), "\(people.output)")
        }
    }

    @Test("Long work shows on a terminal how far it is, and in a file nothing")
    func progress() throws {
        try withEvents { events in
            let input = "(cat '\(events.path)'; sleep 2; cat '\(events.path)') |"
            let watched = try terminal("\(input) $0 state - --json")
            #expect(watched.status == 0)
            #expect(watched.output.contains(" lines"), "\(watched.output)")
            #expect(watched.output.contains("\u{1B}[K{"), "the line is cleared before the answer")
            let unwatched = try CommandLineRun(shell: "\(input) \"$0\" state -")
            #expect(unwatched.status == 0 && unwatched.errors.isEmpty)
        }
    }
}
