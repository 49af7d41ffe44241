import FoundationEssentials
public import Normalizer

extension Journal {
    /// The outcome of a round of questions to providers.
    public struct Reconciliation: Hashable, Sendable, Codable {
        /// How many purchases were asked about.
        public var asked = 0
        /// How many questions were settled.
        public var settled = 0
        /// How many stay open and will be asked again: the provider says nothing that settles them yet.
        public var open = 0
        /// How many of those no provider could say anything about: it does not know the purchase, or how to ask is not known.
        public var unknown = 0
        /// How many a provider answered, or refused, in a way that cannot be used, or only in part.
        public var unusable = 0
        /// How many were asked as often as is of use, and are given up. Look at them by hand: ``Journal/exhaustedQuestions(limit:)``.
        public var exhausted = 0
        /// How many events were stored for the first time. Not each is news: a `duplicate` reports a known fact under another id.
        public var newEvents = 0
        /// How many deliveries left the quarantine.
        public var replayed = 0
        /// The questions that could not be asked, since a row cannot be read: their own or that of a state. They are `question/` and
        /// the purchase, and stay due; ``Journal/rebuild(repairing:)`` mends both rows.
        public var unreadable: [String] = []
        /// Providers that could not be asked, or refused, and why. Their purchases are asked about in the next round. If
        /// the host has several sources of a provider, the others were still asked.
        public var stopped: [String: DeliveryError.Code] = [:]

        /// Makes an empty report.
        public init() {}
    }

    /// Asks providers about every purchase that is due, see ``questions(at:limit:)``, and takes the answers in.
    ///
    /// A question is open if the state of a purchase may be incomplete: a period that was to renew ended without a
    /// notification, a charge failed and nothing followed, grace has no end, a pause is over, or two statements
    /// contradict each other. It is written with the change that raises it, and goes when an answer or a notification
    /// settles it. An open question is asked again after one, two, four hours and so on, eight times in all; one about
    /// a failed charge in days. An answer that cannot be used settles nothing either. A question that is given up is
    /// reported to the observer, and is in ``exhaustedQuestions(limit:)``.
    ///
    /// A change that an answer shows and no event has reported becomes an event, see `SubscriptionState.unreportedEvents(receivedAt:)`. Its
    /// origin has the mapper `untold/1`.
    ///
    /// Any number of processes may run this at once. No answer ends access by leaving a fact out, and a failed question
    /// changes no state.
    ///
    /// - Parameters:
    ///   - sources: the providers to ask. The store's own API comes before a relay's, in any order of the list.
    ///   - adapters: by source. Their quarantined deliveries whose provider could not be asked are tried again first.
    ///   - limit: how many purchases are asked about at most.
    /// - Throws: ``JournalError``. A row that cannot be read is no error: it is in ``Reconciliation/unreadable``.
    @discardableResult
    public func reconcile(
        with sources: [any LineageQuestions],
        replaying adapters: [String: any ProviderAdapter] = [:],
        limit: Int = .max
    ) async throws(JournalError) -> Reconciliation {
        var round = Round(journal: self, sources: sources)
        round.report.replayed = try await replay(with: adapters)
        try await correctTurns(in: .due, QueuePlace.question.rawValue, QuestionRow.Detail.self) { detail, record in
            detail.unnotedTurn(record.order)
        }
        let time = now().milliseconds
        var selection = JournalSelection(group: QueuePlace.question.rawValue, through: time, limit: 16)
        while round.report.asked < limit, round.canAsk, !Task.isCancelled {
            // Few, since other processes ask meanwhile. Most of many are passed over, once a provider cannot be asked.
            selection.limit = round.report.stopped.isEmpty ? 16 : 500
            let page = selection
            let records = try await read { try await $0.records(page, in: .due) }
            for record in records where round.canAsk && round.report.asked < limit && !Task.isCancelled {
                do throws(JournalError) { try await round.settle(record) } catch {
                    guard error.code == .corrupt else { throw error }
                    round.report.unreadable.append(record.key.replacing("\n", with: "/"))
                }
            }
            guard records.count == page.limit, let last = records.last else { break }
            selection = selection.following(last)
        }
        return round.report
    }

