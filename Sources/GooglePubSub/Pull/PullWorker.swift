public import FoundationEssentials
public import HTTPTransport
public import LifecycleEvents
import Synchronization

/// Pulls messages from a Pub/Sub subscription, hands them over, and extends their deadlines until they are handled.
///
/// A message is acknowledged only after its handler said so. If the handler wants it again, it is given back, to come
/// after a delay that doubles each time. While the handler works, its deadline is moved. The same worker never hands a
/// message over twice, during its handling or after it.
public final class PullWorker: Sendable {
    /// The answer to Pub/Sub about a message.
    public enum Disposition: Sendable, Hashable {
        /// It is dealt with.
        case acknowledge
        /// It is wanted again.
        case redeliver
    }

    /// A message in work.
    public struct Message: Sendable {
        /// The message.
        public let content: PubSubMessage
        /// When it was received.
        public let receivedAt: Date

        /// Makes a message, to test a handler.
        public init(content: PubSubMessage, receivedAt: Date) {
            self.content = content
            self.receivedAt = receivedAt
        }
    }

    /// A message that cannot be read as one. Pub/Sub would deliver it until it is acknowledged.
    public struct UnreadableMessage: Sendable, Redacted {
        /// The bytes that Pub/Sub sent in place of a message; they may have purchase tokens in them.
        public let bytes: [UInt8]
        /// The error: `malformed`, marked authentic.
        public let error: DeliveryError
        /// When it was received.
        public let receivedAt: Date

        /// Makes a message, to test a quarantine.
        public init(bytes: [UInt8], error: DeliveryError, receivedAt: Date) {
            self.bytes = bytes
            self.error = error
            self.receivedAt = receivedAt
        }

        /// The length and the error.
        public var description: String { "\(bytes.count) bytes, \(error)" }
    }

    /// Deals with one message.
    public typealias Handler = @Sendable (Message) async -> Disposition

    /// Keeps a message that cannot be read. When it throws, the message comes again.
    public typealias Quarantine = @Sendable (UnreadableMessage) async throws -> Void

    private struct State {
        var outstanding: Outstanding
        var hasRun = false
        var isStopping = false
        /// The task to interrupt when the worker is stopped: a pull, or a wait before the next.
        var interruptible: Task<Void, Never>?
    }

    private let configuration: PullWorker.Configuration
    private let api: PubSubAPI
    private let clock: any Clock<Duration>
    private let time: ElapsedTime
    private let now: @Sendable () -> Date
    private let state: Mutex<State>
    /// There may be room for more messages, or it is time to stop.
    private let room = Signal()
    /// There may be an answer to send to Pub/Sub.
    private let news = Signal()

    /// Prepares a worker, which runs once.
    ///
    /// - Parameters:
    ///   - configuration: the subscription, and how many messages to take at once.
    ///   - transport: sends the requests.
    ///   - tokens: access tokens with the scope of Pub/Sub; nil for an emulator, and only for one.
    ///   - clock: measures waits and deadlines.
    ///   - now: the time of day, which becomes a message's time of receipt.
    /// - Throws: `ConfigurationError`.
    public init(
        _ configuration: PullWorker.Configuration,
        transport: any HTTPTransportProtocol,
        tokens: (any AccessTokenSource)?,
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date
    ) throws(ConfigurationError) {
        try configuration.validate()
        self.configuration = configuration
        api = try PubSubAPI(configuration, transport: transport, tokens: tokens, clock: clock)
        self.clock = clock
        time = ElapsedTime(clock)
        self.now = now
        let backoff = Backoff(first: configuration.redeliveryDelay, longest: configuration.maximumRedeliveryDelay)
        state = Mutex(State(outstanding: Outstanding(remembering: configuration.rememberedMessages, backoff)))
    }

