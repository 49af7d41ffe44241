/// How far a signed time may lie from the time of receipt, in milliseconds; nil for any distance.
package struct SignedTimeWindow: Sendable {
    package var maximumAge: Int64?
    package var maximumSkew: Int64?

    package init(maximumAge: Int64?, maximumSkew: Int64?) {
        self.maximumAge = maximumAge
        self.maximumSkew = maximumSkew
    }

    /// Refuses a time in seconds since 1970 that lies outside.
    ///
    /// - Parameter name: the time, such as "timestamp of header Stripe-Signature", for the message.
    package func check(seconds: Int64, receivedAt received: Int64, named name: String) throws(DeliveryError) {
        let (signed, overflows) = seconds.multipliedReportingOverflow(by: 1000)
        guard !overflows else { throw DeliveryError(.stale, "\(name) lies beyond the year 9999") }
        try checkSkew(of: signed, receivedAt: received, named: name)
        try checkAge(of: signed, receivedAt: received, named: name)
    }

    /// Refuses a time, in milliseconds since 1970, that lies too far after the time of receipt.
    package func checkSkew(
        of signed: Int64,
        receivedAt received: Int64,
        named name: String,
        isAuthentic: Bool = false
    ) throws(DeliveryError) {
        let ahead = signed.subtractingClamped(received)
        guard let maximumSkew, ahead > max(maximumSkew, 0) else { return }
        throw DeliveryError(
            .stale,
            "\(name) lies \(DurationText.of(ahead)) after the time of receipt, at most \(DurationText.of(maximumSkew)) "
                + "is allowed: is this host's clock right?",
            isAuthentic: isAuthentic
        )
    }

    /// Refuses a time, in milliseconds since 1970, that lies too far before the time of receipt.
    package func checkAge(
        of signed: Int64,
        receivedAt received: Int64,
        named name: String,
        isAuthentic: Bool = false
    ) throws(DeliveryError) {
        let age = received.subtractingClamped(signed)
        guard let maximumAge, age > maximumAge else { return }
        throw DeliveryError(
            .stale,
            "\(name) lies \(DurationText.of(age)) before the time of receipt, at most \(DurationText.of(maximumAge)) "
                + "is allowed: an old delivery was sent again, or this host's clock is wrong",
            isAuthentic: isAuthentic
        )
    }
}

/// A length of time for people, such as "323 d 18 h".
package enum DurationText {
    private static let units: [(milliseconds: Int64, name: String)] = [
        (86_400_000, "d"), (3_600_000, "h"), (60_000, "min"), (1000, "s"), (1, "ms"),
    ]

    /// The two largest units that are not zero; the rest is dropped.
    package static func of(_ milliseconds: Int64) -> String {
        guard milliseconds > 0 else { return "0 s" }
        guard let first = units.firstIndex(where: { milliseconds >= $0.milliseconds }) else { return "0 s" }
        var text = "\(milliseconds / units[first].milliseconds) \(units[first].name)"
        if first + 1 < units.count {
            let rest = milliseconds % units[first].milliseconds / units[first + 1].milliseconds
            if rest > 0 { text += " \(rest) \(units[first + 1].name)" }
        }
        return text
    }
}

extension Int64 {
    fileprivate func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflows) = subtractingReportingOverflow(other)
        return overflows ? (self < other ? .min : .max) : difference
    }
}
