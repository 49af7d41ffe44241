public import FoundationEssentials

/// A point in time kept to the whole millisecond, written in JSON as RFC 3339 in UTC (`2026-01-31T09:30:00.000Z`).
///
/// Two times are equal when their milliseconds are. A `Date` outside the years 1970…9999 is clamped to them: no adapter
/// accepts another time, and arithmetic with one could overflow.
@propertyWrapper
public struct EventTime: Hashable, Sendable, Codable {
    package var milliseconds: Int64

    /// Keeps `wrappedValue` rounded to the millisecond.
    public init(wrappedValue: Date) {
        milliseconds = wrappedValue.millisecondsSince1970
    }

    /// The time, with nothing below the millisecond.
    public var wrappedValue: Date {
        get { Date(millisecondsSince1970: milliseconds) }
        set { milliseconds = newValue.millisecondsSince1970 }
    }

    /// Reads an RFC 3339 string; throws `DecodingError.dataCorrupted` for anything else, and for a time outside the years
    /// 1970…9999.
    public init(from decoder: any Decoder) throws {
        let text = try decoder.singleValueContainer().decode(String.self)
        guard let milliseconds = RFC3339.milliseconds(text) else {
            throw decoder.refusal("not an RFC 3339 time of the years 1970 to 9999")
        }
        self.milliseconds = milliseconds
    }

    /// Writes the RFC 3339 string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(RFC3339.string(milliseconds))
    }
}

/// An ``EventTime`` that may be absent; absent times are left out of JSON rather than written as null.
@propertyWrapper
public struct OptionalEventTime: Hashable, Sendable, Codable {
    private var time: EventTime?

    /// Keeps `wrappedValue`, if there is one, rounded to the millisecond.
    public init(wrappedValue: Date?) {
        time = wrappedValue.map(EventTime.init(wrappedValue:))
    }

    /// The time, with nothing below the millisecond.
    public var wrappedValue: Date? {
        get { time?.wrappedValue }
        set { time = newValue.map(EventTime.init(wrappedValue:)) }
    }

    /// Reads an RFC 3339 string.
    public init(from decoder: any Decoder) throws {
        time = try EventTime(from: decoder)
    }

    /// Writes the RFC 3339 string.
    public func encode(to encoder: any Encoder) throws {
        try time?.encode(to: encoder)
    }
}

// The synthesised `Codable` of a type with an `@OptionalEventTime` member picks these overloads. They make the member
// absent rather than null.
extension KeyedDecodingContainer {
    /// Reads an absent or null member as no time.
    public func decode(_ type: OptionalEventTime.Type, forKey key: Key) throws -> OptionalEventTime {
        try decodeIfPresent(type, forKey: key) ?? OptionalEventTime(wrappedValue: nil)
    }
}

extension KeyedEncodingContainer {
    /// Leaves an absent time out.
    public mutating func encode(_ value: OptionalEventTime, forKey key: Key) throws {
        guard let date = value.wrappedValue else { return }
        try encode(EventTime(wrappedValue: date), forKey: key)
    }
}

extension Date {
    package init(millisecondsSince1970 milliseconds: Int64) {
        self.init(timeIntervalSince1970: Double(milliseconds) / 1000)
    }

    package var millisecondsSince1970: Int64 {
        let exact = (timeIntervalSince1970 * 1000).rounded()
        guard let milliseconds = Int64(exactly: exact) else {
            return exact > 0 ? Limits.milliseconds.upperBound : Limits.milliseconds.lowerBound
        }
        return min(max(milliseconds, Limits.milliseconds.lowerBound), Limits.milliseconds.upperBound)
    }
}
