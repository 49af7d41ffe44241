public import FoundationEssentials

/// An access decision in words, with the statements behind it and nothing else.
public struct Explanation: Hashable, Sendable, Codable, CustomStringConvertible {
    /// One statement and its contribution.
    public struct Ground: Hashable, Sendable, Codable {
        /// Its contribution, in a few words.
        public var says: String
        /// The statement.
        public var by: Citation
    }

    /// The lineage.
    public var subscription: SubscriptionID
    /// The moment that was asked about.
    @EventTime public var at: Date
    /// The decision.
    public var decision: AccessDecision
    /// The statements behind the decision, the most immediate first.
    public var grounds: [Ground]
    /// Statements that cannot all be true.
    public var contradictions: [Contradiction]
    /// When to look again.
    @OptionalEventTime public var nextTransition: Date?

    private enum CodingKeys: String, CodingKey {
        case subscription, at, decision, grounds, contradictions
        case nextTransition = "next_transition"
    }

    /// Several lines: the decision, then one line for each ground. No account identifier is among them.
    public var description: String {
        var lines: [String] = []
        switch decision {
        case .granted(let until, let grant):
            let end = until.map { "until \($0.rfc3339)" } ?? "without end"
            lines.append(
                "\(subscription) at \(at.rfc3339): access \(end), by \(grant.basis.rawValue) of \(grant.product)"
            )
        case .denied(let since, let denial):
            let start = since.map { " since \($0.rfc3339)" } ?? ""
            lines.append("\(subscription) at \(at.rfc3339): no access\(start), \(denial.reason.rawValue)")
        }
        lines += grounds.map { "  \($0.says): \($0.by)" }
        for contradiction in contradictions {
            lines.append("  contradiction, \(contradiction.kind) on \(contradiction.subject):")
            lines += contradiction.statements.map { "    \($0)" }
        }
        if let nextTransition { lines.append("  look again at \(nextTransition.rfc3339)") }
        return lines.joined(separator: "\n")
    }
}

extension Explanation {
    /// Why an account has nothing of a purchase that it claims. The owner's access is not the claimant's to know.
    init(refusing conflicts: [Ownership.Conflict], of lineage: SubscriptionID, at time: Date) {
        let evidence = conflicts.map(\.by)
        self.init(
            subscription: lineage,
            at: time,
            decision: .denied(since: nil, because: .init(reason: .never, subscription: lineage, evidence: evidence)),
            grounds: evidence.map { Ground(says: "this account claims what belongs to another", by: $0) },
            contradictions: conflicts.map(Contradiction.init),
            nextTransition: nil
        )
    }
}

extension SubscriptionState {
    /// Why this lineage gives or denies access at `time`: the fewest statements that the decision rests on. Ask a ledger where
    /// transfers between accounts matter.
    public func explain(at time: Date) -> Explanation { explain(at: time, under: ownership) }

    func explain(at time: Date, under ownership: Ownership) -> Explanation {
        let moment = time.millisecondsSince1970
        let timeline = PeriodTimeline(self)
        let decision = access(at: moment, timeline)
        return Explanation(
            subscription: subscription,
            at: time,
            decision: decision,
            grounds: grounds(of: decision, at: moment, timeline),
            contradictions: contradictions(under: ownership),
            nextTransition: nextTransition(after: moment, timeline).map { Date(millisecondsSince1970: $0) }
        )
    }

    private func grounds(
        of decision: AccessDecision,
        at moment: Int64,
        _ timeline: PeriodTimeline
    ) -> [Explanation.Ground] {
        switch decision {
        case .granted(_, let grant):
            guard let period = timeline.granting(at: moment) else {
                return grant.evidence.map { .init(says: "\(grant.product) was bought", by: $0) }
            }
            var grounds: [Explanation.Ground] = []
            if grant.basis == .grace, let grace = period.grace {
                grounds.append(ground(grace))
            }
            if let cut = period.cut {
                grounds.append(.init(says: "ends \(RFC3339.string(cut.at)), \(cut.reason.rawValue)", by: cut.by))
            }
            let phase = period.fact.isProvisional ? "inferred" : period.fact.phase.rawValue
            let end = period.end == .max ? "without end" : "until \(RFC3339.string(period.end))"
            grounds.append(
                .init(says: "\(phase) period from \(RFC3339.string(period.start)) \(end)", by: period.by)
            )
            return grounds
        case .denied(_, let denial):
            let grace = timeline.lastBegun(by: moment).flatMap { timeline.periods[$0].grace }
            var grounds = denial.evidence.map { citation in
                if let grace, grace.by == citation { return ground(grace) }
                return Explanation.Ground(says: "ended, \(denial.reason.rawValue)", by: citation)
            }
            if let last = grounds.popLast() {
                let says =
                    denial.evidence.count > 1 || denial.reason == .renewalDue || denial.reason == .notBegun
                    ? "last known period or purchase" : last.says
                grounds.append(.init(says: says, by: last.by))
            }
            return grounds
        }
    }

    private func ground(_ grace: PeriodTimeline.Grace) -> Explanation.Ground {
        .init(says: "a charge failed, grace until \(RFC3339.string(grace.until))", by: grace.by)
    }
}

extension Date {
    var rfc3339: String { RFC3339.string(millisecondsSince1970) }
}
