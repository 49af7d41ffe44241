public import LifecycleJournal

/// A journal's rows in a file, over the system's SQLite.
///
/// Writes are on the disk before a call returns. Writers of one process share their waits for the disk; several
/// processes may use one file on a local disk, one of them writing at a time. Never put the file on a network share.
public final class SQLiteJournalStorage: JournalStorage {
    private let writer: Connection
    private let reader: Connection

    /// Opens a file, and makes it and its tables if they are missing.
    ///
    /// - Parameters:
    ///   - path: the file; two more, ending in `-wal` and `-shm`, lie next to it. A file that is made can be read by its owner alone.
    ///   - busyTimeout: how long to wait for another process that writes.
    ///   - migrates: true to bring tables of an earlier version to the present one.
    /// - Throws: `JournalError` if the file cannot be opened, is no database, or is of a later version.
    public init(path: String, busyTimeout: Duration = .seconds(10), migrates: Bool = true) async throws(JournalError) {
        let milliseconds = busyTimeout.components.seconds.multipliedReportingOverflow(by: 1000)
        let timeout = Int32(clamping: milliseconds.overflow ? Int64.max : milliseconds.partialValue)
        writer = Connection(path: path, busyTimeout: timeout, writes: true)
        // Every connection to memory is a database of its own.
        reader = path == ":memory:" ? writer : Connection(path: path, busyTimeout: timeout, writes: false)
        do {
            if migrates { _ = try await writer.migrate() } else { try await writer.checkVersion() }
        } catch {
            throw error as? JournalError ?? JournalError(.unavailable, "the file cannot be opened", underlying: error)
        }
    }

    /// Brings the tables of a file to the present version.
    ///
    /// - Returns: the version that was there; 0 if there was none.
    /// - Throws: `JournalError`.
    public static func migrate(path: String) async throws(JournalError) -> Int64 {
        do {
            return try await Connection(path: path, busyTimeout: 10_000, writes: true).migrate()
        } catch {
            throw error as? JournalError ?? JournalError(.unavailable, "the file cannot be opened", underlying: error)
        }
    }

    /// Puts a copy, as `.backup` of `sqlite3` makes it, in the place of a file, or makes the file where it is missing. What is left
    /// over from a crash in the file's `-wal` goes with the old content: copied over by hand, it would be played into the new one.
    /// Call `noteRestore()` of the journal next.
    ///
    /// - Throws: `JournalError`, and the file is as it was: if the copy is damaged or no journal, or if another process has the
    ///   file open.
    public static func restore(path: String, from copy: String) async throws(JournalError) {
        do {
            try await Connection(path: path, busyTimeout: 1000, writes: true).restore(from: copy)
        } catch {
            throw error as? JournalError ?? JournalError(.unavailable, "the copy cannot be restored", underlying: error)
        }
    }

    /// Looks through the whole file for damage. For a gigabyte it takes some seconds.
    public func damage() async throws -> [String] { try await reader.damage() }

    /// Runs a transaction; it is on the disk when this returns.
    public func write<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        try await writer.run(body)
    }

    /// Reads the last committed rows, without waiting for writers.
    public func read<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        try await reader.run(body)
    }
}
