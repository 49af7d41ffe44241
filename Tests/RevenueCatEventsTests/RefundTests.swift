import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

/// A refund of Apple's and its reversal, which RevenueCat tells at other moments and with an expiration beside.
@Suite("One refund, two channels")
struct RefundTests {
    let apple: [NormalizedEvent]
    let relayed: [NormalizedEvent]
    let policy: CreditPolicy

    init() throws {
        let channels = try TwoChannelTests.channels(try TwoChannelTests.story("refund-reversed"))
        apple = channels.apple
        let refund = try #require(channels.relayed.first { $0.kind == .refunded })
        let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")]))
        let expiration = RevenueCatSimulator.Event([
            "type": "EXPIRATION", "id": "expiration", "environment": "PRODUCTION", "store": "APP_STORE",
            "event_timestamp_ms": .integer(refund.assertedAt.millisecondsSince1970 + 1),
            "product_id": refund.product.map { .string($0.id.rawValue) } ?? .null,
            "expiration_reason": "CUSTOMER_SUPPORT",
            "purchased_at_ms": refund.period.map { .integer($0.start.millisecondsSince1970) } ?? .null,
            "expiration_at_ms": .integer(refund.occurredAt.millisecondsSince1970),
            "transaction_id": refund.transaction.map { .string($0.rawValue) } ?? .null,
            "original_transaction_id": refund.subscription.map { .string($0.id) } ?? .null,
        ])
        let delivery = try RevenueCatSimulator(authorization: SecretBytes("a")).delivery(
            expiration.body,
            receivedAt: refund.receivedAt
        )
        let ended = try adapter.normalize(try adapter.authenticate(delivery)).events
        relayed = channels.relayed.flatMap { $0.kind == .refunded ? [$0] + ended : [$0] }
        let products = Set(apple.compactMap(\.product?.id))
        policy = CreditPolicy(Dictionary(uniqueKeysWithValues: products.map { ($0, .init(credits: 200)) }))
    }

    /// Every order in which two channels can arrive that each keep theirs.
    static func merges<Element>(_ one: ArraySlice<Element>, _ other: ArraySlice<Element>) -> [[Element]] {
        guard let first = one.first else { return [Array(other)] }
        guard let second = other.first else { return [Array(one)] }
        return merges(one.dropFirst(), other).map { [first] + $0 }
            + merges(one, other.dropFirst()).map { [second] + $0 }
    }

    @Test("the moments differ, the identities do not")
    func identities() throws {
        for kind in [LifecycleEvent.Kind.refunded, .refundReversed] {
            let (one, other) = (apple.filter { $0.kind == kind }, relayed.filter { $0.kind == kind })
            #expect(one.count == 1)
            #expect(one.map(\.id) == other.map(\.id))
            #expect(one.first?.occurredAt != other.first?.occurredAt)
        }
    }

    @Test("however two channels interleave, each fact acts once and the credits are back in the end")
    func interleaved() {
        let expected = Backend(apple + relayed, policy).ledger
        let orders = Self.merges(apple[...], relayed[...])
        #expect(orders.count > 30)
        for order in orders {
            let host = Backend(order, policy)
            #expect(host.ledger == expected)
            #expect(host.count(.started) == 1)
            #expect(host.count(.refunded) == 1)
            #expect(host.count(.refundReversed) == 1)
            #expect(host.count(.expired) == 0)
            #expect(host.balance == 200)
        }
    }

    @Test("before the reversal, access and credits are gone, whichever event reported the refund")
    func refunded() {
        let (one, other) = (apple.prefix { $0.kind != .refundReversed }, relayed.prefix { $0.kind != .refundReversed })
        for order in [Array(one), Array(other)] + Self.merges(one[...], other[...]) {
            let host = Backend(order, policy)
            #expect(host.balance == 0)
            #expect(host.ledger.states.count == 1)
            let end = order.map(\.assertedAt).max() ?? .distantPast
            #expect(host.ledger.states.allSatisfy { !$0.access(at: end).isGranted })
        }
    }

    @Test("in any order at all, one state comes of it, nothing acts twice, and the credits are there")
    func shuffled() {
        let expected = Backend(apple + relayed, policy).ledger
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<300 {
            let host = Backend((apple + relayed + apple).shuffled(using: &generator), policy)
            #expect(host.ledger == expected)
            #expect(Set(host.acts.map(\.id)).count == host.acts.count)
            #expect(host.balance == 200)
        }
    }

    @Test("refunded once more: access ends in the state, and the refund keeps its first identity")
    func again() throws {
        let refund = try #require(apple.first { $0.kind == .refunded })
        var again = refund
        let later = try #require(apple.last).assertedAt.addingTimeInterval(3600)
        (again.assertedAt, again.occurredAt, again.effectiveAt) = (later, later, later)
        again.origin.digest = String(refund.origin.digest.reversed())
        again.facts = refund.facts.map { fact in
            guard case .refund(var state) = fact else { return fact }
            state.at = later
            return .refund(state)
        }
        #expect(again.id == refund.id)
        for order in [apple + [again], apple + relayed + [again], [again] + relayed + apple] {
            let host = Backend(order, policy)
            let lineage = try #require(refund.subscription)
            #expect(host.ledger[lineage]?.access(at: later.addingTimeInterval(-60)).isGranted == true)
            #expect(host.ledger[lineage]?.access(at: later).isGranted == false)
            #expect(host.count(.refunded) == 1)
        }
    }
}
