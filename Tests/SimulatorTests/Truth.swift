import Foundation
import NotificationSimulator
import Normalizer

/// The truth about one customer, in plain terms: the paid products with their ends, and the credits that should be
/// left.
///
/// It is reckoned from people's acts, never from a provider's statement or the library's result.
struct Truth: Hashable {
    /// A stretch of access to a plan.
    struct Span: Hashable {
        var start: Int64
        var end: Int64
        var plan: CustomerStory.Plan
        var paid: Int64
        var isTrial = false
        /// True if some of it was given to a customer who had paid. Stripe calls that a trial, which it is not.
        var isGiven = false
    }

    enum Standing: Hashable { case none, pending, active, grace, hold, paused, ended, over }

    /// Credits that a period gives which was charged ahead.
    struct Outstanding: Hashable {
        var at: Int64
        var credits: Int64
        var payment: Int
    }

    var standing = Standing.none
    var plan = CustomerStory.Plan.basicMonthly
    /// The price of the current period, in thousandths.
    var paid: Int64 = 0
    /// The price of the plan without an offer.
    var price: Int64 = 0
    /// The price of each period.
    var payments: [Int64] = []
    /// True if a relay took a renewal for a change of mind.
    var isMisunderstood = false
    /// The period that was paid for last.
    var start: Int64 = 0
    var end: Int64 = 0
    var graceEnd: Int64?
    var resumesAt: Int64?
    var willRenew = false
    var next: CustomerStory.Plan?
    var nextPrice: Int64?
    /// True if the current period was refunded, and the refund undone: a second time has the identity of the first.
    var wasRestored = false
    /// How many of the last two purchases do not renew.
    var itemsSince = 0
    /// The stretches of access, in order; a later one takes the place of an earlier one.
    var spans: [Span] = []
    /// A family member's access.
    var shared: Span?

    /// The credits that the current period gave when it began.
    var payout: Int64 = 0
    /// How many purchases of coins are paid for.
    var coinSales = 0
    var isPartlyRefunded = false
    var credits = CreditTruth()
    /// True if a period begins before it is paid for.
    var waitsForCharge = false
    /// The charge for the current period, in thousandths, once the rest of the one before was set off.
    var charged: Int64 = 0
    /// The worth of the current period, in billionths.
    var worth: Int128 = 0
    var outstanding: [Outstanding] = []

    /// The credits of a pack of coins.
    static let coins: Int64 = 100

    /// The stretch that gives access at a moment, as things stand.
    func granting(at time: Int64) -> Span? { spans.last { $0.start <= time && time < $0.end } }

    /// The rest of the subscription's credits.
    func counted(at time: Int64) -> Int64 { granting(at: time) == nil ? 0 : credits.left }

    /// The payment for the current period.
    var payment: Int { payments.count - 1 }

    mutating func settle(by time: Int64) {
        for due in outstanding where due.at <= time { credits.give(due.credits, for: due.payment, from: due.at) }
        outstanding.removeAll { $0.at <= time }
    }

    /// A period begins that takes the place of all that would go on.
    mutating func begin(
        _ plan: CustomerStory.Plan,
        at start: Int64,
        until end: Int64,
        paid: Int64,
        credits: Int64? = nil,
        isTrial: Bool = false
    ) {
        for index in spans.indices where spans[index].end > start { spans[index].end = start }
        spans.append(Span(start: start, end: end, plan: plan, paid: paid, isTrial: isTrial))
        (self.plan, self.start, self.end, self.paid) = (plan, start, end, paid)
        (standing, graceEnd, resumesAt, next, nextPrice) = (.active, nil, nil, nil, nil)
        (wasRestored, isPartlyRefunded) = (false, false)
        payments.append(paid)
        (charged, worth) = (paid, Int128(paid) * 1_000_000)
        itemsSince = max(0, itemsSince - 1)
        price = plan.price
        payout = credits ?? plan.credits
    }

    /// A plan is paid for in full, and nothing of what was before is set off.
    mutating func buy(_ plan: CustomerStory.Plan, at time: Int64) {
        begin(plan, at: time, until: plan.end(from: time), paid: plan.price)
        credits.give(plan.credits, for: payment, from: time)
        willRenew = plan.billing != .prepaid
    }

    /// The next period, from a moment on; it may be charged ahead.
    mutating func renew(from start: Int64, at now: Int64) {
        // A price that was raised counts while no other plan is chosen.
        let price = next?.price ?? nextPrice ?? price
        let plan = next ?? plan
        let before = spans
        begin(plan, at: start, until: plan.end(from: start), paid: price)
        self.price = price
        if start > now {
            outstanding.append(.init(at: start, credits: payout, payment: payment))
            spans = before + spans.suffix(1)
        } else {
            credits.give(payout, for: payment, from: waitsForCharge ? now : start)
        }
    }

    mutating func cut(at time: Int64) {
        for index in spans.indices { spans[index].end = min(spans[index].end, max(time, spans[index].start)) }
    }
}

extension CustomerStory.Plan {
    /// The credits of a period.
    var credits: Int64 { product == "basic" ? 200 : 500 }
    static let trialCredits: Int64 = 50

    /// By the calendar of Greenwich.
    func end(from start: Int64, _ period: Period? = nil) -> Int64 {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let date = Date(timeIntervalSince1970: Double(start / 1000))
        let later =
            switch period ?? self.period {
            case .days(let days): calendar.date(byAdding: .day, value: Int(days), to: date)
            case .months(let months): calendar.date(byAdding: .month, value: Int(months), to: date)
            }
        return Int64((later ?? date).timeIntervalSince1970) * 1000 + start % 1000
    }

    /// Its name in a state.
    func name(at provider: Provider, ofGooglePlay: Bool = false) -> ProductID {
        switch provider {
        case .stripe: "prod_\(product)"
        case .google: "\(product):\(rhythm)"
        case .apple, .revenuecat: ofGooglePlay ? "\(product):\(rhythm)" : "com.example.app.\(product).\(rhythm)"
        default: "\(product)_\(rhythm)"
        }
    }
}
