import AppleJWS
import ConformanceVectors
import Foundation
import FuzzTargets
import Normalizer
import NormalizerTesting
import NotificationSimulator
import ReceiverConfiguration
import SimulatedTrust
import Testing

/// Pitfalls of `docs/pitfalls.md` that belong to no single module.
@Suite struct CrossCuttingPitfallTests {
    private func outcome(_ id: String) async throws -> VectorOutcome {
        let vector = try #require(Corpus.vectors.first { $0.id == id }, "no vector \(id)")
        return await VectorRunner.run(vector)
    }

    private func error(_ id: String) async throws -> DeliveryError {
        let outcome = try await outcome(id)
        #expect(outcome.matched == true)
        guard case .failure(let error) = outcome.result else {
            throw VectorError("\(id) is accepted")
        }
        return error
    }

    @Test(
        "C1, D1: what is not proven gives no event and no 200",
        arguments: [
            "apple/jws/alg-none", "google/oidc/email-other-account", "revenuecat/both/wrong-authorization",
            "stripe/signature/wrong-code",
        ]
    )
    func nothingUnproven(id: String) async throws {
        let outcome = try await outcome(id)
        #expect([400, 401].contains(outcome.answer))
        #expect(throws: DeliveryError.self) { try outcome.result.get() }
    }

    @Test("C1: an event without an account has no owner, rather than the first account in the table")
    func noAccountIsNobody() throws {
        let simulator = try AppleSimulator(seed: "pitfalls")
        var transaction = AppleSimulator.Transaction(
            transactionId: "1",
            originalTransactionId: "1",
            productId: "pro",
            purchaseDate: Date(timeIntervalSince1970: 1_772_366_400),
            type: "Auto-Renewable Subscription"
        )
        transaction.expiresDate = Date(timeIntervalSince1970: 1_775_044_800)
        let adapter = try adapter(trusting: simulator)
        let time = Date(timeIntervalSince1970: 1_772_366_401)
        let result = try adapter.receive(
            signedTransaction: simulator.signed(transaction, at: time),
            receivedAt: time
        )
        let event = try #require(result.events.first)
        #expect(event.account == nil)
        var ledger = AccountLedger()
        _ = ledger.apply(event)
        #expect(ledger.accounts.isEmpty)
    }

    private func adapter(trusting simulator: AppleSimulator) throws -> AppleAdapter {
        try AppleAdapter(.init(trusting: simulator))
    }

    @Test("C2: dates are numbers, and what has ended is not active")
    func datesAndEnds() async throws {
        let started = try await outcome("apple/mapping/subscribed-initial-buy").result.get().events
        let period = try #require(started.first?.period)
        #expect(period.start == Date(timeIntervalSince1970: 1_767_225_600))
        #expect(period.end == Date(timeIntervalSince1970: 1_769_904_000))
        var ledger = AccountLedger()
        for event in try await outcome("apple/mapping/expired-voluntary").result.get().events {
            _ = ledger.apply(event)
        }
        let state = try #require(ledger.states.first)
        #expect(state.access(at: Date(timeIntervalSince1970: 1_769_904_000)).isGranted == false)
    }

    @Test("C4: an upload that somebody else signed is no transaction")
    func foreignUpload() async throws {
        let error = try await error("apple/uploads/transaction-forged")
        #expect(error.code == .untrusted && !error.isAuthentic)
    }

    @Test("C5: a secret sent in clear proves nothing where deliveries are signed")
    func secretInClear() async throws {
        let secret = "whsec_vectors_0123456789abcdef"
        let vector = try #require(Corpus.vectors.first { $0.id == "stripe/signature/valid" })
        for value in [secret, "v1=\(secret)", "t=1772366400,v1=\(secret)"] {
            let replaced = vector.replacing(body: vector.body, headers: ["Stripe-Signature": value])
            guard case .failure(let error) = await VectorRunner.run(replaced).result else {
                Issue.record("accepted")
                return
            }
            #expect(!error.isAuthentic && !"\(error)".contains(secret))
        }
        #expect(try await error("revenuecat/both/no-signature").code == .unauthenticated)
    }

