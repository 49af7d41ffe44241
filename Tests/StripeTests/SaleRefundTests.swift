import FoundationEssentials
import NotificationSimulator
import Normalizer
import Stripe
import Testing

@Suite("Refunds of sales by Checkout")
struct SaleRefundTests {
    /// Before basil a charge names its invoice, also that of a sale by Checkout.
    @Test("the refund of a sale by Checkout that made an invoice takes its credits", arguments: OneFactTests.versions)
    func refundOfSaleWithInvoice(_ version: StripeSimulator.Version) throws {
        for mode in version == .endive ? ["session"] : ["session", "mode"] {
            let adapter = try adapter {
                $0.policy.sellsByInvoice = mode == "mode"; $0.policy.refundSource = .charges
            }
            let session = try OneFactTests.events(
                "checkout.session.completed",
                OneFactTests.session(invoice: "in_1"),
                adapter,
                in: version
            )
            let invoice: JSONText = version == .endive ? nil : "in_1"
            let charge: JSONText = [
                "id": "ch_1", "object": "charge", "amount": 4900, "amount_refunded": 4900, "currency": "usd",
                "payment_intent": "pi_1", "refunded": true, "invoice": invoice,
            ]
            let refund = try OneFactTests.events(
                "charge.refunded",
                charge,
                previous: ["amount_refunded": 0, "refunded": false],
                at: created + day,
                adapter,
                in: version
            )
            let policy = CreditPolicy(["cs_1": .init(credits: 5)])
            var ledger = AccountLedger()
            var actions: [String] = []
            for event in session + refund {
                let applied = ledger.apply(event)
                let lineage = try #require(event.subscription)
                let state = try #require(ledger[lineage])
                actions += policy.actions(for: applied, in: state).map { "\($0.effect)" }
            }
            #expect(actions.count == 2, "\(mode) \(version.name) \(actions) \(refund.map { $0.transaction ?? "" })")
        }
    }

    @Test("a part of the money for what was bought once takes no access", arguments: [1000, 4900])
    func part(_ amount: Int64) throws {
        let adapter = try adapter()
        let told = [
            ("checkout.session.completed", OneFactTests.session(invoice: nil, createsInvoice: false)),
            ("refund.created", Self.refund("re_1", "succeeded", amount)),
        ]
        var ledger = AccountLedger()
        var effects: [LifecycleEvent.AccessEffect] = []
        for (number, told) in told.enumerated() {
            for event in try OneFactTests.events(told.0, told.1, at: created + Int64(number) * day, adapter) {
                effects.append(ledger.apply(event).event.event.accessEffect)
            }
        }
        #expect(effects == [.grants, amount == 4900 ? .removes : .none])
    }

    static func refund(_ id: String, _ status: String, _ amount: Int64 = 4900) -> JSONText {
        [
            "id": .string(id), "object": "refund", "amount": .integer(amount), "charge": "ch_1", "currency": "usd",
            "payment_intent": "pi_1", "status": .string(status),
        ]
    }

    @Test(
        "a refund that failed and was made again takes the credits again, and each once",
        arguments: [1, 2],
        [false, true]
    )
    func refundedAgain(_ failures: Int, isQueued: Bool) throws {
        let adapter = try adapter()
        var told = [("checkout.session.completed", OneFactTests.session(invoice: nil, createsInvoice: false))]
        for number in 1...failures {
            told.append(("refund.created", Self.refund("re_\(number)", "succeeded")))
            told.append(("refund.failed", Self.refund("re_\(number)", "failed")))
        }
        told.append(("refund.created", Self.refund("re_last", "succeeded")))
        let events = try told.enumerated().map { number, told in
            try OneFactTests.events(told.0, told.1, at: created + Int64(number) * day, adapter)
        }
        let policy = CreditPolicy(["cs_1": .init(credits: 5)])
        func balances(_ order: [[NormalizedEvent]]) throws -> [Int64] {
            var ledger = AccountLedger()
            var done: Set<String> = []
            var balance: Int64 = 0
            return try order.map { events in
                for event in events {
                    var applied = ledger.apply(event)
                    // Whoever keeps credits may ask about it later, from what was written beside the state.
                    if isQueued {
                        applied = try CanonicalJSON.value(
                            AppliedEvent.self,
                            from: try CanonicalJSON.bytes(applied)
                        )
                    }
                    let state = try #require(event.subscription.flatMap { ledger[$0] })
                    for action in policy.actions(for: applied, in: state) where done.insert(action.id).inserted {
                        switch action.effect {
                        case .grant(let credits): balance += credits
                        case .withdraw(let credits): balance -= credits
                        default: Issue.record("\(action.effect)")
                        }
                    }
                }
                return balance
            }
        }
        let expected: [Int64] = [5] + (1...failures).flatMap { _ in [0, 5] as [Int64] } + [0]
        #expect(try balances(events) == expected)
        // Delivered again, all of it does nothing more; nor does it matter what came first.
        #expect(try balances(events + events + events.reversed()).last == 0)
        for shift in events.indices {
            let order = Array(events[shift...]) + Array(events[..<shift])
            #expect(try balances(order).last == 0, "\(shift)")
            #expect(try balances(order + events).last == 0, "\(shift), twice")
        }
        #expect(try balances(events.reversed()).last == 0)
    }
}
