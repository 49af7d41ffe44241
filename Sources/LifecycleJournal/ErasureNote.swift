import FoundationEssentials
import Normalizer

/// The rest of an erasure, which is still to be done.
///
/// A delivery that waits for a worker, or in quarantine, cannot be read when an account is erased. So the erasure leaves a note, in the
/// table of deliveries: its row's number tells which of them came before. The note goes with the last of these.
struct ErasureNote: Codable, Sendable {
    /// Knows the account's name by a salted digest.
    var pseudonym: Pseudonym
    var source: Account.Source
    /// The lineages of the account's purchases.
    var lineages: Set<SubscriptionID> = []
    /// The part of deliveries from before that is the account's by all that is known, without the account's name. It is taken in if
    /// another of them shows that the purchase was another's by then, and goes with the note.
    var held = Normalization([])
    /// The raw deliveries that are still to be deleted.
    var kept: KeptDeliveries?

    /// Raw deliveries that were taken in.
    struct KeptDeliveries: Codable, Sendable {
        /// Those about these lineages.
        var lineages: Set<SubscriptionID> = []
        /// Those with these digests: a line was made from them that named the account.
        var digests: Set<String> = []

        /// One that cannot be read holds up no erasure, and goes when its retention is over.
        func contains(_ record: JournalRecord) -> Bool {
            if let digest = record.key.split(separator: "\n").last, digests.contains(String(digest)) { return true }
            return (try? DeliveryDetail(of: record))?.lineages?
                .contains { SubscriptionID($0).map(lineages.contains) == true } ?? false
        }
    }

    init(of account: Account.Identifier) {
        pseudonym = Pseudonym(for: account)
        source = account.source
    }

    init(of row: JournalRecord) throws { self = try CanonicalJSON.value(from: row.body) }

    /// The rows of the erasures since a row of the table was inserted, the first first.
    static func rows(
        since number: Int64 = .min,
        _ transaction: any JournalTransaction
    ) async throws -> [JournalRecord] {
        let group = DeliveryPlace.erasure.rawValue
        let selection = JournalSelection(group: group, after: 0, number: number, limit: 500)
        return try await transaction.allRecords(selection, in: .delivery)
    }

    /// The note of an earlier erasure of an account.
    static func known(
        of account: Account.Identifier,
        _ transaction: any JournalTransaction
    ) async throws -> ErasureNote? {
        // One that cannot be read holds up no erasure.
        try await rows(transaction).lazy.compactMap { try? ErasureNote(of: $0) }
            .first { $0.source == account.source && $0.pseudonym.hides(account) }
    }

    private var key: String { JournalKey.text("erasure", pseudonym.name(from: source).id) }

    /// Stores the note of an erasure, with what it has by an earlier one of the account. Its row gets a new number.
    static func insert(
        _ note: ErasureNote,
        adding erased: KeptDeliveries,
        _ transaction: any JournalTransaction
    ) async throws -> JournalRecord {
        var note = note
        if let known = try await transaction.record(note.key, in: .delivery) {
            note = try ErasureNote(of: known)
            guard try await transaction.delete(known, from: .delivery) else { throw Conflict() }
        }
        note.lineages.formUnion(erased.lineages)
        var kept = note.kept ?? KeptDeliveries()
        kept.lineages.formUnion(erased.lineages)
        kept.digests.formUnion(erased.digests)
        note.kept = kept
        let row = JournalRecord(
            key: note.key,
            group: DeliveryPlace.erasure.rawValue,
            body: try CanonicalJSON.bytes(note)
        )
        guard try await transaction.insert(row, into: .delivery),
            let stored = try await transaction.record(row.key, in: .delivery)
        else { throw Conflict() }
        return stored
    }
}

// MARK: Deliveries from before