    /// Asks providers about one purchase now, due or not.
    ///
    /// - Parameters:
    ///   - lineage: the purchase.
    ///   - sources: the providers to ask.
    /// - Returns: the new events; nil if no provider knows the purchase.
    /// - Throws: `DeliveryError` if a provider could not be asked and no other answered, or if a part of the answer cannot be used,
    ///   after the rest was stored; and ``JournalError``.
    @discardableResult
    public func refetch(_ lineage: SubscriptionID, with sources: [any LineageQuestions]) async throws -> [AppliedEvent]?
    {
        let time = now()
        let question = try await question(about: lineage, at: time)
        var round = Round(journal: self, sources: sources)
        guard let results = try await round.ask(question) else {
            if let failure = round.failure { throw failure }
            return nil
        }
        let applied = try await write { transaction in
            var applied: [AppliedEvent] = []
            for result in results { applied += try await apply(result, in: transaction, at: time).applied }
            let lineages = [lineage] + results.flatMap(\.lineages)
            return applied + (try await reportUnknownChanges(of: lineages, in: transaction, at: time).applied)
        }
        if let failure = round.failure { throw failure }
        return applied
    }

    /// Reports what no event has reported of purchases that a provider was asked about. Their notifications had time to arrive; if
    /// they come after all, they are duplicates.
    ///
    /// - Parameter start: the beginning of an import, see ``join(_:from:in:at:trace:importedSince:)``.
    func reportUnknownChanges(
        of lineages: [SubscriptionID],
        in transaction: any JournalTransaction,
        at time: Date,
        importedSince start: Date? = nil
    ) async throws -> JournalUpdate {
        let ledger = AccountLedger(try await StateRows(linkedTo: Set(lineages), transaction).states)
        let states = Set(lineages.compactMap { ledger[$0]?.subscription }).compactMap { ledger[$0] }
        let events = states.sorted { $0.subscription.precedes($1.subscription) }
            .flatMap { $0.unreportedEvents(receivedAt: time) }
        guard !events.isEmpty else { return JournalUpdate() }
        return try await join(Normalization(events), in: transaction, at: time, importedSince: start)
    }

    fileprivate func question(about lineage: SubscriptionID, at time: Date) async throws(JournalError)
        -> LineageQuestion
    {
        do { return try await question(about: lineage, amongAllOfAccount: true, at: time) } catch {
            // Another purchase of the account that cannot be read holds up no question about this one.
            guard error.code == .corrupt else { throw error }
            return try await question(about: lineage, amongAllOfAccount: false, at: time)
        }
    }

    private func question(
        about lineage: SubscriptionID,
        amongAllOfAccount isOneOfAll: Bool,
        at time: Date
    ) async throws(JournalError) -> LineageQuestion {
        try await read { transaction in
            var ledger = AccountLedger(try await StateRows(linkedTo: [lineage], transaction).states)
            guard let state = ledger[lineage] else { return LineageQuestion(lineage, askedAt: time) }
            if isOneOfAll { ledger.merge(try await Self.rows(of: ledger.accounts, transaction).ledger) }
            let handles = try await handles(of: state.lineages, transaction)
            return ledger.question(about: state, at: time, handles: handles)
        }
    }

    /// Gives deliveries whose provider could not be asked, or refused, to their adapters once more.
    private func replay(with adapters: [String: any ProviderAdapter]) async throws(JournalError) -> Int {
        var replay = quarantine.replay(with: adapters)
        replay.isChosen = { entry in DeliveryError.Code.sayingNothing.contains { entry.reason.hasPrefix("\($0):") } }
        var count = 0
        while let (_, answer) = try await replay.next() { count += answer.decision == .accept ? 1 : 0 }
        return count
    }
}

/// One round of questions.
private struct Round {
    /// How long one process has a question for itself, in milliseconds.
    private static let lease: Int64 = 300_000
    private static let maximumAttempts = 8

    let journal: Journal
    let sources: [any LineageQuestions]
    var report = Journal.Reconciliation()
    /// The sources that could not be asked, by their place in ``sources``. One app's wrong key says nothing about another's.
    private var stopped: [Int: DeliveryError.Code] = [:]
    /// Why the last question was not answered, or not in full.
    var failure: DeliveryError?

    init(journal: Journal, sources: [any LineageQuestions]) {
        self.journal = journal
        self.sources = sources
    }

    /// False once no source is left that can be asked.
    var canAsk: Bool { stopped.count < sources.count }

