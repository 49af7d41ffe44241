#if CommandLineTool
import ArgumentParser
import Foundation
import LifecycleJournal
import PostgresJournal
import SQLiteJournal

/// `lifecycle journal`
struct JournalCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "journal",
        abstract: "Keeps events and states in SQLite or PostgreSQL, and asks about them.",
        discussion: """
            Exit status: 65 when a line or the log is not right, 66 when no purchase belongs to the account, 69 when the \
            database cannot be reached or has the tables of another version.
            """,
        subcommands: [
            JournalInit.self, JournalIngest.self, JournalState.self, JournalExplain.self, JournalCredits.self,
            JournalFeed.self,
            JournalOutbox.self, JournalDue.self, JournalQuarantine.self, JournalRebuild.self, JournalVerify.self,
            JournalMigrate.self, JournalRestore.self, JournalExport.self, JournalErase.self,
        ]
    )
}

/// Says so where rows are passed over.
private struct PassedOverRows: JournalObserver {
    func observe(_ observation: JournalObservation) {
        guard case .unreadable = observation else { return }
        StandardError.write("rows that cannot be read were passed over; `lifecycle journal verify` names them")
    }
}

/// Which database, and how to print.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "sqlite:FILE or postgresql://…; the environment variable LIFECYCLE_DATABASE by default.",
            discussion:
                "Other users of a machine can see the arguments of a command. Put a URL with a password into the variable.",
            valueName: "url"
        )
    )
    var database: String?

    @OptionGroup var output: OutputOptions

    var isForPeople: Bool { output.isForPeople }

    private enum Location {
        case sqlite(String)
        case postgres(PostgresJournalStorage.Configuration)
    }

    private var location: Location {
        get throws {
            guard let text = database ?? ProcessInfo.processInfo.environment["LIFECYCLE_DATABASE"] else {
                throw ValidationError("name the database with --database or in the variable LIFECYCLE_DATABASE")
            }
            if text.hasPrefix("sqlite:"), text.count > 7 { return .sqlite(String(text.dropFirst(7))) }
            guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") else {
                throw ValidationError("the database must be sqlite:FILE or postgresql://…")
            }
            let configuration = PostgresJournalStorage.Configuration(url: SecretBytes(text))
            do throws(JournalError) { try configuration.validate() } catch {
                throw ValidationError("the database: \(error.message)")
            }
            return .postgres(configuration)
        }
    }

    /// A key as a gateway takes it: tokens that are sealed with another one are lost to it, and everyone knows the manual's `…`.
    private static func sealingKey(_ text: String) throws -> SecretBytes {
        guard text.utf8.count >= 32, !text.contains("…") else {
            throw ValidationError(
                "a sealing key must have 32 characters or more, such as `openssl rand -base64 32` prints"
            )
        }
        return SecretBytes(text)
    }

    /// The journal in the database, whose tables have to be there unless `migrates`.
    func journal(migrates: Bool = false) async throws -> Journal {
        let location = try location
        var options = Journal.Options()
        let environment = ProcessInfo.processInfo.environment
        options.sealingKey = try environment["LIFECYCLE_SEALING_KEY"].map(Self.sealingKey)
        let former = environment["LIFECYCLE_FORMER_SEALING_KEYS"]?.split(separator: ",") ?? []
        options.formerSealingKeys = try former.map { try Self.sealingKey($0.trimmingCharacters(in: .whitespaces)) }
        options.catalog = try environment["LIFECYCLE_CATALOG"].map { try ProductCatalog(path: $0) }
        let configured = options
        return try await reachable { () async throws(JournalError) in
            switch location {
            case .sqlite(let path):
                guard migrates || FileManager.default.fileExists(atPath: path) else {
                    throw JournalError(
                        .configuration,
                        "\(path) does not exist; `lifecycle journal init` makes it"
                    )
                }
                let storage = try await SQLiteJournalStorage(path: path, migrates: migrates)
                return Journal(storage, options: configured, observer: PassedOverRows(), now: { Date() })
            case .postgres(let configuration):
                let storage = try await PostgresJournalStorage(configuration, migrates: migrates)
                return Journal(storage, options: configured, observer: PassedOverRows(), now: { Date() })
            }
        }
    }

    /// Puts a copy in the place of the database, which has to be SQLite's.
    func restore(from copy: String) async throws {
        guard case .sqlite(let path) = try location else {
            throw ValidationError("restore PostgreSQL with pg_restore or psql first; then run this without a copy")
        }
        guard FileManager.default.fileExists(atPath: copy) else { throw ValidationError("\(copy) does not exist") }
        try await reachable { () async throws(JournalError) in
            try await SQLiteJournalStorage.restore(path: path, from: copy)
        }
    }

    /// - Returns: the version that the tables had.
    func migrate() async throws -> Int64 {
        let location = try location
        return try await reachable { () async throws(JournalError) in
            switch location {
            case .sqlite(let path): try await SQLiteJournalStorage.migrate(path: path)
            case .postgres(let configuration): try await PostgresJournalStorage.migrate(configuration)
            }
        }
    }

    /// Puts items of a queue away that were given up.
    ///
    /// - Throws: `ExitCode.nothingFound` if one of them was not given up, or was put away already; then nothing was done.
    func discard<Value>(_ ids: [String], from queue: JournalQueue<Value>) async throws {
        var items: [JournalQueue<Value>.Item] = []
        var missing: [String] = []
        for id in Set(ids).sorted() {
            let item = try await reachable { () async throws(JournalError) in try await queue.abandoned(id: id) }
            if let item { items.append(item) } else { missing.append(id) }
        }
        guard missing.isEmpty else {
            for id in missing { StandardError.write("\(id) was not given up, or is put away") }
            throw ExitCode.nothingFound
        }
        for item in items {
            try await reachable { () async throws(JournalError) in _ = try await queue.discard(item) }
        }
    }

    /// Runs `body`; an error of the database goes to standard error.
    ///
    /// - Throws: `ValidationError` for an argument that the journal has no use for, and `ExitCode`.
    func reachable<Value>(_ body: () async throws(JournalError) -> Value) async throws -> Value {
        do throws(JournalError) {
            return try await body()
        } catch {
            // It is the same however often it is tried.
            if error.code == .invalidArgument { throw ValidationError(error.message) }
            StandardError.write("\(error)")
            throw error.code == .idTaken || error.code == .aheadOfLog ? ExitCode.rejected : .unavailable
        }
    }
}

