import LifecycleEvents
import SignatureCore
import WireJSON

/// What a subscription is, as far as it is read: two updates of one second are in order where the one begins with what the
/// other leads to.
struct SubscriptionContent {
    /// Names the content.
    let name: String

    /// What it is now.
    init(_ now: SubscriptionObject, _ object: JSONValue) throws(JSONError) {
        self.init(try SubscriptionFields(object), over: nil, status: now.statusName, items: now.items)
    }

    /// What it was before an update.
    init(before attributes: JSONValue, _ now: SubscriptionObject, _ object: JSONValue) throws(JSONError) {
        let before = try SubscriptionFields(attributes)
        self.init(
            before,
            over: try SubscriptionFields(object),
            status: try before.optionalString(.status) ?? now.statusName,
            items: try SubscriptionBefore.items(in: before, now.items) ?? now.items
        )
    }

    private static let times: [SubscriptionField] = [
        .currentPeriodStart, .currentPeriodEnd, .cancelAt, .canceledAt, .endedAt, .trialStart, .trialEnd,
    ]
    private static let references: [SubscriptionField] = [.latestInvoice, .schedule]

    private init(
        _ fields: SubscriptionFields,
        over base: SubscriptionFields?,
        status: String,
        items: [SubscriptionObject.Item]
    ) {
        func field(_ field: SubscriptionField) -> JSONValue? {
            if fields.has(field) { return fields.optionalValue(field) }
            return base?.optionalValue(field)
        }
        var parts = [status]
        for name in Self.times { parts.append(field(name).flatMap { try? $0.int64() }.map { String($0) } ?? "") }
        for name in Self.references { parts.append(field(name).flatMap { try? $0.referenceID() } ?? "") }
        parts.append(field(.cancelAtPeriodEnd).flatMap { try? $0.bool() } == true ? "ends" : "")
        let pause = field(.pauseCollection).flatMap { try? ObjectReader($0) }
        parts.append(pause.flatMap { try? $0.optionalString("behavior") } ?? "")
        parts.append(pause.flatMap { try? $0.optionalInt64("resumes_at") }.map { String($0) } ?? "")
        let pending = field(.pendingUpdate).flatMap { try? ObjectReader($0).list("subscription_items") }
        parts += (pending.flatMap { try? SubscriptionObject.items($0) } ?? []).map(\.content).sorted()
        parts.append("")
        parts += items.map { "\($0.content) \($0.start.map { String($0) } ?? "") \($0.end.map { String($0) } ?? "")" }
            .sorted()
        let text = parts.joined(separator: "\n")
        name = String(SHA256.hash(Array(text.utf8).span).hexadecimal.prefix(16))
    }
}

extension StripeNotification {
    /// Which step of its subscription an event is; nil for a fetched object, which is as it is now.
    ///
    /// - Parameter subscription: the subscription as the event shows it.
    ///
    /// Stripe dates events by whole seconds, and sends several in one (https://docs.stripe.com/webhooks#event-ordering).
    func revision(of subscription: SubscriptionObject) throws(JSONError) -> Origin.Revision? {
        guard !isThin, !isQuestion, let object else { return nil }
        let after = try SubscriptionContent(subscription, object).name
        switch canonicalType {
        case "customer.subscription.created":
            return Origin.Revision(before: "", after: after)
        case "customer.subscription.deleted":
            return Origin.Revision(before: nil, after: "")
        case "customer.subscription.updated":
            guard let previous else { return Origin.Revision(before: nil, after: after) }
            let before = try SubscriptionContent(before: previous, subscription, object).name
            return Origin.Revision(before: before, after: after)
        default:
            return Origin.Revision(before: nil, after: after)
        }
    }
}
