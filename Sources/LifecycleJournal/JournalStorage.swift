/// Where a ``Journal`` keeps its rows: ten tables of one shape, and transactions over them.
///
/// `SQLiteJournalStorage` and `PostgresJournalStorage` are storages. To use a database connection that you have already, write one of your
/// own: a storage is a transaction and the five row operations of ``JournalTransaction``. `JournalConformance`, in
/// `NormalizerTesting`, checks that it loses nothing.
public protocol JournalStorage: Sendable {
    /// Runs `body` in a transaction. It is durable when this function returns, and has left nothing behind when it
    /// throws.
    ///
    /// A transaction must see each row as it was last committed, or as it changed the row itself (`READ COMMITTED` or
    /// stricter). The caller may run `body` again; one call never runs it twice.
    ///
    /// - Throws: the error of `body`; ``JournalError`` with ``JournalError/Code/conflict`` if the database broke the
    ///   transaction off in favour of another, and with ``JournalError/Code/unavailable`` if nothing could be committed
    ///   or the outcome is unknown. The journal repeats after both, since applying a result again is harmless.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value

    /// Runs `body`, which only reads. All reads together should see one state of the database.
    ///
    /// - Throws: the error of `body`; ``JournalError`` if the database cannot be read.
    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value

    /// Looks through the whole database for damage below the rows, such as pages that belong to another copy. It takes as long as
    /// reading the database does. Without an implementation it finds nothing.
    ///
    /// - Returns: what is damaged, without stored content; empty if nothing is.
    /// - Throws: ``JournalError`` if the database cannot be read.
    func damage() async throws -> [String]
}

extension JournalStorage {
    /// Finds nothing.
    public func damage() async throws -> [String] { [] }
}

/// One transaction: five operations on rows. Each says its SQL, for a table called `t`.
public protocol JournalTransaction {
    /// The row with a key; nil if there is none.
    ///
    /// `SELECT number, version, grp, ord, body, detail FROM t WHERE key = :key`
    func record(_ key: String, in table: JournalTable) async throws -> JournalRecord?

    /// Rows in the order of ``JournalRecord/order`` and, if that is equal, of ``JournalRecord/number``.
    ///
    /// `SELECT … FROM t WHERE grp = :group AND ord <= :last AND (ord, number) > (:order, :number) ORDER BY ord, number
    /// LIMIT :limit`, without the first condition for the log where the selection names no group. For another table it then is `SELECT …
    /// FROM t WHERE number > :number ORDER BY number LIMIT :limit`: the journal reads all states so, whose `ord` is 0.
    func records(_ selection: JournalSelection, in table: JournalTable) async throws -> [JournalRecord]

    /// Inserts a row with version 1 and a number above those of the rows before it, unless its key is there already. If
    /// another transaction is inserting the same key, this waits for that one's end.
    ///
    /// `INSERT INTO t (key, version, grp, ord, body, detail) VALUES (…) ON CONFLICT (key) DO NOTHING`
    ///
    /// - Returns: true if the row was inserted.
    func insert(_ record: JournalRecord, into table: JournalTable) async throws -> Bool

    /// Replaces a row, and raises its version by one, if the version is still that of `record`.
    ///
    /// `UPDATE t SET version = version + 1, grp = …, ord = …, body = …, detail = … WHERE key = :key AND version = :version`
    ///
    /// - Returns: true if the row was replaced. The journal begins again if it was not.
    func update(_ record: JournalRecord, in table: JournalTable) async throws -> Bool

    /// Deletes a row if its version is still that of `record`.
    ///
    /// `DELETE FROM t WHERE key = :key AND version = :version`
    ///
    /// - Returns: true if the row was deleted.
    func delete(_ record: JournalRecord, from table: JournalTable) async throws -> Bool
}

/// One of a journal's tables.
public enum JournalTable: String, Hashable, Sendable, CaseIterable {
    /// Every event and statement, once, in the order of its position; states are rebuilt from it. Group: the lineage.
    case log
    /// Every event by its id, as it was applied first; also the outbox. Group: where it stands in the outbox.
    case event
    /// The state of each lineage.
    case state
    /// Which lineages an account may have. Group: the account.
    case account
    /// Which lineages are linked, in both directions. Group: the lineage.
    case link
    /// Transfers that name accounts alone. Group: the account.
    case transfer
    /// Raw deliveries: waiting for a worker, quarantined, or kept. Group: which of these.
    case delivery
    /// Credits that were used, by the caller's id. Group: the account.
    case use
    /// Work that is due at a time. Group: open or done.
    case due
    /// How far each source was read, and the journal's own marks.
    case checkpoint

    /// The name in a database: `lifecycle_log` and so on.
    public var name: String { "lifecycle_\(rawValue)" }
}

/// One row of a table.
public struct JournalRecord: Hashable, Sendable {
    /// The row's key in its table: text without U+0000, of at most 600 bytes.
    public var key: String
    /// The group that the row is found by; in the same form as a key.
    public var group: String
    /// The order of rows in one group, such as the time at which they are due, in milliseconds since 1970.
    public var order: Int64
    /// The content: JSON, or the body of a delivery, byte for byte.
    public var body: [UInt8]
    /// The journal's notes next to the content, as JSON.
    public var detail: [UInt8]
    /// Which row of the table it is; the storage gives it at insertion.
    public var number: Int64
    /// How often the row was written; the storage counts it.
    public var version: Int64

    /// Makes a row.
    public init(
        key: String,
        group: String = "",
        order: Int64 = 0,
        body: [UInt8] = [],
        detail: [UInt8] = [],
        number: Int64 = 0,
        version: Int64 = 1
    ) {
        self.key = key
        self.group = group
        self.order = order
        self.body = body
        self.detail = detail
        self.number = number
        self.version = version
    }
}

/// Which rows to read.
public struct JournalSelection: Hashable, Sendable {
    /// Only rows of this group; nil for all.
    public var group: String?
    /// Only rows with an order up to this one.
    public var last: Int64
    /// Only rows after the one with this order and number.
    public var order: Int64
    /// See ``order``.
    public var number: Int64
    /// At most so many rows.
    public var limit: Int

    /// Selects the first rows.
    public init(
        group: String? = nil,
        after order: Int64 = .min,
        number: Int64 = 0,
        through last: Int64 = .max,
        limit: Int
    ) {
        self.group = group
        self.last = last
        self.order = order
        self.number = number
        self.limit = limit
    }

    /// The rows that follow `record`.
    func following(_ record: JournalRecord) -> JournalSelection {
        var next = self
        (next.order, next.number) = (record.order, record.number)
        return next
    }
}