/// `lifecycle journal init`
struct JournalInit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Makes the tables that are missing."
    )

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        _ = try await options.journal(migrates: true)
    }
}

/// `lifecycle journal migrate`
struct JournalMigrate: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "migrate",
        abstract:
            "Brings the tables of an earlier version to the present one. Tables of a later version are left alone."
    )

    @OptionGroup var options: DatabaseOptions

    func run() async throws {
        let version = try await options.migrate()
        StandardError.write("tables of version \(version) before, of version \(SQLJournalSchema.version) now")
    }
}

/// An account, as its provider or the host names it.
struct AccountOptions: ParsableArguments {
    private static let sources = Account.Source.known.map(\.rawValue).joined(separator: ", ")

    @Argument(help: "The account's identifier; a UUID in either case.")
    var account: String

    @Option(help: "Where the identifier comes from: \(sources).")
    var source: String

    func validate() throws {
        guard !account.isEmpty else { throw ValidationError("the account's identifier is empty") }
    }

    var identifier: Account.Identifier { Account.Identifier(account, Account.Source(rawValue: source)) }

    /// The error for an account of which nothing is known. A source that this package has not may be another adapter's, so
    /// it is wrong only if it finds nothing.
    func unknown() -> any Error {
        guard Account.Source.known.contains(identifier.source) else {
            return ValidationError("no purchase belongs to this account; its source must be one of \(Self.sources)")
        }
        StandardError.write("no purchase belongs to this account")
        return ExitCode.nothingFound
    }
}

/// The environment and the moment that a question about an account is for.
struct ViewOptions: ParsableArguments {
    @Option(name: .customLong("environment"), help: "The store's environment: production or sandbox.")
    private var name: String = "production"

