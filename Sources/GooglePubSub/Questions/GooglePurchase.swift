public import LifecycleEvents

/// A purchase that the host asked about by its token, with everything that Google Play answered, so that mapping needs no
/// network.
public struct GooglePurchase: Sendable, Hashable, Codable {
    /// The kind of product: one that renews, or one that is bought once.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable, Codable {
        /// A subscription: `BillingClient.ProductType.SUBS`.
        case subscription
        /// One-time products: `BillingClient.ProductType.INAPP`.
        case product
    }

    /// The kind of product.
    public let kind: Kind
    /// The app.
    public let packageName: String
    /// The purchase.
    public let purchaseToken: PurchaseToken
    /// The look-ups in the order in which they were made: the purchase, a subscription's predecessors, newest first, and
    /// orders. None of them is `unavailable`.
    public let lookups: [GoogleResolution.Lookup]

    package init(
        _ kind: Kind,
        packageName: String,
        purchaseToken: PurchaseToken,
        lookups: [GoogleResolution.Lookup]
    ) {
        self.kind = kind
        self.packageName = packageName
        self.purchaseToken = purchaseToken
        self.lookups = lookups
    }

    private enum CodingKeys: String, CodingKey {
        case kind, lookups
        case packageName = "package_name"
        case purchaseToken = "purchase_token"
    }
}

extension GooglePurchase: Redacted {
    /// The kind, and how many look-ups there are; never the token.
    public var description: String { "\(kind.rawValue), \(lookups.count) look-ups" }
}
