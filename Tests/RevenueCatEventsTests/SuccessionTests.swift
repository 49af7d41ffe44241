import NormalizerTesting
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

/// A change on Google Play is a purchase under a new order, and relays state no link between the two.
@Suite("Purchases on Play that take the place of others")
struct SuccessionTests {
    typealias Period = RevenueCatSimulator.Period
    let traps = TrapTests()

    private func webhook(
        _ type: String,
        at: Int64,
        _ period: Period,
        product: String,
        changes: KeyValuePairs<String, JSONText?> = [:]
    ) -> TrapTests.Event {
        var event = traps.event(type, at: at, period, changing: changes)
        event.members["store"] = "PLAY_STORE"
        event.members["product_id"] = .string(product)
        event.members["original_transaction_id"] = .string(period.transaction)
        if type == "INITIAL_PURCHASE" {
            event.members["currency"] = "USD"
            for name in ["price", "price_in_purchased_currency"] { event.members[name] = product == "pro" ? 20 : 10 }
        }
        return event
    }

    private func upgrade(_ from: String, _ to: String, at moment: Int64, number: Int = 1) -> [TrapTests.Event] {
        let (old, new) = ("GPA.\(number)", "GPA.\(number + 1)")
        let start = moment - day * (number == 1 ? 15 : 1)
        let (before, after) = (Period(start, to: start + 31 * day, old), Period(moment, to: moment + 31 * day, new))
        return [
            webhook("PRODUCT_CHANGE", at: moment, before, product: from),
            webhook("INITIAL_PURCHASE", at: moment + 2000, after, product: to),
            webhook(
                "EXPIRATION",
                at: moment + 2500,
                Period(start, to: moment, old),
                product: from,
                changes: ["expiration_reason": "UNSUBSCRIBE"]
            ),
        ]
    }

    private var purchase: TrapTests.Event {
        webhook("INITIAL_PURCHASE", at: t0 + 5000, Period(t0, to: t1, "GPA.1"), product: "basic")
    }

    private func played(_ events: [TrapTests.Event], catalog: ProductCatalog? = nil) throws -> AccountLedger {
        var ledger = AccountLedger()
        for event in events {
            for event in try traps.normalization(event).events { _ = ledger.apply(event, catalog: catalog) }
        }
        return ledger
    }

    @Test("an upgrade is one purchase in every order, also where the old end is lost")
    func oneChange() throws {
        let upgrade = upgrade("basic", "pro", at: t0 + 15 * day)
        for heard in [upgrade, [upgrade[0], upgrade[1]]] {
            let expected = try played([purchase] + heard)
            for order in permutations(of: [purchase] + heard) {
                let ledger = try played(order + order.reversed())
                #expect(ledger == expected)
                #expect(AccountLedger(ledger.states, transfers: ledger.transfers) == ledger)
            }
            let state = try #require(expected.states.first)
            #expect(state.lineages.map(\.id) == ["GPA.1", "GPA.2"])
            #expect(expected.states.count == 1)
            #expect(state.contradictions == [])
            #expect(state.snapshot(at: date(t0 + 16 * day)).product == "pro")
            #expect(state.access(at: date(t0 + 46 * day - 1)).isGranted)
        }
    }

    /// The charge for half of the old month leaves 5.00 of 10.00, and 15.00 of 20.00 pay for 375 of 500.
    @Test("its credits are those of one change at half the month, in every order")
    func credits() throws {
        let moment = t0 + (t1 - t0) / 2
        let webhooks = [purchase] + upgrade("basic", "pro", at: moment)
        for order in permutations(of: webhooks) {
            #expect(try balance(order, at: moment + day) == 575)
        }
    }