    @Test("D7: the refund of an upgrade is the price times what lay ahead, not nothing")
    func refundOfUpgrade() throws {
        let period = ServicePeriod(start: Date(timeIntervalSince1970: 0), end: Date(timeIntervalSince1970: 4000))
        let proration = try Proration(of: period, changedAt: Date(timeIntervalSince1970: 1000))
        let refund = try proration.refund(of: Money(try #require(ExactDecimal("10.00")), "USD"), rounding: .down)
        #expect(refund == Money(try #require(ExactDecimal("7.50")), "USD"))
    }

    @Test("D8: eleven months of a year's price are more than a month's, and the credits are none, not fewer")
    func shareIsNotNegative() throws {
        let period = ServicePeriod(start: Date(timeIntervalSince1970: 0), end: Date(timeIntervalSince1970: 12_000))
        let proration = try Proration(of: period, changedAt: Date(timeIntervalSince1970: 1000))
        let (paid, price) = (Money(ExactDecimal(120), "USD"), Money(ExactDecimal(30), "USD"))
        #expect(try proration.creditShare(paid: paid, newPrice: price) == .none)
        #expect(try proration.credits(of: 100, paid: paid, newPrice: price, rounding: .down) == 0)
    }

    @Test("G1: fewer than three certificates are refused", arguments: ["none", "one", "two", "nulls", "absent"])
    func shortChains(name: String) async throws {
        #expect(try await error("apple/x5c/\(name)").code == .untrusted)
    }

    @Test(
        "G2: a JWS has three segments, and what kind of data it holds is known from where it came, not from its text",
        arguments: ["apple/jws/one-segment", "apple/jws/two-segments", "apple/jws/dots"]
    )
    func segments(id: String) async throws {
        #expect(try await error(id).code == .malformed)
        let simulator = try AppleSimulator(seed: "pitfalls")
        let adapter = try adapter(trusting: simulator)
        let time = Date(timeIntervalSince1970: 1_772_366_401)
        let transaction = try simulator.signed(
            AppleSimulator.Transaction(
                transactionId: "notificationType",
                originalTransactionId: "data",
                productId: "signedTransactionInfo",
                purchaseDate: time,
                type: "Consumable"
            ),
            at: time
        )
        #expect(throws: DeliveryError.self) {
            try adapter.authenticate(AppleSimulator.delivery(of: transaction, receivedAt: time))
        }
    }

    @Test(
        "G3, N6: certificates of another purpose, other apps and other environments are refused",
        arguments: [
            "apple/x5c/marker-leaf-absent", "apple/x5c/marker-intermediate-absent", "apple/x5c/marker-both-absent",
            "apple/x5c/four", "apple/jws/alg-none", "apple/identity/bundle-id-other",
            "apple/identity/app-apple-id-other", "apple/identity/environment-Sandbox",
        ]
    )
    func purposeAndDestination(id: String) async throws {
        #expect([.untrusted, .misdirected, .unauthenticated].contains(try await error(id).code))
    }

    /// Nothing is remembered before the work is done, and an error on the way is an error of the whole.
    @Test("N5, U1: a delivery whose look-up failed is as good as new when it comes again")
    func failureLeavesNothingBehind() async throws {
        let vector = try #require(Corpus.vectors.first { $0.id == "google/matrix/2-ACTIVE" })
        let failing = try Receivers.receiver(for: .google, config: vector.config, answers: RecordedTransport([]))
        do throws(DeliveryError) {
            _ = try await failing.receive(vector.delivery)
            Issue.record("accepted without an answer")
        } catch {
            #expect(error.code == .unavailable)
            #expect(Acknowledgement(for: .failure(error), provider: .google).status == 503)
        }
        let working = try Receivers.receiver(
            for: .google,
            config: vector.config,
            answers: vector.http.map(RecordedTransport.init)
        )
        let first = try await working.receive(vector.delivery)
        #expect(try await working.receive(vector.delivery) == first)
        #expect(first.events.map(\.kind) == [.renewed])
    }

    @Test("U2: neither a delivery nor an error shows a credential or a body", arguments: ["stripe", "revenuecat"])
    func nothingToLog(provider: String) async throws {
        let refused = Corpus.vectors.filter { $0.provider.rawValue == provider && $0.expect == .reject }
        #expect(refused.count > 50)
        for vector in refused {
            guard case .failure(let error) = await VectorRunner.run(vector).result else { continue }
            var shown = ""
            dump(vector.delivery, to: &shown)
            dump(error, to: &shown)
            shown += "\(vector.delivery) \(error)"
            let values = ["Authorization", "Stripe-Signature", "X-RevenueCat-Webhook-Signature"]
                .flatMap { vector.headers.values($0) }.filter { $0.utf8.count > 16 }
            #expect(!values.contains { shown.contains($0) }, "\(vector.id)")
            #expect(!shown.contains("whsec_") && !shown.contains("rc_vectors"), "\(vector.id)")
        }
    }

    @Test(
        "Y5: a header of no known form is an error like others, and an old signature is refused",
        arguments: [
            ("stripe/signature/empty-header", .malformed), ("stripe/signature/no-timestamp", .malformed),
            ("stripe/signature/no-header", .unauthenticated), ("stripe/signature/age-300001-ms", .stale),
        ] as [(String, DeliveryError.Code)]
    )
    func malformedHeaders(id: String, code: DeliveryError.Code) async throws {
        #expect(try await error(id).code == code)
    }
}

/// The page and the tests name the same pitfalls.
@Suite struct PitfallPageTests {
    private static let id = #"(?:O|N|C|P|Y|L|G|SP|U|K|D)[0-9]+"#

    @Test func everyPitfallHasATest() throws {
        let row = try Regex(#"\n\| ("# + Self.id + #") \|"#, as: (Substring, Substring).self)
        let page = try Repository.text("docs/pitfalls.md").matches(of: row).map { String($0.output.1) }
        #expect(page.count == Set(page).count && page.count > 60)

        // A name may stand on a line of its own behind `@Test(`.
        let name = try Regex(
            #"@Test\(\s*"((?:"# + Self.id + #", )*"# + Self.id + #"): "#,
            as: (Substring, Substring).self
        )
        var tested: Set<String> = []
        for path in try Repository.files("Tests", suffix: ".swift") {
            for match in try Repository.text(path).matches(of: name) {
                tested.formUnion(match.output.1.split(separator: ", ").map(String.init))
            }
        }
        #expect(Set(page).subtracting(tested) == [])
        #expect(tested.subtracting(page) == [])
    }
}
