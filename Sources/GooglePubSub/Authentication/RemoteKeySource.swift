public import HTTPTransport
public import LifecycleEvents
import Synchronization

/// Google's published keys, fetched when they are needed and kept for as long as Google says.
///
/// One fetch serves all waiting callers. A set is fetched again when a tenth of its time is left, without a wait; a caller that is
/// canceled leaves at once. A key id that is not in the set causes another fetch at most once a minute, since
/// the sender of a request chooses it. When Google cannot be reached, known keys are used for an hour beyond their
/// time; a delivery that could only be decided with the keys is `unavailable`, and never accepted or refused for good.
public final class RemoteKeySource: KeySource {
    /// How long keys are kept.
    public struct Policy: Sendable {
        /// How long a set is kept where the answer does not say.
        public var defaultLifetime: Duration = .seconds(3600)
        /// The bounds within which an answer's `Cache-Control` is followed.
        public var lifetime: ClosedRange<Duration> = .seconds(300) ... .seconds(86_400)
        /// For how long keys are used beyond their time while they cannot be fetched.
        public var outageTolerance: Duration = .seconds(3600)
        /// How far apart fetches are that an unknown key id causes.
        public var unknownKeyInterval: Duration = .seconds(60)
        /// How long nothing is fetched after a fetch has failed.
        public var failureInterval: Duration = .seconds(5)
        /// How long one fetch may take.
        public var timeout: Duration = .seconds(5)

        /// The usual policy.
        public init() {}
    }

    /// The outcome of a fetch, for the callers that waited for it.
    private enum Fetched: Sendable {
        case success(JSONWebKeySet)
        case failure(String)
    }

    private struct State {
        var set: JSONWebKeySet?
        var expiry: Duration = .zero
        /// From when on another set is fetched while this one serves.
        var renewal: Duration = .zero
        /// When the last fetch ended, and why it failed if it did.
        var lastFetch: (at: Duration, failure: String?)?
        var flight: Task<Fetched, Never>?
    }

    private enum Step {
        case answer(Result<JSONWebKey, DeliveryError>)
        case wait(Task<Fetched, Never>)
    }

    /// Where Google publishes the keys of its OpenID Connect tokens.
    public static let googleHost = "www.googleapis.com"
    private static let googlePath: [HTTPSURL.PathSegment] = ["oauth2", "v3", "certs"]

    private let url: HTTPSURL
    private let transport: any HTTPTransportProtocol
    private let time: ElapsedTime
    private let policy: Policy
    private let state = Mutex(State())

    /// Prepares the source; nothing is fetched before a key is asked for.
    ///
    /// - Parameters:
    ///   - url: where the key set is; Google's own unless given.
    ///   - transport: fetches the key set.
    ///   - clock: measures the age of keys.
    ///   - policy: how long keys are used, and for how long an outage is bridged.
    /// - Throws: `ConfigurationError` for a policy whose times make no sense.
    public init(
        url: HTTPSURL? = nil,
        transport: any HTTPTransportProtocol,
        clock: any Clock<Duration> = ContinuousClock(),
        policy: Policy = Policy()
    ) throws(ConfigurationError) {
        guard policy.lifetime.lowerBound > .zero, policy.outageTolerance >= .zero, policy.timeout > .zero,
            policy.unknownKeyInterval > .zero, policy.failureInterval >= .zero, policy.defaultLifetime > .zero
        else { throw ConfigurationError("durations of the key source's policy must be positive") }
        do {
            self.url = try url ?? HTTPSURL(host: Self.googleHost, path: Self.googlePath)
        } catch {
            throw ConfigurationError("key source: \(error)")
        }
        self.transport = transport
        self.time = ElapsedTime(clock)
        self.policy = policy
    }

    /// The key with this id.
    ///
    /// - Throws: `DeliveryError` with `untrusted` if Google's set, fetched not long ago, has no such key, and
    ///   `unavailable` if there is no such set.
    public func key(_ id: String) async throws(DeliveryError) -> JSONWebKey {
        let flight: Task<Fetched, Never>
        switch step(toward: id) {
        case .answer(let answer): return try answer.get()
        case .wait(let task): flight = task
        }
        switch await flight.valueUnlessCanceled {
        case .success(let set)?:
            guard let key = set.key(id) else { throw .unknownKey }
            return key
        case .failure(let reason)?:
            guard let key = tolerated(id) else { throw Self.unavailable(reason) }
            return key
        case nil:
            throw Self.unavailable(HTTPTransportError.Code.canceled.rawValue)
        }
    }

