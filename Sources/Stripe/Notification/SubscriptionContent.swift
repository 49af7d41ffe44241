import LifecycleEvents
import SignatureCore
import WireJSON

/// The content of a subscription, as far as it is read. It orders two updates of one second: one begins with the
/// content that the other leads to.
struct SubscriptionContent {
    /// Names the content.
    let name: String

    /// The present content.
    ///
    /// - Parameter fields: those of the subscription.
    init(_ now: SubscriptionObject, _ fields: ObjectReader) {
        self.init(fields, over: nil, status: now.statusName, items: now.items)
    }

    /// The content before an update.
    ///
    /// - Parameter fields: those of the subscription as it is now.
    init(before attributes: JSONValue, _ now: SubscriptionObject, over fields: ObjectReader) throws(JSONError) {
        let before = try ObjectReader(attributes)
        self.init(
            before,
            over: fields,
            status: try before.optionalString(.status) ?? now.statusName,
            items: try SubscriptionBefore.items(in: before, now.items) ?? now.items
        )
    }

    private static let times: [MemberName] = [
        .currentPeriodStart, .currentPeriodEnd, .cancelAt, .canceledAt, .endedAt, .trialStart, .trialEnd,
    ]
    private static let references: [MemberName] = [.latestInvoice, .schedule]

    private init(
        _ fields: ObjectReader,
        over base: ObjectReader?,
        status: String,
        items: [SubscriptionObject.Item]
    ) {
        func field(_ field: MemberName) -> JSONValue? {
            if fields.has(field) { return fields.optionalValue(field) }
            return base?.optionalValue(field)
        }
        var text = Lines(status)
        for name in Self.times { text.append(field(name).flatMap { try? $0.int64() }) }
        for name in Self.references { text.append(field(name).flatMap { try? $0.referenceID() } ?? "") }
        text.append(field(.cancelAtPeriodEnd).flatMap { try? $0.bool() } == true ? "ends" : "")
        let pause = field(.pauseCollection).flatMap { try? ObjectReader($0) }
        text.append(pause.flatMap { try? $0.optionalString("behavior") } ?? "")
        text.append(pause.flatMap { try? $0.optionalInt64("resumes_at") })
        let pending = field(.pendingUpdate).flatMap { try? ObjectReader($0).list("subscription_items") }
        let planned = pending.flatMap { try? SubscriptionObject.items($0) } ?? []
        for item in planned.map(\.content).sorted() { text.append(item) }
        text.append("")
        for item in items.map(Self.line).sorted() { text.append(item) }
        name = String(SHA256.hash(text.octets.span).hexadecimal.prefix(16))
    }

    private static func line(of item: SubscriptionObject.Item) -> String {
        var line = item.content
        line += " "
        if let start = item.start { line += String(start) }
        line += " "
        if let end = item.end { line += String(end) }
        return line
    }

    /// Text in lines, as the octets that are named.
    private struct Lines {
        private(set) var octets: [UInt8] = []

        init(_ first: String) {
            octets.reserveCapacity(512)
            octets += first.utf8
        }

        mutating func append(_ line: String) {
            octets.append(UInt8(ascii: "\n"))
            octets += line.utf8
        }

        mutating func append(_ number: Int64?) { append(number.map { String($0) } ?? "") }
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
        if canonicalType == "customer.subscription.deleted" { return Origin.Revision(before: nil, after: "") }
        let fields = try ObjectReader(object)
        let after = SubscriptionContent(subscription, fields).name
        switch canonicalType {
        case "customer.subscription.created":
            return Origin.Revision(before: "", after: after)
        case "customer.subscription.updated":
            guard let previous else { return Origin.Revision(before: nil, after: after) }
            let before = try SubscriptionContent(before: previous, subscription, over: fields).name
            // It was canceled, as it was before, in the second of the event.
            let canceledAt = try ObjectReader(previous).time(.canceledAt)
            let follows = canceledAt != nil && canceledAt?.wholeSeconds == createdMilliseconds.wholeSeconds
            return Origin.Revision(before: before, after: after, follows: follows ? true : nil)
        default:
            return Origin.Revision(before: nil, after: after)
        }
    }
}
