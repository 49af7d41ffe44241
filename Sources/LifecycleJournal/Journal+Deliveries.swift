import FoundationEssentials
public import Normalizer

/// A delivery of a source, with its outcome.
struct TriedDelivery: Sendable {
    let delivery: Delivery
    let source: String
    var outcome: Result<Normalization, DeliveryError>
    /// The authenticated notification; nil if it was not proven here.
    var proof: (any Encodable & Sendable)?

    var result: Normalization? { try? outcome.get() }
    var error: DeliveryError? { outcome.failure }
    /// Why nothing came of it; nil if something did.
    var reason: String? { error.map { "\($0)" } ?? result?.noChange?.reason.rawValue }
    /// The proof as a row keeps it.
    var proven: String? {
        get throws { try proof.map { String(decoding: try CanonicalJSON.bytes($0), as: UTF8.self) } }
    }
}

extension Journal {
    // MARK: In one step

    /// Proves a delivery, maps it, stores the result, and returns the answer for the provider.
    ///
    /// It never throws. An authentic delivery that cannot be taken in yet is kept in ``quarantine`` and answered with
    /// 200. If the result could not be stored, the answer is 503, so that the provider sends the delivery again. If a
    /// delivery is signed in part, only the signed part is kept, `ProviderAdapter.signedDocument(of:)`.
    ///
    /// - Parameters:
    ///   - delivery: the exact bytes, with the time of receipt.
    ///   - adapter: proves and maps them.
    ///   - source: the name of that adapter, if the host has several of one provider; by default the provider.
    public func receive<Adapter: ProviderAdapter>(
        _ delivery: Delivery,
        with adapter: Adapter,
        as source: String? = nil
    ) async -> Acknowledgement {
        let tried = await attempt(proven(delivery, by: adapter), of: source ?? adapter.provider.rawValue, with: adapter)
        return await settle(tried, for: adapter.provider).answer
    }

    /// Takes a delivery through the adapter's steps. Proof that was stored holds: the keys may have changed since.
    func attempt<Adapter: ProviderAdapter>(
        _ delivery: Delivery,
        of source: String,
        proven: String? = nil,
        with adapter: Adapter
    ) async -> TriedDelivery {
        var proof: Authenticated<Adapter.Notification>?
        let outcome: Result<Normalization, DeliveryError>
        do throws(DeliveryError) {
            let stored = proven.flatMap {
                try? CanonicalJSON.value(Authenticated<Adapter.Notification>.self, from: Array($0.utf8))
            }
            // Another version of this package may have written the notification in another form.
            let notification: Authenticated<Adapter.Notification>
            if let stored { notification = stored } else { notification = try await adapter.authenticate(delivery) }
            proof = notification
            outcome = .success(try adapter.normalize(try await adapter.resolve(notification)))
        } catch {
            outcome = .failure(error)
        }
        return TriedDelivery(delivery: delivery, source: source, outcome: outcome, proof: proof)
    }

    /// The part of a delivery that is proven, and the trace that it came with: all that is kept.
    private func proven(_ delivery: Delivery, by adapter: some ProviderAdapter) -> Delivery {
        var document = adapter.signedDocument(of: delivery)
        if TraceParent(of: document) == nil, let trace = TraceParent(of: delivery) {
            document.headers.add(TraceParent.header, "\(trace)")
        }
        return document
    }

    /// Stores the result of a delivery, if it is to be kept, and decides the answer.
    ///
    /// - Returns: with `failure` if the result could not be stored.
    func settle(
        _ tried: TriedDelivery,
        for provider: Provider
    ) async -> (answer: Acknowledgement, update: JournalUpdate, failure: JournalError?) {
        var answer = Acknowledgement(for: tried.outcome, provider: provider)
        var update = JournalUpdate()
        var failure: JournalError?
        switch answer.decision {
        case .accept, .acceptAndQuarantine:
            let isQuarantined = answer.decision == .acceptAndQuarantine
            do {
                update = try await keep(tried, isQuarantined: isQuarantined)
            } catch {
                if error.code == .quarantineFull { observer.observe(.quarantineFull(source: tried.source)) }
                answer = Acknowledgement(for: .failure(DeliveryError(notKept: error)), provider: provider)
                failure = error
            }
        case .retryLater, .reject: break
        @unknown default: break
        }
        observe(tried, answer.decision, with: update)
        return (answer, update, failure)
    }

