public import FoundationEssentials

/// A question about a purchase that only its provider can answer, with the time from which it is worth asking.
///
/// A lost notification leaves such a question. For example, a period ended without a notification, while the customer
/// has paid.
public struct OpenQuestion: Hashable, Sendable, Codable {
    /// Why to ask.
    public struct Reason: OpenValue {
        /// The name used in JSON and metrics.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A period that was charged ahead has begun, and nothing was stated since.
        public static let renewalCheck: Reason = "renewal_check"
        /// A period that was to renew has ended, and the store has not reported if it did.
        public static let renewalDue: Reason = "renewal_due"
        /// A period began hours ago, and neither its charge nor a failure of that was stated.
        public static let chargeDue: Reason = "charge_due"
        /// The charge for a change within a period failed, and the store has not said since if that takes the access.
        public static let changeFailed: Reason = "change_failed"
        /// A charge failed, access is over, and the store has not said how it ended.
        public static let chargeFailed: Reason = "charge_failed"
        /// There is grace, and no store said until when.
        public static let graceWithoutEnd: Reason = "grace_without_end"
        /// The subscription is paused, and may continue at any time, or was to continue by itself.
        public static let paused: Reason = "paused"
        /// An owner of the purchase was stated and nothing else, for example while its payment is pending.
        public static let unknownPurchase: Reason = "unknown_purchase"
        /// Two statements cannot both be so, see ``SubscriptionState/contradictions``.
        public static let contradiction: Reason = "contradiction"
        /// The store names the end of a purchase that runs, and no known period ends then.
        public static let unknownPeriod: Reason = "unknown_period"
        /// The host wants to know, see a journal's `askAgain(about:)`.
        public static let requested: Reason = "requested"

        /// How long to wait after the first answer that settles nothing; the time doubles with every further one. A store
        /// tries a failed charge again for weeks.
        public var interval: Duration {
            switch self {
            case .chargeFailed, .paused: .seconds(86_400)
            default: .seconds(3600)
            }
        }
    }

    /// Why to ask.
    public var reason: Reason
    /// The lineage to ask about: of several that are linked, the one that the newest period was stated for.
    public var subscription: SubscriptionID
    /// From when on an answer can be expected.
    @EventTime public var dueAt: Date

    package init(reason: Reason, subscription: SubscriptionID, dueAt: Date) {
        self.reason = reason
        self.subscription = subscription
        self.dueAt = dueAt
    }

    private enum CodingKeys: String, CodingKey {
        case reason, subscription
        case dueAt = "due_at"
    }
}

extension SubscriptionState {
    /// The questions about this purchase that only its provider can answer, the earliest due first. Some of it may lie in the future: a period
    /// that renews becomes a question an hour after its end, unless something is stated until then.
    ///
    /// A store may leave a customer whose charge failed a day or two of access without a word. An answer that shows the old
    /// period in that time is no loss, and the question stays open.
    ///
    /// A transfer between accounts may leave more, which `AccountLedger.openQuestions(of:)` knows.
    public var openQuestions: [OpenQuestion] { openQuestions(under: ownership) }

    func openQuestions(under ownership: Ownership) -> [OpenQuestion] {
        let timeline = PeriodTimeline(self)
        var questions: [(Int64, OpenQuestion.Reason)] = []
        if let newest = timeline.newest, !newest.fact.isProvisional, !newest.isForestalled, newest.cut == nil,
            !newest.isStatedOnceBegun, newest.by.milliseconds < newest.start
        {
            questions.append((newest.start.addingClamped(Self.minute), .renewalCheck))
        }
        questions += unstatedCharges(timeline)
        questions += unsettledEnd(timeline)
        if let billing = billing(timeline), billing.value.status == .grace,
            billing.value.graceUntil == nil || billing.value.isGraceInferred, charged(timeline)?.cut == nil
        {
            questions.append((billing.by.milliseconds.addingClamped(Self.hour), .graceWithoutEnd))
        }
        if periods.isEmpty, purchases.isEmpty, ends.isEmpty, registers.all.allSatisfy({ $0.registers.closure == nil }),
            let claimed = claims.values.map(\.latest.milliseconds).min()
        {
            questions.append((claimed.addingClamped(Self.hour), .unknownPurchase))
        }
        let stated = contradictions(under: ownership).filter { $0.kind != .linkAcrossEnvironments }
            .flatMap(\.statements).map(\.milliseconds).max()
        if let stated { questions.append((stated.addingClamped(Self.hour), .contradiction)) }
        let lineage = timeline.newest?.lineages.inOrder.first ?? subscription
        return questions.map { moment, reason in
            let limits = Limits.milliseconds
            let due = min(max(moment, limits.lowerBound), limits.upperBound)
            return OpenQuestion(reason: reason, subscription: lineage, dueAt: Date(millisecondsSince1970: due))
        }
        .sorted { $0.dueAt == $1.dueAt ? $0.reason.rawValue < $1.reason.rawValue : $0.dueAt < $1.dueAt }
    }

