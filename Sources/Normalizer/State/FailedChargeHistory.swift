import FoundationEssentials

/// The name of a failed charge. Not every store names the period whose renewal failed; the end of the grace that it led to is then
/// the same in every statement of it. A charge for a change within a period is no renewal, and has its own name.
package enum FailedChargeName: Hashable, Comparable, Sendable {
    case renewal(of: Int64)
    case grace(until: Int64)
    case change(TransactionID)

    fileprivate init?(_ billing: Fact.Billing) {
        if let start = billing.periodStart {
            self = .renewal(of: start.millisecondsSince1970)
        } else if let end = billing.graceUntil {
            self = .grace(until: end.millisecondsSince1970)
        } else {
            return nil
        }
    }
}

/// Which of the statements of one failed charge a history keeps.
package protocol FailedChargeChoice: Hashable, Sendable {
    static func name(of billing: Fact.Billing) -> FailedChargeName?
    static func includes(_ billing: Fact.Billing) -> Bool
    static func prefers(_ assertion: Assertion<Fact.Billing>, to known: Assertion<Fact.Billing>) -> Bool
}

extension FailedChargeChoice {
    package static func name(of billing: Fact.Billing) -> FailedChargeName? { FailedChargeName(billing) }
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
    package static func includes(_ billing: Fact.Billing) -> Bool {
        billing.status == .suspended && billing.periodStart != nil
    }

    package static func prefers(_ assertion: Assertion<Fact.Billing>, to known: Assertion<Fact.Billing>) -> Bool {
        assertion.precedes(known)
    }
}

/// A change within a period whose own charge failed is not paid for until that is. One that leaves open if there is access is kept
/// whatever it says of the change. The last statement that shows the change counts: another one does not say what is unpaid.
package enum UnpaidChange: FailedChargeChoice {
    package static func name(of billing: Fact.Billing) -> FailedChargeName? {
        billing.charge.map { .change($0.transaction) }
    }

    package static func includes(_ billing: Fact.Billing) -> Bool {
        billing.status == .unknown || billing.status != .settled && showsChange(billing)
    }

    package static func prefers(_ assertion: Assertion<Fact.Billing>, to known: Assertion<Fact.Billing>) -> Bool {
        let (shows, showed) = (showsChange(assertion.value), showsChange(known.value))
        return shows == showed ? known.precedes(assertion) : shows
    }

    private static func showsChange(_ billing: Fact.Billing) -> Bool { billing.charge?.changeStart != nil }
}

/// Failed charges: one statement of each, whatever the order of arrival.
package struct FailedChargeHistory<Choice: FailedChargeChoice>: Hashable, Sendable, Codable {
    package private(set) var assertions: [FailedChargeName: Assertion<Fact.Billing>] = [:]

    package init() {}

    /// The statements in the order of their names.
    package var inOrder: [Assertion<Fact.Billing>] { assertions.sorted { $0.key < $1.key }.map(\.value) }

    /// Leaves out a statement that does not tell its charge from others.
    fileprivate mutating func insert(_ assertion: Assertion<Fact.Billing>) {
        guard Choice.includes(assertion.value), let name = Choice.name(of: assertion.value) else { return }
        if let known = assertions[name], !Choice.prefers(assertion, to: known) { return }
        assertions[name] = assertion
    }

    fileprivate mutating func remove(_ name: FailedChargeName) { assertions[name] = nil }

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

/// Failed charges for changes within periods.
package typealias UnpaidChangeHistory = FailedChargeHistory<UnpaidChange>

extension Optional {
    /// A history without statements is nil, and not written into a stored state.
    fileprivate mutating func insert<Choice>(
        _ assertions: [Assertion<Fact.Billing>],
        leavingOut name: FailedChargeName? = nil
    ) where Wrapped == FailedChargeHistory<Choice> {
        var history = self ?? FailedChargeHistory()
        for assertion in assertions { history.insert(assertion) }
        if let name { history.remove(name) }
        self = history.assertions.isEmpty ? nil : history
    }
}

extension SubscriptionState.Registers {
    /// Keeps a failed charge for a change within a period.
    mutating func noteUnpaidChange(_ assertion: Assertion<Fact.Billing>) { unpaidChanges.insert([assertion]) }

    mutating func mergeUnpaidChanges(_ other: UnpaidChangeHistory?) { unpaidChanges.insert(other?.inOrder ?? []) }

    /// Keeps a failed charge without access, if it names the period whose renewal failed.
    mutating func noteRetry(_ assertion: Assertion<Fact.Billing>) { retries.insert([assertion]) }

    mutating func mergeRetries(_ other: RetryHistory?) { retries.insert(other?.inOrder ?? []) }

    /// Keeps a failed charge that had grace.
    mutating func noteGrace(_ assertion: Assertion<Fact.Billing>) { mergeGrace(Register(assertion), nil) }

    /// Joins the failed charges that had grace: the last one, and each one before.
    mutating func mergeGrace(_ other: Register<Fact.Billing>?, _ earlier: GraceHistory?) {
        guard other != nil || earlier != nil else { return }
        let last = [grace?.latest, other?.latest].compactMap(\.self)
        grace.merge(other)
        let name = (grace?.value).flatMap(FailedChargeName.init)
        earlierGraces.insert(last + (earlier?.inOrder ?? []), leavingOut: name)
    }

    /// The failed charges that had grace, the last one at the end.
    var graces: [Assertion<Fact.Billing>] { (earlierGraces?.inOrder ?? []) + [grace?.latest].compactMap(\.self) }

    /// All failed charges that are known, with grace and without.
    var failedCharges: [Assertion<Fact.Billing>] {
        let last = billing.flatMap { $0.value.status == .settled ? nil : $0.latest }
        return graces + (retries?.inOrder ?? []) + [last].compactMap(\.self)
    }

    /// The end of the grace that followed a period, if its renewal had any.
    func graceEnd(after periodStart: Date?) -> Int64? {
        guard let periodStart else { return nil }
        let last = grace.flatMap { $0.value.periodStart == periodStart ? $0.latest : nil }
        let grace = last ?? earlierGraces?.assertions[.renewal(of: periodStart.millisecondsSince1970)]
        return grace?.value.graceUntil?.millisecondsSince1970
    }
}
