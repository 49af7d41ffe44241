import ConformanceVectors
import Normalizer
import NormalizerTesting
import NotificationSimulator
import RevenueCatEvents
import Testing

/// The outcome of a story at one moment, in any order of its webhooks.
struct StoryOutcome: Sendable, CustomTestStringConvertible {
    var story: String
    var lineage: SubscriptionID
    var at: Int64
    var status: SubscriptionSnapshot.Status
    var until: Int64?
    var willRenew: Bool?
    var product: ProductID
    var pending: ProductID?
    var resumesAt: Int64?

    init(
        _ story: String,
        at: Int64,
        _ status: SubscriptionSnapshot.Status,
        until: Int64? = nil,
        renews: Bool? = true,
        lineage: String = "O1",
        store: PurchaseStore = .appStore,
        environment: StoreEnvironment = .production,
        product: ProductID = "pro_m",
        pending: ProductID? = nil,
        resumesAt: Int64? = nil
    ) {
        self.story = story
        self.at = at
        self.status = status
        self.until = until
        willRenew = renews
        self.lineage = SubscriptionID(store: store, environment: environment, id: lineage)
        self.product = product
        self.pending = pending
        self.resumesAt = resumesAt
    }

    var testDescription: String { "\(story) at \(at)" }
}

@Suite("Stories of RevenueCat, in every order")
struct StoryTests {
    static let adapter = Result { try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")])) }
    static let simulator = RevenueCatSimulator(authorization: SecretBytes("a"))

    static func story(_ name: String) throws -> CommittedStory {
        try #require(CommittedStory.all().first { $0.name == name }, "\(name)")
    }

    static func events(_ story: CommittedStory) throws -> [NormalizedEvent] {
        let adapter = try Self.adapter.get()
        return try story.webhooks.flatMap { webhook in
            let delivery = try simulator.delivery(webhook.body, receivedAt: webhook.now)
            return try adapter.normalize(try adapter.authenticate(delivery)).events
        }
    }

    @Test("every order, with redeliveries, gives one ledger", arguments: try CommittedStory.all())
    func converges(story: CommittedStory) throws {
        let events = try Self.events(story)
        let expected = AccountLedger(applying: events)
        for order in permutations(of: events) {
            var ledger = AccountLedger(applying: order)
            // Everything once more, the last first.
            for event in order.reversed() { _ = ledger.apply(event) }
            #expect(ledger == expected)
            guard ledger == expected else { return }
            let contradictions = Set(ledger.states.flatMap { ledger.contradictions(of: $0) }.map(\.kind))
            // An end that leaves out the extension before it.
            #expect(contradictions == (story.name == "S2-7d" ? [.endedBeforePaidEnd] : []), "\(story.name)")
        }
    }

    static let grace = t1 + 16 * day
    static let upgrade = t0 + 15 * day
    static let back = t1 + 20 * day

    static let outcomes: [StoryOutcome] = [
        .init("S2-1", at: t0 + day, .active, until: t2),
        .init("S2-1", at: t1 + day, .active, until: t2),
        .init("S2-2", at: t0 + 11 * day, .active, until: t1, renews: false),
        .init("S2-2", at: t1 + day, .expired, renews: false),
        .init("S2-3", at: t0 + 12 * day, .active, until: t1),
        .init("S2-4a", at: back + day, .active, until: back + 31 * day),
        .init("S2-4b", at: back + day, .expired, renews: false),
        .init("S2-4b", at: back + day, .active, until: back + 31 * day, lineage: "O2"),
        .init("S2-4c", at: t1 + 4 * day, .active, until: t2, lineage: "GPA.4", store: .playStore, product: "s:pro"),
        .init("S2-5", at: t0 + 16 * day, .active, until: t1, lineage: "GPA.4", store: .playStore, product: "s:pro"),
        .init("S2-5", at: t1 + day, .paused, lineage: "GPA.4", store: .playStore, product: "s:pro"),
        .init(
            "S2-5",
            at: t1 + 31 * day,
            .active,
            until: t1 + 61 * day,
            lineage: "GPA.4",
            store: .playStore,
            product: "s:pro"
        ),
        .init("S2-6a", at: t1 + day, .expired, renews: false),
        .init("S2-6a-recovered", at: t1 + 13 * day, .active, until: t1 + 43 * day),
        .init("S2-6b", at: t1 + day, .grace, until: grace, renews: false),
        .init("S2-6b", at: grace + day, .expired, renews: false),
        .init("S2-6c", at: t1 + 4 * day, .active, until: t2),
        .init("S2-6d", at: t1 + day, .grace, until: grace, renews: false),
        .init("S2-7a", at: t1 + 5 * day, .active, until: t1 + 38 * day),
        .init(
            "S2-7b",
            at: t1 + hour,
            .active,
            until: t1 + 20 * hour + 31 * day,
            lineage: "GPA.4",
            store: .playStore,
            product: "s:pro"
        ),
        .init("S2-7d", at: t1 + day, .expired),
        .init("S2-8", at: t0 + 7 * day - minute, .trial, until: t0 + 38 * day),
        .init("S2-8", at: t0 + 8 * day, .active, until: t0 + 38 * day),
        .init("S2-9", at: t0 + 2 * day, .trial, until: t0 + 7 * day, renews: false),
        .init("S2-9", at: t0 + 8 * day, .expired, renews: false),
        .init("S2-10", at: t0 + 8 * day, .active, until: t0 + 38 * day),
        .init("S2-11", at: t0 + 41 * day, .active, until: t0 + 71 * day),
        .init("S2-12a", at: upgrade + day, .active, until: upgrade + 31 * day),
        .init(
            "S2-12b",
            at: upgrade + day,
            .active,
            until: upgrade + 31 * day,
            lineage: "GPA.1",
            store: .playStore,
            product: "s:pro"
        ),
        .init(
            "S2-12b",
            at: upgrade + day,
            .active,
            until: upgrade + 31 * day,
            lineage: "GPA.2",
            store: .playStore,
            product: "s:pro"
        ),
        .init("S2-12c", at: upgrade + day, .active, until: t1, store: .stripe),
        .init("S2-13", at: upgrade + day, .active, until: t2, pending: "basic_m"),
        .init("S2-13", at: t1 + day, .active, until: t2, product: "basic_m"),
        .init("S2-13-withdrawn", at: upgrade + 2 * day, .active, until: t1),
        .init("S3-1", at: t0 + 11 * day, .refunded),
        .init("S3-1", at: t1 + day, .active, until: t2),
        .init("S3-2", at: t0 + 14 * day, .active, until: t1),
        .init("S3-3", at: t0 + 11 * day, .refunded),
        .init("S3-3-canceled", at: t0 + 11 * day, .active, until: t1, renews: false),
        .init(
            "S3-5",
            at: t0 + 3 * day,
            .expired,
            renews: false,
            lineage: "promo-1",
            store: .promotional,
            product: "rc_promo_pro_weekly"
        ),
        .init("S3-5", at: t0 + 3 * day, .active, until: t1),
        .init("S3-6-purchase", at: t0 + 2 * day, .active, until: t1),
        .init("S3-6-rejected", at: t0 + 2 * hour, .expired, renews: nil, lineage: "X"),
        .init("early", at: t1 - hour, .active, until: t2),
        .init("S3-7", at: t1 - 10 * hour, .active, until: t2, renews: false),
        .init("S3-8", at: t1 + day, .active, until: t2),
        .init(
            "S3-9",
            at: t0 + 20 * minute,
            .active,
            until: t0 + 30 * minute,
            renews: false,
            lineage: "GPA.8",
            store: .playStore
        ),
        .init("S3-14", at: t1 + day, .expired),
        .init("S3-16", at: t0 + 11 * day, .active, until: t1, renews: false, lineage: "GPA.9", store: .playStore),
        .init("S3-10", at: t1 + day, .renewalDue),
        .init("S3-10", at: t1 + day, .active, until: t2, environment: .sandbox),
    ]

    @Test("a story has the expected outcome", arguments: outcomes)
    func outcome(outcome: StoryOutcome) throws {
        let ledger = try AccountLedger(applying: Self.events(try Self.story(outcome.story)).reversed())
        let state = try #require(ledger[outcome.lineage])
        let snapshot = state.snapshot(at: date(outcome.at))
        #expect(snapshot.status == outcome.status)
        switch snapshot.access {
        case .granted(let until, _): #expect(until == outcome.until.map(date))
        case .denied: #expect(outcome.until == nil)
        }
        #expect(snapshot.willRenew == outcome.willRenew)
        #expect(snapshot.product == outcome.product)
        #expect(snapshot.pendingProduct == outcome.pending)
    }

    @Test("the pause's end stays known while it lasts, and not after")
    func pause() throws {
        let lineage = SubscriptionID(store: .playStore, environment: .production, id: "GPA.4")
        let events = try Self.events(try Self.story("S2-5"))
        var ledger = AccountLedger(applying: events.prefix(3).reversed())
        #expect(ledger[lineage]?.snapshot(at: date(t1 + day)).resumesAt == date(t1 + 30 * day))
        _ = ledger.apply(events[3])
        #expect(ledger[lineage]?.snapshot(at: date(t1 + 31 * day)).resumesAt == nil)
    }

    @Test("a deferral whose charge fails gives no access from its end")
    func deferralFails() throws {
        let lineage = SubscriptionID(store: .playStore, environment: .production, id: "GPA.4")
        for order in permutations(of: try Self.events(try Self.story("S2-7c"))) {
            let ledger = AccountLedger(applying: order)
            #expect(ledger[lineage]?.access(at: date(t1 + 19 * hour)).isGranted == true)
            #expect(ledger[lineage]?.access(at: date(t1 + 20 * hour)).isGranted == false)
        }
    }

    @Test("an end that contradicts an extension is pointed out")
    func contradiction() throws {
        let lineage = SubscriptionID(store: .appStore, environment: .production, id: "O1")
        let ledger = try AccountLedger(applying: Self.events(try Self.story("S2-7d")))
        #expect(ledger[lineage]?.contradictions.contains { $0.kind == .endedBeforePaidEnd } == true)
    }

    @Test(
        "the customer keeps access through a change on Play, beside an expiry and across a move",
        arguments: [
            ("S2-12b", "u1", true, upgrade + day), ("S2-13-play", "u1", true, t1 + day),
            ("S3-14", "u1", true, t1 + day), ("S2-4b", "u1", true, back + day),
            ("S2-14", "u1", false, t0 + 10 * day), ("S2-14", "u2", true, t0 + 10 * day),
            ("S2-14-renewed", "u1", false, t1 + day), ("S2-14-renewed", "u2", true, t1 + day),
            ("S2-14-back", "u1", true, t0 + 13 * day), ("S2-14-back", "u2", false, t0 + 13 * day),
            ("S3-4", "u1", false, t0 + 4 * day), ("S3-5", "u1", true, t0 + 3 * day),
        ] as [(String, String, Bool, Int64)]
    )
    func customers(name: String, user: String, isGranted: Bool, time: Int64) throws {
        for order in permutations(of: try Self.events(try Self.story(name))) {
            let ledger = AccountLedger(applying: order)
            let access = ledger.access(of: Account.Identifier(user, .appUserID), at: date(time))
            #expect(access.decision.isGranted == isGranted)
        }
    }

    /// The events of a story's webhooks, refined by those before.
    private func refined(_ name: String) throws -> [LifecycleEvent] {
        var ledger = AccountLedger()
        return try Self.events(try Self.story(name)).map { ledger.apply($0).event.event }
    }

    @Test("a renewal is a recovery, a resumption or a conversion in the light of what was before")
    func causes() throws {
        for (name, cause) in [
            ("S2-5", .resumption), ("S2-6c", .recovery(from: .grace)), ("S2-8", .trialConversion),
            ("S2-13", .planChange),
        ] as [(String, LifecycleEvent.Renewed.Cause)] {
            guard case .renewed(let renewed)? = try refined(name).last else {
                Issue.record("\(name): \(String(describing: try refined(name).last))")
                continue
            }
            #expect(renewed.cause == cause, "\(name)")
        }
    }

    @Test("an immediate change is one change, whatever webhooks the store's rules make of it")
    func immediateChanges() throws {
        for (name, product) in [("S2-12a", "pro_m" as ProductID), ("S2-12b", "s:pro"), ("S2-12c", "pro_m")] {
            let events = try refined(name)
            let changes = events.compactMap { event -> LifecycleEvent.ProductChange? in
                if case .productChanged(let change) = event { change } else { nil }
            }
            #expect(changes.map(\.to) == [product], "\(name)")
            #expect(changes.map(\.timing) == [.immediate], "\(name)")
            #expect(events.filter { $0.kind == .started }.count == 1, "\(name)")
        }
        #expect(try refined("S2-12b").last == .expired(.init(reason: .replaced)))
    }
}
