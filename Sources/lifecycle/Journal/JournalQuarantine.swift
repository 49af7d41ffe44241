#if CommandLineTool
import ArgumentParser
import Foundation
import LifecycleJournal

/// `lifecycle journal quarantine`
struct JournalQuarantine: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "quarantine",
        abstract: "Lists deliveries that could not be taken in, tries them again, or deletes them.",
        discussion: """
            --replay and --replay-all give deliveries to their provider's adapter once more, after an update or a change of the \
            configuration. They print the decision for each delivery: accept means that it was taken in, and every other one \
            stays in quarantine. One run replays the deliveries of one source. When the provider cannot be asked about five \
            deliveries in a row, --replay-all stops and says how many are left.

            A body holds personal data, so it is printed only with --bodies, in JSON. Header fields are credentials and are never \
            printed.

            \(ProviderAccess.help)

            Messages that the gateway pulled from Pub/Sub have no proof of their own: replay them at the gateway.

            Exit status: 65 when a replayed delivery stays in quarantine, 66 when no delivery has an id that was given (then \
            nothing was done), 69 when a provider could not be asked about a replayed delivery.
            """
    )

    @OptionGroup var options: DatabaseOptions

    @Option(help: "Print at most so many.")
    var limit: Count = 100

    @Flag(help: "Print whole bodies, in JSON.")
    var bodies = false

    @Option(help: ArgumentHelp("Try the delivery of this id again.", valueName: "id"))
    var replay: [String] = []

    @Flag(help: "Try every delivery of the source again.")
    var replayAll = false

    @Option(help: ArgumentHelp("Delete the delivery of this id.", valueName: "id"))
    var discard: [String] = []

    @Option(help: "The provider of the deliveries to try again: \(ProviderAccess.choice).")
    var provider: String?

    @Option(help: ArgumentHelp("The configuration of that provider, a JSON file.", valueName: "file"))
    var config: String?

    @Option(help: "The source that the configuration is for, as your host names it; by default the provider.")
    var source: String?

    func validate() throws {
        let actions = [!replay.isEmpty, replayAll, !discard.isEmpty].filter(\.self).count
        guard actions < 2 else { throw ValidationError("give one of --replay, --replay-all and --discard") }
        guard actions == 0 || !bodies else { throw ValidationError("--bodies is for the list") }
        let isReplay = replayAll || !replay.isEmpty
        guard isReplay == (provider != nil), isReplay == (config != nil), isReplay || source == nil else {
            throw ValidationError("give --provider and --config with --replay or --replay-all, and with nothing else")
        }
    }

    func run() async throws {
        if let provider, let config {
            try await ProviderAccess(Provider(rawValue: provider), path: config).use(replay)
        } else if discard.isEmpty {
            try await list()
        } else {
            let journal = try await options.journal()
            for entry in try await entries(of: discard, in: journal) {
                try await options.reachable { () async throws(JournalError) in
                    _ = try await journal.quarantine.discard(entry)
                }
            }
        }
    }

    // MARK: The list

    private struct Row: Encodable {
        var id: String
        var source: String
        var reason: String
        @EventTime var receivedAt: Date
        var bytes: Int
        var body: String?

        private enum CodingKeys: String, CodingKey {
            case id, source, reason, bytes, body
            case receivedAt = "received_at"
        }
    }

    private func list() async throws {
        let journal = try await options.journal()
        let entries = try await options.reachable { () async throws(JournalError) in
            try await journal.quarantine.list(limit: limit.number)
        }
        let rows = entries.map { entry in
            Row(
                id: entry.id,
                source: entry.source,
                reason: entry.reason,
                receivedAt: entry.delivery.receivedAt,
                bytes: entry.delivery.body.count,
                body: bodies ? String(decoding: entry.delivery.body, as: UTF8.self) : nil
            )
        }
        try options.output.print(rows, heads: ["id", "received", "source", "reason", "bytes"]) { row in
            [row.id, row.receivedAt.formatted(.iso8601), row.source, row.reason, "\(row.bytes)"]
        }
    }

    /// - Throws: `ExitCode.nothingFound` if one of them is not there.
    private func entries(of ids: [String], in journal: Journal) async throws -> [Quarantine.Entry] {
        var found: [Quarantine.Entry] = []
        var missing: [String] = []
        for id in Set(ids).sorted() {
            let entry = try await options.reachable { () async throws(JournalError) in
                try await journal.quarantine.entry(id)
            }
            if let entry { found.append(entry) } else { missing.append(id) }
        }
        guard missing.isEmpty else {
            for id in missing { StandardError.write("no delivery in quarantine has the id \(id)") }
            throw ExitCode.nothingFound
        }
        return found
    }

    // MARK: Replaying

    private struct Replayed: Encodable {
        var id: String
        var source: String
        var decision: String
        var code: String?
    }

    private func replay(with access: ProviderAccess) async throws {
        guard let adapter = access.adapter else {
            throw ValidationError(
                "the configuration does not say how deliveries of \(access.provider) are proven, see --help"
            )
        }
        let source = source ?? access.provider.rawValue
        let journal = try await options.journal()
        let chosen = try await entries(of: replay, in: journal)
        if let other = chosen.first(where: { $0.source != source }) {
            throw ValidationError("\(other.id) is of the source \(other.source): name it with --source")
        }
        var rows: [Replayed] = []
        var (isUnavailable, taken) = (false, 0)
        var all = journal.quarantine.replay(with: replayAll ? [source: adapter] : [:])
        var next = chosen[...]
        func step() async throws -> (entry: Quarantine.Entry, answer: Acknowledgement)? {
            if let entry = next.popFirst() { return (entry, await journal.quarantine.replay(entry, with: adapter)) }
            return try await options.reachable { () async throws(JournalError) in try await all.next() }
        }
        while let (entry, answer) = try await step() {
            isUnavailable = isUnavailable || answer.decision == .retryLater
            taken += answer.decision == .accept ? 1 : 0
            let row = Replayed(
                id: entry.id,
                source: entry.source,
                decision: answer.decision.rawValue,
                code: answer.code?.rawValue
            )
            rows.append(row)
            // A program learns of each at once, and of those before an interruption.
            if !options.isForPeople { try StandardOutput.write(line: CanonicalJSON.bytes(row)) }
        }
        if options.isForPeople {
            try options.output.print(rows, heads: ["id", "source", "decision", "code"]) { row in
                [row.id, row.source, row.decision, row.code ?? "-"]
            }
        }
        StandardError.write("\(rows.count) deliveries of \(source), \(taken) taken in")
        if all.stopped.contains(source) {
            let left = try await options.reachable { () async throws(JournalError) in
                try await journal.quarantine.sizes()[source]?.deliveries ?? 0
            }
            StandardError.write("stopped, since \(access.provider) cannot be asked: \(left) deliveries are left")
        }
        if isUnavailable { throw ExitCode.unavailable }
        if taken < rows.count { throw ExitCode.rejected }
    }
}
#endif
