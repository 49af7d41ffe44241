// The planned end of a subscription, and which of its periods that cuts.
extension SubscriptionObject {
    /// The planned end of the subscription, from any of its members: flexible billing sets only `cancel_at` where
    /// classic billing sets `cancel_at_period_end`.
    var endsAt: Milliseconds? { cancelAt ?? (cancelAtPeriodEnd ? firstEnd : nil) }
    var isEnding: Bool { cancelAt != nil || cancelAtPeriodEnd }

    /// When the first of the current periods ends, which is the end of the period of a subscription as a whole
    /// (https://docs.stripe.com/changelog/basil/2025-07-30/cancel-at-enums).
    var firstEnd: Milliseconds? { spans.map(\.end).min() ?? ownEnd }

    /// True if it is to end with the current period, or within it.
    var endsWithPeriod: Bool {
        guard let endsAt, let end = current?.end ?? ownEnd else { return isEnding }
        return endsAt <= end
    }

    /// The date on which it ends by itself, if a period that is paid for lasts longer
    /// (https://docs.stripe.com/api/subscriptions/object#subscription_object-cancel_at).
    func end(within span: Span) -> Milliseconds? {
        endsAt.flatMap { span.start < $0 && $0 < span.end ? $0 : nil }
    }
}
