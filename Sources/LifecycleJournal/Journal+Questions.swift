public import FoundationEssentials
import Normalizer
import SignatureCore

/// The row of a lineage that its provider can be asked about: the question that is open, and how the store has to be asked.
struct QuestionRow {
    struct Detail: TurnDetail, Equatable {
        var question: OpenQuestion?
        /// How often it was asked in vain.
        var attempts = 0
        /// When its turn was set; nil for one that the question says.
        var turnSetAt: Int64?
        /// Questions that were asked often enough. They are asked again only when the state raises another one.
        var exhausted: [OpenQuestion] = []
        /// A question of the host's own, which does not follow from the state.
        var requested: OpenQuestion?
        /// The sealed `PurchaseHandle`, in base64.
        var handle: String?

        init() {}

        init(of record: JournalRecord) throws { self = try CanonicalJSON.value(from: record.detail) }

        /// When a turn was set that version 0.13 or an earlier one has set, by the delay that it would have had; nil if the question
        /// says its own turn.
        func unnotedTurn(_ turn: Int64) -> Int64? {
            guard let question, question == requested || question.dueAt.milliseconds != turn else { return nil }
            return turn &- (attempts > 0 ? question.delay(afterAttempt: attempts) : 0)
        }

        /// A question that the state dates later than the right time was asked too early, which is no attempt.
        mutating func correctTurn(_ turn: Int64, setAt wrong: Int64, at time: Int64) -> Int64 {
            if let question, question != requested, question.dueAt.milliseconds > time {
                (attempts, turnSetAt) = (0, nil)
                return question.dueAt.milliseconds
            }
            return beginDelay(until: turn, setAt: wrong, at: time)
        }
    }

    let lineage: SubscriptionID
    private let stored: JournalRecord?
    private(set) var detail: Detail
    /// Nil for a row that cannot be read and is replaced.
    private let before: Detail?
    /// When it is given out; nil leaves it at the time that the question says.
    private var dueAt: Int64?

    static func key(_ lineage: SubscriptionID) -> String { JournalKey.text("question", lineage.description) }

    /// - Parameter isReplacing: true to take a row that cannot be read for an empty one, and replace it.
    init(
        of lineage: SubscriptionID,
        replacingUnreadable isReplacing: Bool = false,
        _ transaction: any JournalTransaction
    ) async throws {
        self.lineage = lineage
        stored = try await transaction.record(Self.key(lineage), in: .due)
        do { before = try stored.map(Detail.init) ?? Detail() } catch {
            guard isReplacing else { throw error }
            before = nil
        }
        detail = before ?? Detail()
    }

    var record: JournalRecord? { stored }

    /// Takes up the first question that was not asked often enough yet. A question that stays open keeps its turn.
    mutating func open(_ questions: [OpenQuestion]) {
        detail.exhausted.removeAll { !questions.contains($0) }
        let next = detail.requested ?? questions.first { !detail.exhausted.contains($0) }
        guard next != detail.question else { return }
        (detail.question, detail.attempts, detail.turnSetAt) = (next, 0, nil)
    }

    /// Has it be given out after a delay, in milliseconds.
    mutating func postpone(by delay: Int64 = 0, at time: Int64) { (dueAt, detail.turnSetAt) = (time + delay, time) }

    /// Notes that the question was asked and is still open.
    ///
    /// - Parameter isAnswered: false if the answer could not be used.
    /// - Returns: true if it will be asked again.
    mutating func postpone(at time: Int64, maximumAttempts: Int, isAnswered: Bool) -> Bool {
        guard let question = detail.question else { return false }
        if question == detail.requested, isAnswered {
            (detail.requested, detail.question, detail.attempts) = (nil, nil, 0)
            return false
        }
        detail.attempts += 1
        guard detail.attempts < maximumAttempts else {
            detail.exhausted.append(question)
            if question == detail.requested { detail.requested = nil }
            (detail.question, detail.attempts) = (nil, 0)
            return false
        }
        postpone(by: question.delay(afterAttempt: detail.attempts), at: time)
        return true
    }

    /// Takes up a question that is due at present. One that is still to be asked keeps its turn, also after a failure that left others out.
    mutating func request(_ question: OpenQuestion) {
        let isOpen = detail.requested != nil && detail.question == detail.requested && detail.attempts == 0
        // A provider may have been asked a moment ago, whose answer is still to come: the row has a later turn then.
        if isOpen, let stored, stored.order <= question.dueAt.milliseconds { return }
        detail.requested = question
        (detail.question, detail.attempts) = (question, 0)
        postpone(at: question.dueAt.milliseconds)
    }

