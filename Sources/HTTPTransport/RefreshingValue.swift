import Synchronization

/// A value that is fetched when it is first needed, and again ahead of its end, without a wait.
///
/// One fetch serves all waiting callers, and a canceled caller leaves at once. Nothing is fetched straight after a failure.
/// `RevocationChecker` does without it: its callers never wait, and its answers are merged.
package final class RefreshingValue<Value: Sendable, Failure: Error>: Sendable {
    /// A value, from when on another one is fetched while it serves, and its end, both counted as `ElapsedTime` counts.
    package typealias Fetched = (value: Value, renewal: Duration, expiry: Duration)

    private typealias Flight = Task<Result<Value, Failure>, Never>

    private struct State {
        var known: Fetched?
        /// When the last fetch ended, and why it failed if it did.
        var lastFetch: (at: Duration, failure: Failure?)?
        var lastDiscard: Duration?
        var flight: Flight?
    }

    private enum Step {
        case answer(Result<Value, Failure>)
        case wait(Flight)
    }

    private let time: ElapsedTime
    private let failureInterval: Duration
    private let outageTolerance: Duration
    private let fetch: @Sendable () async throws(Failure) -> Fetched
    private let state = Mutex(State())

    /// - Parameters:
    ///   - time: measures the age of values and failures.
    ///   - failureInterval: how long nothing is fetched after a failure.
    ///   - outageTolerance: for how long a value is used beyond its time while another one cannot be fetched.
    ///   - fetch: gets another value; not called before one is needed.
    package init(
        time: ElapsedTime,
        failureInterval: Duration,
        outageTolerance: Duration = .zero,
        fetch: @escaping @Sendable () async throws(Failure) -> Fetched
    ) {
        self.time = time
        self.failureInterval = failureInterval
        self.outageTolerance = outageTolerance
        self.fetch = fetch
    }

    /// The value; nil if the caller was canceled while it waited.
    ///
    /// - Parameters:
    ///   - interval: how far apart fetches are that a current value causes because it is of no use.
    ///   - isUsable: true if the value has what the caller looks for. One that was fetched not long ago is the answer without that, too.
    package func value(
        refetchingAfter interval: Duration = .zero,
        where isUsable: (Value) -> Bool = { _ in true }
    ) async -> Result<Value, Failure>? {
        switch step(refetchingAfter: interval, where: isUsable) {
        case .answer(let answer): return answer
        case .wait(let flight):
            let outcome = await flight.valueUnlessCanceled
            guard case .failure? = outcome else { return outcome }
            return state.withLock { tolerated(in: $0, at: time.now, where: isUsable) }.map { .success($0) } ?? outcome
        }
    }

    /// Forgets the value, if it is still the one that is meant.
    ///
    /// The first time, another one is fetched at once. If that is discarded as well within `interval`, its fetch counts as failed.
    package func discard(
        repeatedWithin interval: Duration,
        failure: @autoclosure () -> Failure,
        where isMeant: (Value) -> Bool
    ) {
        state.withLock { state in
            guard let known = state.known, isMeant(known.value) else { return }
            state.known = nil
            let now = time.now
            if let last = state.lastDiscard, now - last < interval { state.lastFetch = (now, failure()) }
            state.lastDiscard = now
        }
    }

    private func step(refetchingAfter interval: Duration, where isUsable: (Value) -> Bool) -> Step {
        state.withLock { state in
            let now = time.now
            let current = state.known.flatMap { now < $0.expiry ? $0 : nil }
            let failure = state.lastFetch.flatMap { now - $0.at < failureInterval ? $0.failure : nil }
            if let current, isUsable(current.value) {
                if now >= current.renewal, state.flight == nil, failure == nil { takeOff(&state) }
                return .answer(.success(current.value))
            }
            let tolerated = tolerated(in: state, at: now, where: isUsable)
            if let flight = state.flight {
                // The last fetch failed: only the caller that asks again waits to see if the trouble is over.
                if state.lastFetch?.failure != nil, let tolerated { return .answer(.success(tolerated)) }
                return .wait(flight)
            }
            if let failure { return .answer(tolerated.map { .success($0) } ?? .failure(failure)) }
            if let current, let last = state.lastFetch, now - last.at < interval {
                return .answer(last.failure.map { .failure($0) } ?? .success(current.value))
            }
            return .wait(takeOff(&state))
        }
    }

    @discardableResult
    private func takeOff(_ state: inout State) -> Flight {
        // Not a child of the first caller: the others must not lose it when that one is canceled.
        let flight = Task { await self.land() }
        state.flight = flight
        return flight
    }

    private func land() async -> Result<Value, Failure> {
        let outcome: Result<Fetched, Failure>
        do throws(Failure) {
            outcome = .success(try await fetch())
        } catch {
            outcome = .failure(error)
        }
        return state.withLock { state in
            state.flight = nil
            switch outcome {
            case .success(let fetched):
                state.known = fetched
                state.lastFetch = (time.now, nil)
            case .failure(let failure):
                state.lastFetch = (time.now, failure)
            }
            return outcome.map(\.value)
        }
    }

    private func tolerated(in state: borrowing State, at now: Duration, where isUsable: (Value) -> Bool) -> Value? {
        guard let known = state.known, now < known.expiry + outageTolerance, isUsable(known.value) else { return nil }
        return known.value
    }
}

extension Task where Failure == Never {
    /// The task's value; nil as soon as the waiting caller is canceled. The task itself continues.
    fileprivate var valueUnlessCanceled: Success? {
        get async {
            let (values, continuation) = AsyncStream.makeStream(of: Success.self)
            Task<Void, Never> {
                continuation.yield(await value)
                continuation.finish()
            }
            for await value in values { return value }
            return nil
        }
    }
}
