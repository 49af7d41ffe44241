import FoundationEssentials
import NotificationSimulator
import Normalizer
import Testing
import WireJSON

private let t0: Int64 = 1_767_225_600_000
private let day: Int64 = 86_400_000

@Suite("A webhook that never comes")
struct LostWebhookTests {
    let traps = TrapTests()

    private func event(
        _ type: String,
        of product: String,
        at time: Int64,
        with changes: KeyValuePairs<String, JSONText?>
    ) -> TrapTests.Event {
        let lasting: KeyValuePairs<String, JSONText?> = ["product_id": .string(product), "expiration_at_ms": .null]
        return traps.event(type, time).with(lasting).with(changes)
    }

    private func ledger(_ events: [TrapTests.Event]) throws -> AccountLedger {
        var ledger = AccountLedger()
        for event in events { _ = ledger.apply(try traps.normalization(event)) }
        return ledger
    }

    @Test("a refund undone states what was bought once, and its own webhook counts in any order")
    func boughtOnce() throws {
        let at = Date(timeIntervalSince1970: Double(t0 + 11 * day) / 1000)
        for (product, unlocks, credits) in [("life", true, 0), ("coins", false, 150)] as [(String, Bool, Int64)] {
            var changes: [TrapTests.Event] = []
            for type in ["NON_RENEWING_PURCHASE", "CANCELLATION", "REFUND_REVERSED"] {
                let entitlements: KeyValuePairs<String, JSONText?> = unlocks ? [:] : ["entitlement_ids": .null]
                let time = t0 + 5000 + Int64(changes.count) * 5 * day
                changes.append(event(type, of: product, at: time, with: entitlements))
            }
            changes[0] = changes[0].with(["quantity": 3])
            changes[1] = changes[1].with(["cancel_reason": "CUSTOMER_SUPPORT"])
            for isLost in [true, false] {
                for order in StoryTests.permutations(isLost ? Array(changes.dropFirst()) : changes) {
                    let ledger = try ledger(order + order)
                    let access = ledger[TrapTests.lineage]?.access(at: at)
                    #expect(access?.isGranted == unlocks)
                    let statement = CreditStatement(of: ledger.states, under: CreditTests.policy, uses: [], at: at)
                    #expect(statement.balance == (isLost ? credits / 3 : credits))
                }
            }
            #expect(try ledger([changes[1]])[TrapTests.lineage]?.access(at: at).isGranted == false)
        }
    }
}
