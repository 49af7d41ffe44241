public import Normalizer
import SignatureCore

extension Journal {
    // MARK: The feed

    /// One event of the feed.
    public struct FeedEvent: Hashable, Sendable, Codable {
        /// Its place in the log. Positions grow, and leave gaps where a line is a statement. No line appears late at an
        /// earlier position.
        public var position: Int64
        /// The event, with its meaning when it was taken in.
        public var event: AppliedEvent
    }

    /// Events in one order that is the same for every reader. Each event appears once, as it was first reported. Keep
    /// the last position that you have read, and continue after it: no event appears later at an earlier position.
    ///
    /// Act only if `event.isNews` is true. An imported event is `superseded`. If its notification comes and makes it news, it moves to
    /// the end.
    ///
    /// An event whose row was damaged, so that it is no JSON, is passed over, and the observer gets ``JournalObservation/unreadable(_:)``
    /// for the log. Once the row is mended, read again from an earlier position to get it. Other JSON may be of a later version, and is an
    /// error, so that no reader misses it.
    ///
    /// - Throws: ``JournalError``; with ``JournalError/Code/aheadOfLog`` for a position that the log has not reached.
    public func events(after position: Int64 = 0, limit: Int = 100) async throws(JournalError) -> [FeedEvent] {
        try await feed(after: position, limit: limit).map(\.event)
    }

    /// Events of the feed, each with the source of its delivery.
    func feed(after position: Int64, limit: Int) async throws(JournalError) -> [(event: FeedEvent, source: String?)] {
        try await giveOutPositions()
        let selection = JournalSelection(after: position, number: .max, through: .max - 1, limit: limit)
        let events = try await values(of: selection, in: .log) { line, transaction in
            try await Self.first(of: line, transaction).map {
                (event: FeedEvent(position: line.order, event: $0.event), source: $0.source)
            }
        }
        if events.isEmpty, position > 0,
            try await read({ try await LogHead.stored($0).head.position }) < position
        {
            throw JournalError(
                .aheadOfLog,
                "the log has no position \(position): the database was replaced by another or by an older copy; begin again at 0"
            )
        }
        return events
    }

    /// The event that a line reported first; nil for a statement, a repeated event and one that was erased.
    private static func first(of line: JournalRecord, _ transaction: any JournalTransaction) async throws
        -> (event: AppliedEvent, source: String?)?
    {
        guard let id = try event(of: line), let record = try await transaction.record(id, in: .event),
            !record.body.isEmpty
        else { return nil }
        let detail = try QueueDetail(of: record)
        guard detail.line == line.key else { return nil }
        var applied = try record.value(AppliedEvent.self)
        // It was imported: news of the past for the feed, too.
        if applied.isNews, record.group == QueuePlace.silent.rawValue { applied.disposition = .superseded }
        return (applied, detail.source)
    }

    private static func event(of line: JournalRecord) throws -> String? {
        if line.body.isEmpty { return try CanonicalJSON.value(LineDetail.self, from: line.detail).event }
        guard case .event(let event) = try line.value(LogLine.self) else { return nil }
        return event.id.description
    }

    /// Gives committed lines their positions, and chains them. This happens after the commit, so that writers do not
    /// wait for each other, and no line appears before one that a reader has seen.
    func giveOutPositions() async throws(JournalError) {
        let size = 200
        while true {
            let count = try await write { transaction in
                let selection = JournalSelection(after: .max - 1, number: .max, limit: size)
                let records = try await transaction.records(selection, in: .log)
                guard !records.isEmpty else { return 0 }
                let stored = try await LogHead.stored(transaction)
                var head = stored.head
                for var record in records {
                    head.position += 1
                    // A line that was erased before it had a position keeps its digest.
                    let noted: LineDetail? = record.detail.isEmpty ? nil : try CanonicalJSON.value(from: record.detail)
                    var detail = LineDetail(record, digest: noted?.digest, at: head.position, after: head.chain)
                    (detail.isErased, detail.event) = (noted?.isErased, noted?.event)
                    head.chain = detail.chain
                    record.order = head.position
                    record.detail = try CanonicalJSON.bytes(detail)
                    guard try await transaction.update(record, in: .log) else { throw Conflict() }
                }
                try await head.write(over: stored.row, transaction)
                return records.count
            }
            if count < size { return }
        }
    }

    /// Lines of the log, in their order. One that was damaged is passed over and reported, as in ``events(after:limit:)``.
    ///
    /// - Parameters:
    ///   - position: begin after this one.
    ///   - limit: the most lines to return.
    /// - Throws: ``JournalError``.
    public func lines(after position: Int64 = 0, limit: Int = 1000) async throws(JournalError) -> [(
        position: Int64, line: LogLine
    )] {
        try await giveOutPositions()
        let selection = JournalSelection(after: position, number: .max, through: .max - 1, limit: limit)
        return try await values(of: selection, in: .log) { record, _ in
            record.body.isEmpty
                ? nil : (position: record.order, line: try record.value(LogLine.self))
        }
    }
}

