import FoundationEssentials
public import LifecycleEvents
import WireJSON

/// Acknowledges purchases at Google Play, which refunds purchases that are not acknowledged within three days
/// (https://developer.android.com/google/play/billing/integrate#process).
///
/// Acknowledge a purchase after granting it: run a journal's `answer(with:)` after the outbox.
public struct PlayAcknowledgements: OwedAnswers {
    private let adapter: GooglePlayAdapter
    private let api: PlayDeveloperAPI
    private let account: @Sendable (OwedAnswer) async -> Account?

    init(
        _ adapter: GooglePlayAdapter,
        _ api: PlayDeveloperAPI,
        account: @escaping @Sendable (OwedAnswer) async -> Account?
    ) {
        (self.adapter, self.api, self.account) = (adapter, api, account)
    }

    /// True for a purchase of a configured app.
    public func isOwed(_ answer: OwedAnswer) -> Bool {
        guard case .acknowledgementRequired = answer.event.event, let app = answer.handle?.app ?? answer.event.app
        else { return false }
        return answer.event.store == .playStore && adapter.configuration.packageNames.contains(app)
    }

    /// Acknowledges the purchase if that is still needed. A purchase that has ended or is gone, or was acknowledged
    /// elsewhere, counts as done.
    ///
    /// - Throws: `DeliveryError` with `unavailable`, `denied`, also if the purchase's token is not known, or `malformed` if Google
    ///   refuses the purchase.
    public func answer(_ owed: OwedAnswer) async throws(DeliveryError) {
        guard let handle = owed.handle else {
            throw DeliveryError(.denied, "the purchase token cannot be read: set the journal's sealingKey of then")
        }
        guard let kind = GooglePurchase.Kind(rawValue: handle.kind) else { return }
        let found =
            switch kind {
            case .subscription: await api.subscription(purchaseToken: handle.token, packageName: handle.app)
            case .product: await api.product(purchaseToken: handle.token, packageName: handle.app)
            }
        let isRefused = found.outcome == .gone && found.status == 400
        guard found.outcome != .gone || isRefused else { return }
        guard found.outcome == .found else {
            // A purchase of a moment ago may not be known everywhere yet. One that Google refuses to show for its state may still be
            // taken back.
            throw found.error(about: "the purchase", unknown: isRefused ? .malformed : .unavailable)
        }
        let answer: PlayAnswer?
        do throws(JSONError) {
            switch kind {
            case .subscription:
                let purchase = try SubscriptionPurchase(payload: found.body)
                answer = await acknowledge(purchase, handle: handle) { await account(owed) }
            case .product: answer = await acknowledge(try ProductPurchase(payload: found.body), handle: handle)
            }
        } catch {
            throw DeliveryError(.unavailable, "the purchase cannot be read: \(error)", underlying: error)
        }
        if let answer, answer.outcome != .done {
            throw answer.error(about: "the acknowledgement", unknown: .unavailable)
        }
    }

    /// - Returns: nil if nothing is left to acknowledge.
    private func acknowledge(
        _ purchase: SubscriptionPurchase,
        handle: PurchaseHandle,
        account: () async -> Account?
    ) async -> PlayAnswer? {
        guard purchase.acknowledgementState != .acknowledged, !purchase.state.isFinal else { return nil }
        // A product that a planned change will bring is no add-on.
        let owned = purchase.lineItems.filter { $0.expiryTime != nil }
        let products = Set((owned.isEmpty ? purchase.lineItems : owned).map(\.productID))
        func acknowledge(for account: Account?) async -> PlayAnswer {
            await api.acknowledgeSubscription(
                // A purchase with add-ons has no product of its own.
                id: products.count == 1 ? products.first : nil,
                purchaseToken: handle.token,
                packageName: handle.app,
                account: account
            )
        }
        // "This field can only be set for resubscription purchases":
        // https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptions/acknowledge#ExternalAccountIds
        guard purchase.outOfAppPurchase != nil, let account = await account() else {
            return await acknowledge(for: nil)
        }
        let answer = await acknowledge(for: account)
        // Google takes back what is not acknowledged, so an account that cannot be sent, or that it refuses, is left out.
        guard answer.outcome == .invalid else { return answer }
        return await acknowledge(for: nil)
    }

    /// - Returns: nil if nothing is left to acknowledge.
    private func acknowledge(_ purchase: ProductPurchase, handle: PurchaseHandle) async -> PlayAnswer? {
        guard purchase.acknowledgementState != .acknowledged, purchase.state != .cancelled else { return nil }
        return await api.acknowledgeProduct(
            id: purchase.lineItems.first?.productID ?? "",
            purchaseToken: handle.token,
            packageName: handle.app
        )
    }
}

extension GooglePlayAdapter {
    /// Acknowledges purchases, for a journal's `answer(with:)`; nil if there is no API to ask.
    ///
    /// - Parameter account: whose purchase it is, where you know: asked for a purchase that was made again in the Play Store, where
    ///   the app could not say so. Google keeps an obfuscated account id and profile id of at most 64 characters; with another
    ///   account the purchase is acknowledged without one.
    public func acknowledgements(
        account: @escaping @Sendable (OwedAnswer) async -> Account? = { _ in nil }
    ) -> PlayAcknowledgements? {
        api.map { PlayAcknowledgements(self, $0, account: account) }
    }
}
