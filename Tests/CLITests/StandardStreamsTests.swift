import Foundation
import Testing

@Suite("lifecycle and what it reads from and writes to", .timeLimit(.minutes(3)))
struct StandardStreamsTests {
    private func withFolder(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("streams-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try body(folder)
    }

    @Test("A full disk, and standard output that is closed, end with 74 and a line that says so")
    func fullDisk() throws {
        try withFolder { folder in
            let events = folder.appendingPathComponent("events.jsonl").path
            #expect(try CommandLineRun(["demo", "--out", events]).status == 0)
            for command in [
                "simulate --list", "state '\(events)'", "explain '\(events)'", "compare '\(events)' '\(events)'",
                "demo --out '\(events)'", "chaos test --rounds 1",
            ] {
                for output in ["/dev/full", "&-"] {
                    let run = try CommandLineRun(shell: "\"$0\" \(command) >\(output)")
                    #expect(run.status == 74, "\(command) >\(output)")
                    #expect(run.errors == "standard output cannot be written\n", "\(command) >\(output)")
                }
            }
        }
    }

    @Test("Standard error that takes nothing changes no exit status")
    func noStandardError() throws {
        for errors in ["/dev/full", "&-"] {
            let run = try CommandLineRun(shell: "\"$0\" check - 2>\(errors)", input: Data("{".utf8))
            #expect(run.status == 1)
        }
    }

    @Test("A file that cannot be written is named, and ends with 74")
    func unwritable() throws {
        for arguments in [
            ["demo", "--out", "/dev/null/events.jsonl"],
            ["simulate", "test", "--provider", "apple", "--out", "/dev/null"],
            ["simulate", "test", "--provider", "apple", "--serve", "--files", "/dev/null"],
        ] {
            let run = try CommandLineRun(arguments)
            #expect(run.status == 74, "\(arguments)")
            #expect(run.errors.hasPrefix("/dev/null/") && run.errors.hasSuffix(" cannot be written\n"), "\(run.errors)")
        }
    }

    @Test("Reads a pipe like a file")
    func pipe() throws {
        try withFolder { folder in
            let events = folder.appendingPathComponent("events.jsonl").path
            #expect(try CommandLineRun(["demo", "--out", events]).status == 0)
            let at = "2026-03-25T00:00:00Z"
            let file = try CommandLineRun(["state", "--at", at, events])
            #expect(file.status == 0)
            for command in ["/dev/stdin", "-"] {
                let pipe = try CommandLineRun(shell: "cat '\(events)' | \"$0\" state --at \(at) \(command)")
                #expect(pipe.status == 0, "\(pipe.errors)")
                #expect(pipe.output == file.output)
            }
        }
    }

    @Test("Standard input that cannot be read is wrong usage")
    func noStandardInput() throws {
        for input in ["/", "&-"] {
            let run = try CommandLineRun(shell: "\"$0\" state - <\(input)")
            #expect(run.status == 64)
            #expect(run.errors.hasPrefix("Error: standard input cannot be read\n"), "\(run.errors)")
        }
    }
}
