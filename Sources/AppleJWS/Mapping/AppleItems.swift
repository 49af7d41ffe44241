import FoundationEssentials
import LifecycleEvents
import SignatureCore

extension AppleSnapshot {
    /// The items of an Advanced Commerce subscription in addition to its main one, by SKU: all its items run together.
    var addOns: [PurchasedProduct] {
        itemEnds.filter { $0.value == nil && $0.key != transaction.sku }.keys.sorted()
            .map { PurchasedProduct(id: ProductID($0), group: transaction.productID) }
    }

    /// When each item of an Advanced Commerce subscription was taken out, by SKU; nil for one that runs on.
    private var itemEnds: [String: Date?] {
        guard isSubscription, let info = transaction.advancedCommerce else { return [:] }
        return Dictionary(info.items(from: transaction.purchaseDate).map { ($0.sku ?? "", $0.revocationDate) }) {
            // Listed twice, it runs as long as either.
            if let one = $0, let other = $1 { max(one, other) } else { nil }
        }
    }

    var itemFacts: [Fact] {
        let items = itemEnds.sorted { $0.key < $1.key }
        let runs: [Fact] = items.filter { $0.key != transaction.sku }.map { sku, _ in
            .period(
                Fact.Period(
                    period,
                    product: ProductID(sku),
                    phase: phase,
                    transaction: transactionID,
                    item: ProductID(sku),
                    ownership: ownership
                )
            )
        }
        let ends: [Fact] = items.compactMap { sku, end in
            end.map {
                .periodEnded(self.end(at: $0, reason: hasRefund(sku) ? .refunded : .unknown, item: ProductID(sku)))
            }
        }
        return runs + ends
    }

    /// True if an item was taken out and others continue.
    var endsItem: Bool { itemEnds.values.contains { $0 != nil } && isKept }

    private func hasRefund(_ sku: String) -> Bool {
        transaction.advancedCommerce?.items.contains { $0.sku == sku && !$0.refunds.isEmpty } ?? false
    }
}

extension Money {
    /// Apple's amounts have three decimals.
    var milliunits: Int128? { amount.coefficient(scale: 3) }
}

extension AppleAdvancedCommerceInfo {
    /// The items with a name that a purchase had when it was made.
    func items(from start: Date) -> [Item] {
        items.filter { item in item.sku?.isEmpty == false && item.revocationDate.map { $0 > start } ?? true }
    }

    /// The SKU of the main item of a purchase under a generic product identifier. It stays so if the item is taken out
    /// later.
    func mainSKU(from start: Date) -> String? {
        let bought = items(from: start)
        return Self.mainSKU(of: bought.isEmpty ? items : bought)
    }

    /// The SKU of the main item that renews, if nothing was main before.
    private var mainSKU: String? {
        let kept = items.filter { $0.revocationDate == nil }
        return Self.mainSKU(of: kept.isEmpty ? items : kept)
    }

    /// Of several items the one with the highest price, and of equal prices the first by SKU, so that the order of the list says
    /// nothing.
    private static func mainSKU(of items: [Item]) -> String? {
        items.filter { $0.sku?.isEmpty == false }
            .min {
                let (left, right) = ($0.price?.milliunits ?? 0, $1.price?.milliunits ?? 0)
                return left == right ? ($0.sku ?? "") < ($1.sku ?? "") : left > right
            }?
            .sku
    }

    /// The share that went back of each item; nil if Apple does not state it for one of the refunded items.
    var refundsOfItems: [Fact.RefundState.Item]? {
        var refunds: [Fact.RefundState.Item] = []
        for item in items where !item.refunds.isEmpty {
            guard let sku = item.sku, !sku.isEmpty, let scope = item.refundScope else { return nil }
            refunds.append(Fact.RefundState.Item(product: ProductID(sku), scope: scope))
        }
        return refunds.isEmpty ? nil : refunds
    }

    /// The SKU of the main item that renews. The one that is main now stays so as long as it renews.
    func mainSKU(after current: String?) -> String? {
        let renews = items.contains {
            $0.revocationDate == nil && $0.sku.map { sku in current?.hasOctets(of: sku) == true } == true
        }
        return renews ? current : mainSKU
    }
}

extension AppleAdvancedCommerceInfo.Item {
    /// The share of its price that went back; nil if Apple does not state it.
    fileprivate var refundScope: LifecycleEvent.Refund.Scope? {
        if refunds.contains(where: { $0.type == "FULL" }) { return .full }
        guard let price = price?.milliunits, price > 0 else { return revocationDate == nil ? nil : .full }
        var refunded: Int128 = 0
        for refund in refunds {
            guard let amount = refund.amount?.milliunits else { return revocationDate == nil ? nil : .full }
            refunded += amount
        }
        guard refunded < price else { return .full }
        return ExactDecimal(coefficient: refunded * 100_000 / price, scale: 5).map { .fraction($0) }
    }
}