extension Journal {
    /// A delivery's result without the accounts that were erased after it had come: as if it had been taken in before. Others
    /// keep what they have by it, under the names that stand in place of those accounts'.
    ///
    /// - Parameters:
    ///   - delivery: its row; nil for a delivery that did not wait.
    ///   - isFinal: false if the delivery stays in quarantine, and will say all of this again.
    /// - Returns: nil if all of the result stays as it is.
    func remainder(
        of result: Normalization,
        from delivery: JournalRecord?,
        isFinal: Bool,
        _ transaction: any JournalTransaction
    ) async throws -> Normalization? {
        guard let delivery, DeliveryPlace.ofWaiting.map(\.rawValue).contains(delivery.group) else { return nil }
        var remainder: Normalization?
        for row in try await ErasureNote.rows(since: delivery.number, transaction) {
            guard let (rest, held) = try await divide(remainder ?? result, under: row, transaction) else { continue }
            remainder = rest
            guard isFinal else { continue }
            guard try await transaction.update(held, in: .delivery) else { throw Conflict() }
        }
        if remainder != nil, isFinal {
            // Nothing of it is stored when it is read again.
            for line in result.logLines { try await ErasedNotifications.note(line, transaction) }
        }
        return remainder
    }

    /// Divides a result, and what was held back before.
    ///
    /// - Returns: what is others', and the note's row that holds back what is the erased account's; nil if the erasure concerns nothing of
    ///   the result.
    private func divide(
        _ result: Normalization,
        under row: JournalRecord,
        _ transaction: any JournalTransaction
    ) async throws -> (rest: Normalization, held: JournalRecord)? {
        var note = try ErasureNote(of: row)
        let renamed = note.pseudonym.replacing(result)
        let erased = note.lineages.union(note.held.lineages)
        guard renamed != result || !erased.isDisjoint(with: result.lineages.withPurchases) else { return nil }

        let all = note.held + renamed
        let states = try await StateRows(linkedTo: all.lineages.withPurchases, transaction).states
        var ledger = AccountLedger(states)
        _ = ledger.apply(all, catalog: options.catalog)
        let names = ledger.accounts + ledger.transfers.flatMap(\.transfer.from)
        let others = try await Self.rows(of: names, transaction).ledger
        // Not merged: with the others' states known, the result may show that it is about one of them.
        ledger = AccountLedger(states + others.states, transfers: others.transfers)
        _ = ledger.apply(all, catalog: options.catalog)

        // The account may be back, under its own name.
        let own = ledger.accounts.filter { $0.source == note.source && note.pseudonym.hides($0) }
        let owned = Set(Self.owned(by: own + [note.pseudonym.name(from: note.source)], ledger).map(\.subscription))
        let (owners, gone) = (ledger.owners, note.lineages)
        func isErased(_ lineage: SubscriptionID) -> Bool {
            guard let state = ledger[lineage] else { return false }
            if owners[state.subscription, default: []].isEmpty {
                return !gone.isDisjoint(with: state.lineages.withPurchases)
            }
            return owned.contains(state.subscription)
        }
        // Of an account of another source, too.
        func isShared(_ lineage: SubscriptionID) -> Bool {
            guard let state = ledger[lineage], !isErased(lineage) else { return false }
            return owners[state.subscription, default: []].contains(where: note.pseudonym.replaced)
        }
        var rest = all.lineages.contains(where: isShared) ? note.held + result : all
        rest.keep { !isErased($0) }
        rest.events.removeAll { $0.subscription == nil && !LogLine.event($0).namesOthers(than: note.pseudonym) }
        var held = all
        held.keep(isErased)
        held.events.removeAll { $0.subscription == nil }
        note.held = held
        var row = row
        row.body = try CanonicalJSON.bytes(note)
        return (rest, row)
    }
}

extension Normalization {
    /// The second result after the first.
    fileprivate static func + (first: Normalization, second: Normalization) -> Normalization {
        var sum = second
        sum.events = first.events + second.events
        sum.furtherStatements = first.furtherStatements + second.furtherStatements
        return sum
    }

