/// A value of a row, or for a place in a statement.
public enum SQLJournalValue: Hashable, Sendable {
    /// A `BIGINT`.
    case integer(Int64)
    /// A `TEXT`, without U+0000.
    case text(String)
    /// A `BLOB`, or a `BYTEA`.
    case bytes([UInt8])
}

/// A connection that a transaction is open on: what ``SQLJournalTransaction`` needs of a database.
public protocol SQLJournalConnection {
    /// Runs one statement to its end.
    ///
    /// - Parameters:
    ///   - statement: SQL, in the connection's dialect. There are about a hundred different ones, so they are worth
    ///     preparing.
    ///   - values: the values of the placeholders, in their order.
    /// - Returns: the rows.
    /// - Throws: ``JournalError`` preferably, see ``JournalStorage/write(_:)``.
    func query(_ statement: String, _ values: [SQLJournalValue]) async throws -> [[SQLJournalValue]]
}

/// How databases differ.
public enum SQLJournalDialect: Sendable {
    /// SQLite 3.35 or later.
    case sqlite
    /// PostgreSQL 13 or later.
    case postgres

    var place: String { self == .sqlite ? "?" : "$" }
    private var bytes: String { self == .sqlite ? "BLOB" : "BYTEA" }
    private var number: String {
        self == .sqlite
            ? "INTEGER PRIMARY KEY AUTOINCREMENT" : "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
    }

    func create(_ table: JournalTable) -> [String] {
        let grouped = """
            CREATE INDEX \(table.name)_grp ON \(table.name) (grp, ord, number)
            """
        let ordered = "CREATE INDEX \(table.name)_ord ON \(table.name) (ord, number)"
        let indexes: [String] =
            switch table {
            case .state, .checkpoint: []
            case .log: [grouped, ordered]
            default: [grouped]
            }
        return [
            """
            CREATE TABLE \(table.name) (number \(number), key TEXT NOT NULL UNIQUE, version BIGINT NOT NULL, \
            grp TEXT NOT NULL, ord BIGINT NOT NULL, body \(bytes) NOT NULL, detail \(bytes) NOT NULL)
            """
        ] + indexes
    }

    var findsSchema: String {
        self == .sqlite
            ? "SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'lifecycle_schema'"
            : """
            SELECT count(*) FROM information_schema.tables
            WHERE table_schema = current_schema() AND table_name = 'lifecycle_schema'
            """
    }
}

/// The statements about one table. They are made once: a delivery needs a dozen of them, and replacing text in each took longer than
/// some of them run.
private struct TableStatements: Sendable {
    let record: String
    let records: String
    let recordsByNumber: String
    let recordsOfGroup: String
    let insert: String
    let update: String
    let delete: String

    init(_ table: JournalTable, _ dialect: SQLJournalDialect) {
        let (name, columns) = (table.name, "key, grp, body, detail, ord, number, version")
        func inDialect(_ statement: String) -> String { statement.replacing("$", with: dialect.place) }
        func select(_ condition: String) -> String { "SELECT \(columns) FROM \(name) WHERE \(condition)" }
        let following = "ord <= $1 AND (ord, number) > ($2, $3)"
        record = inDialect(select("key = $1"))
        records = inDialect(select("\(following) ORDER BY ord, number LIMIT $4"))
        recordsByNumber = inDialect(select("number > $1 ORDER BY number LIMIT $2"))
        recordsOfGroup = inDialect(select("\(following) AND grp = $5 ORDER BY ord, number LIMIT $4"))
        insert = inDialect(
            """
            INSERT INTO \(name) (key, version, grp, ord, body, detail) VALUES ($1, 1, $2, $3, $4, $5) \
            ON CONFLICT (key) DO NOTHING RETURNING number
            """
        )
        update = inDialect(
            """
            UPDATE \(name) SET version = version + 1, grp = $1, ord = $2, body = $3, detail = $4 \
            WHERE key = $5 AND version = $6 RETURNING number
            """
        )
        delete = inDialect("DELETE FROM \(name) WHERE key = $1 AND version = $2 RETURNING number")
    }

    private static func all(_ dialect: SQLJournalDialect) -> [JournalTable: TableStatements] {
        Dictionary(uniqueKeysWithValues: JournalTable.allCases.map { ($0, TableStatements($0, dialect)) })
    }

    static let sqlite = all(.sqlite)
    static let postgres = all(.postgres)
}

extension SQLJournalDialect {
    fileprivate func statements(about table: JournalTable) -> TableStatements {
        let all = self == .sqlite ? TableStatements.sqlite : TableStatements.postgres
        return all[table] ?? TableStatements(table, self)
    }
}

/// The five row operations as SQL, over any connection: a storage over SQLite or PostgreSQL gives it to the journal.
public struct SQLJournalTransaction<Connection: SQLJournalConnection>: JournalTransaction {
    private let connection: Connection
    private let dialect: SQLJournalDialect

