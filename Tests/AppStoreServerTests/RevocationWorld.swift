import AppStoreServer
import AppleJWS
import CurlTransport
import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import LoopbackServer
import NormalizerTesting
import NotificationSimulator
import SignatureCore
import SignatureIssuing
import SimulatedTrust
import Synchronization
import WireJSON

/// The responders of a simulated Apple, on this host, and a checker that asks them.
///
/// The server stands in for a proxy: certificates name hosts of the internet, and the checker asks no others.
final class RevocationWorld: Sendable {
    /// The behaviour of a responder, asked about leaf or intermediate.
    typealias Play = @Sendable (inout LoopbackServer.Exchange, Subject) throws -> Void

    /// One certificate, and all that an honest or dishonest responder may need.
    struct Subject: Sendable {
        var certificate: [UInt8]
        var issuer: CertificateAuthority
        var isLeaf: Bool
        var now: Date
        var certificates: AppleCertificates

        /// An answer of an hour ago, good for another hour.
        var answer: StatusAnswerTemplate { answer(from: -3600, to: 3600) }

        func answer(from begin: Int64, to end: Int64?) -> StatusAnswerTemplate {
            let time = Int64(now.timeIntervalSince1970)
            return StatusAnswerTemplate(
                about: certificate,
                issuedBy: issuer.certificate,
                thisUpdate: (time + begin) * 1000,
                nextUpdate: end.map { (time + $0) * 1000 }
            )
        }

        var issuerAsResponder: StatusAnswerTemplate.Responder {
            .init(certificate: issuer.certificate, key: issuer.key)
        }

        /// A responder that an authority has certified, for signing answers unless `isFit` says otherwise.
        func responder(
            of authority: CertificateAuthority,
            isFit: Bool = true,
            until end: Int64 = 2_019_686_400_000
        ) throws -> StatusAnswerTemplate.Responder {
            let key = try SigningKey(.p256, seed: certificates.seed, label: "responder")
            let purpose: [UInt8] = [0x06, 8, 0x2B, 6, 1, 5, 5, 7, 3, 9]
            let certificate = try authority.leaf(
                name: DistinguishedName(["CN": "Simulated OCSP Responder"]),
                key: key,
                notBefore: 1_704_067_200_000,
                notAfter: end
            ) {
                $0.digest = .sha384
                if isFit { $0.extensions = [.init("2.5.29.37", value: DER.element(0x30, purpose))] }
            }
            return .init(certificate: certificate, key: key)
        }
    }

    private struct State {
        var now = World.start
        var play: Play
        var targets: [String] = []
    }

    let apple: AppleSimulator
    /// A leaf that follows the simulator's own.
    private let nextLeaf: [UInt8]
    private let nextKey: SigningKey
    let clock = TestClock(jumping: true)
    let checker: RevocationChecker
    private let curl: CurlHTTPTransport
    private let server: LoopbackServer
    private let state: Shared

    private final class Shared: Sendable {
        let state: Mutex<State>
        init(_ play: @escaping Play) { state = Mutex(State(play: play)) }
    }

