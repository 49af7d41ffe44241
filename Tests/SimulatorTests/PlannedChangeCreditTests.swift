import FoundationEssentials
import Normalizer
import NormalizerTesting
import NotificationSimulator
import StoryReceiving
import Testing

@Suite("Credits of a period with a planned change")
struct PlannedChangeCreditTests {
    static let policy = CreditPolicy(["pro:monthly": .init(credits: 500), "basic:monthly": .init(credits: 200)])

    /// On Google Play what was charged ahead goes on under the token of the change.
    @Test("a period that was charged ahead begins, also where a change for its end is planned before")
    func chargedAhead() async throws {
        let story = CustomerStory(
            "charged-ahead",
            "A period is charged ahead, and a change planned for its end.",
            steps: [
                .init(.after(.zero), .subscribe(.proMonthly)),
                .init(.beforePeriodEnd(.seconds(72_000)), .renewEarly),
                .init(.after(.seconds(3600)), .downgrade(.basicMonthly)),
            ]
        )
        let events = try await Simulators.play(story, .google).events
        for order in [events, events.reversed()] {
            let ledger = AccountLedger(applying: order)
            // Past the start of what was charged ahead.
            let time = try #require(events.map(\.receivedAt).max()).addingTimeInterval(2 * 86_400)
            let statement = CreditStatement(of: ledger.states, under: Self.policy, uses: [], at: time)
            #expect(statement.grants.map(\.credits) == [500, 500])
            #expect(statement.balance == 500)
            #expect(ledger.states.contains { $0.access(at: time).isGranted })
        }
    }

    /// Stripe's subscription changes an hour before it is charged.
    @Test("a planned change pays out when it is paid for, and not before", arguments: [false, true])
    func changeUnpaid(isPaid: Bool) async throws {
        var steps: [CustomerStory.Step] = [
            .init(.after(.zero), .subscribe(.proMonthly)),
            .init(.after(.seconds(86_400)), .downgrade(.basicMonthly)),
            .init(.atPeriodEnd, .failCharge(grace: .seconds(1_209_600))),
        ]
        if isPaid { steps.append(.init(.after(.seconds(259_200)), .recover)) }
        let story = CustomerStory("change-unpaid", "The first charge for a planned change fails.", steps: steps)
        let events = try await Simulators.play(story, .stripe).events
        #expect(events.contains { $0.kind == .productChanged })
        let policy = CreditPolicy(["prod_pro": .init(credits: 500), "prod_basic": .init(credits: 200)])
        let ledger = AccountLedger(applying: events)
        let time = try #require(events.map(\.receivedAt).max()).addingTimeInterval(60)
        let statement = CreditStatement(of: ledger.states, under: policy, uses: [], at: time)
        #expect(statement.grants.map(\.credits) == (isPaid ? [500, 200] : [500]))
        // In grace, what is left of the period before counts.
        #expect(statement.balance == (isPaid ? 200 : 500))
    }
}
