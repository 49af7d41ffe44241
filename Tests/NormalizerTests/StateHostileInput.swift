import FoundationEssentials
import NormalizerTesting
import Testing

@testable import Normalizer

private let lineage = SubscriptionID(store: .appStore, environment: .production, id: "O1")
private let start = Date(millisecondsSince1970: 1_772_355_600_000)
private func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

private func statement(
    _ facts: [Fact],
    at date: Date = start,
    of subscription: SubscriptionID = lineage,
    digest: String = "d"
) -> StoreStatement {
    StoreStatement(
        subscription: subscription,
        provider: .apple,
        assertedAt: date,
        facts: facts,
        origin: .madeUp(digest: digest)
    )
}

private func period(from: Double, to: Double?, _ transaction: TransactionID?, product: ProductID = "pro") -> Fact {
    .period(
        .init(
            ServicePeriod(start: day(from), end: to.map(day)),
            product: product,
            phase: .regular,
            transaction: transaction
        )
    )
}

@Suite("Hostile and hapless input", .timeLimit(.minutes(5)))
struct StateHostileInput {
    @Test("a hundred thousand duplicates leave no trace")
    func duplicates() throws {
        var state = SubscriptionState(lineage)
        let facts = [
            period(from: 0, to: 31, "t1"), .renewalIntent(.init(.init(willRenew: true))),
            .owner(Account("u1", .appUserID)),
            .refund(.init(transaction: "t0", scope: .full, at: start, periodStart: nil, endsAccess: true)),
        ]
        state.apply(statement(facts))
        let size = try CanonicalJSON.bytes(state).count
        let reference = state
        for _ in 0..<100_000 { state.apply(statement(facts)) }
        #expect(state == reference)
        for second in 1...1000 { state.apply(statement(facts, at: start.addingTimeInterval(Double(second)))) }
        // The refund was stated again: its first statement is kept next to the last one.
        #expect(try CanonicalJSON.bytes(state).count <= size + 700)
    }

    @Test("empty ids belong to no lineage and name nothing")
    func emptyIdentifiers() throws {
        let nameless = SubscriptionID(store: .appStore, environment: .production, id: "")
        var ledger = AccountLedger()
        ledger.apply(statement([period(from: 0, to: 31, "t1")], of: nameless))
        #expect(ledger.states.isEmpty)
        var state = SubscriptionState(lineage)
        let isAccepted = state.apply(statement([period(from: 0, to: 31, "t1")], of: nameless))
        #expect(!isAccepted)
        state.apply(
            statement([.owner(Account("", .appUserID)), .link(nameless), period(from: 0, to: 31, "", product: "")])
        )
        #expect(state.ownership.accounts.isEmpty)
        #expect(state.links.isEmpty)
        #expect(state.access(at: day(1)).isGranted)
    }

    @Test("a statement about another lineage or environment changes nothing")
    func otherLineage() {
        var state = SubscriptionState(lineage)
        let sandbox = SubscriptionID(store: .appStore, environment: .sandbox, id: "O1")
        let isAccepted = state.apply(statement([period(from: 0, to: 31, "t1")], of: sandbox))
        #expect(!isAccepted)
        var other = SubscriptionState(sandbox)
        other.apply(statement([period(from: 0, to: 31, "t1")], of: sandbox))
        let isMerged = state.merge(other)
        #expect(!isMerged)
        #expect(state.joined(with: other) == nil)
        #expect(state.isEmpty)
    }

    @Test(
        "a state is empty until something is stated of its lineage",
        arguments: [
            period(from: 0, to: 31, "t1"),
            .periodEnded(.init(start: start, transaction: "t1", at: start, reason: .customer)),
            .refund(.init(transaction: "t1", scope: .full, at: start, periodStart: nil, endsAccess: true)),
            .charge(.init(transaction: "t1", price: Price(Money(ExactDecimal(1), "USD"), .charged), at: start)),
            .purchase(
                .init(transaction: "t1", product: "p", purchase: .init(type: .consumable, quantity: 1), at: start)
            ),
            .owner(Account("u1", .appUserID)),
            .transfer(.init(from: [], to: [.init("u1", .appUserID)])),
            .link(SubscriptionID(store: .appStore, environment: .production, id: "O2")),
            .link(SubscriptionID(store: .appStore, environment: .sandbox, id: "O2")),
            .renewalIntent(.init(.init(willRenew: true))),
        ] as [Fact]
    )
    func empty(fact: Fact) throws {
        var state = SubscriptionState(lineage)
        #expect(state.isEmpty)
        state.apply(statement([fact]))
        #expect(!state.isEmpty)
        #expect(try CanonicalJSON.value(SubscriptionState.self, from: try CanonicalJSON.bytes(state)) == state)
    }

    @Test("states differ where their periods have another end, or are of other lineages")
    func unequal() {
        let other = SubscriptionID(store: .appStore, environment: .production, id: "O2")
        var state = SubscriptionState(members: [lineage, other])
        state.apply(statement([period(from: 0, to: 31, "t1")]))
        for change in [
            statement([period(from: 0, to: 45, "t1")], at: day(1)),
            statement([period(from: 0, to: 31, "t1")], of: other),
        ] {
            var changed = state
            changed.apply(change)
            #expect(changed != state)
        }
    }

