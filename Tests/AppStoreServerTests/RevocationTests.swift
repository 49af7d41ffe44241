import AppStoreServer
import AppleJWS
import FoundationEssentials
import LifecycleEvents
import LoopbackServer
import NotificationSimulator
import SignatureCore
import SignatureIssuing
import Testing

/// A responder's behaviour and the status that may follow from it.
struct RevocationCase: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let status: AppleRevocationStatus
    let play: RevocationWorld.Play

    init(_ description: String, _ status: AppleRevocationStatus, playing play: @escaping RevocationWorld.Play) {
        testDescription = description
        self.status = status
        self.play = play
    }

    /// Changes the answer of an otherwise honest responder.
    static func answer(
        _ description: String,
        _ status: AppleRevocationStatus,
        from begin: Int64 = -3600,
        to end: Int64? = 3600,
        changing change: @escaping @Sendable (inout StatusAnswerTemplate, RevocationWorld.Subject) -> Void
    ) -> RevocationCase {
        RevocationCase(description, status) { exchange, subject in
            var answer = subject.answer(from: begin, to: end)
            change(&answer, subject)
            try exchange.respond(answer, by: subject.issuerAsResponder)
        }
    }

    /// Has another responder than the issuer sign.
    static func signed(
        _ description: String,
        _ status: AppleRevocationStatus,
        by responder: @escaping @Sendable (RevocationWorld.Subject) throws -> StatusAnswerTemplate.Responder
    ) -> RevocationCase {
        RevocationCase(description, status) { exchange, subject in
            try exchange.respond(subject.answer, by: responder(subject))
        }
    }

    /// Changes the octets of a genuine answer.
    static func octets(
        _ description: String,
        _ change: @escaping @Sendable ([UInt8]) -> [UInt8]
    ) -> RevocationCase {
        RevocationCase(description, .unknown) { exchange, subject in
            var answer = subject.answer
            answer.includesResponder = false
            let body = try answer.answer(to: exchange.request.body, by: subject.issuerAsResponder)
            exchange.respond(200, body: change(body))
        }
    }

    static let all: [RevocationCase] = [
        .answer("revoked", .revoked) { answer, _ in answer.statement = .revoked },
        .answer("leaf revoked", .revoked) { $0.statement = $1.isLeaf ? .revoked : .good },
        .answer("intermediate revoked", .revoked) { $0.statement = $1.isLeaf ? .good : .revoked },
        .answer("unknown to its issuer", .unknown) { answer, _ in answer.statement = .unknown },
        .answer("expired", .unknown, from: -7200, to: -301) { _, _ in },
        .answer("good until the skew ends", .good, from: -7200, to: -300) { _, _ in },
        .answer("of the future", .unknown, from: 301, to: 7200) { _, _ in },
        .answer("good from where the skew begins", .good, from: 300, to: 7200) { _, _ in },
        .answer("without an end", .unknown, to: nil) { _, _ in },
        .answer("ending before it begins", .unknown, from: 200, to: 100) { _, _ in },
        .answer("longer ago than an answer is used", .unknown, from: -8 * 86_400, to: 3600) { _, _ in },
        .answer("to another question", .unknown) { answer, _ in answer.nonce = .other },
        .answer("stating it twice", .unknown) { answer, _ in answer.isDoubled = true },
        .answer("about another certificate", .unknown) { answer, subject in
            answer.certificate = subject.certificates.root.certificate
            answer.issuer = subject.certificates.root.certificate
        },
        .answer("about a certificate of that number from another issuer", .unknown) { answer, subject in
            answer.issuer =
                subject.isLeaf ? subject.certificates.root.certificate : subject.certificates.intermediate.certificate
        },
        .signed("signed by the leaf", .unknown) {
            .init(certificate: $0.certificates.leaf, key: $0.certificates.leafKey)
        },
        .signed("signed by a responder of another authority", .unknown) {
            try $0.responder(of: $0.isLeaf ? $0.certificates.root : $0.certificates.intermediate)
        },
        .signed("signed by a certificate of the issuer for other purposes", .unknown) {
            try $0.responder(of: $0.issuer, isFit: false)
        },
        .signed("signed by a responder whose certificate has expired", .unknown) {
            try $0.responder(of: $0.issuer, until: 1_780_000_000_000)
        },
        .signed("signed by a responder of a stranger", .unknown) {
            let stranger = try AppleCertificates(seed: Seed("stranger"))
            return try $0.responder(of: $0.isLeaf ? stranger.intermediate : stranger.root)
        },
        .octets("with a changed signature") { $0.dropLast() + [$0[$0.count - 1] ^ 1] },
        .octets("with zeros for a signature") { $0.dropLast(64) + [UInt8](repeating: 0, count: 64) },
        .octets("with octets behind it") { $0 + [0] },
        .octets("cut off") { $0.dropLast() },
        .octets("empty") { _ in [] },
        .octets("no answer at all") { _ in Array("<html>Sign in to the network</html>".utf8) },
        RevocationCase("an error of the responder", .unknown) { exchange, _ in
            exchange.respond(200, body: try StatusAnswerTemplate.refusal(3))
        },
        RevocationCase("too large", .unknown) { exchange, _ in
            exchange.respond(200, body: [UInt8](repeating: 0x30, count: 32 * 1024 + 1))
        },
        RevocationCase("a redirection to a good answer", .unknown) { exchange, subject in
            guard !exchange.request.target.hasSuffix("elsewhere") else {
                return try exchange.respond(subject.answer, by: subject.issuerAsResponder)
            }
            exchange.respond(307, [("Location", "http://ocsp.example.com/elsewhere")])
        },
        RevocationCase("a good answer with a status of failure", .unknown) { exchange, subject in
            let body = try subject.answer.answer(to: exchange.request.body, by: subject.issuerAsResponder)
            exchange.respond(500, body: body)
        },
        RevocationCase("a broken connection", .unknown) { exchange, _ in exchange.reset() },
        .answer("good", .good) { _, _ in },
        .answer("good, prepared for everyone", .good) { answer, _ in answer.nonce = .absent },
        .answer("good, named by SHA-1", .good) { answer, _ in answer.isNamedBySHA1 = true },
        .answer("good, without the issuer's certificate", .good) { answer, _ in answer.includesResponder = false },
        .signed("signed by a responder that the issuer certified", .good) { try $0.responder(of: $0.issuer) },
    ]
}

