import LifecycleEvents
import WireJSON

/// A `subscription`, read by which members are there rather than by API version.
final class SubscriptionObject: WireObject, Sendable {
    /// `status`, an open set.
    enum Status {
        case incomplete
        case incompleteExpired
        case trialing
        case active
        case pastDue
        case unpaid
        case canceled
        case paused
        /// One of tomorrow.
        case other

        // Raw values are compared one after the other, by code that is compiled for none of them.
        init(_ name: String) {
            switch name {
            case "incomplete": self = .incomplete
            case "incomplete_expired": self = .incompleteExpired
            case "trialing": self = .trialing
            case "active": self = .active
            case "past_due": self = .pastDue
            case "unpaid": self = .unpaid
            case "canceled": self = .canceled
            case "paused": self = .paused
            default: self = .other
            }
        }
    }

    /// One thing that is subscribed to.
    struct Item: Sendable {
        let price: PriceObject
        let quantity: Int64?
        /// When the current period of the item began and ends; since basil a matter of the item.
        let start: Milliseconds?
        let end: Milliseconds?
        /// A paid or free trial of this item alone (endive).
        let trialEnd: Milliseconds?
        /// True if the host says that it is never the main product.
        let isAddOn: Bool

        /// - Parameter twin: an item whose price this one is likely to repeat, octet for octet.
        init?(_ value: JSONValue, twin: Item? = nil, addOns: Set<String> = []) throws(JSONError) {
            let reader = try ObjectReader(value)
            // Subscriptions from before the Prices API have the plan alone.
            var price = reader.optionalValue(.price)
            if price == nil { price = reader.optionalValue(.plan) }
            guard let price else { return nil }
            if let twin, twin.price.bytes == price.rawBytes {
                self.price = twin.price
            } else {
                self.price = try PriceObject(price)
            }
            quantity = try reader.optionalCount(.quantity)
            start = try reader.time(.currentPeriodStart)
            end = try reader.time(.currentPeriodEnd)
            trialEnd = try reader.reader(.currentTrial)?.time("end_date")
            isAddOn = self.price.isNamed(in: addOns)
        }

        init(
            price: PriceObject,
            quantity: Int64?,
            isAddOn: Bool = false,
            start: Milliseconds? = nil,
            end: Milliseconds? = nil
        ) {
            self.price = price
            self.quantity = quantity
            self.isAddOn = isAddOn
            (self.start, self.end, trialEnd) = (start, end, nil)
        }
    }

    let id: String
    let status: Status
    /// The status in Stripe's own word.
    let statusName: String
    let customer: CustomerReference?
    let items: [Item]
    /// True if there are items that are not shown.
    let hasMoreItems: Bool
    /// The current period as the subscription itself states it, which it did before basil.
    let ownStart: Milliseconds?
    let ownEnd: Milliseconds?
    /// The current periods: one, unless items are billed in different rhythms. The latest to begin is the last.
    let spans: [Span]
    /// When the last of the current periods ends.
    let periodEnd: Milliseconds?
    let startDate: Milliseconds?
    /// When it was made, which is later than the start of a backdated one.
    let created: Milliseconds?
    let cancelAtPeriodEnd: Bool
    let cancelAt: Milliseconds?
    let canceledAt: Milliseconds?
    let endedAt: Milliseconds?
    let cancellationReason: String?
    /// The reason that the customer chose from a list on cancelling, and their own words.
    let cancellationFeedback: String?
    let trialStart: Milliseconds?
    let trialEnd: Milliseconds?
    /// True if a trial ends the subscription unless there is a payment method.
    let trialNeedsPaymentMethod: Bool
    /// True if invoices are sent, to be paid by hand.
    let sendsInvoices: Bool
    let latestInvoice: TransactionID?
    let schedule: String?
    let collectionPause: CollectionPause?
    let pausedAt: Milliseconds?
    /// Why it is paused, such as `trial_end_without_payment_method`.
    let pauseReason: String?
    let pendingItems: [Item]
    /// Until when prices are billed ahead (`billing_schedules`); a schedule without a price is for all of them.
    let billedAhead: [(price: String?, until: Milliseconds)]
    /// The discounts that coupons give on its price.
    let discounts: [Discount]
    /// True if its times are those of a test clock, which stands still until it is advanced.
    let hasTestClock: Bool
    let metadata: JSONObject?
    let anomalies: [String]

