import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Refunds of a sale for 5.00 that gives 100 credits, of which some failed or were called back.
@Suite("Refunds that failed")
struct ReversedRefundTests {
    typealias Taken = RareFlowTests.Taken

    private static let policy = CreditPolicy(["plink_1": .init(credits: 100)])
    private static let payment = SubscriptionID(store: .stripe, environment: .production, id: "pi_1")

    private static func event(
        _ type: String,
        _ object: JSONText,
        previous: JSONText? = nil,
        on days: Int64,
        in version: StripeSimulator.Version
    ) -> Taken {
        PaymentJoinTests.event(type, object, previous: previous, at: created + days * day, in: version)
    }

    private static func sale(_ version: StripeSimulator.Version) -> Taken {
        let session: JSONText = [
            "id": "cs_1", "object": "checkout.session", "amount_total": 500, "currency": "usd", "customer": "cus_1",
            "mode": "payment", "payment_intent": "pi_1", "payment_link": "plink_1", "payment_status": "paid",
            "status": "complete",
        ]
        return event("checkout.session.completed", session, on: 0, in: version)
    }

    /// A charge of which all of these amounts had gone back.
    private static func charge(_ refunded: Int64, on days: Int64, in version: StripeSimulator.Version) -> Taken {
        let charge: JSONText = [
            "id": "ch_1", "object": "charge", "amount": 500, "amount_refunded": .integer(refunded), "currency": "usd",
            "customer": "cus_1", "payment_intent": "pi_1", "refunded": .bool(refunded == 500),
        ]
        return event("charge.refunded", charge, on: days, in: version)
    }

    private static func refund(
        _ number: Int,
        _ status: String,
        of amount: Int64,
        on days: Int64,
        in version: StripeSimulator.Version
    ) -> Taken {
        let refund: JSONText = [
            "id": .string("re_\(number)"), "object": "refund", "amount": .integer(amount), "charge": "ch_1",
            "created": .integer(created + Int64(number + 1) * day), "currency": "usd", "payment_intent": "pi_1",
            "status": .string(status),
        ]
        guard status == "failed" else { return event("refund.created", refund, on: days, in: version) }
        let isOld = version == .v2020
        return event(
            isOld ? "charge.refund.updated" : "refund.failed",
            refund,
            previous: isOld ? ["status": "pending"] : nil,
            on: days,
            in: version
        )
    }

    private static func dispute(_ status: String, _ amount: Int64, on days: Int64) -> Taken {
        let dispute: JSONText = [
            "id": "dp_1", "object": "dispute", "amount": .integer(amount), "charge": "ch_1", "currency": "usd",
            "payment_intent": "pi_1", "reason": "fraudulent", "status": .string(status),
        ]
        return event("charge.dispute.closed", dispute, on: days, in: .endive)
    }

    private static func state(_ deliveries: [Taken]) throws -> SubscriptionState {
        try RareFlowTests.Host(adapter(), deliveries).ledger[payment] ?? SubscriptionState(payment)
    }

    private static func balance(_ state: SubscriptionState, on days: Int64 = 20) -> Int64 {
        CreditStatement(of: state, under: policy, uses: [], at: date(created + days * day)).balance
    }

