extension HTTPTransportProtocol {
    /// Sends `request` until an outcome is final by `policy`, and gives back that outcome.
    ///
    /// Each attempt has the request's own time-out, shortened to the rest of the policy's deadline. Waits are taken on
    /// `clock` and end at once when the task is canceled.
    ///
    /// - Throws: the last attempt's error; `canceled`.
    public func send(
        _ request: HTTPTransportRequest,
        retrying policy: RetryPolicy,
        clock: any Clock<Duration> = ContinuousClock()
    ) async throws(HTTPTransportError) -> HTTPTransportResponse {
        var generator = SystemRandomNumberGenerator()
        return try await send(request, retrying: policy, clock: clock, using: &generator)
    }

    /// Sends `request` until an outcome is final by `policy`, with the jitter from `generator`.
    ///
    /// - Throws: the last attempt's error; `canceled`.
    public func send(
        _ request: HTTPTransportRequest,
        retrying policy: RetryPolicy,
        clock: any Clock<Duration>,
        using generator: inout some RandomNumberGenerator
    ) async throws(HTTPTransportError) -> HTTPTransportResponse {
        try await attempt(request, policy, on: clock, using: &generator)
    }

    private func attempt<C: Clock<Duration>>(
        _ request: HTTPTransportRequest,
        _ policy: RetryPolicy,
        on clock: C,
        using generator: inout some RandomNumberGenerator
    ) async throws(HTTPTransportError) -> HTTPTransportResponse {
        let start = clock.now
        var attempt = 1
        while true {
            var limited = request
            if let deadline = policy.deadline {
                let left = deadline - start.duration(to: clock.now)
                guard left > .zero else {
                    throw HTTPTransportError(.timeout, "the deadline passed before attempt \(attempt)")
                }
                limited = request.limited(to: left)
            }
            let outcome: RetryPolicy.Outcome
            do {
                outcome = .success(try await send(limited))
            } catch {
                outcome = .failure(error)
            }
            let delay = policy.delay(
                afterAttempt: attempt,
                of: request,
                outcome: outcome,
                elapsed: start.duration(to: clock.now),
                using: &generator
            )
            guard let delay else { return try outcome.get() }
            do {
                try await clock.sleep(for: delay)
            } catch {
                throw HTTPTransportError(.canceled, "canceled between attempts \(attempt) and \(attempt + 1)")
            }
            attempt += 1
        }
    }
}