    /// `pause_collection`: the merchant does not collect for the time being.
    struct CollectionPause: Hashable, Sendable {
        let behavior: String?
        let resumesAt: Milliseconds?
    }

    convenience init(_ value: JSONValue, addOns: Set<String>) throws(JSONError) {
        try self.init(value, items: nil, addOns: addOns)
    }

    /// - Parameter all: its items, if they were asked for because not all of them are shown.
    init(_ value: JSONValue, items all: [Item]?, addOns: Set<String>) throws(JSONError) {
        let fields = try ObjectReader(value)
        id = try fields.string(.id)
        statusName = try fields.string(.status)
        status = Status(statusName)
        customer = CustomerReference(
            id: try fields.reference(.customer),
            account: try fields.reference(.customerAccount)
        )
        if let all { items = all } else { items = try Self.items(in: fields, addOns: addOns) ?? [] }
        hasMoreItems = all == nil ? try fields.hasMore(.items) : false
        ownEnd = try fields.time(.currentPeriodEnd)
        ownStart = try fields.time(.currentPeriodStart)
        spans = Self.spans(of: items, start: ownStart, end: ownEnd)
        periodEnd = spans.reduce(nil) { max($0 ?? $1.end, $1.end) } ?? ownEnd
        startDate = try fields.time(.startDate)
        created = try fields.time(.created)
        cancelAtPeriodEnd = try fields.optionalBool(.cancelAtPeriodEnd) ?? false
        cancelAt = try fields.time(.cancelAt)
        canceledAt = try fields.time(.canceledAt)
        endedAt = try fields.time(.endedAt)
        var details = try fields.reader(.cancellationDetails)
        cancellationReason = details?.descriptiveString(.reason)
        cancellationFeedback = details?.descriptiveString("feedback")
        trialStart = try fields.time(.trialStart)
        trialEnd = try fields.time(.trialEnd)
        var trialSettings = try fields.reader(.trialSettings)?.reader("end_behavior")
        trialNeedsPaymentMethod = trialSettings?.descriptiveString("missing_payment_method") == "cancel"
        sendsInvoices = fields.optionalValue(.collectionMethod)?.isString("send_invoice") ?? false
        latestInvoice = try fields.reference(.latestInvoice).map(TransactionID.init)
        schedule = try fields.reference(.schedule)
        var pauseAnomalies: [String] = []
        if var pause = try fields.reader(.pauseCollection) {
            let behavior = pause.descriptiveString("behavior")
            collectionPause = CollectionPause(behavior: behavior, resumesAt: try pause.time("resumes_at"))
            pauseAnomalies = pause.anomalies
        } else {
            collectionPause = nil
        }
        let paused = try fields.reader(.statusDetails)?.reader("paused")
        pausedAt = try paused?.time("transitioned_at")
        var pauseCause = try paused?.reader("subscription")
        pauseReason = pauseCause?.descriptiveString(.type)
        pendingItems = try Self.items(fields.reader(.pendingUpdate)?.list("subscription_items"), addOns: addOns)
        billedAhead = try Self.billedAhead(in: fields)
        var discountAnomalies: [String] = []
        discounts = Discount.all(in: fields, one: .discount, several: .discounts) { discountAnomalies.append($0) }
        hasTestClock = fields.optionalValue(.testClock) != nil
        var anomalies: [String] = []
        metadata = fields.optionalValue(.metadata)?.metadata { anomalies.append($0) }
        if let details { anomalies += details.anomalies }
        anomalies += pauseAnomalies + discountAnomalies
        for item in items { anomalies += item.price.anomalies }
        self.anomalies = anomalies
    }

