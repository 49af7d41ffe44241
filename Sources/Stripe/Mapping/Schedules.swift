import FoundationEssentials
import LifecycleEvents
import WireJSON

extension Mapping {
    private func subject(_ schedule: ScheduleObject, _ lineage: SubscriptionID?) -> EventSubject {
        EventSubject(
            lineage: lineage,
            account: account(customer: schedule.customer, metadata: nil)
        )
    }

    /// The product of a phase: Stripe names prices there, and their products only when it is asked to.
    private func product(_ phase: ScheduleObject.Phase) -> PriceObject? {
        guard let price = phase.items.primary?.price else { return nil }
        if price.product != nil { return price }
        return fetchedPrices[price.id] ?? price
    }

    private var fetchedPrices: [String: PriceObject] {
        guard let document = occasion.answers[LookupRequest.schedule]?.document,
            let schedule = try? ScheduleObject(document.root, addOns: policy.addOnProducts)
        else { return [:] }
        let prices = schedule.phases.flatMap(\.items).map(\.price)
        return Dictionary(prices.map { ($0.id, $0) }) { first, _ in first }
    }

    /// The arrangements of a schedule: a later product, an end, a pause. Each is news if it was not there before.
    func schedule(_ schedule: ScheduleObject) throws(JSONError) -> Outcome {
        guard let subscription = schedule.subscription else { return .none(.unchanged) }
        let lineage = lineage(subscription)
        guard schedule.status == nil || schedule.status == "active" || schedule.status == "not_started" else {
            return .none(.reportedElsewhere, lineage: lineage)
        }
        var subject = subject(schedule, lineage)
        let previous = try notification?.before()
        let oldPhases =
            try previous.map { (reader) throws(JSONError) in
                try ScheduleObject.phases(in: reader, addOns: policy.addOnProducts)
            } ?? nil
        var drafts: [Draft] = []

        if let next = changeScheduled(by: schedule, about: subject) {
            subject.facts = next.subject.facts
            // Only phases that differ from those before arrange something; all other updates repeat it.
            if previous == nil || oldPhases != nil { drafts.append(next) }
        } else if let old = oldPhases?.nextChange(after: now(of: schedule)), let from = product(old.from) {
            subject.facts.append(.nextProduct(Fact.NextProduct(nil)))
            drafts.append(changeReverted(to: from, at: old.to.start, in: lineage, about: subject))
        }
        if let event = try end(schedule, previous: previous, about: subject) { drafts.append(event) }
        if let pauses = schedule.pausesAt, pauses > now(of: schedule),
            previous == nil || previous?.has("pause_schedules") == true
        {
            subject.facts.append(.pause(Fact.PauseState(.scheduled, resumesAt: schedule.resumesAt?.date)))
            drafts.append(
                Draft(
                    identity(lineage, "pause_scheduled", pauses.wholeSeconds),
                    .pauseScheduled(LifecycleEvent.Pause(resumesAt: schedule.resumesAt?.date)),
                    about: subject,
                    effectiveAt: pauses
                )
            )
        }
        return drafts.isEmpty ? .none(.unchanged, lineage: lineage, facts: subject.facts) : .events(drafts)
    }

    /// The next change of products, if there is one.
    func changeScheduled(by schedule: ScheduleObject, about subject: EventSubject) -> Draft? {
        guard let lineage = subject.lineage,
            let change = schedule.phases.nextChange(after: now(of: schedule)), let from = product(change.from),
            let to = product(change.to)
        else { return nil }
        let isQuantity = from.id == to.id
        // The prices name the change: a look-up decides if their products are known.
        return Draft(
            .changeScheduled(lineage, from: ProductID(from.id), to: ProductID(to.id), at: change.to.start.date),
            .productChangeScheduled(
                LifecycleEvent.ProductChange(
                    from: from.productID,
                    to: to.productID,
                    direction: isQuantity ? .quantity : ItemChange.direction(from: from, to: to),
                    timing: .atPeriodEnd(change.to.start.date),
                    basis: isQuantity ? .store : .inferred,
                    fromBasePlan: from.product == nil ? nil : from.id,
                    toBasePlan: to.product == nil ? nil : to.id
                )
            ),
            about: subject,
            effectiveAt: change.to.start,
            with: .nextProduct(Fact.NextProduct(to.productID))
        )
    }

    private func changeReverted(
        to price: PriceObject,
        at time: Milliseconds,
        in lineage: SubscriptionID,
        about subject: EventSubject
    ) -> Draft {
        Draft(
            .changeReverted(lineage, product: ProductID(price.id), at: time.date),
            .productChangeReverted(
                LifecycleEvent.ProductChange(
                    to: price.productID,
                    direction: .unknown,
                    timing: .atPeriodEnd(time.date),
                    basis: .store,
                    toBasePlan: price.product == nil ? nil : price.id
                )
            ),
            about: subject,
            effectiveAt: time
        )
    }

    /// `end_behavior: cancel` ends the subscription with the last phase.
    private func end(
        _ schedule: ScheduleObject,
        previous: ObjectReader?,
        about subject: EventSubject
    ) throws(JSONError) -> Draft? {
        let before = try previous?.optionalString("end_behavior")
        guard previous == nil || before != nil, before != schedule.endBehavior,
            let end = schedule.phases.last?.end, let lineage = subject.lineage
        else { return nil }
        var subject = subject
        switch (before, schedule.endBehavior) {
        case (_, "cancel"?):
            let terms = RenewalTerms(willRenew: false)
            subject.renewal = terms
            // The last phase may be many periods long.
            subject.facts.append(.renewalIntent(Fact.RenewalIntent(terms, reason: .developer, endsAt: end.date)))
            return Draft(
                identity(lineage, "auto_renew", "off", schedule.id, end.wholeSeconds),
                .autoRenewDisabled(LifecycleEvent.AutoRenewDisabled(reason: .developer, accessUntil: end.date)),
                about: subject,
                effectiveAt: end
            )
        case ("cancel"?, _):
            // The end that it had arranged is off.
            let terms = RenewalTerms(willRenew: true)
            subject.renewal = terms
            subject.facts.append(.renewalIntent(Fact.RenewalIntent(terms)))
            return Draft(
                identity(lineage, "auto_renew", "on", schedule.id, created.wholeSeconds),
                .autoRenewEnabled,
                about: subject
            )
        default:
            return nil
        }
    }

    /// By the schedule's own clock, if it has one.
    private func now(of schedule: ScheduleObject) -> Milliseconds { schedule.clock ?? created }

    /// A released schedule takes its arrangements with it: another product, a pause. Changes that took effect before stay.
    ///
    /// An end may stay, too (`preserve_cancel_date`, https://docs.stripe.com/api/subscription_schedules/release), and the schedule does not
    /// say so. The subscription's own update does: it shows `cancel_at`.
    func scheduleEnded(_ schedule: ScheduleObject) -> Outcome {
        guard let subscription = schedule.subscription else { return .none(.unchanged) }
        let lineage = lineage(subscription)
        let now = now(of: schedule)
        var subject = subject(schedule, lineage)
        var drafts: [Draft] = []
        if let pauses = schedule.pausesAt, pauses > now { subject.facts.append(.pause(Fact.PauseState(.none))) }
        if let change = schedule.phases.nextChange(after: now), let from = product(change.from) {
            subject.facts.append(.nextProduct(Fact.NextProduct(nil)))
            drafts.append(changeReverted(to: from, at: change.to.start, in: lineage, about: subject))
        }
        return drafts.isEmpty ? .none(.unchanged, lineage: lineage, facts: subject.facts) : .events(drafts)
    }
}