@Suite("Revocation of Apple's certificates", .timeLimit(.minutes(5))) struct RevocationTests {
    @Test("passes or refuses by an answer", arguments: RevocationCase.all)
    func answers(trial: RevocationCase) async throws {
        let world = try RevocationWorld(trial.play)
        #expect(try world.refusal(.hard(world.checker)) == .unavailable)
        #expect(try world.refusal(.soft(world.checker)) == nil)
        await world.checker.settle()
        let refusals: [DeliveryError.Code?] =
            switch trial.status {
            case .good: [nil, nil, nil]
            case .revoked: [nil, .revoked, .revoked]
            default: [nil, nil, .unavailable]
            }
        #expect(
            try [
                world.refusal(.off), world.refusal(.soft(world.checker)), world.refusal(.hard(world.checker)),
            ] == refusals
        )
        #expect(!world.targets.contains { $0.hasSuffix("elsewhere") })
    }

    @Test("passes without an answer in time only where that is asked for")
    func late() async throws {
        let world = try RevocationWorld(timeout: .milliseconds(300)) { exchange, _ in exchange.waitForClientToClose() }
        #expect(try world.refusal(.soft(world.checker)) == nil)
        await world.checker.settle()
        #expect(try world.refusal(.soft(world.checker)) == nil)
        #expect(try world.refusal(.hard(world.checker)) == .unavailable)
        // On a busy machine the time can be over before there is a connection.
        let failures = ["timeout", "connectionFailed"].map { "no answer from the responder: \($0)" }
        #expect(world.checker.certificates.count == 2)
        #expect(world.checker.certificates.allSatisfy { $0.failure.map(failures.contains) ?? false })
    }

    @Test("is asked for once, at the addresses in the certificates")
    func cached() async throws {
        let world = try RevocationWorld()
        for _ in 0..<3 { _ = try world.refusal(.hard(world.checker)) }
        await world.checker.settle()
        for _ in 0..<3 { #expect(try world.refusal(.hard(world.checker)) == nil) }
        #expect(
            world.targets.sorted() == [
                "http://ocsp.example.com/ocsp03-simulatedrootcag3", "http://ocsp.example.com/ocsp03-simulatedwwdrg602",
            ]
        )
        let expiry = World.start.addingTimeInterval(3600)
        #expect(world.checker.certificates.map(\.status) == [.good, .good])
        #expect(world.checker.certificates.map(\.expiresAt) == [expiry, expiry])
        #expect(world.checker.certificates.map(\.failure) == [nil, nil])
    }

    @Test("is asked for again before its end, and an outage is bridged until then")
    func outage() async throws {
        let world = try RevocationWorld()
        _ = try world.refusal(.hard(world.checker))
        await world.checker.settle()
        world.play { exchange, _ in exchange.respond(503) }
        world.pass(2699)
        #expect(try world.refusal(.hard(world.checker)) == nil)
        #expect(world.targets.count == 2)
        world.pass(1)
        #expect(try world.refusal(.hard(world.checker)) == nil)
        await world.checker.settle()
        #expect(world.targets.count == 4)
        // No more than a question a minute, whatever the load.
        world.pass(59)
        #expect(try world.refusal(.hard(world.checker)) == nil)
        await world.checker.settle()
        #expect(world.targets.count == 4)
        let failure = "the responder answered 503"
        #expect(world.checker.certificates.map(\.failure) == [failure, failure])
        world.pass(3600 + 300 - 2759)
        #expect(try world.refusal(.hard(world.checker)) == nil)
        world.pass(1)
        #expect(try world.refusal(.hard(world.checker)) == .unavailable)
        #expect(try world.refusal(.soft(world.checker)) == nil)
        // The responder is back.
        await world.checker.settle()
        world.play { exchange, subject in try exchange.respond(subject.answer, by: subject.issuerAsResponder) }
        world.pass(60)
        #expect(try world.refusal(.hard(world.checker)) == .unavailable)
        await world.checker.settle()
        #expect(try world.refusal(.hard(world.checker)) == nil)
    }

    @Test("is not taken back by an older answer")
    func replay() async throws {
        let world = try RevocationWorld { exchange, subject in
            var answer = subject.answer
            answer.statement = .revoked
            try exchange.respond(answer, by: subject.issuerAsResponder)
        }
        _ = try world.refusal(.soft(world.checker))
        await world.checker.settle()
        #expect(try world.refusal(.soft(world.checker)) == .revoked)
        // Within its time, but from before the revocation.
        world.pass(2700)
        world.play { exchange, subject in
            var answer = subject.answer(from: -2700 - 3601, to: 86_400)
            answer.nonce = .absent
            try exchange.respond(answer, by: subject.issuerAsResponder)
        }
        #expect(try world.refusal(.soft(world.checker)) == .revoked)
        await world.checker.settle()
        // Of the leaf alone: its revocation decides.
        #expect(world.targets.count == 3)
        #expect(try world.refusal(.soft(world.checker)) == .revoked)
        // Long after the answer's end it is still the last that is known.
        world.pass(30 * 86_400)
        #expect(try world.refusal(.soft(world.checker)) == .revoked)
    }

    // RFC 6960 §2.2: the responder does not know the certificate.
    @Test("is not taken back by an answer \"unknown\"")
    func forgotten() async throws {
        let world = try RevocationWorld { exchange, subject in
            var answer = subject.answer
            answer.statement = subject.isLeaf ? .revoked : .good
            try exchange.respond(answer, by: subject.issuerAsResponder)
        }
        _ = try world.refusal(.soft(world.checker))
        await world.checker.settle()
        for statement in [StatusAnswerTemplate.Statement.unknown, .good] {
            world.pass(86_400)
            world.play { exchange, subject in
                var answer = subject.answer
                answer.statement = subject.isLeaf ? statement : .good
                try exchange.respond(answer, by: subject.issuerAsResponder)
            }
            #expect(try world.refusal(.soft(world.checker)) == .revoked)
            await world.checker.settle()
        }
        #expect(try world.refusal(.soft(world.checker)) == nil)
    }

    @Test("the revocation of an expired certificate cannot be known")
    func expired() async throws {
        let world = try RevocationWorld { exchange, _ in exchange.respond(404) }
        let later = Date(timeIntervalSince1970: 2_019_686_401)
        #expect(try world.refusal(.soft(world.checker), receivedAt: later) == nil)
        #expect(try world.refusal(.hard(world.checker), receivedAt: later) == .untrusted)
        let adapter = try world.adapter(.hard(world.checker))
        _ = try adapter.authenticate(world.delivery(receivedAt: later), channel: .history)
        await world.checker.settle()
    }

    @Test("is waited for by the adapter of an endpoint, once")
    func waiting() async throws {
        let world = try RevocationWorld()
        let adapter = try world.adapter(.hard(world.checker)).awaitingRevocation
        #expect(try await adapter.receive(world.delivery()).events.count == 1)
        #expect(world.targets.count == 2)
        let silent = try RevocationWorld { exchange, _ in exchange.respond(503) }
        let refusing = try silent.adapter(.hard(silent.checker)).awaitingRevocation
        let error = await #expect(throws: DeliveryError.self) { try await refusing.receive(try silent.delivery()) }
        #expect(error.map { refusing.acknowledgement(for: .failure($0)).status } == 503)
        #expect(silent.targets.count == 2)
    }

    @Test("is waited for by an upload, once")
    func waitingUpload() async throws {
        let world = try RevocationWorld()
        let endpoint = try world.adapter(.hard(world.checker)).awaitingRevocation
        let transaction = try world.apple.signed(.month("1", from: World.start), at: World.start)
        let result = try await endpoint.receive(signedTransaction: transaction, receivedAt: world.now)
        #expect(result.events.count == 1)
        #expect(world.targets.count == 2)
    }

    // A device keeps a transaction as it was signed at the purchase, but gets renewal info signed again.
    @Test("is waited for by an upload whose parts were signed under two certificates")
    func waitingForTwo() async throws {
        let world = try RevocationWorld()
        let endpoint = try world.adapter(.hard(world.checker)).awaitingRevocation
        let renewalInfo = AppleSimulator.RenewalInfo(
            originalTransactionId: "1000",
            productId: "pro.monthly",
            autoRenewProductId: "pro.monthly"
        )
        let result = try await endpoint.receive(
            signedTransaction: try world.apple.signed(.month("1000", from: World.start), at: World.start),
            signedRenewalInfo: try world.signedByNextLeaf(renewalInfo),
            receivedAt: world.now
        )
        #expect(result.events.count == 1)
        #expect(world.targets.count == 3)
    }

    @Test("is waited for by an answer of Apple's API, once")
    func waitingAnswer() async throws {
        let world = try RevocationWorld()
        let found = try await world.client(.hard(world.checker)).subscriptionStatuses(ofTransaction: "1")
        #expect(found.subscriptions.count == 1)
        #expect(found.refused.isEmpty)
        #expect(world.targets.count == 2)
        let silent = try RevocationWorld { exchange, _ in exchange.respond(503) }
        let client = try silent.client(.hard(silent.checker))
        let error = await failure { () throws(AppStoreServerError) in try await client.transaction("1") }
        #expect(error?.code == .unavailable)
        let revoked = try RevocationWorld { exchange, subject in
            var answer = subject.answer
            answer.statement = .revoked
            try exchange.respond(answer, by: subject.issuerAsResponder)
        }
        let refused = try await revoked.client(.hard(revoked.checker)).subscriptionStatuses(ofTransaction: "1")
        #expect(refused.subscriptions.isEmpty)
        #expect(refused.refused.map(\.code) == [.unreadable])
    }
}
