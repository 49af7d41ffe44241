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
            Exit status: 65 where a line or the log is not right, 69 where the database cannot be reached or does not fit.
            """,
        subcommands: [
            JournalInit.self, JournalIngest.self, JournalState.self, JournalExplain.self, JournalCredits.self,
            JournalFeed.self,
            JournalOutbox.self, JournalDue.self, JournalQuarantine.self, JournalRebuild.self, JournalVerify.self,
            JournalMigrate.self, JournalExport.self, JournalErase.self,
        ]
    )
}

/// Which database, and how to print.
struct DatabaseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "sqlite:FILE or postgresql://…; by default what the environment variable LIFECYCLE_DATABASE says.",
            discussion:
                "Everybody on a machine can see the arguments of a command. Put a URL with a password into the variable.",
            valueName: "url"
        )
    )
    var database: String?

    @Flag(help: "Prints JSON Lines on a terminal, too.")
    var json = false

    /// Whether people read the output.
    var isForPeople: Bool { !json && isatty(STDOUT_FILENO) == 1 }

    private enum Location {
        case sqlite(String)
        case postgres(PostgresJournal.Configuration)
    }

    private var location: Location {
        get throws {
            guard let text = database ?? ProcessInfo.processInfo.environment["LIFECYCLE_DATABASE"] else {
                throw ValidationError("--database is missing, and so is LIFECYCLE_DATABASE")
            }
            if text.hasPrefix("sqlite:"), text.count > 7 { return .sqlite(String(text.dropFirst(7))) }
            guard text.hasPrefix("postgres://") || text.hasPrefix("postgresql://") else {
                throw ValidationError("the database is neither sqlite:FILE nor postgresql://…")
            }
            return .postgres(PostgresJournal.Configuration(url: Secret(text)))
        }
    }

    /// The journal in the database, whose tables have to be there unless `migrates`.
    func journal(migrates: Bool = false) async throws -> Journal {
        let location = try location
        return try await reachable { () async throws(JournalError) in
            switch location {
            case .sqlite(let path):
                guard migrates || FileManager.default.fileExists(atPath: path) else {
                    throw JournalError(
                        .configuration,
                        "there is no file of that name; `lifecycle journal init` makes it"
                    )
                }
                return Journal(try await SQLiteJournal(path: path, migrates: migrates), now: { Date() })
            case .postgres(let configuration):
                return Journal(try await PostgresJournal(configuration, migrates: migrates), now: { Date() })
            }
        }
    }

    /// - Returns: the version that the tables had.
    func migrate() async throws -> Int64 {
        let location = try location
        return try await reachable { () async throws(JournalError) in
            switch location {
            case .sqlite(let path): try await SQLiteJournal.migrate(path: path)
            case .postgres(let configuration): try await PostgresJournal.migrate(configuration)
            }
        }
    }

    /// Runs `body`; what a database cannot do goes to standard error.
    func reachable<Value>(_ body: () async throws(JournalError) -> Value) async throws -> Value {
        do throws(JournalError) {
            return try await body()
        } catch {
            StandardError.write("\(error)")
            throw ExitCode.unavailable
        }
    }

    /// Prints rows: a table for people, else JSON Lines.
    func print<Row: Encodable>(_ rows: [Row], _ heads: [String], _ cells: (Row) -> [String]) throws {
        guard isForPeople else {
            for row in rows { try StandardOutput.write(line: CanonicalJSON.bytes(row)) }
            return
        }
        let table = [heads] + rows.map(cells)
        let columns = Columns(fitting: table)
        for line in table { try StandardOutput.write(columns.line(line)) }
    }
}

/// `lifecycle journal init`
struct JournalInit: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "init",
        abstract: "Makes the tables, where they are missing."
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
        StandardError.write("version \(version) before, \(SQLJournalSchema.version) now")
    }
}

/// An account, as its provider or the host names it.
struct AccountOptions: ParsableArguments {
    @Argument(help: "What the account is called.")
    var account: String

    @Option(
        help: "Where the name comes from: app_user_id, app_account_token, obfuscated_account_id, stripe_customer, …"
    )
    var source: String

    @Option(help: "The store's world: production or sandbox.")
    var environment: String = "production"

    @Option(help: ArgumentHelp("The moment in question, RFC 3339; by default the present.", valueName: "date"))
    var at: String?

    var identifier: Account.Identifier { Account.Identifier(account, Account.Source(rawValue: source)) }

    var moment: Date {
        get throws { try at.map { try EventInput.moment($0) } ?? Date() }
    }
}

/// `lifecycle journal state`
struct JournalState: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "state",
        abstract: "Says whether an account has access, and what each of its purchases looks like."
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var account: AccountOptions

    func run() async throws {
        let journal = try await options.journal()
        let (identifier, moment) = (account.identifier, try account.moment)
        let environment = StoreEnvironment(rawValue: account.environment)
        let ledger = try await options.reachable { () async throws(JournalError) in
            try await journal.ledger(of: [identifier])
        }
        let access = ledger.access(of: identifier, in: environment, at: moment)
        let states = ledger.states(of: [identifier], in: environment)
        let isForPeople = options.isForPeople
        guard isForPeople else { return try StandardOutput.write(line: CanonicalJSON.bytes(access)) }
        try StandardOutput.write(access.decision.isGranted ? "access" : "no access")
        for state in states { try StandardOutput.write("\(state.explain(at: moment, after: ledger.transfers))") }
    }
}

/// `lifecycle journal explain`
struct JournalExplain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Says why an account has access or has not, and which statements that rests on."
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var account: AccountOptions

    func run() async throws {
        let journal = try await options.journal()
        let (identifier, moment) = (account.identifier, try account.moment)
        let environment = StoreEnvironment(rawValue: account.environment)
        let explanations = try await options.reachable { () async throws(JournalError) in
            try await journal.explain(identifier, in: environment, at: moment)
        }
        for explanation in explanations {
            if options.isForPeople {
                try StandardOutput.write("\(explanation)")
            } else {
                try StandardOutput.write(line: CanonicalJSON.bytes(explanation))
            }
        }
        if explanations.isEmpty { StandardError.write("no purchase of that account is known") }
    }
}

/// `lifecycle journal credits`
struct JournalCredits: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "credits",
        abstract: "Says which credits an account was given, and how many are left.",
        discussion:
            "With --use and --id, uses credits: all or none, and once for each id. Exit status: 1 where there are fewer."
    )

    @OptionGroup var options: DatabaseOptions
    @OptionGroup var account: AccountOptions

    @Option(help: ArgumentHelp("What products give, as a JSON file.", valueName: "file"))
    var policy: String

    @Option(help: "Uses so many credits.")
    var use: Int64?

    @Option(help: "The name of the use.")
    var id: String?

    func validate() throws {
        guard (use == nil) == (id == nil) else { throw ValidationError("--use and --id belong together") }
    }

    func run() async throws {
        let policy: CreditPolicy
        do {
            policy = try CanonicalJSON.value(from: contents(of: self.policy))
        } catch let error as ValidationError {
            throw error
        } catch {
            throw ValidationError("\(self.policy) is no credit policy")
        }
        let journal = try await options.journal()
        let (identifier, moment) = (account.identifier, try account.moment)
        let environment = StoreEnvironment(rawValue: account.environment)
        let found = try await options.reachable { () async throws(JournalError) -> CreditStatement? in
            guard let use, let id else {
                return try await journal.credits(of: identifier, under: policy, in: environment, at: moment)
            }
            return try await journal.use(use, id: id, of: identifier, under: policy, in: environment, at: moment)
        }
        guard let statement = found else {
            StandardError.write("there are fewer credits")
            throw ExitCode(1)
        }
        guard options.isForPeople else { return try StandardOutput.write(line: CanonicalJSON.bytes(statement)) }
        try options.print(statement.grants, ["from", "until", "product", "reason", "given", "left"]) { grant in
            [
                grant.from.formatted(.iso8601), grant.until?.formatted(.iso8601) ?? "-", grant.product ?? "-",
                grant.reason.name, "\(grant.credits)", "\(grant.left)",
            ]
        }
        try StandardOutput.write("\(statement.balance) credits")
    }
}
#endif