    private static func billedAhead(
        in fields: ObjectReader
    ) throws(JSONError) -> [(price: String?, until: Milliseconds)] {
        guard let schedules = try fields.list(.billingSchedules) else { return [] }
        var billed: [(price: String?, until: Milliseconds)] = []
        for value in schedules {
            let schedule = try ObjectReader(value)
            guard let until = try schedule.reader("bill_until")?.time("computed_timestamp") else { continue }
            guard let prices = try schedule.optionalArray("applies_to"), !prices.isEmpty else {
                billed.append((nil, until))
                continue
            }
            for price in prices { billed.append((try ObjectReader(price).reference(.price), until)) }
        }
        return billed
    }

    /// The items of a subscription or of its previous attributes; the lone plan of the oldest ones counts as one.
    ///
    /// - Parameter twins: items that these are likely to repeat.
    static func items(
        in fields: ObjectReader,
        twins: [Item] = [],
        addOns: Set<String> = []
    ) throws(JSONError) -> [Item]? {
        if let values = try fields.list(.items) { return try items(values, twins: twins, addOns: addOns) }
        guard let plan = fields.optionalValue(.plan) else { return nil }
        return [Item(price: try PriceObject(plan), quantity: try fields.optionalCount(.quantity))]
    }

    /// The items of a list, if there is one; an element without a price is none.
    static func items(
        _ values: JSONArray?,
        twins: [Item] = [],
        addOns: Set<String> = []
    ) throws(JSONError) -> [Item] {
        guard let values else { return [] }
        var items: [Item] = []
        items.reserveCapacity(values.count)
        var position = 0
        for value in values {
            let twin = position < twins.count ? twins[position] : nil
            if let item = try Item(value, twin: twin, addOns: addOns) { items.append(item) }
            position += 1
        }
        return items
    }
}

extension ObjectReader {
    /// `metadata`, unless it is absent, empty or of another form.
    mutating func descriptiveMetadata() -> JSONObject? {
        optionalValue("metadata")?.metadata { note($0) }
    }
}

extension JSONValue {
    /// Some `metadata`, unless it is empty or of another form.
    ///
    /// - Parameter note: takes the path where the form is another one.
    fileprivate func metadata(_ note: (_ path: String) -> Void) -> JSONObject? {
        guard let object = try? object() else {
            note(path)
            return nil
        }
        return object.isEmpty ? nil : object
    }
}

extension SubscriptionObject {
    /// A period with the items in use.
    struct Span: Sendable {
        let start: Milliseconds
        let end: Milliseconds
        fileprivate(set) var items: [Item]

        /// The item with the main product. Invoice lines come in an order of their own, so the choice is by content: two
        /// notifications of one period have to choose the same.
        var primary: Item? { items.primary }
        var product: ProductID? { primary?.price.productID }
        /// The other items that are paid for ahead, one for each product.
        var others: [Item] { product.map { items.others(than: $0) } ?? [] }
    }

    private static func spans(of items: [Item], start: Milliseconds?, end: Milliseconds?) -> [Span] {
        if items.count == 1, let item = items.first {
            guard let start = item.start ?? start, let end = item.end ?? end else { return [] }
            return [Span(start: start, end: end, items: items)]
        }
        var spans: [Span] = []
        for item in items {
            guard let start = item.start ?? start, let end = item.end ?? end else { continue }
            if let index = spans.firstIndex(where: { $0.start == start && $0.end == end }) {
                spans[index].items.append(item)
            } else {
                spans.append(Span(start: start, end: end, items: [item]))
            }
        }
        return spans.count > 1 ? spans.sorted { ($0.start, $0.end) < ($1.start, $1.end) } : spans
    }

    /// The period that began last, whose charge may be outstanding.
    var latest: Span? { spans.last }