extension Journal {
    // MARK: From the log

    /// The findings of ``Journal/rebuild(repairing:)``.
    public struct Rebuild: Hashable, Sendable, Codable {
        /// How many purchases were joined from the log, linked lineages together.
        public var purchases = 0
        /// Lineages whose stored state is another one than the log gives, or cannot be read; at most a thousand.
        public var differing: [SubscriptionID] = []
    }

    /// Joins every state from the log again and compares it with the stored one.
    ///
    /// - Parameter isRepairing: true to store the log's result, with its links, names, accounts and transfers, if the
    ///   two differ. Facts that only the stored state has are lost then, and of a question that cannot be read, how to ask it: the
    ///   next notification brings that again.
    /// - Throws: ``JournalError``; with ``JournalError/Code/invalidArgument`` if it is to store what another catalogue than the noted
    ///   one gives, see ``noteCatalog()``. Nothing is changed then.
    public func rebuild(repairing isRepairing: Bool = false) async throws(JournalError) -> Rebuild {
        if isRepairing, let noted = try await checkpoint(of: Self.catalogMark), noted.value != (try catalogDigest) {
            throw JournalError(
                .invalidArgument,
                "the states were made with another product catalogue: name the one that the gateway or the host has"
            )
        }
        try await giveOutPositions()
        var rebuild = Rebuild()
        let lines = JournalSelection(through: .max - 1, limit: 200)
        try await forEachPage(of: lines, in: .log) { records throws(JournalError) in
            for record in records where !record.body.isEmpty {
                let line: LogLine
                do { line = try CanonicalJSON.value(from: record.body) } catch { throw JournalError(wrapping: error) }
                guard let lineage = line.subscription, !lineage.id.isEmpty else {
                    if isRepairing { try await rebuildTransfer(line) }
                    continue
                }
                if isRepairing {
                    try await write { transaction in
                        try await Self.index(lineage.id, of: lineage, transaction)
                        try await Self.indexNames(of: line, transaction)
                    }
                }
                // To compare, the log and the states have to be of one moment.
                let isRight =
                    isRepairing
                    ? try await write { try await rebuildState(of: lineage, firstStatedAt: record.order, true, $0) }
                    : try await read { try await rebuildState(of: lineage, firstStatedAt: record.order, false, $0) }
                if let isRight {
                    rebuild.purchases += 1
                    if !isRight, rebuild.differing.count < 1000 { rebuild.differing.append(lineage) }
                }
            }
        }
        return rebuild
    }

    private static let catalogMark = "journal/catalog"

    /// Empty without a catalogue.
    private var catalogDigest: String {
        get throws(JournalError) {
            guard let catalog = options.catalog else { return "" }
            do { return JournalKey.digest(try CanonicalJSON.bytes(catalog)) } catch {
                throw JournalError(.invalidArgument, "the product catalogue cannot be written", underlying: error)
            }
        }
    }

    /// Notes which ``Options/catalog`` the states are made with. Call it when the program starts that takes your deliveries in:
    /// ``rebuild(repairing:)`` of another program, such as the command line, then stores nothing if the catalogue was forgotten there.
    ///
    /// - Throws: ``JournalError``.
    public func noteCatalog() async throws(JournalError) {
        let (digest, noted) = (try catalogDigest, try await checkpoint(of: Self.catalogMark))
        // If another program has started at the same moment, its note stays.
        if noted?.value != digest { _ = try await setCheckpoint(digest, of: Self.catalogMark, after: noted) }
    }

    private func rebuildTransfer(_ line: LogLine) async throws(JournalError) {
        var ledger = AccountLedger()
        ledger.apply(line)
        let transfers = ledger.transfers
        if transfers.isEmpty { return }
        try await write { for transfer in transfers { try await Self.insert(transfer, $0) } }
    }

