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
            What is printed is not given out again for the length of the lease. With --done it is not given out again at all: \
            use that where whoever reads the output has it safe.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Option(help: "Takes at most so many.")
    var limit: Int = 100

    @Option(help: "How many seconds the lease lasts.")
    var lease: Int = 60

    @Flag(help: "Says that what is printed is done.")
    var done = false

    @Flag(help: "Prints what was given up instead, and takes nothing.")
    var abandoned = false

    private struct Row: Encodable {
        var id: String
        var attempts: Int
        var event: AppliedEvent
    }

    func run() async throws {
        let journal = try await options.journal()
        let items = try await options.reachable { () async throws(JournalError) in
            abandoned
                ? try await journal.outbox.abandoned(limit: limit)
                : try await journal.outbox.next(limit, lease: .seconds(lease))
        }
        let rows = items.map { Row(id: $0.id, attempts: $0.attempts, event: $0.value) }
        try options.print(rows, ["id", "kind", "subscription", "attempts"]) { row in
            [
                row.id, row.event.event.kind.rawValue, row.event.event.subscription?.description ?? "-",
                "\(row.attempts)",
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
        abstract: "Prints what has to be done: look-ups, purchases to acknowledge, questions to answer."
    )

    @OptionGroup var options: DatabaseOptions

    @Option(help: ArgumentHelp("Until when, RFC 3339; by default the present.", valueName: "date"))
    var at: String?

    @Option(help: "Prints at most so many.")
    var limit: Int = 100

    func run() async throws {
        let journal = try await options.journal()
        let moment = try at.map { try EventInput.moment($0) } ?? Date()
        let items = try await options.reachable { () async throws(JournalError) in
            try await journal.due(at: moment, limit: limit)
        }
        try options.print(items, ["kind", "due", "deadline", "subscription"]) { item in
            [
                item.kind.rawValue, item.dueAt.formatted(.iso8601), item.deadline?.formatted(.iso8601) ?? "-",
                item.subscription?.description ?? "-",
            ]
        }
    }
}

/// `lifecycle journal quarantine`
struct JournalQuarantine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quarantine",
        abstract: "Lists deliveries that could not be taken in, or deletes them.",
        discussion:
            "The body of a delivery is printed in JSON alone, and its header fields, which are credentials, never."
    )

    @OptionGroup var options: DatabaseOptions

    @Option(help: "Prints at most so many.")
    var limit: Int = 100

    @Option(help: ArgumentHelp("Deletes the delivery of this id.", valueName: "id"))
    var discard: [String] = []

    private struct Row: Encodable {
        var id: String
        var source: String
        var reason: String
        @EventTime var receivedAt: Date
        var body: String

        private enum CodingKeys: String, CodingKey {
            case id, source, reason, body
            case receivedAt = "received_at"
        }
    }

    func run() async throws {
        let journal = try await options.journal()
        let entries = try await options.reachable { () async throws(JournalError) in
            try await journal.quarantine.list(limit: discard.isEmpty ? limit : 10_000)
        }
        guard discard.isEmpty else {
            for entry in entries where discard.contains(entry.id) {
                try await options.reachable { () async throws(JournalError) in
                    _ = try await journal.quarantine.discard(entry)
                }
            }
            return
        }
        let rows = entries.map { entry in
            Row(
                id: entry.id,
                source: entry.source,
                reason: entry.reason,
                receivedAt: entry.delivery.receivedAt,
                body: String(decoding: entry.delivery.body, as: UTF8.self)
            )
        }
        try options.print(rows, ["received", "source", "reason", "bytes"]) { row in
            [row.receivedAt.formatted(.iso8601), row.source, row.reason, "\(row.body.utf8.count)"]
        }
    }
}

/// `lifecycle journal export`
struct JournalExport: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Prints everything that is known of an account, as one JSON object."
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
    }
}

/// `lifecycle journal erase`
struct JournalErase: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "erase",
        abstract: "Removes everything that is known of an account and its purchases.",
        discussion: "It cannot be undone. Ids and digests stay, so that nothing is told again."
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
    }
}
#endif
