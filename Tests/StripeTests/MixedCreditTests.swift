import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Credits of a yearly plan and of a monthly item beside it, which are charged by invoices of their own.
@Suite("Credits of items that are billed in different rhythms")
struct MixedCreditTests {
    typealias Taken = RareFlowTests.Taken

    /// A host that stores a state and uses.
    struct Host {
        let adapter: StripeAdapter
        let policy: CreditPolicy
        var state = SubscriptionState(PitfallTests.lineage)
        var uses: [CreditUse] = []

        init(_ policy: CreditPolicy, addOns: Set<String> = []) throws {
            adapter = try StripeTests.policed { $0.addOnProducts = addOns }
            self.policy = policy
        }

        mutating func take(_ taken: Taken) throws {
            let result = try adapter.take(taken.body, at: taken.time)
            if let statement = result.noChange?.statement { state.apply(statement) }
            for event in result.events { _ = state.apply(event) }
        }

        /// The balance, and the part of it without an end.
        func credits(on days: Int64) -> [Int64] {
            let statement = CreditStatement(of: state, under: policy, uses: uses, at: date(created + days * day))
            return [
                statement.balance, statement.grants.filter { $0.until == nil }.reduce(0) { $0 + $1.left },
            ]
        }

        mutating func use(_ credits: Int64, on days: Int64) {
            uses.append(CreditUse(id: "\(uses.count)", credits: credits, at: date(created + days * day)))
        }
    }

    static func item(_ product: String, _ days: ClosedRange<Int64>) -> StripeSubscription.Item {
        let period = created + days.lowerBound * day..<created + days.upperBound * day
        return .init("si_" + product, price(product), period: period)
    }

    static func price(_ product: String) -> StripePrice {
        StripePrice(
            "price_" + product,
            product: product,
            amount: 1000,
            interval: product == "plan" ? "year" : "month"
        )
    }

    static func standing(
        _ items: [StripeSubscription.Item],
        invoice: Int,
        _ status: String = "active"
    ) -> StripeSubscription {
        StripeSubscription(
            status: status,
            items: items,
            from: created,
            to: created + 365 * day,
            latestInvoice: "in_\(invoice)"
        )
    }

    static func reported(
        _ subscription: StripeSubscription,
        from before: StripeSubscription,
        at days: Double
    ) -> Taken {
        RareFlowTests.updated(subscription, from: before, at: created + Int64(days * Double(day)), .endive)
    }

    static func paid(
        _ number: Int,
        _ lines: [(product: String, days: ClosedRange<Int64>)],
        at days: Double,
        reason: String = "subscription_cycle",
        attempts: Int64 = 1
    ) -> Taken {
        let time = created + Int64(days * Double(day))
        let began = lines.map(\.days.lowerBound).max() ?? 0
        var invoice = StripeInvoice(
            "in_\(number)",
            reason: reason,
            lines: lines.map {
                .init(
                    price($0.product),
                    from: created + $0.days.lowerBound * day,
                    to: created + $0.days.upperBound * day
                )
            },
            created: created + began * day
        )
        invoice.paidAt = time
        invoice.attemptCount = attempts
        return invoice.reported(at: time)
    }

    private static let year = item("plan", 0...365)
    private static let months = [item("seats", 0...30), item("seats", 30...60), item("seats", 60...90)]

    private static let secondMonth = standing([year, months[1]], invoice: 2)
    private static let pastDue = standing([year, months[1]], invoice: 2, "past_due")
    private static let unpaid = standing([year, months[1]], invoice: 2, "unpaid")

    /// A year, whose monthly item's second month cannot be charged until the subscription is unpaid.
    private static let suspended = [
        RareFlowTests.began(standing([year, months[0]], invoice: 1), .endive),
        paid(1, [("plan", 0...365), ("seats", 0...30)], at: 0, reason: "subscription_create"),
        reported(secondMonth, from: standing([year, months[0]], invoice: 1), at: 30),
        reported(pastDue, from: secondMonth, at: 30.1),
        reported(unpaid, from: pastDue, at: 45),
    ]
    private static let revived = reported(secondMonth, from: unpaid, at: 50)
    private static let paidLate = paid(2, [("seats", 30...60)], at: 50, attempts: 4)

    private static let thirdMonth = reported(standing([year, months[2]], invoice: 3), from: secondMonth, at: 60)

    private static func policy(seats: Int64?) -> CreditPolicy {
        var policy = CreditPolicy(["plan": .init(credits: 200)])
        if let seats { policy.allowances["seats"] = .init(credits: seats) }
        return policy
    }