    /// - Returns: true if the stored state is right; nil if an earlier line stands for the same purchase.
    private func rebuildState(
        of lineage: SubscriptionID,
        firstStatedAt position: Int64,
        _ isRepairing: Bool,
        _ transaction: any JournalTransaction
    ) async throws -> Bool? {
        // Cheaply first: most lines are not the first of their lineage.
        guard try await Self.firstStated(of: lineage, transaction) == position else { return nil }
        var lineages = [lineage]
        var known: Set = [lineage]
        var earliest = position
        var index = 0
        while index < lineages.count {
            let current = lineages[index]
            index += 1
            var related: [SubscriptionID] = []
            for (position, line) in try await Self.lines(of: current, transaction) {
                earliest = min(earliest, position)
                for case .link(let other) in line.statement?.facts ?? [] where other != current {
                    if isRepairing { try await Self.link(current, other, in: transaction) }
                    related.append(other)
                }
            }
            if let purchase = current.purchaseOfItem {
                if isRepairing { try await Self.link(current, purchase, in: transaction) }
                related.append(purchase)
            }
            related += try await StateRows.lineages(in: .link, of: JournalKey.text(current), transaction)
            for other in related where !other.id.isEmpty && known.insert(other).inserted { lineages.append(other) }
        }
        guard earliest == position else { return nil }
        // First the rows, and then the lines that they come from: a row that another process changes in between is not written.
        var rows = try await StateRows(linkedTo: lineages, replacingUnreadable: true, transaction)
        for other in rows.records.keys.inOrder + rows.states.flatMap(\.lineages) where known.insert(other).inserted {
            lineages.append(other)
        }
        // A damaged row may say that it stands for another purchase, whose own row was not read then.
        if lineages.contains(where: { rows.records[$0] == nil }) {
            rows = try await StateRows(linkedTo: lineages, replacingUnreadable: true, transaction)
        }
        let stored = AccountLedger(rows.states)
        var ledger = AccountLedger()
        for current in lineages {
            for (_, line) in try await Self.lines(of: current, transaction) {
                ledger.apply(line, catalog: options.catalog)
            }
        }
        let isRight = lineages.allSatisfy { stored[$0] == ledger[$0] }
        if !isRight, isRepairing { try await rows.write(ledger, of: lineages, transaction) }
        // A journal of an earlier version has none.
        if isRepairing { try await writeQuestions(of: lineages, in: ledger, replacingUnreadable: true, transaction) }
        return isRight
    }

    /// A lineage's lines that are not erased.
    private static func lines(
        of lineage: SubscriptionID,
        _ transaction: any JournalTransaction
    ) async throws -> [(position: Int64, line: LogLine)] {
        let selection = JournalSelection(group: JournalKey.text(lineage), limit: 500)
        return try await transaction.allRecords(selection, in: .log).filter { !$0.body.isEmpty }
            .map { ($0.order, try CanonicalJSON.value(from: $0.body)) }
    }

    /// The position of a lineage's first line that is not erased.
    private static func firstStated(
        of lineage: SubscriptionID,
        _ transaction: any JournalTransaction
    ) async throws -> Int64? {
        var selection = JournalSelection(group: JournalKey.text(lineage), limit: 1)
        while true {
            let records = try await transaction.records(selection, in: .log)
            if let first = records.first(where: { !$0.body.isEmpty }) { return first.order }
            guard records.count == selection.limit, let last = records.last else { return nil }
            selection = selection.following(last)
            selection.limit = 200
        }
    }

    /// The results of another version of the adapters for the raw deliveries that are kept.
    public struct Difference: Hashable, Sendable, Codable {
        /// How many deliveries were mapped again.
        public var deliveries = 0
        /// Deliveries that this version does not take, by their name in the journal.
        public var refused: [String] = []
        /// Events that it makes and the log has not.
        public var newEvents: [NormalizedEvent] = []
        /// Events that it makes otherwise than the log has them.
        public var changedEvents: [NormalizedEvent] = []
    }

    /// Maps every kept raw delivery again and compares the events with those in the log. It changes nothing, and asks
    /// providers as the adapters do.
    ///
    /// A delivery whose header fields prove it cannot be proven again, since these are not kept. Use adapters that
    /// accept deliveries that were proven before.
    ///
    /// - Parameter adapters: by source. Deliveries of other sources are left out.
    /// - Throws: ``JournalError``.
    public func diff(
        against adapters: [String: any ProviderAdapter]
    ) async throws(JournalError) -> Difference {
        var difference = Difference()
        let kept = JournalSelection(group: DeliveryPlace.kept.rawValue, limit: 100)
        try await forEachPage(of: kept, in: .delivery) { records throws(JournalError) in
            for record in records {
                let detail: DeliveryDetail
                do { detail = try CanonicalJSON.value(from: record.detail) } catch {
                    throw JournalError(wrapping: error)
                }
                guard let adapter = adapters[detail.source] else { continue }
                let delivery = Delivery(
                    headers: detail.headers ?? [:],
                    body: record.body,
                    receivedAt: detail.receivedAt
                )
                difference.deliveries += 1
                guard let result = try? await adapter.receive(delivery) else {
                    difference.refused.append(record.key)
                    continue
                }
                for event in result.events {
                    let stored = try await read { transaction in
                        let isKnown = try await transaction.record(event.id.description, in: .event) != nil
                        let isSame = try await transaction.record(JournalKey.text(.event(event)), in: .log) != nil
                        return (isKnown, isSame)
                    }
                    if !stored.0 {
                        difference.newEvents.append(event)
                    } else if !stored.1 {
                        difference.changedEvents.append(event)
                    }
                }
            }
        }
        return difference
    }
}
