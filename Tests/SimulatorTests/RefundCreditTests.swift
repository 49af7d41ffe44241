import FoundationEssentials
import Normalizer
import NormalizerTesting
import NotificationSimulator
import StoryReceiving
import Testing

@Suite("Credits after a refund")
struct RefundCreditTests {
    static let policy = CreditPolicy([
        "pro:yearly": .init(credits: 500, price: Money(ExactDecimal(100), "USD")),
        "basic:monthly": .init(credits: 200, price: Money(ExactDecimal(5), "USD")),
    ])

    /// Google Play tells of the refund, and of the end that it brought, by themselves.
    @Test("a purchase seconds later on Google Play gives its credits in full", arguments: [false, true])
    func boughtAgain(isChangePlanned: Bool) async throws {
        var steps: [CustomerStory.Step] = [.init(.after(.zero), .subscribe(.proYearly))]
        if isChangePlanned { steps.append(.init(.after(.seconds(86_400)), .downgrade(.basicMonthly))) }
        steps += [
            .init(.after(.seconds(86_400)), .refund(.latest)), .init(.after(.seconds(30)), .subscribe(.basicMonthly)),
        ]
        let playback = try await Simulators.play(
            CustomerStory("bought-again", "A refund, and another purchase.", steps: steps),
            .google
        )
        let ledger = AccountLedger(applying: playback.events)
        let time = try #require(playback.events.map(\.receivedAt).max()).addingTimeInterval(60)
        let statement = CreditStatement(of: ledger.states, under: Self.policy, uses: [], at: time)
        #expect(statement.grants.map(\.credits) == [500, 200])
        #expect(statement.balance == 200)
    }

    /// The App Store says itself who comes back after a lapse, and who changes.
    @Test("a customer who returns to the App Store has paid in full, even if the earlier refund is reported later")
    func cameBack() async throws {
        let story = CustomerStory(
            "came-back",
            "A refund, and another purchase an hour later.",
            steps: [
                .init(.after(.zero), .subscribe(.proYearly)), .init(.after(.seconds(864_000)), .refund(.latest)),
                .init(.after(.seconds(3600)), .subscribe(.basicMonthly)),
            ]
        )
        let events = try await Simulators.play(story, .apple).events
        #expect(events.map(\.kind) == [.started, .refunded, .started])
        for order in [[0, 1, 2], [0, 2, 1]] {
            let ledger = AccountLedger(applying: order.map({ events[$0] }))
            let time = try #require(events.map(\.receivedAt).max()).addingTimeInterval(60)
            let statement = CreditStatement(of: ledger.states, under: Self.appStorePolicy, uses: [], at: time)
            #expect(statement.grants.map(\.credits) == [500, 200])
            #expect(statement.balance == 200)
        }
    }

    private static let appStorePolicy = CreditPolicy([
        "com.example.app.pro.yearly": .init(credits: 500, price: Money(ExactDecimal(100), "USD")),
        "com.example.app.basic.monthly": .init(credits: 200, price: Money(ExactDecimal(5), "USD")),
    ])
}