    mutating func keep(_ handle: String) { detail.handle = handle }

    /// - Throws: ``Conflict`` if the row was changed since.
    func write(_ transaction: any JournalTransaction) async throws {
        guard detail != before || dueAt != nil else { return }
        var record = stored ?? JournalRecord(key: Self.key(lineage))
        if let question = detail.question {
            record.group = QueuePlace.question.rawValue
            if let dueAt {
                record.order = dueAt
            } else if question != before?.question {
                record.order = question.dueAt.milliseconds
            }
            record.body = try CanonicalJSON.bytes(DueItem(question))
        } else {
            record.group = (detail.exhausted.isEmpty ? QueuePlace.silent : .exhausted).rawValue
            record.body = []
        }
        record.detail = try CanonicalJSON.bytes(detail)
        try await transaction.put(record, over: stored, in: .due)
    }
}

extension OpenQuestion {
    /// How long it waits after an attempt in vain, in milliseconds.
    fileprivate func delay(afterAttempt attempts: Int) -> Int64 {
        reason.interval.milliseconds << Int64(min(max(attempts - 1, 0), 16))
    }
}

extension DueItem {
    /// A question to a provider as something that is due.
    init(_ question: OpenQuestion) {
        self.init(
            Kind(rawValue: question.reason.rawValue),
            id: "question/\(question.subscription)",
            subscription: question.subscription,
            dueAt: question.dueAt
        )
    }
}

extension Journal {
    /// The questions to ask providers at `time` or before, the longest due first. ``reconcile(with:replaying:limit:)`` asks them.
    ///
    /// - Throws: ``JournalError``.
    public func questions(at time: Date, limit: Int = 100) async throws(JournalError) -> [DueItem] {
        let selection = JournalSelection(
            group: QueuePlace.question.rawValue,
            through: time.milliseconds,
            limit: limit
        )
        return try await values(of: selection, in: .due) { record, _ in
            try CanonicalJSON.value(DueItem.self, from: record.body)
        }
    }

    /// The questions that were asked as often as is of use, and that nothing has settled since. They are asked again when the state
    /// raises another question, by ``askAgain(about:)``, and by ``refetch(_:with:)``.
    ///
    /// - Throws: ``JournalError``.
    public func exhaustedQuestions(limit: Int = 100) async throws(JournalError) -> [OpenQuestion] {
        let selection = JournalSelection(group: QueuePlace.exhausted.rawValue, limit: limit)
        return try await values(of: selection, in: .due) { record, _ in try QuestionRow.Detail(of: record).exhausted }
            .flatMap(\.self)
    }

    /// Has every purchase of a provider's be asked about in the next round of ``reconcile(with:replaying:limit:)``, whatever is open
    /// about it: after a gap that its history can no longer fill. A purchase whose row cannot be read may be the provider's, too.
    ///
    /// - Returns: how many purchases are asked about. One whose question cannot be read is not, and is reported.
    /// - Throws: ``JournalError``.
    @discardableResult
    public func askAgain(about provider: Provider) async throws(JournalError) -> Int {
        let time = now()
        var count = 0
        try await forEachPage(of: JournalSelection(limit: 100), in: .state) { records throws(JournalError) in
            // Linked lineages have one state, in the row of one of them, and are asked about once.
            for record in records where !record.body.isEmpty {
                let lineage: SubscriptionID?
                if let state: SubscriptionState = try? CanonicalJSON.value(from: record.body) {
                    let isAsked = state.isKnown(to: provider) && record.key == JournalKey.text(state.subscription)
                    lineage = isAsked ? state.question(at: time).names.first : nil
                } else {
                    lineage = SubscriptionID(record.key)
                }
                guard let lineage else { continue }
                do throws(JournalError) {
                    try await write { transaction in
                        var row = try await QuestionRow(of: lineage, transaction)
                        row.request(OpenQuestion(reason: .requested, subscription: lineage, dueAt: time))
                        try await row.write(transaction)
                    }
                    count += 1
                } catch {
                    // A question that cannot be read must not hold up those about other purchases.
                    guard error.code == .corrupt else { throw error }
                    observer.observe(.unreadable(.due))
                }
            }
        }
        return count
    }

