import AppleJWS
import FoundationEssentials
import Normalizer
import Testing

/// Apple's server signs the parts of one answer steps apart, and a device has renewal info signed again.
@Suite("Renewal info that was signed at another moment than its transaction")
struct AppleSeparateRenewalInfoTests {
    typealias Members = [String: String]

    private static let second = 1.0 / 86_400
    private static let plan = ["billingPlanType": #""MONTHLY""#]
    private static let items = items("A", "B")
    private static let retrying = ["isInBillingRetryPeriod": "true"]

    private let cases: AppleReportedCases

    init() throws { cases = try AppleReportedCases() }

    /// Items by SKU, of which the main one of the period is the dearest, B. The first one costs more from the renewal on.
    private static func items(_ skus: String..., renewing: Bool = false) -> Members {
        let prices = ["A": renewing ? 15_000 : 5000, "B": 10_000]
        let list = skus.map { #"{"SKU":"\#($0)","price":\#(prices[$0] ?? 0)}"# }.joined(separator: ",")
        return ["advancedCommerceInfo": #"{"requestReferenceId":"r","items":[\#(list)]}"#]
    }

    private func begun(_ members: Members) throws -> Normalization {
        try cases.notified("SUBSCRIBED", "INITIAL_BUY", of: cases.transaction("1", members), at: 0)
    }

    /// Apple's answer on a subscription's status.
    private func answer(
        _ transaction: Members,
        _ renewal: Members,
        status: Int64,
        apart seconds: Double,
        at days: Double
    ) throws -> Normalization {
        let (adapter, received) = (cases.fixture.adapter, cases.day(days + 1))
        func octets(_ members: Members, at days: Double) throws -> [UInt8] {
            Array(try cases.jws(members, signedAt: days).utf8)
        }
        return try adapter.normalize(
            try adapter.verifier.transaction(octets(transaction, at: days), receivedAt: received, channel: .refetch),
            renewalInfo: try adapter.verifier.renewalInfo(
                octets(renewal, at: days + seconds * Self.second),
                receivedAt: received,
                channel: .refetch
            ).value,
            status: .init(rawValue: status)
        )
    }

    private func alone(_ renewal: Members, at days: Double) throws -> Normalization {
        let (adapter, jws) = (cases.fixture.adapter, try cases.jws(renewal, signedAt: days))
        return adapter.normalize(try adapter.verifier.renewalInfo(Array(jws.utf8), receivedAt: cases.day(days)))
    }

    private func seen(_ results: [Normalization], at days: Double) throws -> String {
        let state = try cases.state(results)
        let snapshot = state.snapshot(at: cases.day(days))
        let news = state.unreportedEvents(receivedAt: cases.day(days)).map { "\($0.event)" }
        return """
            \(snapshot.status) \(snapshot.access.isGranted) \(String(describing: snapshot.product)) \
            \(String(describing: snapshot.pendingProduct)) \(String(describing: snapshot.willRenew)) \
            \(String(describing: snapshot.priceChange)) \(String(describing: snapshot.nextTransition)) \
            \(state.openQuestions.map(\.reason)) \(news) \(results.flatMap(\.anomalies))
            """
    }

    @Test(
        "says the same as if both were signed at once",
        arguments: [
            (plan, [:], 1, 5), (items, items("A", "B", renewing: true), 1, 5),
            (items, items("A", renewing: true), 1, 5),
            ([:], ["autoRenewProductId": #""other""#], 1, 5),
            ([:], ["priceIncreaseStatus": "0", "renewalPrice": "19990", "currency": #""USD""#], 1, 5),
            ([:], retrying, 4, 30), ([:], retrying, 3, 30), ([:], ["gracePeriodExpiresDate": "@46"], 1, 29),
            ([:], retrying.merging(["gracePeriodExpiresDate": "@46"]) { $1 }, 4, 30),
        ] as [(Members, Members, Int64, Double)],
        [-60, -1, 1, 60] as [Double]
    )
    func together(of answer: (transaction: Members, renewal: Members, status: Int64, day: Double), apart: Double) throws
    {
        func seen(apart seconds: Double) throws -> String {
            let stated = try self.answer(
                cases.transaction("1", answer.transaction),
                cases.renewal(answer.renewal),
                status: answer.status,
                apart: seconds,
                at: answer.day
            )
            return try self.seen([begun(answer.transaction), stated], at: answer.day + 2)
        }
        #expect(try seen(apart: apart) == seen(apart: 0))
    }

    @Test(
        "alone it plans another product only if it names one",
        arguments: [
            (plan, [:], nil), (plan, ["renewalBillingPlanType": #""MONTHLY""#], nil),
            (plan, ["renewalBillingPlanType": #""BILLED_UPFRONT""#], "basic"),
            ([:], ["renewalBillingPlanType": #""MONTHLY""#], "basic:MONTHLY"),
            (items, items("A", "B", renewing: true), nil), ([:], ["autoRenewProductId": #""other""#], "other"),
        ] as [(Members, Members, ProductID?)]
    )
    func alone(transaction: Members, renewal: Members, planned: ProductID?) throws {
        let results = try [begun(transaction), alone(cases.renewal(renewal), at: 3)]
        let state = try cases.state(results)
        #expect(state.snapshot(at: cases.day(5)).pendingProduct == planned)
        #expect(state.unreportedEvents(receivedAt: cases.day(5)).isEmpty == (planned == nil))
    }

    @Test("it names an account as of its own moment", arguments: [2.0, 5])
    func account(signed days: Double) throws {
        let (one, two) = ("11111111-1111-4111-8111-111111111111", "22222222-2222-4222-8222-222222222222")
        func renewal(_ token: String) -> Members { cases.renewal(["appAccountToken": "\"\(token)\""]) }
        let named = try cases.notified("DID_CHANGE_RENEWAL_STATUS", of: cases.transaction(), with: renewal(one), at: 3)
        let (bought, again) = try (cases.jws(cases.transaction(), signedAt: 1), cases.jws(renewal(two), signedAt: days))
        let uploaded = try cases.fixture.adapter.receive(
            signedTransaction: Array(bought.utf8),
            signedRenewalInfo: Array(again.utf8),
            receivedAt: cases.day(6)
        )
        // The event shows whose it is and that it renews, whenever each was signed.
        #expect(uploaded.events.map(\.account?.id) == [two] && uploaded.events.map(\.renewal?.willRenew) == [true])
        let state = try cases.state([named, uploaded])
        #expect(state.ownership.accounts.map(\.id) == [days < 3 ? two : one])
        #expect(state.ownership.conflicts.map(\.claimed.id) == [days < 3 ? one : two])
    }

    @Test("alone it takes back a planned product, but no planned removal of an item, which it does not show")
    func takenBack() throws {
        func planned(_ transaction: Members, _ renewal: Members) throws -> Normalization {
            try cases.notified(
                "DID_CHANGE_RENEWAL_PREF",
                "DOWNGRADE",
                of: cases.transaction("1", transaction),
                with: cases.renewal(renewal),
                at: 2
            )
        }
        let product = try [begun([:]), planned([:], ["autoRenewProductId": #""other""#])]
        #expect(try cases.state(product).snapshot(at: cases.day(5)).pendingProduct == "other")
        let back = try cases.state(product + [alone(cases.renewal(), at: 3)])
        #expect(back.snapshot(at: cases.day(5)).pendingProduct == nil)
        let removal = Self.items("A", renewing: true)
        let item = try [begun(Self.items), planned(Self.items, removal), alone(cases.renewal(removal), at: 3)]
        #expect(try cases.state(item).snapshot(at: cases.day(5)).pendingProduct == "A")
    }
}
