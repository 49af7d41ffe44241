// Asks the providers again, and answers what they wait for.

import AppStoreServer
import Foundation
import GooglePubSub
import LifecycleJournal
import RevenueCatEvents
import Stripe

func heal(
    _ journal: Journal,
    appStore: AppStoreServerClient,
    play: GooglePlayAdapter,
    stripe: StripeAdapter,
    revenueCat: RevenueCatClient
) async throws {
    // snippet.show
    let report = try await journal.reconcile(with: [appStore, play, stripe, revenueCat], replaying: ["google": play])
    // snippet.hide
    print(report)
}

func answerStores(
    _ journal: Journal,
    server: AppStoreServerClient,
    googleAdapter: GooglePlayAdapter,
    consented: @escaping @Sendable (Account?) async -> Bool
) async throws {
    // snippet.show
    let play = googleAdapter.acknowledgements()  // within three days, or Google gives the money back
    let apple = server.consumptionAnswers { owed in  // within twelve hours
        await consented(owed.event.account) ? ConsumptionInformation(.delivered, sampleContentProvided: false) : nil
    }
    let reviews = googleAdapter.refundReviews { _ in  // within a day
        RefundReview(.neutral, sampleContentProvided: false)
    }
    let answers: [(any OwedAnswers)?] = [play, apple, reviews]
    let report = try await journal.answer(with: answers.compactMap(\.self))
    // snippet.hide
    print(report)
}