    @Test("five changes in five days give what they give where the store names the purchases that are replaced")
    func creditsOfManyChanges() throws {
        var webhooks = [purchase]
        for number in 1...5 {
            let (from, to) = number % 2 == 1 ? ("basic", "pro") : ("pro", "basic")
            webhooks += upgrade(from, to, at: t0 + 15 * day + Int64(number - 1) * day, number: number)
        }
        let moment = t0 + 20 * day
        var linked = AccountLedger()
        for event in try webhooks.flatMap({ try traps.normalization($0).events }) {
            var event = event
            event.facts.removeAll { $0.kind == .succession }
            if let name = event.subscription?.id, let number = Int(name.dropFirst("GPA.".count)), number > 1 {
                let old = SubscriptionID(store: .playStore, environment: .production, id: "GPA.\(number - 1)")
                event.facts.append(.link(old))
            }
            _ = linked.apply(event)
        }
        let expected = CreditStatement(of: linked.states, under: Self.policy, uses: [], at: date(moment))
        #expect(expected.balance < 1000)
        #expect(try balance(webhooks, at: moment) == expected.balance)
        #expect(try balance(webhooks.reversed(), at: moment) == expected.balance)
    }

    static let policy = CreditPolicy([
        "basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
        "pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
        "music": .init(credits: 50, price: Money(ExactDecimal(10), "USD")),
    ])

    private func balance(_ webhooks: [TrapTests.Event], at moment: Int64) throws -> Int64 {
        CreditStatement(of: try played(webhooks).states, under: Self.policy, uses: [], at: date(moment)).balance
    }

    /// Google's `WITHOUT_PRORATION`, or a customer who cancels and buys again.
    @Test(
        "the same plan bought again is one purchase if it is charged nothing, and gives nothing",
        arguments: [true, false]
    )
    func sameAgain(isAnnounced: Bool) throws {
        let moment = t0 + 10 * day
        let first = Period(t0, to: t1, "GPA.1")
        let plan = "pro:monthly"
        let before = webhook("INITIAL_PURCHASE", at: t0 + 5000, first, product: plan).priced("20.00")
        let left =
            isAnnounced
            ? webhook("PRODUCT_CHANGE", at: moment, first, product: plan)
            : webhook("CANCELLATION", at: moment - day, first, product: plan, changes: ["cancel_reason": "UNSUBSCRIBE"])
        let again = webhook("INITIAL_PURCHASE", at: moment + 2000, Period(moment, to: t1, "GPA.2"), product: plan)
        func over(_ at: Int64) -> TrapTests.Event {
            let changes: KeyValuePairs<String, JSONText?> = ["expiration_reason": "UNKNOWN"]
            return webhook("EXPIRATION", at: at + 1000, Period(t0, to: at, "GPA.1"), product: plan, changes: changes)
        }
        for end in [[], [over(moment)], [over(t1)]] {
            for order in permutations(of: [before, left, again.priced("0.00")] + end) {
                #expect(try played(order).states.map { $0.lineages.count } == [2])
                #expect(try balance(order, at: moment + day) == 500)
            }
        }
        // Two accounts of the store may pay for one plan each, or try it.
        let others = [again.priced("20.00"), again.priced("0.00").with(["period_type": "TRIAL"])]
        for other in others where !isAnnounced {
            for order in permutations(of: [before, left, other]) {
                #expect(try played(order).states.count == 2)
                #expect(try balance(order, at: moment + day) == 1000)
            }
        }
        // An announced change may be charged, and add an item.
        let item: (String, Int64) -> JSONText = { product, price in
            [
                "product_id": .string(product), "expiration_at_ms": .integer(t1), "currency": "USD",
                "price": .integer(price), "price_in_purchased_currency": .integer(price),
            ]
        }
        let joined = again.with(["items": [item(plan, 0), item("music", 10)]])
        for order in permutations(of: [before, left, joined, over(moment)]) where isAnnounced {
            #expect(try balance(order, at: moment + day) == 550)
        }
    }

