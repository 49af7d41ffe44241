public import FoundationEssentials
public import Normalizer

/// Where a row of a queue stands.
enum QueuePlace: String, CaseIterable {
    /// It is given out when its time has come.
    case due
    /// It was done.
    case done
    /// It has failed too often.
    case dead
    /// It had failed too often, and was put away since.
    case discarded
    /// It is never given out: its event is no news, or its purchase has no open question.
    case silent
    /// It is a question to a provider. The journal asks it itself when it is due.
    case question
    /// Its questions were asked as often as is of use.
    case exhausted

    /// Of a purchase that can be asked about, in the table of duties.
    static let ofQuestions = [silent, question, exhausted]
}

/// The journal's notes about a row in a queue.
struct QueueDetail: TurnDetail {
    /// The line of the log that an event came with.
    var line: String?
    var attempts = 0
    var turnSetAt: Int64?
    var error: String?
    /// The trace of the delivery that brought it.
    var trace: String?
    /// The store's token for the answer, sealed, until the duty is done.
    var token: String?
    /// The source of the delivery that an event came with; nil if it came with none, or in an earlier version.
    var source: String?
    /// From when on an event that an import brought is news, once it is notified.
    @OptionalEventTime var newsSince: Date?

    init(line: String? = nil, source: String? = nil, trace: TraceParent? = nil, newsSince time: Date? = nil) {
        self.line = line
        self.source = source
        self.trace = trace?.description
        newsSince = time
    }

    init(of record: JournalRecord) throws {
        self = record.detail.isEmpty ? QueueDetail() : try CanonicalJSON.value(from: record.detail)
    }
}

/// Items of work, such as news that the host has to act upon. A worker gets an item under a lease, and calls
/// ``done(_:)`` or ``failed(_:because:retryAt:)`` before the lease ends. Otherwise the item is given out again.
///
/// So each item is given out at least once. Act under its id, which is the same every time.
public struct JournalQueue<Value: Codable & Sendable>: Sendable {
    /// An item that was given out.
    public struct Item: Sendable, Identifiable {
        /// The same every time that the item is given out.
        public let id: String
        /// The content of the item.
        public let value: Value
        /// How often it was given out before.
        public let attempts: Int
        /// The end of the lease; for an item that was given up, the time of that.
        public let leasedUntil: Date
        /// The trace of the delivery that brought it; nil if it came with none.
        public let trace: TraceParent?
        /// Why the last attempt failed, as it was noted; nil if none has.
        public let failure: String?
        let record: JournalRecord
    }

    let journal: Journal
    let table: JournalTable

    /// Takes items that are due, the longest due first.
    ///
    /// - Parameters:
    ///   - limit: how many at most.
    ///   - lease: how long they are yours.
    /// - Throws: ``JournalError``.
    public func next(_ limit: Int = 1, lease: Duration) async throws(JournalError) -> [Item] {
        try await journal.correctTurns(in: table)
        let time = journal.now().milliseconds
        let until = time + max(lease.milliseconds, 1)
        let table = table
        let (items, isPassingOver) = try await journal.write { transaction in
            let selection = JournalSelection(group: QueuePlace.due.rawValue, through: time, limit: limit)
            return try await transaction.values(of: selection, in: table) { record -> Item? in
                var detail = try QueueDetail(of: record)
                let attempts = detail.attempts
                detail.attempts += 1
                detail.turnSetAt = time
                var leased = record
                leased.detail = try CanonicalJSON.bytes(detail)
                leased.order = until
                var written = leased
                written.version += 1
                let item = try Item(written, attempts: attempts)
                // Others may take the same rows at this moment, and are faster with some.
                return try await transaction.update(leased, in: table) ? item : nil
            }
        }
        if isPassingOver { journal.observer.observe(.unreadable(table)) }
        return items
    }

    /// Says that an item is done. It is never given out again.
    ///
    /// - Returns: true if the lease still held; else another worker has the item, or has done it.
    /// - Throws: ``JournalError``.
    @discardableResult
    public func done(_ item: Item) async throws(JournalError) -> Bool {
        try await put(item.record, in: .done, order: journal.now().milliseconds, error: nil)
    }