    private func keep(_ tried: TriedDelivery, isQuarantined: Bool) async throws(JournalError) -> JournalUpdate {
        let time = now()
        let trace = TraceParent(of: tried.delivery)
        return try await write { transaction in
            let key = DeliveryDetail.key(tried.delivery, of: tried.source)
            let known = try await transaction.record(key, in: .delivery)
            var update = JournalUpdate()
            if let result = tried.result {
                update = try await apply(
                    result,
                    from: tried.source,
                    keptIn: known,
                    isFinal: !isQuarantined,
                    in: transaction,
                    at: time,
                    trace: trace
                )
            }
            try await finish(tried, over: known, isNew: update.isNew, isQuarantined: isQuarantined, in: transaction)
            return update
        }
    }

    /// Writes the row of a delivery that was taken in, or could not be.
    private func finish(
        _ tried: TriedDelivery,
        over known: JournalRecord?,
        isNew: Bool,
        isQuarantined: Bool,
        in transaction: any JournalTransaction
    ) async throws {
        let (delivery, source) = (tried.delivery, tried.source)
        let wasQuarantined = known?.group == DeliveryPlace.quarantined.rawValue
        guard isQuarantined || known != nil || (isNew && options.deliveryRetention != nil) else { return }
        var detail = DeliveryDetail(delivery, of: source)
        detail.error = tried.reason
        detail.lineages = tried.result?.lineages.map(\.description)
        var record = known ?? JournalRecord(key: DeliveryDetail.key(delivery, of: source))
        if isQuarantined {
            // A delivery that was taken in stays taken in: an older version of this process may be running next to this
            // one.
            if let known, known.group != DeliveryPlace.waiting.rawValue { return }
            (record.group, record.order) = (DeliveryPlace.quarantined.rawValue, delivery.receivedAt.milliseconds)
            record.body = delivery.body
            // A proof of another version stays: the keys of then may be gone when that version is back.
            detail.proven = try tried.proven ?? known.flatMap { try? DeliveryDetail(of: $0).proven }
            record.detail = try CanonicalJSON.bytes(detail)
            // A delivery that waited for a worker was answered with 200, and takes no more room here than there.
            let limit = known == nil ? options.quarantineLimit : nil
            try await Quarantine.note(record, insteadOf: nil, of: source, upTo: limit, in: transaction)
        } else if let retention = options.deliveryRetention, isNew || known?.group == DeliveryPlace.kept.rawValue {
            detail.headers = nil
            (record.group, record.order) = (
                DeliveryPlace.kept.rawValue, delivery.receivedAt.milliseconds + retention.milliseconds
            )
            record.body = delivery.body
            try await Self.index(record, noting: detail, transaction)
        } else {
            guard try await transaction.delete(record, from: .delivery) else { throw Conflict() }
            if wasQuarantined { try await Quarantine.note(nil, insteadOf: known, of: source, in: transaction) }
            return
        }
        record.detail = try CanonicalJSON.bytes(detail)
        if known == nil {
            guard try await transaction.insert(record, into: .delivery) else { throw Conflict() }
        } else if known?.group != record.group || known?.body != record.body {
            guard try await transaction.update(record, in: .delivery) else { throw Conflict() }
            if wasQuarantined { try await Quarantine.note(nil, insteadOf: known, of: source, in: transaction) }
        }
    }

