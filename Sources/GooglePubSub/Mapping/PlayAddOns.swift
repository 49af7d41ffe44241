import FoundationEssentials
import LifecycleEvents

/// The items of a purchase that are add-ons: the item that represents the purchase comes first.
///
/// Google marks no item as the base of the purchase, and lists items in any order. So items are ordered by their
/// products' ids, with the configured add-ons last: the same order for every answer about a purchase.
struct PlayAddOns {
    var products: Set<String> = []

    func ranks(_ item: SubscriptionPurchase.LineItem, before other: SubscriptionPurchase.LineItem) -> Bool {
        let (left, right) = (products.contains(item.productID), products.contains(other.productID))
        if left != right { return right }
        guard item.productID == other.productID else { return item.productID.precedes(other.productID) }
        // If one product is listed twice, the one that lasts longest.
        if item.expiryTime != other.expiryTime {
            return (item.expiryTime ?? .distantPast) > (other.expiryTime ?? .distantPast)
        }
        return (item.basePlanID ?? "").precedes(other.basePlanID ?? "")
    }

    /// The items of a purchase of one-time products, which share an order, in the order of their names. The purchase lists them, and
    /// so does the order.
    static func inOrder<Item>(
        _ items: [Item],
        by name: (Item) -> (product: String, option: String?)
    ) -> [Item] {
        items.sorted { item, other in
            let (name, other) = (name(item), name(other))
            guard name.product == other.product else { return name.product.precedes(other.product) }
            return (name.option ?? "").precedes(other.option ?? "")
        }
    }
}

extension String {
    /// The order of their octets, which does not depend on a locale or a version of Unicode.
    fileprivate func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}