    private static let minute: Int64 = 60_000
    private static let hour: Int64 = 3_600_000

    /// The questions about the charges of periods that run now. A statement of the period from then on settles each of them: there may be
    /// nothing to wait for, as while the merchant collects nothing.
    private func unstatedCharges(_ timeline: PeriodTimeline) -> [(Int64, OpenQuestion.Reason)] {
        guard let last = timeline.periods.last, billing(timeline).map({ $0.value.status == .settled }) ?? true else {
            return []
        }
        let runningNow = timeline.periods.suffix(PeriodTimeline.maximumBeside).filter { $0.end > last.start }
        func first(_ due: (PeriodTimeline.Period) -> Int64?) -> Int64? {
            runningNow.compactMap { period in
                due(period).flatMap { period.by.milliseconds < $0 && $0 < period.accessEnd ? $0 : nil }
            }
            .min()
        }
        return [(first(unstatedCharge), .chargeDue), (first(failedChange), .changeFailed)].compactMap { due, reason in
            due.map { ($0, reason) }
        }
    }

    /// When the charge of a period should have been stated, if the store states a period before its charge, and neither that nor its
    /// failure is known.
    private func unstatedCharge(of period: PeriodTimeline.Period) -> Int64? {
        guard period.lineages.contains(where: \.store.rules.statesUnpaidPeriods), period.by.authority == .store,
            !period.fact.isProvisional, period.fact.phase != .trial, !isCharged(period)
        else { return nil }
        return max(period.start, period.firstStated ?? period.start).addingClamped(3 * Self.hour)
    }

    /// When the store should have said if the failed charge for a change within a period takes the access. The failure alone leaves
    /// that open, and the statement that says so may be lost.
    private func failedChange(within period: PeriodTimeline.Period) -> Int64? {
        period.lineages.compactMap { lineage -> Int64? in
            let known = registers[lineage]
            let failed = (known?.unpaidChanges?.inOrder ?? []).filter { failed in
                failed.value.status == .unknown && failed.by.milliseconds >= period.start
                    && failed.value.charge.map { !isPaid(transaction(named: $0.transaction)) } ?? false
            }
            let due = failed.map(\.by.milliseconds).max()?.addingClamped(Self.hour)
            return due.flatMap { (known?.billing?.by.milliseconds ?? .min) < $0 ? $0 : nil }
        }
        .max()
    }

    /// True if the charge of a period is known. A store's names the period; a relay's may not, and was made within it.
    private func isCharged(_ period: PeriodTimeline.Period) -> Bool {
        period.refundedAt != nil
            || charges.values.contains { charge in
                let at = charge.value.at.millisecondsSince1970
                return charge.value.periodStart.map { $0.millisecondsSince1970 == period.start }
                    ?? (charge.by.authority != .store && period.start <= at && at < period.end)
            }
    }

