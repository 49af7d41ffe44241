import FoundationEssentials
import LifecycleEvents

/// An item of a purchase before that another item continues.
struct FormerItem {
    let token: PurchaseToken
    /// The item there; nil if that purchase was not to be seen.
    let item: SubscriptionPurchase.LineItem?
    /// The product in the name of its lineage there; nil if that is the purchase's alone.
    let nameProduct: String?

    /// The lineage that it had there.
    var lineageID: String { name(token.fingerprint) }

    /// Its name under that of the purchase.
    func name(_ purchase: String) -> String { LineageName(purchase).item(nameProduct) }
}

/// A purchase and its looked-up predecessors, with the item that each item continues. Products may change at each step,
/// and with them the item that stands for a purchase.
struct PurchaseChain {
    private let purchase: SubscriptionPurchase
    private let time: Date
    private let addOns: PlayAddOns
    /// Newest first; a purchase that was not to be seen is the last.
    private var predecessors: [(token: PurchaseToken, purchase: SubscriptionPurchase?)] = []

    init(_ purchase: SubscriptionPurchase, _ lookups: [GoogleResolution.Lookup], at time: Date, addOns: PlayAddOns) {
        (self.purchase, self.time, self.addOns) = (purchase, time, addOns)
        var linked = purchase.linkedPurchaseToken
        for lookup in lookups {
            guard let token = linked, !token.value.isEmpty, lookup.key == token.value else { break }
            var former: SubscriptionPurchase?
            if lookup.answer.outcome == .found { former = try? SubscriptionPurchase(payload: lookup.answer.body) }
            predecessors.append((token, former))
            linked = former?.linkedPurchaseToken
        }
        if let linked, !linked.value.isEmpty, !predecessors.contains(where: { $0.token == linked }) {
            predecessors.append((linked, nil))
        }
    }

    /// The items that an item continues, newest first: none if it was bought in addition to those. Of a purchase that could not be read
    /// the item that it names, or that of its product, is taken.
    func items(before item: SubscriptionPurchase.LineItem, hasPurchaseName: Bool) -> [FormerItem] {
        var items: [FormerItem] = []
        var (later, current) = (purchase, item)
        var product = hasPurchaseName ? nil : item.formerProductID
        for (index, (token, former)) in predecessors.enumerated() {
            guard let former, !former.lineItems.isEmpty else {
                items.append(FormerItem(token: token, item: nil, nameProduct: product))
                break
            }
            let before = index + 1 < predecessors.count ? predecessors[index + 1].purchase : nil
            guard let next = former.item(before: current, in: later, addOns, at: time) else { break }
            let names = ItemNames(of: former, addOns, after: before, at: time)
            let standsForIt = ([next] + next.successors(in: former, after: before, at: time)).contains {
                $0.productID == names?.item.productID
            }
            product = standsForIt ? nil : next.formerProductID
            let nameProduct = standsForIt ? names?.main : next.productID
            items.append(FormerItem(token: token, item: next, nameProduct: nameProduct))
            (later, current) = (former, next)
        }
        return items
    }
}

extension SubscriptionPurchase {
    /// The items that were paid for, the one that stands for the purchase as a rule first.
    func ownedItems(_ addOns: PlayAddOns) -> [LineItem] {
        lineItems.filter { $0.expiryTime != nil }.sorted { addOns.ranks($0, before: $1) }
    }

    /// The item of the next purchase that this one continues: the one that it says to replace or keep, else that of its
    /// product. Items that state neither continue the remaining ones, in order.
    fileprivate func item(
        before item: LineItem,
        in later: SubscriptionPurchase,
        _ addOns: PlayAddOns,
        at time: Date
    ) -> LineItem? {
        func named(by item: LineItem) -> LineItem? {
            lineItems.first { $0.productID == item.replacement?.productID }
                ?? lineItems.first { $0.productID == item.productID }
        }
        if let named = named(by: item) { return named }
        let owned = later.ownedItems(addOns)
        let listed = owned.isEmpty ? later.lineItems.sorted { addOns.ranks($0, before: $1) } : owned
        let standing = listed.filter { $0.successors(in: later, after: self, at: time).isEmpty }
        let taken = Set(standing.compactMap { named(by: $0)?.productID })
        let left = lineItems.sorted { addOns.ranks($0, before: $1) }.filter { !taken.contains($0.productID) }
        guard let place = standing.filter({ named(by: $0) == nil }).firstIndex(of: item), left.indices.contains(place)
        else { return nil }
        return left[place]
    }
}

extension SubscriptionPurchase.LineItem {
    /// The product that it continues, if it continues one.
    fileprivate var formerProductID: String { replacement?.productID ?? productID }

    /// The items that have replaced this one. For a while it is listed next to those that a deferred change put there
    /// and that are paid for. On hold every date is in the past, and proves nothing.
    func successors(
        in purchase: SubscriptionPurchase,
        after predecessor: SubscriptionPurchase?,
        at time: Date
    ) -> [Self] {
        guard purchase.state != .onHold, !isPrepaid, !isRemovalDeferred, autoRenewingPlan?.isAutoRenewEnabled != true,
            let expiryTime, expiryTime <= time || isLeftOver(in: purchase, after: predecessor)
        else { return [] }
        let saysWhatIsReplaced = purchase.lineItems.contains { $0.replacement?.productID != nil }
        return purchase.lineItems.filter { other in
            guard let end = other.expiryTime, end > expiryTime else { return false }
            if saysWhatIsReplaced { return other.replacement?.productID == productID }
            // One of several that was taken away has none in its place: those have an order in common, or no token before.
            return purchase.linkedPurchaseToken != nil && other.latestSuccessfulOrderID != latestSuccessfulOrderID
        }
    }

    /// True if a deferred change left it until its date, and was charged ahead: its successor has already come.
    private func isLeftOver(in purchase: SubscriptionPurchase, after predecessor: SubscriptionPurchase?) -> Bool {
        guard deferredReplacement == nil, !isRemovalDeferred, let orderID = latestSuccessfulOrderID,
            let former = predecessor?.lineItems, former.contains(where: { $0.latestSuccessfulOrderID == orderID })
        else { return false }
        return purchase.lineItems.contains { other in
            guard let order = other.latestSuccessfulOrderID, order != orderID else { return false }
            return other.autoRenewingPlan?.isAutoRenewEnabled == true && TransactionID(order).isRenewal
                && !former.contains { $0.latestSuccessfulOrderID == order }
        }
    }
}