    /// Reports that an item could not be done. It is given out again later, or given up after as many attempts as the
    /// journal's options allow.
    ///
    /// - Parameters:
    ///   - item: the item, as it was leased.
    ///   - reason: the note to store; keep it free of personal data.
    ///   - time: when to try again; by default after a delay that doubles.
    /// - Returns: true if the lease still held.
    /// - Throws: ``JournalError``.
    @discardableResult
    public func failed(_ item: Item, because reason: String, retryAt time: Date? = nil) async throws(JournalError)
        -> Bool
    {
        let attempts = item.attempts + 1
        guard attempts < journal.options.maximumAttempts else {
            let isHeld = try await put(item.record, in: .dead, order: journal.now().milliseconds, error: reason)
            if isHeld { journal.observer.observe(.gaveUp(table)) }
            return isHeld
        }
        let retry = time?.milliseconds ?? journal.retryTime(afterAttempt: attempts)
        return try await put(item.record, in: .due, order: retry, error: reason)
    }

    /// Items that were given up, the longest ago first.
    ///
    /// - Parameters:
    ///   - item: begin after this one; nil for the first page.
    ///   - limit: the most items to return.
    /// - Throws: ``JournalError``.
    public func abandoned(after item: Item? = nil, limit: Int = 100) async throws(JournalError) -> [Item] {
        let selection = JournalSelection(group: QueuePlace.dead.rawValue, limit: limit)
        return try await items(item.map { selection.following($0.record) } ?? selection)
    }

    /// The item with this id that was given up; nil if there is none.
    ///
    /// - Throws: ``JournalError``.
    public func abandoned(id: String) async throws(JournalError) -> Item? {
        try item(await record(id, in: .dead))
    }

    /// Takes the item with this id, due or not, and even if another worker has it. Call ``done(_:)`` with it to say that
    /// the work was done elsewhere.
    ///
    /// - Returns: the item; nil if it is unknown, done or given up.
    /// - Throws: ``JournalError``.
    public func take(id: String) async throws(JournalError) -> Item? {
        guard let record = try await record(id, in: .due) else { return nil }
        return try await take(record)
    }

    /// Items that are not done, the next due first, without a lease.
    ///
    /// - Throws: ``JournalError``.
    public func waiting(limit: Int = 100) async throws(JournalError) -> [Item] {
        try await items(JournalSelection(group: QueuePlace.due.rawValue, limit: limit))
    }

    /// The item that is not done and was stored first, whenever it will be tried again; nil if all are done.
    ///
    /// The rows are in the order of their next attempts, so it reads every one that is not done, a thousand at a time, and
    /// lets others write in between.
    ///
    /// - Throws: ``JournalError``.
    public func oldest() async throws(JournalError) -> Item? {
        let selection = JournalSelection(group: QueuePlace.due.rawValue, limit: 1000)
        var oldest: Item?
        try await journal.forEachPage(of: selection, in: table) { records throws(JournalError) in
            for record in records where record.number < oldest?.record.number ?? .max {
                // One that cannot be read must not hide the others.
                oldest = (try? item(record)) ?? oldest
            }
        }
        return oldest
    }

    /// Puts an item away that was given up and is of no use: it is not in ``abandoned(after:limit:)`` any more, and is not given out again.
    /// Its row stays, with the time of this and with why the last attempt failed. The news stays in ``Journal/events(after:limit:)``.
    ///
    /// - Returns: true if it was still given up.
    /// - Throws: ``JournalError``.
    @discardableResult
    public func discard(_ item: Item) async throws(JournalError) -> Bool {
        guard item.record.group == QueuePlace.dead.rawValue else { return false }
        return try await put(item.record, in: .discarded, order: journal.now().milliseconds, error: item.failure)
    }

    private func item(_ record: JournalRecord?) throws(JournalError) -> Item? {
        do {
            return try record.map { try Item($0, attempts: QueueDetail(of: $0).attempts) }
        } catch {
            throw JournalError(wrapping: error)
        }
    }

    private func items(_ selection: JournalSelection) async throws(JournalError) -> [Item] {
        try await journal.values(of: selection, in: table) { record, _ in
            try Item(record, attempts: QueueDetail(of: record).attempts)
        }
    }

    private func record(_ id: String, in place: QueuePlace) async throws(JournalError) -> JournalRecord? {
        let (key, table) = (table == .due ? JournalKey.text(id) : id, table)
        let record = try await journal.read { try await $0.record(key, in: table) }
        return record.flatMap { $0.group == place.rawValue ? $0 : nil }
    }

    /// Gives out an item again that was given up, from now on.
    ///
    /// - Returns: true if it was still given up.
    /// - Throws: ``JournalError``.
    @discardableResult
    public func revive(_ item: Item) async throws(JournalError) -> Bool {
        try await put(item.record, in: .due, order: journal.now().milliseconds, error: nil, resets: true)
    }

