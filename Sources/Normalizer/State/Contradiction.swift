/// Two statements that cannot both be true. The state follows one of them, always the same one; this says that a person
/// should ask the store again.
public struct Contradiction: Hashable, Sendable, Codable {
    /// The kind of contradiction.
    public struct Kind: OpenValue {
        /// The name used in JSON and metrics.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// Two statements of one moment and of equal authority differ.
        public static let simultaneousStatements: Kind = "simultaneous_statements"
        /// A period ended before the end that another statement has, and no refund, replacement or revocation explains it.
        public static let endedBeforePaidEnd: Kind = "ended_before_paid_end"
        /// An end was stated that a later statement of the period itself took back.
        public static let endTakenBack: Kind = "end_taken_back"
        /// A period ends before it begins. It gives no access.
        public static let negativePeriod: Kind = "negative_period"
        /// A link leads to a lineage of another environment. It is not followed.
        public static let linkAcrossEnvironments: Kind = "link_across_environments"
        /// Another account claims the lineage.
        public static let ownership: Kind = "ownership"
    }

    /// The kind of contradiction.
    public var kind: Kind
    /// The subject: the name of a fact, with a transaction or a start where it has one.
    public var subject: String
    /// The statements that contradict each other; the one that the state follows comes first.
    public var statements: [Citation]
}

extension Contradiction {
    init(_ conflict: Ownership.Conflict) {
        self.init(kind: .ownership, subject: "owner", statements: [conflict.by])
    }
}

extension SubscriptionState {
    /// Everything stated about this lineage that cannot be so at once.
    public var contradictions: [Contradiction] { contradictions(under: ownership) }

    func contradictions(under ownership: Ownership) -> [Contradiction] {
        var found: [Contradiction] = []
        func compare<Value: Assertable>(_ register: Register<Value>?, _ subject: @autoclosure () -> String) {
            guard let register, let rival = register.rival, !rival.value.means(register.value) else { return }
            found.append(
                Contradiction(
                    kind: .simultaneousStatements,
                    subject: subject(),
                    statements: [register.by, rival.by]
                )
            )
        }
        for key in periods.keysInOrder { compare(periods[key]?.statement, "period \(key.name)") }
        for key in ends.keysInOrder { compare(ends[key], "period_ended \(key.name)") }
        for key in refunds.keys.sorted() { compare(refunds[key], "refund \(key.refund ?? key.transaction.rawValue)") }
        for key in charges.keysInOrder { compare(charges[key], "charge \(key)") }
        for entry in purchases.valuesInOrder {
            entry.registers.forEach { compare($0, "purchase \($0.value.transaction)") }
        }
        for lineage in lineages {
            compare(registers[lineage]?.intent, "renewal_intent")
            compare(registers[lineage]?.nextProduct, "next_product")
            compare(registers[lineage]?.billing, "billing")
            compare(registers[lineage]?.pause, "pause")
            compare(registers[lineage]?.closure, "closure")
            compare(registers[lineage]?.priceChange, "price_change")
        }
        compare(transfer, "transfer")
        let timeline = PeriodTimeline(self)
        for period in timeline.periods { found += contradictions(in: period, of: timeline) }
        found += ownership.conflicts.map(Contradiction.init)
        for _ in foreignLinks {
            found.append(Contradiction(kind: .linkAcrossEnvironments, subject: "link", statements: []))
        }
        return found
    }

    private func contradictions(in period: PeriodTimeline.Period, of timeline: PeriodTimeline) -> [Contradiction] {
        var found: [Contradiction] = []
        let subject = "period \(period.transaction?.rawValue ?? RFC3339.string(period.start))"
        if period.end < period.start {
            found.append(Contradiction(kind: .negativePeriod, subject: subject, statements: [period.by]))
        }
        if let lifted = period.liftedCut, !lifted.by.provider.rules.endsPeriodsAtOnce,
            !period.isTakenBackInPassing(lifted), !period.isUnpaid(by: lifted), !isUndone(lifted, of: period)
        {
            found.append(Contradiction(kind: .endTakenBack, subject: subject, statements: [period.by, lifted.by]))
        }
        // A store that refunded the money may report the end by itself, without the reason, and date it earlier. An end
        // of the whole purchase does not contradict the period that it cuts, even if it is also stated of the period.
        // Nor does a statement that has both the paid end and an earlier one contradict itself.
        // A shared period ends with the sharing.
        if let cut = period.cut, !cut.isOfPurchase, !isOver(period, by: cut.at), cut.at < period.end,
            cut.by != period.by, !period.fact.isProvisional, period.refundedAt == nil,
            !cut.by.provider.rules.endsPeriodsAtOnce, !timeline.isFollowedAtOnce(period, endedAt: cut.at),
            !period.isUnpaid(by: cut), period.fact.ownership != .familyShared
        {
            switch cut.reason {
            case .refunded, .replaced, .developer: break
            case .customer, .billing, .priceIncreaseDeclined, .productUnavailable, .paused, .unknown:
                found.append(
                    Contradiction(kind: .endedBeforePaidEnd, subject: subject, statements: [cut.by, period.by])
                )
            }
        }
        return found
    }

    /// True if an end went with a refund that was undone, and with it the end.
    private func isUndone(_ lifted: PeriodTimeline.Cut, of period: PeriodTimeline.Period) -> Bool {
        lifted.reason == .refunded && period.transaction.map { isRestored($0, since: lifted.by) } == true
    }

    /// True if the purchase of a period is over as a whole by a moment.
    private func isOver(_ period: PeriodTimeline.Period, by moment: Int64) -> Bool {
        period.lineages.contains { lineage in
            registers[lineage]?.closure?.value.at.map { $0.millisecondsSince1970 <= moment } ?? false
        }
    }
}

extension SubscriptionState.PeriodKey {
    fileprivate var name: String {
        switch self {
        case .transaction(let name): name.rawValue
        case .item(let milliseconds, let item):
            "\(item) \(RFC3339.string(min(max(milliseconds, 0), Limits.milliseconds.upperBound)))"
        case .start(let milliseconds), .unpaid(let milliseconds):
            RFC3339.string(min(max(milliseconds, 0), Limits.milliseconds.upperBound))
        }
    }
}
