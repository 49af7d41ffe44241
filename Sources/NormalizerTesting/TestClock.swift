import Synchronization

/// A clock that stands still until a test moves it.
///
/// `TestClock(jumping: true)` moves by itself: a sleeper wakes at once, at the time for which it slept.
public final class TestClock: Clock, Sendable {
    /// A point on the clock: the time since it was made.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public var offset: Duration

        /// A point so long after the clock was made.
        public init(offset: Duration) { self.offset = offset }

        /// The point later by `duration`.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }

        /// The time from here to `other`.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Earlier is less.
        public static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    private struct Sleeper {
        var deadline: Instant
        var continuation: CheckedContinuation<Void, any Error>
    }

    private struct Watcher {
        var count: Int
        var continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var nextID = 0
        var sleepers: [Int: Sleeper] = [:]
        var canceled: Set<Int> = []
        var watchers: [Watcher] = []
        var sleeps: [Duration] = []
    }

    private let state = Mutex(State())
    private let isJumping: Bool

    /// A clock at zero.
    public init(jumping: Bool = false) {
        isJumping = jumping
    }

    /// The time.
    public var now: Instant { state.withLock { $0.now } }

    /// There is no finer resolution than a `Duration` has.
    public var minimumResolution: Duration { .zero }

    /// Every sleep that was asked for, in order.
    public var sleeps: [Duration] { state.withLock { $0.sleeps } }

    /// Waits until a test has moved the clock to `deadline`.
    ///
    /// - Throws: `CancellationError`.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        let id = state.withLock { state in
            state.nextID += 1
            state.sleeps.append(state.now.duration(to: deadline))
            if isJumping { state.now = max(state.now, deadline) }
            return state.nextID
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let resumption = state.withLock { state -> (result: Result<Void, any Error>?, watchers: [Watcher]) in
                    if state.canceled.remove(id) != nil { return (.failure(CancellationError()), []) }
                    if deadline <= state.now { return (.success(()), []) }
                    state.sleepers[id] = Sleeper(deadline: deadline, continuation: continuation)
                    let count = state.sleepers.count
                    let satisfied = state.watchers.filter { $0.count <= count }
                    state.watchers.removeAll { $0.count <= count }
                    return (nil, satisfied)
                }
                if let result = resumption.result { continuation.resume(with: result) }
                for watcher in resumption.watchers { watcher.continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state -> Sleeper? in
                guard let sleeper = state.sleepers.removeValue(forKey: id) else {
                    state.canceled.insert(id)
                    return nil
                }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        state.withLock { _ = $0.canceled.remove(id) }
    }

    /// Moves the clock and wakes the sleepers whose time has come, the earliest first.
    public func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for id in due.keys { state.sleepers.removeValue(forKey: id) }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in woken { sleeper.continuation.resume() }
    }

    /// Waits until at least `count` tasks sleep on this clock, so that moving it reaches them.
    public func waitForSleepers(_ count: Int = 1) async {
        await withCheckedContinuation { continuation in
            let isSatisfied = state.withLock { state in
                if state.sleepers.count >= count { return true }
                state.watchers.append(Watcher(count: count, continuation: continuation))
                return false
            }
            if isSatisfied { continuation.resume() }
        }
    }
}
