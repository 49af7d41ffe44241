import NormalizerTesting
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing

@Suite("A Stripe subscription's life")
struct StoryTests {
    static let versions: [StripeSimulator.Version] = [.v2020, .acacia, .basil, .endive]

    static func results(_ version: StripeSimulator.Version) throws -> [Normalization] {
        let simulator = simulator(version)
        let adapter = try adapter()
        return try CustomerStory.subscriptionLife(simulator).map {
            try adapter.take($0.content, at: $0.created, simulator)
        }
    }

    static func lineage() throws -> SubscriptionID {
        try #require(try results(.endive).first?.events.first?.subscription)
    }

    static func state(_ statements: some Sequence<StoreStatement>) throws -> SubscriptionState {
        var state = SubscriptionState(try lineage())
        for statement in statements { state.apply(statement) }
        return state
    }

    /// The beginning of the period whose charge fails, an hour later.
    private static func failedPeriodStart() throws -> Int64 { try time(of: "invoice.payment_failed") - 3600 }

    /// The time of the first notification of a type, in seconds.
    private static func time(of type: String) throws -> Int64 {
        try #require(try CustomerStory.subscriptionLife(simulator()).first { $0.type == type }).created
    }

    @Test("reports each fact once", arguments: versions)
    func facts(version: StripeSimulator.Version) throws {
        var seen: Set<EventID> = []
        let events = try Self.results(version).flatMap(\.events).filter { seen.insert($0.id).inserted }
        #expect(
            events.map(\.kind.rawValue) == [
                "started", "renewed", "renewed", "billing_issue", "renewed", "product_changed", "notice",
                "product_change_scheduled", "product_changed", "renewed", "auto_renew_disabled", "expired",
            ]
        )
    }

    @Test("renews once for each paid period, never for a roll or a twin", arguments: versions)
    func renewals(version: StripeSimulator.Version) throws {
        let renewals = try Self.results(version).flatMap(\.events).filter { $0.kind == .renewed }
        #expect(renewals.count == 4)
        #expect(Set(renewals.map(\.id)).count == 4)
        #expect(Set(renewals.map(\.origin.type)) == ["invoice.paid"])
        #expect(Set(renewals.compactMap(\.period?.start)).count == 4)
    }

    @Test("is the same in every API version", arguments: versions)
    func versionsAgree(version: StripeSimulator.Version) throws {
        func plain(_ events: [NormalizedEvent]) -> [NormalizedEvent] {
            events.map {
                var event = $0
                event.origin.digest = ""
                event.origin.revision = nil
                event.facts = plain(event.facts)
                return event
            }
        }
        // Before basil an invoice names its payment.
        func plain(_ facts: [Fact]) -> [Fact] {
            facts.filter {
                switch $0 {
                case .link, .transactionName: false
                default: true
                }
            }
        }
        let reference = try Self.results(.endive)
        let results = try Self.results(version)
        #expect(plain(results.flatMap(\.events)) == plain(reference.flatMap(\.events)))
        #expect(results.map(\.noChange?.reason) == reference.map(\.noChange?.reason))
        func stated(_ results: [Normalization]) -> [[Fact]?] {
            results.map { $0.noChange?.statement.map { plain($0.facts) } }
        }
        #expect(stated(results) == stated(reference))
    }

    @Test("gives one state in any order, however often", arguments: versions)
    func anyOrder(version: StripeSimulator.Version) throws {
        let statements = try Self.results(version).flatMap(\.statements)
        let expected = try Self.state(statements)
        #expect(try Self.state(statements.reversed()) == expected)
        var generator = SeededGenerator(seed: 20_260_105)
        for _ in 0..<50 {
            let shuffled = (statements + statements).shuffled(using: &generator)
            #expect(try Self.state(shuffled) == expected)
        }
    }

    @Test("gives access from the trial to the end, without a gap", arguments: versions)
    func access(version: StripeSimulator.Version) throws {
        let state = try Self.state(try Self.results(version).flatMap(\.statements))
        let begin = try Self.time(of: "customer.subscription.created")
        let end = try Self.time(of: "customer.subscription.deleted")
        for time in stride(from: begin, to: end, by: 6 * 3600) {
            #expect(state.access(at: date(time)).isGranted, "\(time)")
        }
        #expect(state.access(at: date(end - 1)).isGranted)
        #expect(!state.access(at: date(begin - 1)).isGranted)
        #expect(!state.access(at: date(end)).isGranted)
        #expect(!state.access(at: date(end + 365 * day)).isGranted)
    }

    @Test("says at every step what is so then")
    func stepByStep() throws {
        let simulator = simulator()
        let adapter = try adapter()
        var state = SubscriptionState(try Self.lineage())
        var products: [ProductID] = []
        for event in try CustomerStory.subscriptionLife(simulator) {
            for statement in try adapter.take(event.content, at: event.created, simulator).statements {
                state.apply(statement)
            }
            // An hour later there is access, but for the end.
            let decision = state.access(at: date(event.created + 1))
            #expect(decision.isGranted == (event.type != "customer.subscription.deleted"), "\(event.id)")
            if case .granted(_, let grant) = decision, products.last != grant.product { products.append(grant.product) }
        }
        #expect(products == ["prod_basic", "prod_pro", "prod_basic"])
    }

    @Test("is news at each step, and none the second time", arguments: versions)
    func dispositions(version: StripeSimulator.Version) throws {
        var state = SubscriptionState(try Self.lineage())
        var news: [String] = []
        for result in try Self.results(version) {
            if let statement = result.noChange?.statement { state.apply(statement) }
            for event in result.events where event.kind != .notice {
                let first = state.apply(event).disposition
                if first == .applied { news.append(event.kind.rawValue) }
                #expect(state.apply(event).disposition != .applied, "\(event.origin.type)")
                // The update to `past_due` repeats the invoice's report.
                #expect(first == .applied || event.kind == .billingIssue, "\(event.origin.type) \(event.kind)")
            }
        }
        #expect(
            news == [
                "started", "renewed", "renewed", "billing_issue", "renewed", "product_changed",
                "product_change_scheduled", "product_changed", "renewed", "auto_renew_disabled", "expired",
            ]
        )
    }

    @Test("suspends a failed renewal where policy says so, and recovers", arguments: versions)
    func suspended(version: StripeSimulator.Version) throws {
        let simulator = simulator(version)
        let adapter = try policed { $0.pastDue = .suspends }
        let failed = try Self.failedPeriodStart()
        var state = SubscriptionState(try Self.lineage())
        for event in try CustomerStory.subscriptionLife(simulator) where event.created < failed + 2 * 3600 {
            for statement in try adapter.take(event.content, at: event.created, simulator).statements {
                state.apply(statement)
            }
        }
        #expect(!state.access(at: date(failed + day)).isGranted)
        for event in try CustomerStory.subscriptionLife(simulator) where event.created < failed + 4 * day {
            for statement in try adapter.take(event.content, at: event.created, simulator).statements {
                state.apply(statement)
            }
        }
        #expect(state.access(at: date(failed + 4 * day)).isGranted)
    }

    @Test("ends grace when policy says so")
    func grace() throws {
        let simulator = simulator()
        let adapter = try policed { $0.pastDue = .grace(.seconds(2 * day)) }
        let failed = try Self.failedPeriodStart()
        var state = SubscriptionState(try Self.lineage())
        for event in try CustomerStory.subscriptionLife(simulator) where event.created < failed + 2 * 3600 {
            for statement in try adapter.take(event.content, at: event.created, simulator).statements {
                state.apply(statement)
            }
        }
        #expect(state.access(at: date(failed + 2 * day - 1)).isGranted)
        #expect(!state.access(at: date(failed + 2 * day)).isGranted)
    }

    @Test("keeps connected accounts, modes and customers apart")
    func lineages() throws {
        let adapter = try adapter()
        let ids = try ["acct_1", "acct_2", nil].map { account in
            let simulator = simulator(.endive, account: account)
            let story = try CustomerStory.subscriptionLife(simulator)
            return try adapter.take(story[0].content, at: story[0].created, simulator).events.map(\.id)
        }
        let test = StripeSimulator(signingSecret: secret, isLive: false)
        let story = try CustomerStory.subscriptionLife(test)
        let sandbox = try adapter.take(story[0].content, at: story[0].created, test).events
        #expect(sandbox.map(\.environment) == [.sandbox])
        #expect(Set(ids + [sandbox.map(\.id)]).count == 4)
    }

    @Test("survives a queue between the steps")
    func queue() throws {
        let simulator = simulator()
        let adapter = try adapter()
        for event in try CustomerStory.subscriptionLife(simulator) {
            let delivery = try simulator.delivery(event.content, receivedAt: date(event.created))
            let proven = try adapter.authenticate(delivery)
            let bytes = try CanonicalJSON.bytes(proven)
            let taken = try CanonicalJSON.value(Authenticated<StripeNotification>.self, from: bytes)
            #expect(taken.value.body == event.content)
            #expect(try adapter.normalize(taken) == adapter.normalize(proven))
        }
    }
}
