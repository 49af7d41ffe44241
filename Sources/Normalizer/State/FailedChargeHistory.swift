import FoundationEssentials

/// Which of the statements of one failed charge a history keeps.
package protocol FailedChargeChoice: Hashable, Sendable {
    static func includes(_ billing: Fact.Billing) -> Bool
    static func prefers(_ assertion: Assertion<Fact.Billing>, to known: Assertion<Fact.Billing>) -> Bool
}

/// The last statement shows how long a charge that failed left access.
package enum LastStatement: FailedChargeChoice {
    package static func includes(_ billing: Fact.Billing) -> Bool { true }

    package static func prefers(_ assertion: Assertion<Fact.Billing>, to known: Assertion<Fact.Billing>) -> Bool {
        known.precedes(assertion)
    }
}

/// The first statement shows since when the store tries a charge again without access.
package enum FirstWithoutAccess: FailedChargeChoice {
    package static func includes(_ billing: Fact.Billing) -> Bool { billing.status == .suspended }

    package static func prefers(_ assertion: Assertion<Fact.Billing>, to known: Assertion<Fact.Billing>) -> Bool {
        assertion.precedes(known)
    }
}

/// Failed charges by the start of the period whose renewal failed: one statement of each, whatever the order of arrival.
package struct FailedChargeHistory<Choice: FailedChargeChoice>: Hashable, Sendable, Codable {
    package private(set) var assertions: [Int64: Assertion<Fact.Billing>] = [:]

    package init() {}

    /// The statements in the order of the periods.
    package var inOrder: [Assertion<Fact.Billing>] { assertions.sorted { $0.key < $1.key }.map(\.value) }

    /// Leaves out a statement that names no period.
    fileprivate mutating func insert(_ assertion: Assertion<Fact.Billing>) {
        guard Choice.includes(assertion.value), let start = assertion.value.periodStart?.millisecondsSince1970 else {
            return
        }
        if let known = assertions[start], !Choice.prefers(assertion, to: known) { return }
        assertions[start] = assertion
    }

    fileprivate mutating func remove(periodStart: Int64) { assertions[periodStart] = nil }

    package init(from decoder: any Decoder) throws {
        let list = try decoder.singleValueContainer().decode([Assertion<Fact.Billing>].self)
        for assertion in list { insert(assertion) }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(inOrder)
    }
}

/// Failed charges that had grace, before the last one: each gave access in its time.
package typealias GraceHistory = FailedChargeHistory<LastStatement>

/// Failed charges that the store tries again without access.
package typealias RetryHistory = FailedChargeHistory<FirstWithoutAccess>

extension SubscriptionState.Registers {
    /// Keeps a failed charge that had grace.
    mutating func noteGrace(_ assertion: Assertion<Fact.Billing>) { mergeGrace(Register(assertion), nil) }

    /// Joins the failed charges that had grace: the last one, and one for each period before.
    mutating func mergeGrace(_ other: Register<Fact.Billing>?, _ earlier: GraceHistory?) {
        guard other != nil || earlier != nil else { return }
        let last = [grace?.latest, other?.latest].compactMap(\.self)
        grace.merge(other)
        var history = earlierGraces ?? GraceHistory()
        for assertion in last + (earlier?.inOrder ?? []) { history.insert(assertion) }
        if let start = grace?.value.periodStart { history.remove(periodStart: start.millisecondsSince1970) }
        earlierGraces = history.assertions.isEmpty ? nil : history
    }

    /// Keeps a failed charge without access, if it names the period whose renewal failed.
    mutating func noteRetry(_ assertion: Assertion<Fact.Billing>) { mergeRetries([assertion]) }

    mutating func mergeRetries(_ other: RetryHistory?) {
        if let other { mergeRetries(other.inOrder) }
    }

    private mutating func mergeRetries(_ assertions: [Assertion<Fact.Billing>]) {
        var history = retries ?? RetryHistory()
        for assertion in assertions { history.insert(assertion) }
        retries = history.assertions.isEmpty ? nil : history
    }

    /// The end of the grace that followed a period, if its renewal had any.
    func graceEnd(after periodStart: Date?) -> Int64? {
        guard let periodStart else { return nil }
        let last = grace.flatMap { $0.value.periodStart == periodStart ? $0.latest : nil }
        let grace = last ?? earlierGraces?.assertions[periodStart.millisecondsSince1970]
        return grace?.value.graceUntil?.millisecondsSince1970
    }
}
