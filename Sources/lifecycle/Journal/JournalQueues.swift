#if CommandLineTool
import ArgumentParser
import Foundation
import LifecycleJournal

/// `lifecycle journal outbox`
struct JournalOutbox: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "outbox",
        abstract: "Takes news out of the outbox, one event a line.",
        discussion: """
            An event that is printed is not given out again while its lease lasts. With --done it is never given out again: \
            use that when the reader of the output has stored it.

            Exit status: 66 when an id that is to be discarded is not that of news that was given up; then nothing was done.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Option(help: "Take at most so many.")
    var limit: Count = 100

    @Option(help: "Seconds that the lease lasts.")
    var lease: Count = 60

    @Flag(help: "Mark the printed events as done.")
    var done = false

    @Flag(help: "Print the events that were given up instead, and take none.")
    var abandoned = false

    @Option(help: ArgumentHelp(discardHelp("the news"), valueName: "id"))
    var discard: [String] = []

    private struct Row: Encodable {
        var id: String
        var attempts: Int
        var reason: String?
        var event: AppliedEvent
    }

    func validate() throws {
        guard discard.isEmpty || !(done || abandoned) else { throw ValidationError("give --discard alone") }
    }

    func run() async throws {
        let journal = try await options.journal()
        guard discard.isEmpty else { return try await options.discard(discard, from: journal.outbox) }
        let items = try await options.reachable { () async throws(JournalError) in
            abandoned
                ? try await journal.outbox.abandoned(limit: limit.number)
                : try await journal.outbox.next(limit.number, lease: .seconds(lease.number))
        }
        let rows = items.map { Row(id: $0.id, attempts: $0.attempts, reason: $0.failure, event: $0.value) }
        try options.output.print(rows, heads: ["id", "kind", "subscription", "attempts", "reason"]) { row in
            [
                row.id, row.event.event.kind.rawValue, row.event.event.subscription?.description ?? "-",
                "\(row.attempts)", row.reason ?? "-",
            ]
        }
        guard done, !abandoned else { return }
        for item in items {
            try await options.reachable { () async throws(JournalError) in _ = try await journal.outbox.done(item) }
        }
    }
}

/// `lifecycle journal due`
struct JournalDue: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "due",
        abstract: "Prints your duties: purchases to acknowledge, questions about refunds, what you have scheduled.",
        discussion: """
            With --questions, prints the open questions to providers instead, which lifecycle reconcile asks; with --abandoned, the \
            duties that were given up, whenever they were due.

            Exit status: 66 when an id that is to be discarded is not that of a duty that was given up; then nothing was done.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Option(
        help: ArgumentHelp("Duties until then, \(Moment.form); by default the present.", valueName: "time"),
        transform: Moment.init
    )
    var at: Moment?

    @Option(help: "Print at most so many.")
    var limit: Count = 100

    @Flag(help: "Print the open questions to providers instead.")
    var questions = false

    @Flag(help: "Print the duties that were given up instead.")
    var abandoned = false

    @Option(help: ArgumentHelp(discardHelp("the duty"), valueName: "id"))
    var discard: [String] = []

    private struct Abandoned: Encodable {
        var duty: DueItem
        var reason: String?
        var attempts: Int
    }

    func validate() throws {
        let others = [questions, abandoned, !discard.isEmpty].filter(\.self).count
        guard others < 2, others == 0 || questions || at == nil else {
            throw ValidationError("give one of --questions, --abandoned and --discard, the last two without --at")
        }
    }

    func run() async throws {
        let journal = try await options.journal()
        guard discard.isEmpty else { return try await options.discard(discard, from: journal.duties) }
        guard !abandoned else { return try await printAbandoned(journal) }
        let moment = at?.date ?? Date()
        let items = try await options.reachable { () async throws(JournalError) in
            questions
                ? try await journal.questions(at: moment, limit: limit.number)
                : try await journal.due(at: moment, limit: limit.number)
        }
        try options.output.print(items, heads: ["kind", "due", "deadline", "subscription"]) { item in
            [
                item.kind.rawValue, item.dueAt.formatted(.iso8601), item.deadline?.formatted(.iso8601) ?? "-",
                item.subscription?.description ?? "-",
            ]
        }
    }

    private func printAbandoned(_ journal: Journal) async throws {
        let items = try await options.reachable { () async throws(JournalError) in
            try await journal.duties.abandoned(limit: limit.number)
        }
        let rows = items.map { Abandoned(duty: $0.value, reason: $0.failure, attempts: $0.attempts) }
        try options.output.print(rows, heads: ["id", "deadline", "subscription", "reason"]) { row in
            [
                row.duty.id, row.duty.deadline?.formatted(.iso8601) ?? "-", row.duty.subscription?.description ?? "-",
                row.reason ?? "-",
            ]
        }
    }
}

/// How `--discard` is explained.
private func discardHelp(_ item: String) -> String {
    "Put \(item) of this id away, which was given up. The row stays, and is not listed any more."
}

/// `lifecycle journal export`
struct JournalExport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints everything that is known of an account, as one JSON object.",
        discussion: "Exit status: 66 when no purchase belongs to the account."
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var account: AccountOptions

    func run() async throws {
        let journal = try await options.journal()
        let identifier = account.identifier
        let export = try await options.reachable { () async throws(JournalError) in
            try await journal.export(identifier)
        }
        try StandardOutput.write(line: CanonicalJSON.bytes(export))
        if export.states.isEmpty, export.transfers.isEmpty, export.uses.isEmpty { throw account.unknown() }
    }
}

/// `lifecycle journal erase`
struct JournalErase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Removes everything that is known of an account and its purchases.",
        discussion: """
            This cannot be undone. Ids and digests stay, so that no event is reported again.

            Exit status: 66 when no purchase belongs to the account.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var account: AccountOptions

    func run() async throws {
        let journal = try await options.journal()
        let identifier = account.identifier
        let erasure = try await options.reachable { () async throws(JournalError) in
            try await journal.erase(identifier)
        }
        try StandardOutput.write(line: CanonicalJSON.bytes(erasure))
        if erasure.lineages.isEmpty { throw account.unknown() }
    }
}
#endif
