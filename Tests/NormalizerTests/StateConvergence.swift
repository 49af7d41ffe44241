import NormalizerTesting
import Foundation
import Testing

@testable import Normalizer

/// Histories made at random. Everything is drawn from few values, so that statements meet: the same transaction with
/// other starts, the same moment with other contents, ends before beginnings.
struct RandomStory {
    let seed: UInt64
    private(set) var events: [NormalizedEvent] = []
    private var random: SeededGenerator

    private static let origin: Int64 = 1_772_355_600_000
    private static let day: Int64 = 86_400_000

    init(seed: UInt64) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        // Most stories are short enough for all their orders.
        let count: Int
        switch pick(20) {
        case 0: count = 6
        case 1: count = 7 + pick(7)
        default: count = 1 + pick(5)
        }
        for index in 0..<count { events.append(event(index)) }
    }

    private mutating func pick(_ count: Int) -> Int { Int.random(in: 0..<count, using: &random) }

    private mutating func one<Value>(_ values: Value...) -> Value { values[pick(values.count)] }

    private mutating func time() -> Date {
        if pick(40) == 0 {
            return one(Date(millisecondsSince1970: 0), Date(millisecondsSince1970: 253_402_300_799_999))
        }
        return Date(millisecondsSince1970: Self.origin + Int64(pick(6)) * 10 * Self.day + one(0, 0, 400, -700))
    }

    private mutating func transaction() -> TransactionID? { one(nil, "", "t1", "t2", "t3") }

    private mutating func name() -> TransactionID { one("t1", "t2", "t3", "") }

    private mutating func lineage() -> SubscriptionID {
        SubscriptionID(
            store: .appStore,
            environment: one(.production, .production, .production, .sandbox),
            id: one("O1", "O1", "O1", "O2", "O3")
        )
    }

    private mutating func account() -> Account {
        let id = one("u1", "u2", "u3")
        return Account(
            id,
            one(.appUserID, .appUserID, .appAccountToken),
            aliases: pick(3) == 0 ? [.init(one("u1", "u2", "u4", ""), .appUserID)] : []
        )
    }

    private mutating func fact() -> Fact {
        switch pick(15) {
        case 0, 1, 2:
            let start = time()
            let isProvisional = pick(4) == 0
            return .period(
                Fact.Period(
                    ServicePeriod(start: start, end: pick(5) == 0 ? nil : time()),
                    product: one("a", "b", "c"),
                    phase: one(.trial, .regular, .prepaid),
                    transaction: transaction(),
                    ownership: one(.purchased, .familyShared),
                    isProvisional: isProvisional,
                    isRunning: isProvisional && pick(2) == 0,
                    isStartInferred: isProvisional && pick(2) == 0,
                    isPhaseInferred: pick(4) == 0
                )
            )
        case 3, 4:
            return .periodEnded(
                Fact.PeriodEnd(
                    start: time(),
                    transaction: transaction(),
                    at: time(),
                    reason: one(.customer, .refunded, .paused, .replaced)
                )
            )
        case 5, 6:
            return .renewalIntent(
                Fact.RenewalIntent(
                    RenewalTerms(willRenew: one(true, false), nextProduct: one(nil, "a", "b")),
                    reason: one(nil, .customer, .billing)
                )
            )
        case 7: return .nextProduct(Fact.NextProduct(one(nil, "a", "b")))
        case 8:
            return .billing(
                Fact.Billing(
                    one(.settled, .grace, .suspended, .unknown),
                    periodStart: one(nil, time()),
                    graceUntil: one(nil, time()),
                    isPartial: pick(2) == 0,
                    isGraceInferred: pick(4) == 0,
                    charge: one(
                        nil,
                        .init(transaction: name(), attempt: 1, changeStart: time(), items: [.init(product: "b")])
                    )
                )
            )
        case 9: return .pause(Fact.PauseState(one(.none, .scheduled, .paused), resumesAt: one(nil, time())))
        case 10:
            return .priceChange(
                Fact.PriceChangeState(one(nil, LifecycleEvent.PriceChange(stage: .pending, consentRequired: true)))
            )
        case 11:
            return .refund(
                Fact.RefundState(
                    transaction: name(),
                    scope: one(nil, .full),
                    at: time(),
                    periodStart: one(nil, time()),
                    endsAccess: one(true, false)
                )
            )
        case 12:
            return one(
                .owner(account()),
                .transfer(.init(from: [.init(one("u1", "u2"), .appUserID)], to: [.init(one("u2", "u3"), .appUserID)]))
            )
        case 13:
            return .purchase(
                Fact.OneTimePurchase(
                    transaction: name(),
                    product: one("a", "b"),
                    purchase: .init(
                        type: one(.consumable, .nonConsumable, .nonRenewing),
                        quantity: 1,
                        expires: one(nil, time())
                    ),
                    at: time()
                )
            )
        default:
            return one(
                .link(lineage()),
                .charge(
                    Fact.Charge(
                        transaction: name(),
                        price: Price(Money(ExactDecimal(Int64(pick(3))), "USD"), .charged),
                        at: time(),
                        changeStart: one(nil, time()),
                        items: one(nil, [.init(product: "a"), .init(product: "b")]),
                        setOff: one(nil, [], [.init(product: "a")])
                    )
                )
            )
        }
    }

    private mutating func event(_ index: Int) -> NormalizedEvent {
        let lineage = lineage()
        let asserted = time()
        let transfers = pick(25) == 0
        let transfer = LifecycleEvent.Transfer(
            from: [.init(one("u1", "u2"), .appUserID)],
            to: [.init(one("u2", "u3"), .appUserID)]
        )
        let period = ServicePeriod(start: time(), end: time())
        let happened: LifecycleEvent =
            transfers
            ? .transferred(transfer)
            : one(
                .started(.init(origin: .new, phase: .regular, period: period)),
                .renewed(.init(cause: .unknown, phase: .regular, period: period)),
                .expired(.init(reason: .unknown)),
                .autoRenewDisabled(.init(reason: .unknown)),
                .autoRenewEnabled,
                .gracePeriodExpired,
                .billingIssue(.init(access: .suspended)),
                .productChangeScheduled(.init(to: "b", direction: .unknown, timing: .atPeriodEnd(nil), basis: .store)),
                .refunded(.init(transaction: name(), scope: .full, reason: .unknown, affectsCurrentPeriod: nil)),
                .extended(.init(to: time(), reason: .unknown)),
                .pauseScheduled(.init()),
                .notice(.init(.other))
            )
        let facts = transfers ? [] : (0..<(1 + pick(3))).map { _ in fact() }
        let notification = "n\(pick(4))"
        let isFound = pick(4) == 0
        return NormalizedEvent(
            id: .notified(lineage, by: .apple, notification: "\(seed)", ordinal: index),
            event: happened,
            provider: one(.apple, .apple, .revenuecat, .revenuecat, .host),
            store: .appStore,
            environment: lineage.environment,
            subscription: transfers ? nil : lineage,
            transaction: transaction(),
            period: one(nil, period),
            occurredAt: asserted,
            effectiveAt: asserted,
            assertedAt: asserted,
            receivedAt: time(),
            facts: facts,
            origin: .madeUp(
                notification: isFound ? nil : notification,
                channel: isFound ? one(.clientUpload, .refetch) : one(.webhook, .history),
                digest: notification
            )
        )
    }
}

