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

    /// Acknowledges the purchase if that is still needed. A purchase that is gone, or was acknowledged elsewhere,
    /// counts as done.
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
        guard found.outcome != .gone else { return }
        // A purchase of a moment ago may not be known everywhere yet.
        guard found.outcome == .found else { throw found.error(about: "the purchase", unknown: .unavailable) }
        let (state, products) = try Self.purchase(kind, found.body)
        guard state != .acknowledged else { return }
        let answer =
            switch kind {
            case .subscription:
                // A purchase with add-ons has no product of its own.
                await api.acknowledgeSubscription(
                    id: products.count == 1 ? products.first : nil,
                    purchaseToken: handle.token,
                    packageName: handle.app,
                    account: await account(owed)
                )
            case .product:
                await api.acknowledgeProduct(
                    id: products.first ?? "",
                    purchaseToken: handle.token,
                    packageName: handle.app
                )
            }
        guard answer.outcome == .done || answer.outcome == .found else {
            throw answer.error(about: "the acknowledgement", unknown: .unavailable)
        }
    }

    private static func purchase(
        _ kind: GooglePurchase.Kind,
        _ body: [UInt8]
    ) throws(DeliveryError) -> (AcknowledgementState?, [String]) {
        do throws(JSONError) {
            switch kind {
            case .subscription:
                let purchase = try SubscriptionPurchase(payload: body)
                return (purchase.acknowledgementState, purchase.lineItems.map(\.productID))
            case .product:
                let purchase = try ProductPurchase(payload: body)
                return (purchase.acknowledgementState, purchase.lineItems.map(\.productID))
            }
        } catch {
            throw DeliveryError(.unavailable, "the purchase cannot be read: \(error)", underlying: error)
        }
    }
}

extension GooglePlayAdapter {
    /// Acknowledges purchases, for a journal's `answer(with:)`; nil if there is no API to ask.
    ///
    /// - Parameter account: whose purchase it is, where you know: Google keeps it for a purchase that was made in the Play Store,
    ///   where the app could not say so.
    public func acknowledgements(
        account: @escaping @Sendable (OwedAnswer) async -> Account? = { _ in nil }
    ) -> PlayAcknowledgements? {
        api.map { PlayAcknowledgements(self, $0, account: account) }
    }
}
