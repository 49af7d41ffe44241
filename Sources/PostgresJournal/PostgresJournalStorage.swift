public import LifecycleEvents
public import LifecycleJournal

/// A journal's rows in PostgreSQL, over the system's libpq. Any number of processes may share one database.
///
/// Put no pooler before it that gives the statements of one connection to several, unless it keeps prepared statements.
public final class PostgresJournalStorage: JournalStorage {
    /// Where the database is, and how patient to be.
    public struct Configuration: Sendable {
        /// A connection URL.
        struct Address: Sendable {
            let secret: SecretBytes
            var text: String { String(decoding: secret.bytes, as: UTF8.self) }
        }

        let url: Address
        /// True if the connection must be encrypted, and the server's certificate be for its host name and from one of
        /// ``trustRoots``. A Unix socket needs neither. `sslmode` in the URL comes before this.
        public var isTLSRequired = true
        /// A file of certificates in PEM.
        public var trustRoots = "/etc/ssl/certs/ca-certificates.crt"
        /// How many connections there are at most.
        public var maximumConnections = 4
        /// How long to wait for a connection to be made.
        public var connectTimeout: Duration = .seconds(10)
        /// How long to wait for a free connection of the pool.
        public var poolTimeout: Duration = .seconds(10)
        /// How long the server may take for one statement, waiting for others included.
        public var statementTimeout: Duration = .seconds(10)

        /// Names a database.
        ///
        /// - Parameter url: `postgresql://user:password@host:port/database?…`, as libpq takes it
        ///   (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING). It is never shown. What it leaves out,
        ///   libpq takes from its own environment variables.
        public init(url: SecretBytes) { self.url = Address(secret: url) }
    }

    private let pool: Pool

    /// Connects, and makes the tables where they are missing.
    ///
    /// - Parameters:
    ///   - configuration: the server, and the size of the pool.
    ///   - migrates: whether to bring tables of an earlier version to the present one, which takes the right to make
    ///     tables. Where they are present, that right is not needed.
    /// - Throws: `JournalError`: the server cannot be reached or refuses, or the tables are of a later version.
    public init(_ configuration: Configuration, migrates: Bool = true) async throws(JournalError) {
        try configuration.validate()
        pool = Pool(configuration)
        do {
            try await pool.with { connection in
                if migrates { _ = try await connection.migrate() } else { try await connection.checkVersion() }
            }
        } catch {
            throw error as? JournalError ?? JournalError(.unavailable, "not connected", underlying: error)
        }
    }

    /// Brings the tables of a database to the present version.
    ///
    /// - Returns: the version that was there; 0 if there was none.
    /// - Throws: `JournalError`.
    public static func migrate(_ configuration: Configuration) async throws(JournalError) -> Int64 {
        try configuration.validate()
        do {
            return try await Connection(configuration).migrate()
        } catch {
            throw error as? JournalError ?? JournalError(.unavailable, "not connected", underlying: error)
        }
    }

    /// Runs a transaction at `READ COMMITTED`, so that a repeated read sees what another transaction wrote.
    public func write<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        try await pool.with { try await $0.run("BEGIN ISOLATION LEVEL READ COMMITTED", body) }
    }

    /// Reads one state of the database.
    public func read<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        try await pool.with { try await $0.run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", body) }
    }
}
