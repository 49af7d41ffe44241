public import HTTPTransport
import Synchronization

/// A transport without a network: it answers by rules and keeps every request.
///
/// The first rule that matches and is not used up answers. Where none does, the request fails with `connectionFailed`,
/// so that nothing reaches a place that a test has not named. The limits of a request hold as in a real transport.
public final class StubTransport: HTTPTransportProtocol {
    /// The answer of a rule to a request.
    public typealias Handler =
        @Sendable (HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse

    /// Which requests a rule is for; a part that is nil matches all.
    public struct Pattern: Sendable {
        /// The method.
        public var method: HTTPTransportRequest.Method?
        /// The host, in lower case.
        public var host: String?
        /// The whole encoded path. With a question mark in it, path and query, as a simulated resource has them.
        public var path: String?
        /// Anything else.
        public var condition: (@Sendable (HTTPTransportRequest) -> Bool)?

        /// Makes a pattern.
        public init(
            _ method: HTTPTransportRequest.Method? = nil,
            host: String? = nil,
            path: String? = nil,
            where condition: (@Sendable (HTTPTransportRequest) -> Bool)? = nil
        ) {
            self.method = method
            self.host = host
            self.path = path
            self.condition = condition
        }

        /// Every request.
        public static let any = Pattern()

        func matches(_ request: HTTPTransportRequest) -> Bool {
            (method ?? request.method) == request.method && (host ?? request.url.host) == request.url.host
                && matches(path: request.url) && condition?(request) ?? true
        }

        private func matches(path url: HTTPSURL) -> Bool {
            guard let path else { return true }
            guard path.contains("?"), let query = url.query else { return path == url.path }
            return path == "\(url.path)?\(query)"
        }
    }

    private struct Rule {
        var pattern: Pattern
        var usesLeft: Int
        var handler: Handler
    }

    private struct State {
        var rules: [Rule] = []
        var requests: [HTTPTransportRequest] = []
    }

    private let state = Mutex(State())

    /// A transport that answers nothing yet.
    public init() {}

    /// Every request so far, in the order they came in.
    public var requests: [HTTPTransportRequest] { state.withLock { $0.requests } }

    /// Adds a rule behind those that are there, for so many requests.
    public func on(_ pattern: Pattern, times: Int = .max, perform handler: @escaping Handler) {
        state.withLock { $0.rules.append(Rule(pattern: pattern, usesLeft: times, handler: handler)) }
    }

    /// Adds a rule that gives `responses` one after another, each once; the last one is repeated.
    public func on(_ pattern: Pattern, respond responses: HTTPTransportResponse...) {
        for (index, response) in responses.enumerated() {
            on(pattern, times: index == responses.count - 1 ? .max : 1) {
                (_) throws(HTTPTransportError) in response
            }
        }
    }

    /// Adds a rule that fails for so many requests.
    public func on(_ pattern: Pattern, times: Int = .max, fail code: HTTPTransportError.Code) {
        on(pattern, times: times) { (_) throws(HTTPTransportError) in
            throw HTTPTransportError(code, "the stub's rule says so")
        }
    }

    /// Adds a rule that gives no answer at all until the task is canceled.
    public func on(hang pattern: Pattern, times: Int = .max) {
        on(pattern, times: times) { (_) throws(HTTPTransportError) in
            let (silence, continuation) = AsyncStream.makeStream(of: Never.self)
            for await _ in silence {}
            continuation.finish()
            throw HTTPTransportError(.canceled, "canceled while the stub was silent")
        }
    }

    /// Removes every rule; the requests stay.
    public func removeRules() {
        state.withLock { $0.rules.removeAll() }
    }

    /// Answers by the first rule that matches.
    ///
    /// - Throws: the rule's error; `connectionFailed` without a rule; `responseTooLarge`; `canceled`.
    public func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        let handler = state.withLock { state -> Handler? in
            state.requests.append(request)
            guard
                let index = state.rules.firstIndex(where: { $0.usesLeft > 0 && $0.pattern.matches(request) })
            else { return nil }
            state.rules[index].usesLeft -= 1
            return state.rules[index].handler
        }
        guard !Task.isCancelled else { throw HTTPTransportError(.canceled, "canceled before it was sent") }
        guard let handler else {
            throw HTTPTransportError(.connectionFailed, "\(request.url): no rule for \(request.method)")
        }
        let response = try await handler(request)
        guard response.body.count <= request.maximumResponseBytes else {
            var error = HTTPTransportError(
                .responseTooLarge,
                "\(request.url): more than \(request.maximumResponseBytes) bytes"
            )
            error.status = response.status
            throw error
        }
        return response
    }
}
