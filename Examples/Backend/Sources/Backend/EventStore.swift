import Foundation
import GRDB
import Normalizer

/// Events, states, accounts and credits in SQLite, in the tables of `docs/model.md`.
struct EventStore: Sendable {
    private let database: any DatabaseWriter
    private let credits: CreditBook

    init(_ database: any DatabaseWriter, policy: CreditPolicy = CreditPolicy([:])) throws {
        self.database = database
        credits = CreditBook(policy: policy)
        try database.write { try $0.execute(sql: Self.schema) }
    }

    private static let schema = """
        CREATE TABLE IF NOT EXISTS lifecycle_event (
          id           TEXT PRIMARY KEY,
          subscription TEXT,
          kind         TEXT NOT NULL,
          asserted_at  TEXT NOT NULL,
          event        TEXT NOT NULL
        );
        CREATE TABLE IF NOT EXISTS subscription_state (
          subscription TEXT PRIMARY KEY,
          state        TEXT NOT NULL
        );
        CREATE TABLE IF NOT EXISTS account_subscription (
          account      TEXT NOT NULL,
          subscription TEXT NOT NULL REFERENCES subscription_state,
          PRIMARY KEY (account, subscription)
        );
        CREATE TABLE IF NOT EXISTS lineage_link (
          lineage      TEXT NOT NULL,
          other        TEXT NOT NULL,
          PRIMARY KEY (lineage, other)
        );
        CREATE TABLE IF NOT EXISTS account_transfer (
          account      TEXT NOT NULL,
          transfer     TEXT NOT NULL,
          PRIMARY KEY (account, transfer)
        );
        CREATE TABLE IF NOT EXISTS credit_action (
          id           TEXT PRIMARY KEY,
          action       TEXT NOT NULL
        );
        CREATE TABLE IF NOT EXISTS credit_balance (
          subscription TEXT PRIMARY KEY,
          balance      TEXT NOT NULL
        );
        CREATE TABLE IF NOT EXISTS quarantine (
          provider     TEXT NOT NULL,
          digest       TEXT NOT NULL,
          delivery     TEXT NOT NULL,
          PRIMARY KEY (provider, digest)
        );
        -- What this backend has yet to act upon, such as mails. Whoever takes a row acts first, and deletes it then.
        CREATE TABLE IF NOT EXISTS outbox (
          number       INTEGER PRIMARY KEY,
          event        TEXT NOT NULL
        );
        """

    // MARK: What is told

    /// Keeps what a delivery came to, all of it or nothing.
    ///
    /// - Parameter now: when it is taken in, which may be long after it was received.
    /// - Throws: `unavailable` where nothing was kept, so that the provider sends the delivery again.
    func update(for result: Normalization, at now: Date) async throws(DeliveryError) {
        do {
            // It begins with BEGIN IMMEDIATE: writers come one after the other, and none overwrites what another has joined
            // or used. That is why states and balances have no version here.
            try await database.write { try update(for: result, at: now, $0) }
        } catch {
            throw DeliveryError(.unavailable, "the events could not be stored", underlying: error)
        }
    }

    private func update(for result: Normalization, at now: Date, _ db: Database) throws {
        let first = Set(try result.events.filter { try Self.insert($0, db) }.map(\.id))
        for statement in result.statements {
            for case .link(let other) in statement.facts {
                for (lineage, other) in [(statement.subscription, other), (other, statement.subscription)] {
                    try db.execute(
                        sql: "INSERT INTO lineage_link (lineage, other) VALUES (?, ?) ON CONFLICT DO NOTHING",
                        arguments: [lineage.description, other.description]
                    )
                }
            }
        }
        var ledger = AccountLedger(try Self.states(linkedTo: result.lineages.map(\.description), db))
        for applied in ledger.apply(result) {
            if applied.isNews && first.contains(applied.event.id) {
                let event = try CanonicalJSON.text(applied.event)
                try db.execute(sql: "INSERT INTO outbox (event) VALUES (?)", arguments: [event])
            }
            try credits.perform(applied, in: ledger, at: now, db)
        }
        for lineage in result.lineages {
            if let state = ledger[lineage] { try Self.write(state, of: lineage, db) }
        }
        for transfer in ledger.transfers {
            let stated = try CanonicalJSON.text(transfer)
            for account in transfer.transfer.from + transfer.transfer.to {
                try db.execute(
                    sql: """
                        INSERT INTO account_transfer (account, transfer) VALUES (?, ?)
                        ON CONFLICT DO NOTHING
                        """,
                    arguments: [account.lookupKey, stated]
                )
            }
        }
    }

    /// Whether the event is told of for the first time.
    private static func insert(_ event: NormalizedEvent, _ db: Database) throws -> Bool {
        try db.execute(
            sql: """
                INSERT INTO lifecycle_event (id, subscription, kind, asserted_at, event) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT (id) DO NOTHING
                """,
            arguments: [
                event.id.description, event.subscription?.description, event.event.kind.rawValue,
                event.assertedAt.formatted(.iso8601), CanonicalJSON.text(event),
            ]
        )
        return db.changesCount > 0
    }

