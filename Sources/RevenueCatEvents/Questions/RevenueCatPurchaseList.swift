public import FoundationEssentials
import HTTPTransport
public import LifecycleEvents
import WireJSON

/// Every purchase of every customer that RevenueCat knows, for a first import.
///
/// An imported purchase must have the name that its webhooks have. RevenueCat's API names an order of Google Play, from which that
/// name follows, and of something bought once its transaction. Of a subscription in the App Store it names any transaction,
/// whose first one only Apple knows. Subscriptions of other stores have no such name: the list counts them as missing.
public struct RevenueCatPurchaseList: PurchaseList {
    private static let pageSize = "20"

    private let client: RevenueCatClient
    private let project: String
    private let asksAppStore: Bool

    init(_ client: RevenueCatClient, project: String, asksAppStore: Bool) {
        (self.client, self.project, self.asksAppStore) = (client, project, asksAppStore)
    }

    /// `revenuecat/<project>/customers`
    public var name: String { "revenuecat/\(project)/customers" }

    /// Reads the purchases of twenty customers, at ``RevenueCatClient/pace``.
    public func page(at position: String?, askedAt time: Date) async throws(DeliveryError) -> PurchaseListPage {
        do throws(DeliveryError) {
            let (customers, hasMore) = try await client.customers(of: project, after: position, Self.pageSize)
            var page = PurchaseListPage([])
            for customer in customers {
                try? await client.clock.sleep(for: client.pace)
                if case .known(let subscriptions) = try await client.customer(customer) {
                    for subscription in subscriptions { add(subscription, at: time, to: &page) }
                }
                try? await client.clock.sleep(for: client.pace)
                if case .known(let purchases) = try await client.purchases(ofCustomer: customer) {
                    for purchase in purchases { add(purchase, at: time, to: &page) }
                }
            }
            if hasMore, let last = customers.last, last != position { page.next = last }
            return page
        } catch {
            throw error.asAnswer
        }
    }

    // No question names the customer: the id in the list is that of the answer, and another one may be the app's own.
    private func add(_ subscription: RevenueCatSubscription, at time: Date, to page: inout PurchaseListPage) {
        let identifier = subscription.storeIdentifier ?? subscription.id ?? ""
        let lineage = PurchaseStatement.lineage(identifier, in: subscription.store, subscription.environment)
        let isAskedAtStore = lineage.store == .appStore && asksAppStore
        guard subscription.storeIdentifier != nil, lineage.store == .playStore || isAskedAtStore else {
            page.unnamed.append(lineage)
            return
        }
        var question = LineageQuestion(lineage, askedAt: time)
        question.namesOnlyTransaction = isAskedAtStore
        page.questions.append(question)
    }

    private func add(_ purchase: RevenueCatPurchase, at time: Date, to page: inout PurchaseListPage) {
        guard let lineage = purchase.lineage else { return }
        var question = LineageQuestion(lineage, askedAt: time)
        question.isSubscription = false
        page.questions.append(question)
    }
}

extension RevenueCatClient {
    /// The purchases of all customers, for a journal's `importPurchases(from:with:)`; nil for the older version of the API, which
    /// lists no customers.
    ///
    /// ```swift
    /// if let list = client.purchases(askingAppStore: true) {
    ///     let report = try await journal.importPurchases(from: list, with: [appStoreServer, client])
    /// }
    /// ```
    ///
    /// - Parameter askingAppStore: true if the App Store's own API is one of the sources, before this one. Without it, App Store
    ///   subscriptions are missing.
    public func purchases(askingAppStore: Bool = false) -> RevenueCatPurchaseList? {
        guard case .v2(let project) = api else { return nil }
        return RevenueCatPurchaseList(self, project: project, asksAppStore: askingAppStore)
    }

    /// A page of the project's customers (<https://www.revenuecat.com/docs/api-v2/customer>).
    fileprivate func customers(
        of project: String,
        after position: String?,
        _ limit: String
    ) async throws(DeliveryError) -> (ids: [String], hasMore: Bool) {
        var query: [HTTPSURL.QueryItem] = [.init("limit", limit)]
        if let position { query.append(.init("starting_after", position)) }
        let response = try await get(
            ["v2", "projects", HTTPSURL.PathSegment(project), "customers"],
            query: query
        )
        guard response.status == 200 else {
            throw DeliveryError(
                .unavailable,
                "the list of customers was answered with status \(response.status)",
                underlying: RevenueCatAPIError(status: response.status, body: response.body)
            )
        }
        return try read(response.body) { (body) throws(JSONError) in
            let reader = try ObjectReader(parsing: body)
            var ids: [String] = []
            for value in try reader.array("items") { ids.append(try ObjectReader(value).string("id")) }
            return (ids, try reader.optionalString("next_page")?.isEmpty == false)
        }
    }
}
