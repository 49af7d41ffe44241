import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Stripe dates events by whole seconds, and sends several in one. What an update says was before puts them in order.
@Suite("Several of Stripe's events in one second")
struct SameSecondTests {
    static let versions: [StripeSimulator.Version] = [.v2020, .acacia, .endive]
    static let act = created + 40 * day

    /// Changes of a subscription in one second, after the second month began.
    struct Act: CustomTestStringConvertible, Sendable {
        let name: String
        var collection: StripeAdapter.Policy.CollectionPauseAccess = .keeps
        /// The subscription before them.
        var before: @Sendable (inout StripeSubscription) -> Void = { _ in }
        let steps: [@Sendable (inout StripeSubscription) -> Void]
        /// The invoice's event in the same second.
        var invoice: String?

        var testDescription: String { name }
    }

    static let acts: [Act] = [
        Act(
            name: "the open invoice is paid",
            before: { $0.status = "unpaid" },
            steps: [{ $0.metadata = ["card": "new"] }, { $0.status = "active" }],
            invoice: "paid"
        ),
        Act(
            name: "the charge fails, and is given up",
            steps: [{ $0.status = "past_due" }, { $0.status = "unpaid" }],
            invoice: "payment_failed"
        ),
        Act(
            name: "canceled and not",
            steps: [
                { ($0.cancelAtPeriodEnd, $0.cancelAt, $0.canceledAt) = (true, $0.end, act) },
                { ($0.cancelAtPeriodEnd, $0.cancelAt, $0.canceledAt) = (false, nil, nil) },
            ]
        ),
        Act(
            name: "canceled, not, and canceled again",
            steps: [
                { ($0.cancelAtPeriodEnd, $0.cancelAt, $0.canceledAt) = (true, $0.end, act) },
                { ($0.cancelAtPeriodEnd, $0.cancelAt, $0.canceledAt) = (false, nil, nil) },
                { ($0.cancelAtPeriodEnd, $0.cancelAt, $0.canceledAt) = (true, $0.end, act) },
            ]
        ),
        Act(
            name: "two changes of plan",
            steps: [{ $0.items[0].price = .pro }, { $0.items[0].price = .basicNew }]
        ),
        Act(
            name: "to another plan and back",
            steps: [{ $0.items[0].price = .pro }, { $0.items[0].price = .basic }]
        ),
        Act(
            name: "a trial ends, and the plan changes",
            before: { ($0.status, $0.trialStart, $0.trialEnd) = ("trialing", $0.start, $0.end) },
            steps: [
                {
                    ($0.status, $0.trialEnd, $0.latestInvoice) = ("active", act, "in_3")
                    ($0.start, $0.end) = (act, act + 30 * day)
                },
                { $0.items[0].price = .pro },
            ]
        ),
        Act(
            name: "collection pauses and goes on",
            collection: .pauses,
            steps: [{ $0.collectionPause = ["behavior": "void", "resumes_at": nil] }, { $0.collectionPause = nil }]
        ),
        Act(
            name: "an add-on comes and goes",
            steps: [{ $0.items.append(.init("si_2", .seats)) }, { $0.items.removeLast() }]
        ),
    ]

    private static func deliveries(
        _ act: Act,
        _ version: StripeSimulator.Version,
        apart: Int64
    ) -> (earlier: [RareFlowTests.Taken], act: [RareFlowTests.Taken]) {
        let first = RareFlowTests.active(.basic)
        var subscription = RareFlowTests.next(first, invoice: "in_2")
        act.before(&subscription)
        let rolled = RareFlowTests.updated(subscription, from: first, at: subscription.start, version)
        var deliveries: [RareFlowTests.Taken] = []
        for (number, step) in act.steps.enumerated() {
            let before = subscription
            step(&subscription)
            let time = Self.act + Int64(number) * apart
            let previous = before.previous(subscription, version)
            let body = PitfallTests.body(
                "updated",
                subscription,
                previous: previous,
                at: time,
                id: "evt_s\(number)",
                in: version
            )
            deliveries.append((body, time))
        }
        if let type = act.invoice {
            let time = Self.act + Int64(act.steps.count) * apart * (type == "paid" ? 1 : 0)
            let line = StripeInvoice.Line(.basic, from: subscription.start, to: subscription.end)
            deliveries.append(RareFlowTests.invoice("in_2", type, lines: [line], at: time, in: version))
        }
        return ([RareFlowTests.began(first, version), rolled], deliveries)
    }

