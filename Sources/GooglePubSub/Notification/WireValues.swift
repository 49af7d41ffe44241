import FoundationEssentials
import LifecycleEvents
import WireJSON

/// A number from a set that Google may extend; unknown ones are kept.
public protocol OpenNumber: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral
where RawValue == Int64 {
    /// Keeps the number as it is.
    init(rawValue: Int64)
}

extension OpenNumber {
    /// Keeps the literal as it is.
    public init(integerLiteral value: Int64) {
        self.init(rawValue: value)
    }
}

// The JSON of protocol buffers: a 64-bit integer is a string, a time is RFC 3339 with any number of digits after the
// second, and false, zero and empty members are left out.
extension ObjectReader {
    /// An identifier without which nothing can be said.
    func identifier(_ name: MemberName) throws(JSONError) -> String {
        let value = try value(name)
        let text = try value.string()
        guard !text.isEmpty else { throw value.error(.missing) }
        return text
    }

    func optionalIdentifier(_ name: MemberName) throws(JSONError) -> String? {
        guard let text = try optionalString(name), !text.isEmpty else { return nil }
        return text
    }

    func optionalToken(_ name: MemberName) throws(JSONError) -> PurchaseToken? {
        try optionalIdentifier(name).map(PurchaseToken.init)
    }

    func optionalTime(_ name: MemberName) throws(JSONError) -> Date? {
        guard let value = optionalValue(name) else { return nil }
        guard let milliseconds = RFC3339.milliseconds(try value.string()) else { throw value.error(.integerOutOfRange) }
        return Date(millisecondsSince1970: milliseconds)
    }

    func optionalMillisecondTime(_ name: MemberName) throws(JSONError) -> Date? {
        guard let milliseconds = try optionalWireInteger(name) else { return nil }
        guard Limits.milliseconds.contains(milliseconds) else { throw try value(name).error(.integerOutOfRange) }
        return Date(millisecondsSince1970: milliseconds)
    }

    /// A 64-bit integer, written as a string or as a number.
    func optionalWireInteger(_ name: MemberName) throws(JSONError) -> Int64? {
        guard let value = optionalValue(name) else { return nil }
        guard value.kind == .string else { return try value.int64() }
        let octets = try value.utf8Slice()
        let digits = octets.first == UInt8(ascii: "-") ? octets.dropFirst() : octets
        guard !digits.isEmpty, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw value.error(.notAnInteger)
        }
        guard let integer = Int64(String(decoding: octets, as: UTF8.self)) else {
            throw value.error(.integerOutOfRange)
        }
        return integer
    }

    func optionalOpen<Value: OpenValue>(_ name: MemberName, _ type: Value.Type = Value.self) throws(JSONError) -> Value?
    {
        try optionalString(name).map(Value.init(rawValue:))
    }

    func optionalNumber<Value: OpenNumber>(
        _ name: MemberName,
        _ type: Value.Type = Value.self
    ) throws(JSONError) -> Value? {
        try optionalWireInteger(name).map(Value.init(rawValue:))
    }

    /// True if an empty message is there: presence is all that it says.
    func isPresent(_ name: MemberName) -> Bool {
        optionalValue(name) != nil
    }

    func optionalReader(_ name: MemberName) throws(JSONError) -> ObjectReader? {
        guard let value = optionalValue(name) else { return nil }
        return try ObjectReader(value)
    }

    /// `Money`: whole units and billionths, each left out when zero, both of one sign.
    func optionalMoney(_ name: MemberName) throws(JSONError) -> Money? {
        guard let value = optionalValue(name) else { return nil }
        let reader = try ObjectReader(value)
        let units = try reader.optionalWireInteger("units")
        let nanos = try reader.optionalWireInteger("nanos")
        guard let currency = try reader.optionalIdentifier("currencyCode") else {
            if units == nil, nanos == nil { return nil }
            throw JSONError(.missing, path: "\(value.path).currencyCode", offset: value.offset)
        }
        guard (-999_999_999...999_999_999).contains(nanos ?? 0),
            (units ?? 0).signum() * (nanos ?? 0).signum() >= 0,
            let amount = ExactDecimal(
                coefficient: Int128(units ?? 0) * 1_000_000_000 + Int128(nanos ?? 0),
                scale: 9
            )
        else { throw value.error(.integerOutOfRange) }
        return Money(amount, currency)
    }
}

extension Limits {
    /// Items that one purchase may have, by Google's own bound.
    static let lineItems = 50
    /// A purchase token, which is opaque and has some 150 octets.
    static let purchaseTokenBytes = 2048
}
