import FoundationEssentials
import HTTPTransport
import Synchronization

/// The urgency of a request: it serves a customer now, or fills in the past.
public enum RequestPriority: Sendable, Hashable {
    /// A customer or a notification waits for the answer.
    case live
    /// No customer waits: backfill, reconciliation, imports. Such requests leave a fifth of Apple's rate to live ones.
    case background
}

/// The endpoints, each with a rate of its own at Apple
/// (<https://developer.apple.com/documentation/appstoreserverapi/identifying-rate-limits>).
enum Endpoint: Hashable {
    case transaction, transactionHistory, statuses, notificationHistory, consumption, finish, appTransaction
    case extend, accountToken
    case order, refundHistory
    case massExtension, massExtensionStatus, testNotification, testStatus

    /// Requests a second in Production; Sandbox allows a tenth of it.
    var requestsPerSecond: Int {
        switch self {
        case .transaction, .transactionHistory, .statuses, .notificationHistory, .consumption, .finish, .appTransaction:
            50
        case .extend, .accountToken: 20
        case .order, .refundHistory: 10
        case .massExtension, .massExtensionStatus, .testNotification, .testStatus: 1
        }
    }
}

/// Keeps all workers of a process together within Apple's rates: a token bucket for each endpoint and environment. Those that wait are
/// served in the order in which they came, live ones before the others.
///
/// Several processes share one rate at Apple and do not know of each other; then `429` and its `Retry-After` hold them back.
final class Pacing: Sendable {
    private struct Key: Hashable {
        var endpoint: Endpoint
        var environment: AppStoreServerClient.Environment
    }

    private struct Bucket {
        /// Requests that may be sent at once; below zero after attempts that have not waited for their turn.
        var tokens: Double
        var filled: Duration
        /// Apple has asked for silence until then.
        var silentUntil: Duration = .zero
        /// The numbers of those that wait, the first one first.
        var live: [UInt64] = []
        var background: [UInt64] = []

        /// How many requests go before that of a waiting number.
        func place(of number: UInt64, _ priority: RequestPriority) -> Int {
            switch priority {
            case .live: live.firstIndex(of: number) ?? live.count
            case .background: live.count + (background.firstIndex(of: number) ?? background.count)
            }
        }

        mutating func add(_ number: UInt64, _ priority: RequestPriority) {
            guard !live.contains(number), !background.contains(number) else { return }
            switch priority {
            case .live: live.append(number)
            case .background: background.append(number)
            }
        }

        mutating func remove(_ number: UInt64) {
            live.removeAll { $0 == number }
            background.removeAll { $0 == number }
        }

        mutating func fill(at now: Duration, _ rate: Double, capacity: Double) {
            tokens = min(tokens + (now - filled).fractionalSeconds * rate, capacity)
            filled = now
        }
    }

    private let clock: any Clock<Duration>
    private let time: ElapsedTime
    private let now: @Sendable () -> Date
    private let buckets = Mutex<[Key: Bucket]>([:])
    private let numbers = Atomic<UInt64>(0)

    init(_ clock: any Clock<Duration>, now: @escaping @Sendable () -> Date) {
        self.clock = clock
        self.now = now
        time = ElapsedTime(clock)
    }

    /// Waits until a request may be sent, and counts it.
    ///
    /// - Parameter patience: how long a pause that Apple has asked for may still last.
    /// - Throws: `rateLimited` if it lasts longer, and `canceled`.
    func turn(
        at endpoint: Endpoint,
        in environment: AppStoreServerClient.Environment,
        priority: RequestPriority,
        patience: Duration
    ) async throws(AppStoreServerError) {
        let key = Key(endpoint: endpoint, environment: environment)
        let number = numbers.wrappingAdd(1, ordering: .relaxed).newValue
        while let wait = claim(key, for: number, priority) {
            guard !wait.isPause || wait.time <= patience else {
                leave(key, number)
                let end = now().addingTimeInterval(wait.time.fractionalSeconds)
                throw AppStoreServerError(.rateLimited, "not sent: Apple has asked for a pause", retryAt: end)
            }
            do {
                try await clock.sleep(for: wait.time)
            } catch {
                leave(key, number)
                throw AppStoreServerError(.canceled, "canceled while waiting for Apple's rate limit", underlying: error)
            }
        }
    }

    private func leave(_ key: Key, _ number: UInt64) { buckets.withLock { $0[key]?.remove(number) } }

    /// Counts an attempt that repeats another one. It has waited for a time of its own, and those that come next wait for longer.
    func count(_ endpoint: Endpoint, in environment: AppStoreServerClient.Environment) {
        let key = Key(endpoint: endpoint, environment: environment)
        buckets.withLock { buckets in
            var bucket = buckets[key] ?? full(key)
            bucket.fill(at: time.now, perSecond(key), capacity: capacity(key))
            bucket.tokens -= 1
            buckets[key] = bucket
        }
    }

    /// Apple has answered `429` with a time from which it accepts requests again.
    func silence(_ endpoint: Endpoint, in environment: AppStoreServerClient.Environment, for wait: Duration) {
        let key = Key(endpoint: endpoint, environment: environment)
        let until = time.now + min(max(wait, .zero), .seconds(3600))
        buckets.withLock { buckets in
            var bucket = buckets[key] ?? full(key)
            bucket.silentUntil = max(bucket.silentUntil, until)
            buckets[key] = bucket
        }
    }

    /// How long to wait before asking again, and if that is a pause that Apple has asked for; nil if the request may be sent and has
    /// been counted.
    private func claim(
        _ key: Key,
        for number: UInt64,
        _ priority: RequestPriority
    ) -> (time: Duration, isPause: Bool)? {
        buckets.withLock { buckets in
            let now = time.now
            let (rate, limit) = (perSecond(key), capacity(key))
            var bucket = buckets[key] ?? full(key)
            bucket.fill(at: now, rate, capacity: limit)
            defer { buckets[key] = bucket }
            let pause = bucket.silentUntil - now
            let reserve = priority == .background ? min(limit / 5, limit - 1) : 0
            let missing = 1 + reserve + Double(bucket.place(of: number, priority)) - bucket.tokens
            guard pause > .zero || missing > 0 else {
                bucket.tokens -= 1
                bucket.remove(number)
                return nil
            }
            bucket.add(number, priority)
            guard pause <= .zero else { return (pause, true) }
            // Not all of it at once, since those before may leave. Rounded up, so that a sleeper is not awake a moment too early and
            // has to sleep again.
            let seconds = min(missing / rate, max(1 / rate, 1))
            return (.milliseconds(Int64((seconds * 1000).rounded(.up))), false)
        }
    }

    private func full(_ key: Key) -> Bucket { Bucket(tokens: capacity(key), filled: time.now) }

    private func capacity(_ key: Key) -> Double { max(perSecond(key), 1) }

    private func perSecond(_ key: Key) -> Double {
        Double(key.endpoint.requestsPerSecond) / (key.environment == .sandbox ? 10 : 1)
    }
}

extension Duration {
    fileprivate var fractionalSeconds: Double {
        let (seconds, attoseconds) = components
        return Double(seconds) + Double(attoseconds) / 1e18
    }
}