    /// The question that the end of the last access leaves open.
    private func unsettledEnd(_ timeline: PeriodTimeline) -> [(Int64, OpenQuestion.Reason)] {
        let ends = timeline.periods.filter { $0.accessEnd > $0.start }.map(\.accessEnd)
        guard let end = ends.max(), end < .max else { return [] }
        // An end may be dated later, and leaves nothing open either.
        let last = timeline.periods.compactMap(\.cut?.at).reduce(end, max)
        guard case .denied(_, let denial) = access(at: last, timeline) else { return [] }
        switch denial.reason {
        case .renewalDue: return [(end.addingClamped(Self.hour), .renewalDue)]
        case .billing:
            let cut = charged(timeline)?.cut
            let isOver = cut.map { !$0.isOfPurchase && $0.reason != .paused } ?? false
            guard !isOver, let billing = billing(timeline), billing.value.status != .settled else { return [] }
            // A charge that failed before the end is tried again by then.
            let isTriedAgain = billing.value.status == .suspended && billing.by.milliseconds >= end
            let since = max(end, billing.by.milliseconds)
            return [(since.addingClamped(isTriedAgain ? 24 * Self.hour : Self.hour), .chargeFailed)]
        case .paused:
            guard let pause = pause(timeline) else { return [] }
            let moment = pause.value.resumesAt?.millisecondsSince1970.addingClamped(Self.hour)
            return [(moment ?? max(end, pause.by.milliseconds).addingClamped(24 * Self.hour), .paused)]
        default:
            // A statement about an earlier purchase, such as its refund, may be the first to show that there is a later one.
            guard let renewal = renewalIntent(timeline), let renewsAt = renewal.value.terms.renewsAt else { return [] }
            let (named, stated) = (renewsAt.millisecondsSince1970, renewal.by.milliseconds)
            guard max(end, stated).isClearly(before: named), !timeline.periods.contains(where: { $0.ends(at: named) })
            else { return [] }
            return [(max(end, stated).addingClamped(Self.hour), .unknownPeriod)]
        }
    }

    /// The question to a provider about this purchase.
    ///
    /// A transfer between accounts may have moved it, and their other purchases are known too: that is in the question of
    /// ``AccountLedger/question(about:at:handles:)``.
    ///
    /// - Parameters:
    ///   - time: the present.
    ///   - handles: how the store has to be asked, as far as it is known; that of the newest period is taken.
    public func question(at time: Date, handles: [PurchaseHandle] = []) -> LineageQuestion {
        question(at: time, handles: handles, under: ownership)
    }

    func question(at time: Date, handles: [PurchaseHandle], under ownership: Ownership) -> LineageQuestion {
        let timeline = PeriodTimeline(self)
        let newest = timeline.newest
        let names = newest?.lineages.inOrder ?? []
        var question = LineageQuestion(names.first ?? subscription, askedAt: time)
        question.names = names + lineages.filter { !names.contains($0) }
        question.accounts = ownership.statedAccounts
        question.product = newest?.fact.product ?? purchases.values.map(\.value.product).min()
        question.products = products(in: timeline)
        question.transactions = Set(charges.keys).union(transactionNames.keys).union(transactionNames.values)
        for case .transaction(let transaction) in periods.keys { question.transactions.insert(transaction) }
        question.starts = timeline.periods.map { Date(millisecondsSince1970: $0.start) }
        question.isSubscription = newest != nil || purchases.isEmpty
        question.since = timeline.firstHeard.map { Date(millisecondsSince1970: $0) }
        question.handle = question.names.lazy.compactMap { name in handles.first { $0.lineage == name } }.first
        return question
    }

    /// The products of the periods, and those that were stated as the next ones.
    private func products(in timeline: PeriodTimeline) -> Set<ProductID> {
        var products = Set(successions.compactMap(\.to))
        for period in timeline.periods {
            products.insert(period.fact.product)
            products.formUnion(period.products.keys)
        }
        for (_, registers) in registers.all {
            if let next = registers.nextProduct?.value.product { products.insert(next) }
            if let next = registers.intent?.value.terms.nextProduct { products.insert(next) }
        }
        return products
    }
}

extension PeriodTimeline.Period {
    /// True if it is stated to end at a moment, give or take the difference between two channels.
    fileprivate func ends(at moment: Int64) -> Bool {
        !end.isClearly(before: moment) && !moment.isClearly(before: end)
    }
}

extension PeriodTimeline {
    /// When the period began that ran as the first period was stated. Between it and the newest one anything may be lost.
    fileprivate var firstHeard: Int64? {
        guard let heard = periods.compactMap(\.firstStated).min() else { return nil }
        return (lastBegun(by: heard).map { periods[$0] } ?? periods.first)?.start
    }
}
