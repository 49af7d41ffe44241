import AppleJWS
import ConformanceVectors
import Foundation
import FuzzTargets
import GooglePubSub
import HTTPTransport
import Normalizer
import NormalizerTesting
import NotificationSimulator
import RevenueCatEvents
import SimulatedTrust
import Stripe
import Testing
import WireJSON

/// The public checks of an adapter, run against an imaginary one, right and wrong.
@Suite struct AcornConformanceTests {
    private static let secret = "an acorn's secret"

    private static func delivery(_ type: String, _ id: String, secret: String = secret) -> Delivery {
        let body = Array(
            """
            {"id":"\(id)","type":"\(type)","subscription":"oak-0000000000000001","invoice":"invoice-000000001",\
            "start":1772366400,"end":1775044800,"at":1772366401}
            """.utf8
        )
        return Delivery(
            headers: ["Acorn-Checksum": AcornAdapter.checksum(secret, body)],
            body: body,
            receivedAt: Date(timeIntervalSince1970: 1_772_366_402)
        )
    }

    static func conformance(_ mistake: AcornAdapter.Mistake) -> AdapterConformance<AcornAdapter> {
        var conformance = AdapterConformance(
            AcornAdapter(secret: secret, mistake: mistake),
            unreachable: AcornAdapter(secret: secret, mistake: mistake, isReachable: false),
            proof: .body,
            genuine: [.init("began", delivery("began", "n1")), .init("ended", delivery("ended", "n2"))],
            forged: [.init("forged", delivery("began", "n1", secret: "a guess"))],
            unknown: [.init("planted", delivery("planted", "n3"))]
        )
        conformance.confidential = [secret]
        return conformance
    }

    @Test func aSoundAdapterHasNoFindings() async {
        #expect(await Self.conformance(.none).findings() == [])
    }

    @Test(
        arguments: [
            (.trustsAnybody, [.forged, .tampered]), (.readsAnything, [.forged, .tampered, .garbage]),
            (.callsForgeriesAuthentic, [.forged, .tampered, .garbage]), (.leaksBody, [.silent]),
            (.forgetsEvidence, [.identity]), (.numbersEvents, [.deterministic]), (.refusesUnknown, [.genuine]),
            (.guessesType, [.unknown]), (.losesType, [.unknown]), (.losesTimes, [.coding]), (.givesUp, [.unreachable]),
            (.changesEventsUnreachable, [.unreachable]), (.losesMoment, [.coding]),
        ] as [(AcornAdapter.Mistake, Set<AdapterConformance<AcornAdapter>.Check>)]
    )
    func everyMistakeIsFound(
        mistake: AcornAdapter.Mistake,
        checks: Set<AdapterConformance<AcornAdapter>.Check>
    ) async {
        let findings = await Self.conformance(mistake).findings()
        #expect(Set(findings.map(\.check)) == checks, "\(findings)")
    }

    @Test("Statements that are dated by their receipt make the order of arrival decide")
    func datingByReceiptIsAFinding() async {
        var conformance = Self.conformance(.assertsAtReceipt)
        conformance.unreachable = nil
        #expect(await conformance.findings().map(\.check) == [.deterministic, .deterministic, .deterministic])
    }

    @Test("A header that no delivery has covers nothing: there is nothing to change")
    func misspelledProofIsAFinding() async {
        var conformance = Self.conformance(.none)
        conformance.proof = .header("Acorn-Checksums")
        #expect(await conformance.findings().map(\.check) == [.samples, .samples, .samples])
    }

    @Test func checkingNothingIsAFinding() async {
        var conformance = Self.conformance(.none)
        (conformance.genuine, conformance.forged, conformance.unknown) = ([], [], [])
        #expect(await conformance.findings().map(\.check) == [.samples, .samples, .samples])
    }
}