    /// Asks the question of a row, and writes the result.
    mutating func settle(_ record: JournalRecord) async throws(JournalError) {
        let journal = journal
        let time = journal.now()
        let item: DueItem
        do { item = try CanonicalJSON.value(from: record.body) } catch { throw JournalError(wrapping: error) }
        guard let lineage = item.subscription else { throw JournalError(.corrupt, "a question names no purchase") }
        // Without a source that can be asked it keeps its turn. A write for each of a stopped provider's purchases would keep the others'
        // waiting for hours.
        let places = sources.indices.filter { sources[$0].provider.mayKnow(lineage.store) }
        guard places.isEmpty || places.contains(where: { stopped[$0] == nil }) else { return }
        // Another process may be faster.
        let isTaken = try await journal.write { transaction in
            var leased = record
            var detail = try QuestionRow.Detail(of: record)
            detail.turnSetAt = time.milliseconds
            leased.detail = try CanonicalJSON.bytes(detail)
            leased.order = time.milliseconds + Self.lease
            return try await transaction.update(leased, in: .due)
        }
        guard isTaken else { return }
        let question = try await journal.question(about: lineage, at: time)
        let results = try await ask(question)
        guard results != nil || failure?.saysNothing != true else {
            // A provider that could not be asked is no attempt: the question waits for the next round, behind the others. So a
            // question that its provider always fails at does not keep the others from being asked.
            return try await journal.write { transaction in
                var row = try await QuestionRow(of: lineage, transaction)
                guard row.record?.version == record.version + 1 else { return }
                row.postpone(at: time.milliseconds)
                try await row.write(transaction)
            }
        }
        // A failure of another kind is an answer that cannot be used: the next attempt may bring the same.
        let isUnusable = failure != nil
        report.asked += 1
        let outcome = try await journal.write { transaction in
            var outcome = Outcome()
            for result in results ?? [] {
                outcome.newEvents += try await journal.apply(result, in: transaction, at: time).newEvents.count
            }
            if let results {
                let lineages = [lineage] + results.flatMap(\.lineages)
                let update = try await journal.reportUnknownChanges(of: lineages, in: transaction, at: time)
                outcome.newEvents += update.newEvents.count
            }
            var row = try await QuestionRow(of: lineage, transaction)
            guard row.detail.question.map(DueItem.init) == item else { return outcome }
            // The host's own question is answered by any answer.
            let isRequested = row.detail.question == row.detail.requested && !isUnusable
            let isPostponed = row.postpone(
                at: time.milliseconds,
                maximumAttempts: Self.maximumAttempts,
                isAnswered: !isUnusable
            )
            outcome.isOpen = isPostponed
            outcome.isExhausted = !isPostponed && !isRequested
            try await row.write(transaction)
            if !isPostponed {
                // Another question may have waited behind it.
                let ledger = AccountLedger(try await StateRows(linkedTo: [lineage], transaction).states)
                try await journal.writeQuestions(of: [lineage], in: ledger, transaction)
            }
            return outcome
        }
        report.newEvents += outcome.newEvents
        if outcome.isOpen {
            report.open += 1
        } else if outcome.isExhausted {
            report.exhausted += 1
        } else {
            report.settled += 1
        }
        if isUnusable {
            report.unusable += 1
        } else if results == nil {
            report.unknown += 1
        }
        if outcome.isExhausted { journal.observer.observe(.questionExhausted(item)) }
    }

    private struct Outcome {
        var newEvents = 0
        var isOpen = false
        var isExhausted = false
    }

    /// Asks one source after the other until one has an answer.
    ///
    /// - Returns: the answer, with ``failure`` if a part of it cannot be used; nil without one, with ``failure`` if a source could not be
    ///   asked.
    mutating func ask(_ question: LineageQuestion) async throws(JournalError) -> [Normalization]? {
        failure = nil
        let sources = sources
        let isOwn = { (place: Int) in
            question.names.contains { sources[place].provider.speaks(for: $0.store) }
        }
        let places = sources.indices.filter { place in
            question.names.contains { sources[place].provider.mayKnow($0.store) }
        }
        for place in places.filter(isOwn) + places.filter({ !isOwn($0) }) {
            let source = sources[place]
            let name = source.provider.rawValue
            if let code = stopped[place] {
                if isOwn(place) { failure = DeliveryError(code, "\(name) cannot be asked") }
                continue
            }
            do throws(DeliveryError) {
                let answer = try await source.ask(question)
                try? await journal.clock.sleep(for: source.pace)
                switch answer {
                case .unknown: continue
                case .stated(let results):
                    failure = nil
                    return results
                case .incomplete(let results, let code):
                    failure = DeliveryError(code, "\(name): a part of the answer cannot be used")
                    return results
                }
            } catch {
                // Another source's failure to answer must not pass for an answer of this one.
                if failure?.saysNothing != true { failure = error }
                // The next question would meet the same trouble.
                if error.saysNothing {
                    stopped[place] = error.code
                    report.stopped[name] = error.code
                }
            }
        }
        return nil
    }
}

extension DeliveryError.Code {
    /// The provider was not asked: that says nothing about the purchase.
    static let sayingNothing: [Self] = [.unavailable, .denied]
}

extension DeliveryError {
    fileprivate var saysNothing: Bool { Code.sayingNothing.contains(code) }
}
