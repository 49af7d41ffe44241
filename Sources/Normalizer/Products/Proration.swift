public import FoundationEssentials

/// The worth of a period's unused part when another product takes its place.
///
/// All is exact until the caller's own rounding; times count in milliseconds, so a sandbox period of three minutes is
/// prorated as well as a year.
public struct Proration: Hashable, Sendable {
    /// Why there is no result.
    public struct Failure: OpenValue, Error {
        /// The name used in JSON.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The period never ends, or ends no later than it starts.
        public static let unboundedPeriod: Failure = "unbounded_period"
        /// The two prices are in different currencies.
        public static let currencyMismatch: Failure = "currency_mismatch"
        /// The amount paid is negative, or the new price is not positive.
        public static let priceOutOfRange: Failure = "price_out_of_range"
        /// The numbers have no exact 128-bit form.
        public static let tooLarge: Failure = "too_large"
    }

    /// The part of the period that lay ahead at the change: (end − change) ÷ (end − start), within 0…1.
    public let unused: ExactFraction

    /// Prorates a period that gave way to another product.
    ///
    /// - Throws: ``Failure/unboundedPeriod``.
    public init(of period: ServicePeriod, changedAt change: Date) throws(Failure) {
        guard let end = period.end?.millisecondsSince1970, end > period.startMilliseconds,
            let unused = ExactFraction(
                clamping: Int128(end) - Int128(change.millisecondsSince1970),
                Int128(end) - Int128(period.startMilliseconds)
            )
        else { throw .unboundedPeriod }
        self.unused = unused
    }

    /// The cost of the unused part: price × unused, rounded to `decimals` places.
    ///
    /// It is an estimate of the store's refund; only the store states the real one.
    ///
    /// - Throws: ``Failure/tooLarge``.
    public func refund(of price: Money, decimals: Int = 2, rounding: Rounding) throws(Failure) -> Money {
        let places = min(max(decimals, 0), 38)
        let scale = price.amount.scale
        var coefficient = price.amount.coefficient
        var divisor: Int128 = 1
        if scale > places {
            divisor = ExactDecimal.power(scale - places)
        } else {
            let (widened, overflow) = coefficient.multipliedReportingOverflow(
                by: ExactDecimal.power(places - scale)
            )
            if overflow { throw .tooLarge }
            coefficient = widened
        }
        guard let rounded = unused.applied(to: coefficient, dividedBy: divisor, rounding),
            let amount = ExactDecimal(coefficient: rounded, scale: places)
        else { throw .tooLarge }
        return Money(amount, price.currency)
    }

    /// The share of the new product that is paid for once the unused part is set off:
    /// (new price − paid × unused) ÷ new price, within 0…1.
    ///
    /// Where the unused part is worth more than the new product, as when most of a year gives way to a month, the share
    /// is 0, not less: the store gives the rest back in money.
    ///
    /// - Throws: ``Failure/currencyMismatch``, ``Failure/priceOutOfRange``, ``Failure/tooLarge``.
    public func creditShare(paid: Money, newPrice: Money) throws(Failure) -> ExactFraction {
        guard paid.currency == newPrice.currency else { throw .currencyMismatch }
        guard paid.amount.coefficient >= 0, newPrice.amount.coefficient > 0 else { throw .priceOutOfRange }
        let places = max(paid.amount.scale, newPrice.amount.scale)
        let old = try Self.product(paid.amount.coefficient, ExactDecimal.power(places - paid.amount.scale))
        let new = try Self.product(newPrice.amount.coefficient, ExactDecimal.power(places - newPrice.amount.scale))
        let whole = try Self.product(new, unused.denominator)
        let refund = try Self.product(old, unused.numerator)
        guard let share = ExactFraction(clamping: whole - refund, whole) else { throw .tooLarge }
        return share
    }

    /// The credits of the new product that are paid for: allowance × ``creditShare(paid:newPrice:)``.
    ///
    /// - Throws: the errors of ``creditShare(paid:newPrice:)``.
    public func credits(
        of allowance: Int64,
        paid: Money,
        newPrice: Money,
        rounding: Rounding
    ) throws(Failure) -> Int64 {
        let share = try creditShare(paid: paid, newPrice: newPrice)
        guard let credits = share.applied(to: Int128(allowance), rounding).flatMap({ Int64(exactly: $0) }) else {
            throw .tooLarge
        }
        return credits
    }

    private static func product(_ one: Int128, _ other: Int128) throws(Failure) -> Int128 {
        let (product, overflow) = one.multipliedReportingOverflow(by: other)
        if overflow { throw .tooLarge }
        return product
    }
}
