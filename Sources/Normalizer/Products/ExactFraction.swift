/// A share of a whole: 0…1, exact.
public struct ExactFraction: Hashable, Sendable, Codable, Comparable, CustomStringConvertible {
    /// The part, in units of the whole; without common divisors.
    public let numerator: Int128
    /// The whole; positive.
    public let denominator: Int128

    /// Nothing.
    public static let none = ExactFraction(reduced: 0, 1)
    /// The whole.
    public static let whole = ExactFraction(reduced: 1, 1)

    /// The share of `numerator` in `denominator`, clamped to 0…1; nil when `denominator` is not positive.
    public init?(clamping numerator: Int128, _ denominator: Int128) {
        guard denominator > 0 else { return nil }
        let numerator = min(max(numerator, 0), denominator)
        let divisor = Self.greatestCommonDivisor(numerator, denominator)
        self.init(reduced: numerator / divisor, denominator / divisor)
    }

    private init(reduced numerator: Int128, _ denominator: Int128) {
        self.numerator = numerator
        self.denominator = denominator
    }

    /// This share of that share. Where the product has no 128-bit form, both are brought to a coarser one first, rounded down.
    package func multiplied(by other: ExactFraction) -> ExactFraction {
        // Crosswise, since only these pairs can be reduced.
        let (one, two) = (
            Self.greatestCommonDivisor(numerator, other.denominator),
            Self.greatestCommonDivisor(other.numerator, denominator)
        )
        let (top, tooHigh) = (numerator / one).multipliedReportingOverflow(by: other.numerator / two)
        let (bottom, tooLow) = (denominator / two).multipliedReportingOverflow(by: other.denominator / one)
        if !tooHigh, !tooLow { return ExactFraction(clamping: top, bottom) ?? .none }
        let (left, right) = (coarse, other.coarse)
        if left == self, right == other { return .none }
        return left.multiplied(by: right)
    }

    /// The nearest smaller share in units of 2⁻⁶².
    private var coarse: ExactFraction {
        let unit: Int128 = 1 << 62
        if denominator <= unit { return self }
        return applied(to: unit, .down).flatMap { ExactFraction(clamping: $0, unit) } ?? .none
    }

    /// This share of `amount` ÷ `divisor`, rounded to a whole number; nil when `divisor` is not positive, or when the
    /// whole divided by it has no 128-bit form.
    package func applied(to amount: Int128, dividedBy divisor: Int128 = 1, _ rounding: Rounding) -> Int128? {
        let (scaled, overflow) = denominator.multipliedReportingOverflow(by: divisor)
        guard !overflow, scaled > 0 else { return nil }
        if numerator == 0 || amount == 0 { return 0 }
        // The product takes up to 256 bits. It is smaller than 2¹²⁸ times the denominator, so the quotient fits.
        let product = amount.magnitude.multipliedFullWidth(by: numerator.magnitude)
        guard product.high < scaled.magnitude else { return nil }
        let (quotient, remainder) = scaled.magnitude.dividingFullWidth(product)
        let magnitude = rounding.rounded(quotient, remainder: remainder, of: scaled.magnitude)
        guard let whole = Int128(exactly: magnitude) else { return nil }
        return amount < 0 ? -whole : whole
    }

    /// True if the share on the left is smaller.
    public static func < (lhs: ExactFraction, rhs: ExactFraction) -> Bool {
        let left = lhs.numerator.magnitude.multipliedFullWidth(by: rhs.denominator.magnitude)
        let right = rhs.numerator.magnitude.multipliedFullWidth(by: lhs.denominator.magnitude)
        return (left.high, left.low) < (right.high, right.low)
    }

    /// For example `3/4`.
    public var description: String { "\(numerator)/\(denominator)" }

    /// Reads the form that ``description`` writes.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let parts = try container.decode(String.self).split(separator: "/", maxSplits: 1)
        guard parts.count == 2, let numerator = Int128(parts[0]), let denominator = Int128(parts[1]),
            let value = ExactFraction(clamping: numerator, denominator), numerator >= 0, numerator <= denominator
        else {
            throw decoder.refusal("not a fraction of 0…1")
        }
        self = value
    }

    /// Writes the form of ``description``.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    private static func greatestCommonDivisor(_ one: Int128, _ other: Int128) -> Int128 {
        var (larger, smaller) = (max(one, other), min(one, other))
        while smaller > 0 { (larger, smaller) = (smaller, larger % smaller) }
        return max(larger, 1)
    }
}

/// How a number that lies between two is brought to one of them. The signs mirror each other.
@nonexhaustive
public enum Rounding: String, Hashable, Sendable, Codable {
    /// To the one nearer to zero.
    case down
    /// To the one farther from zero.
    case up
    /// To the nearer; the middle goes away from zero.
    case halfUp = "half_up"
    /// To the nearer; the middle goes to the even one.
    case halfEven = "half_even"

    fileprivate func rounded(_ quotient: UInt128, remainder: UInt128, of divisor: UInt128) -> UInt128 {
        guard remainder > 0, quotient < .max else { return quotient }
        // Compared without doubling, which could overflow.
        let rest = divisor - remainder
        return switch self {
        case .down: quotient
        case .up: quotient + 1
        case .halfUp: remainder >= rest ? quotient + 1 : quotient
        case .halfEven: remainder > rest || (remainder == rest && quotient % 2 == 1) ? quotient + 1 : quotient
        }
    }
}