/// A way to come to know of events, in which order ever.
private protocol Knowledge: Equatable {
    init()
    mutating func learn(_ event: NormalizedEvent)
}

extension AccountLedger: Knowledge {
    fileprivate mutating func learn(_ event: NormalizedEvent) {
        if event.subscription == nil { _ = apply(event) } else if let statement = event.statement { apply(statement) }
    }
}

extension AccountLedger {
    /// The states without what events have reported, which statements do not.
    var unreportedStates: [SubscriptionState] {
        states.map {
            var state = $0
            state.reports = ReportLog()
            return state
        }
    }
}

/// Many implementations do this: they drop a statement that is older than the newest one of its lineage.
private struct DropIfOlder: Knowledge {
    var ledger = AccountLedger()
    var newest: [SubscriptionID: Date] = [:]

    mutating func learn(_ event: NormalizedEvent) {
        guard let lineage = event.subscription else { return }
        if let known = newest[lineage], event.assertedAt < known { return }
        newest[lineage] = event.assertedAt
        ledger.learn(event)
    }
}

/// True if every order of the events, with repetitions, leads to the same knowledge.
private func converges<K: Knowledge>(_ events: [NormalizedEvent], as: K.Type, seed: UInt64) -> Bool {
    var reference = K()
    for event in events { reference.learn(event) }
    var random = SeededGenerator(seed: ~seed)

    guard events.count <= 6 else {
        for _ in 0..<200 {
            var knowledge = K()
            for event in events.shuffled(using: &random) {
                knowledge.learn(event)
                if Bool.random(using: &random), let again = events.randomElement(using: &random) {
                    knowledge.learn(again)
                }
            }
            // Those that were late come at last.
            for event in events.shuffled(using: &random) { knowledge.learn(event) }
            if knowledge != reference { return false }
        }
        return true
    }
    // A tree of orders: those with a common beginning share its work.
    func explore(_ knowledge: K, rest: [NormalizedEvent], seen: [NormalizedEvent]) -> Bool {
        if rest.isEmpty { return knowledge == reference }
        return rest.indices.allSatisfy { index in
            var knowledge = knowledge
            var rest = rest
            let event = rest.remove(at: index)
            knowledge.learn(event)
            if let again = seen.randomElement(using: &random) { knowledge.learn(again) }
            return explore(knowledge, rest: rest, seen: seen + [event])
        }
    }
    return explore(K(), rest: events, seen: [])
}

