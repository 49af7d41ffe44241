import FoundationEssentials
import LifecycleEvents

/// The names of a purchase's items.
///
/// An item that is alone has the name of the purchase. Of several that may each be the base plan, any can be removed while the others
/// continue. So each has its product in its name, and none has that of the purchase. Configured add-ons leave one base plan, which has
/// the name of the purchase.
struct ItemNames {
    /// The item that stands for the purchase.
    let item: SubscriptionPurchase.LineItem
    /// The product in its name; nil if that is the name of the purchase.
    let main: String?

    /// The names in a purchase; nil if it has no items.
    init?(
        of purchase: SubscriptionPurchase,
        _ addOns: PlayAddOns,
        after predecessor: SubscriptionPurchase? = nil,
        at time: Date
    ) {
        let standing = purchase.standingItems(addOns, after: predecessor, at: time)
        guard
            let item = purchase.ownedItems(addOns).first(where: standing.contains)
                ?? purchase.lineItems.sorted(by: { addOns.ranks($0, before: $1) }).first
        else { return nil }
        let basePlans = Set(standing.map(\.productID)).subtracting(addOns.products)
        self.item = item
        main = basePlans == [item.productID] ? nil : item.productID
    }

    /// The products in names that the main item may have had before under the same token: its own, before other items were removed,
    /// and those of the items that it replaced.
    ///
    /// No notification proves that nothing was removed yet, not even that of the purchase: it may come late or again, and Google always
    /// answers as of now.
    func former(outlived: [String]) -> [String] { (main == nil ? [item.productID] : []) + outlived }
}

extension SubscriptionPurchase {
    /// The items that none has replaced. On hold all dates are in the past, and an item that does not renew may have been replaced.
    fileprivate func standingItems(
        _ addOns: PlayAddOns,
        after predecessor: SubscriptionPurchase?,
        at time: Date
    ) -> [LineItem] {
        let owned = ownedItems(addOns)
        let standing = (owned.isEmpty ? lineItems : owned).filter {
            $0.successors(in: self, after: predecessor, at: time).isEmpty
        }
        func renews(_ item: LineItem) -> Bool { item.autoRenewingPlan?.isAutoRenewEnabled == true }
        guard state == .onHold, linkedPurchaseToken != nil, standing.contains(where: renews) else { return standing }
        return standing.filter { renews($0) || $0.isRemovalDeferred }
    }
}

extension LineageName {
    /// The name of an item of the purchase with this name; the purchase's own without a product.
    func item(_ product: String?) -> String {
        guard let product else { return text }
        return item(ProductID(product))
    }
}