    private func observe(
        _ tried: TriedDelivery,
        _ decision: Acknowledgement.Decision,
        with update: JournalUpdate = JournalUpdate()
    ) {
        let result = tried.result
        let passed = now().milliseconds - tried.delivery.receivedAt.milliseconds
        var observation = DeliveryObservation(source: tried.source, decision: decision, duration: .milliseconds(passed))
        observation.error = tried.error?.code
        observation.message = tried.error?.message
        observation.newEvents = update.newEvents.count
        observation.knownEvents = (result?.events.count ?? 0) - update.newEvents.count
        observation.anomalies = result?.anomalies ?? []
        observation.unmappedTypes =
            result?.events.compactMap { if case .unmapped(let unmapped) = $0.event { unmapped.type } else { nil } }
            ?? []
        observation.lag = result?.events.first.map {
            .milliseconds($0.receivedAt.milliseconds - $0.assertedAt.milliseconds)
        }
        observer.observe(.delivery(observation))
    }

    // MARK: In two steps

    /// Proves a delivery and keeps it for ``work(with:limit:lease:)``, which asks the provider and maps it.
    ///
    /// Use it where the provider has to be answered sooner than a look-up takes. Like
    /// ``receive(_:with:as:)`` it never throws.
    public func accept<Adapter: ProviderAdapter>(
        _ delivery: Delivery,
        with adapter: Adapter,
        as source: String? = nil
    ) async -> Acknowledgement {
        let delivery = proven(delivery, by: adapter)
        let source = source ?? adapter.provider.rawValue
        let notification: Authenticated<Adapter.Notification>
        do throws(DeliveryError) {
            notification = try await adapter.authenticate(delivery)
        } catch {
            let tried = TriedDelivery(delivery: delivery, source: source, outcome: .failure(error))
            return await settle(tried, for: adapter.provider).answer
        }
        let time = now()
        do {
            var detail = DeliveryDetail(delivery, of: source)
            detail.proven = String(decoding: try CanonicalJSON.bytes(notification), as: UTF8.self)
            let record = JournalRecord(
                key: DeliveryDetail.key(delivery, of: source),
                group: DeliveryPlace.waiting.rawValue,
                order: time.milliseconds,
                body: delivery.body,
                detail: try CanonicalJSON.bytes(detail)
            )
            _ = try await write { try await $0.insert(record, into: .delivery) }
            return Acknowledgement(for: .success(Normalization([])), provider: adapter.provider)
        } catch {
            let failure = DeliveryError(notKept: JournalError(wrapping: error))
            let answer = Acknowledgement(for: .failure(failure), provider: adapter.provider)
            observe(TriedDelivery(delivery: delivery, source: source, outcome: .failure(failure)), answer.decision)
            return answer
        }
    }

    /// Takes in deliveries that ``accept(_:with:as:)`` has kept.
    ///
    /// Any number of workers may run at once. A delivery whose provider cannot be asked is tried again later, and given up
    /// to ``quarantine`` in the end.
    ///
    /// - Parameters:
    ///   - adapters: by source. A delivery of another source waits.
    ///   - limit: how many at most.
    ///   - lease: how long this worker has; after that another one takes the rest.
    /// - Returns: how many were taken out of the queue; none means that nothing is due.
    /// - Throws: ``JournalError``; every delivery is still there then. Those that were not taken in are due again after
    ///   ``Options/firstDelay``, as is one whose purchases others wrote to all the time. A delivery about a purchase whose row cannot be
    ///   read is tried again, and given up, like one whose provider cannot be asked.
    @discardableResult
    public func work(
        with adapters: [String: any ProviderAdapter],
        limit: Int = 16,
        lease: Duration = .seconds(60)
    ) async throws(JournalError) -> Int {
        let waiting = DeliveryPlace.waiting.rawValue
        try await correctTurns(in: .delivery, waiting, DeliveryDetail.self) { $0.attempts == 0 ? $1.order : nil }
        let time = now()
        let until = time.milliseconds + max(lease.milliseconds, 1)
        let sources = Set(adapters.keys)
        let (records, isPassingOver) = try await write { transaction in
            let selection = JournalSelection(group: waiting, through: time.milliseconds, limit: limit)
            return try await transaction.values(of: selection, in: .delivery) { record -> JournalRecord? in
                var detail = try DeliveryDetail(of: record)
                guard sources.contains(detail.source) else { return nil }
                detail.attempts += 1
                detail.turnSetAt = time.milliseconds
                var taken = record
                taken.detail = try CanonicalJSON.bytes(detail)
                taken.order = until
                guard try await transaction.update(taken, in: .delivery) else { return nil }
                taken.version += 1
                return taken
            }
        }
        if isPassingOver { observer.observe(.unreadable(.delivery)) }
        for (index, record) in records.enumerated() {
            do throws(JournalError) {
                let detail: DeliveryDetail
                do { detail = try CanonicalJSON.value(from: record.detail) } catch {
                    throw JournalError(wrapping: error)
                }
                guard let adapter = adapters[detail.source] else { continue }
                try await work(on: record, detail, with: adapter)
            } catch {
                // After a conflict the rest of the batch may be about purchases that others do not work on.
                let isConflict = error.code == .conflict
                await putBack(isConflict ? records[index...index] : records[index...])
                if !isConflict { throw error }
            }
        }
        return records.count
    }

