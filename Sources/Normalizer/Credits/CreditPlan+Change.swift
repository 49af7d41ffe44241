import FoundationEssentials

extension CreditPlan {
    /// The price and the credits of a product that replaces another at once.
    struct Change {
        /// The worth of the new product when it begins; nil if it is not known.
        var worth: Money?
        /// Which share of that was paid, and not set off.
        var share = ExactFraction.whole
        /// Which share of the old payment was set off.
        var setOff = ExactFraction.none
        /// The share of the old payment that was refunded, since the unused part was worth more than the new product.
        var returned = ExactFraction.none
        /// True if it was charged at nothing: the credits of the old product continue, and there are no new ones.
        var keepsCredits = false

        init(from old: Tenure, to new: Tenure) {
            let unused = CreditPlan.rest(of: (old.start, old.end), from: new.start)
            let listed = new.allowance?.price
            guard old.end < .max else {
                worth = new.charge ?? listed
                return
            }
            if new.isChargedAtNothing {
                carryOn(old, unused)
                return
            }
            // An invoice without a line that gives anything back sets nothing off.
            guard new.proration != .fullCharge, new.setOff?.isEmpty != true else {
                worth = new.charge ?? listed
                return
            }
            // A net charge is the rest after the whole unused part was set off, however much of it was refunded.
            func remainder(of money: Money) -> Money {
                new.isNet && new.total != nil ? money : old.remainder(of: money, at: new.start)
            }
            // A line is the unused part by itself, and else that is a share of what the old product cost.
            let line = new.setOff?.first { $0.product == old.product }?.price
            var (left, whole, part) = (
                line ?? old.worth.map(remainder), line ?? old.worth, line == nil ? unused : .whole
            )
            var shareOfOld = line == nil ? ExactFraction.whole : unused
            let isNet = new.isNet && !new.isLine
            if isNet, let charge = new.charge, charge.amount.coefficient > 0, let paid = left.inCurrency(of: charge) {
                // The part of a product that was charged at nothing is worth to the store what the list says.
                let price = old.keepsCredits ? new.listed : nil
                setOff(paid, unused: part, beforeNet: charge, of: price?.currency == charge.currency ? price : nil)
            } else if let charged = isNet ? listed : new.charge ?? listed {
                // A net charge of nothing does not show the worth of the product.
                var (price, isListed) = (charged, isNet || new.charge == nil)
                let areFree = new.isNet && new.isFree && left?.amount.coefficient == 0 && old.phase != .trial
                // A coupon may make both free: then the one invoice says as little as the other.
                if areFree || left.inCurrency(of: charged) == nil, let listed, let oldListed = old.listed,
                    oldListed.currency == listed.currency
                {
                    (left, whole, part, shareOfOld) = (remainder(of: oldListed), oldListed, unused, .whole)
                    (price, isListed) = (listed, true)
                }
                let rest = isListed ? new.extent : .whole
                worth = Amount(price)?.times(rest).money
                // For a product that costs nothing, only what goes back by the invoice's own words is taken.
                if line != nil || price.amount.coefficient > 0, let paid = left.inCurrency(of: price), let whole {
                    setOff(paid, of: whole, unused: part, againstGross: price, rest: rest)
                }
                // A store gives a trial once, so that its credits cannot be had again and again.
                if new.phase == .trial, price.amount.coefficient == 0 { share = .whole }
            }
            (setOff, returned) = (setOff.multiplied(by: shareOfOld), returned.multiplied(by: shareOfOld))
            // The charge says by itself how much it paid for, whatever it set off.
            if new.paidPart != nil { (share, returned) = (.whole, .none) }
        }

        private mutating func carryOn(_ old: Tenure, _ unused: ExactFraction) {
            keepsCredits = true
            share = .none
            setOff = unused
            worth = old.worth.flatMap { Amount($0)?.times(unused).money }
        }

        /// - Parameter price: the price that the charge is the rest of; nil if it is the charge and what was left of the old payment.
        private mutating func setOff(_ paid: Money, unused: ExactFraction, beforeNet charge: Money, of price: Money?) {
            guard let new = Amount(charge), let left = Amount(paid)?.times(unused) else { return }
            let sum = new.units.addingClamped(left.units)
            let price = price.flatMap { Amount($0) }.map { max($0.units, new.units) }
            let whole = Amount(units: price ?? sum, currency: new.currency)
            worth = whole.money
            share = ExactFraction(clamping: new.units, whole.units) ?? .whole
            setOff = paid.amount.coefficient > 0 ? unused : .none
        }

