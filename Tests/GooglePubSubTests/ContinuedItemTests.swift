import Foundation
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("Items that go on under another purchase")
struct ContinuedItemTests {
    typealias Vectors = GoogleVectors
    static func item(_ product: String, order: String?, expiry: Int64? = GoogleVectors.event + 30 * GoogleVectors.day)
        -> Vectors.Item
    {
        Play.item.with {
            $0.product = product; $0.order = order; $0.expiry = expiry
        }
    }
    static let start = Vectors.event
    static let day = Vectors.day

    static func ledger(_ events: [[NormalizedEvent]]) -> AccountLedger { AccountLedger(applying: events.joined()) }

    /// Bought; a change for the end of the period; the old token expires as replaced.
    @Test("deferred change keeps access until the end of the period", arguments: [true, false], [nil, 0])
    func deferredKeepsAccess(hasDate: Bool, renewal: Int?) throws {
        let order = Vectors.order + (renewal.map { "..\($0)" } ?? "")
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start - 2000
            $0.items[0].order = order
            $0.items[0].expiry = Self.start + 30 * Self.day
        }
        let changed = Self.start + 10 * Self.day
        var new = bought.with {
            $0.start = changed - 1000
            $0.items[0].isRenewing = false
            $0.items[0].extra["deferredItemReplacement"] = #"{"productId":"basic"}"#
            $0.items.append(Self.item("basic", order: nil, expiry: nil))
        }
        new.linked = Vectors.token
        var old = Vectors.purchase("EXPIRED").with {
            $0.start = Self.start - 2000
            $0.items[0].order = order
            $0.items[0].expiry = hasDate ? changed : nil
            $0.items[0].isRenewing = false
        }
        old.extra["canceledStateContext"] = Vectors.canceled(hasDate ? "replacement" : "systemInitiated")
        let chapters = [
            try Play.map(renewal == nil ? 4 : 2, bought, at: Self.start).events,
            try Play.map(4, new, token: Vectors.oldToken, at: changed).events,
            try Play.map(13, old, at: changed + 2500).events,
        ]
        for order in [[0, 1, 2], [0, 2, 1]] {
            let ledger = Self.ledger(order.map { chapters[$0] })
            #expect(ledger.states.count == 1)
            let state = try #require(ledger.states.first)
            #expect(state.access(at: Play.date(changed + Self.day)).isGranted, "\(order)")
            #expect(state.access(at: Play.date(Self.start + 29 * Self.day)).isGranted, "\(order)")
            #expect(!state.access(at: Play.date(Self.start + 31 * Self.day)).isGranted, "\(order)")
        }
    }

    /// The item that is being replaced and the one that stands for the purchase have the purchase's name.
    @Test(
        "one notification tells nothing twice, whatever is true by now",
        arguments: [
            "ACTIVE", "CANCELED", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "EXPIRED", "PENDING",
            "PENDING_PURCHASE_CANCELED", "WORMHOLE",
        ],
        [-1, 1] as [Int64]
    )
    func nothingTwice(state: String, months: Int64) throws {
        let former = Self.item("premium", order: Vectors.order + "..2", expiry: Self.start + months * 20 * Self.day)
            .with { $0.isRenewing = false }
        let next = Self.item("basic", order: "GPA.3388-7777-6666-55555..0")
        let old = Vectors.purchase("EXPIRED", former).with {
            $0.extra["canceledStateContext"] = Vectors.canceled("replacement")
        }
        for number in 1...30 {
            let new = Vectors.purchase(state).with {
                $0.items = [former, next]
                $0.linked = Vectors.oldToken
            }
            let ids = try Play.map(number, new, others: [Play.found(.subscription, for: Vectors.oldToken, old.json)])
                .events.map(\.id)
            #expect(Set(ids).count == ids.count, "\(number): \(ids)")
        }
    }

    /// The old token is gone 60 days after it ended; then the kept year is revoked.
    @Test("a kept item is ended, also where Google has forgotten the old token", arguments: [true, false])
    func oldTokenForgotten(isForgotten: Bool) throws {
        let kept = Self.item("premium", order: Vectors.order, expiry: Self.start + 365 * Self.day)
        let bought = Vectors.purchase("ACTIVE", kept)
        let first = try Play.map(4, bought, at: Self.start).events
        let keep = kept.with {
            $0.extra["itemReplacement"] =
                #"{"productId":"premium","basePlanId":"monthly","replacementMode":"KEEP_EXISTING"}"#
        }
        let added = Self.item("voice", order: "GPA.3388-7777-6666-55555", expiry: Self.start + 365 * Self.day)
        var new = Vectors.purchase("ACTIVE").with { $0.items = [keep, added] }
        new.linked = Vectors.token
        let second = try Play.map(
            4,
            new,
            token: Vectors.oldToken,
            at: Self.start + 5 * Self.day,
            others: [Play.found(.subscription, for: Vectors.token, bought.json)]
        )
        var old = Vectors.purchase("EXPIRED", kept).with {
            $0.items[0].expiry = Self.start + 5 * Self.day; $0.items[0].isRenewing = false
        }
        old.extra["canceledStateContext"] = Vectors.canceled("replacement")
        let third = try Play.map(13, old, at: Self.start + 5 * Self.day + 2500).events
        let revokedAt = Self.start + 100 * Self.day
        var ended = new.with { $0.state = "EXPIRED" }
        for index in ended.items.indices {
            ended.items[index].expiry = revokedAt
            ended.items[index].isRenewing = false
            ended.items[index].extra["itemReplacement"] = nil
        }
        let fourth = try Play.map(
            12,
            ended,
            token: Vectors.oldToken,
            at: revokedAt,
            askedAt: revokedAt + 1000,
            others: [
                isForgotten
                    ? .init(.subscription, about: Vectors.token, PlayAnswer(.gone, status: 410))
                    : Play.found(.subscription, for: Vectors.token, old.json)
            ]
        )
        var ledger = Self.ledger([first])
        for statement in second.statements { ledger.apply(statement) }
        for event in third { _ = ledger.apply(event) }
        for statement in fourth.statements { ledger.apply(statement) }
        for state in ledger.states {
            let access = state.access(at: Play.date(Self.start + 101 * Self.day))
            #expect(!access.isGranted, "\(state.subscription) \(access)")
        }
    }

    /// The renewal was never reported, so only the end that the change sets is known of its period.
    @Test("a change at once gives access, also when the renewal before it is not known", arguments: [[0, 1], [1, 0]])
    func changeAfterUnknownRenewal(order: [Int]) throws {
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start - 2000
            $0.items[0].order = Vectors.order
        }
        let changed = Self.start + 40 * Self.day
        var old = bought.with {
            $0.state = "EXPIRED"
            $0.items[0].order = Vectors.order + "..0"
            $0.items[0].expiry = changed
            $0.items[0].isRenewing = false
        }
        old.extra["canceledStateContext"] = Vectors.canceled("replacement")
        let upgraded = Self.item("pro", order: "GPA.3388-7777-6666-55555", expiry: changed + 30 * Self.day)
        var new = Vectors.purchase("ACTIVE", upgraded).with { $0.start = changed }
        new.linked = Vectors.token
        let chapters = [
            try Play.map(
                4,
                new,
                token: Vectors.oldToken,
                at: changed + 1000,
                others: [Play.found(.subscription, for: Vectors.token, old.json)]
            ).events,
            try Play.map(13, old, at: changed + 2500).events,
        ]
        let ledger = Self.ledger([try Play.map(4, bought, at: Self.start).events] + order.map { chapters[$0] })
        let state = try #require(ledger.states.first)
        #expect(ledger.states.count == 1)
        for time in [changed, changed + 5000, changed + 29 * Self.day] {
            let snapshot = state.snapshot(at: Play.date(time))
            #expect((snapshot.status, snapshot.product) == (.active, "pro:monthly"))
        }
        #expect(!state.access(at: Play.date(changed + 31 * Self.day)).isGranted)
    }

    private static let nextOrder = "GPA.3388-7777-6666-55555"

    /// The purchase before, as it is once another one has taken its place.
    private static func replaced(_ items: Vectors.Item..., at time: Int64) -> Vectors.Purchase {
        var old = Vectors.purchase("EXPIRED").with {
            $0.start = start
            $0.items = items.map { item in
                item.with {
                    $0.expiry = time
                    $0.isRenewing = false
                }
            }
        }
        old.extra["canceledStateContext"] = Vectors.canceled("replacement")
        return old
    }

    /// The news of each chapter, in the order given.
    private static func heard(_ chapters: [Normalization]) -> (ledger: AccountLedger, news: [NormalizedEvent]) {
        var ledger = AccountLedger()
        var news: [NormalizedEvent] = []
        for chapter in chapters { news += ledger.apply(chapter).filter(\.isNews).map(\.event) }
        return (ledger, news)
    }

    private static func balance(_ ledger: AccountLedger, _ policy: CreditPolicy, at days: Int64) -> Int64 {
        CreditStatement(of: ledger.states, under: policy, uses: [], at: Play.date(start + days * day)).balance
    }

    /// An add-on makes a new purchase, whichever of the two sorts first.
    @Test(
        "a plan that an add-on is bought beside goes on, with its credits and its renewal",
        arguments: ["voice", "audio"]
    )
    func addOnByNewToken(addOn: String) throws {
        let end = Self.start + 30 * Self.day
        let changed = Self.start + 15 * Self.day
        let plan = Self.item("premium", order: Vectors.order, expiry: end)
        let keep = plan.with {
            $0.extra["itemReplacement"] =
                #"{"productId":"premium","basePlanId":"monthly","replacementMode":"KEEP_EXISTING"}"#
        }
        var new = Vectors.purchase("ACTIVE").with {
            $0.start = changed
            $0.items = [keep, Self.item(addOn, order: Self.nextOrder, expiry: end)]
        }
        new.linked = Vectors.token
        let old = Self.replaced(plan, at: changed)
        let renewed = new.with {
            $0.items = ["premium", addOn].map {
                Self.item($0, order: Self.nextOrder + "..0", expiry: end + 30 * Self.day)
            }
        }
        let others = [Play.found(.subscription, for: Vectors.token, old.json)]
        let chapters = [
            try Play.map(4, Vectors.purchase("ACTIVE", plan).with { $0.start = Self.start }, at: Self.start),
            try Play.map(4, new, token: Vectors.oldToken, at: changed, others: others),
            try Play.map(13, old, at: changed + 2500),
            try Play.map(2, renewed, token: Vectors.oldToken, at: end, others: others),
        ]
        let policy = CreditPolicy(["premium": .init(credits: 200), ProductID(addOn): .init(credits: 50)])
        for order in [[0, 1, 2, 3], [0, 2, 1, 3], [3, 2, 1, 0]] {
            let (ledger, news) = Self.heard(order.map { chapters[$0] })
            #expect([10, 20, 35].map { Self.balance(ledger, policy, at: $0) } == [200, 250, 250], "\(order)")
            for state in ledger.states where order[0] == 0 {
                let products = Set(
                    news.filter { state.lineages.contains($0.subscription ?? state.subscription) }.compactMap(
                        \.product?.id
                    )
                )
                #expect(products.count == 1, "\(state.subscription)")
            }
            guard order[0] == 0 else { continue }
            let begun = news.compactMap { event -> String? in
                switch event.event {
                case .started(let started): "\(event.product?.id ?? "") \(started.origin)"
                case .renewed(let renewed): "\(event.product?.id ?? "") \(renewed.cause)"
                case .productChanged(let change): change.direction == .addOns ? nil : "changed to \(change.to)"
                default: nil
                }
            }
            #expect(
                begun.sorted() == ["premium new", "\(addOn) new", "premium scheduled", "\(addOn) scheduled"].sorted(),
                "\(order)"
            )
        }
    }

    /// New add-ons are charged up to the renewal of the plan (https://developer.android.com/google/play/billing/subscription-with-addons):
    /// 2.50 of 5.00 for half a month, where the order was looked up.
    @Test("an add-on that joins within a period gives the part that was paid for", arguments: ["voice", "audio"])
    func chargedPart(addOn: String) throws {
        let end = Self.start + 30 * Self.day
        let changed = Self.start + 15 * Self.day
        let plan = Self.item("premium", order: Vectors.order, expiry: end)
        var new = Vectors.purchase("ACTIVE").with {
            $0.start = changed
            $0.items = [
                plan.with {
                    $0.extra["itemReplacement"] =
                        #"{"productId":"premium","basePlanId":"monthly","replacementMode":"KEEP_EXISTING"}"#
                }, Self.item(addOn, order: Self.nextOrder, expiry: end).with { $0.price = Vectors.money(5) },
            ]
        }
        new.linked = Vectors.token
        let old = Self.replaced(plan, at: changed)
        let order = #"""
            {"orderId":"\#(Self.nextOrder)","state":"PROCESSED","lineItems":[\#
            {"productId":"\#(addOn)","total":\#(Vectors.money(2, nanos: 500_000_000))}]}
            """#
        let others = [
            Play.found(.subscription, for: Vectors.token, old.json), Play.found(.order, for: Self.nextOrder, order),
        ]
        let chapters = [
            try Play.map(4, Vectors.purchase("ACTIVE", plan).with { $0.start = Self.start }, at: Self.start),
            try Play.map(4, new, token: Vectors.oldToken, at: changed, others: others),
            try Play.map(13, old, at: changed + 2500),
        ]
        let policy = CreditPolicy(["premium": .init(credits: 200), ProductID(addOn): .init(credits: 50)])
        for order in [[0, 1, 2], [0, 2, 1], [2, 1, 0]] {
            let (ledger, _) = Self.heard(order.map { chapters[$0] })
            #expect([10, 20].map { Self.balance(ledger, policy, at: $0) } == [200, 225], "\(order)")
        }
    }

    @Test(
        "the product before a deferred change gives its credits once, even when the change is carried out",
        arguments: [true, false]
    )
    func deferredAndCarriedOut(saysWhatIsReplaced: Bool) throws {
        let end = Self.start + 30 * Self.day
        let changed = Self.start + 15 * Self.day
        let left = Self.item("premium", order: Vectors.order, expiry: end)
        var new = Vectors.purchase("ACTIVE").with {
            $0.start = changed
            $0.items = [
                left.with {
                    $0.isRenewing = false
                    $0.extra["deferredItemReplacement"] = #"{"productId":"basic"}"#
                }, Self.item("basic", order: nil, expiry: nil),
            ]
        }
        new.linked = Vectors.token
        let old = Self.replaced(left, at: changed)
        let done = new.with {
            $0.items = [
                left.with { $0.isRenewing = false },
                Self.item("basic", order: Self.nextOrder, expiry: end + 30 * Self.day).with {
                    guard saysWhatIsReplaced else { return }
                    $0.extra["itemReplacement"] =
                        #"{"productId":"premium","basePlanId":"monthly","replacementMode":"DEFERRED"}"#
                },
            ]
        }
        let others = [Play.found(.subscription, for: Vectors.token, old.json)]
        let chapters = [
            try Play.map(4, Vectors.purchase("ACTIVE", left).with { $0.start = Self.start }, at: Self.start),
            try Play.map(4, new, token: Vectors.oldToken, at: changed, others: others),
            try Play.map(13, old, at: changed + 2500),
            try Play.map(2, done, token: Vectors.oldToken, at: end, others: others),
        ]
        let policy = CreditPolicy(["premium": .init(credits: 500), "basic": .init(credits: 200)])
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [0, 3]] {
            let (ledger, _) = Self.heard(order.map { chapters[$0] })
            #expect(ledger.states.count == 1, "\(order)")
            #expect([10, 20, 35].map { Self.balance(ledger, policy, at: $0) } == [500, 500, 200], "\(order)")
            let access = try [20, 35].map { days in
                try #require(ledger.states.first).snapshot(at: Play.date(Self.start + days * Self.day)).product
            }
            #expect(access == ["premium:monthly", "basic:monthly"], "\(order)")
        }
    }

    /// The purchase begins with the change, and its first order is charged when the change is carried out. Google says how an
    /// item was replaced for 60 days.
    @Test("the replacement of a deferred change is canceled under its own time", arguments: [40, 100])
    func deferredAndCanceled(day: Int64) throws {
        let end = Self.start + 30 * Self.day
        let changed = Self.start + 15 * Self.day
        let left = Self.item("premium", order: Vectors.order, expiry: end)
        let item = Self.item("basic", order: Self.nextOrder, expiry: end + 365 * Self.day).with {
            $0.extra["itemReplacement"] =
                #"{"productId":"premium","basePlanId":"monthly","replacementMode":"DEFERRED"}"#
        }
        var done = Vectors.purchase("ACTIVE").with {
            $0.start = changed
            $0.items = [left.with { $0.isRenewing = false }, item]
        }
        done.linked = Vectors.token
        let canceled = done.with {
            $0.state = "CANCELED"
            $0.items = [item.with { $0.isRenewing = false }]
            if day > 60 { $0.items[0].extra["itemReplacement"] = nil }
            $0.extra["canceledStateContext"] = Vectors.canceled("userInitiated")
        }
        let others = [Play.found(.subscription, for: Vectors.token, Self.replaced(left, at: changed).json)]
        // Later, only the order says when its period began.
        let orders = day > 60 ? [Self.order(Self.nextOrder, of: "basic", from: end)] : []
        let chapters = [
            try Play.map(4, Vectors.purchase("ACTIVE", left).with { $0.start = Self.start }, at: Self.start),
            try Play.map(2, done, token: Vectors.oldToken, at: end, others: others + orders),
            try Play.map(3, canceled, token: Vectors.oldToken, at: Self.start + day * Self.day),
        ]
        let policy = CreditPolicy(["premium": .init(credits: 500), "basic": .init(credits: 200)])
        for order in [[0, 1, 2], [2, 1, 0]] {
            let (ledger, _) = Self.heard(order.map { chapters[$0] })
            #expect([20, 35, 110].map { Self.balance(ledger, policy, at: $0) } == [500, 200, 200], "\(order)")
        }
    }

    @Test("a change at once that is heard of after 60 days counts from its own time")
    func changedAtOnceAndHeardOfLate() throws {
        let changed = Self.start + 15 * Self.day
        let item = Self.item("basic", order: Self.nextOrder, expiry: Self.start + 365 * Self.day)
        var canceled = Vectors.purchase("CANCELED").with {
            $0.start = changed
            $0.items = [item.with { $0.isRenewing = false }]
            $0.extra["canceledStateContext"] = Vectors.canceled("userInitiated")
        }
        canceled.linked = Vectors.token
        let left = Self.item("premium", order: Vectors.order, expiry: changed)
        let others = [Play.found(.subscription, for: Vectors.token, Self.replaced(left, at: changed).json)]
        let heard = try Play.map(3, canceled, token: Vectors.oldToken, at: Self.start + 100 * Self.day, others: others)
        let (ledger, _) = Self.heard([heard])
        let policy = CreditPolicy(["basic": .init(credits: 200)])
        #expect([20, 110].map { Self.balance(ledger, policy, at: $0) } == [200, 200])
        #expect(ledger.states.map { $0.access(at: Play.date(Self.start + 20 * Self.day)).isGranted } == [true])
    }

    private static func order(_ id: String, of product: String, from start: Int64) -> GoogleResolution.Lookup {
        Play.found(
            .order,
            for: id,
            """
            {"orderId":"\(id)","state":"PROCESSED","lineItems":[{"productId":"\(product)","subscriptionDetails":\
            {"servicePeriodStartTime":\(Vectors.JSON.time(start))}}]}
            """
        )
    }

    @Test("an item that is gone and still listed ends by itself, and is no change of what renews")
    func removedAndListed() throws {
        let end = Self.start + 30 * Self.day
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Self.start
            $0.items = ["premium", "voice"].map { Self.item($0, order: Vectors.order, expiry: end) }
        }
        let renewed = bought.with {
            $0.items[0].order = Vectors.order + "..0"
            $0.items[0].expiry = end + 30 * Self.day
            $0.items[1].isRenewing = false
        }
        let (ledger, news) = Self.heard([
            try Play.map(4, bought, at: Self.start), try Play.map(2, renewed, at: end + 60_000),
            try Play.map(2, renewed, at: end + 120_000),
        ])
        let later = news.filter { $0.occurredAt >= Play.date(end) }
        #expect(
            later.map(\.event.kind) == [.renewed, .expired]
                && later.map { $0.product?.id } == ["premium", "voice"]
        )
        guard case .renewed(let renewal)? = later.first?.event, case .expired(let ended)? = later.last?.event else {
            return
        }
        #expect(renewal.cause == .scheduled && ended.reason == .customer)
        let access = ledger.states.map { $0.access(at: Play.date(end + Self.day)).isGranted }
        #expect(access.filter(\.self).count == 1)
    }

    /// Google bills what is left of a commitment after it was canceled.
    @Test("a commitment renews as long as a payment of it is left", arguments: [5, 0, nil])
    func commitment(left: Int?) throws {
        let end = Self.start + 30 * Self.day
        let item = Self.item("premium", order: Vectors.order, expiry: end).with {
            // Google's JSON leaves out zeros.
            let left = left.map { #""remainingCommittedPaymentsCount":\#($0),"# } ?? ""
            $0.plan["installmentDetails"] =
                #"{"initialCommittedPaymentsCount":12,\#(left)"pendingCancellation":{}}"#
        }
        let purchase = Vectors.purchase("ACTIVE", item).with { $0.start = Self.start }
        let (ledger, _) = Self.heard([
            try Play.map(
                4,
                Vectors.purchase("ACTIVE", item.with { $0.plan = [:] }).with { $0.start = Self.start },
                at: Self.start
            ),
            try Play.map(18, purchase, at: Self.start + 10 * Self.day),
        ])
        let snapshot = try #require(ledger.states.first).snapshot(at: Play.date(end + 3_600_000))
        let isLeft = left.map { $0 > 0 } ?? false
        #expect(snapshot.willRenew == isLeft)
        #expect(snapshot.status == (isLeft ? .renewalDue : .expired))
    }
}
