import ConformanceVectors
import NotificationSimulator
import Normalizer
import Testing

@Suite("Credits of a period with a planned change")
struct PlannedChangeCreditTests {
    static let policy = CreditPolicy(["pro:monthly": .init(credits: 500), "basic:monthly": .init(credits: 200)])

    /// On Google Play what was charged ahead goes on under the token of the change.
    @Test("a period that was charged ahead begins, also where a change for its end is planned before")
    func chargedAhead() async throws {
        let story = Story(
            "charged-ahead",
            "A period is charged ahead, and a change planned for its end.",
            [
                .init(.after(.zero), .subscribe(.proMonthly)),
                .init(.beforePeriodEnd(.seconds(72_000)), .renewEarly),
                .init(.after(.seconds(3600)), .downgrade(.basicMonthly)),
            ]
        )
        let events = try await Simulators.play(story, .google).events
        for order in [events, events.reversed()] {
            var ledger = AccountLedger()
            var actions: [CreditAction] = []
            for event in order {
                let application = ledger.apply(event)
                guard let state = event.subscription.flatMap({ ledger[$0] }) else { continue }
                actions += Self.policy.actions(for: application, in: state)
            }
            let renewal = try #require(actions.max { $0.effectiveAt < $1.effectiveAt })
            #expect(renewal.effect == .reset(to: 500))
            let state = try #require(ledger[renewal.subscription])
            #expect(state.access(at: renewal.effectiveAt).isGranted && !Self.policy.isVoid(renewal, in: state))
        }
    }
}
