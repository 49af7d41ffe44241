import CLifecycleSQLite
import LifecycleJournal

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The only owner of one `sqlite3 *` and of the statements that were prepared on it.
@safe final class Database: SQLJournalConnection {
    private let handle: OpaquePointer
    private var statements: [String: Statement] = [:]

    /// Opens a file, and makes it where it is missing.
    init(path: String, busyTimeout: Int32) throws(JournalError) {
        guard !path.utf8.contains(0) else { throw JournalError(.configuration, "the path must not contain NUL") }
        // It has credentials of deliveries in it, and personal data. SQLite would let each user of the machine read it. Other programs'
        // choice for a file that is there stays, and `-wal` and `-shm` take it over.
        // A URI names a file in SQLite's own way, so its mode is the host's matter.
        let isName = path != ":memory:" && !path.utf8.starts(with: "file:".utf8)
        // An empty file is an empty database. Why there is none, SQLite says.
        if isName { Self.makeFile(path) }
        var opened: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE
        // The path and the target of the handle are read during the call alone.
        let code = unsafe sqlite3_open_v2(path, &opened, flags, nil)
        guard let handle = unsafe opened else {
            throw JournalError(.unavailable, "SQLite has no memory for a database")
        }
        unsafe self.handle = unsafe handle
        // From here on, `deinit` closes it: also one that could not be opened wants to be closed.
        guard code == SQLITE_OK else {
            var error = Self.error(code)
            if code & 0xFF == SQLITE_CANTOPEN {
                error.message += ": the folder must exist and be writable by this process, and the file be its own"
            }
            throw error
        }
        // SQLite opens a file for reading alone where it may not be written, and says so only with the first change.
        guard unsafe sqlite3_db_readonly(handle, "main") != 1 else {
            throw JournalError(.notWritable, "the file may not be written")
        }
        let busy = unsafe sqlite3_busy_timeout(handle, busyTimeout)
        guard busy == SQLITE_OK else { throw Self.error(busy) }
    }

    /// Makes a missing file. A file that is there is not opened: closing it would end the locks that other connections of this process
    /// have on it.
    private static func makeFile(_ path: String) {
        var path = path
        // As many links as Linux follows.
        for _ in 0...40 {
            // The path is read during the call alone.
            let made = unsafe open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
            if made >= 0 {
                close(made)
                return
            }
            // A link may lead to a file that is missing.
            guard errno == EEXIST, let target = target(ofLink: path) else { return }
            let folder = path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[...$0]) } ?? ""
            path = target.utf8.first == UInt8(ascii: "/") ? target : folder + target
        }
    }

    /// - Returns: nil if there is no link of this name.
    private static func target(ofLink path: String) -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        // The path is read, and the target written, during the call alone.
        let length = unsafe readlink(path, &target, target.count)
        guard length > 0 else { return nil }
        return String(validating: target.prefix(length).lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    deinit {
        statements.removeAll()
        // The handle came from sqlite3_open_v2, and only this closes it. With no statement left, closing cannot fail.
        unsafe sqlite3_close_v2(handle)
    }

    /// True if no transaction is open: SQLite ends one by itself after some errors.
    var isInAutocommit: Bool { unsafe sqlite3_get_autocommit(handle) != 0 }

    func query(_ statement: String, _ values: [SQLJournalValue]) throws -> [[SQLJournalValue]] {
        let prepared: Statement
        if let known = statements[statement] {
            prepared = known
        } else {
            prepared = try unsafe Statement(statement, on: handle)
            statements[statement] = prepared
        }
        return try prepared.rows(values)
    }

    func execute(_ statement: String) throws {
        _ = try query(statement, [])
    }

    /// Has changes go to a log of their own first. Where several processes do it to a new file at once, SQLite does not wait as
    /// it does for everything else.
    func switchToWriteAheadLog(patience milliseconds: Int32) throws {
        var left = milliseconds
        while true {
            do {
                return try execute("PRAGMA journal_mode = WAL")
            } catch let error as JournalError where error.code == .unavailable && left > 0 {
                left -= max(sqlite3_sleep(10), 10)
            }
        }
    }

    /// SQLite's findings about the whole file, of which the first twenty are enough; they name tables and pages.
    func damage() throws -> [String] {
        let findings = try query("PRAGMA integrity_check(20)", []).compactMap { row -> String? in
            if case .text(let finding)? = row.first { finding } else { nil }
        }
        return findings == ["ok"] ? [] : findings
    }

    /// Copies the content of another database over this one's, with what lies in the write-ahead log of each.
    func replaceContent(by source: Database) throws(JournalError) {
        do {
            // Refused while another connection is open, such as a gateway that was not stopped.
            try execute("PRAGMA locking_mode = EXCLUSIVE")
            try execute("BEGIN EXCLUSIVE")
            try execute("COMMIT")
        } catch let error as JournalError where error.code == .corrupt {
            throw JournalError(.corrupt, "the file is no database: move it away, with its -wal and -shm")
        } catch let error as JournalError where error.code == .unavailable {
            throw JournalError(.unavailable, "another process has the file open: stop every gateway first")
        } catch {
            throw error as? JournalError ?? JournalError(.unavailable, "the file cannot be locked", underlying: error)
        }
        // Both handles are open until the copy is finished, which also frees it.
        guard let copy = unsafe sqlite3_backup_init(handle, "main", source.handle, "main") else {
            throw Self.error(unsafe sqlite3_extended_errcode(handle))
        }
        // All pages, in one transaction.
        let outcome = unsafe sqlite3_backup_step(copy, -1)
        let end = unsafe sqlite3_backup_finish(copy)
        guard outcome == SQLITE_DONE else { throw Self.error(outcome) }
        guard end == SQLITE_OK else { throw Self.error(end) }
    }

    /// The error for a result code. SQLite's message may name files and columns, so only the short text for the code is taken.
    static func error(_ code: Int32) -> JournalError {
        let meaning = unsafe sqlite3_errstr(code).map { unsafe String(cString: $0) } ?? "unknown"
        let text = "SQLite: \(meaning) (\(code))"
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED: return JournalError(.unavailable, text)
        case SQLITE_FULL, SQLITE_READONLY, SQLITE_IOERR: return JournalError(.notWritable, text)
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_SCHEMA, SQLITE_ERROR, SQLITE_MISMATCH:
            return JournalError(.corrupt, text)
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_AUTH: return JournalError(.configuration, text)
        default: return JournalError(.unavailable, text)
        }
    }
}