    /// Keeps what is about some lineages, or about none.
    fileprivate mutating func keep(_ isKept: (SubscriptionID) -> Bool) {
        events.removeAll { $0.subscription.map(isKept) == false }
        // Either part is a result of its own, and only one of them has the reason.
        if let statement = noChange?.statement {
            furtherStatements.insert(statement, at: 0)
            noChange?.statement = nil
        }
        furtherStatements.removeAll { !isKept($0.subscription) }
        handles.removeAll { !isKept($0.lineage) }
    }
}

extension [SubscriptionID] {
    /// With the purchases that they are items of.
    fileprivate var withPurchases: [SubscriptionID] { self + compactMap(\.purchaseOfItem) }
}

// MARK: To the end

extension Journal {
    /// Finishes the erasures that were broken off, and forgets those that no waiting delivery came before.
    func finishErasures() async throws(JournalError) {
        let rows = try await read { try await ErasureNote.rows($0) }
        guard let first = rows.first else { return }
        let earliest = try await earliestWaiting(before: first)
        for row in rows {
            do throws(JournalError) { _ = try await finish(row, withWaitingFrom: earliest) } catch {
                // One that cannot be read must not hold up the others.
                guard error.code == .corrupt else { throw error }
                observer.observe(.unreadable(.delivery))
            }
        }
    }

    /// Deletes the raw deliveries of an erasure, and its note if no waiting delivery came before.
    ///
    /// - Parameter earliest: the number of the first row that waits.
    /// - Returns: how many deliveries were deleted.
    func finish(_ erasure: JournalRecord, withWaitingFrom earliest: Int64) async throws(JournalError) -> Int {
        let count: Int
        let finished: JournalRecord
        do {
            var note = try ErasureNote(of: erasure)
            guard note.kept != nil || earliest > erasure.number else { return 0 }
            count = if let kept = note.kept { try await delete(kept) } else { 0 }
            note.kept = nil
            var row = erasure
            row.body = try CanonicalJSON.bytes(note)
            finished = row
        } catch {
            throw JournalError(wrapping: error)
        }
        _ = try await write { transaction in
            earliest > finished.number
                ? try await transaction.delete(finished, from: .delivery)
                : try await transaction.update(finished, in: .delivery)
        }
        return count
    }

    private func delete(_ kept: ErasureNote.KeptDeliveries) async throws(JournalError) -> Int {
        var count = 0
        var selection = JournalSelection(group: DeliveryPlace.kept.rawValue, limit: 200)
        while true {
            let page = selection
            let (deleted, last, size) = try await write { transaction in
                let records = try await transaction.records(page, in: .delivery)
                var deleted = 0
                for record in records where kept.contains(record) {
                    if try await Self.delete(record, transaction) { deleted += 1 }
                }
                return (deleted, records.last, records.count)
            }
            count += deleted
            guard size == page.limit, let last else { return count }
            selection = page.following(last)
        }
    }

    /// True if a delivery waits.
    static func hasWaiting(_ transaction: any JournalTransaction) async throws -> Bool {
        for place in DeliveryPlace.ofWaiting {
            let selection = JournalSelection(group: place.rawValue, limit: 1)
            if try await !transaction.records(selection, in: .delivery).isEmpty { return true }
        }
        return false
    }

    /// The number of the first row that waits, or of any before `erasure`.
    func earliestWaiting(before erasure: JournalRecord) async throws(JournalError) -> Int64 {
        var earliest = Int64.max
        for place in DeliveryPlace.ofWaiting {
            var selection = JournalSelection(group: place.rawValue, limit: 100)
            while true {
                let page = selection
                let rows = try await read { try await $0.records(page, in: .delivery) }
                earliest = rows.map(\.number).reduce(earliest, min)
                guard earliest > erasure.number else { return earliest }
                guard rows.count == page.limit, let last = rows.last else { break }
                selection = page.following(last)
            }
        }
        return earliest
    }
}
