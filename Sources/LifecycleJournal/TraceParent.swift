import LifecycleEvents

/// A request's place in a trace, from the header field `traceparent` (<https://www.w3.org/TR/trace-context/>).
///
/// The journal stores the delivery's trace with its news, so that a host's own request about that news belongs to the
/// same trace.
public struct TraceParent: Hashable, Sendable, CustomStringConvertible {
    /// The name of the header field.
    public static let header = "traceparent"

    private let trace: Substring
    private let span: Substring
    private let flags: Substring

    /// Reads a header field; nil for any that is not of version 00, since it has no meaning then.
    public init?(_ text: String) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "00", Self.isHexadecimal(parts[1], 32), Self.isHexadecimal(parts[2], 16),
            Self.isHexadecimal(parts[3], 2), parts[1].contains(where: { $0 != "0" }),
            parts[2].contains(where: { $0 != "0" })
        else { return nil }
        (trace, span, flags) = (parts[1], parts[2], parts[3])
    }

    init?(of delivery: Delivery) {
        guard let text = delivery.headers.values(Self.header).first else { return nil }
        self.init(text)
    }

    private init(trace: Substring, span: Substring, flags: Substring) {
        (self.trace, self.span, self.flags) = (trace, span, flags)
    }

    private static func isHexadecimal(_ part: Substring, _ count: Int) -> Bool {
        part.utf8.count == count
            && part.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    /// The trace, in 32 hexadecimal digits.
    public var traceID: String { String(trace) }

    /// Another place in the same trace, for a request that follows from this one.
    public func child() -> TraceParent {
        let digits = String(UInt64.random(in: 1...UInt64.max), radix: 16)
        return TraceParent(
            trace: trace,
            span: Substring(String(repeating: "0", count: 16 - digits.count) + digits),
            flags: flags
        )
    }

    /// The header field.
    public var description: String { "00-\(trace)-\(span)-\(flags)" }
}
