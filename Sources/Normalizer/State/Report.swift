import FoundationEssentials

/// The subject of an event, and the event's statement about it.
///
/// It follows from the kind and the facts of the event alone, never from a state's knowledge. Two channels report one
/// fact with equal reports, apart from their times.
package struct Report: Hashable, Sendable {
    package enum Topic: String, Hashable, Sendable, Codable {
        /// The course of a period: begun with a product, paused, ended.
        case course
        /// The arrival of the payment for a period, if the store states payments by themselves.
        case payment
        case renewal
        case nextProduct = "next_product"
        case pause
        case failedCharge = "failed_charge"
        case end
        case price
        case refund
        case purchase
        case owner
    }

    /// The subject of a report. A report about a period names it as facts do: by transaction, by start, or by both.
    package struct Subject: Hashable, Sendable {
        package var topic: Topic
        package var transaction: TransactionID?
        package var start: Int64?
        /// The store's name of a refund.
        package var refund: String?
    }

    /// One statement about a subject, with the time since which it is true, and the time when it was made.
    ///
    /// A period begins and ends at its stated time, whenever that is stated. If two statements take effect at one
    /// moment, as under a clock that stands still, the one that was made later is later. Every other statement is true
    /// from the time it is made, as in the state's registers.
    package struct Mark: Hashable, Sendable, Comparable {
        package var at: Int64
        package var saidAt: Int64
        package var value: String

        package static func < (lhs: Self, rhs: Self) -> Bool {
            (lhs.at, lhs.saidAt, lhs.value) < (rhs.at, rhs.saidAt, rhs.value)
        }

        /// True if it was true before another.
        func precedes(_ other: Self) -> Bool { (at, saidAt) < (other.at, other.saidAt) }

        /// True if it says that renewal was turned off.
        var isOff: Bool { value.splitAtBlank.name == Value.off }

        /// True if it says the same as another. A relay may leave out a product's plan, the end of a pause, or an arranged end.
        func means(_ other: Self) -> Bool {
            if value == other.value { return true }
            let (one, two) = (value.splitAtBlank, other.value.splitAtBlank)
            guard one.name == two.name else { return false }
            switch one.name {
            case Value.pauseScheduled, Value.off: return one.detail.isEmpty || two.detail.isEmpty
            case Value.begun, Value.next:
                return ProductID(one.detail).differsInPlanAlone(from: ProductID(two.detail))
            default: return false
            }
        }
    }

    package enum Value {
        static let begun = "begun"
        static let paused = "paused"
        static let ended = "ended"
        static let on = "on"
        static let off = "off"
        static let none = "none"
        static let next = "to"
        static let pauseScheduled = "scheduled"
        static let refunded = "refunded"
        static let reversed = "reversed"
        static let stated = "stated"

        static func begun(_ product: ProductID) -> String { "\(begun) \(product)" }
        static func off(until end: Date?) -> String { end.map { "\(off) \(seconds($0))" } ?? off }
        static func ended(_ reason: LifecycleEvent.Expired.Reason) -> String { reason == .paused ? paused : ended }
        static func next(_ product: ProductID?) -> String { product.map { "\(next) \($0)" } ?? none }

        static func pause(_ resumesAt: Date?) -> String {
            resumesAt.map { "\(pauseScheduled) \(seconds($0))" } ?? pauseScheduled
        }

        /// A relay knows of no attempts: its report is the first.
        static func failed(_ billing: Fact.Billing) -> String {
            let charge = billing.charge
            return [
                billing.status.rawValue, billing.graceUntil.map(seconds) ?? "", String(max(charge?.attempt ?? 1, 1)),
                charge?.actionRequired == true ? "action_required" : "",
            ].joined(separator: " ")
        }

        /// A price before the change is left out, since not every channel knows it.
        static func price(_ change: LifecycleEvent.PriceChange) -> String {
            [
                change.stage.rawValue, change.new?.description ?? "", change.effectiveAt.map(seconds) ?? "",
                change.consentRequired ? "consent_required" : "",
            ].joined(separator: "/")
        }

        static func refunded(_ scope: LifecycleEvent.Refund.Scope) -> String {
            switch scope {
            case .full: "\(refunded) full"
            case .fraction(let fraction): "\(refunded) fraction \(fraction)"
            case .quantity(let quantity): "\(refunded) quantity \(quantity)"
            case .amount(let amount): "\(refunded) amount \(amount)"
            }
        }

        static func seconds(_ date: Date) -> String {
            String(date.millisecondsSince1970.flooredQuotient(dividingBy: 1000))
        }
    }

    package var subject: Subject
    package var mark: Mark
    /// The reason of an end that names its period.
    private(set) var endReason: LifecycleEvent.Expired.Reason?

    /// True if it says that a period began. A payment is no beginning: it was made whatever ended since.
    var isBeginning: Bool { subject.topic == .course && mark.value.splitAtBlank.name == Value.begun }
}

