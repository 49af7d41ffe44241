public import FoundationEssentials
public import Normalizer

/// Whether a renewal that a webhook announced can be seen in RevenueCat's REST API yet, and when to look again.
///
/// Stores charge up to a day ahead, and the API goes on showing the old period until the new one begins. Acting on what
/// it shows would miss the renewal; acting on the webhook would begin the period too early.
public struct RenewalCheck: Hashable, Sendable, Codable {
    /// What to do now.
    @nonexhaustive
    public enum Outcome: Hashable, Sendable {
        /// The new period is there. It has effect from its start, never before.
        case renewed(ServicePeriod)
        /// The new period is paid and has not begun. That it renews is certain; look again then.
        case paidAhead(checkAgainAt: Date)
        /// Nothing has changed yet; look again then.
        case notYet(checkAgainAt: Date)
        /// Something else has changed: the product, the end of the same period, or a trial became a paid period.
        case changed(RevenueCatSubscription)
        /// Access ended or money went back before the announced period; there is nothing to wait for.
        case void
        /// It never showed. Take the webhook's own period, if it has begun, and look into it.
        case overdue(ServicePeriod)
    }

    /// The lineage.
    public var lineage: SubscriptionID
    /// The period that was known before the webhook.
    public var known: ServicePeriod
    /// The product of that period, as RevenueCat's API calls it.
    public var knownProduct: String?
    /// The period that the webhook announced.
    public var announced: ServicePeriod
    /// How often the API was asked after the known period had ended.
    public var attempt = 0
    /// How long after the end of the known period to look again.
    public static let margin: TimeInterval = 60
    /// The waits after that, in seconds.
    public static let backoff: [TimeInterval] = [60, 300, 900, 3600, 21_600]

    /// Prepares a check.
    public init(
        lineage: SubscriptionID,
        known: ServicePeriod,
        knownProduct: String? = nil,
        announced: ServicePeriod
    ) {
        self.lineage = lineage
        self.known = known
        self.knownProduct = knownProduct
        self.announced = announced
    }

    /// What identifies the task of looking again: one for each lineage and end, however many webhooks ask for it.
    public var key: String { "\(lineage)#\(known.end?.millisecondsSince1970 ?? 0)" }

    /// Compares an answer with what was known.
    ///
    /// - Parameters:
    ///   - answer: what the API showed; nil where it knew nothing.
    ///   - date: when it was asked.
    public mutating func outcome(of answer: RevenueCatSubscription?, at date: Date) -> Outcome {
        if let answer, let outcome = difference(answer, at: date) { return outcome }
        if let end = known.end, date < end.addingTimeInterval(Self.margin) {
            let again = end.addingTimeInterval(Self.margin)
            return answer?.autoRenewal == .hasAlreadyRenewed
                ? .paidAhead(checkAgainAt: again) : .notYet(checkAgainAt: again)
        }
        guard attempt < Self.backoff.count else { return .overdue(announced) }
        let wait = Self.backoff[attempt]
        attempt += 1
        return .notYet(checkAgainAt: date.addingTimeInterval(wait))
    }

    private func difference(_ answer: RevenueCatSubscription, at date: Date) -> Outcome? {
        if answer.refundedAt != nil { return .void }
        if let product = answer.product?.id ?? answer.productReference, let knownProduct, product != knownProduct {
            return .changed(answer)
        }
        guard let period = answer.period else { return answer.givesAccess == false ? .void : nil }
        if !same(period.start, known.start), period.start > known.start { return .renewed(period) }
        if answer.givesAccess == false, let end = known.end, date < end { return .void }
        if !same(period.end, known.end) { return .changed(answer) }
        return nil
    }

    // The older version of the API shows whole seconds.
    private func same(_ one: Date?, _ other: Date?) -> Bool {
        guard let one, let other else { return one == other }
        return abs(one.millisecondsSince1970 - other.millisecondsSince1970) < 1000
    }
}
