import FoundationEssentials

extension SubscriptionState {
    /// True if an event reported the same before, and nothing different was true in between.
    ///
    /// - Parameters:
    ///   - prior: the state before the report.
    ///   - now: the state with the facts that come with the report.
    func wasReported(_ report: Report, prior: Situation, now: Situation) -> Bool {
        let subject = report.subject
        let reported = reported(on: subject, now.timeline)
        if isEndOfReportedRefund(report, prior.timeline) { return true }
        return ReportLog.Course(reported: reported, known: prior.known(subject, of: self)).contains(report.mark)
    }

    /// True if an event reports an arranged end, and the report that it was moved since came before.
    func wasEndMoved(since report: Report?, now: Situation) -> Bool {
        guard let report, report.mark.isOff else { return false }
        return reported(on: report.subject, now.timeline).contains {
            $0.isOff && report.mark.precedes($0) && !$0.means(report.mark)
        }
    }

    /// True if an event reports a beginning, states as well that it is over, and an event has reported that before.
    func wasEndReported(with event: NormalizedEvent, _ report: Report?, now: Situation) -> Bool {
        guard let report, report.isBeginning, event.statesEnd else { return false }
        return reported(on: report.subject, now.timeline).contains {
            $0.value == Report.Value.ended || $0.value == Report.Value.paused
        }
    }

    /// All reports about a subject, by any of its names.
    func reported(on subject: Report.Subject, _ timeline: PeriodTimeline) -> [Report.Mark] {
        let period = subject.isOfPeriod ? timeline.index(of: subject) : nil
        let names = period.map(timeline.transactions) ?? []
        let vicinity = subject.isOfPayment || timeline.isWhole ? nil : timeline.vicinity(of: subject, at: period)
        return reports.marks(of: subject, in: vicinity) { other in
            // A payment may be for several purchases, each of which has a name of its own in all channels.
            if subject.topic == .purchase { return other.transaction == subject.transaction }
            if subject.topic == .refund {
                return other.refund == subject.refund && other.mayStart(with: subject)
                    && mayPay(payment(of: other), with: payment(of: subject))
            }
            guard let period else { return other.isSamePeriod(as: subject) }
            return other.transaction.map { names.contains($0) } == true || timeline.contains(other, at: period)
        }
    }

    private func payment(of subject: Report.Subject) -> TransactionID {
        payment(named: subject.transaction ?? "", from: subject.start)
    }

    /// True for the end of a period by a refund that was reported: the refund's report includes its end. A period that ended by itself
    /// before it was refunded, or after its refund was reversed, has an end of its own.
    private func isEndOfReportedRefund(_ report: Report, _ timeline: PeriodTimeline) -> Bool {
        guard report.subject.topic == .course, report.mark.value == Report.Value.ended,
            let index = timeline.index(of: report.subject), let cut = timeline.periods[index].cut,
            cut.reason == .refunded,
            report.endReason == .refunded || max(cut.at, report.mark.at) < timeline.periods[index].end
        else { return false }
        let names = timeline.transactions(of: index).map(transaction(named:))
        return refunds.contains {
            names.contains(transaction(named: $0.value.value.transaction)) && reports.hasRefund($0.key)
        }
    }
}

extension Report.Subject {
    /// True if it names a period, or nothing; a payment is named by its transaction alone.
    fileprivate var isOfPeriod: Bool { !isOfPayment && topic != .owner }

    fileprivate var isOfPayment: Bool { topic == .refund || topic == .purchase }

    fileprivate func isSamePeriod(as other: Self) -> Bool {
        if let transaction, let name = other.transaction { return transaction == name }
        return (start == nil) == (other.start == nil) && mayStart(with: other)
    }

    /// True unless the two start at different times. Not every channel says when the period started.
    fileprivate func mayStart(with other: Self) -> Bool {
        guard let start, let moment = other.start else { return true }
        return abs(start - moment) <= ServicePeriod.startTolerance
    }
}

extension PeriodTimeline {
    fileprivate func index(of subject: Report.Subject) -> Int? {
        guard let index = index(transaction: subject.transaction, start: subject.start) else { return nil }
        // A statement about an unknown period is not about the one before it.
        guard subject.topic.isOfBeginning, let start = subject.start else { return index }
        let isNamed = subject.transaction.map { transactions(of: index).contains($0) } ?? false
        return isNamed || periods[index].start + ServicePeriod.startTolerance >= start ? index : nil
    }