    private func step(toward id: String) -> Step {
        state.withLock { state in
            let now = time.now
            let isCurrent = state.set != nil && now < state.expiry
            if isCurrent, let key = state.set?.key(id) {
                if now >= state.renewal, state.flight == nil, failure(state, now) == nil { takeOff(&state) }
                return .answer(.success(key))
            }
            if let flight = state.flight {
                // The last fetch failed: only the caller that asks again waits to see if the trouble is over.
                if state.lastFetch?.failure != nil, let key = tolerated(id, in: state, at: now) {
                    return .answer(.success(key))
                }
                return .wait(flight)
            }
            if let failure = failure(state, now) {
                guard let key = tolerated(id, in: state, at: now) else {
                    return .answer(.failure(Self.unavailable(failure)))
                }
                return .answer(.success(key))
            }
            if isCurrent, let last = state.lastFetch, now - last.at < policy.unknownKeyInterval {
                return .answer(.failure(last.failure.map(Self.unavailable) ?? .unknownKey))
            }
            return .wait(takeOff(&state))
        }
    }

    /// Why the last fetch failed, if that is too new for another one.
    private func failure(_ state: borrowing State, _ now: Duration) -> String? {
        guard let last = state.lastFetch, now - last.at < policy.failureInterval else { return nil }
        return last.failure
    }

    @discardableResult
    private func takeOff(_ state: inout State) -> Task<Fetched, Never> {
        // Not a child of the first caller: the others must not lose it when that one is canceled.
        let flight = Task { await self.fetch() }
        state.flight = flight
        return flight
    }

    private func tolerated(_ id: String) -> JSONWebKey? {
        state.withLock { tolerated(id, in: $0, at: time.now) }
    }

    private func tolerated(_ id: String, in state: borrowing State, at now: Duration) -> JSONWebKey? {
        guard now < state.expiry + policy.outageTolerance else { return nil }
        return state.set?.key(id)
    }

    private func fetch() async -> Fetched {
        let outcome: Result<(JSONWebKeySet, Duration), DeliveryError>
        do throws(DeliveryError) {
            outcome = .success(try await fetchOnce())
        } catch {
            outcome = .failure(error)
        }
        return state.withLock { state in
            let now = time.now
            state.flight = nil
            switch outcome {
            case .success((let set, let lifetime)):
                state.set = set
                state.expiry = now + lifetime
                state.renewal = state.expiry - lifetime / 10
                state.lastFetch = (now, nil)
                return .success(set)
            case .failure(let error):
                state.lastFetch = (now, error.message)
                return .failure(error.message)
            }
        }
    }

    private func fetchOnce() async throws(DeliveryError) -> (JSONWebKeySet, Duration) {
        let response: HTTPTransportResponse
        do {
            let request = try HTTPTransportRequest(
                .get,
                url,
                headers: ["Accept": "application/json"],
                timeout: policy.timeout,
                maximumResponseBytes: JSONWebKeySet.maximumBytes
            )
            response = try await transport.send(request)
        } catch {
            throw DeliveryError(.unavailable, "\(error.code)", underlying: error)
        }
        guard response.status == 200 else { throw DeliveryError(.unavailable, "status \(response.status)") }
        let set = try JSONWebKeySet(response.body)
        return (set, response.freshnessLifetime(within: policy.lifetime, default: policy.defaultLifetime))
    }

    private static func unavailable(_ reason: String) -> DeliveryError {
        DeliveryError(.unavailable, "the key set could not be fetched: \(reason)")
    }
}

extension HTTPTransportResponse {
    /// How long the answer may be kept (RFC 9111, section 4.2): `max-age` less `Age`.
    func freshnessLifetime(within bounds: ClosedRange<Duration>, default standard: Duration) -> Duration {
        var ages: [Int64] = []
        for directive in headers.values("Cache-Control").joined(separator: ",").split(separator: ",") {
            let parts = directive.split(separator: "=", maxSplits: 1).map { $0.trimming(" \t") }
            guard parts.count == 2, parts[0].lowercased() == "max-age" else { continue }
            if let age = Self.seconds(parts[1].trimming("\"")) { ages.append(age) }
        }
        guard let maximum = ages.min() else { return min(max(standard, bounds.lowerBound), bounds.upperBound) }
        let age = headers.values("Age").compactMap { Self.seconds($0.trimming(" \t")) }.max() ?? 0
        return min(max(.seconds(maximum - age), bounds.lowerBound), bounds.upperBound)
    }

    /// A number of seconds; more than nine digits count as very many (RFC 9111, section 1.2.2).
    private static func seconds(_ digits: String) -> Int64? {
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return digits.utf8.count <= 9 ? Int64(digits) : 999_999_999
    }
}

extension StringProtocol {
    /// Without these characters at both ends.
    func trimming(_ characters: String) -> String {
        let head = drop { characters.contains($0) }
        guard let last = head.lastIndex(where: { !characters.contains($0) }) else { return "" }
        return String(head[...last])
    }
}