    /// Works until ``stop()``, or until Pub/Sub refuses for good.
    ///
    /// It waits out network trouble and quotas. If the task is canceled, so are the handlers; their messages are held
    /// until they answer, and their answers go to Pub/Sub.
    ///
    /// - Parameters:
    ///   - handler: handles each message.
    ///   - quarantine: keeps an unreadable message, which is then acknowledged.
    /// - Throws: ``PullError``, after every message in work is done.
    public func run(_ handler: @escaping Handler, quarantine: @escaping Quarantine) async throws(PullError) {
        let isFirst = state.withLock { state in
            defer { state.hasRun = true }
            return !state.hasRun
        }
        guard isFirst else { throw PullError(cause: .alreadyRun, message: "a PullWorker runs once; make another one") }
        // No children: where this task is canceled, handlers wind down, and until they have, their messages are held and
        // their answers go to Pub/Sub.
        let telling = Task { for await _ in self.news.stream { await self.sendNews() } }
        let holding = Task { await self.holdMessages() }
        let failure = await pullUntilStopped(handler, quarantine)
        news.finish()
        // No message is in work any more.
        holding.cancel()
        await holding.value
        await within(configuration.stopTimeout) {
            await telling.value
            await self.sendNews()
        } onTimeout: {
            telling.cancel()
        }
        let lost = state.withLock { $0.outstanding.takeAcknowledgements(.max).count }
        if lost > 0 { configuration.report?(.acknowledgementsLost(lost)) }
        if let failure { throw failure }
    }

    /// Works with an adapter until ``stop()``.
    ///
    /// Every message is decoded, looked up and mapped, and the outcome handed to `store`, failures too. If
    /// `Acknowledgement` accepts the outcome, it is acknowledged once `store` has returned. If `store` throws, or
    /// Google could not be asked, it comes again. An unreadable message is stored as one whose data are the received
    /// octets, with the failure `malformed`.
    ///
    /// - Throws: ``PullError`` as for ``run(_:quarantine:)``.
    public func run(
        _ adapter: GooglePlayAdapter,
        _ store: @escaping @Sendable (Message, Result<Normalization, DeliveryError>) async throws -> Void
    ) async throws(PullError) {
        let subscription = configuration.subscription
        try await run { message in
            let outcome = await adapter.outcome(ofPulled: message.content, receivedAt: message.receivedAt)
            do { try await store(message, outcome) } catch { return .redeliver }
            switch adapter.acknowledgement(for: outcome).decision {
            case .accept, .acceptAndQuarantine: return .acknowledge
            default: return .redeliver
            }
        } quarantine: { message in
            let content = PubSubMessage(subscription: subscription, data: message.bytes)
            try await store(Message(content: content, receivedAt: message.receivedAt), .failure(message.error))
        }
    }

    /// Has the worker stop pulling, finish its messages, send acknowledgements for `stopTimeout` at most, and return.
    public func stop() {
        let interrupted = state.withLock { state in
            state.isStopping = true
            return state.interruptible
        }
        interrupted?.cancel()
        room.send()
    }
}

// MARK: Pulling

extension PullWorker {
    private func pullUntilStopped(
        _ handler: @escaping Handler,
        _ quarantine: @escaping Quarantine
    ) async -> PullError? {
        await withDiscardingTaskGroup(returning: PullError?.self) { handlers in
            var changes = room.stream.makeAsyncIterator()
            var batch = configuration.maximumMessagesPerPull
            var failures = 0
            while !Task.isCancelled {
                switch freeRoom(batch) {
                case nil: return nil
                case 0?:
                    guard await changes.next() != nil else { return nil }
                    continue
                case let count?:
                    switch await pull(count) {
                    case .success(let received):
                        failures = 0
                        batch = min(max(batch, received.count) * 2, configuration.maximumMessagesPerPull)
                        for admitted in admit(received) {
                            handlers.addTask {
                                self.finish(admitted.key, await Self.deal(with: admitted, handler, quarantine))
                            }
                        }
                    case .failure(.tooLarge) where count > 1:
                        configuration.report?(.trouble(.pull, "responseTooLarge"))
                        batch = count / 2
                    case .failure(.canceled): continue
                    case .failure(.permanent(let error)), .failure(.refused(let error, _)): return error
                    case .failure(let failure):
                        configuration.report?(.trouble(.pull, failure.reason))
                        failures += 1
                        await wait(afterFailures: failures)
                    }
                }
            }
            return nil
        }
    }

