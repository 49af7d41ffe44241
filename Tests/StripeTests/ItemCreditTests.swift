import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Each item that is paid for gives the credits of its own product, whichever item names the subscription.
@Suite("Credits of items that are billed together")
struct ItemCreditTests {
    typealias Taken = RareFlowTests.Taken

    private static let basic = price("basic", 1000)
    private static let boost = price("boost", 1500)
    private static let pro = price("pro", 2000)
    private static let middle = created + 15 * day
    private static let next = created + 30 * day

    private static func price(_ product: String, _ amount: Int64) -> StripePrice {
        StripePrice("price_" + product, product: product, amount: amount)
    }

    private static let policy = CreditPolicy([
        "basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")), "boost": .init(credits: 100),
        "pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
    ])

    /// Basic or pro, with other items, for a month, and from its middle on with what replaced them.
    private static func life(
        _ before: [StripePrice],
        then after: [StripePrice],
        charges: [String: Int64] = [:]
    ) -> [Taken] {
        let (old, new) = (ItemTests.subscription(before), ItemTests.subscription(after))
        let lines = before.map {
            StripeInvoice.Line($0, amount: charges[$0.product], from: created, to: next)
        }
        return [
            RareFlowTests.began(old, .endive),
            RareFlowTests.invoice(
                "in_\(created)",
                reason: "subscription_create",
                lines: lines,
                at: created,
                in: .endive
            ),
            RareFlowTests.updated(new, from: old, at: middle, .endive),
        ]
    }

    /// The credits that are left of each product.
    private static func credits(
        _ state: SubscriptionState,
        _ policy: CreditPolicy = policy,
        at time: Int64
    ) -> [ProductID: Int64] {
        let statement = CreditStatement(of: state, under: policy, uses: [], at: date(time))
        return statement.grants.reduce(into: [:]) { credits, grant in
            if grant.left > 0 { credits[grant.product ?? "", default: 0] += grant.left }
        }
    }

    /// Expects the credits of a month that changes in its middle, in any order of its notifications.
    private static func expect(
        _ deliveries: [Taken],
        before: [ProductID: Int64],
        after: [ProductID: Int64],
        at location: SourceLocation = #_sourceLocation
    ) throws {
        for order in permutations(of: deliveries) {
            let state = try ItemTests.state(order, adapter())
            #expect(credits(state, at: middle - day) == before, sourceLocation: location)
            #expect(credits(state, at: middle + day) == after, sourceLocation: location)
            #expect(credits(state, at: next + day).isEmpty, sourceLocation: location)
        }
    }

    @Test("an item that joins adds its own, and the others keep theirs, whichever of them is the main one")
    func joins() throws {
        try Self.expect(
            Self.life([Self.basic], then: [Self.basic, Self.pro]),
            before: ["basic": 200],
            after: ["basic": 200, "pro": 250]
        )
        try Self.expect(
            Self.life([Self.pro], then: [Self.pro, Self.basic]),
            before: ["pro": 500],
            after: ["basic": 100, "pro": 500]
        )
    }

    @Test("an item that is removed ends its own, and the others keep theirs, whichever of them is the main one")
    func leaves() throws {
        try Self.expect(
            Self.life([Self.basic, Self.pro], then: [Self.basic]),
            before: ["basic": 200, "pro": 500],
            after: ["basic": 200]
        )
        try Self.expect(
            Self.life([Self.basic, Self.pro], then: [Self.pro]),
            before: ["basic": 200, "pro": 500],
            after: ["pro": 500]
        )
    }

    @Test("an item that joined and became the main one renews with the others")
    func renews() throws {
        let items = [Self.basic, Self.pro]
        let (both, again) = (ItemTests.subscription(items), ItemTests.subscription(items, from: Self.next))
        let deliveries =
            Self.life([Self.basic], then: items) + [
                RareFlowTests.updated(again, from: both, at: Self.next, .endive),
                ItemTests.paid(items, reason: "subscription_cycle", from: Self.next, .endive),
            ]
        for order in permutations(of: deliveries) {
            let state = try ItemTests.state(order, adapter())
            #expect(Self.credits(state, at: Self.middle + day) == ["basic": 200, "pro": 250])
            #expect(Self.credits(state, at: Self.next + day) == ["basic": 200, "pro": 500])
            #expect(Self.credits(state, at: Self.next + 31 * day).isEmpty)
        }
    }

    @Test("the price of one item is swapped for another, also where another item names the subscription then")
    func swaps() throws {
        // 5.00 of 10.00 are unused, and pro costs 10.00 for the rest: half of half of 500 is paid for.
        for others in [[], [Self.boost]] {
            let rest: [ProductID: Int64] = others.isEmpty ? [:] : ["boost": 100]
            let deliveries = Self.life([Self.basic] + others, then: [Self.pro] + others)
            for order in permutations(of: deliveries) {
                let state = try ItemTests.state(order, adapter())
                let before = ["basic": 200].merging(rest) { first, _ in first }
                let after = ["basic": 200, "pro": 125].merging(rest) { first, _ in first }
                #expect(Self.credits(state, at: Self.middle - day) == before)
                #expect(Self.credits(state, at: Self.middle + day) == after)
                #expect(Self.credits(state, at: Self.next + day) == ["basic": 200], "carried over")
            }
        }
    }

    @Test("the charge of its own line counts in a change, and not the policy's list price")
    func ownCharge() throws {
        var policy = Self.policy
        policy.allowances["basic"] = .init(credits: 200, price: Money(ExactDecimal(5), "USD"))
        for others in [[], [Self.boost]] {
            let deliveries = Self.life([Self.basic] + others, then: [Self.pro] + others)
            for order in permutations(of: deliveries) {
                let state = try ItemTests.state(order, adapter())
                #expect(Self.credits(state, policy, at: Self.middle + day)["pro"] == 125)
            }
        }
    }

    /// A coupon of 100 % makes both free. Going to and fro must give no more than it does to a customer who pays.
    @Test("a change that is free after a period that was free counts both products by their list prices")
    func freeChanges() throws {
        func swap(_ old: StripePrice, _ new: StripePrice, on day: Int64) -> [Taken] {
            let time = created + day * 86_400
            let lines = [(old, 0), (new, new.amount / 2)].map {
                StripeInvoice.Line($0, amount: $1, from: time, to: Self.next, isProration: true)
            }
            var invoice = StripeInvoice("in_\(time)", reason: "subscription_update", lines: lines, created: time)
            (invoice.discount, invoice.paidAt) = (new.amount / 2, time)
            let (before, after) = (ItemTests.subscription([old]), ItemTests.subscription([new]))
            return [RareFlowTests.updated(after, from: before, at: time, .endive), invoice.reported(at: time)]
        }
        func credits(_ first: StripePrice, _ changes: [Taken]) throws -> Set<[ProductID: Int64]> {
            let life = Self.life([first], then: [first], charges: [first.product: 0]).prefix(2)
            return Set(
                try permutations(of: life + changes).map { order in
                    Self.credits(try ItemTests.state(order, adapter()), at: Self.next - day)
                }
            )
        }
        // Pro costs 10.00 for the rest, of which 5.00 are set off.
        #expect(try credits(Self.basic, swap(Self.basic, Self.pro, on: 15)) == [["basic": 200, "pro": 125]])
        // 10.00 are unused, basic takes 5.00 of that, and the other 5.00 take a quarter of 500.
        #expect(try credits(Self.pro, swap(Self.pro, Self.basic, on: 15)) == [["pro": 375]])
        let there = swap(Self.pro, Self.basic, on: 10)
        let back = swap(Self.basic, Self.pro, on: 20)
        for credits in try credits(Self.pro, there + back) { #expect(credits.values.reduce(0, +) <= 500, "\(credits)") }
    }

    @Test("a swap and a kept item begin a new period: each is set off against its own product, and against no other")
    func restarts() throws {
        let items = [Self.basic, Self.boost]
        let (old, swapped) = (ItemTests.subscription(items), [Self.pro, Self.boost])
        func restarted(_ items: [StripePrice]) -> [Taken] {
            var new = ItemTests.subscription(items, from: Self.middle)
            new.startDate = created
            let lines =
                [Self.basic, Self.boost].map {
                    StripeInvoice.Line(
                        $0,
                        amount: -$0.amount / 2,
                        from: Self.middle,
                        to: Self.next,
                        isProration: true
                    )
                } + items.map { StripeInvoice.Line($0, from: Self.middle, to: Self.middle + 30 * day) }
            return [
                RareFlowTests.updated(new, from: old, at: Self.middle, .endive),
                RareFlowTests.invoice(
                    "in_\(Self.middle)",
                    reason: "subscription_update",
                    lines: lines,
                    at: Self.middle,
                    in: .endive
                ),
            ]
        }
        // 15.00 of 20.00 are paid for pro, 7.50 of 15.00 for boost; the rest of what was had is carried over.
        let later = Self.middle + day
        for order in permutations(of: Self.life(items, then: items).prefix(2) + restarted(swapped)) {
            let state = try ItemTests.state(order, adapter())
            #expect(Self.credits(state, at: later) == ["basic": 200, "boost": 150, "pro": 375])
        }
        // Pro joins, and replaces nothing.
        for order in permutations(of: Self.life(items, then: items).prefix(2) + restarted(items + [Self.pro])) {
            let state = try ItemTests.state(order, adapter())
            #expect(Self.credits(state, at: later) == ["basic": 300, "boost": 150, "pro": 500])
        }
    }
}
