import FoundationEssentials
import LifecycleEvents

/// The older version's answer about a customer. It has an entry for each product, which names the transaction of the last period and
/// does not name the purchase.
struct CustomerEntries {
    private let entries: [RevenueCatSubscription]

    init(_ entries: [RevenueCatSubscription]) { self.entries = entries }

    /// The entry that shows how a purchase stands; nil if no entry certainly does.
    ///
    /// After a change of product both products have entries. Without access nothing has ended while another entry gives access that may
    /// be of the purchase: the change may be lost.
    func subscription(of purchase: LineageQuestion) -> RevenueCatSubscription? {
        var (own, mayGoOn): ([RevenueCatSubscription], Bool) = ([], false)
        for entry in entries where purchase.names.contains(where: entry.isSold) {
            guard let owner = entry.owner(among: [purchase] + purchase.others) else {
                mayGoOn = mayGoOn || entry.givesAccess == true
                continue
            }
            if owner == purchase { own.append(entry) }
        }
        let entry = own.current
        return mayGoOn && entry?.givesAccess != true ? nil : entry
    }
}

extension [RevenueCatSubscription] {
    /// The one that counts of several that one purchase went through: one that gives access, or else the one that began last, or ends last.
    /// Stripe keeps the period when it changes a product at once, so both may have begun at one time
    /// (https://www.revenuecat.com/docs/integrations/webhooks/event-flows).
    var current: RevenueCatSubscription? {
        func order(_ subscription: RevenueCatSubscription) -> (Int, Date, Date) {
            let period = subscription.period
            return (
                subscription.givesAccess == true ? 1 : 0, period?.start ?? .distantPast, period?.end ?? .distantPast
            )
        }
        return self.max { order($0) < order($1) }
    }

    /// Those that give access since the same moment as ``current``, as a plan and its add-on do: any of them may be the purchase.
    var equals: Self {
        guard let current, current.givesAccess == true else { return [] }
        return filter { $0.givesAccess == true && $0.period?.start == current.period?.start }
    }
}

extension RevenueCatSubscription {
    /// True if it is of the store and environment of a lineage.
    fileprivate func isSold(in lineage: SubscriptionID) -> Bool {
        (store == .macAppStore ? .appStore : store) == lineage.store && environment == lineage.environment
    }

    /// The purchase that it is of, by its transaction, else by its product and start; nil if it is of none for certain.
    ///
    /// Of several with the product, it is of the one that began last: the customer came back, or changed the account of the store. On
    /// Play the order of every renewal names the purchase, so the product alone says nothing.
    fileprivate func owner(among purchases: [LineageQuestion]) -> LineageQuestion? {
        let named = purchases.filter { isNamed(in: $0) }
        if transaction?.isPlayOrder == true { return named.first(where: isProduct) }
        let sold = purchases.filter(isProduct)
        return named.first ?? sold.first(where: hasPeriod) ?? sold.max { $0.beganLast < $1.beganLast }
    }

    private var transaction: TransactionID? { storeIdentifier.map(TransactionID.init) }

    private func hasPeriod(of purchase: LineageQuestion) -> Bool {
        guard let start = period?.start else { return false }
        let tolerance = Double(ServicePeriod.startTolerance) / 1000
        return purchase.starts.contains { abs($0.timeIntervalSince(start)) <= tolerance }
    }

    private func isNamed(in purchase: LineageQuestion) -> Bool {
        guard let order = transaction?.firstOrder else { return false }
        return purchase.names.contains { $0.id == order.rawValue || LineageName($0.id).purchase == order.rawValue }
            || purchase.transactions.contains { $0.firstOrder == order }
    }

    private func isProduct(of purchase: LineageQuestion) -> Bool {
        guard let product = product.map(Self.name) else { return false }
        return purchase.product?.mayBe(product) == true || purchase.products.contains { $0.mayBe(product) }
    }
}

extension LineageQuestion {
    /// When its last known period began, with its name to decide between two that began at once.
    fileprivate var beganLast: (Date, String) {
        (starts.max() ?? .distantPast, names.first?.description ?? "")
    }
}