    /// The period of the main product, also where an item in addition to it has a rhythm of its own.
    var current: Span? {
        guard spans.count > 1, let main = items.primary else { return spans.last }
        return spans.last { $0.items.contains { $0.price.id == main.price.id } } ?? spans.last
    }

    /// True if a period is not the main product's.
    func isBeside(_ span: Span) -> Bool {
        spans.count > 1 && current.map { $0.start != span.start || $0.end != span.end } ?? false
    }

    var product: ProductID? { current?.product ?? items.primary?.price.productID }

    /// True if the latest period, or a part of it, was billed before it began. The invoice that is made at its
    /// beginning is then for something else.
    var isBilledAhead: Bool {
        // Usage is never billed ahead, even if a schedule is for all prices.
        guard let latest, let price = latest.primary?.price, !price.isMetered else { return false }
        return billedAhead.contains { $0.until > latest.start && ($0.price ?? price.id) == price.id }
    }

    /// True if every item is billed for usage, after the period.
    var isMetered: Bool { !items.isEmpty && items.allSatisfy(\.price.isMetered) }
}

extension SubscriptionObject.Item {
    /// True if it is billed for usage. Since basil the lines of an invoice do not say so about their price. There is no
    /// usage yet if they stand next to lines that are paid ahead, and a subscription states no quantity for such items.
    var isBilledByUse: Bool { price.isMetered || (quantity ?? 0) == 0 }

    /// How often it is billed, in 48ths of a day. Since basil a line of an invoice does not state that about its price,
    /// and lasts as long.
    fileprivate var length: Int128? {
        price.length ?? start.flatMap { start in end.flatMap { PriceObject.length(from: start, to: $0) } }
    }

    /// The price of a unit in proportion to the length of its period.
    fileprivate var amountByDay: ExactDecimal? {
        guard let amount = price.unitAmount, let length else { return nil }
        return amount.coefficient(scale: amount.scale + 9).map { $0 / length }
            .flatMap { ExactDecimal(coefficient: $0, scale: amount.scale + 9) }
    }

    /// Distinguishes it from other items, in the identity of a change.
    var content: String {
        var content = price.id
        content += "*"
        if let quantity { content += String(quantity) }
        return content
    }
}

extension [SubscriptionObject.Item] {
    /// The item with the main product.
    ///
    /// It is neither an item that the host calls an add-on, nor a metered one, as long as there is another. Among the
    /// others it is the one with the highest unit price by the day, since an add-on costs less than its product and may
    /// be billed in another rhythm. Names decide only between equal prices.
    var primary: SubscriptionObject.Item? {
        guard count > 1 else { return first }
        let isInOneRhythm = Set(map(\.length)).count == 1
        let costs = isInOneRhythm || contains { $0.length == nil } ? map(\.price.unitAmount) : map(\.amountByDay)
        return indices.min { left, right in
            let (one, other) = (self[left], self[right])
            if one.isAddOn != other.isAddOn { return !one.isAddOn }
            if one.isBilledByUse != other.isBilledByUse { return !one.isBilledByUse }
            // A price of tiers has no such amount.
            if costs[left] != costs[right] {
                guard let cost = costs[left], let otherCost = costs[right] else { return costs[left] != nil }
                return cost > otherCost
            }
            return (one.price.productID, one.price.id) < (other.price.productID, other.price.id)
        }
        .map { self[$0] }
    }

    /// The items that are paid ahead and are of other products than one, one for each product.
    func others(than product: ProductID) -> [SubscriptionObject.Item] {
        guard count > 1 else { return [] }
        var seen: Set<ProductID> = [product]
        return filter { !$0.isBilledByUse }.sorted { $0.price.id < $1.price.id }
            .filter { seen.insert($0.price.productID).inserted }
    }
}

extension PriceObject {
    /// True if the names include its id or its product.
    func isNamed(in names: Set<String>) -> Bool {
        !names.isEmpty && (names.contains(id) || names.contains(productID.rawValue))
    }
}