    /// Writes the open questions about lineages, and the way to ask them, in the transaction that changed their states.
    func writeQuestions(
        of lineages: [SubscriptionID],
        in ledger: AccountLedger,
        handles: [PurchaseHandle] = [],
        replacingUnreadable isReplacing: Bool = false,
        _ transaction: any JournalTransaction
    ) async throws {
        var (lineages, ledger) = (lineages, ledger)
        // A transfer between accounts depends on all of their purchases. What is stated later of one of these may settle it.
        let accounts = ledger.accounts + ledger.transfers.flatMap(\.transfer.from)
        var isConcerned = !ledger.transfers.isEmpty
        for account in accounts where !isConcerned {
            isConcerned = try await !Self.transferKeys(naming: account, transaction).isEmpty
        }
        if isConcerned {
            ledger.merge(try await Self.rows(of: accounts, replacingUnreadable: isReplacing, transaction).ledger)
            lineages += ledger.states.map(\.subscription)
        }
        var questions: [SubscriptionID: [OpenQuestion]] = [:]
        for lineage in lineages {
            guard let state = ledger[lineage], state.lineages.allSatisfy({ questions[$0] == nil }) else { continue }
            let open = ledger.openQuestions(of: state)
            for name in state.lineages { questions[name] = open.filter { $0.subscription == name } }
        }
        // In one order, so that two transactions do not wait for each other.
        for (lineage, open) in questions.sorted(by: { $0.key.precedes($1.key) }) {
            var row = try await QuestionRow(of: lineage, replacingUnreadable: isReplacing, transaction)
            if let handle = handles.last(where: { $0.lineage == lineage }) { try keep(handle, in: &row) }
            row.open(open)
            try await row.write(transaction)
        }
    }

    // MARK: Handles

    private func keep(_ handle: PurchaseHandle, in row: inout QuestionRow) throws {
        guard let key = options.sealingKey else { return }
        let (bytes, place) = (try CanonicalJSON.bytes(handle), handle.lineage.description)
        // One that a former key has sealed is sealed again.
        if try Self.open(row.detail.handle, for: place, with: [key]) != bytes {
            row.keep(try Self.seal(bytes, for: place, with: key))
        }
    }

    /// A store's token, sealed for one duty; nil without a key, so that it is not kept.
    func seal(_ token: SecretBytes, for duty: String) throws -> String? {
        try options.sealingKey.map { try Self.seal(token.bytes, for: duty, with: $0) }
    }

    /// The token that ``seal(_:for:)`` sealed for the same duty; nil if it was sealed under a key that is not known.
    func token(_ sealed: String?, for duty: String) throws -> SecretBytes? {
        try Self.open(sealed, for: duty, with: openingKeys).map { SecretBytes(bytes: $0) }
    }

    /// How the store has to be asked about the lineage of a row; nil if that is not known, or sealed under a key that is not.
    func handle(in row: QuestionRow) throws -> PurchaseHandle? {
        try Self.open(row.detail.handle, for: row.lineage.description, with: openingKeys)
            .map { try CanonicalJSON.value(from: $0) }
    }

    private var openingKeys: [SecretBytes] { [options.sealingKey].compactMap(\.self) + options.formerSealingKeys }

    private static func seal(_ value: [UInt8], for place: String, with key: SecretBytes) throws -> String {
        let sealed = try sealing(key).seal(value, for: place)
        return String(decoding: Base64.encode(sealed.span), as: UTF8.self)
    }

    private static func open(_ text: String?, for place: String, with keys: [SecretBytes]) throws -> [UInt8]? {
        guard let text, let sealed = try? Base64.decode(Array(text.utf8).span) else { return nil }
        for key in keys {
            if let value = try sealing(key).open(sealed, for: place) { return value }
        }
        return nil
    }

    private static func sealing(_ key: SecretBytes) throws -> SealingKey {
        try SealingKey(key.bytes, purpose: "lifecycle handle/1")
    }

    /// How the store has to be asked about a purchase, under each of its names.
    func handles(
        of lineages: [SubscriptionID],
        _ transaction: any JournalTransaction
    ) async throws -> [PurchaseHandle] {
        var handles: [PurchaseHandle] = []
        for lineage in lineages {
            if let handle = try handle(in: try await QuestionRow(of: lineage, transaction)) { handles.append(handle) }
        }
        return handles
    }
}

extension SubscriptionState {
    /// True if a provider speaks for the store, or has stated something of the purchase.
    fileprivate func isKnown(to provider: Provider) -> Bool {
        lineages.contains { provider.speaks(for: $0.store) }
            || periods.values.contains { $0.by.provider == provider }
            || purchases.values.contains { $0.by.provider == provider }
            || claims.values.contains { $0.latest.provider == provider }
    }
}
