// Asks Stripe about the session of Checkout that a customer comes back from, which may be before its webhook.

import Foundation
import Normalizer
import Stripe

func receive(_ sessionID: String, with stripe: StripeAdapter) async throws -> Normalization {
    // snippet.show
    let result = try await stripe.receive(checkoutSession: sessionID, receivedAt: Date())
    // snippet.hide
    return result
}
