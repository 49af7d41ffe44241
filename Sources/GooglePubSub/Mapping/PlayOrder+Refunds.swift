import FoundationEssentials
import LifecycleEvents

extension PlayOrder {
    /// When the period began that it paid for.
    var periodStart: Date? { lineItems.compactMap(\.servicePeriodStart).min() }

    var isRefundedInFull: Bool { refund != nil || state == .refunded }

    /// The refunded part, if the order says that it was not all.
    var refundScope: LifecycleEvent.Refund.Scope? {
        guard !isRefundedInFull, let amount = sumOfPartialRefunds else { return nil }
        return .amount(amount)
    }

    /// True if money is to go back that has not yet: no refund is processed, be it of the whole or of a part.
    /// https://developers.google.com/android-publisher/api-ref/rest/v3/orders#PartialRefundEvent
    var isRefundUnderWay: Bool {
        state == .pendingRefund || !partialRefunds.isEmpty && !isRefundedInFull && refundScope == nil
    }

    /// The amount that went back.
    var refunded: Money? { refund?.total ?? sumOfPartialRefunds }

    /// The amount that went back for each of several products, all of which add up to the order's own: the whole price of a product
    /// that went back as a whole, and the rest for the first of the others.
    func refunded(of items: [(line: LineItem?, isWhole: Bool)]) -> [Money?] {
        guard let refunded, !items.isEmpty else { return items.map { _ in nil } }
        var amounts = items.map { $0.isWhole ? $0.line?.total : nil }
        let rest = amounts.reduce(refunded.billionths(in: refunded.currency)) { rest, amount in
            guard let rest, let amount else { return rest }
            return amount.billionths(in: refunded.currency).map { rest - $0 }
        }
        if let rest, rest >= 0, items.count > 1 {
            if rest == 0 { return amounts }
            if let bearer = amounts.firstIndex(of: nil) {
                amounts[bearer] = ExactDecimal(coefficient: rest, scale: 9).map { Money($0, refunded.currency) }
                return amounts
            }
        }
        return items.indices.map { $0 == 0 ? refunded : nil }
    }

    private var sumOfPartialRefunds: Money? {
        let amounts = partialRefunds.filter(\.isProcessed).compactMap(\.total)
        guard let first = amounts.first, amounts.allSatisfy({ $0.currency == first.currency }) else { return nil }
        var billionths: Int128 = 0
        for amount in amounts {
            guard let units = amount.billionths(in: first.currency) else { return nil }
            billionths += units
        }
        return ExactDecimal(coefficient: billionths, scale: 9).map { Money($0, first.currency) }
    }
}

extension PlayOrder.LineItem {
    /// The paid amount without tax.
    var totalBeforeTax: Money? {
        guard let total, let tax else { return total }
        guard let whole = total.billionths(in: total.currency), let part = tax.billionths(in: total.currency) else {
            return nil
        }
        return ExactDecimal(coefficient: whole - part, scale: 9).map { Money($0, total.currency) }
    }
}

extension Money {
    /// Google's amounts have at most nine decimals.
    fileprivate func billionths(in currency: String) -> Int128? {
        self.currency == currency ? amount.coefficient(scale: 9) : nil
    }
}
