import FoundationEssentials
import NotificationSimulator
import Normalizer
import ShadowComparison
import Testing

@Suite("Comparison of two channels")
struct ComparisonTests {
    static func channels() throws -> TwoChannelTests.Channels {
        try TwoChannelTests.channels(try TwoChannelTests.story("life"))
    }

    @Test("two channels of one story agree in everything that both can report", arguments: TwoChannelTests.stories)
    func agreement(name: String) throws {
        let channels = try TwoChannelTests.channels(try TwoChannelTests.story(name))
        for (first, second) in [(channels.relayed, channels.apple), (channels.apple, channels.relayed)] {
            let comparison = ChannelComparison(first, second, tolerance: .seconds(TwoChannelTests.refundSkew + 1))
            // RevenueCat calls every refund a full one, and does not say how many were bought; what it unlocks for good
            // may be a season for the store.
            let differences =
                [
                    "refund-prorated": ["detail.scope"], "refund-consumable": ["detail.quantity"],
                    "one-time": ["detail.type"],
                ][name] ?? []
            #expect(comparison.access.count == (name == "one-time" ? 1 : 0), "\(comparison.access)")
            #expect(comparison.differing.flatMap(\.differences).map(\.member) == differences, "\(comparison)")
            #expect(comparison.isAgreement == differences.isEmpty, "\(comparison)")
            #expect(comparison.summary.isAgreement == comparison.isAgreement)
            for (provider, events) in [(Provider.apple, channels.apple), (.revenuecat, channels.relayed)] {
                let alone = comparison.withoutCounterpart.count { $0.provider == provider }
                #expect(comparison.agreeing.count + comparison.differing.count + alone == events.count)
            }
        }
    }

    @Test("a refund that channels date otherwise is a stretch of access, unless that is tolerated")
    func refundMoment() throws {
        let channels = try TwoChannelTests.channels(try TwoChannelTests.story("refund-reversed"))
        let refund = try #require(channels.apple.first { $0.kind == .refunded })
        let before = { (event: NormalizedEvent) in event.kind != .refundReversed }
        let comparison = ChannelComparison(channels.relayed.filter(before), channels.apple.filter(before))
        #expect(comparison.access.map(\.from) == [refund.occurredAt.addingTimeInterval(-TwoChannelTests.refundSkew)])
        #expect(comparison.access.map(\.until) == [refund.occurredAt])
        #expect(comparison.access.map(\.isFirstGranting) == [false])
    }

    @Test("a lineage that one side never saw is named, and so is every event of it")
    func missedLineage() throws {
        let channels = try Self.channels()
        let other = try TwoChannelTests.channels(try TwoChannelTests.story("one-time"))
        let lineages = Set(other.apple.compactMap(\.subscription))
            .subtracting(channels.apple.compactMap(\.subscription))
        let known = other.apple.filter { $0.subscription.map(lineages.contains) == true }
        let comparison = ChannelComparison(channels.relayed, channels.apple + known)
        #expect(!known.isEmpty)
        #expect(Set(comparison.lineagesOnlySecond) == lineages)
        #expect(comparison.lineagesOnlyFirst.isEmpty)
        #expect(Set(comparison.onlySecond.map(\.id)) == Set(known.map(\.id)))
        #expect(!comparison.isAgreement)
    }

    @Test("a fact that a store cannot know, or a relay has no type for, is missing from neither")
    func withoutCounterpart() throws {
        let channels = try Self.channels()
        var elsewhere = channels.relayed
        for index in elsewhere.indices {
            elsewhere[index].store = .playStore
            elsewhere[index].subscription = elsewhere[index].subscription.map {
                SubscriptionID(store: .playStore, environment: $0.environment, id: "GPA.\($0.id)")
            }
            elsewhere[index].id = EventID(
                provider: .revenuecat,
                environment: .production,
                notification: "\(index)"
            )
        }
        let comparison = ChannelComparison(channels.relayed + elsewhere, channels.apple)
        #expect(comparison.isAgreement)
        #expect(comparison.withoutCounterpart.count { $0.provider == .revenuecat } >= elsewhere.count)
        #expect(comparison.withoutCounterpart.contains { $0.kind == .refundRequested } == false)
    }

    @Test("only the time that both were taken in is reported on")
    func range() throws {
        let channels = try Self.channels()
        let start = try #require(channels.apple.dropFirst(2).first).assertedAt
        let end = try #require(channels.apple.dropLast().last).assertedAt
        let relayed = channels.relayed.filter { $0.assertedAt >= start.addingTimeInterval(-60) && $0.assertedAt < end }
        #expect(!ChannelComparison(relayed, channels.apple).isAgreement)
        let comparison = ChannelComparison(
            relayed,
            channels.apple,
            in: start.addingTimeInterval(-30)..<end.addingTimeInterval(-30)
        )
        #expect(comparison.isAgreement, "\(comparison)")
        #expect(!comparison.agreeing.isEmpty)
        #expect(comparison.agreeing.count < channels.apple.count)
    }

