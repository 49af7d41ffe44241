import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Disputes that a bank decides twice.
@Suite("Disputes that are won on appeal")
struct AppealTests {
    private static func decided(
        _ status: String,
        _ type: String,
        previous: String? = nil,
        of payment: String,
        on days: Int64,
        version: StripeSimulator.Version
    ) -> RareFlowTests.Taken {
        let dispute: JSONText = [
            "id": "dp_1", "object": "dispute", "amount": .integer(PaymentJoinTests.sold), "charge": "ch_1",
            "currency": "usd", "payment_intent": .string(payment), "reason": "fraudulent", "status": .string(status),
        ]
        return PaymentJoinTests.event(
            "charge.dispute.\(type)",
            dispute,
            previous: previous.map { ["status": .string($0)] },
            at: created + days * day,
            id: "evt_dp_\(status)_\(type)",
            in: version
        )
    }

    @Test(
        "access and credits are back, whichever notification says so and whatever it says of before",
        arguments: PaymentJoinTests.versions,
        [("closed", nil), ("updated", nil), ("closed", "lost"), ("updated", "appeal_under_review")]
            as [(String, String?)]
    )
    func won(version: StripeSimulator.Version, word: (type: String, previous: String?)) throws {
        let payment = try PaymentJoinTests.payment(version)
        let lost = Self.decided("lost", "closed", of: payment, on: 5, version: version)
        let won = Self.decided("won", word.type, previous: word.previous, of: payment, on: 8, version: version)
        let policy = CreditPolicy(["prod_basic": .init(credits: 500)])
        for order in permutations(of: try PaymentJoinTests.purchase(version) + [lost, won]) {
            let state = try RareFlowTests.Host(adapter(), order).state
            #expect([4, 9].map { state.access(at: date(created + $0 * day)).isGranted } == [true, true])
            let credits = CreditStatement(of: state, under: policy, uses: [], at: date(created + 9 * day)).balance
            #expect(credits == 500)
        }
        let host = try RareFlowTests.Host(adapter(), try PaymentJoinTests.purchase(version) + [lost])
        #expect(!host.state.access(at: date(created + 9 * day)).isGranted)
        var ledger = host.ledger
        let news = ledger.apply(try adapter().take(won.body, at: won.time))
        #expect(news.map(\.disposition) == [.applied])
        #expect(news.map(\.isRestoration) == [true])
    }

    @Test("a dispute that was never lost leaves what was refunded", arguments: PaymentJoinTests.versions)
    func refundedBeside(version: StripeSimulator.Version) throws {
        let payment = try PaymentJoinTests.payment(version)
        let refunded = PaymentJoinTests.charge(400, of: payment, at: created + 5 * day, version)
        let won = Self.decided("won", "closed", of: payment, on: 8, version: version)
        for order in permutations(of: try PaymentJoinTests.purchase(version) + [refunded, won]) {
            let state = try RareFlowTests.Host(adapter(), order).state
            #expect(state.refund(of: "in_1")?.value.scope == .amount(Money(ExactDecimal(4), "USD")))
        }
    }

    @Test(
        "later notifications of a lost dispute leave the time since which there is no access",
        arguments: PaymentJoinTests.versions
    )
    func lostOnce(version: StripeSimulator.Version) throws {
        let payment = try PaymentJoinTests.payment(version)
        let decisions = [("closed", 5), ("updated", 7), ("funds_withdrawn", 9)] as [(String, Int64)]
        let lost = decisions.map { Self.decided("lost", $0, of: payment, on: $1, version: version) }
        for order in permutations(of: try PaymentJoinTests.purchase(version) + lost) {
            let state = try RareFlowTests.Host(adapter(), order).state
            let since = ([6, 8, 10, 40] as [Int64]).map { days -> Date? in
                guard case .denied(let since, _) = state.access(at: date(created + days * day)) else { return nil }
                return since
            }
            #expect(since == Array(repeating: date(created + 5 * day), count: 4))
            #expect(state.access(at: date(created + 4 * day)).isGranted)
        }
    }
}
