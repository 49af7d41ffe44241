import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing

/// An event must not say what is known to be otherwise.
@Suite("The wording of Stripe's events")
struct WordingTests {
    static let versions: [StripeSimulator.Version] = [.v2020, .acacia, .endive]

    private func applied(_ deliveries: [RareFlowTests.Taken], _ ledger: inout AccountLedger) throws -> [AppliedEvent] {
        try deliveries.flatMap { ledger.apply(try adapter().take($0.body, at: $0.time)) }
    }

    /// A month that was paid for, of which the merchant moves the end out by ten days, and the renewal after it.
    private func extended(_ version: StripeSimulator.Version) -> (
        given: [RareFlowTests.Taken], renewal: RareFlowTests.Taken
    ) {
        let first = RareFlowTests.active(.basic)
        var given = first
        (given.status, given.end) = ("trialing", first.end + 10 * day)
        (given.trialStart, given.trialEnd) = (created + 5 * day, given.end)
        let line = StripeInvoice.Line(.basic, from: given.end, to: given.end + 30 * day)
        return (
            [
                RareFlowTests.began(first, version),
                RareFlowTests.updated(given, from: first, at: created + 5 * day, version),
            ],
            RareFlowTests.invoice("in_2", "paid", lines: [line], at: given.end + 3600, in: version)
        )
    }

    @Test("time that a payer is given is no trial, and the renewal after it converts none", arguments: versions)
    func givenTime(version: StripeSimulator.Version) throws {
        let (given, renewal) = extended(version)
        var ledger = AccountLedger()
        let events = try applied(given, &ledger)
        #expect(events.map(\.event.kind) == [.started, .extended])
        let end = created + 40 * day
        let snapshot = try #require(ledger[PitfallTests.lineage]).snapshot(at: date(end - 60))
        #expect(snapshot.status == .active)
        #expect(snapshot.access.isGranted)
        guard case .renewed(let renewed)? = try applied([renewal], &ledger).first?.event.event else {
            Issue.record("no renewal")
            return
        }
        #expect(renewed.cause == .scheduled)
        #expect(renewed.phase == .regular)
    }
}
