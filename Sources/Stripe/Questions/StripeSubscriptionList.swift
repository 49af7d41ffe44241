public import FoundationEssentials
public import LifecycleEvents
import WireJSON

/// Every subscription of an account, ended ones included (<https://docs.stripe.com/api/subscriptions/list>).
public struct StripeSubscriptionList: PurchaseList {
    private let client: LookupClient
    private let account: String?

    init(_ client: LookupClient, account: String?) { (self.client, self.account) = (client, account) }

    /// `stripe/<account>/subscriptions`, or `stripe/subscriptions` for the account of the key.
    public var name: String { "stripe/\(account.map { "\($0)/" } ?? "")subscriptions" }

    /// Reads a page of a hundred, newest first.
    public func page(at position: String?, askedAt time: Date) async throws(DeliveryError) -> PurchaseListPage {
        let query = [("status", "all")] + LookupRequest.page(after: position)
        let page = try await client.list(["v1", "subscriptions"], query, of: account) { (value) throws(JSONError) in
            let subscription = try ObjectReader(value)
            let id = try subscription.string(.id)
            let isLive = try subscription.optionalBool(.livemode) ?? true
            return SubscriptionID(
                store: .stripe,
                environment: isLive ? .production : .sandbox,
                id: account.map { "\($0)/\(id)" } ?? id
            )
        }.page
        var questions = PurchaseListPage(page.elements.map { LineageQuestion($0, askedAt: time) })
        if page.hasMore { questions.next = page.lead(from: position) }
        return questions
    }
}

extension StripeAdapter {
    /// All subscriptions of an account, for a journal's `importPurchases(from:with:)`; nil without ``Configuration/lookup``.
    ///
    /// - Parameter account: the connected account; nil for the account of the key.
    public func subscriptions(of account: String? = nil) -> StripeSubscriptionList? {
        history(of: account).map { StripeSubscriptionList($0.client, account: account) }
    }
}