    /// Gives back what was leased and not taken in, as if no worker had had it: the lease would hold it up for its whole time.
    private func putBack(_ records: ArraySlice<JournalRecord>) async {
        let (time, turn) = (now().milliseconds, retryTime(afterAttempt: 0))
        // A worker that is stopped gives back, too, and a storage may refuse what a cancelled task writes.
        await Task {
            _ = try? await write { transaction in
                for var record in records {
                    var detail = try CanonicalJSON.value(DeliveryDetail.self, from: record.detail)
                    detail.attempts -= 1
                    detail.turnSetAt = time
                    record.detail = try CanonicalJSON.bytes(detail)
                    record.order = turn
                    _ = try await transaction.update(record, in: .delivery)
                }
            }
        }
        .value
    }

    private func work<Adapter: ProviderAdapter>(
        on record: JournalRecord,
        _ detail: DeliveryDetail,
        with adapter: Adapter
    ) async throws(JournalError) {
        let delivery = Delivery(headers: detail.headers ?? [:], body: record.body, receivedAt: detail.receivedAt)
        var tried = await attempt(delivery, of: detail.source, proven: detail.proven, with: adapter)
        let decision = Acknowledgement(for: tried.outcome, provider: adapter.provider).decision
        if decision != .retryLater {
            do throws(JournalError) {
                // The provider got 200 for it and will not send it again, so it is kept.
                let isQuarantined = decision != .accept
                let update = try await keep(tried, isQuarantined: isQuarantined)
                return observe(tried, isQuarantined ? .acceptAndQuarantine : .accept, with: update)
            } catch {
                guard error.code == .corrupt else { throw error }
                // A row of its own purchases cannot be read, which says nothing about other deliveries.
                tried.outcome = .failure(DeliveryError(notKept: error))
            }
        }
        guard detail.attempts >= options.maximumAttempts else {
            var record = record
            var detail = detail
            detail.error = tried.reason
            detail.turnSetAt = now().milliseconds
            record.order = retryTime(afterAttempt: detail.attempts)
            do { record.detail = try CanonicalJSON.bytes(detail) } catch { throw JournalError(wrapping: error) }
            let postponed = record
            _ = try await write { try await $0.update(postponed, in: .delivery) }
            return observe(tried, .retryLater)
        }
        observer.observe(.gaveUp(.delivery))
        observe(tried, .acceptAndQuarantine, with: try await keep(tried, isQuarantined: true))
    }

    // MARK: Quarantine

    /// Deliveries that are the provider's and could not be taken in.
    public var quarantine: Quarantine { Quarantine(journal: self) }
}

extension Result where Failure == DeliveryError {
    var failure: DeliveryError? { if case .failure(let error) = self { error } else { nil } }
}

extension DeliveryError {
    /// The delivery may be whatever it is: its result could not be stored.
    fileprivate init(notKept error: JournalError) {
        self.init(.unavailable, "not kept: \(error)", underlying: error)
    }
}
