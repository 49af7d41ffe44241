import FoundationEssentials
import Normalizer
import Testing

@Suite("Deliveries, errors and answers")
struct DeliveryTests {
    @Test("Header names compare without regard to ASCII case, and nothing else")
    func headers() {
        let headers: Delivery.Headers = ["Stripe-Signature": "a", "stripe-signature": "b", "X-K": "c"]
        #expect(headers.values("STRIPE-SIGNATURE") == ["a", "b"])
        #expect(headers.values("x-\u{212A}").isEmpty)  // KELVIN SIGN folds to k in Unicode
        #expect(headers.values("missing").isEmpty)
    }

    @Test("A digest is the SHA-256 of the body")
    func digest() {
        let delivery = Delivery(body: Array("abc".utf8), receivedAt: .distantPast)
        #expect(delivery.digest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test("A secret shows itself nowhere")
    func secret() {
        let secret = SecretBytes("whsec_marker")
        var dumped = ""
        dump([secret], to: &dumped)
        for text in ["\(secret)", String(reflecting: secret), String(describing: [secret]), dumped] {
            #expect(!text.contains("marker"))
        }
        #expect(!secret.isBlank)
        #expect(SecretBytes("").isBlank)
        #expect(SecretBytes(" \t\r\n").isBlank)
    }

    @Test("A secret computes the code of RFC 4231, case 2, and takes no other for it")
    func authenticationCode() throws {
        let (secret, message) = (SecretBytes("Jefe"), Array("what do ya want for nothing?".utf8))
        let code = try secret.authenticationCode(over: message)
        #expect(
            code.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        )
        #expect(try secret.isAuthenticationCode(code, over: message))
        for other in [[], Array(code.dropLast()), code + [0], code.reversed()] {
            #expect(try !secret.isAuthenticationCode(other, over: message))
        }
        #expect(try !SecretBytes("jefe").isAuthenticationCode(code, over: message))
        #expect(throws: DeliveryError.self) { try SecretBytes("").authenticationCode(over: message) }
    }

    @Test("Bodies and account identifiers show themselves nowhere")
    func personalData() {
        let account = Account("marker-1", .appAccountToken, aliases: [.init("marker-2", .appUserID)])
        let delivery = Delivery(headers: ["a": "marker-3"], body: Array("marker-4".utf8), receivedAt: .distantPast)
        var dumped = ""
        dump(account, to: &dumped)
        dump(delivery, to: &dumped)
        dump(delivery.headers, to: &dumped)
        for text in [
            "\(account)", "\(account.aliases)", "\(delivery)", "\(delivery.headers)", String(reflecting: account),
            String(reflecting: delivery.headers), dumped,
        ] {
            #expect(!text.contains("marker"))
        }
    }

    @Test(
        "Only what can succeed later, or was never proven, is answered with an error",
        arguments: [
            (.unavailable, false, .apple, .retryLater, 503), (.unavailable, true, .stripe, .retryLater, 503),
            (.malformed, false, .apple, .reject, 400), (.malformed, true, .apple, .acceptAndQuarantine, 200),
            (.unauthenticated, false, .apple, .reject, 401), (.unauthenticated, false, .stripe, .reject, 400),
            (.untrusted, false, .google, .reject, 401), (.stale, false, .revenuecat, .reject, 401),
            (.misdirected, true, .google, .reject, 403), ("new_code", false, .apple, .reject, 401),
        ] as [(DeliveryError.Code, Bool, Provider, Acknowledgement.Decision, Int)]
    )
    func answers(
        code: DeliveryError.Code,
        isAuthentic: Bool,
        provider: Provider,
        decision: Acknowledgement.Decision,
        status: Int
    ) {
        let error = DeliveryError(code, "", isAuthentic: isAuthentic)
        let answer = Acknowledgement(for: .failure(error), provider: provider)
        #expect(answer.decision == decision)
        #expect(answer.status == status)
        #expect(answer.code == code)
    }

    @Test("A delivery that needs a look-up and had none is kept; any other success is done")
    func successes() {
        let unasked = Acknowledgement(for: .success(Normalization(noChange: .init(.needsLookup))), provider: .google)
        #expect(unasked.decision == .acceptAndQuarantine)
        #expect(unasked.status == 200)
        let gone = Acknowledgement(for: .success(Normalization(noChange: .init(.purchaseGone))), provider: .google)
        #expect(gone.decision == .acceptAndQuarantine)
        let unchanged = Acknowledgement(for: .success(Normalization(noChange: .init(.unchanged))), provider: .google)
        #expect(unchanged.decision == .accept)
    }

    @Test("An error says what and, to developers, where")
    func error() {
        let error = DeliveryError(.malformed, "x5c has 2 entries", file: "AppleJWS/X.swift", line: 7)
        #expect("\(error)" == "malformed: x5c has 2 entries")
        #expect(String(reflecting: error) == "malformed: x5c has 2 entries (AppleJWS/X.swift:7)")
    }
}