    @Test("the numbers add up, and say how much later one side is")
    func summary() throws {
        let channels = try Self.channels()
        let comparison = ChannelComparison(channels.apple, channels.relayed)
        let summary = comparison.summary
        #expect(summary.rows.map(\.agreeing).reduce(0, +) == comparison.agreeing.count)
        #expect(summary.rows.map(\.kind) == summary.rows.map(\.kind).sorted())
        let began = try #require(summary.rows.first { $0.kind == "period_began" })
        #expect(began.medianLag == 2000)
        #expect(began.maximumLag == 2000)
        #expect(ChannelComparison([], []).summary.isAgreement == false)
    }

    @Test("the order and the number of deliveries do not matter")
    func order() throws {
        let channels = try Self.channels()
        let comparison = ChannelComparison(channels.relayed, channels.apple)
        #expect(
            ChannelComparison(channels.relayed.reversed() + channels.relayed, channels.apple.reversed()) == comparison
        )
    }

    @Test("grace that ran out is access for both, however much later the store says that the purchase ended")
    func lapsedGrace() throws {
        let channels = try TwoChannelTests.channels(
            CustomerStory(
                "grace-expiry",
                "A charge fails, the grace period ends, and no payment comes.",
                steps: [
                    .init(.after(.zero), .subscribe(.basicMonthly)),
                    .init(.atPeriodEnd, .failCharge(grace: .seconds(16 * 86_400))),
                    .init(.atGraceEnd, .endGrace), .init(.after(.seconds(44 * 86_400)), .expire(.billing)),
                ]
            )
        )
        let failure = try #require(channels.relayed.first { $0.kind == .billingIssue })
        // RevenueCat says that it ended when grace did, and counts grace to the period.
        let relayed = channels.relayed.map { event in
            guard event.kind == .expired, case .billingIssue(let issue) = failure.event,
                case .grace(let until) = issue.access
            else { return event }
            var event = event
            (event.occurredAt, event.effectiveAt, event.assertedAt) = (until, until, until.addingTimeInterval(1))
            event.facts = event.facts.map { fact in
                guard case .periodEnded(var end) = fact else { return fact }
                end.at = until
                return .periodEnded(end)
            }
            return event
        }
        for (first, second) in [(relayed, channels.apple), (channels.apple, relayed)] {
            let comparison = ChannelComparison(first, second)
            #expect(comparison.access == [])
            #expect(comparison.isAgreement, "\(comparison)")
        }
    }

    @Test("a relay's end for want of payment repeats its failed charge, and is missing from neither channel")
    func relayedEnd() throws {
        let channels = try TwoChannelTests.channels(
            CustomerStory(
                "retry-recovery",
                "A charge fails without grace, and succeeds later.",
                steps: [
                    .init(.after(.zero), .subscribe(.basicMonthly)), .init(.atPeriodEnd, .failCharge(grace: nil)),
                    .init(.after(.seconds(9 * 86_400)), .recover),
                ]
            )
        )
        var end = try #require(channels.relayed.first { $0.kind == .billingIssue })
        let period = try #require(channels.relayed.first?.period)
        end.event = .expired(.init(reason: .billing))
        end.id = EventID(provider: .revenuecat, environment: .production, notification: "expiration")
        end.origin.type = "EXPIRATION"
        end.facts = [
            .periodEnded(
                .init(
                    start: period.start,
                    transaction: end.transaction,
                    at: try #require(period.end),
                    reason: .billing
                )
            )
        ]
        for (first, second) in [(channels.relayed + [end], channels.apple), (channels.apple, channels.relayed + [end])]
        {
            let comparison = ChannelComparison(first, second)
            #expect(comparison.isAgreement, "\(comparison)")
            #expect(comparison.withoutCounterpart.contains { $0.id == end.id })
        }
        // A side without the failed charge gets an end that the other has missed.
        let silent = channels.relayed.filter { $0.kind != .billingIssue } + [end]
        #expect(ChannelComparison(silent, channels.apple).onlyFirst.contains { $0.id == end.id })
    }

    @Test("an event that one side missed is named, with the difference in access")
    func missed() throws {
        let channels = try Self.channels()
        let missing = try #require(channels.apple[2].transaction)
        let relayed = channels.relayed.filter { $0.transaction != missing }
        let comparison = ChannelComparison(relayed, channels.apple)
        #expect(comparison.onlyFirst.isEmpty)
        #expect(Set(comparison.onlySecond.map(\.transaction)) == [missing])
        #expect(comparison.onlySecond.map(\.kind) == [.renewed, .billingIssue])
        #expect(comparison.access.count == 1)
        #expect(comparison.access.first?.isFirstGranting == false)
        #expect(comparison.access.first?.from == channels.apple[2].period?.start)
        #expect(!comparison.isAgreement)
    }

    /// A tester turns renewal off, on and off again within a month of five minutes, and one channel loses the first.
    @Test("the nearest in time of several similar events within the window is the same")
    func nearest() throws {
        let channels = try Self.channels()
        let canceled = try #require(channels.apple.first { $0.kind == .autoRenewDisabled })
        func reported(_ event: NormalizedEvent, _ name: String, after seconds: Double) -> NormalizedEvent {
            var event = event
            event.assertedAt = event.assertedAt.addingTimeInterval(seconds)
            event.id = EventID(provider: event.provider, environment: event.environment, notification: name)
            return event
        }
        let first = [reported(canceled, "a", after: 0), reported(canceled, "b", after: 100)]
        let second = [reported(canceled, "c", after: 102)]
        let comparison = ChannelComparison(first, second)
        #expect(comparison.onlyFirst.map(\.id) == [first[0].id])
        #expect(comparison.agreeing.map(\.first.id) == [first[1].id])
        let mirrored = ChannelComparison(second, first)
        #expect(mirrored.onlySecond.map(\.id) == [first[0].id])
    }

    @Test("a difference is named by its member")
    func differences() throws {
        let channels = try Self.channels()
        var relayed = channels.relayed
        relayed[1].period = relayed[1].period.map {
            ServicePeriod(start: $0.start, end: $0.end?.addingTimeInterval(60))
        }
        relayed[1].product?.id = "another"
        let comparison = ChannelComparison(relayed, channels.apple)
        #expect(comparison.differing.count == 1)
        #expect(comparison.differing.first?.differences.map(\.member) == ["product.id", "period.end"])
    }

    @Test(
        "another owner at the beginning is a difference, where both name owners in the same manner",
        arguments: [
            ("E621E1F8-C36C-495A-93FC-0C247A3E6E5F", Account.Source.appUserID, true), ("u2", .appUserID, false),
            ("u2", .appAccountToken, true),
        ]
    )
    func owners(id: String, source: Account.Source, differs: Bool) throws {
        let channels = try Self.channels()
        var relayed = channels.relayed
        let index = try #require(relayed.firstIndex { $0.kind == .started })
        relayed[index].account = Account(id, source)
        let comparison = ChannelComparison(relayed, channels.apple)
        #expect(comparison.differing.map { $0.differences.map(\.member) } == (differs ? [["account"]] : []))
        #expect(comparison.differing.allSatisfy { $0.differences.allSatisfy { $0.first == nil && $0.second == nil } })
    }

    @Test("charges and refunds are compared, and signs are no difference")
    func prices() throws {
        let channels = try Self.channels()
        let refund = try #require(channels.relayed.first { $0.kind == .refunded })
        #expect(refund.price?.role == .refund)
        #expect((refund.price?.money.amount.coefficient ?? 0) > 0)
        var relayed = channels.relayed
        let index = try #require(relayed.firstIndex { $0.price?.role == .charged && $0.kind == .renewed })
        relayed[index].price?.money.currency = "XXX"
        let comparison = ChannelComparison(relayed, channels.apple)
        #expect(comparison.differing.map { $0.differences.map(\.member) } == [["price"]])
    }

    @Test("sandbox and production are never one")
    func environments() throws {
        let channels = try Self.channels()
        let event = try #require(channels.apple.first)
        var other = event
        other.environment = .sandbox
        other.subscription = event.subscription.map {
            SubscriptionID(store: $0.store, environment: .sandbox, id: $0.id)
        }
        other.id = EventID(provider: .apple, environment: .sandbox, notification: "1")
        let comparison = ChannelComparison([event], [other])
        #expect(comparison.onlyFirst.count == 1)
        #expect(comparison.onlySecond.count == 1)
    }

    @Test("no report names a customer")
    func quiet() throws {
        let channels = try Self.channels()
        let text = String(decoding: try CanonicalJSON.bytes(ChannelComparison(channels.relayed, [])), as: UTF8.self)
        #expect(!text.contains("\"u1\""))
        #expect(ChannelComparison([], []).isAgreement)
    }
}