    /// The state after these deliveries, which is the same in each order and can be stored.
    private static func each(_ deliveries: [Taken], _ check: (SubscriptionState) throws -> Void) throws {
        for order in RareFlowTests.permutations(deliveries) {
            let state = try state(order)
            let stored = try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(state))
            #expect(stored == state && state.contradictions.isEmpty)
            try check(state)
        }
    }

    private static func news(_ deliveries: [Taken]) throws -> [AppliedEvent.Disposition] {
        var state = SubscriptionState(payment)
        return try deliveries.flatMap { delivery in
            let result = try adapter().take(delivery.body, at: delivery.time)
            if let statement = result.noChange?.statement { state.apply(statement) }
            return result.events.map { state.apply($0).disposition }
        }
    }

    static let versions: [StripeSimulator.Version] = [.v2020, .endive]

    // MARK: As parts of a charge

    @Test(
        "an older partial refund stays, if all that is known is how much of the charge went back",
        arguments: versions
    )
    func olderStays(version: StripeSimulator.Version) throws {
        let deliveries = [
            Self.sale(version), Self.charge(200, on: 2, in: version), Self.charge(500, on: 3, in: version),
        ]
        #expect(try (1...3).map { try Self.balance(Self.state(Array(deliveries.prefix($0)))) } == [100, 60, 0])
        let failed = Self.refund(2, "failed", of: 300, on: 5, in: version)
        try Self.each(deliveries + [failed]) { #expect(Self.balance($0) == 60) }
        // Both fail, and another is made.
        let both = deliveries + [failed, Self.refund(1, "failed", of: 200, on: 6, in: version)]
        try Self.each(both) { #expect(Self.balance($0) == 100) }
        try #expect(Self.balance(Self.state(both + [Self.charge(100, on: 7, in: version)])) == 80)
    }

    @Test("a refund whose amount is not comparable undoes all that was stated of the charge")
    func unknownAmount() throws {
        let failed = Self.refund(2, "failed", of: 300, on: 5, in: .endive)
        let known = try adapter().take(failed.body, at: failed.time).events
        var state = try Self.state([Self.sale(.endive), Self.charge(500, on: 3, in: .endive)])
        for var event in known {
            event.facts = event.facts.map { fact in
                guard case .refund(var refund) = fact else { return fact }
                #expect(refund.undone == Money(ExactDecimal(3), "USD"))
                refund.undone = nil
                return .refund(refund)
            }
            _ = state.apply(event)
        }
        #expect(Self.balance(state) == 100)
        // The same statement with its amount says more, in either order.
        for event in known { _ = state.apply(event) }
        #expect(Self.balance(state) == 60 && state.contradictions.isEmpty)
    }

    @Test("the refund after a failed one is news, whatever the charge comes to", arguments: versions)
    func news(version: StripeSimulator.Version) throws {
        let deliveries = [
            Self.sale(version), Self.charge(500, on: 2, in: version),
            Self.refund(1, "failed", of: 500, on: 5, in: version),
            Self.charge(500, on: 6, in: version),
        ]
        #expect(try Self.news(deliveries) == [.applied, .applied, .applied, .applied])
        let again = [1, 2, 3].map { deliveries[$0] }
        #expect(try Self.news(deliveries + again).suffix(3) == [.duplicate, .duplicate, .duplicate])
        let parts = [
            Self.sale(version), Self.charge(200, on: 2, in: version), Self.charge(500, on: 3, in: version),
            Self.refund(2, "failed", of: 300, on: 5, in: version), Self.charge(500, on: 6, in: version),
        ]
        #expect(try Self.news(parts) == [.applied, .applied, .applied, .applied, .applied])
    }

    @Test("the refund after a failed one is news once, if it has a notification of its own as well")
    func namedNews() throws {
        let first = [
            Self.sale(.endive), Self.charge(500, on: 2, in: .endive),
            Self.refund(1, "succeeded", of: 500, on: 2, in: .endive),
            Self.refund(1, "failed", of: 500, on: 5, in: .endive),
        ]
        let second = [Self.charge(500, on: 6, in: .endive), Self.refund(5, "succeeded", of: 500, on: 6, in: .endive)]
        for reports in [second, second.reversed()] {
            #expect(try Self.news(first + reports) == [.applied, .applied, .duplicate, .applied, .applied, .duplicate])
        }
        // Heard of late, it had been reported with its charge, and was undone since.
        let late = [first[0], first[1], first[3], first[2]]
        #expect(try Self.news(late) == [.applied, .applied, .applied, .duplicate])
        let parts = [
            Self.sale(.endive), Self.charge(200, on: 2, in: .endive), Self.charge(500, on: 3, in: .endive),
            Self.refund(2, "failed", of: 300, on: 5, in: .endive),
            Self.refund(2, "succeeded", of: 300, on: 3, in: .endive),
        ]
        #expect(try Self.news(parts) == [.applied, .applied, .applied, .applied, .duplicate])
    }

    // MARK: Access between a refund and its reversal

    private static func granted(_ state: SubscriptionState) -> [Bool] {
        [1, 2, 3, 4, 5, 6, 7, 8].map { state.access(at: date(created + $0 * day + 3600)).isGranted }
    }

    @Test("access was off from the day on which all had gone back until a part of it came back")
    func between() throws {
        let sale = Self.sale(.endive)
        let lives: [([Taken], off: ClosedRange<Int>)] = [
            (
                [
                    Self.refund(1, "succeeded", of: 500, on: 2, in: .endive),
                    Self.refund(1, "failed", of: 500, on: 5, in: .endive),
                ], 2...4
            ),
            ([Self.charge(500, on: 2, in: .endive), Self.refund(1, "failed", of: 500, on: 5, in: .endive)], 2...4),
            ([Self.dispute("lost", 500, on: 4), Self.dispute("won", 500, on: 6)], 4...5),
            (
                [
                    Self.refund(1, "succeeded", of: 200, on: 2, in: .endive), Self.dispute("lost", 300, on: 4),
                    Self.dispute("won", 300, on: 6),
                ], 4...5
            ),
            (
                [
                    Self.refund(1, "succeeded", of: 200, on: 2, in: .endive),
                    Self.refund(2, "succeeded", of: 300, on: 3, in: .endive),
                    Self.refund(2, "failed", of: 300, on: 5, in: .endive),
                ], 3...4
            ),
            (
                [
                    Self.refund(1, "succeeded", of: 200, on: 2, in: .endive),
                    Self.refund(2, "succeeded", of: 300, on: 3, in: .endive),
                    Self.refund(1, "failed", of: 200, on: 5, in: .endive),
                ], 3...4
            ),
            ([Self.refund(1, "succeeded", of: 500, on: 2, in: .endive), Self.dispute("lost", 500, on: 4)], 2...8),
        ]
        for (deliveries, off) in lives {
            let expected = (1...8).map { !off.contains($0) }
            try Self.each([sale] + deliveries) { #expect(Self.granted($0) == expected) }
        }
    }

    @Test("access stayed on while only a part had gone back, or a refund that never succeeded was on its way")
    func never() throws {
        let sale = Self.sale(.endive)
        let lives = [
            [
                Self.refund(1, "succeeded", of: 400, on: 2, in: .endive),
                Self.refund(1, "failed", of: 400, on: 5, in: .endive),
            ],
            [
                Self.refund(1, "pending", of: 500, on: 2, in: .endive),
                Self.refund(1, "failed", of: 500, on: 5, in: .endive),
            ],
            [Self.dispute("lost", 300, on: 4), Self.dispute("won", 300, on: 6)],
        ]
        for deliveries in lives {
            try Self.each([sale] + deliveries) { #expect(Self.granted($0) == Array(repeating: true, count: 8)) }
        }
    }
}
