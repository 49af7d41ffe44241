public import Normalizer

/// Authentic deliveries that cannot be taken in yet: this version cannot read them, their app is not configured, or the
/// provider could not be asked about them.
///
/// Replay them after an update or a change of the configuration.
public struct Quarantine: Sendable {
    /// A delivery in quarantine.
    public struct Entry: Sendable, Identifiable {
        /// Its name in the quarantine: the source, a colon and a digest.
        public let id: String
        /// Its source, as the host names its adapters.
        public let source: String
        /// The delivery, with the header fields that prove it.
        public let delivery: Delivery
        /// The reason that it is here. It shows nothing of the content.
        public let reason: String
        fileprivate let proven: String?
        let record: JournalRecord

        fileprivate init(_ record: JournalRecord) throws {
            let detail = try CanonicalJSON.value(DeliveryDetail.self, from: record.detail)
            id = record.key.replacing("\n", with: ":")
            source = detail.source
            delivery = Delivery(headers: detail.headers ?? [:], body: record.body, receivedAt: detail.receivedAt)
            reason = detail.error ?? ""
            proven = detail.proven
            self.record = record
        }

        /// The key of the record; nil for what is no id. A source may have a colon, the digest has none.
        fileprivate static func key(_ id: String) -> String? {
            guard let colon = id.lastIndex(of: ":"), !id.utf8.contains(0) else { return nil }
            return id[..<colon] + "\n" + id[id.index(after: colon)...]
        }
    }

    /// How much there is in a quarantine, or may be.
    public struct Size: Hashable, Sendable, Codable {
        /// How many deliveries.
        public var deliveries: Int
        /// How long their rows are together: the bodies, the header fields, and what was proven of them.
        public var bytes: Int

        /// Makes a size.
        public init(deliveries: Int, bytes: Int) {
            self.deliveries = deliveries
            self.bytes = bytes
        }
    }

    let journal: Journal

    /// The deliveries, in the order in which they were received. One that was replayed in vain goes behind the others.
    ///
    /// - Parameters:
    ///   - entry: begin after this one.
    ///   - limit: the most deliveries to return.
    /// - Throws: ``JournalError``.
    public func list(after entry: Entry? = nil, limit: Int = 100) async throws(JournalError) -> [Entry] {
        let all = JournalSelection(group: DeliveryPlace.quarantined.rawValue, limit: limit)
        return try await list(entry.map { all.following($0.record) } ?? all)
    }

    func list(_ selection: JournalSelection) async throws(JournalError) -> [Entry] {
        try await journal.values(of: selection, in: .delivery) { record, _ in try Entry(record) }
    }

    /// The delivery of an id.
    ///
    /// - Returns: nil if none in quarantine has it.
    /// - Throws: ``JournalError``.
    public func entry(_ id: String) async throws(JournalError) -> Entry? {
        try await journal.read { transaction in
            guard let key = Entry.key(id) else { return nil }
            return try await Self.record(key, transaction).map(Entry.init)
        }
    }

    /// Gives a delivery to its adapter once more. It leaves the quarantine when it is accepted, and otherwise has the new reason.
    ///
    /// - Parameters:
    ///   - entry: the delivery, from ``list(after:limit:)`` or ``entry(_:)``.
    ///   - adapter: takes it. A delivery that was proven when it came, or by a replay, is not proven again. The signature of another
    ///     one is checked against the delivery's own time of receipt.
    /// - Returns: the answer that a provider would get; `Acknowledgement.Decision.accept` means that it was taken in.
    public func replay(_ entry: Entry, with adapter: some ProviderAdapter) async -> Acknowledgement {
        var delivery = entry.delivery
        // A clock that was ahead noted a time that is still to come.
        delivery.receivedAt = min(delivery.receivedAt, journal.now())
        let tried = await journal.attempt(delivery, of: entry.source, proven: entry.proven, with: adapter)
        let answer = await journal.settle(tried, for: adapter.provider).answer
        if answer.decision != .accept { try? await note(tried, of: entry) }
        return answer
    }

    /// Writes down how an attempt failed, and when.
    private func note(_ tried: TriedDelivery, of entry: Entry) async throws {
        let time = journal.now().milliseconds
        try await journal.write { transaction in
            guard var record = try await Self.record(entry.record.key, transaction) else { return }
            var detail = try DeliveryDetail(of: record)
            detail.error = tried.reason ?? detail.error
            detail.proven = try tried.proven ?? detail.proven
            let former = record
            record.detail = try CanonicalJSON.bytes(detail)
            record.order = time
            guard try await transaction.update(record, in: .delivery) else { throw Conflict() }
            try await Self.note(record, insteadOf: former, of: entry.source, in: transaction)
        }
    }

    /// The row of a delivery, as it is now: a replay in vain changes it. Nil if the delivery is not in quarantine.
    private static func record(_ key: String, _ transaction: any JournalTransaction) async throws -> JournalRecord? {
        let record = try await transaction.record(key, in: .delivery)
        return record?.group == DeliveryPlace.quarantined.rawValue ? record : nil
    }

