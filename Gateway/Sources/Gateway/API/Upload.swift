import AppleJWS
import Foundation
import GooglePubSub
import Hummingbird
import Normalizer
import Stripe

/// A proof of a purchase, from an app or a success page, and the account that it belongs to.
struct Upload: RequestBody {
    typealias Member = CodingKeys

    /// The account that is signed in. Without it, the purchase is bound to the account that the store names.
    var account: String?
    var accountSource: String?
    /// Apple: a transaction in JWS form, as StoreKit's `jwsRepresentation` gives it.
    var signedTransaction: String?
    /// Apple: the renewal info next to it.
    var signedRenewalInfo: String?
    /// Google Play: the purchase token.
    var purchaseToken: String?
    /// Google Play: the app that it was bought in.
    var packageName: String?
    /// Google Play: `subscription`, which is assumed, or `product`.
    var kind: String?
    /// Stripe: the id of the Checkout session that the customer comes back from.
    var checkoutSession: String?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case account, kind
        case accountSource = "account_source"
        case signedTransaction = "signed_transaction"
        case signedRenewalInfo = "signed_renewal_info"
        case purchaseToken = "purchase_token"
        case packageName = "package_name"
        case checkoutSession = "checkout_session"
    }
}

extension Source {
    /// Proves the purchase. If the proof is only a name, the provider is asked about it.
    ///
    /// - Throws: `HTTPError` for a body that this provider has no use for, and `DeliveryError`.
    func receive(_ upload: Upload, at time: Date) async throws -> Normalization {
        // A question about a purchase does not depend on how messages come.
        let adapter: any ProviderAdapter = (self.adapter as? PulledPlayAdapter)?.adapter ?? self.adapter
        func required(_ value: String?, _ member: String) throws -> String {
            guard let value, !value.isEmpty else {
                throw HTTPError(.badRequest, message: "\(member) is missing: this source is \(adapter.provider)")
            }
            return value
        }
        switch adapter {
        case let apple as AppleAdapter.AwaitingRevocation:
            return try await apple.receive(
                signedTransaction: Array(try required(upload.signedTransaction, "signed_transaction").utf8),
                signedRenewalInfo: upload.signedRenewalInfo.map { Array($0.utf8) },
                receivedAt: time
            )
        case let play as GooglePlayAdapter:
            guard let kind = GooglePurchase.Kind(rawValue: upload.kind ?? "subscription") else {
                throw HTTPError(.badRequest, message: "kind must be subscription or product")
            }
            return try await play.receive(
                purchaseToken: PurchaseToken(try required(upload.purchaseToken, "purchase_token")),
                of: kind,
                packageName: try required(upload.packageName, "package_name"),
                receivedAt: time
            )
        case let stripe as StripeAdapter:
            let session = try required(upload.checkoutSession, "checkout_session")
            // The adapter's error is that Stripe cannot be asked now, and the app would upload it again for ever.
            guard !questions.isEmpty else {
                throw HTTPError(
                    .unprocessableContent,
                    message: "the upload was not taken: source.\(name).api_key is not configured"
                )
            }
            return try await stripe.receive(checkoutSession: session, receivedAt: time)
        default:
            throw HTTPError(.badRequest, message: "nothing can be uploaded to a source of \(adapter.provider)")
        }
    }
}
