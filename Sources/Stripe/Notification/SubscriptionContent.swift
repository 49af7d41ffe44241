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
        var text = Lines(try changed?.optionalString(.status) ?? now.statusName)
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
        for item in (update?.items ?? now.items).map(Lines.init).sorted() { text.add(item) }
        name = SHA256.hash(text.octets.span).hexadecimal(octets: 8)
    }

    /// Text in lines, as the octets that are named. To put strings together for it takes a tenth more of a webhook's
    /// instructions.
    private struct Lines: Comparable {
        private(set) var octets: [UInt8] = []

        init(_ first: String) {
            octets.reserveCapacity(512)
            append(first)
        }

        /// The line of an item.
        init(_ item: SubscriptionObject.Item) {
            octets.reserveCapacity(128)
            append(item.price.id)
            append("*")
            append(item.quantity)
            append(" ")
            append(item.start)
            append(" ")
            append(item.end)
        }

        mutating func add(_ line: String?) {
            append("\n")
            if let line { append(line) }
        }

        mutating func add(_ number: Int64?) {
            append("\n")
            append(number)
        }

        mutating func add(_ line: Lines) {
            append("\n")
            octets += line.octets
        }

        private mutating func append(_ number: Int64?) { if let number { append(String(number)) } }

        private mutating func append(_ text: String) {
            let utf8 = text.utf8.span
            octets.append(addingCapacity: utf8.count) { octets in
                for index in utf8.indices { octets.append(utf8[index]) }
            }
        }

        static func < (left: Lines, right: Lines) -> Bool { left.octets.lexicographicallyPrecedes(right.octets) }
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