    /// The order of the new product is made when the change is arranged, and its first renewal is the first that is reported.
    @Test(
        "a change at the end of a period is one purchase, by whichever order its first period is named",
        arguments: [("GPA.2", true), ("GPA.2..0", true), ("GPA.2..1", false)]
    )
    func changeAtEnd(order: String, isOne: Bool) throws {
        let change = webhook(
            "PRODUCT_CHANGE",
            at: t0 + 15 * day,
            Period(t0, to: t1, "GPA.1"),
            product: "basic",
            changes: ["new_product_id": "pro"]
        )
        var begun = webhook("RENEWAL", at: t1 + 2000, Period(t1, to: t1 + 31 * day, order), product: "pro")
        begun.members["original_transaction_id"] = "GPA.2"
        for webhooks in permutations(of: [purchase, change, begun]) {
            let states = try played(webhooks).states
            #expect(states.map { $0.lineages.map(\.id) } == (isOne ? [["GPA.1", "GPA.2"]] : [["GPA.1"], ["GPA.2"]]))
            #expect(states.first?.snapshot(at: date(t1 + day)).pendingProduct == (isOne ? nil : "pro"))
        }
        // A change whose product is not named is no change to what renews at that moment.
        let unnamed = webhook("PRODUCT_CHANGE", at: t1, Period(t0, to: t1, "GPA.1"), product: "basic")
        for webhooks in permutations(of: [purchase, unnamed, begun]) where order == "GPA.2..0" {
            #expect(try played(webhooks).states.count == 2)
        }
    }

    @Test("in order, it is a change at once, and the end of the old product is no churn")
    func wording() throws {
        var ledger = AccountLedger()
        var events: [LifecycleEvent] = []
        for event in [purchase] + upgrade("basic", "pro", at: t0 + 15 * day) {
            for event in try traps.normalization(event).events { events.append(ledger.apply(event).event.event) }
        }
        #expect(events.map(\.kind) == [.started, .notice, .productChanged, .expired])
        #expect(events.last == .expired(.init(reason: .replaced)))
    }

    @Test("five changes in five days are one purchase")
    func manyChanges() throws {
        var events = [purchase]
        for number in 1...5 {
            let (from, to) = number % 2 == 1 ? ("basic", "pro") : ("pro", "basic")
            events += upgrade(from, to, at: t0 + 15 * day + Int64(number - 1) * day, number: number)
        }
        let forwards = try played(events)
        #expect(try played(events.reversed()) == forwards)
        #expect(forwards.states.map { $0.lineages.count } == [6])
    }

    @Test("a purchase beside a running one is another, where nothing says that it takes its place")
    func besides() throws {
        let other = webhook(
            "INITIAL_PURCHASE",
            at: t0 + 15 * day,
            Period(t0 + 15 * day, to: t1 + 15 * day, "GPA.9"),
            product: "x"
        )
        #expect(try played([purchase, other]).states.count == 2)
        // Nor does one of another account.
        let upgrade = upgrade("basic", "pro", at: t0 + 15 * day)
        var foreign = upgrade[1]
        foreign.members["app_user_id"] = "u9"
        foreign.members["original_app_user_id"] = "u9"
        foreign.members["aliases"] = [.string("u9")]
        #expect(try played([purchase, upgrade[0], foreign, upgrade[2]]).states.count == 2)
    }

    // MARK: Something else at nearly the same time

    private func music(at moment: Int64, product: String = "music", order: String = "GPA.9") -> TrapTests.Event {
        webhook("INITIAL_PURCHASE", at: moment + 2000, Period(moment, to: moment + 31 * day, order), product: product)
    }

    private static let catalog = ProductCatalog(
        [("basic", "plans"), ("pro", "plans"), ("music", "music"), ("opera", "music")].map { id, group in
            .init(id: id, group: group, level: 1, duration: .month)
        }
    )

    /// How far from the change something else was bought, and what names the new product of the change.
    enum Naming: CaseIterable {
        case byTime, byCatalogue, byWebhook, byFamily
    }