    init(
        timeout: Duration = .seconds(20),
        _ play: @escaping Play = { exchange, subject in
            try exchange.respond(subject.answer, by: subject.issuerAsResponder)
        }
    ) throws {
        let apple = try AppleSimulator(seed: "revocation")
        let shared = Shared(play)
        self.apple = apple
        let serialNumber: UInt64 = 0x7A11_05C3_2E4D_6F89
        let nextKey = try SigningKey(.p256, seed: apple.certificates.seed, label: "next leaf")
        let nextLeaf = try AppleCertificates.makeLeaf(under: apple.certificates.intermediate, key: nextKey) {
            $0.serialNumber = serialNumber
        }
        (self.nextKey, self.nextLeaf) = (nextKey, nextLeaf)
        state = shared
        server = try LoopbackServer(nil) { exchange in
            let target = exchange.request.target
            let (play, now) = shared.state.withLock { state in
                state.targets.append(target)
                return (state.play, state.now)
            }
            let isLeaf = target.hasSuffix("wwdrg602")
            let certificates = apple.certificates
            // A question names the certificate by its serial number.
            let number = stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: serialNumber >> $0) }
            let leaf = exchange.request.body.firstRange(of: number) == nil ? certificates.leaf : nextLeaf
            let subject = Subject(
                certificate: isLeaf ? leaf : certificates.intermediate.certificate,
                issuer: isLeaf ? certificates.intermediate : certificates.root,
                isLeaf: isLeaf,
                now: now,
                certificates: certificates
            )
            do { try play(&exchange, subject) } catch { exchange.respond(500) }
        }
        curl = try CurlHTTPTransport(.init(proxy: .init(host: "127.0.0.1", port: server.port)))
        var policy = RevocationChecker.Policy()
        policy.timeout = timeout
        checker = try RevocationChecker(transport: curl, policy: policy, clock: clock) {
            shared.state.withLock { $0.now }
        }
    }

    deinit { server.stop() }

    var now: Date { state.state.withLock { $0.now } }
    /// The addresses that were asked, in order.
    var targets: [String] { state.state.withLock { $0.targets } }

    func play(_ play: @escaping Play) { state.state.withLock { $0.play = play } }

    /// Moves the time of day and the clock.
    func pass(_ seconds: Int64) {
        state.state.withLock { $0.now.addTimeInterval(Double(seconds)) }
        clock.advance(by: .seconds(seconds))
    }

    func adapter(_ revocation: AppleRevocation) throws -> AppleAdapter {
        var configuration = try AppleAdapter.Configuration(trusting: apple)
        configuration.maximumAge = nil
        configuration.revocation = revocation
        return try AppleAdapter(configuration)
    }

    /// A client of Apple's API, which knows one subscription.
    func client(_ revocation: AppleRevocation) throws -> AppStoreServerClient {
        var played = try AppStoreServerSimulator(apple)
        played.purchases = [.init([.month("1", from: World.start)], status: 1)]
        let server = played
        let transport = StubTransport()
        let present = now
        transport.on(.any) { request throws(HTTPTransportError) in
            let asked = AppStoreServerSimulator.Request(
                request.method.name,
                target: request.url.path,
                authorization: request.headers["Authorization"]
            )
            guard let answer = try? server.answer(asked, at: present) else {
                throw HTTPTransportError(.connectionLost, "the simulator could not sign")
            }
            return HTTPTransportResponse(status: answer.status, body: answer.body)
        }
        let key = try AppStoreServerKey(
            issuerID: server.issuerID,
            keyID: server.keyID,
            privateKey: SecretBytes(bytes: server.privateKey)
        )
        return try AppStoreServerClient(
            .init(key: key, bundleID: apple.bundleId, environments: [.production]),
            adapter: adapter(revocation),
            transport: transport,
            clock: clock,
            now: { self.now }
        )
    }

    func signedByNextLeaf(_ renewalInfo: AppleSimulator.RenewalInfo) throws -> [UInt8] {
        let certificates = [nextLeaf] + apple.certificates.x5c.dropFirst()
        return try JWSIssuer.es256(
            header: JWSIssuer.header(algorithm: "ES256", certificates: certificates),
            payload: apple.payload(renewalInfo, at: World.start).bytes,
            key: nextKey
        )
    }

    func delivery(receivedAt: Date? = nil) throws -> Delivery {
        let data = AppleSimulator.PurchaseData(status: 1, transactionInfo: .month("1", from: World.start))
        let notification = AppleSimulator.Notification(
            "DID_RENEW",
            notificationUUID: "00000000-0000-4000-8000-000000000001",
            signedDate: World.start,
            content: .data(data)
        )
        return try apple.delivery(notification, receivedAt: receivedAt ?? now)
    }

    /// The code that a delivery is refused with; nil if it is taken.
    func refusal(_ revocation: AppleRevocation, receivedAt: Date? = nil) throws -> DeliveryError.Code? {
        let delivery = try delivery(receivedAt: receivedAt)
        let adapter = try adapter(revocation)
        do throws(DeliveryError) {
            _ = try adapter.authenticate(delivery)
            return nil
        } catch {
            return error.code
        }
    }
}

extension LoopbackServer.Exchange {
    mutating func respond(
        _ answer: StatusAnswerTemplate,
        by responder: StatusAnswerTemplate.Responder
    ) throws {
        let body = try answer.answer(to: request.body, by: responder)
        respond(200, [("Content-Type", "application/ocsp-response")], body: body)
    }
}
