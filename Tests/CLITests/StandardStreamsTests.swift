import Foundation
import Normalizer
import Testing

@Suite("lifecycle and what it reads from and writes to", .timeLimit(.minutes(5)))
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

    @Test("A file that cannot be read is named, with why, and where to read on")
    func unreadable() throws {
        try withFolder { folder in
            let missing = folder.appendingPathComponent("missing").path
            for (path, obstacle) in [(folder.path, "it is a folder"), (missing, "there is no such file")] {
                for command in ["check", "state", "explain"] {
                    let run = try CommandLineRun([command, path])
                    #expect(run.status == 64)
                    #expect(
                        run.errors == """
                            Error: \(path) cannot be read: \(obstacle)
                              See 'lifecycle \(command) --help' for more information.

                            """
                    )
                }
            }
            let run = try CommandLineRun(["coverage", "--vectors", missing])
            #expect(run.status == 64)
            #expect(
                run.errors.hasPrefix("Error: \(missing)/\(Provider.adapted[0]) cannot be read: there is no such file\n")
            )
        }
    }

    @Test("A wrong configuration is reported with the place of its error")
    func wrongConfigurations() throws {
        try withFolder { folder in
            let file = folder.appendingPathComponent("config.json").path
            func errors(_ text: String, _ provider: String = "stripe") throws -> String {
                try Data(text.utf8).write(to: URL(fileURLWithPath: file))
                let run = try CommandLineRun(["normalize", "--provider", provider, "--config", file, "-"])
                #expect(run.status == 64)
                return run.errors
            }
            #expect(try errors("").hasPrefix("Error: \(file): document ends early"))
            let unknown = "Error: --provider must be \(Provider.choice)\n"
            #expect(try errors("{}", "strpie").hasPrefix(unknown))
            let misspelled = #"{"secrets":["whsec_x"],"tolerance":1,"\u0000":2}"#
            let member = "Error: the configuration has an unknown member tolerance; its members are kind, livemode"
            #expect(try errors(misspelled).hasPrefix(member))
            let strange = #"{"secrets":["whsec_x"],"sk_live_1":1}"#
            let hidden = try errors(strange)
            #expect(!hidden.contains("sk_live"))
        }
    }

    @Test("A webhook without TLS elsewhere is refused with what to do")
    func plainWebhook() throws {
        let run = try CommandLineRun(["simulate", "refund", "--provider", "stripe", "--post", "http://example.com/"])
        #expect(run.status == 64)
        #expect(
            run.errors.hasPrefix("Error: --post: without TLS only the loopback interface can be reached; use https\n")
        )
    }

    @Test("A last line without its end is a line", arguments: ["", "\n", "\r\n"])
    func lastLine(end: String) throws {
        try withFolder { folder in
            let events = folder.appendingPathComponent("events.jsonl")
            #expect(try CommandLineRun(["demo", "--out", events.path]).status == 0)
            let text = String(decoding: try Data(contentsOf: events), as: UTF8.self)
            let whole = try CommandLineRun(["state", "-"], input: Data(text.utf8))
            let bare = text.split(separator: "\n").joined(separator: "\n")
            let run = try CommandLineRun(["state", "-"], input: Data((bare + end).utf8))
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.output == whole.output)
        }
    }
}