    /// Gives every delivery to the adapter of its source once more, one with each call of ``Replay/next()``.
    ///
    /// - Parameter adapters: by source. Deliveries of other sources are not tried.
    public func replay(with adapters: [String: any ProviderAdapter]) -> Replay {
        Replay(quarantine: self, adapters: adapters)
    }

    /// Deletes a delivery.
    ///
    /// - Returns: true if it was still there.
    /// - Throws: ``JournalError``.
    @discardableResult
    public func discard(_ entry: Entry) async throws(JournalError) -> Bool {
        try await journal.write { transaction in
            guard let record = try await Self.record(entry.record.key, transaction) else { return false }
            guard try await transaction.delete(record, from: .delivery) else { throw Conflict() }
            try await Self.note(nil, insteadOf: record, of: entry.source, in: transaction)
            return true
        }
    }

    /// How much there is of each source.
    ///
    /// - Throws: ``JournalError``.
    public func sizes() async throws(JournalError) -> [String: Size] {
        try await journal.read { transaction in
            let rows = try await transaction.allRecords(
                JournalSelection(group: Self.group, limit: 500),
                in: .checkpoint
            )
            let notes = rows.compactMap(Note.init)
            guard !rows.isEmpty, notes.count == rows.count else { return try await Self.count(in: transaction) }
            return Dictionary(notes.map { ($0.source, $0.size) }) { first, _ in first }
        }
    }

    // MARK: Counting

    private struct Note: Codable {
        var source: String
        var size: Size

        init(source: String, size: Size) { (self.source, self.size) = (source, size) }

        /// Nil for a row that cannot be read: its quarantine is counted again.
        init?(_ row: JournalRecord) {
            guard let note: Note = try? CanonicalJSON.value(from: row.body) else { return nil }
            self = note
        }
    }

    private static let group = "quarantine"

    private static func note(of source: String, _ transaction: any JournalTransaction) async throws -> JournalRecord? {
        try await transaction.record(JournalKey.text(group, source), in: .checkpoint)
    }

    /// Looks through the quarantine, for a journal that did not count yet, or whose count cannot be read.
    private static func count(in transaction: any JournalTransaction) async throws -> [String: Size] {
        var sizes: [String: Size] = [:]
        var selection = JournalSelection(group: DeliveryPlace.quarantined.rawValue, limit: 50)
        while true {
            let records = try await transaction.records(selection, in: .delivery)
            for record in records {
                guard let source = try? DeliveryDetail(of: record).source else { continue }
                sizes[source, default: Size(of: nil)].change(from: nil, to: record)
            }
            guard records.count == selection.limit, let last = records.last else { return sizes }
            selection = selection.following(last)
        }
    }

    /// Counts what changes in the quarantine. Call it before the row is written that comes, and after that of another change.
    ///
    /// - Parameters:
    ///   - record: the row that is there from now on; nil if none is.
    ///   - former: the row that was there; nil if none was.
    ///   - limit: the most that there may be; nil for a delivery that has to be kept in any case.
    /// - Throws: ``JournalError`` with ``JournalError/Code/quarantineFull``.
    static func note(
        _ record: JournalRecord?,
        insteadOf former: JournalRecord?,
        of source: String,
        upTo limit: Size? = nil,
        in transaction: any JournalTransaction
    ) async throws {
        guard Size(of: record) != Size(of: former) else { return }
        let known = try await note(of: source, transaction)
        var size: Size
        if let noted = known.flatMap(Note.init) {
            size = noted.size
            size.change(from: former, to: record)
        } else {
            // The same transaction writes the row itself: one that left is not counted any more, and one that comes not yet.
            size = try await count(in: transaction)[source] ?? Size(of: nil)
            if former == nil { size.change(from: nil, to: record) }
        }
        if let limit, size.deliveries > limit.deliveries || size.bytes > limit.bytes {
            throw JournalError(.quarantineFull, "the quarantine of \(source) is full")
        }
        var row = known ?? JournalRecord(key: JournalKey.text(group, source), group: group)
        row.body = try CanonicalJSON.bytes(Note(source: source, size: size))
        try await transaction.put(row, over: known, in: .checkpoint)
    }
}

extension Quarantine.Size {
    /// The size of a quarantine with this row alone; nil for an empty one.
    fileprivate init(of record: JournalRecord?) {
        self.init(deliveries: record == nil ? 0 : 1, bytes: record.map { $0.body.count + $0.detail.count } ?? 0)
    }

    fileprivate mutating func change(from former: JournalRecord?, to record: JournalRecord?) {
        let (less, more) = (Self(of: former), Self(of: record))
        // A row that was edited by hand may say anything.
        deliveries = max(0, min(deliveries, .max / 2) + more.deliveries - less.deliveries)
        // An earlier version counted the bodies alone.
        bytes = deliveries == 0 ? 0 : max(0, min(bytes, .max / 2) + more.bytes - less.bytes)
    }
}
