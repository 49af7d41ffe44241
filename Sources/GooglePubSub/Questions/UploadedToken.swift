public import FoundationEssentials
public import LifecycleEvents
import SignatureCore

extension GooglePlayAdapter {
    /// Takes a purchase token that an app uploads, after a purchase or a restore, through all steps.
    ///
    /// Facts and identities are those of Google's own notifications, so the first to arrive is the news. A purchase
    /// that Google does not know, or no longer keeps, gives neither (`purchase_gone`). See
    /// `Normalization.claimed(by:at:)` for a purchase that names no account.
    ///
    /// - Parameters:
    ///   - purchaseToken: the token, which is not proven.
    ///   - kind: the kind of product that the app bought.
    ///   - packageName: the app, one of the configured ones.
    ///   - receivedAt: the time of the look-up, limited by Google's own statement of its time.
    /// - Throws: `DeliveryError`, never authentic. `malformed` for a token that Google refuses and for an answer that
    ///   cannot be read; `misdirected` for another app; `unavailable` if Google could not be asked; `denied` if rights
    ///   are missing. No error says anything about the purchase.
    public func receive(
        purchaseToken: PurchaseToken,
        of kind: GooglePurchase.Kind,
        packageName: String,
        receivedAt: Date
    ) async throws(DeliveryError) -> Normalization {
        try normalize(
            try await resolve(purchaseToken, of: kind, packageName: packageName, receivedAt: receivedAt)
        )
    }

    /// Asks Google Play about a purchase: whose token an app uploads, or which is to be looked at again.
    ///
    /// A subscription's predecessors are asked for too, and the last paid orders where
    /// ``GooglePlayAdapter/Configuration/orderLookup`` is `charged`.
    ///
    /// - Parameters: as for ``receive(purchaseToken:of:packageName:receivedAt:)``.
    /// - Throws: `DeliveryError` with `misdirected`, `unavailable` or `denied`.
    public func resolve(
        _ purchaseToken: PurchaseToken,
        of kind: GooglePurchase.Kind,
        packageName: String,
        receivedAt: Date
    ) async throws(DeliveryError) -> Authenticated<GooglePurchase> {
        try checkAddressee(of: packageName)
        guard let api else {
            throw DeliveryError(.unavailable, "no look-up is configured: give the adapter a PlayDeveloperAPI")
        }
        var lookup = PurchaseLookup(
            api: api,
            configuration: configuration,
            packageName: packageName,
            receivedAt: receivedAt
        )
        let lookups = try await lookup.run(kind, purchaseToken)
        return Authenticated(
            GooglePurchase(kind, packageName: packageName, purchaseToken: purchaseToken, lookups: lookups),
            receivedAt: receivedAt,
            channel: .refetch,
            evidence: Origin.Evidence(.tls),
            digest: BodyDigest(of: lookups.first?.answer.body ?? [])
        )
    }
}
