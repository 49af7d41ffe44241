public import AppleJWS
public import FoundationEssentials
public import HTTPTransport
public import LifecycleEvents
import Synchronization

/// Apple's App Store Server API, for when a notification was lost, a customer restores a purchase, or Apple wants an
/// answer.
///
/// Every signed payload in an answer passes the same verifier as a webhook and becomes the same facts, under the same
/// event ids. So an answer and the notifications converge, in any order.
///
/// The client keeps to Apple's rates for each endpoint, and repeats safe requests. It waits as long as `Retry-After` asks, if that is
/// about a minute at most. Otherwise the call ends at once, and ``AppStoreServerError/retryAt`` has the time.
/// Share one value among all workers of a process.
///
/// Apple's documentation: <https://developer.apple.com/documentation/appstoreserverapi>.
public struct AppStoreServerClient: Sendable {
    /// Which of Apple's servers is asked. There is none for Xcode.
    public enum Environment: Hashable, Sendable, CaseIterable {
        /// The App Store.
        case production
        /// Sandbox accounts, TestFlight and app review.
        case sandbox

        var signed: AppleEnvironment { self == .production ? .production : .sandbox }

        var standardHost: String {
            self == .production ? "api.storekit.apple.com" : "api.storekit-sandbox.apple.com"
        }
    }

    /// How to ask, and for which app.
    public struct Configuration: Sendable {
        /// The key from App Store Connect.
        public var key: AppStoreServerKey
        /// The app; a key can serve several apps, each with a client of its own.
        public var bundleID: String
        /// Which servers may be asked, in this order, if a call names none.
        public var environments: [Environment]
        /// True if the app is on the App Store. Before its first release, Production answers every request with a bare `401`,
        /// and only then is such an answer a reason to ask Sandbox: a wrong key gets the same answer, and must not make
        /// test purchases count.
        public var isReleased = true
        /// Hosts other than Apple's current ones, such as the older names `api.storekit.itunes.apple.com`.
        public var hosts: [Environment: String] = [:]
        /// How long one attempt may take.
        public var timeout: Duration = .seconds(10)
        /// How often a request is sent at most.
        public var maximumAttempts = 4
        /// How long a request may take with all its attempts and waits, apart from waiting for its turn by Apple's rates. A longer
        /// pause that Apple has asked for is not waited for: the request is not sent.
        public var deadline: Duration = .seconds(90)

        /// Describes how to ask.
        public init(key: AppStoreServerKey, bundleID: String, environments: [Environment] = [.production, .sandbox]) {
            self.key = key
            self.bundleID = bundleID
            self.environments = environments
        }

        func validate() throws(ConfigurationError) {
            guard !bundleID.utf8.allSatisfy({ $0 <= 0x20 }) else {
                throw ConfigurationError("App Store Server API: bundleID must not be blank")
            }
            guard !environments.isEmpty, Set(environments).count == environments.count else {
                throw ConfigurationError(
                    "App Store Server API: environments must name each server at most once, and one at least"
                )
            }
            guard maximumAttempts > 0, timeout > .zero, deadline > .zero else {
                throw ConfigurationError("App Store Server API: timeout, deadline and maximumAttempts must be positive")
            }
        }
    }

    /// Proves Apple's signatures, and maps the signed data.
    public let adapter: AppleAdapter
    /// How to ask.
    public let configuration: Configuration
    /// The priority of requests. Take a copy with `background` for backfill and reconciliation; copies share the rates.
    public var priority: RequestPriority = .live

    let now: @Sendable () -> Date
    private let transport: RelativeRetryAfter
    private let clock: any Clock<Duration>
    private let token: BearerToken
    private let pacing: Pacing
    private let bases: [Environment: HTTPSURL]

    /// Prepares the client; nothing is sent.
    ///
    /// - Parameters:
    ///   - configuration: the app, its environments and keys.
    ///   - adapter: verifies the answers. Its configuration must expect the app and the environments.
    ///   - transport: sends the requests.
    ///   - clock: takes the waits between attempts and for Apple's rates.
    ///   - now: the time of day, for the token of a request and as the time of receipt of an answer.
    /// - Throws: `ConfigurationError` for a blank bundle id, no environment, or a host that is not a DNS name.
    public init(
        _ configuration: Configuration,
        adapter: AppleAdapter,
        transport: any HTTPTransportProtocol,
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date
    ) throws(ConfigurationError) {
        try configuration.validate()
        var bases: [Environment: HTTPSURL] = [:]
        for environment in Environment.allCases {
            do throws(HTTPTransportError) {
                bases[environment] = try HTTPSURL(
                    host: configuration.hosts[environment] ?? environment.standardHost,
                    path: ["inApps"]
                )
            } catch {
                throw ConfigurationError("App Store Server API: host: \(error.message)")
            }
        }
        self.configuration = configuration
        self.adapter = adapter
        self.transport = RelativeRetryAfter(base: transport, now: now)
        self.clock = clock
        self.now = now
        self.bases = bases
        token = BearerToken(configuration.key, bundleID: configuration.bundleID)
        pacing = Pacing(clock, now: now)
    }
}

