import FoundationEssentials
import NormalizerTesting
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

    private static func disputed(_ status: String, _ amount: Int64) -> JSONText {
        [
            "id": "dp_1", "object": "dispute", "amount": .integer(amount), "charge": "ch_1", "currency": "usd",
            "payment_intent": "pi_1", "reason": "fraudulent", "status": .string(status),
        ]
    }

    private static func dispute(_ status: String, _ amount: Int64, on days: Int64) -> Taken {
        event("charge.dispute.closed", disputed(status, amount), on: days, in: .endive)
    }

    private static func state(_ deliveries: [Taken]) throws -> SubscriptionState {
        try RareFlowTests.Host(adapter(), deliveries).ledger[payment] ?? SubscriptionState(payment)
    }

    private static func balance(_ state: SubscriptionState, on days: Int64 = 20) -> Int64 {
        CreditStatement(of: state, under: policy, uses: [], at: date(created + days * day)).balance
    }

    /// The state after these deliveries, which is the same in each order and can be stored.
    private static func each(_ deliveries: [Taken], _ check: (SubscriptionState) throws -> Void) throws {
        for order in permutations(of: deliveries) {
            let state = try state(order)
            let stored = try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(state))
            #expect(stored == state && state.contradictions.isEmpty)
            try check(state)
        }
    }

    private static func applied(_ deliveries: [Taken]) throws -> [AppliedEvent] {
        var state = SubscriptionState(payment)
        return try deliveries.flatMap { delivery in
            let result = try adapter().take(delivery.body, at: delivery.time)
            if let statement = result.noChange?.statement { state.apply(statement) }
            return result.events.map { state.apply($0) }
        }
    }

    private static func news(_ deliveries: [Taken]) throws -> [AppliedEvent.Disposition] {
        try applied(deliveries).map(\.disposition)
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

    // MARK: Stated again

    /// A notification whose update is about something else than the status, such as a bank's reference.
    private static func restated(
        _ type: String,
        _ object: JSONText,
        on days: Int64,
        in version: StripeSimulator.Version
    ) -> Taken { event(type, object, previous: ["metadata": [:]], on: days, in: version) }

    private static func refundAgain(
        _ status: String,
        of amount: Int64 = 500,
        on days: Int64,
        in version: StripeSimulator.Version
    ) -> Taken {
        let refund: JSONText = [
            "id": "re_1", "object": "refund", "amount": .integer(amount), "charge": "ch_1",
            "created": .integer(created + 2 * day), "currency": "usd", "payment_intent": "pi_1",
            "status": .string(status),
        ]
        return restated(version == .v2020 ? "charge.refund.updated" : "refund.updated", refund, on: days, in: version)
    }

    private static func disputeAgain(_ status: String, _ word: String = "updated", on days: Int64) -> Taken {
        restated("charge.dispute.\(word)", disputed(status, 500), on: days, in: .endive)
    }

    private static func deniedSince(_ state: SubscriptionState, at time: Date) -> Date? {
        if case .denied(let since, _) = state.access(at: time) { since } else { nil }
    }

    @Test("an update states the refund or the dispute, even if the notification of its status was lost")
    func lostNotification() throws {
        let lives: [(StripeSimulator.Version, [Taken], balance: Int64)] = [
            (.endive, [Self.refundAgain("succeeded", on: 3, in: .endive)], 0),
            (.v2020, [Self.refundAgain("succeeded", on: 3, in: .v2020)], 0),
            (
                .endive,
                [
                    Self.refund(1, "succeeded", of: 500, on: 2, in: .endive),
                    Self.refundAgain("failed", on: 5, in: .endive),
                ], 100
            ),
            (.v2020, [Self.charge(500, on: 2, in: .v2020), Self.refundAgain("canceled", on: 5, in: .v2020)], 100),
            (.endive, [Self.disputeAgain("lost", on: 4)], 0),
            (.endive, [Self.disputeAgain("lost", "funds_withdrawn", on: 4)], 0),
            (.endive, [Self.dispute("lost", 500, on: 4), Self.disputeAgain("won", on: 6)], 100),
            (.endive, [Self.dispute("lost", 500, on: 4), Self.disputeAgain("won", "funds_reinstated", on: 6)], 100),
            (.endive, [Self.disputeAgain("needs_response", on: 4)], 100),
            (.endive, [Self.disputeAgain("needs_response", "funds_withdrawn", on: 4)], 100),
        ]
        for (version, deliveries, balance) in lives {
            #expect(try adapter().take(deliveries.last?.body ?? [], at: created + 8 * day).events == [])
            try Self.each([Self.sale(version)] + deliveries) {
                #expect(Self.balance($0) == balance)
                #expect($0.access(at: date(created + 20 * day)).isGranted == (balance > 0))
            }
        }
    }

    @Test("the notification of a status that an update had stated is news, once")
    func lateNotification() throws {
        let refunded = [
            Self.sale(.endive), Self.refundAgain("succeeded", on: 3, in: .endive),
            Self.refund(1, "succeeded", of: 500, on: 2, in: .endive),
        ]
        #expect(try Self.news(refunded + refunded.suffix(2)) == [.applied, .applied, .duplicate])
        let lost = [Self.sale(.endive), Self.disputeAgain("lost", on: 6), Self.dispute("lost", 500, on: 4)]
        #expect(try Self.news(lost + lost.suffix(2)) == [.applied, .applied, .duplicate])
    }

    @Test("the first report that a loss was undone is a restoration, even if another notification had stated it")
    func restoration() throws {
        let lives = [
            [
                Self.dispute("lost", 500, on: 4), Self.disputeAgain("won", "funds_reinstated", on: 6),
                Self.dispute("won", 500, on: 6),
            ],
            [
                Self.refund(1, "succeeded", of: 500, on: 2, in: .endive),
                Self.refundAgain("failed", on: 5, in: .endive),
                Self.refund(1, "failed", of: 500, on: 5, in: .endive),
            ],
        ]
        for deliveries in lives {
            let applied = try Self.applied([Self.sale(.endive)] + deliveries + deliveries.suffix(1))
            #expect(applied.map(\.isRestoration) == [false, false, true, false])
        }
    }

    @Test("a refund that is stated again has the time of its first statement", arguments: versions)
    func firstTime(version: StripeSimulator.Version) throws {
        let lives = [
            // Undone, and another one made since: the old one has no part in that.
            [
                Self.charge(500, on: 2, in: version), Self.refund(1, "failed", of: 500, on: 5, in: version),
                Self.charge(500, on: 6, in: version), Self.refundAgain("failed", on: 7, in: version),
            ],
            [Self.dispute("lost", 500, on: 4), Self.disputeAgain("lost", on: 6)],
            [Self.dispute("lost", 500, on: 4), Self.disputeAgain("lost", "funds_withdrawn", on: 6)],
        ]
        for deliveries in lives {
            let plain = try Self.state([Self.sale(version)] + deliveries.dropLast())
            try Self.each([Self.sale(version)] + deliveries) { state in
                #expect(Self.granted(state) == Self.granted(plain))
                for time in [5, 20].map({ date(created + $0 * day) }) {
                    #expect(Self.deniedSince(state, at: time) == Self.deniedSince(plain, at: time))
                    #expect(
                        CreditStatement(of: state, under: Self.policy, uses: [], at: time)
                            == CreditStatement(of: plain, under: Self.policy, uses: [], at: time)
                    )
                }
            }
        }
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