    @Test("the later statement counts if each of two linked names has a grace period", arguments: [31.1, 31.3])
    func graces(reported: Double) {
        let other = SubscriptionID(store: .appStore, environment: .production, id: "O2")
        var state = SubscriptionState(members: [lineage, other])
        for name in [lineage, other] { state.apply(statement([period(from: 0, to: 31, "t1")], of: name)) }
        state.apply(statement([.billing(.init(.grace, graceUntil: day(40)))], at: day(reported)))
        state.apply(statement([.billing(.init(.grace, graceUntil: day(45)))], at: day(31.2), of: other))
        guard case .granted(let until, _) = state.access(at: day(32)) else {
            Issue.record("denied")
            return
        }
        #expect(until == day(reported < 31.2 ? 45 : 40))
    }

    @Test("the ends of time, and times that are none")
    func times() {
        var state = SubscriptionState(lineage)
        state.apply(statement([period(from: 0, to: nil, "t1")], at: .distantFuture))
        state.apply(
            statement([.periodEnded(.init(start: start, transaction: "t1", at: .distantPast, reason: .customer))])
        )
        for moment in [
            Date.distantPast, .distantFuture, Date(timeIntervalSince1970: .nan),
            .init(timeIntervalSince1970: .infinity),
        ] {
            _ = state.snapshot(at: moment)
            _ = state.explain(at: moment).description
            _ = state.nextTransition(after: moment)
        }
        // The period was stated after its end, so it goes on.
        #expect(state.access(at: day(400_000)).isGranted)
        #expect(state.contradictions.map(\.kind) == [.endTakenBack])
    }

    @Test("one transaction with two starts is one period, that which was stated last")
    func twoStarts() {
        let first = statement([period(from: 0, to: 31, "t1")], at: day(0))
        let second = statement([period(from: 1, to: 32, "t1")], at: day(2))
        for order in [[first, second], [second, first]] {
            var state = SubscriptionState(lineage)
            for one in order { state.apply(one) }
            #expect(!state.access(at: day(0.5)).isGranted)
            guard case .granted(let until, _) = state.access(at: day(31.5)) else {
                Issue.record("denied")
                continue
            }
            #expect(until == day(32))
        }
    }

    @Test("an end names its period also where channels differ by milliseconds, and never a later one")
    func nearlyTheSameStart() {
        var state = SubscriptionState(lineage)
        state.apply(statement([period(from: 0, to: 31, nil), period(from: 31, to: 62, nil)]))
        let named = day(31).addingTimeInterval(-0.4)
        state.apply(
            statement(
                [.periodEnded(.init(start: named, transaction: nil, at: day(40), reason: .customer))],
                at: day(40)
            )
        )
        #expect(state.access(at: day(30)).isGranted)
        #expect(!state.access(at: day(41)).isGranted)
        state.apply(
            statement(
                [.periodEnded(.init(start: day(20), transaction: nil, at: day(25), reason: .customer))],
                at: day(41)
            )
        )
        #expect(!state.access(at: day(26)).isGranted)
        #expect(state.access(at: day(35)).isGranted)
    }

    @Test("a relay does not take back what the store ended")
    func authority() {
        var state = SubscriptionState(lineage)
        state.apply(statement([period(from: 0, to: 31, "t1")]))
        state.apply(
            statement([.periodEnded(.init(start: start, transaction: "t1", at: day(3), reason: .unknown))], at: day(3))
        )
        var relayed = statement([period(from: 0, to: 31, "t1")], at: day(4))
        relayed.provider = .revenuecat
        state.apply(relayed)
        #expect(!state.access(at: day(5)).isGranted)
        state.apply(statement([period(from: 0, to: 31, "t1")], at: day(5)))
        #expect(state.access(at: day(6)).isGranted)
    }

    @Test("two app accounts behind one Apple Account: a conflict, not one account")
    func sharedAppleAccount() {
        var state = SubscriptionState(lineage)
        let shared = Account.Identifier("A", .appTransactionID)
        state.apply(statement([.owner(Account("u1", .appAccountToken, aliases: [shared]))], at: day(0)))
        state.apply(statement([.owner(Account("u2", .appAccountToken, aliases: [shared]))], at: day(1)))
        #expect(state.ownership.accounts.map(\.id) == ["A", "u1"])
        #expect(state.ownership.conflicts.map(\.claimed.id) == ["u2"])
        #expect(state.contradictions.map(\.kind) == [.ownership])
    }

    @Test(
        "neither lines that are no events nor states that are none are read",
        arguments: [
            "{}", "nonsense", "[1]", #"{"lineages":[]}"#,
            #"{"lineages":[{"subscription":"a/production/1"},{"subscription":"a/sandbox/1"}]}"#,
        ]
    )
    func unreadable(text: String) {
        do throws(EventLog.InvalidLine) {
            _ = try EventLog.events(in: Array("\n  \r\n\(text)\n".utf8))
            Issue.record("read as events")
        } catch {
            #expect(
                error.description.hasPrefix("line 3 (\(text.utf8.count) bytes) is neither an event nor a statement: ")
            )
        }
        #expect(throws: InvalidValue.self) {
            try CanonicalJSON.value(SubscriptionState.self, from: Array(text.utf8))
        }
    }
}