        /// - Parameters:
        ///   - paid: the old payment, less the money that went back before.
        ///   - whole: all of the old payment.
        ///   - rest: which part of its price the new product costs, since it begins in the middle of a period.
        private mutating func setOff(
            _ paid: Money,
            of whole: Money,
            unused: ExactFraction,
            againstGross price: Money,
            rest: ExactFraction
        ) {
            guard let new = Amount(price), let old = Amount(paid), let whole = Amount(whole), new.units >= 0,
                old.units >= 0
            else { return }
            // Both in parts of one unit, exactly where the numbers have room for it.
            let isInStep = rest.denominator == unused.denominator
            let unit =
                isInStep
                ? (unused.denominator, false) : rest.denominator.multipliedReportingOverflow(by: unused.denominator)
            if !unit.1, let price = Self.product(new.units, rest.numerator, times: isInStep ? 1 : unused.denominator),
                let left = Self.product(old.units, unused.numerator, times: isInStep ? 1 : rest.denominator)
            {
                weigh(price, left, wholeOfOld: whole.units, unit: unit.0)
            } else {
                weigh(new.times(rest).units, old.times(unused).units, wholeOfOld: whole.units, unit: 1)
            }
        }

        private static func product(_ units: Int128, _ numerator: Int128, times factor: Int128) -> Int128? {
            let (part, overflows) = units.multipliedReportingOverflow(by: numerator)
            let (product, overflowsThen) = part.multipliedReportingOverflow(by: factor)
            return overflows || overflowsThen ? nil : product
        }

        /// Compares the price of the new product with the unused part of the old one, both in parts of a `unit`.
        private mutating func weigh(_ price: Int128, _ unused: Int128, wholeOfOld: Int128, unit: Int128) {
            // A product that costs nothing gives nothing if money goes back for it: that can be done again and again.
            share = ExactFraction(clamping: price - unused, price) ?? (unused > 0 ? .none : .whole)
            let (whole, overflows) = wholeOfOld.multipliedReportingOverflow(by: unit)
            guard !overflows, whole > 0 else { return }
            setOff = ExactFraction(clamping: min(price, unused), whole) ?? .none
            returned = ExactFraction(clamping: unused - price, whole) ?? .none
        }

        static func ratio(_ part: Money, of whole: Money) -> ExactFraction? {
            guard let part = Amount(part), let whole = Amount(whole) else { return nil }
            return ExactFraction(clamping: part.units, whole.units)
        }
    }

    /// An amount in billionths, in which sums are exact and shares round down.
    struct Amount {
        var units: Int128
        var currency: String

        init(units: Int128, currency: String) {
            self.units = units
            self.currency = currency
        }

        init?(_ money: Money) {
            let scale = money.amount.scale
            currency = money.currency
            if scale > 9 {
                units = money.amount.coefficient / ExactDecimal.power(scale - 9)
            } else if let exact = money.amount.coefficient(scale: 9) {
                units = exact
            } else {
                return nil
            }
        }

        func times(_ share: ExactFraction) -> Amount {
            Amount(units: share.applied(to: units, .down) ?? 0, currency: currency)
        }

        func times(_ count: Int64) -> Amount {
            let (units, overflows) = units.multipliedReportingOverflow(by: Int128(count))
            return Amount(units: overflows ? .max : units, currency: currency)
        }

        var money: Money? { ExactDecimal(coefficient: units, scale: 9).map { Money($0, currency) } }
    }
}

extension CreditPlan.Tenure {
    /// True if the store charged nothing when it took the place of another: that can be done again and again, and must give nothing.
    var isChargedAtNothing: Bool {
        switch proration {
        case .timeCredit?, .deferred?, LifecycleEvent.ProductChange.Proration.none?: true
        case .fullCharge?, .proratedCharge?, .refund?: false
        case nil: rules.ordersSpanNames && charge?.amount.coefficient == 0
        }
    }

    /// The policy's price for the time that it is there for.
    fileprivate var listed: Money? {
        allowance?.price.flatMap(CreditPlan.Amount.init)?.times(extent).money
    }

    /// True if its own payment is known, and was of nothing.
    fileprivate var isFree: Bool {
        (change != nil || !isRest) && (charge ?? total)?.amount.coefficient == 0
    }

    /// An amount that it was paid for with, less the share that went back by a moment.
    fileprivate func remainder(of money: Money, at moment: Int64) -> Money {
        refunds.reduce(money) { money, refund in
            guard refund.at <= moment, var left = CreditPlan.Amount(money) else { return money }
            left.units -= left.times(refund.share).units
            return left.money ?? money
        }
    }
}

extension Money? {
    /// The amount where it is of another's currency. Nothing is nothing in any.
    fileprivate func inCurrency(of other: Money) -> Money? {
        guard let self else { return nil }
        if self.amount.coefficient == 0 { return Money(self.amount, other.currency) }
        return self.currency == other.currency ? self : nil
    }
}

extension Int128 {
    fileprivate func addingClamped(_ other: Int128) -> Int128 {
        let (sum, overflows) = addingReportingOverflow(other)
        return overflows ? .max : sum
    }
}
