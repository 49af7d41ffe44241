import BlockingExecution
import LifecycleJournal

/// One connection of the pool. It connects when it is first used, and again after it was lost.
actor Connection {
    nonisolated let executor = QueueExecutor("lifecycle.postgres")
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe executor.asUnownedSerialExecutor() }

    private let configuration: PostgresJournalStorage.Configuration
    private var session: Session?

    init(_ configuration: PostgresJournalStorage.Configuration) { self.configuration = configuration }

    /// Runs a transaction.
    func run<Value: Sendable>(
        _ begin: String,
        _ body: @Sendable (any JournalTransaction) async throws -> Value
    ) async throws -> Value {
        let session = try began(begin)
        do {
            let value = try await body(SQLJournalTransaction(session, .postgres))
            try session.commit()
            return value
        } catch {
            end(session, after: error)
            throw error
        }
    }

    /// Makes the tables, or brings them to the present version.
    ///
    /// - Returns: the version that was there.
    func migrate() async throws -> Int64 {
        let session = try began("BEGIN ISOLATION LEVEL READ COMMITTED")
        do {
            // Where they are present nothing is locked, and no right to make tables is needed.
            var version = try await SQLJournalSchema.installed(session, .postgres)
            if version < SQLJournalSchema.version {
                // One process at a time; `lifecycl` in octets.
                try session.execute("SELECT 1::bigint FROM pg_advisory_xact_lock(7811884313541174124)")
            }
            version = try await SQLJournalSchema.migrate(session, .postgres)
            try session.commit()
            return version
        } catch {
            end(session, after: error)
            throw error
        }
    }

    func checkVersion() async throws {
        let session = try began("BEGIN READ ONLY")
        do {
            let installed = try await SQLJournalSchema.installed(session, .postgres)
            try session.commit()
            guard installed != SQLJournalSchema.version else { return }
            throw JournalError(
                installed > SQLJournalSchema.version ? .newerSchema : .configuration,
                "the tables have version \(installed), and this build needs version \(SQLJournalSchema.version): migrate them first"
            )
        } catch {
            end(session, after: error)
            throw error
        }
    }

    private func began(_ begin: String) throws -> Session {
        if let session {
            do {
                try session.execute(begin)
                return session
            } catch {
                // The server may have closed it in the meantime; nothing was begun then.
                self.session = nil
                let reason = (error as? JournalError)?.underlying
                if reason is Session.Silence || reason is CancellationError { throw error }
            }
        }
        let session = try connected()
        self.session = session
        do {
            try session.execute(begin)
            return session
        } catch {
            self.session = nil
            throw error
        }
    }

    /// libpq goes on to the next host of the URL after an error, and not after silence: that is its caller's
    /// (https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-PQCONNECTSTARTPARAMS).
    private func connected() throws -> Session {
        let count = configuration.url.hostCount
        var first = 0
        while true {
            do {
                return try Session(configuration, beginningAt: first, within: configuration.connectTimeout / count)
            } catch let error as JournalError where error.underlying is Session.Silence && first + 1 < count {
                first += 1
            }
        }
    }

    private func end(_ session: Session, after error: any Error) {
        if session.isIdle { return }
        // Another connection may lead to a server that takes changes.
        if (error as? JournalError)?.underlying is Session.ReadsAlone { return self.session = nil }
        do { try session.execute("ROLLBACK") } catch { self.session = nil }
        if !session.isIdle { self.session = nil }
    }
}
