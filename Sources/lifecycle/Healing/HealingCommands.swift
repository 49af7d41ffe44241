#if CommandLineTool
import ArgumentParser
import Foundation
import LifecycleJournal

/// The provider to ask, and its configuration.
struct ProviderOptions: ParsableArguments {
    @Option(help: "The provider to ask: \(ProviderAccess.choice).")
    var provider: String

    @Option(help: ArgumentHelp("The configuration for asking the provider, a JSON file.", valueName: "file"))
    var config: String

    static let sourceHelp: ArgumentHelp =
        "Your name for the app, the account or its mode, as your host names it, if you have several of a provider."

    func withAccess(_ body: (ProviderAccess) async throws -> Void) async throws {
        try await ProviderAccess(Provider(rawValue: provider), path: config).use(body)
    }
}

/// `lifecycle preflight`
struct PreflightCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "preflight",
        abstract: "Checks the credentials for a provider, and names each problem.",
        discussion: ProviderAccess.help
            + "\n\nExit status: 69 where the provider refuses the credentials or cannot be asked."
    )

    @OptionGroup var options: ProviderOptions
    @OptionGroup var output: OutputOptions

    func run() async throws { try await options.withAccess(run) }

    private func run(with access: ProviderAccess) async throws {
        let findings = await access.check()
        try output.print(findings, heads: ["NAME", "RESULT", "ADVICE"]) { finding in
            [finding.name, finding.isPassed ? "passed" : "failed", finding.advice]
        }
        if findings.contains(where: { !$0.isPassed }) { throw ExitCode.unavailable }
    }
}

/// `lifecycle backfill`
struct BackfillCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backfill",
        abstract: "Takes in events from while your server was down, and asks about open questions.",
        discussion: """
            Reads the provider's own memory from the last position (Apple keeps notifications for 180 days, Stripe events and \
            Google Play voided purchases for 30); at first from the first notification on that the journal has of the app or \
            account and its environment. Then it asks \
            about every purchase that is due, as `lifecycle reconcile` does. If the provider has forgotten a part, it asks about \
            all purchases of the provider. RevenueCat has no memory, so all of its purchases are asked about.

            Each source has a place of its own. If you have two accounts of Stripe, or one's live and test mode, give each a name \
            with --source: otherwise the second one is read only from where the first one ended.

            Every line of output is a JSON object; progress goes to standard error. You can interrupt it and run it again at any \
            time.

            \(ProviderAccess.help)

            Exit status: 1 if the provider has forgotten a part, 69 if it could not be asked.
            """
    )

    @OptionGroup var options: ProviderOptions
    @OptionGroup var database: DatabaseOptions

    @Option(
        help: ArgumentHelp(
            "Read everything since then, also if it was read only from later on, \(Moment.form).",
            valueName: "time"
        ),
        transform: Moment.init
    )
    var since: Moment?

    @Option(help: ProviderOptions.sourceHelp)
    var source: String?

    func run() async throws { try await options.withAccess(run) }

    private func run(with access: ProviderAccess) async throws {
        let journal = try await database.journal()
        var hasGap = false
        for history in access.histories {
            let report: Journal.Backfill
            do {
                report = try await journal.backfill(from: history, as: source, since: since?.date) { progress in
                    StandardError.write(
                        "\(progress.history): \(progress.pages) pages, \(progress.deliveries) deliveries, \(progress.newEvents) new"
                    )
                }
            } catch {
                StandardError.write("\(error)")
                throw ExitCode.unavailable
            }
            try StandardOutput.write(line: CanonicalJSON.bytes(report))
            if let gap = report.gap {
                hasGap = true
                StandardError.write(
                    "\(report.history) has forgotten \(gap.from.formatted(.iso8601)) to \(gap.until.formatted(.iso8601))"
                )
            }
        }
        // A provider without a memory of its deliveries is asked about everything.
        if access.histories.isEmpty {
            try await database.reachable { () async throws(JournalError) in
                _ = try await journal.askAgain(about: access.provider)
            }
        }
        try await reconcile(journal, with: access, in: database)
        if hasGap { throw ExitCode.differs }
    }
}

/// `lifecycle reconcile`
struct ReconcileCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconcile",
        abstract: "Asks a provider about every purchase with an open question.",
        discussion: """
            An example is a purchase whose period ended without a notification. Prints the result as a JSON object.

            \(ProviderAccess.help)

            Exit status: 69 if the provider could not be asked, or refused the credentials.
            """
    )

    @OptionGroup var options: ProviderOptions
    @OptionGroup var database: DatabaseOptions

    @Flag(help: "Ask about all purchases of the provider, due or not.")
    var all = false

    func run() async throws { try await options.withAccess(run) }

    private func run(with access: ProviderAccess) async throws {
        let journal = try await database.journal()
        if all {
            try await database.reachable { () async throws(JournalError) in
                _ = try await journal.askAgain(about: access.provider)
            }
        }
        try await reconcile(journal, with: access, in: database)
    }
}

/// `lifecycle refetch`
struct RefetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refetch",
        abstract: "Asks a provider about one purchase now, and prints the events that were new.",
        discussion: """
            \(ProviderAccess.help)

            Exit status: 66 if the provider does not know the purchase, 69 if it could not be asked.
            """
    )

    @OptionGroup var options: ProviderOptions
    @OptionGroup var database: DatabaseOptions

    @Argument(help: "The purchase, such as app_store/production/2000000123456789.")
    var purchase: String

    func run() async throws {
        guard let lineage = SubscriptionID(purchase) else {
            throw ValidationError(
                "a purchase is store/environment/id, such as app_store/production/2000000123456789, not \(purchase)"
            )
        }
        try await options.withAccess { access in try await refetch(lineage, with: access) }
    }

    private func refetch(_ lineage: SubscriptionID, with access: ProviderAccess) async throws {
        let journal = try await database.journal()
        let applied: [AppliedEvent]?
        do {
            applied = try await journal.refetch(lineage, with: access.questions)
        } catch {
            StandardError.write("\(error)")
            throw ExitCode.unavailable
        }
        guard let applied else {
            StandardError.write("the provider does not know the purchase, or cannot be asked by its name")
            throw ExitCode.nothingFound
        }
        for event in applied where event.isNews { try StandardOutput.write(line: CanonicalJSON.bytes(event)) }
    }
}

/// Asks the due questions, and prints the result.
private func reconcile(_ journal: Journal, with access: ProviderAccess, in database: DatabaseOptions) async throws {
    let report = try await database.reachable { () async throws(JournalError) in
        try await journal.reconcile(
            with: access.questions,
            replaying: access.adapter.map { [access.provider.rawValue: $0] } ?? [:]
        )
    }
    try StandardOutput.write(line: CanonicalJSON.bytes(report))
    if report.exhausted > 0 {
        let questions = try await database.reachable { () async throws(JournalError) in
            try await journal.exhaustedQuestions()
        }
        for question in questions {
            StandardError.write("\(question.subscription): given up asking (\(question.reason))")
        }
    }
    guard report.stopped.isEmpty else {
        for (name, code) in report.stopped { StandardError.write("\(name) cannot be asked: \(code)") }
        throw ExitCode.unavailable
    }
}
#endif