/// The only owner of one `sqlite3_stmt *`.
@safe final class Statement {
    private let handle: OpaquePointer

    @unsafe init(_ text: String, on database: OpaquePointer) throws(JournalError) {
        var prepared: OpaquePointer?
        // SQLite reads the text during the call alone.
        let code = unsafe sqlite3_prepare_v3(
            database,
            text,
            -1,
            UInt32(SQLITE_PREPARE_PERSISTENT),
            &prepared,
            nil
        )
        guard code == SQLITE_OK, let handle = unsafe prepared else { throw Database.error(code) }
        unsafe self.handle = unsafe handle
    }

    deinit {
        // It says again what the last step had said.
        unsafe sqlite3_finalize(handle)
    }

    /// Runs the statement to its end.
    func rows(_ values: [SQLJournalValue]) throws(JournalError) -> [[SQLJournalValue]] {
        // Says again what the last step had said, and cannot fail itself.
        defer { unsafe sqlite3_reset(handle) }
        for (index, value) in values.enumerated() {
            let code = bind(value, at: Int32(index + 1))
            guard code == SQLITE_OK else { throw Database.error(code) }
        }
        var rows: [[SQLJournalValue]] = []
        while true {
            let code = unsafe sqlite3_step(handle)
            switch code {
            case SQLITE_ROW: rows.append(try row())
            case SQLITE_DONE: return rows
            default: throw Database.error(code)
            }
        }
    }

    private func bind(_ value: SQLJournalValue, at place: Int32) -> Int32 {
        switch value {
        case .integer(let number):
            return unsafe sqlite3_bind_int64(handle, place, number)
        case .text(var text):
            // SQLite copies the text during the call.
            return text.withUTF8 { utf8 in
                guard let start = utf8.baseAddress, !utf8.isEmpty else {
                    return unsafe lifecycle_sqlite_bind_text(handle, place, [UInt8(0)], 0)
                }
                return unsafe lifecycle_sqlite_bind_text(handle, place, start, UInt64(utf8.count))
            }
        case .bytes(let bytes):
            // Without a pointer it would be NULL and not empty.
            if bytes.isEmpty { return unsafe sqlite3_bind_zeroblob(handle, place, 0) }
            return unsafe bytes.withUnsafeBytes {
                unsafe lifecycle_sqlite_bind_bytes(handle, place, $0.baseAddress, UInt64($0.count))
            }
        }
    }

    private func row() throws(JournalError) -> [SQLJournalValue] {
        var values: [SQLJournalValue] = []
        let count = unsafe sqlite3_column_count(handle)
        for column in 0..<count {
            switch unsafe sqlite3_column_type(handle, column) {
            case SQLITE_INTEGER:
                values.append(.integer(unsafe sqlite3_column_int64(handle, column)))
            case SQLITE_TEXT:
                let text = unsafe bytes(column, sqlite3_column_text(handle, column))
                values.append(.text(String(decoding: text, as: UTF8.self)))
            case SQLITE_BLOB:
                values.append(.bytes(unsafe bytes(column, sqlite3_column_blob(handle, column))))
            default:
                throw JournalError(.corrupt, "a column has a type that the journal does not write")
            }
        }
        return values
    }

    @unsafe private func bytes(_ column: Int32, _ start: UnsafeRawPointer?) -> [UInt8] {
        // The pointer is valid until the next step; the count belongs to the form that it was asked for in.
        let count = unsafe Int(sqlite3_column_bytes(handle, column))
        return unsafe Array(UnsafeRawBufferPointer(start: start, count: start == nil ? 0 : count))
    }
}