    @Option(
        help: ArgumentHelp("The moment in question, \(Moment.form); by default the present.", valueName: "time"),
        transform: Moment.init
    )
    private var at: Moment?

    func validate() throws {
        guard ["production", "sandbox"].contains(name) else {
            throw ValidationError("--environment must be production or sandbox")
        }
    }

    var environment: StoreEnvironment { StoreEnvironment(rawValue: name) }

    var moment: Date { at?.date ?? Date() }
}

/// `lifecycle journal state`
struct JournalState: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "state",
        abstract: "Says if an account has access, and what each of its purchases looks like.",
        discussion: "Exit status: 66 when no purchase belongs to the account; the decision is printed all the same."
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var account: AccountOptions
    @OptionGroup var view: ViewOptions

    func run() async throws {
        let journal = try await options.journal()
        let (identifier, environment, moment) = (account.identifier, view.environment, view.moment)
        let ledger = try await options.reachable { () async throws(JournalError) in
            try await journal.ledger(of: [identifier])
        }
        let access = ledger.access(of: identifier, in: environment, at: moment)
        let explanations = ledger.explanations(of: [identifier], in: environment, at: moment)
        if options.isForPeople {
            try StandardOutput.write("access \(access.decision.words)")
            for explanation in explanations { try StandardOutput.write("\(explanation)") }
        } else {
            try StandardOutput.write(line: CanonicalJSON.bytes(access))
        }
        if explanations.isEmpty { throw account.unknown() }
    }
}

/// `lifecycle journal explain`
struct JournalExplain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Says why an account has access or none, and which statements that rests on.",
        discussion: "Exit status: 66 when no purchase belongs to the account."
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var account: AccountOptions
    @OptionGroup var view: ViewOptions

    func run() async throws {
        let journal = try await options.journal()
        let (identifier, environment, moment) = (account.identifier, view.environment, view.moment)
        let explanations = try await options.reachable { () async throws(JournalError) in
            try await journal.explain([identifier], in: environment, at: moment)
        }
        guard !explanations.isEmpty else { throw account.unknown() }
        try options.output.print(explanations)
    }
}

/// `lifecycle journal credits`
struct JournalCredits: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credits",
        abstract: "Says which credits an account was given, and how many are left.",
        discussion: """
            With --use and --id, uses credits: all or none, and once for each id.

            Exit status: 1 when there are fewer credits than are to be used, 66 when no purchase belongs to the account.
            """
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var account: AccountOptions
    @OptionGroup var view: ViewOptions

    @Option(help: ArgumentHelp("The credits that each product gives, as a JSON file.", valueName: "file"))
    var policy: String

    @Option(help: "Use so many credits.")
    var use: Int64?

    @Option(help: "Your name of the use; a repeated one uses nothing more.")
    var id: String?

    func validate() throws {
        guard (use == nil) == (id == nil) else { throw ValidationError("give --use and --id together") }
    }

    func run() async throws {
        let policy: CreditPolicy
        do {
            policy = try CanonicalJSON.value(from: contents(of: self.policy))
        } catch let error as ValidationError {
            throw error
        } catch {
            throw ValidationError("\(self.policy) is not a credit policy: \(error)")
        }
        let journal = try await options.journal()
        let (identifier, environment, moment) = (account.identifier, view.environment, view.moment)
        let ledger = try await options.reachable { () async throws(JournalError) in
            try await journal.ledger(of: [identifier])
        }
        guard !ledger.states(of: [identifier], in: environment).isEmpty else { throw account.unknown() }
        let found = try await options.reachable { () async throws(JournalError) -> CreditStatement? in
            guard let use, let id else {
                return try await journal.credits(of: [identifier], under: policy, in: environment, at: moment)
            }
            return try await journal.use(use, id: id, of: [identifier], under: policy, in: environment, at: moment)
        }
        guard let statement = found else {
            StandardError.write("the account has fewer than \(use ?? 0) credits; none was used")
            throw ExitCode.differs
        }
        guard options.isForPeople else { return try StandardOutput.write(line: CanonicalJSON.bytes(statement)) }
        for line in statement.table { try StandardOutput.write(line) }
    }
}
#endif
