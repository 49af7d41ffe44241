public import FoundationEssentials

/// An exact decimal number: `coefficient` × 10^-`scale`, kept without trailing zeros.
///
/// Amounts of money never pass through a binary floating-point number.
public struct ExactDecimal: Hashable, Sendable, Comparable {
    /// The digits, with the sign.
    public var coefficient: Int128 { Int128(high) &<< 64 | Int128(low) }

    // Halves, because an `Int128` is aligned to sixteen octets, and doubles the memory of a value that holds one.
    private let high: Int64
    private let low: UInt64

    /// How many of the digits stand after the decimal point, 0…38.
    public let scale: Int

    private static var largestCoefficient: Int128 { 99_999_999_999_999_999_999_999_999_999_999_999_999 }

    /// Makes the number `coefficient` × 10^-`scale`; nil when `scale` is outside 0…38, or the number has more than 38 digits,
    /// which its text could not be read with.
    public init?(coefficient: Int128, scale: Int) {
        guard (0...38).contains(scale) else { return nil }
        var coefficient = coefficient
        var scale = scale
        while scale > 0, coefficient % 10 == 0 {
            coefficient /= 10
            scale -= 1
        }
        guard (-Self.largestCoefficient...Self.largestCoefficient).contains(coefficient) else { return nil }
        high = Int64(truncatingIfNeeded: coefficient &>> 64)
        low = UInt64(truncatingIfNeeded: coefficient)
        self.scale = scale
    }

    /// Makes a whole number.
    public init(_ whole: Int64) {
        high = whole < 0 ? -1 : 0
        low = UInt64(bitPattern: whole)
        scale = 0
    }

    /// Reads plain decimal notation (`-12.50`); nil for exponents, signs other than `-`, or more than 38 digits.
    public init?(_ text: some StringProtocol) {
        var digits = text.utf8[...]
        let isNegative = digits.first == UInt8(ascii: "-")
        if isNegative { digits = digits.dropFirst() }
        var coefficient: Int128 = 0
        var hasDigits = false
        var significant = 0
        var scale: Int?
        for octet in digits {
            if octet == UInt8(ascii: "."), scale == nil, hasDigits {
                scale = 0
                continue
            }
            guard case 0x30...0x39 = octet, significant < 38 else { return nil }
            coefficient = coefficient * 10 + Int128(octet - 0x30)
            hasDigits = true
            if coefficient != 0 { significant += 1 }
            if let places = scale { scale = places + 1 }
        }
        guard hasDigits, scale != 0 else { return nil }
        self.init(coefficient: isNegative ? -coefficient : coefficient, scale: scale ?? 0)
    }

    /// The number as Foundation's decimal.
    public var decimal: Decimal {
        Decimal(string: description) ?? .nan
    }

    /// The number with its sign turned.
    package var negated: ExactDecimal { ExactDecimal(coefficient: -coefficient, scale: scale) ?? self }

    /// True if the number on the left is smaller.
    public static func < (lhs: ExactDecimal, rhs: ExactDecimal) -> Bool {
        if lhs.scale == rhs.scale { return lhs.coefficient < rhs.coefficient }
        if lhs.coefficient.signum() != rhs.coefficient.signum() { return lhs.coefficient < rhs.coefficient }
        // Whole parts decide first, so that bringing both to one scale can only overflow where they already did.
        let (left, right) = (lhs.parts, rhs.parts)
        if left.whole != right.whole { return left.whole < right.whole }
        let places = max(lhs.scale, rhs.scale)
        return left.fraction * power(places - lhs.scale) < right.fraction * power(places - rhs.scale)
    }

    private var parts: (whole: Int128, fraction: Int128) {
        let (whole, fraction) = coefficient.quotientAndRemainder(dividingBy: Self.power(scale))
        return (whole, fraction)
    }

    /// The number in units of a scale; nil if that is coarser than its own, or the units have no 128-bit form.
    package func coefficient(scale other: Int) -> Int128? {
        guard other >= scale else { return nil }
        let (units, overflows) = coefficient.multipliedReportingOverflow(by: Self.power(other - scale))
        return overflows ? nil : units
    }

    package static func power(_ exponent: Int) -> Int128 {
        var power: Int128 = 1
        for _ in 0..<min(max(exponent, 0), 38) { power *= 10 }
        return power
    }
}

extension ExactDecimal: CustomStringConvertible {
    /// Plain decimal notation without trailing zeros, such as `9.99`, `-0.5` or `1200`.
    public var description: String {
        guard scale > 0 else { return String(coefficient) }
        let digits = String(coefficient.magnitude)
        let padded = String(repeating: "0", count: max(0, scale + 1 - digits.count)) + digits
        return (coefficient < 0 ? "-" : "") + padded.dropLast(scale) + "." + padded.suffix(scale)
    }
}

extension ExactDecimal: Codable {
    /// Reads a decimal string.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = ExactDecimal(try container.decode(String.self)) else {
            throw decoder.refusal("not a decimal string")
        }
        self = value
    }

    /// Writes a decimal string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}

/// An exact amount in one currency.
public struct Money: Hashable, Sendable, Codable, CustomStringConvertible {
    /// The amount in whole units of the currency (9.99, not 999). Negative where money goes back to the customer.
    public var amount: ExactDecimal

    /// The ISO 4217 code in upper case.
    public var currency: String

    /// Makes an amount.
    public init(_ amount: ExactDecimal, _ currency: String) {
        self.amount = amount
        self.currency = currency.uppercased()
    }

    /// For example `9.99 USD`.
    public var description: String { "\(amount) \(currency)" }
}

/// An amount with its role.
public struct Price: Hashable, Sendable, Codable {
    /// The meaning of an amount.
    @nonexhaustive
    public enum Role: String, Hashable, Sendable, Codable {
        /// Money that was taken.
        case charged
        /// The product's price, without a statement that it was taken now.
        case list
        /// The price that the next renewal will take.
        case renewal
        /// Money that went back.
        case refund
    }

    /// The amount, tax included where the store includes it.
    public var money: Money

    /// The meaning of the amount.
    public var role: Role

    /// The tax inside the amount; present only when the provider states it.
    public var tax: Money?

    /// Makes a price.
    public init(_ money: Money, _ role: Role, tax: Money? = nil) {
        self.money = money
        self.role = role
        self.tax = tax
    }

    private enum CodingKeys: String, CodingKey { case amount, currency, role, tax }

    /// Reads `{"amount":"9.99","currency":"USD","role":"charged"}`.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        money = Money(
            try container.decode(ExactDecimal.self, forKey: .amount),
            try container.decode(String.self, forKey: .currency)
        )
        role = try container.decode(Role.self, forKey: .role)
        tax = try container.decodeIfPresent(Money.self, forKey: .tax)
    }

    /// Writes the flat form that `init(from:)` reads.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(money.amount, forKey: .amount)
        try container.encode(money.currency, forKey: .currency)
        try container.encode(role, forKey: .role)
        try container.encodeIfPresent(tax, forKey: .tax)
    }
}