    func put(
        _ record: JournalRecord,
        in place: QueuePlace,
        order: Int64,
        error: String?,
        resets: Bool = false
    ) async throws(JournalError) -> Bool {
        let (table, time) = (table, journal.now().milliseconds)
        return try await journal.write { transaction in
            var record = record
            var detail = try QueueDetail(of: record)
            detail.error = error
            detail.turnSetAt = time
            if [.done, .discarded].contains(place) { detail.token = nil }
            if resets { detail.attempts = 0 }
            (record.group, record.order) = (place.rawValue, order)
            record.detail = try CanonicalJSON.bytes(detail)
            if try await transaction.update(record, in: table) { return true }
            // A repetition after a commit of unknown outcome finds its own row.
            let stored = try await transaction.record(record.key, in: table)
            return stored?.version == record.version + 1 && stored?.group == record.group
                && stored?.detail == record.detail
        }
    }
}

extension JournalQueue.Item {
    init(_ record: JournalRecord, attempts: Int) throws {
        id = record.key
        value = try CanonicalJSON.value(Value.self, from: record.body)
        self.attempts = attempts
        leasedUntil = Date(millisecondsSince1970: record.order)
        let detail = try QueueDetail(of: record)
        trace = detail.trace.flatMap { TraceParent($0) }
        failure = detail.error
        self.record = record
    }
}

extension Journal {
    /// News that the host has to act upon, such as sending a mail or informing another system.
    public var outbox: JournalQueue<AppliedEvent> { JournalQueue(journal: self, table: .event) }

    /// Work that is due at a time: a purchase to acknowledge, a store's question to answer, and everything that the
    /// host has scheduled. The journal asks providers itself, see ``reconcile(with:replaying:limit:)``.
    public var duties: JournalQueue<DueItem> { JournalQueue(journal: self, table: .due) }

    /// The longest delay between two attempts, in milliseconds. The clocks of two hosts differ by less.
    private static let longestDelay = TurnCorrections.interval

    /// The time of the next attempt, in milliseconds since 1970.
    func retryTime(afterAttempt attempts: Int) -> Int64 {
        let delay = options.firstDelay.milliseconds << Int64(min(max(attempts - 1, 0), 16))
        return now().milliseconds + min(max(delay, 1), Self.longestDelay)
    }
}

/// Something that has to be done at a time.
public struct DueItem: Hashable, Sendable, Codable, Identifiable {
    /// The kind of work.
    public struct Kind: OpenValue {
        /// The name used in JSON.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Acknowledge a purchase before the deadline, or the store gives the money back.
        public static let acknowledgement: Kind = "acknowledgement"
        /// Answer a store's question about a refund before the deadline.
        public static let refundReview: Kind = "refund_review"
    }

    /// One name for one duty: it is kept once.
    public var id: String
    /// The kind of work.
    public var kind: Kind
    /// The lineage that it is about.
    public var subscription: SubscriptionID?
    /// The event that it follows from.
    public var event: EventID?
    /// When to do it.
    @EventTime public var dueAt: Date
    /// By when it has to be done; nil if no time is set.
    @OptionalEventTime public var deadline: Date?

    /// Makes a duty.
    public init(
        _ kind: Kind,
        id: String,
        subscription: SubscriptionID? = nil,
        event: EventID? = nil,
        dueAt: Date,
        deadline: Date? = nil
    ) {
        self.id = id
        self.kind = kind
        self.subscription = subscription
        self.event = event
        self.dueAt = dueAt
        self.deadline = deadline
    }

    private enum CodingKeys: String, CodingKey {
        case id, kind, subscription, event, deadline
        case dueAt = "due_at"
    }

    /// The work that follows from an event that is news.
    static func items(of applied: AppliedEvent) -> [DueItem] {
        let event = applied.event
        func item(_ kind: Kind, by deadline: Date?) -> DueItem {
            DueItem(
                kind,
                id: kind.id(of: event.id),
                subscription: event.subscription,
                event: event.id,
                dueAt: event.receivedAt,
                deadline: deadline
            )
        }
        switch event.event {
        case .acknowledgementRequired(let duty): return [item(.acknowledgement, by: duty.deadline)]
        case .refundRequested(let request): return [item(.refundReview, by: request.answerBy)]
        default: return []
        }
    }
}

extension DueItem.Kind {
    /// The kinds of work that follow from an event.
    static let ofEvents: [Self] = [.acknowledgement, .refundReview]

    /// Names the work that follows from an event.
    func id(of event: EventID) -> String { "\(self)/\(event)" }
}

