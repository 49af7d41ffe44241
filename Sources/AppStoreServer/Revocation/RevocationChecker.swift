public import AppleJWS
public import FoundationEssentials
public import HTTPTransport
public import LifecycleEvents
import SignatureCore
import Synchronization

/// Asks the issuers of Apple's certificates by OCSP (RFC 6960) if they have revoked them, and remembers the answers.
///
/// Each certificate names the address of its responder, by http: the answer is signed by the issuer, or by a responder
/// that the issuer certified for this purpose, and is believed for nothing else. No signature waits for a question. One
/// question at a time is under way for each certificate; an answer is used until its `nextUpdate`, and asked for again
/// when a quarter of its time is left. A revocation counts until a newer answer takes it back.
///
/// Share one value among all adapters of a process.
public final class RevocationChecker: AppleRevocationStatuses {
    /// How to ask, and how long an answer counts.
    public struct Policy: Sendable {
        /// How long one question may take.
        public var timeout: Duration = .seconds(5)
        /// By how much a responder's clock may differ.
        public var maximumSkew: Duration = .seconds(300)
        /// The longest use of one answer, whatever `nextUpdate` says.
        public var maximumLifetime: Duration = .seconds(7 * 86_400)
        /// The time between two questions about one certificate at least, so that an outage is not answered with load.
        public var interval: Duration = .seconds(60)

        /// The usual policy.
        public init() {}

        func validate() throws(ConfigurationError) {
            guard timeout > .zero, maximumSkew >= .zero, maximumLifetime > .zero, interval > .zero else {
                throw ConfigurationError("durations of the revocation policy must be positive")
            }
        }
    }

    /// A certificate that was asked about, for metrics and logs.
    public struct Certificate: Hashable, Sendable {
        /// Its SHA-256 in lower-case hexadecimal.
        public var fingerprint: String
        /// The issuer's statement; `unknown` if there is none, or if the issuer does not know the certificate.
        public var status: AppleRevocationStatus
        /// The end of the statement's use.
        public var expiresAt: Date?
        /// The reason that the last question failed, if it did.
        public var failure: String?
    }

    fileprivate struct State: Sendable {
        var known: [Digest: KnownStatus] = [:]
    }

    /// Apple signs with very few certificates at a time.
    private static let capacity = 64

    private let responders: RevocationResponders
    private let policy: Policy
    private let elapsed: ElapsedTime
    private let now: @Sendable () -> Date
    private let state = Mutex(State())

    /// Prepares the checker; nothing is asked before a signature needs it.
    ///
    /// - Parameters:
    ///   - transport: sends the questions. It must send a request whose URL is of the scheme http without TLS; such
    ///     URLs come from certificates that were proven, and from nowhere else.
    ///   - policy: how to ask.
    ///   - clock: measures the time between questions.
    ///   - now: the time of day, which answers are held against.
    /// - Throws: `ConfigurationError` for a duration that is not positive.
    public init(
        transport: any HTTPTransportProtocol,
        policy: Policy = Policy(),
        clock: any Clock<Duration> = ContinuousClock(),
        now: @escaping @Sendable () -> Date
    ) throws(ConfigurationError) {
        try policy.validate()
        self.policy = policy
        self.now = now
        elapsed = ElapsedTime(clock)
        responders = RevocationResponders(transport: transport, policy: policy, now: now)
    }

    /// The status of a path, from memory. It asks about certificates whose status is unknown, or will soon be.
    public func status(of path: AppleCertificatePath, at time: Date) -> AppleRevocationStatus {
        guard let root = path.certificates.last else { return .unknown }
        let receivedAt = time.millisecondsSince1970
        var combined = AppleRevocationStatus.good
        for (certificate, issuer) in zip(path.certificates, path.certificates.dropFirst()) {
            let question = RevocationResponders.Question(about: certificate, issuedBy: issuer, under: root)
            switch status(question, at: receivedAt) {
            case .revoked: return .revoked
            case .good: break
            case .unknown: combined = .unknown
            }
        }
        return combined
    }

    /// Waits until all questions under way are answered or have failed, which a time-out bounds.
    public func settle() async {
        let flights = state.withLock { $0.known.values.compactMap(\.flight) }
        for flight in flights { await flight.value }
    }

    /// Every certificate that was asked about, in the order of their fingerprints.
    public var certificates: [Certificate] {
        let time = now().millisecondsSince1970
        let known = state.withLock { $0.known }
        return known.map { digest, known in
            Certificate(
                fingerprint: digest.hexadecimal,
                status: known.status(at: time, tolerance: policy.maximumSkew.wholeMilliseconds),
                expiresAt: known.answer.map { Date(millisecondsSince1970: $0.expiry) },
                failure: known.failure
            )
        }.sorted { $0.fingerprint < $1.fingerprint }
    }

    private func status(_ question: RevocationResponders.Question, at receivedAt: Int64) -> AppleRevocationStatus {
        let time = now().millisecondsSince1970
        let elapsed = elapsed.now
        return state.withLock { state in
            let digest = question.certificate.fingerprint
            if state.known[digest] == nil {
                guard state.makeRoom(for: Self.capacity) else { return .unknown }
            }
            var known = state.known[digest] ?? KnownStatus()
            if known.flight == nil, elapsed >= known.mayAskFrom, known.isDue(at: time) {
                known.flight = Task { await self.ask(question) }
            }
            state.known[digest] = known
            return known.status(at: receivedAt, tolerance: policy.maximumSkew.wholeMilliseconds)
        }
    }

    private func ask(_ question: RevocationResponders.Question) async {
        let outcome = await responders.answer(to: question)
        let time = now().millisecondsSince1970
        let next = elapsed.now + policy.interval
        let lifetime = policy.maximumLifetime.wholeMilliseconds
        state.withLock { state in
            var known = state.known[question.certificate.fingerprint] ?? KnownStatus()
            known.take(outcome, at: time, maximumLifetime: lifetime)
            known.flight = nil
            known.mayAskFrom = next
            state.known[question.certificate.fingerprint] = known
        }
    }
}

extension RevocationChecker.State {
    /// Drops the status that ends first, if there are too many. A revocation is kept.
    mutating func makeRoom(for capacity: Int) -> Bool {
        guard known.count >= capacity else { return true }
        let droppable = known.filter { $0.value.flight == nil && $0.value.answer?.statement != .revoked }
        let first = droppable.min { ($0.value.answer?.expiry ?? 0) < ($1.value.answer?.expiry ?? 0) }
        guard let first else { return false }
        known[first.key] = nil
        return true
    }
}