    private static func policed(for act: Act) throws -> StripeAdapter {
        try StripeTests.policed { $0.collectionPause = act.collection }
    }

    @Test("come to what the same events come to that are seconds apart", arguments: acts, versions)
    func sameAsApart(act: Act, version: StripeSimulator.Version) throws {
        let adapter = try Self.policed(for: act)
        func state(_ deliveries: [RareFlowTests.Taken]) throws -> SubscriptionState {
            try ItemTests.state(deliveries, adapter)
        }
        let apart = Self.deliveries(act, version, apart: 1)
        let expected = try state(apart.earlier + apart.act)
        let (earlier, steps) = Self.deliveries(act, version, apart: 0)
        var states: Set<SubscriptionState> = []
        for order in permutations(of: steps) {
            for reported in [earlier + order, order + earlier, order + earlier + order.reversed()] {
                let state = try state(reported)
                states.insert(state)
                for time in [Self.act + 60, Self.act + day, Self.act + 19 * day, Self.act + 60 * day] {
                    let (one, other) = (state.snapshot(at: date(time)), expected.snapshot(at: date(time)))
                    #expect(one.status == other.status)
                    #expect(one.product == other.product)
                    #expect(one.period == other.period)
                    #expect(one.willRenew == other.willRenew)
                    #expect(one.access.isGranted == other.access.isGranted)
                }
                #expect(state.contradictions.isEmpty)
            }
        }
        #expect(states.count == 1)
    }

    @Test("the last change that is applied in one second agrees with the state, in any order", arguments: versions)
    func lastApplied(version: StripeSimulator.Version) throws {
        let act = try #require(Self.acts.first { $0.name == "canceled and not" })
        let (earlier, steps) = Self.deliveries(act, version, apart: 0)
        for order in permutations(of: earlier + steps) {
            let host = try RareFlowTests.Host(adapter(), order)
            let changes = host.acts.filter { $0.kind == .autoRenewDisabled || $0.kind == .autoRenewEnabled }
            #expect(changes.last?.kind == .autoRenewEnabled)
            #expect(host.state.snapshot(at: date(Self.act + 60)).willRenew == true)
        }
    }

    @Test("that leave open which came last are a contradiction, worth a question")
    func undecided() throws {
        // The step that led from the one to the other is missing.
        let first = RareFlowTests.active(.basic)
        let (pro, year) = (RareFlowTests.active(.pro), RareFlowTests.active(.basicNew))
        let steps = [pro, year].enumerated().map { number, after -> RareFlowTests.Taken in
            var before = after
            before.items[0].price = .seats
            before.latestInvoice = "in_before_\(number)"
            let previous = before.previous(after, .endive)
            return (
                PitfallTests.body("updated", after, previous: previous, at: Self.act, id: "evt_\(number)"), Self.act
            )
        }
        let states = try permutations(of: [RareFlowTests.began(first, .endive)] + steps)
            .map { try ItemTests.state($0, adapter()) }
        #expect(Set(states).count == 1)
        #expect(states.first?.contradictions.map(\.kind).contains(.simultaneousStatements) == true)
    }

    @Test("are in a stored state what they are in one that was not stored")
    func stored() throws {
        for act in Self.acts {
            let adapter = try Self.policed(for: act)
            let (earlier, steps) = Self.deliveries(act, .endive, apart: 0)
            let whole = try ItemTests.state(earlier + steps, adapter)
            var halves: [SubscriptionState] = []
            for delivery in earlier + steps {
                let state = try ItemTests.state([delivery], adapter)
                halves.append(try CanonicalJSON.value(SubscriptionState.self, from: try CanonicalJSON.bytes(state)))
            }
            for order in [halves, halves.reversed()] {
                var joined = SubscriptionState(PitfallTests.lineage)
                for half in order { joined.merge(half) }
                #expect(joined == whole, "\(act.name)")
                let bytes = try CanonicalJSON.bytes(joined)
                #expect(try CanonicalJSON.value(SubscriptionState.self, from: bytes) == whole, "\(act.name)")
            }
        }
    }
}
