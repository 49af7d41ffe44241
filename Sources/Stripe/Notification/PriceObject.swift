import LifecycleEvents
import WireJSON

/// A price, or the plan that stood in its place before the Prices API.
///
/// A class, because it never changes and is copied often.
final class PriceObject: Sendable {
    let id: String
    let product: String?
    let currency: String?
    /// The price of one unit in the smallest unit of the currency, which can have a fraction; nil for tiers.
    let unitAmount: ExactDecimal?
    let interval: String?
    let intervalCount: Int64
    let isMetered: Bool
    let anomalies: [String]
    /// The price as it was received.
    let bytes: ArraySlice<UInt8>

    /// - Parameter value: the object, or its id alone if Stripe did not expand it.
    init(_ value: JSONValue) throws(JSONError) {
        bytes = value.rawBytes
        if value.kind == .string {
            id = try value.string()
            (product, currency, unitAmount, interval, intervalCount, isMetered) = (nil, nil, nil, nil, 1, false)
            anomalies = []
            return
        }
        var reader = try ObjectReader(value)
        id = try reader.string(.id)
        product = try reader.reference(.product)
        currency = try reader.optionalString(.currency)
        unitAmount = try Self.unitAmount(in: reader)
        // A price keeps these under `recurring`, a plan at its top.
        if var recurring = try reader.reader(.recurring) {
            interval = recurring.descriptiveString(.interval)
            intervalCount = recurring.descriptiveInt64(.intervalCount) ?? 1
            isMetered = recurring.descriptiveString(.usageType) == "metered"
            anomalies = recurring.anomalies
        } else {
            interval = reader.descriptiveString(.interval)
            intervalCount = reader.descriptiveInt64(.intervalCount) ?? 1
            isMetered = reader.descriptiveString(.usageType) == "metered"
            anomalies = reader.anomalies
        }
    }

    init(id: String, product: String?, currency: String?, unitAmount: ExactDecimal?) {
        self.id = id
        self.product = product
        self.currency = currency
        self.unitAmount = unitAmount
        (interval, intervalCount, isMetered) = (nil, 1, false)
        anomalies = []
        bytes = []
    }

    private static func unitAmount(in reader: ObjectReader) throws(JSONError) -> ExactDecimal? {
        if let amount = try reader.optionalInt64(.unitAmount) { return ExactDecimal(amount) }
        if let amount = try reader.optionalInt64(.amount) { return ExactDecimal(amount) }
        if let exact = try reader.optionalString("unit_amount_decimal") { return ExactDecimal(exact) }
        return try reader.optionalString("amount_decimal").flatMap { ExactDecimal($0) }
    }

    /// The product of the price; the price itself if Stripe names no product with it.
    var productID: ProductID { ProductID(product ?? id) }

    func isSameRhythm(as other: PriceObject) -> Bool {
        interval == other.interval && intervalCount == other.intervalCount
    }

    /// The list price of one unit.
    var money: Money? {
        guard let unitAmount, unitAmount.scale == 0, let amount = Int64(exactly: unitAmount.coefficient), let currency
        else { return nil }
        return Money(minorUnits: amount, currency)
    }

    /// Which of two costs more by the day; nil if they cannot be compared.
    static func isDearer(_ new: PriceObject, than old: PriceObject) -> Bool? {
        guard let currency = new.currency, currency == old.currency,
            let left = new.unitAmount, let right = old.unitAmount,
            let leftLength = new.length, let rightLength = old.length
        else { return nil }
        let scale = max(left.scale, right.scale)
        guard scale <= 18,
            let one = cost(left, scale: scale, times: rightLength),
            let other = cost(right, scale: scale, times: leftLength),
            one != other
        else { return nil }
        return one > other
    }

    /// The length of an interval in 48ths of a day, by which a month is a twelfth of a mean year.
    var length: Int128? {
        guard intervalCount > 0 else { return nil }
        let unit: Int128
        switch interval {
        case "day": unit = 48
        case "week": unit = 336
        case "month": unit = 1461
        case "year": unit = 17_532
        default: return nil
        }
        return unit * Int128(intervalCount)
    }

    /// The length of a period in the same unit: whole months, unless it is shorter than one.
    static func length(from start: Milliseconds, to end: Milliseconds) -> Int128? {
        let days = (Int128(end) - Int128(start) + 43_200_000) / 86_400_000
        guard days > 0 else { return nil }
        return days < 28 ? days * 48 : (days * 96 + 1461) / 2922 * 1461
    }

    /// An amount in the smallest unit of a scale that is at least its own, times a length.
    private static func cost(_ amount: ExactDecimal, scale: Int, times length: Int128) -> Int128? {
        guard let scaled = amount.coefficient(scale: scale) else { return nil }
        let (product, overflows) = scaled.multipliedReportingOverflow(by: length)
        return overflows ? nil : product
    }
}