@Suite("Convergence", .timeLimit(.minutes(5)))
struct StateConvergence {
    /// Three hundred stories in the ordinary run, two thousand in the long one.
    private static let storiesPerChunk = isLong ? 100 : 15
    private static let isLong = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] == "1"

    /// A new seed each run; a failure prints the seed of its story, which `RandomStory(seed:)` makes again.
    private static let seeds: [UInt64] = {
        let first = UInt64.random(in: 0...UInt64.max >> 1)
        return (0..<20).map { first &+ UInt64($0 * storiesPerChunk) }
    }()

    @Test("random stories lead to one state in every order", arguments: seeds)
    func randomStories(first: UInt64) {
        for seed in (0..<UInt64(Self.storiesPerChunk)).map({ first &+ $0 }) {
            let story = RandomStory(seed: seed)
            #expect(converges(story.events, as: AccountLedger.self, seed: seed), "seed \(seed)")
        }
    }

    @Test("events mixed from the written stories lead to one state", arguments: seeds.prefix(isLong ? 4 : 2))
    func mixedStories(first: UInt64) {
        for seed in (0..<10).map({ first &+ $0 }) {
            var random = SeededGenerator(seed: seed)
            let pool = (0..<3).compactMap { _ in Story.all.randomElement(using: &random) }.flatMap(\.events)
            let events = Array(pool.shuffled(using: &random).prefix(11))
            #expect(converges(events, as: AccountLedger.self, seed: seed), "seed \(seed)")
        }
    }

    @Test("applying events gives the state of their facts, one set of ids, and never traps", arguments: seeds.prefix(4))
    func appliedEvents(first: UInt64) throws {
        for seed in (0..<40).map({ first &+ $0 }) {
            var random = SeededGenerator(seed: seed)
            let story = RandomStory(seed: seed)
            var reference = AccountLedger()
            for event in story.events { reference.learn(event) }
            let ids = Set(story.events.map(\.id))
            let inOrder = AccountLedger(applying: story.events)
            for _ in 0..<5 {
                var ledger = AccountLedger()
                var acted: Set<EventID> = []
                for event in story.events.shuffled(using: &random) + story.events.shuffled(using: &random) {
                    acted.insert(ledger.apply(event).event.id)
                }
                #expect(ledger == inOrder, "seed \(seed)")
                #expect(ledger.unreportedStates == reference.states, "seed \(seed)")
                #expect(acted == ids, "seed \(seed)")
            }
            for state in inOrder.states {
                let read = try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(state))
                #expect(read == state, "seed \(seed)")
                check(state, seed)
            }
        }
    }

    /// Properties of every state, however senseless its facts.
    private func check(_ state: SubscriptionState, _ seed: UInt64) {
        _ = state.contradictions
        var moment = Date(millisecondsSince1970: 0)
        for _ in 0..<60 {
            let decision = state.access(at: moment)
            switch decision {
            case .granted(let until, _):
                if let until {
                    #expect(until > moment, "seed \(seed)")
                    #expect(state.access(at: until.addingTimeInterval(-0.001)).isGranted, "seed \(seed)")
                    #expect(!state.access(at: until).isGranted, "seed \(seed)")
                }
            case .denied(let since, let denial):
                if let since { #expect(since <= moment, "seed \(seed)") }
                #expect(denial.reason == .never || !denial.evidence.isEmpty, "seed \(seed)")
            }
            guard let next = state.nextTransition(after: moment) else { break }
            #expect(next > moment, "seed \(seed)")
            // Between two transitions the decision stays.
            let between = Date(
                millisecondsSince1970: (moment.millisecondsSince1970 + next.millisecondsSince1970) / 2
            )
            #expect(state.access(at: between).isGranted == decision.isGranted, "seed \(seed)")
            moment = next
        }
    }

    @Test("the same check finds the fault of dropping what is older")
    func brokenJoinIsFound() {
        let faults = (0..<100).filter {
            !converges(RandomStory(seed: $0).events, as: DropIfOlder.self, seed: $0)
        }
        #expect(faults.count > 30)
        let story = Story.all.first { $0.id == "refund-of-an-earlier-period" }
        #expect(converges(story?.events ?? [], as: DropIfOlder.self, seed: 1) == false)
        #expect(converges(story?.events ?? [], as: AccountLedger.self, seed: 1))
    }
}