extension AppStoreServerClient {
    /// A request before it is addressed to a server.
    struct Call {
        var endpoint: Endpoint
        var method: HTTPTransportRequest.Method = .get
        /// Behind `/inApps/`.
        var path: [HTTPSURL.PathSegment]
        var query: [HTTPSURL.QueryItem] = []
        var body: [UInt8] = []
        /// True if sending it twice has the effect of sending it once.
        var isIdempotent = true
    }

    /// Asks the named server; without a name, each configured one until it knows the purchase.
    ///
    /// - Returns: the body of the answer, and its server.
    func ask(
        _ call: Call,
        in environment: Environment?
    ) async throws(AppStoreServerError) -> (body: [UInt8], environment: Environment) {
        var rest = (environment.map { [$0] } ?? configuration.environments)[...]
        while let next = rest.popFirst() {
            let response = try await send(call, to: next)
            if response.isSuccess { return (response.body, next) }
            let answer = ErrorAnswer(response)
            let mayBeElsewhere =
                answer.isUnknownHere || answer.isBareRefusal && next == .production && !configuration.isReleased
            guard mayBeElsewhere, !rest.isEmpty else { throw refusal(response, answer) }
        }
        throw AppStoreServerError(.invalidRequest, "configure at least one environment")
    }

    private func send(_ call: Call, to environment: Environment) async throws(AppStoreServerError)
        -> HTTPTransportResponse
    {
        guard let base = bases[environment] else {
            throw AppStoreServerError(.invalidRequest, "no host for this environment")
        }
        try await pacing.turn(
            at: call.endpoint,
            in: environment,
            priority: priority,
            patience: configuration.deadline
        )
        // Behind the wait, which may be longer than a token is valid.
        let token = try token.value(at: now())
        let response: HTTPTransportResponse
        do throws(HTTPTransportError) {
            let request = try request(call, base, token: token)
            let attempts = CountedAttempts(base: transport) { [pacing] in
                pacing.count(call.endpoint, in: environment)
            }
            response = try await attempts.send(request, retrying: retry, clock: clock)
        } catch {
            throw Self.failure(error)
        }
        if response.status == 429, let wait = response.retryAfter {
            pacing.silence(call.endpoint, in: environment, for: wait)
        }
        return response
    }

    private func request(
        _ call: Call,
        _ base: HTTPSURL,
        token: SecretBytes
    ) throws(HTTPTransportError) -> HTTPTransportRequest {
        var request = try HTTPTransportRequest(
            call.method,
            try base.appending(path: call.path, query: call.query),
            headers: ["Accept": "application/json", "Authorization": token.bearerCredentials],
            body: call.body,
            timeout: configuration.timeout,
            maximumResponseBytes: 8 << 20
        )
        if !call.body.isEmpty { try request.setHeader("Content-Type", to: "application/json") }
        request.isIdempotent = call.isIdempotent
        return request
    }

    private var retry: RetryPolicy {
        RetryPolicy(
            maximumAttempts: configuration.maximumAttempts,
            baseDelay: .seconds(1),
            maximumDelay: .seconds(10),
            maximumRetryAfter: .seconds(60),
            deadline: configuration.deadline
        ) { request, outcome in
            if case .success(let response) = outcome, !response.isSuccess, request.isIdempotent,
                ErrorAnswer(response).isWorthAnotherAttempt
            {
                return .retry
            }
            return RetryPolicy.standardVerdict(for: request, outcome)
        }
    }

    /// Waits a second on the client's clock.
    func pause() async {
        try? await clock.sleep(for: .seconds(1))
    }

    private static func failure(_ error: HTTPTransportError) -> AppStoreServerError {
        switch error.code {
        case .invalidRequest: AppStoreServerError(.invalidRequest, error.message, underlying: error)
        case .canceled: AppStoreServerError(.canceled, "canceled", underlying: error)
        default: AppStoreServerError(.unavailable, "no answer: \(error.code)", underlying: error)
        }
    }

    private func refusal(_ response: HTTPTransportResponse, _ answer: ErrorAnswer) -> AppStoreServerError {
        let code = answer.code
        var message = "status \(response.status)"
        if code == .unauthorized {
            message += ", the token was refused: check key, key id, issuer id and bundle id"
            // Apple does not say that a clock is wrong, and its answer's date shows it.
            if let date = response.headers.date {
                let difference = now().millisecondsSince1970 / 1000 - date.seconds
                if difference.magnitude > 60 { message += "; the clock here differs from Apple's by \(difference) s" }
            }
        }
        var error = AppStoreServerError(code, message, number: answer.number, status: response.status)
        if error.isRetryable {
            error.retryAt = response.retryAfter.map { now().addingTimeInterval(TimeInterval($0.components.seconds)) }
        }
        return error
    }
}

/// Reports every attempt of a request but the first, which has waited for its turn.
private final class CountedAttempts: HTTPTransportProtocol {
    private let base: RelativeRetryAfter
    private let countAgain: @Sendable () -> Void
    private let isFirst = Atomic(true)

    init(base: RelativeRetryAfter, again countAgain: @escaping @Sendable () -> Void) {
        (self.base, self.countAgain) = (base, countAgain)
    }

    func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        if !isFirst.exchange(false, ordering: .relaxed) { countAgain() }
        return try await base.send(request)
    }
}