    @Test(
        "a month that is not paid takes nothing of the year that is",
        arguments: [nil, 50] as [Int64?],
        [false, true]
    )
    func unpaidMonth(seats: Int64?, isPaidFirst: Bool) throws {
        var host = try Host(Self.policy(seats: seats))
        for taken in Self.suspended { try host.take(taken) }
        #expect(host.credits(on: 46) == [0, 0], "suspended")
        for taken in isPaidFirst ? [Self.paidLate, Self.revived] : [Self.revived, Self.paidLate] {
            try host.take(taken)
        }
        #expect(host.credits(on: 51) == [200 + (seats ?? 0), 0])
        #expect(host.credits(on: 366) == [0, 0], "what is left of the year ends with it")
    }

    @Test("a month whose invoice is void, and the months after it, take nothing of the year either")
    func voidMonth() throws {
        var host = try Host(Self.policy(seats: 50))
        for taken in Self.suspended + [Self.revived] { try host.take(taken) }
        #expect(host.credits(on: 51) == [200, 0])
        try host.take(Self.thirdMonth)
        try host.take(Self.paid(3, [("seats", 60...90)], at: 60.1))
        #expect(host.credits(on: 61) == [250, 0])
    }

    @Test("a year that is itself not paid keeps no credits of the one before")
    func unpaidYear() throws {
        var host = try Host(Self.policy(seats: nil))
        let (second, month) = (Self.item("plan", 365...730), Self.item("seats", 360...390))
        let (last, next) = (Self.item("seats", 330...360), Self.item("seats", 390...420))
        let stands = [
            Self.standing([Self.year, last], invoice: 12), Self.standing([Self.year, month], invoice: 13),
            Self.standing([second, month], invoice: 14), Self.standing([second, month], invoice: 14, "past_due"),
            Self.standing([second, next], invoice: 15, "past_due"),
            Self.standing([second, next], invoice: 15, "unpaid"),
            Self.standing([second, next], invoice: 15),
        ]
        for taken in Self.suspended.prefix(2) + [
            Self.reported(stands[1], from: stands[0], at: 360),
            Self.paid(13, [("seats", 360...390)], at: 360.1),
            Self.reported(stands[2], from: stands[1], at: 365),
            Self.reported(stands[3], from: stands[2], at: 365.1),
            Self.reported(stands[4], from: stands[3], at: 390),
            Self.reported(stands[5], from: stands[4], at: 395),
            Self.reported(stands[6], from: stands[5], at: 400),
        ] { try host.take(taken) }
        #expect(host.credits(on: 401) == [0, 0])
    }

    @Test("an item's credits end with its paid period, while another item that gives none goes on")
    func removedItem() throws {
        var host = try Host(CreditPolicy(["seats": .init(credits: 50)]))
        for taken in Self.suspended.prefix(3) + [
            Self.paid(2, [("seats", 30...60)], at: 30.1),
            Self.reported(Self.standing([Self.year], invoice: 2), from: Self.secondMonth, at: 40),
        ] { try host.take(taken) }
        #expect(host.credits(on: 59) == [50, 0])
        #expect(host.credits(on: 61) == [0, 0])
        #expect(host.state.access(at: date(created + 61 * day)).isGranted)
    }

    @Test("an item's credits last until its next month is reported, and are given once more then")
    func lateRoll() throws {
        var host = try Host(CreditPolicy(["seats": .init(credits: 50)]))
        for taken in Self.suspended.prefix(3) + [Self.paid(2, [("seats", 30...60)], at: 30.1)] { try host.take(taken) }
        host.use(20, on: 59)
        try host.take(Self.thirdMonth)
        #expect(host.credits(on: 61) == [30, 0], "not charged yet")
        try host.take(Self.paid(3, [("seats", 60...90)], at: 61.1))
        #expect(host.credits(on: 62) == [50, 0])
        #expect(host.credits(on: 95) == [0, 0], "the roll is late, and nothing else is paid for")
        let fourth = Self.item("seats", 90...120)
        try host.take(Self.paid(4, [("seats", 90...120)], at: 96))
        try host.take(
            Self.reported(
                Self.standing([Self.year, fourth], invoice: 4),
                from: Self.standing([Self.year, Self.months[2]], invoice: 3),
                at: 90
            )
        )
        #expect(host.credits(on: 97) == [50, 0])
    }