extension Report {
    /// The report of an event; nil for events that no state keeps, such as a notice. A second delivery of those is
    /// known by its id alone.
    package init?(_ event: NormalizedEvent) {
        var subject: Subject
        // By the time of the statement, as in the registers, which decide the present state.
        var at = event.assertedAt
        let value: String
        var endReason: LifecycleEvent.Expired.Reason?
        switch event.event {
        case .productChanged(let change) where change.isBeside:
            return nil
        case .started(let started) where started.origin == .temporary:
            return nil
        case .started, .renewed, .productChanged:
            guard let period = event.statedPeriod ?? event.inferredPeriod else { return nil }
            subject = Subject(event.isPayment ? .payment : .course, period)
            (at, value) = (max(event.effectiveAt, period.period.start), Value.begun(period.product))
        case .expired, .paused, .revoked:
            guard let end = event.statedEnd else {
                // The end of a purchase no period of which is named.
                subject = event.subject(.course)
                (at, value) = (event.effectiveAt, event.kind == .paused ? Value.paused : Value.ended)
                break
            }
            subject = Subject(topic: .course, transaction: end.transaction, start: end.start.millisecondsSince1970)
            (at, value, endReason) = (end.at, Value.ended(end.reason), end.reason)
        case .autoRenewDisabled(let disabled):
            // An end that need not be the period's may be moved, which is another fact.
            let end = event.provider.rules.endsPeriodsAtOnce ? disabled.accessUntil : nil
            (subject, value) = (event.subject(.renewal), Value.off(until: end))
        case .autoRenewEnabled:
            (subject, value) = (event.subject(.renewal), Value.on)
        case .productChangeScheduled(let change):
            (subject, value) = (event.subject(.nextProduct), Value.next(change.to))
        case .productChangeReverted:
            (subject, value) = (event.subject(.nextProduct), Value.next(nil))
        case .pauseScheduled(let pause):
            (subject, value) = (event.subject(.pause), Value.pause(pause.resumesAt))
        case .billingIssue, .gracePeriodExpired:
            guard let billing = event.statedBilling, billing.status != .unknown else { return nil }
            subject = event.subject(.failedCharge)
            subject.start = billing.periodStart?.millisecondsSince1970 ?? subject.start
            value = Value.failed(billing)
        case .extended(let extended):
            (subject, value) = (event.subject(.end), Value.seconds(extended.to))
        case .priceChange(let change):
            (subject, value) = (event.subject(.price), Value.price(change))
        case .chargeback(let chargeback) where chargeback.stage != .lost:
            return nil
        case .refunded, .refundReversed, .chargeback:
            guard let refund = event.refund else { return nil }
            // Some stores keep the transaction of the first period for those that follow.
            let start = refund.periodStart?.millisecondsSince1970
            subject = Subject(topic: .refund, transaction: refund.transaction, start: start, refund: refund.refund)
            value = refund.scope.map { Value.refunded($0) } ?? Value.reversed
        case .oneTimePurchased:
            guard let purchase = event.statedPurchase else { return nil }
            (subject, value) = (Subject(topic: .purchase, transaction: purchase.transaction), Value.stated)
        case .transferred(let transfer):
            guard let lineage = event.subscription, !transfer.recipients.isEmpty else { return nil }
            // By digest, so that a person's name is in only one place of a state.
            let accounts = transfer.recipients.map { "\($0.source)/\($0.id)" }.sorted().joined(separator: ",")
            (subject, value) = (Subject(topic: .owner), EventID(.transferred, in: lineage, accounts).description)
        case .purchasePending, .purchasePendingCanceled, .offerRedeemed, .refundRequested, .refundDeclined,
            .acknowledgementRequired, .notice, .unmapped:
            return nil
        }
        self.init(subject: subject, at: at, value, by: event)
        self.endReason = endReason
    }

    private init(subject: Subject, at: Date, _ value: String, by event: NormalizedEvent) {
        self.subject = subject
        mark = Mark(
            at: at.millisecondsSince1970,
            saidAt: event.assertedAt.millisecondsSince1970,
            value: value
        )
    }

    /// The further reports of an event: a beginning that a payment is, or comes with, and the periods that begin with
    /// additional products.
    static func beside(_ event: NormalizedEvent) -> [Report] {
        func begun(_ topic: Topic, _ period: Fact.Period) -> Report {
            Report(subject: Subject(topic, period), at: period.period.start, Value.begun(period.product), by: event)
        }
        switch event.event {
        case .productChanged(let change) where change.direction == .addOns:
            let periods = event.facts.compactMap(\.periodOfItsOwn)
            let first = periods.map(\.period.startMilliseconds).min() ?? .max
            return periods.filter { $0.period.startMilliseconds > first }.map { begun(.course, $0) }
        case .started(let started) where started.origin == .temporary: return []
        case .started, .renewed:
            guard event.store.rules.paysByInvoice, let period = event.statedPeriod ?? event.inferredPeriod else {
                return []
            }
            return [begun(event.isPayment ? .course : .payment, period)]
        default: return []
        }
    }
}

extension LifecycleEvent.ProductChange {
    /// True if the product continues, in another quantity or with additional ones.
    var isBeside: Bool { direction == .quantity || direction == .addOns }
}

extension NormalizedEvent {
    /// True if it is about the payment for a period that is stated by itself. The payment for a change was reported by
    /// the change.
    fileprivate var isPayment: Bool {
        guard store.rules.paysByInvoice, case .renewed(let renewed) = event, statedPeriod == nil else { return false }
        return renewed.cause != .unknown && renewed.cause != .planChange
    }
}

extension Report.Subject {
    package init(_ topic: Report.Topic, _ period: Fact.Period) {
        self.init(topic: topic, transaction: period.transaction, start: period.period.startMilliseconds)
    }
}

extension NormalizedEvent {
    /// A topic of the period that was current when the event was stated.
    fileprivate func subject(_ topic: Report.Topic) -> Report.Subject {
        if let period = statedPeriod ?? inferredPeriod { return Report.Subject(topic, period) }
        return Report.Subject(topic: topic, transaction: transaction, start: period?.startMilliseconds)
    }
}

extension String {
    fileprivate var splitAtBlank: (name: Substring, detail: String) {
        guard let blank = firstIndex(of: " ") else { return (self[...], "") }
        return (self[..<blank], String(self[index(after: blank)...]))
    }
}
