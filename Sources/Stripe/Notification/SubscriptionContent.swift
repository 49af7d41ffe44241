import LifecycleEvents
import SignatureCore
import WireJSON

/// The content of a subscription, as far as it is read. It orders two updates of one second: one begins with the
/// content that the other leads to.
struct SubscriptionContent {
    /// Names the content.
    let name: String

    /// The present content, or the one before an update: the same but for the attributes that changed.
    init(_ now: SubscriptionObject, before update: PreviousAttributes? = nil) throws(JSONError) {
        let changed = update?.fields
        func time(_ name: MemberName, _ now: Milliseconds?) -> Int64? {
            guard let changed, changed.has(name) else { return now?.inSeconds }
            return try? changed.optionalInt64(name)
        }
        func reference(_ name: MemberName, _ now: String?) -> String? {
            guard let changed, changed.has(name) else { return now }
            return try? changed.reference(name)
        }
        var text = HashedText()
        text.append(try changed?.optionalString(.status) ?? now.statusName)
        text.add(time(.currentPeriodStart, now.ownStart))
        text.add(time(.currentPeriodEnd, now.ownEnd))
        text.add(time(.cancelAt, now.cancelAt))
        text.add(time(.canceledAt, now.canceledAt))
        text.add(time(.endedAt, now.endedAt))
        text.add(time(.trialStart, now.trialStart))
        text.add(time(.trialEnd, now.trialEnd))
        text.add(reference(.latestInvoice, now.latestInvoice?.rawValue))
        text.add(reference(.schedule, now.schedule))
        var ends: Bool? = now.cancelAtPeriodEnd
        if let changed, changed.has(.cancelAtPeriodEnd) { ends = try? changed.optionalBool(.cancelAtPeriodEnd) }
        text.add(ends == true ? "ends" : "")
        if let changed, changed.has(.pauseCollection) {
            let pause = try? changed.reader(.pauseCollection)
            text.add(try? pause?.optionalString("behavior"))
            text.add(try? pause?.optionalInt64("resumes_at"))
        } else {
            text.add(now.collectionPause?.behavior)
            text.add(now.collectionPause?.resumesAt?.inSeconds)
        }
        var planned = now.pendingItems
        if let changed, changed.has(.pendingUpdate) {
            let pending = try? changed.reader(.pendingUpdate)?.list("subscription_items")
            planned = (try? SubscriptionObject.items(pending)) ?? []
        }
        for item in planned.map(\.content).sorted() { text.add(item) }
        text.add("")
        for item in (update?.items ?? now.items).inOrderOfLines {
            text.append("\n")
            text.append(item)
        }
        name = text.digest.hexadecimal(octets: 8)
    }
}

extension HashedText {
    fileprivate mutating func add(_ line: String?) {
        append("\n")
        if let line { append(line) }
    }

    fileprivate mutating func add(_ number: Int64?) {
        append("\n")
        if let number { append(number) }
    }

    fileprivate mutating func append(_ item: SubscriptionObject.Item) {
        append(item.price.id)
        append("*")
        if let quantity = item.quantity { append(quantity) }
        append(" ")
        if let start = item.start { append(start) }
        append(" ")
        if let end = item.end { append(end) }
    }
}

extension [SubscriptionObject.Item] {
    /// The items in the order of the octets of their lines.
    fileprivate var inOrderOfLines: [Element] {
        guard count > 1 else { return self }
        return map { item in
            var line = HashedText()
            line.append(item)
            return (item: item, line: line.octets)
        }
        .sorted { $0.line.lexicographicallyPrecedes($1.line) }.map(\.item)
    }
}

extension StripeNotification {
    /// Which step of its subscription an event is; nil for a fetched object, which is as it is now.
    ///
    /// - Parameter subscription: the subscription as the event shows it.
    ///
    /// Stripe dates events by whole seconds, and sends several in one (https://docs.stripe.com/webhooks#event-ordering).
    func revision(
        of subscription: SubscriptionObject,
        _ previous: PreviousAttributes?
    ) throws(JSONError) -> Origin.Revision? {
        guard !isThin, object != nil else { return nil }
        if canonicalType == "customer.subscription.deleted" { return Origin.Revision(before: nil, after: "") }
        let after = try SubscriptionContent(subscription).name
        if canonicalType == "customer.subscription.created" { return Origin.Revision(before: "", after: after) }
        guard let previous else { return Origin.Revision(before: nil, after: after) }
        let before = try SubscriptionContent(subscription, before: previous).name
        // It was canceled, as it was before, in the second of the event.
        let canceledAt = try previous.fields.time(.canceledAt)
        let follows = canceledAt != nil && canceledAt?.wholeSeconds == createdMilliseconds.wholeSeconds
        return Origin.Revision(before: before, after: after, follows: follows ? true : nil)
    }
}