    /// How many messages may be pulled now; nil when it is time to stop.
    private func freeRoom(_ batch: Int) -> Int? {
        state.withLock { state in
            guard !state.isStopping else { return nil }
            guard state.outstanding.bytes < configuration.maximumOutstandingBytes else { return 0 }
            return min(batch, max(configuration.maximumOutstandingMessages - state.outstanding.count, 0))
        }
    }

    private func pull(_ count: Int) async -> Result<[PubSubAPI.Received], PubSubAPI.Failure> {
        let outcome = Mutex<Result<[PubSubAPI.Received], PubSubAPI.Failure>>(.failure(.canceled))
        await interruptibly {
            let result: Result<[PubSubAPI.Received], PubSubAPI.Failure>
            let start = self.time.now
            do throws(PubSubAPI.Failure) {
                result = .success(
                    try await self.api.pull(
                        count,
                        timeout: self.configuration.pullTimeout,
                        maximumBytes: self.configuration.maximumResponseBytes
                    )
                )
            } catch {
                // Nothing was published for as long as a pull waits. Long before, no connection came about.
                if case .transient(HTTPTransportError.Code.timeout.rawValue) = error,
                    self.time.now - start > self.configuration.pullTimeout / 2
                {
                    result = .success([])
                } else {
                    result = .failure(error)
                }
            }
            outcome.withLock { $0 = result }
        }
        return outcome.withLock { $0 }
    }

    private func wait(afterFailures failures: Int) async {
        let ceiling = min(100 << min(failures, 10), 60_000)
        let delay = Duration.milliseconds(Int64.random(in: Int64(ceiling / 2)...Int64(ceiling)))
        await interruptibly { try? await self.clock.sleep(for: delay) }
    }

    /// Runs work that ``stop()`` and cancellation of this task interrupt.
    private func interruptibly(_ work: @escaping @Sendable () async -> Void) async {
        let task = state.withLock { state -> Task<Void, Never>? in
            guard !state.isStopping else { return nil }
            let task = Task { await work() }
            state.interruptible = task
            return task
        }
        guard let task else { return }
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        state.withLock { $0.interruptible = nil }
    }

    /// A message in work.
    private struct Admitted: Sendable {
        enum Content: Sendable {
            case message(Message)
            case unreadable(UnreadableMessage)
        }

        var key: String
        var content: Content
    }

    private static func deal(
        with admitted: Admitted,
        _ handler: Handler,
        _ quarantine: Quarantine
    ) async -> Disposition {
        switch admitted.content {
        case .message(let message): return await handler(message)
        case .unreadable(let message):
            do { try await quarantine(message) } catch { return .redeliver }
            return .acknowledge
        }
    }

    private func admit(_ received: [PubSubAPI.Received]) -> [Admitted] {
        guard !received.isEmpty else {
            configuration.report?(.idle)
            return []
        }
        let receivedAt = now()
        let elapsed = time.now
        var admitted: [Admitted] = []
        var hasRepeated = false
        configuration.report?(.pulled(received.count))
        for one in received {
            let key: String
            let content: Admitted.Content
            let (bytes, attempt): (Int, Int?)
            switch one.content {
            case .message(let message):
                key = message.messageID ?? one.acknowledgementID
                content = .message(Message(content: message, receivedAt: receivedAt))
                (bytes, attempt) = (message.data.count, message.deliveryAttempt)
            case .unreadable(let octets, let messageID, let error):
                configuration.report?(.unreadable)
                key = messageID ?? one.acknowledgementID
                content = .unreadable(
                    UnreadableMessage(
                        bytes: octets,
                        error: DeliveryError(
                            .malformed,
                            "pulled message: \(error)",
                            isAuthentic: true,
                            underlying: error
                        ),
                        receivedAt: receivedAt
                    )
                )
                (bytes, attempt) = (octets.count, nil)
            }
            let admission = state.withLock {
                $0.outstanding.admit(
                    key,
                    one.acknowledgementID,
                    attempt: attempt,
                    bytes: bytes,
                    now: elapsed,
                    deadline: configuration.acknowledgementDeadline
                )
            }
            switch admission {
            case .new: admitted.append(Admitted(key: key, content: content))
            case .repeated:
                hasRepeated = true
                configuration.report?(.repeated)
            }
        }
        if hasRepeated { news.send() }
        return admitted
    }

