// Takes the uploaded token of a Google Play purchase, for the signed-in user.

import Foundation
import GooglePubSub
import Normalizer

struct TokenUpload {
    let purchaseToken: String
}

func receive(
    _ upload: TokenUpload,
    of user: String,
    with google: GooglePlayAdapter
) async throws -> Normalization {
    // snippet.show
    let result = try await google.receive(
        purchaseToken: PurchaseToken(upload.purchaseToken),
        of: .subscription,
        packageName: "com.example.app",
        receivedAt: Date()
    )
    .claimed(by: Account(user, .obfuscatedAccountID), at: Date())
    // snippet.hide
    return result
}