/// The same checks against the adapters of this package.
@Suite struct OwnConformanceTests {
    /// The deliveries of vectors that all have one configuration.
    private func samples(_ ids: [String]) throws -> [(name: String, vector: Vector)] {
        try ids.map { id in (id, try #require(Corpus.vectors.first { $0.id == id }, "no vector \(id)")) }
    }

    private func conformance<Adapter>(
        _ adapter: Adapter,
        unreachable: Adapter? = nil,
        proof: AdapterConformance<Adapter>.Proof = .body,
        genuine: [String],
        forged: [String],
        unknown: [String]
    ) async throws -> [AdapterConformance<Adapter>.Finding] {
        func named(_ ids: [String]) throws -> [AdapterConformance<Adapter>.Sample] {
            try samples(ids).map { .init($0.name, $0.vector.delivery) }
        }
        return await AdapterConformance(
            adapter,
            unreachable: unreachable,
            proof: proof,
            genuine: try named(genuine),
            forged: try named(forged),
            unknown: try named(unknown)
        ).findings()
    }

    @Test func apple() async throws {
        let simulator = try AppleSimulator(seed: "vectors")
        let adapter = try AppleAdapter(.init(trusting: simulator))
        let findings = try await conformance(
            adapter,
            genuine: [
                "apple/mapping/subscribed-initial-buy", "apple/mapping/did-renew-plain", "apple/mapping/refund-current",
                "apple/mapping/expired-voluntary", "apple/mapping/test",
            ],
            forged: ["apple/jws/alg-none", "apple/x5c/forged-chain-with-genuine-root"],
            unknown: ["apple/mapping/unknown-type"]
        )
        #expect(findings == [])
    }

    @Test func stripe() async throws {
        let adapter = try StripeAdapter(.init(signingSecrets: [SecretBytes("whsec_vectors_0123456789abcdef")]))
        let findings = try await conformance(
            adapter,
            genuine: [
                "stripe/subscription/endive/created-active", "stripe/invoice/endive/renewal", "stripe/payment/refund",
                "stripe/schedule/created",
            ],
            forged: ["stripe/signature/wrong-code", "stripe/signature/other-secret", "stripe/signature/v0-only"],
            unknown: ["stripe/envelope/unknown-type"]
        )
        #expect(findings == [])
    }

    @Test func revenueCat() async throws {
        let adapter = try RevenueCatAdapter(
            .init(
                authorizations: [SecretBytes("Bearer rc_vectors_authorization")],
                signingSecrets: [SecretBytes("rc_whsec_vectors_0123456789")]
            )
        )
        let findings = try await conformance(
            adapter,
            genuine: ["revenuecat/initial-purchase/normal", "revenuecat/paywall"],
            forged: ["revenuecat/both/wrong-authorization", "revenuecat/both/wrong-signature"],
            unknown: ["revenuecat/unknown"]
        )
        #expect(findings == [])
    }

    @Test func google() async throws {
        func adapter(_ vector: Vector, _ transport: any HTTPTransportProtocol) throws -> GooglePlayAdapter {
            let config = try ObjectReader(vector.config)
            return try GooglePlayAdapter(
                GooglePlayAdapter.Configuration(
                    packageNames: [try config.string("packageName")],
                    subscriptions: [try config.string("subscription")],
                    push: .init(
                        audience: try config.string("audience"),
                        serviceAccountEmail: try config.string("serviceAccountEmail")
                    )
                ),
                keys: try StaticKeySource(json: Array(try config.value("jwks").rawBytes)),
                api: try PlayDeveloperAPI(
                    transport: transport,
                    tokens: FixedAccessToken(SecretBytes("recorded")),
                    retry: RetryPolicy(maximumAttempts: 1),
                    clock: TestClock(jumping: true)
                )
            )
        }
        for id in ["google/matrix/2-ACTIVE", "google/matrix/3-CANCELED", "google/matrix/13-EXPIRED"] {
            let genuine = try #require(samples([id]).first).vector
            let findings = try await conformance(
                adapter(genuine, RecordedTransport(genuine.http ?? [])),
                unreachable: adapter(genuine, StubTransport()),
                proof: .header("Authorization"),
                genuine: [id],
                forged: ["google/oidc/email-other-account", "google/oidc/aud-other"],
                unknown: ["google/matrix/14-ACTIVE"]
            )
            #expect(findings == [])
        }
    }
}
