import FoundationEssentials
import LifecycleEvents
import WireJSON

/// A number from a set that Apple may extend; unknown ones are kept.
public protocol OpenCode: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral where RawValue == Int64 {
    /// Keeps the number as it is.
    init(rawValue: Int64)
}

extension OpenCode {
    /// Keeps the literal as it is.
    public init(integerLiteral value: Int64) {
        self.init(rawValue: value)
    }
}

// Apple's signed data has whole milliseconds of the years 1970…9999. Xcode's has fractions, which are dropped, and
// dates of the year 1 where there is none, which read as absent.
extension ObjectReader {
    func date(_ name: MemberName, isSigned: Bool) throws(JSONError) -> Int64 {
        let milliseconds = isSigned ? try int64(name) : try value(name).wholeMilliseconds()
        guard let milliseconds, Limits.milliseconds.contains(milliseconds) else {
            throw try value(name).error(.integerOutOfRange)
        }
        return milliseconds
    }

    func optionalDate(_ name: MemberName, isSigned: Bool) throws(JSONError) -> Date? {
        guard isSigned else {
            guard let milliseconds = try optionalValue(name)?.wholeMilliseconds() else { return nil }
            return Limits.milliseconds.contains(milliseconds) ? Date(millisecondsSince1970: milliseconds) : nil
        }
        guard let milliseconds = try optionalInt64(name) else { return nil }
        guard Limits.milliseconds.contains(milliseconds) else { throw try value(name).error(.integerOutOfRange) }
        return Date(millisecondsSince1970: milliseconds)
    }

    /// An amount in thousandths of a currency's unit.
    func optionalMilliunits(_ name: MemberName, currency: String?) throws(JSONError) -> Money? {
        guard let milliunits = try optionalInt64(name), let currency else { return nil }
        return ExactDecimal(coefficient: Int128(milliunits), scale: 3).map { Money($0, currency) }
    }

    func optionalOpen<Value: OpenValue>(
        _ name: MemberName,
        _ type: Value.Type = Value.self
    ) throws(JSONError) -> Value? {
        try optionalString(name).map(Value.init(rawValue:))
    }

    mutating func descriptiveOpen<Value: OpenValue>(
        _ name: MemberName,
        _ type: Value.Type = Value.self
    ) -> Value? {
        descriptiveString(name).map(Value.init(rawValue:))
    }

    func optionalCode<Value: OpenCode>(
        _ name: MemberName,
        _ type: Value.Type = Value.self
    ) throws(JSONError) -> Value? {
        try optionalInt64(name).map(Value.init(rawValue:))
    }
}

extension JSONValue {
    /// A number without its fraction; nil if it does not fit.
    fileprivate func wholeMilliseconds() throws(JSONError) -> Int64? {
        let decimal = try decimal()
        return Int64(exactly: decimal.coefficient / ExactDecimal.power(decimal.scale))
    }
}
