public import FoundationEssentials
import LifecycleEvents

extension Journal {
    // MARK: After a restore

    /// Notes that the database was restored from a copy. Call it before anything else uses the restored database; repeat it at will.
    ///
    /// The positions that were given out since the copy are never given out again: the log goes on at the microseconds since 1970,
    /// which no log that is written to reaches by itself. So a reader of the feed who is ahead of the copy misses nothing.
    ///
    /// - Throws: ``JournalError``.
    public func noteRestore() async throws(JournalError) {
        let time = now()
        let (position, overflow) = time.millisecondsSince1970.multipliedReportingOverflow(by: 1000)
        // As many again are left for the lines that follow.
        guard !overflow, position < .max / 2 else {
            throw JournalError(.invalidArgument, "the clock is wrong: \(time)")
        }
        try await write { transaction in
            let stored = try await LogHead.stored(transaction)
            var head = stored.head
            head.position = max(head.position, position)
            head.restoredAt = time
            try await head.write(over: stored.row, transaction)
        }
    }

    /// When ``noteRestore()`` was called last; nil if it never was.
    ///
    /// - Throws: ``JournalError``.
    public func lastRestore() async throws(JournalError) -> Date? {
        try await read { try await LogHead.stored($0).head.restoredAt }
    }
}
