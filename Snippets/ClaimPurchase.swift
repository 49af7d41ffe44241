// Binds a purchase that Google Play knows no account of to whoever is signed in.

import Foundation
import GooglePubSub
import Normalizer

struct TokenUpload {
    let purchaseToken: String
}

func claim(_ upload: TokenUpload, for user: String, in ledger: inout AccountLedger) {
    // snippet.show
    let token = PurchaseToken(upload.purchaseToken)
    let lineage = SubscriptionID(store: .playStore, environment: .production, id: token.fingerprint)
    ledger.apply(.claim(of: lineage, by: Account(user, .obfuscatedAccountID), at: Date()))
    // snippet.hide
}