extension DueItem {
    /// True if the journal made it. The host's own duty may follow from an event, too.
    var isOfJournal: Bool { event.map { Kind.ofEvents.contains(kind) && id == kind.id(of: $0) } ?? false }
}

extension Journal {
    /// Stores a duty of the host's own, once for its id.
    ///
    /// - Returns: true if it is new.
    /// - Throws: ``JournalError``.
    @discardableResult
    public func schedule(_ item: DueItem) async throws(JournalError) -> Bool {
        try await write { try await Self.schedule(item, $0) }
    }

    @discardableResult
    static func schedule(
        _ item: DueItem,
        sealedToken: String? = nil,
        _ transaction: any JournalTransaction
    ) async throws -> Bool {
        var record = JournalRecord(
            key: JournalKey.text(item.id),
            group: QueuePlace.due.rawValue,
            order: item.dueAt.milliseconds,
            body: try CanonicalJSON.bytes(item)
        )
        if let sealedToken {
            var detail = QueueDetail()
            detail.token = sealedToken
            record.detail = try CanonicalJSON.bytes(detail)
        }
        return try await transaction.insert(record, into: .due)
    }

    /// Open duties that are due at `time` or before, the longest due first, without a lease. A duty is open until it is done or given
    /// up: also while a worker has it, or until its next attempt. All open duties are read for it.
    ///
    /// - Parameters:
    ///   - time: the time, such as now.
    ///   - kind: the kind of work; nil for all.
    ///   - id: begin after the duty with this id; nil for the first page.
    ///   - limit: the most duties to return.
    /// - Throws: ``JournalError``, with ``JournalError/Code/invalidArgument`` if the duty to begin after is not due any more.
    public func due(
        at time: Date,
        of kind: DueItem.Kind? = nil,
        after id: String? = nil,
        limit: Int = 100
    ) async throws(JournalError) -> [DueItem] {
        let all = JournalSelection(group: QueuePlace.due.rawValue, limit: 1000)
        let found = try await read { transaction in
            try await transaction.allRecords(all, in: .due).compactMap { record in
                // A row that cannot be read must not hide the others.
                (try? CanonicalJSON.value(DueItem.self, from: record.body)).map { (item: $0, number: record.number) }
            }
        }
        // The rows' own order changes with every attempt, so that a page would miss some.
        let due = found.filter { $0.item.dueAt <= time }
            .sorted { ($0.item.dueAt, $0.number) < ($1.item.dueAt, $1.number) }.map(\.item)
        var rest = due[...]
        if let id {
            guard let index = due.firstIndex(where: { $0.id == id }) else {
                throw JournalError(.invalidArgument, "the duty to begin after is not due; begin again without it")
            }
            rest = due[(index + 1)...]
        }
        return Array(rest.filter { kind == nil || $0.kind == kind }.prefix(max(limit, 0)))
    }

    /// How far a source was read, in its reader's own words; nil if nothing was noted.
    ///
    /// - Throws: ``JournalError``.
    public func checkpoint(of source: String) async throws(JournalError) -> Checkpoint? {
        try await read { transaction in
            try await transaction.record(Checkpoint.key(source), in: .checkpoint).map {
                Checkpoint(source: source, value: String(decoding: $0.body, as: UTF8.self), version: $0.version)
            }
        }
    }

    /// Notes how far a source was read. Call it after you have stored what you read.
    ///
    /// - Parameters:
    ///   - value: the position, in the words of the source.
    ///   - source: your name for the source.
    ///   - previous: the noted position, as you read it; nil if there was none.
    /// - Returns: true if that was still the noted position; otherwise another process reads the same source.
    /// - Throws: ``JournalError``.
    @discardableResult
    public func setCheckpoint(
        _ value: String,
        of source: String,
        after previous: Checkpoint?
    ) async throws(JournalError) -> Bool {
        let record = JournalRecord(
            key: Checkpoint.key(source),
            body: Array(value.utf8),
            version: previous?.version ?? 1
        )
        return try await write { transaction in
            let isDone =
                previous == nil
                ? try await transaction.insert(record, into: .checkpoint)
                : try await transaction.update(record, in: .checkpoint)
            if isDone { return true }
            let stored = try await transaction.record(record.key, in: .checkpoint)
            return stored?.body == record.body && stored?.version == (previous.map { $0.version + 1 } ?? 1)
        }
    }
}

/// How far a source was read.
public struct Checkpoint: Hashable, Sendable {
    /// Which source.
    public var source: String
    /// How far, in the reader's own words.
    public var value: String
    /// How often it was noted.
    public var version: Int64

    static func key(_ source: String) -> String { JournalKey.text("source", source) }
}
