#if CommandLineTool
import ArgumentParser
import Foundation
import LifecycleJournal

/// `lifecycle journal ingest`
struct JournalIngest: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest",
        abstract: "Keeps events and statements, as `normalize`, `pull` and `journal events` print them, one a line.",
        discussion: """
            A line that is there already is not kept twice, so repeat a run that was interrupted. Input without a line is no \
            error, since a webhook may give no event.

            Exit status: 65 when a line is neither an event nor a statement; the lines before it are kept.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Flag(help: "Print the number of each line once it is kept.")
    var report = false

    @Argument(help: ArgumentHelp("Files with events and statements; - reads standard input.", valueName: "file"))
    var files: [String]

    func run() async throws {
        let journal = try await options.journal()
        var (lines, new) = (0, 0)
        var progress = Progress("lines")
        for file in files {
            for line in LogFile(try opened(file), at: file) {
                let result: Normalization
                switch try line.get() {
                case .event(let event): result = Normalization([event])
                case .statement(let statement):
                    result = Normalization(noChange: .init(.unchanged, statement: statement))
                }
                let applied = try await options.reachable { () async throws(JournalError) in
                    try await journal.apply(result)
                }
                lines += 1
                if report { try StandardOutput.write("\(lines)") }
                new += applied.count
                progress.advance()
            }
        }
        StandardError.write("\(lines) lines, \(new) events new or with new facts")
    }
}

/// `lifecycle journal events`
struct JournalFeed: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Prints every event once, in the order of the log, with its disposition: applied, duplicate, …"
    )

    @OptionGroup var options: DatabaseOptions

    @Option(help: "Begin after this position.")
    var after: Int64 = 0

    @Option(help: "Print at most so many.")
    var limit: Count = 1000

    func run() async throws {
        let journal = try await options.journal()
        let events = try await options.reachable { () async throws(JournalError) in
            try await journal.events(after: after, limit: limit.number)
        }
        try options.output.print(events, heads: ["position", "kind", "disposition", "subscription", "asserted"]) {
            entry in
            let event = entry.event.event
            return [
                "\(entry.position)", event.kind.rawValue, entry.event.disposition.rawValue,
                event.subscription?.description ?? "-", event.assertedAt.formatted(.iso8601),
            ]
        }
    }
}

/// `lifecycle journal verify`
struct JournalVerify: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract:
            "Reads the whole log, and finds lines that were changed, removed or inserted, and rows that cannot be read.",
        discussion: "Exit status: 65 when anything is found."
    )

    @OptionGroup var options: DatabaseOptions

    @Option(help: ArgumentHelp("The position:chain that an earlier verification printed.", valueName: "pin"))
    var known: [String] = []

    func run() async throws {
        var pins: [Int64: String] = [:]
        for pin in known {
            let parts = pin.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, let position = Int64(parts[0]) else {
                throw ValidationError("--known must be position:chain, as `journal verify` prints it")
            }
            pins[position] = String(parts[1])
        }
        let journal = try await options.journal()
        let found = pins
        let verification = try await Progress.during("reading the log") {
            try await options.reachable { () async throws(JournalError) in try await journal.verify(known: found) }
        }
        if options.isForPeople {
            try StandardOutput.write(
                "\(verification.lines) lines, \(verification.erased) erased; \(verification.position):\(verification.chain)"
            )
            for finding in verification.findings { try StandardOutput.write(finding) }
        } else {
            try StandardOutput.write(line: CanonicalJSON.bytes(verification))
        }
        if !verification.findings.isEmpty { throw ExitCode.rejected }
    }
}

/// `lifecycle journal rebuild`
struct JournalRebuild: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rebuild",
        abstract: "Joins every state from the log again and compares it with the stored one.",
        discussion: "Exit status: 65 when any differs and --repair is not given."
    )

    @OptionGroup var options: DatabaseOptions

    @Flag(help: "Store the log's state where the two differ.")
    var repair = false

    func run() async throws {
        let journal = try await options.journal()
        let rebuild = try await Progress.during("joining the states") {
            try await options.reachable { () async throws(JournalError) in try await journal.rebuild(repairing: repair)
            }
        }
        if options.isForPeople {
            try StandardOutput.write("\(rebuild.purchases) purchases, \(rebuild.differing.count) differ")
            for lineage in rebuild.differing { try StandardOutput.write("\(lineage)") }
        } else {
            try StandardOutput.write(line: CanonicalJSON.bytes(rebuild))
        }
        if !rebuild.differing.isEmpty, !repair { throw ExitCode.rejected }
    }
}
#endif
