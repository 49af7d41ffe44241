import LifecycleEvents

// The period, or the change within one, that a paid invoice charges for.
extension InvoiceObject {
    /// The start of the period that a payment is for; nil if it is for a change within a period, for usage, or for
    /// nothing, such as time that is given.
    var paidStart: Milliseconds? {
        switch purpose {
        case .standalone: return nil
        // The window that an invoice looks back on ends at the start of the period that it is made for.
        case .start, .renewal: return (isInArrears ? nil : paidSpan?.start) ?? lookBack.end
        case .settlement: return chargesForPeriod ? paidSpan?.start : restart
        }
    }

    /// The start of the period that a change began, if the charge for it stands on the invoice as a proration. The time
    /// that is given back then ends at another moment than the time that is charged; a change within a period leaves its end.
    private var restart: Milliseconds? {
        let (givenBack, begun) = sortedProrations
        return begun.first { line in
            (line.amount ?? 0) > 0 && line.start != nil
                && givenBack.contains { $0.start == line.start && $0.end != line.end }
        }?.start
    }

    /// The lines for unused parts, and for products that a change began. A line of 0 next to a charge gives back a product that cost
    /// nothing; if nothing is charged, such a product began.
    private var sortedProrations: (givenBack: [Line], begun: [Line]) {
        let prorations = lines.filter(\.isProration)
        let charges = prorations.filter { ($0.amount ?? 0) > 0 }
        let unused = prorations.filter { ($0.amount ?? 0) < 0 }
        let free = prorations.filter { ($0.amount ?? 0) == 0 }
        return charges.isEmpty && !unused.isEmpty ? (unused, free) : (unused + free, charges)
    }

    /// The unused part of each product that it gives back when a change begins a period or a part of one; empty if no line gives
    /// anything back (`proration_behavior: none`, https://docs.stripe.com/api/subscriptions/update). Nil if its lines do not say: some
    /// are not shown, some prorations are for another time, or the lines lack discounts.
    var setOff: [PurchasedItem]? {
        guard isOfChange, !hasMoreLines, let start = paidStart ?? chargedChange?.start,
            lines.allSatisfy({ !$0.isProration || $0.start == start })
        else { return nil }
        let givenBack = sortedProrations.givenBack
        if givenBack.isEmpty { return [] }
        guard isSumOfLines else { return nil }
        return charges(for: givenBack, ofAtLeast: 1)?.map { item in
            PurchasedItem(product: item.product, price: item.price.map { Money($0.amount.negated, $0.currency) })
        }
    }

    /// True if it charges for the period in full, or with a discount.
    private var chargesForPeriod: Bool {
        guard billingReason != "subscription_threshold", !isInArrears, let start = paidSpan?.start else { return false }
        return lines.contains { $0.isSubscription && !$0.isProration && $0.start == start && ($0.amount ?? 0) > 0 }
    }

    /// True if a change made a period begin before the end of the one before, and this invoice charges for it: in full,
    /// next to any prorations. A trial that is given in the middle of a period begins one as well, and costs nothing.
    var restartsPeriod: Bool {
        isOfChange && chargesForPeriod
    }

    /// The part of each product in the charge for a period: its lines less discounts, with the tax on top. Nil if a whole period of one
    /// product is all that was charged. It is not if a fee, usage or the prorations of an earlier change come with it, or if a customer's
    /// balance pays.
    var chargedItems: [PurchasedItem]? {
        guard paidStart != nil, var items = charges(for: linesOfPaidPeriod, ofAtLeast: 1)
        else { return nil }
        if items.count > 1 || items[0].price != money(amountPaid) && isSumOfLines { return items }
        items[0].price = nil
        return items[0].part == nil ? nil : items
    }

    private var linesOfPaidPeriod: [Line] {
        guard purpose == .settlement, !chargesForPeriod, let restart else {
            return linesOfPeriod(beginningBy: latestBeginning)
        }
        return lines.filter { $0.isProration && $0.start == restart && ($0.amount ?? 0) > 0 }
    }

    /// True if its lines show all discounts and taxes: their charges add up to the total. Before 2020-08-27 a discount stood on the
    /// invoice alone.
    private var isSumOfLines: Bool {
        guard let total, !hasMoreLines else { return false }
        var rest = total
        for line in lines {
            guard let charged = line.charged else { return false }
            let (difference, overflows) = rest.subtractingReportingOverflow(charged)
            guard !overflows else { return false }
            rest = difference
        }
        return rest == 0
    }

    /// The change within a period that it charges for: since when, and for which products. Nil if it is for a period of its own, or
    /// if some of its prorations are for another time, since changes that were not invoiced at once come with the next invoice
    /// (https://docs.stripe.com/billing/subscriptions/prorations). A product that a line also gives back continues at another
    /// price or quantity.
    var chargedChange: (start: Milliseconds, items: [PurchasedItem])? {
        guard isOfChange, !hasMoreLines, paidStart == nil else { return nil }
        let prorated = lines.filter(\.isProration)
        guard let start = prorated.first?.start, prorated.allSatisfy({ $0.start == start }) else { return nil }
        let givenBack = prorated.filter { ($0.amount ?? 0) < 0 }.map { $0.price?.productID }
        let begun = sortedProrations.begun.filter { !givenBack.contains($0.price?.productID) }
        return charges(for: begun, ofAtLeast: 1).map { (start, $0) }
    }

    /// The charge of lines for each product, in the order of the products; nil if a line states none, or for fewer products.
    private func charges(for lines: [Line], ofAtLeast least: Int) -> [PurchasedItem]? {
        var charged: [(product: ProductID, amount: Int64)] = []
        for line in lines where !line.isBilledByUse {
            guard let product = line.price?.productID, let amount = line.charged else { return nil }
            guard let index = charged.firstIndex(where: { $0.product == product }) else {
                charged.append((product, amount))
                continue
            }
            let (sum, overflows) = charged[index].amount.addingReportingOverflow(amount)
            guard !overflows else { return nil }
            charged[index].amount = sum
        }
        guard charged.count >= least else { return nil }
        return charged.sorted { $0.product < $1.product }
            .map { PurchasedItem(product: $0.product, price: money($0.amount), part: part(of: $0.product, in: lines)) }
    }

    /// Which part of a period lines bill a product for; nil if they bill it for a whole one.
    private func part(of product: ProductID, in lines: [Line]) -> PurchasedItem.Part? {
        var (part, whole): (Int64, Int64) = (0, 0)
        for line in lines where line.price?.productID == product {
            // A price with amounts in several currencies shows that of its first one.
            guard let amount = line.amount, let full = line.wholeAmount, line.price?.currency == currency else {
                return nil
            }
            let (sum, overflows) = whole.addingReportingOverflow(full)
            guard !overflows else { return nil }
            // No line bills more than its whole.
            (part, whole) = (part + amount, sum)
        }
        guard whole > 0, let price = money(part), let total = money(whole) else { return nil }
        return PurchasedItem.Part(price: price, whole: total)
    }
}
