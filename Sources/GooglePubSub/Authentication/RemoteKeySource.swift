public import HTTPTransport
public import LifecycleEvents

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

    /// Where Google publishes the keys of its OpenID Connect tokens.
    public static let googleHost = "www.googleapis.com"
    private static let googlePath: [HTTPSURL.PathSegment] = ["oauth2", "v3", "certs"]

    private let keys: RefreshingValue<JSONWebKeySet, DeliveryError>
    private let unknownKeyInterval: Duration

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
        let source: HTTPSURL
        do {
            source = try url ?? HTTPSURL(host: Self.googleHost, path: Self.googlePath)
        } catch {
            throw ConfigurationError("key source: \(error)")
        }
        let time = ElapsedTime(clock)
        unknownKeyInterval = policy.unknownKeyInterval
        keys = RefreshingValue(
            time: time,
            failureInterval: policy.failureInterval,
            outageTolerance: policy.outageTolerance
        ) { () throws(DeliveryError) in
            let (set, lifetime) = try await Self.fetch(from: source, over: transport, policy)
            let expiry = time.now + lifetime
            return (set, expiry - lifetime / 10, expiry)
        }
    }

    /// The key with this id.
    ///
    /// - Throws: `DeliveryError` with `untrusted` if Google's set, fetched not long ago, has no such key, and
    ///   `unavailable` if there is no such set.
    public func key(_ id: String) async throws(DeliveryError) -> JSONWebKey {
        switch await keys.value(refetchingAfter: unknownKeyInterval, where: { $0.key(id) != nil }) {
        case .success(let set)?:
            guard let key = set.key(id) else { throw .unknownKey }
            return key
        case .failure(let error)?: throw Self.unavailable(error.message)
        case nil: throw Self.unavailable(HTTPTransportError.Code.canceled.rawValue)
        }
    }

    /// A set, with the time for which it may be kept.
    private static func fetch(
        from url: HTTPSURL,
        over transport: any HTTPTransportProtocol,
        _ policy: Policy
    ) async throws(DeliveryError) -> (JSONWebKeySet, Duration) {
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