    /// Uses a connection on which a transaction is open.
    public init(_ connection: Connection, _ dialect: SQLJournalDialect) {
        self.connection = connection
        self.dialect = dialect
    }

    /// The row with a key.
    public func record(_ key: String, in table: JournalTable) async throws -> JournalRecord? {
        try await connection.query(dialect.statements(about: table).record, [.text(key)]).first
            .map(JournalRecord.init)
    }

    /// Rows in their order.
    public func records(_ selection: JournalSelection, in table: JournalTable) async throws -> [JournalRecord] {
        let statements = dialect.statements(about: table)
        let (number, limit) = (
            SQLJournalValue.integer(selection.number), SQLJournalValue.integer(Int64(selection.limit))
        )
        let order: [SQLJournalValue] = [.integer(selection.last), .integer(selection.order), number, limit]
        let rows =
            if let group = selection.group {
                try await connection.query(statements.recordsOfGroup, order + [.text(group)])
            } else if table == .log {
                try await connection.query(statements.records, order)
            } else {
                // Without a group, no other table has an index of the order, and every page would be a walk through all rows.
                try await connection.query(statements.recordsByNumber, [number, limit])
            }
        return try rows.map(JournalRecord.init)
    }

    /// Inserts a row, unless its key is there.
    public func insert(_ record: JournalRecord, into table: JournalTable) async throws -> Bool {
        let rows = try await connection.query(
            dialect.statements(about: table).insert,
            [
                .text(record.key), .text(record.group), .integer(record.order), .bytes(record.body),
                .bytes(record.detail),
            ]
        )
        return !rows.isEmpty
    }

    /// Replaces a row of the same version.
    public func update(_ record: JournalRecord, in table: JournalTable) async throws -> Bool {
        let rows = try await connection.query(
            dialect.statements(about: table).update,
            [
                .text(record.group), .integer(record.order), .bytes(record.body), .bytes(record.detail),
                .text(record.key), .integer(record.version),
            ]
        )
        return !rows.isEmpty
    }

    /// Deletes a row of the same version.
    public func delete(_ record: JournalRecord, from table: JournalTable) async throws -> Bool {
        let rows = try await connection.query(
            dialect.statements(about: table).delete,
            [.text(record.key), .integer(record.version)]
        )
        return !rows.isEmpty
    }
}

extension SQLJournalTransaction: Sendable where Connection: Sendable {}

extension JournalRecord {
    fileprivate init(_ row: [SQLJournalValue]) throws {
        guard row.count == 7, case .text(let key) = row[0], case .text(let group) = row[1],
            case .integer(let order) = row[4], case .integer(let number) = row[5], case .integer(let version) = row[6]
        else { throw JournalError(.corrupt, "a row does not have its table's form") }
        self.init(
            key: key,
            group: group,
            order: order,
            body: row[2].octets,
            detail: row[3].octets,
            number: number,
            version: version
        )
    }
}

extension SQLJournalValue {
    /// The octets of a content. What was edited with SQLite's own functions, such as `json_set`, is text in a column for octets.
    fileprivate var octets: [UInt8] {
        switch self {
        case .integer(let number): Array("\(number)".utf8)
        case .text(let text): Array(text.utf8)
        case .bytes(let bytes): bytes
        }
    }
}

/// The tables' own version, and how they come to be.
public enum SQLJournalSchema: Sendable {
    /// The version that this package makes and reads.
    public static let version: Int64 = 1

    /// Makes the tables, or upgrades them to the present version, inside a transaction that no other process runs at
    /// the same time. If they are present, it only reads.
    ///
    /// - Returns: the version that was there; 0 if there was none.
    /// - Throws: ``JournalError/Code/newerSchema`` if a later version of this package made them; the connection's
    ///   errors.
    @discardableResult
    public static func migrate(_ connection: some SQLJournalConnection, _ dialect: SQLJournalDialect) async throws
        -> Int64
    {
        let found = try await installed(connection, dialect)
        guard found <= version else {
            throw JournalError(
                .newerSchema,
                "the tables have version \(found), and this build knows versions up to \(version): use a later build"
            )
        }
        guard found < version else { return found }
        var statements: [String] = []
        if found < 1 {
            statements.append("CREATE TABLE lifecycle_schema (version BIGINT NOT NULL)")
            statements += JournalTable.allCases.flatMap(dialect.create)
            statements.append("INSERT INTO lifecycle_schema (version) VALUES (1)")
        }
        for statement in statements { _ = try await connection.query(statement, []) }
        return found
    }

    /// The version of the tables; 0 if there are none.
    ///
    /// - Throws: the connection's errors.
    public static func installed(_ connection: some SQLJournalConnection, _ dialect: SQLJournalDialect) async throws
        -> Int64
    {
        guard case .integer(1)? = try await connection.query(dialect.findsSchema, []).first?.first else { return 0 }
        guard
            case .integer(let found)? = try await connection.query("SELECT version FROM lifecycle_schema", []).first?
                .first
        else { throw JournalError(.corrupt, "the tables have no version") }
        return found
    }
}
