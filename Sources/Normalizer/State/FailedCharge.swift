import FoundationEssentials

/// A failed charge with grace, as one of several statements reports it: the one with the latest end of grace counts.
package struct LongestGrace: Assertable {
    package var billing: Fact.Billing

    package init(_ billing: Fact.Billing) { self.billing = billing }

    package var dominance: Int { billing.graceUntil.map { Int($0.millisecondsSince1970) } ?? .min }
    package var precedence: Int { 0 }

    package init(from decoder: any Decoder) throws { billing = try Fact.Billing(from: decoder) }
    package func encode(to encoder: any Encoder) throws { try billing.encode(to: encoder) }
}

extension SubscriptionState.Registers {
    /// The state of charging: the last statement. Grace that it left out is added from other statements of the same
    /// failed charge.
    var charging: Register<Fact.Billing>? {
        guard let billing, billing.value.isPartial, billing.value.status != .settled else { return billing }
        let longest = longestGrace.map { Register(Assertion($0.value.billing, by: $0.by)) }
        return [longest, grace].compactMap(\.self)
            .filter { $0.value.isOfSameCharge(as: billing.value) }
            .reduce(billing) { best, other in
                (other.value.graceUntil ?? .distantPast) > (best.value.graceUntil ?? .distantPast) ? other : best
            }
    }
}

extension Fact.Billing {
    /// True if both are about the renewal of one period.
    fileprivate func isOfSameCharge(as other: Self) -> Bool {
        guard let start = periodStart?.millisecondsSince1970, let otherStart = other.periodStart?.millisecondsSince1970
        else { return periodStart == other.periodStart }
        return start.distance(to: otherStart).magnitude <= UInt(ServicePeriod.startTolerance)
    }
}
