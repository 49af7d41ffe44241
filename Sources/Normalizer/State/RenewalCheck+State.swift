extension RenewalCheck {
    /// Plans the first look-up after an event was applied: just after the announced period begins.
    ///
    /// - Returns: nil if the event announces no period, or one that has begun by its receipt.
    public init?(_ applied: AppliedEvent, policy: Policy = .standard) {
        guard let start = applied.nextCheckAt, let lineage = applied.event.subscription else { return nil }
        var announced: Fact.Period?
        for case .period(let period) in applied.event.facts where period.period.start == start {
            announced = period
        }
        guard let announced else { return nil }
        self.init(
            of: announced.period,
            announced.product,
            in: lineage,
            announcedAt: applied.event.assertedAt,
            policy: policy
        )
    }
}

extension SubscriptionState {
    /// True if a planned look-up has become pointless: since the announcement the period was stated again or taken
    /// back, or a later one was stated.
    public func settles(_ check: RenewalCheck) -> Bool {
        let timeline = PeriodTimeline(self)
        let start = check.period.startMilliseconds
        let announced = check.announcedAt.millisecondsSince1970
        guard let index = timeline.index(transaction: nil, start: start) else { return false }
        let subject = timeline.periods[index]
        if let newest = timeline.newest, newest.start > start + ServicePeriod.startTolerance { return true }
        if subject.start >= start - ServicePeriod.startTolerance {
            return subject.by.milliseconds > announced || subject.cut != nil || subject.isForestalled
        }
        // The announced period is unknown here, and the one before it has ended for good.
        return subject.cut.map { $0.by.milliseconds > announced } ?? false
    }
}
