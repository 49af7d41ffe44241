public import LifecycleJournal

/// Checks the promises of a `JournalStorage`, and that a `Journal` over it loses nothing when transactions fail before,
/// during and after they are committed, when several write at once, and when clocks jump.
///
/// It depends on no test framework: it returns findings, and a storage that keeps its promises has none.
public struct JournalConformance: Sendable {
    /// The promise that was checked.
    @nonexhaustive
    public enum Check: String, Hashable, Sendable, CaseIterable {
        /// A row reads as it was written, octet for octet, and an existing key is not written over.
        case rows
        /// Selections come in their order, page by page.
        case selections
        /// A transaction that throws leaves nothing behind, and one sees its own writes.
        case atomicity
        /// Of several that change one row at once, none is lost.
        case lostUpdates
        /// After a history with failures, every event is there once, and states follow from the statements.
        case histories
        /// Every piece of news comes out of the outbox, under one id.
        case outbox
        /// The log is whole, and gives the states that are stored.
        case log
    }

    /// A promise that was not kept.
    public struct Finding: Hashable, Sendable, CustomStringConvertible {
        /// Which.
        public var check: Check
        /// The history in which it was not kept: run that one alone to see it again. 0 if no history is involved.
        public var seed: UInt64
        /// The result instead.
        public var message: String

        /// `check: seed: message`
        public var description: String { "\(check): seed \(seed): \(message)" }
    }

    /// Makes a number of storages over one new, empty set of rows, as so many processes would open it.
    public var makeStorages: @Sendable (_ count: Int) async throws -> [any JournalStorage]
    /// Which histories to run.
    public var seeds: [UInt64]
    /// How many processes take part in a history.
    public var writers = 2

    /// Describes the checks.
    public init(
        seeds: [UInt64] = [1, 2, 3, 4, 5, 6, 7, 8],
        makeStorages: @escaping @Sendable (_ count: Int) async throws -> [any JournalStorage]
    ) {
        self.seeds = seeds
        self.makeStorages = makeStorages
    }

    /// Checks everything.
    public func findings() async -> [Finding] {
        var run = JournalConformanceRun(self)
        await run.perform()
        return run.findings
    }
}
