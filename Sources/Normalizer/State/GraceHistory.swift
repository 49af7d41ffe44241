import FoundationEssentials

/// Failed charges that had grace, before the last one: each gave access in its time, by the start of the period whose renewal
/// failed.
package struct GraceHistory: Hashable, Sendable, Codable {
    package private(set) var assertions: [Int64: Assertion<Fact.Billing>] = [:]

    package init() {}

    fileprivate mutating func insert(_ assertion: Assertion<Fact.Billing>) {
        guard let start = assertion.value.periodStart?.millisecondsSince1970 else { return }
        if let known = assertions[start], !known.precedes(assertion) { return }
        assertions[start] = assertion
    }

    fileprivate mutating func remove(periodStart: Int64) { assertions[periodStart] = nil }

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
    /// Keeps a failed charge that had grace.
    mutating func noteGrace(_ assertion: Assertion<Fact.Billing>) { mergeGrace(Register(assertion), nil) }

    /// Joins the failed charges that had grace: the last one, and one for each period before.
    mutating func mergeGrace(_ other: Register<Fact.Billing>?, _ earlier: GraceHistory?) {
        guard other != nil || earlier != nil else { return }
        let last = [grace?.latest, other?.latest].compactMap(\.self)
        grace.merge(other)
        var history = earlierGraces ?? GraceHistory()
        for assertion in last + (earlier.map { Array($0.assertions.values) } ?? []) { history.insert(assertion) }
        if let start = grace?.value.periodStart { history.remove(periodStart: start.millisecondsSince1970) }
        earlierGraces = history.assertions.isEmpty ? nil : history
    }
}
