import NormalizerTesting
import FoundationEssentials
import Normalizer
import NotificationSimulator
import ShadowComparison
import Testing
import VectorGenerator

extension Backend {
    static let policy = CreditPolicy([
        "premium:monthly": .init(credits: 200, trialCredits: 20, price: Money(ExactDecimal(10), "EUR")),
        "premium:annual": .init(credits: 500, price: Money(ExactDecimal(10), "EUR")),
        "family:monthly": .init(credits: 300, price: Money(ExactDecimal(10), "EUR")),
    ])

    /// Those of the acts that both channels can name.
    var sharedActs: [NormalizedEvent] { acts.filter(\.isShared) }

    /// The grants of periods, whichever are over.
    var grants: [CreditGrant] {
        let end = Date(timeIntervalSince1970: 4_000_000_000)
        let grants = CreditStatement(of: ledger.states, under: Self.policy, uses: [], at: end).grants
        return grants.filter { if case .carriedOver = $0.reason { false } else { true } }
    }

    var payouts: Int { grants.count }
}

extension NormalizedEvent {
    /// True if the store gives the fact a name that every channel knows.
    var isShared: Bool {
        switch kind {
        case .started, .renewed, .productChanged, .expired, .revoked, .paused, .refunded, .chargeback, .extended,
            .oneTimePurchased:
            true
        default: false
        }
    }
}

