import FoundationEssentials

/// Failed charges that the store tries again without access, by the start of the period whose renewal failed. The first statement of
/// each shows since when.
package struct RetryHistory: Hashable, Sendable, Codable {
    package private(set) var assertions: [Int64: Assertion<Fact.Billing>] = [:]

    package init() {}

    fileprivate mutating func insert(_ assertion: Assertion<Fact.Billing>) {
        guard assertion.value.status == .suspended, let start = assertion.value.periodStart?.millisecondsSince1970
        else { return }
        if let known = assertions[start], known.precedes(assertion) { return }
        assertions[start] = assertion
    }

    package init(from decoder: any Decoder) throws {
        let list = try decoder.singleValueContainer().decode([Assertion<Fact.Billing>].self)
        for assertion in list { insert(assertion) }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(assertions.sorted { $0.key < $1.key }.map(\.value))
    }
}

extension SubscriptionState.Registers {
    /// Keeps a failed charge without access, if it names the period whose renewal failed.
    mutating func noteRetry(_ assertion: Assertion<Fact.Billing>) { mergeRetries([assertion]) }

    mutating func mergeRetries(_ other: RetryHistory?) {
        guard let other else { return }
        mergeRetries(other.assertions.values)
    }

    private mutating func mergeRetries(_ assertions: some Sequence<Assertion<Fact.Billing>>) {
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
