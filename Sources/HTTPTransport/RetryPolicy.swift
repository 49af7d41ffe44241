/// Decides if, and after how long, a request is sent again.
///
/// Exponential back-off with full jitter, `Retry-After` (RFC 9110, section 10.2.3), a number of attempts and a
/// deadline over all of them.
public struct RetryPolicy: Sendable {
    /// The response or the error of one attempt.
    public typealias Outcome = Result<HTTPTransportResponse, HTTPTransportError>

    /// The decision about another attempt.
    public enum Verdict: Sendable, Hashable {
        /// It is final.
        case stop
        /// Another attempt may fare better.
        case retry
    }

    /// How many attempts there are, the first included.
    public var maximumAttempts: Int
    /// The upper end of the first wait; it doubles from one attempt to the next.
    public var baseDelay: Duration
    /// The upper end of every wait that the server has not asked for.
    public var maximumDelay: Duration
    /// The longest wait that a server may ask for. When it asks for more, the answer is final, and the caller can read
    /// `Retry-After` for itself.
    public var maximumRetryAfter: Duration
    /// How long all attempts and waits together may take. No wait is begun that would end behind it.
    public var deadline: Duration?
    /// Says which outcomes are worth another attempt; ``standardVerdict(for:_:)`` unless a provider has rules of its own.
    public var verdict: @Sendable (HTTPTransportRequest, Outcome) -> Verdict

    /// Makes a policy.
    public init(
        maximumAttempts: Int = 3,
        baseDelay: Duration = .milliseconds(500),
        maximumDelay: Duration = .seconds(5),
        maximumRetryAfter: Duration = .seconds(60),
        deadline: Duration? = .seconds(90),
        verdict: @escaping @Sendable (HTTPTransportRequest, Outcome) -> Verdict = RetryPolicy.standardVerdict
    ) {
        self.maximumAttempts = maximumAttempts
        self.baseDelay = baseDelay
        self.maximumDelay = maximumDelay
        self.maximumRetryAfter = maximumRetryAfter
        self.deadline = deadline
        self.verdict = verdict
    }

    /// One attempt, no more, with the request's own time-out.
    public static let never = RetryPolicy(maximumAttempts: 1, deadline: nil)

    /// Retries transient failures: retryable errors and 408, 429, 500, 502, 503 and 504.
    ///
    /// A request that is not idempotent is repeated only if the server cannot have acted on it: there was no
    /// connection, or it answered 429 or 503.
    public static func standardVerdict(for request: HTTPTransportRequest, _ outcome: Outcome) -> Verdict {
        switch outcome {
        case .success(let response):
            switch response.status {
            case 429, 503: .retry
            case 408, 500, 502, 504: request.isIdempotent ? .retry : .stop
            default: .stop
            }
        case .failure(let error) where error.code == .connectionFailed: .retry
        case .failure(let error): error.isRetryable && request.isIdempotent ? .retry : .stop
        }
    }

    /// How long to wait after an attempt, or nothing where its outcome is final.
    ///
    /// - Parameters:
    ///   - attempt: Which attempt it was, counted from 1.
    ///   - request: the request; after some outcomes it is repeated only if it is idempotent.
    ///   - outcome: the response or error of the attempt.
    ///   - elapsed: How long all attempts and waits have taken so far.
    ///   - generator: spreads the delay.
    public func delay(
        afterAttempt attempt: Int,
        of request: HTTPTransportRequest,
        outcome: Outcome,
        elapsed: Duration,
        using generator: inout some RandomNumberGenerator
    ) -> Duration? {
        guard attempt < maximumAttempts, verdict(request, outcome) == .retry else { return nil }
        var delay = backOff(afterAttempt: attempt, using: &generator)
        if case .success(let response) = outcome, let asked = response.retryAfter {
            guard asked <= maximumRetryAfter else { return nil }
            delay = max(delay, asked)
        }
        if let deadline {
            guard elapsed < deadline, delay < deadline - elapsed else { return nil }
        }
        return delay
    }

    private func backOff(afterAttempt attempt: Int, using generator: inout some RandomNumberGenerator) -> Duration {
        var ceiling = min(max(baseDelay, .zero), max(maximumDelay, .zero))
        var step = 1
        while attempt > step, ceiling < maximumDelay {
            ceiling = min(ceiling + ceiling, maximumDelay)
            step += 1
        }
        return .milliseconds(Int64.random(in: 0...max(ceiling.wholeMilliseconds, 0), using: &generator))
    }
}

extension HTTPTransportResponse {
    /// How long the server asks to be left alone.
    ///
    /// A date is read against the answer's own `Date`, so that no clock of ours takes part; without one it says nothing.
    /// Of several values the longest counts.
    public var retryAfter: Duration? {
        headers.values("Retry-After").compactMap { value in
            if !value.isEmpty, value.utf8.allSatisfy(ASCII.isDigit) {
                return .seconds(value.utf8.count <= 9 ? Int64(value) ?? 999_999_999 : 999_999_999)
            }
            guard let until = HTTPDate(value), let now = headers.date else { return nil }
            return .seconds(max(until.seconds - now.seconds, 0))
        }.max()
    }
}

extension Duration {
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        return overflow ? .max / 2 : product.addingReportingOverflow(attoseconds / 1_000_000_000_000_000).partialValue
    }
}
