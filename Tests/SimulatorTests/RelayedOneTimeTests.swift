import Foundation
import Normalizer
import NormalizerTesting
import NotificationSimulator
import StoryReceiving
import Testing

/// RevenueCat knows a one-time purchase on Play by its order, and Google by its token.
@Suite("One-time purchases on Play that RevenueCat reports, too")
struct RelayedOneTimeTests {
    @Test("are one purchase, and gone for both when Google says that the money went back")
    func refunded() async throws {
        // The pause, which only Play has, lets the simulator's RevenueCat tell of purchases on Play.
        let story = CustomerStory(
            "bought-refunded",
            "a purchase for good that is refunded",
            steps: [
                .init(.after(.zero), .subscribe(.basicMonthly)),
                .init(.after(.seconds(3600)), .schedulePause(.seconds(30 * 86_400))),
                .init(.after(.seconds(3600)), .buy(.lifetime)), .init(.after(.seconds(86_400)), .refund(.latest)),
            ]
        )
        let stated = try await Simulators.play(story, .google).events
        var bought = try #require(
            try await Simulators.play(story, .revenuecat).events.first { $0.kind == .oneTimePurchased }
        )
        // As it is reported if the product gives an entitlement.
        if case .oneTimePurchased(var purchase) = bought.event {
            purchase.type = .nonConsumable
            bought.event = .oneTimePurchased(purchase)
        }
        bought.facts = bought.facts.map { fact in
            guard case .purchase(var purchase) = fact else { return fact }
            purchase.purchase.type = .nonConsumable
            return .purchase(purchase)
        }
        let reported = try #require(stated.first { $0.kind == .oneTimePurchased })
        let refund = try #require(stated.first { $0.kind == .refunded })
        #expect(reported.id == bought.id)
        #expect(reported.subscription != bought.subscription)
        for events in [[bought, reported, refund], [refund, reported, bought], [reported, refund, bought]] {
            let ledger = AccountLedger(applying: events)
            let state = try #require(ledger.states.first)
            #expect(ledger.states.count == 1)
            #expect(!state.access(at: refund.assertedAt + 86_400).isGranted)
        }
        let ledger = AccountLedger(applying: [reported, bought])
        #expect(ledger.states.map { $0.access(at: refund.assertedAt + 86_400).isGranted } == [true])
    }
}