    /// The names and starts of the subjects that may be the same as one.
    ///
    /// - Parameter index: the period of the subject; nil if it is unknown.
    fileprivate func vicinity(of subject: Report.Subject, at index: Int?) -> ReportPlaces.Vicinity {
        let tolerance = ServicePeriod.startTolerance
        let names = [subject.transaction].compactMap(\.self)
        guard let index else {
            let starts = subject.start.map { $0.addingClamped(-tolerance)...$0.addingClamped(tolerance) }
            return ReportPlaces.Vicinity(names: names, starts: starts)
        }
        // A step that falls into a period with the same end counts as well.
        let together = periods.indices.filter { $0 == index || periods[$0].end == periods[index].end }
        let first = periods[together.first ?? index].start
        let next = (together.last ?? index) + 1
        let last = next < periods.count ? periods[next].start.addingClamped(tolerance) : .max
        return ReportPlaces.Vicinity(
            names: names + transactions(of: index),
            starts: first.addingClamped(-tolerance)...max(first, last)
        )
    }

    /// True if a subject is the period at an index by its start, or is about a later step and falls into it.
    fileprivate func contains(_ subject: Report.Subject, at index: Int) -> Bool {
        guard let start = subject.start else { return subject.transaction == nil }
        let distance = start - periods[index].start
        if distance == 0 {
            guard subject.topic.isOfBeginning, subject.transaction != nil else { return true }
            // The rest of a purchase that was replaced begins when the end of that purchase is dated. The name decides.
            return (self.index(of: subject) ?? index) == index
        }
        guard !subject.topic.isOfBeginning else {
            // Beginnings, renewals and ends are distinguished by the name of their period, if it has one.
            let isNamed = subject.transaction != nil && periods[index].transaction != nil
            return !isNamed && abs(distance) <= ServicePeriod.startTolerance
        }
        if abs(distance) <= ServicePeriod.startTolerance { return true }
        guard let other = self.index(transaction: nil, start: start) else { return false }
        // A period that continues under another name until the same end renews once.
        return other == index || periods[other].end == periods[index].end
    }
}

extension Report.Topic {
    /// True if it is about the period itself, and not about a later step.
    fileprivate var isOfBeginning: Bool { self == .course || self == .payment }
}

extension Situation {
    /// The known statements about a subject, reported or not.
    fileprivate func known(_ subject: Report.Subject, of state: SubscriptionState) -> [Report.Mark] {
        func mark<Value>(_ register: Register<Value>?, _ value: (Value) -> String) -> [Report.Mark] {
            register.map { [Report.Mark(value($0.value), by: $0.by)] } ?? []
        }
        switch subject.topic {
        case .course: return timeline.index(of: subject).map(course) ?? []
        case .renewal: return mark(intent) { $0.isOn ? Report.Value.on : Report.Value.off }
        case .nextProduct: return mark(nextProduct) { _ in Report.Value.next(pendingProduct) }
        case .pause:
            return mark(pause) {
                $0.status == .scheduled ? Report.Value.pause($0.resumesAt) : Report.Value.none
            }
        case .price:
            return priceChanges.flatMap { _, register in
                mark(register) { $0.change.map(Report.Value.price) ?? Report.Value.none }
            }
        case .refund:
            // How much of a payment went back is another sum once a refund was undone, whichever name that has.
            guard subject.refund == nil, let transaction = subject.transaction else { return [] }
            return state.reversals(of: transaction).map { Report.Mark(Report.Value.reversed, by: $0.by) }
        case .payment, .failedCharge, .end, .purchase, .owner: return []
        }
    }

    private func course(of index: Int) -> [Report.Mark] {
        let period = timeline.periods[index]
        let products = period.products.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
        // The first product of a period counts from its start, however late it was stated.
        var marks = products.enumerated().map { position, product in
            let at = position == 0 ? period.start : product.value
            return Report.Mark(at: at, saidAt: product.value, value: Report.Value.begun(product.key))
        }
        if period.cut == nil, !period.fact.isProvisional {
            marks.append(Report.Mark(Report.Value.begun(period.fact.product), by: period.by))
        }
        marks += [period.cut, period.liftedCut].compactMap(\.self)
            .map { Report.Mark(Report.Value.ended($0.reason), at: $0.at, by: $0.by) }
        // Access that came back goes on, whatever the report was about: a payment that is not refunded any more, for example.
        for gap in period.gaps where gap.until < .max {
            marks.append(Report.Mark(Report.Value.ended(gap.reason), at: gap.from, by: gap.by))
            marks.append(Report.Mark(at: gap.until, saidAt: gap.until, value: Report.Value.begun(period.fact.product)))
        }
        return marks
    }
}

extension Report.Mark {
    /// - Parameter at: since when it was so; since it was said unless given.
    fileprivate init(_ value: String, at: Int64? = nil, by citation: Citation) {
        self.init(at: at ?? citation.milliseconds, saidAt: citation.milliseconds, value: value)
    }
}
