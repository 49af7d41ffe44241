import Normalizer

/// The notifications that were erased.
///
/// The key of a line does not tell: a history proves a notification in another way than the webhook, and may render it in another
/// version of the API. So each leaves its id.
enum ErasedNotifications {
    static func note(_ line: LogLine, _ transaction: any JournalTransaction) async throws {
        guard let key = key(line) else { return }
        _ = try await transaction.insert(JournalRecord(key: key, group: QueuePlace.silent.rawValue), into: .event)
    }

    /// True for a result that states no more than a notification that was erased.
    static func contains(_ result: Normalization, _ transaction: any JournalTransaction) async throws -> Bool {
        let lines = result.logLines
        guard lines.allSatisfy(\.origin.isNotified) else { return false }
        for key in Set(lines.compactMap(key)) where try await transaction.record(key, in: .event) != nil { return true }
        // Earlier versions left no id, but the emptied line, under a key of its own if a history had brought it.
        for line in lines where line.origin.channel == .history {
            let key = try JournalKey.text(line, withOwnChannel: true)
            if try await transaction.record(key, in: .log)?.body.isEmpty == true { return true }
        }
        // Nor does an entry of Google's list of voided purchases have an id. Nothing of a history that was stated before the event was
        // taken in is later than the erasure.
        for case .event(let event) in lines where event.origin.channel == .history {
            let row = try await transaction.record(event.id.description, in: .event)
            if let row, row.body.isEmpty, event.assertedAt.milliseconds <= row.order { return true }
        }
        return false
    }

    private static func key(_ line: LogLine) -> String? {
        line.origin.notificationID.map { JournalKey.text("erased", line.provider.rawValue, $0) }
    }
}

extension LogLine {
    var origin: Origin {
        switch self {
        case .event(let event): event.origin
        case .statement(let statement): statement.origin
        }
    }

    var provider: Provider {
        switch self {
        case .event(let event): event.provider
        case .statement(let statement): statement.provider
        }
    }
}
