import CLifecyclePostgres
import LifecycleJournal

/// The only owner of one `PGresult *`.
@safe final class QueryResult {
    private let handle: OpaquePointer

    @unsafe init(_ handle: OpaquePointer) { unsafe self.handle = unsafe handle }

    deinit {
        // The handle came from PQgetResult, and only this frees it.
        unsafe PQclear(handle)
    }

    /// The command that was run, such as `COMMIT`.
    var command: String { unsafe PQcmdStatus(handle).map { unsafe String(cString: $0) } ?? "" }

    func check() throws(JournalError) {
        switch unsafe PQresultStatus(handle) {
        case PGRES_COMMAND_OK, PGRES_TUPLES_OK: return
        default: throw error
        }
    }

    /// By the SQLSTATE alone: the server's own words may show stored values.
    /// https://www.postgresql.org/docs/current/errcodes-appendix.html
    private var error: JournalError {
        let field = unsafe PQresultErrorField(handle, Int32(UInt8(ascii: "C")))
        guard let field = unsafe field else {
            return JournalError(.unavailable, "the connection to PostgreSQL was lost")
        }
        let state = unsafe String(cString: field)
        let code: JournalError.Code =
            switch state {
            case "40001", "40P01", "55P03": .conflict
            case "53100": .notWritable
            case "42P01", "42501", "3F000", "22021", "22P05": .configuration
            default:
                switch state.prefix(2) {
                case "28", "3D": .configuration
                case "XX": .corrupt
                default: .unavailable
                }
            }
        return JournalError(
            code,
            "PostgreSQL: SQLSTATE \(state)",
            underlying: state == "25006" ? Session.ReadsAlone() : nil
        )
    }

    func rows() throws(JournalError) -> [[SQLJournalValue]] {
        let columns = unsafe PQnfields(handle)
        var rows: [[SQLJournalValue]] = []
        let count = unsafe PQntuples(handle)
        for row in 0..<count {
            var values: [SQLJournalValue] = []
            for column in 0..<columns { values.append(try value(row, column)) }
            rows.append(values)
        }
        return rows
    }

    private func value(_ row: Int32, _ column: Int32) throws(JournalError) -> SQLJournalValue {
        guard unsafe PQgetisnull(handle, row, column) == 0, let start = unsafe PQgetvalue(handle, row, column) else {
            throw JournalError(.corrupt, "a column that the journal fills is empty")
        }
        // The value is valid as long as the result is.
        let count = unsafe Int(PQgetlength(handle, row, column))
        let bytes = unsafe Array(UnsafeRawBufferPointer(start: start, count: count))
        // The numbers of PostgreSQL's own types: https://github.com/postgres/postgres/blob/REL_15_STABLE/src/include/catalog/pg_type.dat
        switch unsafe PQftype(handle, column) {
        case 20 where count == 8: return .integer(bytes.reduce(0) { $0 << 8 | Int64($1) })
        case 17: return .bytes(bytes)
        case 25: return .text(String(decoding: bytes, as: UTF8.self))
        default: throw JournalError(.corrupt, "a column has a type that the journal does not write")
        }
    }
}