    /// A change of one monthly item for another, five days after their month began, charged at once.
    private static func swapped(_ old: String, for new: String, from start: Int64) -> [Taken] {
        let (at, end) = (start + 5, start + 30)
        let (before, after) = (item(old, start...end), item(new, start...end))
        func line(_ product: String, _ amount: Int64) -> StripeInvoice.Line {
            .init(price(product), amount: amount, from: created + at * day, to: created + end * day, isProration: true)
        }
        let lines = [line(old, -833), line(new, 1667)]
        return [
            reported(standing([year, after], invoice: 3), from: standing([year, before], invoice: 2), at: Double(at)),
            RareFlowTests.invoice(
                "in_3",
                reason: "subscription_update",
                lines: lines,
                at: created + at * day,
                in: .endive
            ),
        ]
    }

    private static func joined(_ product: String, on start: Int64) -> [Taken] {
        guard start > 0 else {
            return [
                RareFlowTests.began(standing([year, item(product, 0...30)], invoice: 1), .endive),
                paid(1, [("plan", 0...365), (product, 0...30)], at: 0, reason: "subscription_create"),
            ]
        }
        let month = item(product, start...start + 30)
        return [
            RareFlowTests.began(standing([year], invoice: 1), .endive),
            paid(1, [("plan", 0...365)], at: 0, reason: "subscription_create"),
            reported(standing([year, month], invoice: 2), from: standing([year], invoice: 1), at: Double(start)),
            paid(2, [(product, start...start + 30)], at: Double(start), reason: "subscription_update"),
        ]
    }

    @Test(
        "an item that takes another's place beside the plan begins then, and sets off what is unused",
        arguments: [0, 10] as [Int64],
        [false, true]
    )
    func swappedItem(start: Int64, isToDesks: Bool) throws {
        let swap = isToDesks ? (old: "seats", new: "desks") : (old: "desks", new: "seats")
        let policy = CreditPolicy([
            "plan": .init(credits: 200),
            ProductID(swap.old): .init(credits: 60, price: Money(ExactDecimal(10), "USD")),
            ProductID(swap.new): .init(credits: 120, price: Money(ExactDecimal(20), "USD")),
        ])
        let deliveries = Self.joined(swap.old, on: start) + Self.swapped(swap.old, for: swap.new, from: start)
        for order in [deliveries, deliveries.reversed(), Array(deliveries.suffix(2) + deliveries.dropLast(2))] {
            var host = try Host(policy, addOns: ["seats", "desks"])
            for taken in order { try host.take(taken) }
            #expect(host.credits(on: start + 4) == [260, 0])
            // 25 of 30 days are left. Half of their price was set off: 50 of the 100 that they are worth, and the 60 are kept.
            #expect(host.credits(on: start + 6) == [310, 60])
            #expect(host.credits(on: start + 31) == [260, 60])
            func products(on days: Int64) -> [ProductID]? {
                guard case .granted(_, let grant) = host.state.access(at: date(created + days * day)) else {
                    return nil
                }
                return [grant.product] + (grant.otherProducts ?? [])
            }
            #expect(products(on: start + 4) == ["plan", ProductID(swap.old)])
            #expect(products(on: start + 6) == ["plan", ProductID(swap.new)])
        }
    }

    @Test("an item that renews after another of the same month began with that month, since no other left for it")
    func renewedApart() throws {
        func standing(_ seats: ClosedRange<Int64>, _ desks: ClosedRange<Int64>, invoice: Int) -> StripeSubscription {
            Self.standing([Self.year, Self.item("seats", seats), Self.item("desks", desks)], invoice: invoice)
        }
        let first = standing(0...30, 0...30, invoice: 1)
        let seats = standing(30...60, 0...30, invoice: 2)
        let both = standing(30...60, 30...60, invoice: 2)
        let deliveries = [
            RareFlowTests.began(first, .endive), Self.reported(seats, from: first, at: 30),
            Self.reported(both, from: seats, at: 30.1),
        ]
        for order in permutations(of: deliveries) {
            var host = try Host(CreditPolicy([:]), addOns: ["seats", "desks"])
            for taken in order { try host.take(taken) }
            let products = [29 * day, 30 * day + 3600, 31 * day].map { time -> [ProductID] in
                guard case .granted(_, let grant) = host.state.access(at: date(created + time)) else { return [] }
                return [grant.product] + (grant.otherProducts ?? [])
            }
            #expect(products == Array(repeating: ["plan", "desks", "seats"], count: 3))
        }
    }
}