@Suite("One Play order, two channels")
struct PlayIdentityTests {
    @Test("a purchase that both channels report has one identity and one order", arguments: PlayStory.subscriptions)
    func identities(story: PlayStory) async throws {
        let channels = try await PlayChannels(story)
        for (step, events) in zip(story.steps, channels.steps) {
            let google = events.google.filter(\.isShared)
            let relayed = events.relayed.filter(\.isShared)
            if !step.isAtAnotherTime { #expect(Set(google.map(\.id)) == Set(relayed.map(\.id)), "\(step.name)") }
            for event in relayed {
                let twin = channels.google.first { $0.id == event.id }
                #expect(twin?.transaction == event.transaction, "\(step.name)")
                #expect(twin?.environment == event.environment, "\(step.name)")
                #expect(twin?.product == event.product, "\(step.name)")
            }
        }
        #expect(Set(channels.google.filter(\.isShared).map(\.id)) == Set(channels.relayed.filter(\.isShared).map(\.id)))
        // Every fact of a story has a name of its own.
        #expect(Set(channels.relayed.filter(\.isShared).map(\.id)).count == channels.relayed.count(where: \.isShared))
    }

    @Test("periods are named alike: product, phase, end and order", arguments: PlayStory.subscriptions)
    func periods(story: PlayStory) async throws {
        let channels = try await PlayChannels(story)
        for (step, events) in zip(story.steps, channels.steps) {
            func stated(_ events: [NormalizedEvent]) -> [Fact.Period] {
                events.flatMap(\.facts).compactMap { fact in
                    if case .period(let period) = fact, !period.isProvisional { period } else { nil }
                }
            }
            for period in stated(events.relayed) {
                // Under the order that a purchase begins with, an extension may be of any month: its start names it.
                let twin = stated(events.google).first {
                    $0.transaction == period.transaction || period.transaction == nil
                }
                #expect(twin?.product == period.product, "\(step.name)")
                #expect(twin?.phase == period.phase, "\(step.name)")
                #expect(twin?.period.end == period.period.end, "\(step.name)")
            }
        }
    }

    @Test("interleaved, every fact acts once, whichever channel is first", arguments: PlayStory.subscriptions)
    func interleaved(story: PlayStory) async throws {
        let channels = try await PlayChannels(story)
        // If access had already ended, the end of the period may be reported as an echo.
        var echoes: Set<EventID> = []
        for (step, events) in zip(story.steps, channels.steps) where step.isEndEchoed {
            for event in events.google + events.relayed where event.kind == .expired || event.kind == .revoked {
                echoes.insert(event.id)
            }
        }
        let expected = Set(channels.google.filter(\.isShared).map(\.id)).subtracting(echoes)
        var orders = [channels.google, channels.relayed]
        orders.append(channels.steps.flatMap { $0.google + $0.relayed })
        orders.append(channels.steps.flatMap { $0.relayed + $0.google })
        orders.append(channels.steps.flatMap { [$0.google, $0.relayed, $0.google, $0.relayed].flatMap(\.self) })
        for (number, order) in orders.enumerated() {
            let acts = Backend(order).sharedActs
            #expect(Set(acts.map(\.id)).subtracting(echoes) == expected, "order \(number)")
            #expect(acts.count == Set(acts.map(\.id)).count, "order \(number)")
        }
    }

    @Test("an event that arrives on either channel is news, whatever was lost", arguments: PlayStory.subscriptions)
    func lossy(story: PlayStory) async throws {
        let channels = try await PlayChannels(story)
        var echoes: Set<EventID> = []
        for (step, events) in zip(story.steps, channels.steps) where step.isEndEchoed {
            for event in events.google + events.relayed where event.kind == .expired || event.kind == .revoked {
                echoes.insert(event.id)
            }
        }
        var generator = SeededGenerator(seed: 11)
        for round in 0..<20 {
            var delivered = channels.google + channels.relayed
            delivered.removeAll { _ in Int.random(in: 0..<4, using: &generator) == 0 }
            delivered.shuffle(using: &generator)
            var ledger = AccountLedger()
            var heard: Set<EventID> = []
            for event in delivered where ledger.apply(event).disposition != .duplicate { heard.insert(event.id) }
            // If the link between two names is lost, each of them is reported, under one id.
            for event in delivered where event.isShared && !echoes.contains(event.id) {
                #expect(heard.contains(event.id), "round \(round): \(event.kind) by \(event.provider)")
            }
        }
    }

    @Test(
        "in any order one purchase comes of it, one state, and nothing acts twice",
        arguments: PlayStory.subscriptions
    )
    func shuffled(story: PlayStory) async throws {
        let channels = try await PlayChannels(story)
        let all = channels.google + channels.relayed
        let expected = Backend(all)
        #expect(expected.ledger.states.count == 1)
        let facts = Set(channels.google.filter(\.isShared).map(\.id))
        let periods = Set(all.flatMap(\.facts).compactMap(\.paidOrder)).count
        #expect(expected.payouts == periods)
        var generator = SeededGenerator(seed: 29)
        for round in 0..<60 {
            let backend = Backend(all.shuffled(using: &generator))
            #expect(backend.ledger == expected.ledger, "round \(round)")
            #expect(Set(backend.sharedActs.map(\.id)).count == backend.sharedActs.count, "round \(round)")
            #expect(Set(backend.sharedActs.map(\.id)).isSubset(of: facts), "round \(round)")
            #expect(backend.payouts <= periods, "round \(round)")
        }
    }

    @Test(
        "money that a bank took back acts once, though one channel calls it a refund",
        arguments: [PlayStory.chargedBack, .refunded]
    )
    func chargeback(story: PlayStory) async throws {
        let channels = try await PlayChannels(story)
        let kinds: Set<LifecycleEvent.Kind> = [.chargeback, .refunded]
        let google = try #require(channels.google.first { kinds.contains($0.kind) })
        let relayed = try #require(channels.relayed.first { kinds.contains($0.kind) })
        #expect(google.kind == (story.name == "chargeback" ? .chargeback : .refunded))
        #expect(relayed.kind == .refunded)
        #expect(google.id == relayed.id)
        let alone = [Backend(channels.google), Backend(channels.relayed)]
        #expect(alone.allSatisfy { !$0.grants.isEmpty })
        for order in [channels.google + channels.relayed, channels.relayed + channels.google] {
            let backend = Backend(order)
            #expect(backend.acts.count { kinds.contains($0.kind) } == 1)
            let heard = zip(order, backend.dispositions).filter { kinds.contains($0.0.kind) }
            #expect(heard.map(\.1) == [.applied, .duplicate])
            #expect(backend.grants.map(\.until) == alone[0].grants.map(\.until))
        }
        // Each channel has a name of its own for the purchase, and none for what it paid out.
        func paid(_ backend: Backend) -> [[String]] {
            backend.grants.map { ["\($0.id)", "\($0.credits)", "\($0.ended)", "\($0.until ?? .distantFuture)"] }
        }
        #expect(paid(alone[0]) == paid(alone[1]))
    }

    @Test(
        "a comparison of the two knows the purchase under both its names",
        arguments: [PlayStory.renewals, .chargedBack]
    )
    func comparison(story: PlayStory) async throws {
        let channels = try await PlayChannels(story)
        let comparison = ChannelComparison(channels.google, channels.relayed)
        #expect(comparison.lineagesOnlyFirst.isEmpty)
        #expect(comparison.lineagesOnlySecond.isEmpty)
        #expect(comparison.onlyFirst.isEmpty, "\(comparison.onlyFirst)")
        #expect(comparison.onlySecond.isEmpty, "\(comparison.onlySecond)")
        #expect(comparison.differing.isEmpty, "\(comparison.differing)")
        let one = channels.relayed.filter { $0.kind != .renewed }
        #expect(ChannelComparison(channels.google, one).onlyFirst.contains { $0.kind == .renewed })
    }

    private static let accounts = [
        Account.Identifier("acct-7f3a", .obfuscatedAccountID), Account.Identifier("u1", .appUserID),
    ]

    @Test("both channels decide alike on access at every point of the story", arguments: PlayStory.subscriptions)
    func accessAsItIsHeard(story: PlayStory) async throws {
        let steps = try await PlayChannels(story).steps
        for index in steps.indices {
            let heard = steps[...index]
            let google = Backend(heard.flatMap(\.google)).ledger
            let relayed = Backend(heard.flatMap(\.relayed)).ledger
            let both = Backend(heard.flatMap { $0.google + $0.relayed }).ledger
            let next = story.steps.indices.contains(index + 1) ? story.steps[index + 1].at : Day.of(160)
            let moments = stride(from: story.steps[index].at + GoogleVectors.hour, to: next, by: 6 * 3_600_000)
            for moment in moments {
                let time = Date(millisecondsSince1970: moment)
                let decision = google.access(of: Self.accounts, at: time).decision.isGranted
                let after = "\(story.steps[index].name), day \((moment - Day.of(0)) / GoogleVectors.day)"
                #expect(relayed.access(of: Self.accounts, at: time).decision.isGranted == decision, "\(after)")
                let joint = both.access(of: Self.accounts, at: time)
                #expect(joint.decision.isGranted == decision, "\(after), both")
                // One purchase, whatever the number of names that it goes by.
                #expect(joint.grantors.count + joint.others.count == 1)
                #expect(joint.conflicts.isEmpty)
            }
        }
    }

    /// A relay does not say which order the first one is when it tells of a deferral.
    @Test("a deferral gives no instalment, whichever channel tells of it, and in any order", arguments: [false, true])
    func deferral(isReversed: Bool) async throws {
        let channels = try await PlayChannels(.deferred)
        let policy = CreditPolicy(["premium:monthly": .init(credits: 200, every: CalendarDuration(days: 7))])
        let end = Date(millisecondsSince1970: Day.of(44) - 1)
        for events in [channels.google, channels.relayed, channels.google + channels.relayed] {
            let ledger = Backend(isReversed ? events.reversed() : events).ledger
            let statement = CreditStatement(of: ledger.states, under: policy, uses: [], at: end)
            #expect(statement.grants.map(\.reason) == (0..<5).map { .instalment($0) })
        }
    }

    // A grace period that is over is no longer kept, so that only its own time tells of it.
    @Test(
        "looked back on, the channels decide alike on access",
        arguments: PlayStory.subscriptions.filter { $0.name != PlayStory.troubled.name }
    )
    func accessInRetrospect(story: PlayStory) async throws {
        let channels = try await PlayChannels(story)
        let google = Backend(channels.google).ledger
        let relayed = Backend(channels.relayed).ledger
        let both = Backend(channels.google + channels.relayed).ledger
        for hour in stride(from: Int64(1), to: 24 * 130, by: 6) {
            let time = Date(millisecondsSince1970: Day.of(0) + hour * GoogleVectors.hour)
            let decision = google.access(of: Self.accounts, at: time).decision.isGranted
            #expect(relayed.access(of: Self.accounts, at: time).decision.isGranted == decision, "hour \(hour)")
            #expect(both.access(of: Self.accounts, at: time).decision.isGranted == decision, "hour \(hour), both")
        }
    }
}

extension Fact {
    fileprivate var paidOrder: TransactionID? {
        if case .period(let period) = self, !period.isProvisional { period.transaction } else { nil }
    }
}