    @Test("a purchase some minutes after a change is another one, in every order", arguments: Naming.allCases)
    func unrelated(naming: Naming) throws {
        let moment = t0 + (t1 - t0) / 2
        var change = upgrade("basic", "pro", at: moment)
        let plan = naming == .byWebhook ? "pro:monthly" : "pro"
        if naming == .byWebhook || naming == .byFamily { change[0].members["new_product_id"] = "pro" }
        change[1].members["product_id"] = .string(plan)
        let bought = moment + (naming == .byTime ? 10 : 1) * 60_000
        let other = music(at: bought)
        let refund = webhook(
            "CANCELLATION",
            at: bought + day,
            Period(bought, to: bought + day, "GPA.9"),
            product: "music",
            changes: ["cancel_reason": "CUSTOMER_SUPPORT", "price_in_purchased_currency": -10, "currency": "USD"]
        )
        let catalog = naming == .byCatalogue ? Self.catalog : nil
        for order in permutations(of: [purchase, change[0], change[1], other, refund]) {
            let ledger = try played(order + [change[2]], catalog: catalog)
            #expect(ledger.states.map { $0.lineages.map(\.id) } == [["GPA.1", "GPA.2"], ["GPA.9"]])
            let state = try #require(ledger.states.first)
            #expect(state.snapshot(at: date(bought + 2 * day)).product == ProductID(plan))
            #expect(state.snapshot(at: date(bought + 2 * day)).pendingProduct == nil)
            #expect(state.access(at: date(bought + 2 * day)).isGranted)
            let statement = CreditStatement(of: ledger.states, under: Self.policy, uses: [], at: date(bought + 60_000))
            #expect(statement.balance == 625)
        }
    }

    /// Without a name or a catalogue nothing shows which of the two took the place of the old one. The customer has both.
    @Test("a purchase at the time of a change to an unnamed product runs next to the new one", arguments: [-1, 1])
    func bought(minutes: Int64) throws {
        let moment = t0 + 15 * day
        let change = upgrade("basic", "pro", at: moment)
        let other = music(at: moment + minutes * 60_000)
        let refund = webhook(
            "CANCELLATION",
            at: moment + 3 * day,
            Period(moment + minutes * 60_000, to: moment + 3 * day, "GPA.9"),
            product: "music",
            changes: ["cancel_reason": "CUSTOMER_SUPPORT", "price_in_purchased_currency": -10, "currency": "USD"]
        )
        func products(_ state: SubscriptionState, at moment: Int64) -> Set<ProductID> {
            guard case .granted(_, let grant) = state.access(at: date(moment)) else { return [] }
            return Set([grant.product] + (grant.otherProducts ?? []))
        }
        for order in permutations(of: [purchase, change[0], change[1], other, refund]) {
            let ledger = try played(order + [change[2]])
            let state = try #require(ledger.states.first)
            #expect(ledger.states.count == 1)
            #expect(products(state, at: t0 + day) == ["basic"])
            #expect(products(state, at: moment + 2 * day) == ["pro", "music"])
            #expect(products(state, at: moment + 4 * day) == ["pro"])
        }
    }

    @Test("two purchases that change within minutes stay two", arguments: [nil, catalog])
    func twoChains(catalog: ProductCatalog?) throws {
        let moment = t0 + 15 * day
        let plans = upgrade("basic", "pro", at: moment)
        let gap: Int64 = (catalog == nil ? 5 : 1) * 60_000
        let sound = [
            webhook(
                "PRODUCT_CHANGE",
                at: moment + gap,
                Period(t0, to: t1, "GPA.9"),
                product: "music"
            ),
            music(at: moment + gap, product: "opera", order: "GPA.10"),
        ]
        let events = [purchase, music(at: t0), plans[0], plans[1]] + sound
        for order in [events, events.reversed(), Array(events[2...]) + events[..<2], sound + events[..<4]] {
            let ledger = try played(order, catalog: catalog)
            #expect(ledger.states.map { $0.lineages.map(\.id) } == [["GPA.1", "GPA.2"], ["GPA.10", "GPA.9"]])
        }
    }

    @Test("a change of a change within minutes is one purchase, in every order", arguments: [nil, catalog])
    func changedTwice(catalog: ProductCatalog?) throws {
        let moment = t0 + 15 * day
        let first = upgrade("basic", "pro", at: moment)
        let again = upgrade("pro", "basic", at: moment + 5 * 60_000, number: 2)
        for order in permutations(of: [purchase, first[0], first[1], again[0], again[1]]) {
            let ledger = try played(order, catalog: catalog)
            #expect(ledger.states.map { $0.lineages.map(\.id) } == [["GPA.1", "GPA.2", "GPA.3"]])
            #expect(ledger.states.first?.snapshot(at: date(moment + day)).product == "basic")
        }
    }
}
