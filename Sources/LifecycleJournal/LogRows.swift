import FoundationEssentials
import Normalizer

/// The journal's notes about a line of its log, once the line has its position.
struct LineDetail: Codable, Sendable {
    /// The SHA-256 of the line. It stays when the line is erased.
    var digest: String
    /// The SHA-256 of the one before, the position, the key, the group and the digest.
    var chain: String
    var isErased: Bool?
    /// The event that the erased line reported, if others have it, too.
    var event: String?

    init(_ record: JournalRecord, digest: String? = nil, at position: Int64, after previous: String) {
        self.digest = digest ?? JournalKey.digest(record.body)
        let parts = JournalKey.text(previous, "\(position)", record.key, self.digest)
        chain = JournalKey.digest(Array(parts.utf8))
    }
}

/// The end of the log.
struct LogHead: Codable, Sendable {
    static let key = JournalKey.text("journal", "head")
    var position: Int64 = 0
    var chain = ""
    /// When the database was last restored from a copy.
    @OptionalEventTime var restoredAt: Date?

    /// The row, and what it says; of a log without one its beginning.
    static func stored(_ transaction: any JournalTransaction) async throws -> (row: JournalRecord?, head: LogHead) {
        let row = try await transaction.record(key, in: .checkpoint)
        return (row, try row.map { try CanonicalJSON.value(LogHead.self, from: $0.body) } ?? LogHead())
    }

    /// Stores the head in place of `row`.
    func write(over row: JournalRecord?, _ transaction: any JournalTransaction) async throws {
        var next = row ?? JournalRecord(key: Self.key)
        next.body = try CanonicalJSON.bytes(self)
        try await transaction.put(next, over: row, in: .checkpoint)
    }
}
