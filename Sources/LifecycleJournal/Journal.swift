public import FoundationEssentials
public import Normalizer

/// Stores the results of deliveries, each in one transaction: the events once, the states of all linked lineages, their
/// owners, the news, and work that is due at a time.
///
/// A journal holds no state of its own but when it last corrected the work of a wrong clock. Make one whenever you need it, over a shared
/// storage; any number of processes may work on one database.
///
/// ```swift
/// let journal = Journal(try await SQLiteJournalStorage(path: "billing.sqlite"), now: timeOfDay)
/// let answer = await journal.receive(delivery, with: adapter)     // answer.status goes to the provider
/// let access = try await journal.access(of: [account], at: now)
/// ```
public struct Journal: Sendable {
    /// The choices of a journal: which rows it keeps, and for how long.
    public struct Options: Sendable {
        /// How long a raw delivery is kept after it was taken in, so that it can be replayed; nil keeps none. Its header
        /// fields, among which are credentials, are not kept.
        public var deliveryRetention: Duration?
        /// True if news waits in ``Journal/outbox``. Without it, read ``Journal/events(after:limit:)``.
        public var usesOutbox = true
        /// The host's products. They distinguish an upgrade from a downgrade, and state the type and the length of what is bought once, if
        /// the store does not. ``Journal/rebuild(repairing:)`` needs them as well.
        public var catalog: ProductCatalog?
        /// The key that purchase tokens are sealed with. Some stores can only be asked with such a token; without a key the journal
        /// keeps none, and those stores are asked only about purchases that an app uploads. Keep the key outside the database. A
        /// token that was sealed with an unknown key is not used; the next notification brings it again.
        public var sealingKey: SecretBytes?
        /// Keys that ``sealingKey`` took the place of. They open what they have sealed. The next notification of a purchase has its token
        /// sealed again, with the present key.
        public var formerSealingKeys: [SecretBytes] = []
        /// How often a queue gives an item out before it gives it up. With ``firstDelay`` as it is, 82 times take three days.
        public var maximumAttempts = 82
        /// How long a queue waits after the first failure. It doubles with every further one, up to an hour.
        public var firstDelay: Duration = .seconds(5)

        /// How much of one source's deliveries ``Journal/quarantine`` takes. Without a limit, a customer with an authentic document
        /// could fill your disk with documents of its kind. A delivery that does not fit gets 503, so the provider sends it again.
        public var quarantineLimit = Quarantine.Size(deliveries: 10_000, bytes: 256 << 20)

        /// Keeps no raw deliveries, and uses the outbox.
        public init() {}
    }

    let storage: any JournalStorage
    /// The journal's choices.
    public let options: Options
    let observer: any JournalObserver
    let clock: any Clock<Duration>
    let now: @Sendable () -> Date
    let corrections = TurnCorrections()

    /// Makes a journal.
    ///
    /// - Parameters:
    ///   - storage: where the rows are.
    ///   - options: how long deliveries are kept, the catalogue, and how often work is tried again.
    ///   - observer: gets a report of each step.
    ///   - clock: measures the pauses before repetitions.
    ///   - now: the time of day, which decides about leases and due work; never about access or order.
    public init(
        _ storage: some JournalStorage,
        options: Options = Options(),
        observer: (any JournalObserver)? = nil,
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date
    ) {
        self.storage = storage
        self.options = options
        self.observer = observer ?? SilentObserver()
        self.clock = clock
        self.now = now
    }

    private static let attempts = 24

    /// Runs a transaction, again if another was faster or the connection was lost. A body has to be harmless when it is
    /// repeated after it was committed.
    func write<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws(JournalError) -> Value {
        var losses = 0
        var attempt = 1
        while true {
            let failure: JournalError
            do { return try await storage.write(body) } catch { failure = JournalError(wrapping: error) }
            if failure.code == .unavailable { losses += 1 }
            let isRetryable = failure.code == .conflict || (failure.code == .unavailable && losses <= 2)
            guard isRetryable, attempt < Self.attempts, !Task.isCancelled else { throw failure }
            observer.observe(.retry(failure.code))
            // Up to 2, 4, 8 … 256 milliseconds, at random, so that writers that collided once do not collide again.
            let limit = Int64(1) << min(attempt, 8)
            do {
                try await clock.sleep(for: .microseconds(Int64.random(in: 0...limit * 1000)))
            } catch {
                throw JournalError(wrapping: error)
            }
            attempt += 1
        }
    }

    func read<Value: Sendable>(
        _ body: @escaping @Sendable (any JournalTransaction) async throws -> Value
    ) async throws(JournalError) -> Value {
        do { return try await storage.read(body) } catch { throw JournalError(wrapping: error) }
    }
}
