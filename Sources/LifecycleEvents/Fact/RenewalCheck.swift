public import FoundationEssentials

/// A look-up that is due because a renewal was announced before the provider's own data shows it.
///
/// Some stores charge hours before a period begins. The announcement starts no period and resets no credits; this value
/// says when to ask the provider, and if asking is still of use. Keep at most one per ``id``.
public struct RenewalCheck: Hashable, Sendable, Codable, Identifiable {
    /// How long to wait for a provider whose data lags behind.
    public struct Policy: Hashable, Sendable, Codable {
        /// How long after the beginning of the period to ask first, in milliseconds.
        public var marginMilliseconds: Int64
        /// How long to wait after each fruitless look-up, in milliseconds. Their number bounds the attempts.
        public var delaysMilliseconds: [Int64]

        /// Makes a policy. Negative lengths count as none.
        public init(marginMilliseconds: Int64, delaysMilliseconds: [Int64]) {
            self.marginMilliseconds = marginMilliseconds
            self.delaysMilliseconds = delaysMilliseconds
        }

        /// A minute after the beginning, then after 1, 5, 15 and 60 minutes and 6 hours.
        public static let standard = Policy(
            marginMilliseconds: 60_000,
            delaysMilliseconds: [60_000, 300_000, 900_000, 3_600_000, 21_600_000]
        )
    }

    /// The outcome of a look-up.
    @nonexhaustive
    public enum Outcome: Hashable, Sendable {
        /// The new period has begun: process the renewal now.
        case begun
        /// The new period is paid and begins later: nothing to process before.
        case confirmed(RenewalCheck)
        /// The provider still shows the old period: ask again.
        case notYet(RenewalCheck)
        /// The provider shows something else: another product, or a later end of the same period. Process that.
        case changed
        /// Every attempt was fruitless: use the announcement's own dates, and alert a person.
        case exhausted
    }

    /// The lineage.
    public var subscription: SubscriptionID
    /// The announced period.
    public var period: ServicePeriod
    /// The announced product.
    public var product: ProductID
    /// When the renewal was announced.
    @EventTime public var announcedAt: Date
    /// How many look-ups were fruitless.
    public var attempts: Int
    /// When to ask.
    @EventTime public var dueAt: Date

    /// One name per lineage and period: a second announcement schedules no second check.
    public var id: String { "\(subscription)@\(RFC3339.string(period.startMilliseconds))" }

    private enum CodingKeys: String, CodingKey {
        case subscription, period, product, attempts
        case announcedAt = "announced_at"
        case dueAt = "due_at"
    }

    package init(
        of period: ServicePeriod,
        _ product: ProductID,
        in lineage: SubscriptionID,
        announcedAt: Date,
        policy: Policy
    ) {
        subscription = lineage
        self.period = period
        self.product = product
        self.announcedAt = announcedAt
        attempts = 0
        dueAt = period.start.adding(milliseconds: policy.marginMilliseconds)
    }

    /// Judges the provider's answer to a look-up at `time`.
    ///
    /// - Parameters:
    ///   - observed: the period that the provider shows as current.
    ///   - observedProduct: the product that it shows as current.
    ///   - known: the period that was current before the announcement.
    ///   - time: when the provider was asked.
    ///   - policy: the delays between look-ups, and the margin after the start of a period.
    public func outcome(
        observing observed: ServicePeriod,
        product observedProduct: ProductID,
        known: Fact.Period?,
        at time: Date,
        policy: Policy = .standard
    ) -> Outcome {
        let tolerance = ServicePeriod.startTolerance
        if observed.startMilliseconds >= period.startMilliseconds - tolerance {
            return observed.start <= time ? .begun : .confirmed(due(at: observed.start, policy))
        }
        if let known, known.product != observedProduct { return .changed }
        if observed.endMilliseconds >= period.endMilliseconds {
            // Paid already, and shown with the old beginning.
            return period.start <= time ? .begun : .confirmed(due(at: period.start, policy))
        }
        if let known, observed.startMilliseconds == known.period.startMilliseconds,
            observed.endMilliseconds > known.period.endMilliseconds
        {
            return .changed
        }
        if time < period.start { return .notYet(due(at: period.start, policy)) }
        guard policy.delaysMilliseconds.indices.contains(attempts) else { return .exhausted }
        var next = self
        next.dueAt = time.adding(milliseconds: policy.delaysMilliseconds[attempts])
        next.attempts = attempts + 1
        return .notYet(next)
    }

    private func due(at start: Date, _ policy: Policy) -> RenewalCheck {
        var check = self
        check.dueAt = start.adding(milliseconds: policy.marginMilliseconds)
        return check
    }
}

extension Date {
    /// The sum, within the range of ``EventTime``; negative lengths count as none.
    fileprivate func adding(milliseconds: Int64) -> Date {
        let (sum, overflow) = millisecondsSince1970.addingReportingOverflow(max(milliseconds, 0))
        return Date(millisecondsSince1970: overflow ? Limits.milliseconds.upperBound : sum)
    }
}
