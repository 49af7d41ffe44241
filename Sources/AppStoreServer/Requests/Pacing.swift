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

/// Keeps all workers of a process together within Apple's rates: a token bucket for each endpoint and environment.
///
/// Several processes share one rate at Apple and do not know of each other; then `429` and its `Retry-After` hold them back.
final class Pacing: Sendable {
    private struct Key: Hashable {
        var endpoint: Endpoint
        var environment: AppStoreServerClient.Environment
    }

    private struct Bucket {
        /// Requests that may be sent at once.
        var tokens: Double
        var filled: Duration
        /// Apple has asked for silence until then.
        var silentUntil: Duration = .zero
    }

    private let clock: any Clock<Duration>
    private let time: ElapsedTime
    private let now: @Sendable () -> Date
    private let buckets = Mutex<[Key: Bucket]>([:])

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
        while let wait = claim(Key(endpoint: endpoint, environment: environment), priority: priority) {
            guard !wait.isPause || wait.time <= patience else {
                let end = now().addingTimeInterval(wait.time.fractionalSeconds)
                throw AppStoreServerError(.rateLimited, "not sent: Apple has asked for a pause", retryAt: end)
            }
            do {
                try await clock.sleep(for: wait.time)
            } catch {
                throw AppStoreServerError(.canceled, "canceled while waiting for Apple's rate limit", underlying: error)
            }
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
    private func claim(_ key: Key, priority: RequestPriority) -> (time: Duration, isPause: Bool)? {
        buckets.withLock { buckets in
            let now = time.now
            let rate = perSecond(key)
            let capacity = max(rate, 1)
            var bucket = buckets[key] ?? full(key)
            bucket.tokens = min(bucket.tokens + (now - bucket.filled).fractionalSeconds * rate, capacity)
            bucket.filled = now
            defer { buckets[key] = bucket }
            if now < bucket.silentUntil { return (bucket.silentUntil - now, true) }
            let reserve = priority == .background ? min(capacity / 5, capacity - 1) : 0
            let missing = 1 + reserve - bucket.tokens
            guard missing > 0 else {
                bucket.tokens -= 1
                return nil
            }
            // Rounded up, so that a sleeper is not awake a moment too early and has to sleep again.
            return (.milliseconds(Int64((missing / rate * 1000).rounded(.up))), false)
        }
    }

    private func full(_ key: Key) -> Bucket { Bucket(tokens: max(perSecond(key), 1), filled: time.now) }

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