    private static func write(_ state: SubscriptionState, of lineage: SubscriptionID, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO subscription_state (subscription, state) VALUES (?, ?)
                ON CONFLICT (subscription) DO UPDATE SET state = excluded.state
                """,
            arguments: [lineage.description, CanonicalJSON.text(state)]
        )
        for account in AccountLedger([state]).accounts {
            try db.execute(
                sql: """
                    INSERT INTO account_subscription (account, subscription) VALUES (?, ?)
                    ON CONFLICT DO NOTHING
                    """,
                arguments: [account.lookupKey, lineage.description]
            )
        }
    }

    // MARK: What cannot be taken in

    /// Keeps a delivery with what proves it.
    ///
    /// - Returns: whether it is kept, so that the provider need not send it again.
    func keep(_ delivery: Delivery, of provider: String) async -> Bool {
        do {
            try await database.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO quarantine (provider, digest, delivery) VALUES (?, ?, ?)
                        ON CONFLICT DO NOTHING
                        """,
                    arguments: [provider, delivery.digest, CanonicalJSON.text(delivery)]
                )
            }
            return true
        } catch {
            return false
        }
    }

    /// What is kept, in the order in which it came.
    func kept() async throws -> [(provider: String, delivery: Delivery)] {
        try await database.read { db in
            try Row.fetchAll(db, sql: "SELECT provider, delivery FROM quarantine ORDER BY rowid").map { row in
                let delivery: String = row["delivery"]
                return (row["provider"], try CanonicalJSON.value(from: Array(delivery.utf8)))
            }
        }
    }

    /// Keeps a delivery no longer.
    func release(_ delivery: Delivery, of provider: String) async throws {
        try await database.write { db in
            try db.execute(
                sql: "DELETE FROM quarantine WHERE provider = ? AND digest = ?",
                arguments: [provider, delivery.digest]
            )
        }
    }

    // MARK: What is asked

    /// Whether an account has access.
    func access(
        of account: Account.Identifier,
        in environment: StoreEnvironment,
        at time: Date
    ) async throws -> AccountAccess {
        try await database.read { try Self.ledger(of: account, $0).access(of: account, in: environment, at: time) }
    }

    /// How many credits an account has to use.
    func credits(
        of account: Account.Identifier,
        in environment: StoreEnvironment,
        at time: Date
    ) async throws -> Int64 {
        try await database.read { db in
            try credits.available(to: Self.ledger(of: account, db).states(of: [account], in: environment), at: time, db)
        }
    }

    /// Uses so many credits of an account, or none, where it has not as many.
    ///
    /// - Returns: whether it had as many.
    func use(
        _ number: Int64,
        of account: Account.Identifier,
        in environment: StoreEnvironment,
        at time: Date
    ) async throws -> Bool {
        try await database.write { db in
            let states = try Self.ledger(of: account, db).states(of: [account], in: environment)
            return try credits.use(number, of: states, at: time, db)
        }
    }

    /// All that may concern an account.
    private static func ledger(of account: Account.Identifier, _ db: Database) throws -> AccountLedger {
        var ledger = AccountLedger()
        var (known, open): (Set<Account.Identifier>, [Account.Identifier]) = ([account], [account])
        var (lineages, transfers): (Set<String>, Set<AccountTransfer>) = ([], [])
        while !open.isEmpty {
            for account in open {
                // Whatever the source: a transfer moves what a store knows by the same name.
                let name: StatementArguments = [account.lookupKey]
                let rows = "SELECT subscription FROM account_subscription WHERE account = ?"
                lineages.formUnion(try String.fetchAll(db, sql: rows, arguments: name))
                let moves = "SELECT transfer FROM account_transfer WHERE account = ?"
                for text in try String.fetchAll(db, sql: moves, arguments: name) {
                    transfers.insert(try CanonicalJSON.value(from: Array(text.utf8)))
                }
            }
            ledger = AccountLedger(try states(linkedTo: lineages.sorted(), db), transfers: transfers)
            // A customer's purchases may be bound under other names of theirs, or of whoever they were transferred from.
            open = (ledger.accounts + transfers.flatMap(\.transfer.from)).filter { known.insert($0).inserted }
        }
        return ledger
    }

    /// What has to be acted upon, the oldest first.
    func outbox() async throws -> [NormalizedEvent] {
        try await database.read { db in
            try String.fetchAll(db, sql: "SELECT event FROM outbox ORDER BY number")
                .map { try CanonicalJSON.value(NormalizedEvent.self, from: Array($0.utf8)) }
        }
    }

    private static func states(linkedTo lineages: [String], _ db: Database) throws -> [SubscriptionState] {
        try String.fetchAll(
            db,
            sql: """
                WITH RECURSIVE linked (lineage) AS (
                  SELECT value FROM json_each(?)
                  UNION SELECT other FROM lineage_link JOIN linked USING (lineage)
                )
                SELECT state FROM subscription_state JOIN linked ON subscription = lineage
                """,
            arguments: [CanonicalJSON.text(lineages)]
        )
        .map { try CanonicalJSON.value(SubscriptionState.self, from: Array($0.utf8)) }
    }
}

extension CanonicalJSON {
    static func text(_ value: some Encodable) throws -> String { String(decoding: try bytes(value), as: UTF8.self) }
}
