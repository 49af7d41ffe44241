import FoundationEssentials
import LifecycleEvents

// Apple's statements about a sale in addition to product, period and price.
extension AppleSnapshot {
    /// The country that the storefront is of.
    var country: String? { transaction.storefront.flatMap(Storefront.country(of:)) }

    /// The commitment that the transaction is one payment of.
    var commitment: Commitment? {
        transaction.commitment.flatMap {
            let commitment = Commitment(
                payment: $0.billingPeriodNumber,
                payments: $0.totalBillingPeriods,
                total: $0.price,
                endsAt: $0.expiresDate
            )
            return commitment == Commitment() ? nil : commitment
        }
    }

    var lineItem: String? { transaction.webOrderLineItemID.flatMap { $0.isEmpty ? nil : $0 } }

    /// The items of an Advanced Commerce purchase, in Apple's order.
    var items: [PurchasedItem]? {
        let items = transaction.advancedCommerce?.items.compactMap(PurchasedItem.init(apple:)) ?? []
        return items.isEmpty ? nil : items
    }
}

extension PurchasedItem {
    /// Nil for an item without a SKU, which names nothing.
    fileprivate init?(apple item: AppleAdvancedCommerceInfo.Item) {
        guard let sku = item.sku, !sku.isEmpty else { return nil }
        let refunds = item.refunds.map {
            Refund(amount: $0.amount ?? ($0.type == "FULL" ? item.price : nil), at: $0.date, reason: $0.reason)
        }
        self.init(
            product: ProductID(sku),
            price: item.price,
            removedAt: item.revocationDate,
            refunds: refunds.isEmpty ? nil : refunds
        )
    }
}
