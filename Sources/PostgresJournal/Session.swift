import CLifecyclePostgres
import LifecycleJournal

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The only owner of one `PGconn *`, connected and set up.
@safe final class Session: SQLJournalConnection {
    private let handle: OpaquePointer
    private let statementTimeout: Duration
    private var prepared: [String: String] = [:]

    /// - Parameters:
    ///   - host: the host of the URL to begin with, counted from 0; those before it come last.
    ///   - patience: how long to wait for the connection.
    init(
        _ configuration: PostgresJournalStorage.Configuration,
        beginningAt host: Int,
        within patience: Duration
    ) throws {
        statementTimeout = configuration.statementTimeout
        unsafe handle = try unsafe Session.start(configuration, beginningAt: host)
        try connect(until: .now + patience)
        guard unsafe PQsetnonblocking(handle, 1) == 0 else { throw lost() }
        guard try setting("server_encoding") == "UTF8" else {
            throw JournalError(.configuration, "the database's encoding must be UTF8")
        }
        guard unsafe PQserverVersion(handle) >= 130_000 else {
            throw JournalError(.configuration, "the server must be PostgreSQL 13 or later")
        }
        // The server abandons by itself a statement whose caller no longer waits.
        let limit = max(configuration.statementTimeout.milliseconds, 1)
        try execute("SET statement_timeout = \(limit)")
        try execute("SET idle_in_transaction_session_timeout = \(limit)")
        try execute("SET lock_timeout = \(max(limit / 2, 1))")
        if case .text("off")? = try query("SELECT current_setting('synchronous_commit')", []).first?.first {
            try execute("SET synchronous_commit = on")
        }
    }

    deinit {
        // The handle came from PQconnectStartParams, and only this frees it.
        unsafe PQfinish(handle)
    }

    // MARK: Connecting

    @unsafe private static func start(
        _ configuration: PostgresJournalStorage.Configuration,
        beginningAt host: Int
    ) throws(JournalError) -> OpaquePointer {
        // The URL can change the settings before it, and none of those after it.
        let settings: [(name: String, value: String)] =
            [
                ("sslmode", configuration.isTLSRequired ? "verify-full" : "prefer"),
                ("sslrootcert", configuration.trustRoots),
                ("gssencmode", "disable"),
                // Of a file that is there and is not a plain one, libpq would complain on the standard error.
                ("passfile", "/dev/null/none"),
                ("dbname", configuration.url.text),
                ("client_encoding", "UTF8"),
                ("fallback_application_name", "lifecycle"),
            ] + configuration.url.hosts(beginningAt: host)
        let names = CStrings(settings.map(\.name))
        let values = CStrings(settings.map(\.value))
        // libpq copies the texts during the call.
        let started = unsafe names.withPointers { (names) -> OpaquePointer? in
            unsafe values.withPointers { values in unsafe PQconnectStartParams(names, values, 1) }
        }
        guard let handle = unsafe started else {
            throw JournalError(.unavailable, "libpq has no memory for a connection")
        }
        return unsafe handle
    }

    private func connect(until deadline: ContinuousClock.Instant) throws(JournalError) {
        guard unsafe PQstatus(handle) != CONNECTION_BAD else { throw refused() }
        var event = Int16(POLLOUT)
        while true {
            try wait(for: event, until: deadline)
            switch unsafe PQconnectPoll(handle) {
            case PGRES_POLLING_OK: return
            case PGRES_POLLING_READING: event = Int16(POLLIN)
            case PGRES_POLLING_WRITING: event = Int16(POLLOUT)
            default: throw refused()
            }
        }
    }

    /// libpq's own words name host, user and database, and never the password: the URL was checked before.
    private func refused() -> JournalError {
        let message = unsafe PQerrorMessage(handle).map { unsafe String(cString: $0) } ?? ""
        let words = message.split(separator: "\n").joined(separator: " ")
        let isForGood = [
            // A connection that breaks while TLS begins has words about SSL, too, and is no wrong setting.
            "authentication failed", "does not exist", "certificate", "does not support SSL", "no password supplied",
            "pg_hba",
        ]
        .contains { words.contains($0) }
        return JournalError(isForGood ? .configuration : .unavailable, "PostgreSQL: \(words)")
    }

    private func setting(_ name: String) throws(JournalError) -> String {
        guard let value = unsafe PQparameterStatus(handle, name).map({ unsafe String(cString: $0) }) else {
            throw lost()
        }
        return value
    }

    // MARK: Statements

    /// True if no transaction is open, and the connection can be used again.
    var isIdle: Bool { unsafe PQtransactionStatus(handle) == PQTRANS_IDLE }

    func execute(_ statement: String) throws { _ = try query(statement, []) }

    /// Ends a transaction.
    ///
    /// - Throws: even if the server says that it rolled back instead, since a statement of it had failed.
    func commit() throws {
        let result = try run("COMMIT", [])
        guard result.command == "COMMIT" else {
            throw JournalError(.unavailable, "PostgreSQL rolled the transaction back")
        }
    }

    func query(_ statement: String, _ values: [SQLJournalValue]) throws -> [[SQLJournalValue]] {
        try run(statement, values).rows()
    }