    private func finish(_ key: String, _ disposition: Disposition) {
        state.withLock { $0.outstanding.finish(key, acknowledge: disposition == .acknowledge) }
        room.send()
        news.send()
    }
}

// MARK: Answers to Pub/Sub

extension PullWorker {
    private func sendNews() async {
        while await sendOnce() {}
    }

    /// - Returns: true if there may be more to send that can be sent now.
    private func sendOnce() async -> Bool {
        let (due, returns) = state.withLock { state in
            (
                state.outstanding.takeAcknowledgements(PubSubAPI.idsPerRequest),
                state.outstanding.takeReturns(PubSubAPI.idsPerRequest)
            )
        }
        var isAllSent = true
        if !due.isEmpty {
            let outcomes = await api.acknowledge(due.map(\.id))
            if !outcomes.taken.isEmpty { configuration.report?(.acknowledged(outcomes.taken.count)) }
            if let failure = outcomes.failure { configuration.report?(.trouble(.acknowledge, failure.reason)) }
            isAllSent = outcomes.left.isEmpty
            let left = Set(outcomes.left)
            let late = state.withLock { $0.outstanding.putBack(due.filter { left.contains($0.id) }, now: time.now) }
            let lost = outcomes.void.count + outcomes.denied.count + late
            if lost > 0 { configuration.report?(.acknowledgementsLost(lost)) }
        }
        if let (ids, delay) = returns {
            let outcomes = await api.modifyAckDeadline(ids, delay)
            if !outcomes.taken.isEmpty { configuration.report?(.returned(outcomes.taken.count)) }
            // The others come again by themselves, later.
            if let failure = outcomes.failure { configuration.report?(.trouble(.modifyAckDeadline, failure.reason)) }
        }
        return isAllSent && state.withLock { $0.outstanding.hasNews }
    }

    /// Works in a task that is not canceled where this one is, but when the time is over.
    private func within(
        _ time: Duration,
        _ work: @escaping @Sendable () async -> Void,
        onTimeout: @escaping @Sendable () -> Void
    ) async {
        let work = Task { await work() }
        let limit = Task { [clock] in
            do { try await clock.sleep(for: time) } catch { return }
            work.cancel()
            onTimeout()
        }
        await work.value
        limit.cancel()
    }

    /// Moves the deadlines of messages that are worked on, until canceled.
    private func holdMessages() async {
        let tick = min(configuration.acknowledgementDeadline, configuration.leaseExtension) / 4
        // Two ticks at least, so that one that comes late is no harm.
        let margin = max(tick * 2, configuration.leaseExtension / 4)
        while (try? await clock.sleep(for: tick)) != nil, !Task.isCancelled {
            let start = time.now
            let due = state.withLock {
                $0.outstanding.due(
                    within: margin,
                    now: start,
                    longest: configuration.maximumExtension
                )
            }
            var rest = due[...]
            while !rest.isEmpty {
                let batch = rest.prefix(PubSubAPI.idsPerRequest)
                rest = rest.dropFirst(PubSubAPI.idsPerRequest)
                let outcomes = await api.modifyAckDeadline(batch.map(\.id), configuration.leaseExtension)
                if !outcomes.taken.isEmpty { configuration.report?(.extended(outcomes.taken.count)) }
                if let failure = outcomes.failure {
                    configuration.report?(.trouble(.modifyAckDeadline, failure.reason))
                }
                let (taken, void) = (Set(outcomes.taken), Set(outcomes.void))
                state.withLock { state in
                    state.outstanding.extended(
                        batch.filter { taken.contains($0.id) }.map(\.key),
                        until: start + configuration.leaseExtension
                    )
                    state.outstanding.release(batch.filter { void.contains($0.id) })
                }
            }
            // Acknowledgements that could not be sent are tried again.
            news.send()
        }
    }
}

/// Wakes one waiter; a signal without a waiter is kept, once.
private struct Signal: Sendable {
    let stream: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation

    init() {
        (stream, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    func send() { continuation.yield() }

    func finish() { continuation.finish() }
}
