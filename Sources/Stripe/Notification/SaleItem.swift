import LifecycleEvents
import WireJSON

/// A thing that is sold once: a line item of a session, or a line of an invoice without a subscription.
struct SaleItem: Sendable {
    let item: SubscriptionObject.Item
    /// The cost of all of it, with its discounts and taxes; nil if that is not stated.
    let amount: Int64?

    init(_ item: SubscriptionObject.Item, amount: Int64?) { (self.item, self.amount) = (item, amount) }

    /// - Parameter value: a line item of a session. One without a price is none.
    init?(_ value: JSONValue, addOns: Set<String>) throws(JSONError) {
        guard let item = try SubscriptionObject.Item(value, addOns: addOns) else { return nil }
        self.item = item
        // One total is enough to report a sale, so a line's own may be of any form.
        amount = (try? ObjectReader(value).optionalInt64("amount_total")) ?? nil
    }

    /// The two as one. A sum that is unknown, or too large, is none.
    fileprivate func joined(with other: SaleItem) -> SaleItem {
        func sum(_ one: Int64?, _ other: Int64?) -> Int64? {
            guard let one, let other else { return nil }
            let (sum, overflows) = one.addingReportingOverflow(other)
            return overflows ? nil : sum
        }
        let quantity = sum(item.quantity ?? 1, other.item.quantity ?? 1)
        let both = SubscriptionObject.Item(price: item.price, quantity: quantity, isAddOn: item.isAddOn)
        return SaleItem(both, amount: sum(amount, other.amount))
    }
}

extension [SaleItem] {
    /// One for each price, the main product first, and the others by name: a session and its invoice may list them in different
    /// orders.
    var byPrice: [SaleItem] {
        guard count > 1, let main = map(\.item).primary?.price.id else { return self }
        var items: [String: SaleItem] = [:]
        for item in self {
            let price = item.item.price.id
            items[price] = items[price]?.joined(with: item) ?? item
        }
        return items.sorted { left, right in
            left.key == main || right.key == main ? left.key == main && right.key != main : left.key < right.key
        }
        .map(\.value)
    }
}

extension ListPages<SaleItem> {
    init(lineItemsIn answers: StripeNotification.Answers, addOns: Set<String> = []) {
        self.init("line_items", in: answers) { (value) throws(JSONError) in try SaleItem(value, addOns: addOns) }
    }
}

extension InvoiceObject {
    /// The things that it sells, if it bills no subscription. A line that gives money back is a part of the total alone.
    var saleItems: [SaleItem] {
        lines.compactMap { line in
            guard let price = line.price, (line.amount ?? 0) >= 0 else { return nil }
            let item = SubscriptionObject.Item(
                price: price,
                quantity: line.quantity,
                isAddOn: price.isNamed(in: addOns)
            )
            return SaleItem(item, amount: line.charged)
        }
    }
}
