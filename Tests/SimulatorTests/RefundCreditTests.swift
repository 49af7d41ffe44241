import ConformanceVectors
import NotificationSimulator
import Normalizer
import Testing

@Suite("Credits after a refund")
struct RefundCreditTests {
    static let policy = CreditPolicy([
        "pro:yearly": .init(credits: 500, price: Money(ExactDecimal(100), "USD")),
        "basic:monthly": .init(credits: 200, price: Money(ExactDecimal(5), "USD")),
    ])

    /// Google Play tells of the refund, and of the end that it brought, by themselves.
    @Test("what is bought seconds later on Google Play is paid for in full", arguments: [false, true])
    func boughtAgain(isChangePlanned: Bool) async throws {
        var steps: [Story.Step] = [.init(.after(.zero), .subscribe(.proYearly))]
        if isChangePlanned { steps.append(.init(.after(.seconds(86_400)), .downgrade(.basicMonthly))) }
        steps += [
            .init(.after(.seconds(86_400)), .refund(.latest)), .init(.after(.seconds(30)), .subscribe(.basicMonthly)),
        ]
        let playback = try await Simulators.play(
            Story("bought-again", "A refund, and another purchase.", steps),
            .google
        )
        var ledger = AccountLedger()
        var effects: [CreditAction.Effect] = []
        for event in playback.events {
            let application = ledger.apply(event)
            guard let state = event.subscription.flatMap({ ledger[$0] }) else { continue }
            effects += Self.policy.actions(for: application, in: state).map(\.effect)
        }
        #expect(effects == [.reset(to: 500), .revoke, .reset(to: 200)])
    }
}