    private func run(_ statement: String, _ values: [SQLJournalValue]) throws -> QueryResult {
        // Somewhat later than the server itself gives up.
        let deadline = ContinuousClock.now + statementTimeout * 1.2
        let name: String
        if let known = prepared[statement] {
            name = known
        } else {
            name = "s\(prepared.count)"
            // libpq copies the texts during the call.
            guard unsafe PQsendPrepare(handle, name, statement, 0, nil) == 1 else { throw lost() }
            _ = try result(until: deadline)
            prepared[statement] = name
        }
        guard unsafe Parameters(values).send(name, on: handle) else { throw lost() }
        return try result(until: deadline)
    }

    private func result(until deadline: ContinuousClock.Instant) throws -> QueryResult {
        while true {
            let left = unsafe PQflush(handle)
            guard left >= 0 else { throw lost() }
            if left == 0 { break }
            try wait(for: Int16(POLLOUT | POLLIN), until: deadline)
            guard unsafe PQconsumeInput(handle) == 1 else { throw lost() }
        }
        var last: QueryResult?
        while true {
            while unsafe PQisBusy(handle) == 1 {
                try wait(for: Int16(POLLIN), until: deadline)
                guard unsafe PQconsumeInput(handle) == 1 else { throw lost() }
            }
            guard let pointer = unsafe PQgetResult(handle) else { break }
            last = unsafe QueryResult(pointer)
        }
        guard let last else { throw lost() }
        try last.check()
        return last
    }

    /// The server did not answer in time.
    struct Silence: Error {}

    /// The server has become a stand-by, or was made to take no changes.
    struct ReadsAlone: Error {}

    private func lost() -> JournalError { JournalError(.unavailable, "the connection to PostgreSQL was lost") }

    /// Waits on the connection's socket, a moment at a time, so that a cancelled task does not wait to the end.
    private func wait(for event: Int16, until deadline: ContinuousClock.Instant) throws(JournalError) {
        while true {
            let socket = unsafe PQsocket(handle)
            guard socket >= 0 else { throw lost() }
            var entry = pollfd(fd: socket, events: event, revents: 0)
            // `poll` writes into the one entry during the call.
            let count = unsafe poll(&entry, 1, 50)
            if count > 0 { return }
            guard count == 0 || errno == EINTR else { throw lost() }
            // The session is given up then, and the server ends the statement by itself: asking it to would mean to wait for it.
            if Task.isCancelled {
                throw JournalError(.unavailable, "the task was cancelled", underlying: CancellationError())
            }
            guard ContinuousClock.now < deadline else {
                throw JournalError(.unavailable, "PostgreSQL did not answer in time", underlying: Silence())
            }
        }
    }
}

/// Texts as C reads them, in one piece of memory.
private struct CStrings {
    private var octets: [CChar] = []
    private var offsets: [Int] = []

    init(_ texts: [String]) {
        for text in texts {
            offsets.append(octets.count)
            octets += text.utf8.map { CChar(bitPattern: $0) } + [0]
        }
    }

    /// - Parameter body: gets pointers to the texts and, after them, a null pointer; all are valid during the call.
    @unsafe func withPointers<Result>(_ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result) -> Result {
        unsafe octets.withUnsafeBufferPointer { octets in
            var pointers: [UnsafePointer<CChar>?] = unsafe offsets.map { offset in
                unsafe octets.baseAddress.map { unsafe $0 + offset }
            }
            unsafe pointers.append(nil)
            return unsafe pointers.withUnsafeBufferPointer { unsafe body($0.baseAddress) }
        }
    }
}

/// The parameters of a statement: bytes as they are, everything else as text.
private struct Parameters {
    private var octets: [CChar] = []
    private var offsets: [Int] = []
    private var lengths: [Int32] = []
    private var formats: [Int32] = []
    private var isTooLong = false

    init(_ values: [SQLJournalValue]) {
        for value in values {
            offsets.append(octets.count)
            let start = octets.count
            switch value {
            case .integer(let number): octets += "\(number)".utf8.map { CChar(bitPattern: $0) }
            case .text(let text): octets += text.utf8.map { CChar(bitPattern: $0) }
            case .bytes(let bytes): octets += bytes.map { CChar(bitPattern: $0) }
            }
            if case .bytes = value { formats.append(1) } else { formats.append(0) }
            let length = Int32(exactly: octets.count - start)
            isTooLong = isTooLong || length == nil
            lengths.append(length ?? 0)
            octets.append(0)
        }
    }

    /// Sends a prepared statement, and asks for binary results.
    @unsafe func send(_ name: String, on handle: OpaquePointer) -> Bool {
        guard !isTooLong else { return false }
        // libpq copies values, lengths and formats during the call.
        return unsafe octets.withUnsafeBufferPointer { octets in
            let pointers: [UnsafePointer<CChar>?] = unsafe offsets.map { offset in
                unsafe octets.baseAddress.map { unsafe $0 + offset }
            }
            return unsafe pointers.withUnsafeBufferPointer { pointers in
                unsafe PQsendQueryPrepared(
                    handle,
                    name,
                    Int32(offsets.count),
                    pointers.baseAddress,
                    lengths,
                    formats,
                    1
                ) == 1
            }
        }
    }
}

extension Duration {
    /// Whole milliseconds, within PostgreSQL's range.
    var milliseconds: Int64 { min(max(self, .zero), .seconds(2_000_000)).wholeMilliseconds }
}
