import FoundationEssentials
import Normalizer

/// Which items of a purchase are sold beside another: the one that stands for the purchase comes first.
///
/// Google says of no item that it is the base of the purchase, and lists items in any order. So the order is that of the
/// products' ids, those last that the configuration calls add-ons: the same for every answer about a purchase.
struct PlayAddOns {
    var products: Set<String> = []

    func ranks(_ item: SubscriptionPurchase.LineItem, before other: SubscriptionPurchase.LineItem) -> Bool {
        let (left, right) = (products.contains(item.productID), products.contains(other.productID))
        if left != right { return right }
        guard item.productID == other.productID else { return item.productID.precedes(other.productID) }
        // Of one product that is listed twice, what lasts longest.
        if item.expiryTime != other.expiryTime {
            return (item.expiryTime ?? .distantPast) > (other.expiryTime ?? .distantPast)
        }
        return (item.basePlanID ?? "").precedes(other.basePlanID ?? "")
    }

    /// The items of a purchase of one-time products, which share an order, in the order of their names.
    static func inOrder(_ items: [ProductPurchase.LineItem]) -> [ProductPurchase.LineItem] {
        items.sorted { item, other in
            guard item.productID == other.productID else { return item.productID.precedes(other.productID) }
            return (item.purchaseOptionID ?? "").precedes(other.purchaseOptionID ?? "")
        }
    }
}

extension String {
    /// The order of their octets, which does not depend on a locale or a version of Unicode.
    fileprivate func precedes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}
