import FoundationEssentials
import Normalizer

/// What a host makes of credit actions that does each of them once: a balance for each lineage.
struct CreditBalances: Sendable {
    private var policy = CreditPolicy([:], carriesOver: false)
    private var balances: [SubscriptionID: CreditBalance] = [:]
    private var done: Set<String> = []

    /// Does what an event asks for.
    ///
    /// - Parameter ledger: as it is with the event.
    mutating func perform(_ applied: AppliedEvent, in ledger: AccountLedger) {
        guard let lineage = applied.event.subscription, let state = ledger[lineage] else { return }
        learn(applied.event.facts)
        balances = ledger.joined(balances)
        for action in policy.actions(for: applied, in: state) where done.insert(action.id).inserted {
            // Whatever the order, nothing waits: what is compared is what becomes of it in the end.
            balances[state.subscription, default: CreditBalance()].perform(action, at: .distantFuture)
        }
    }

    /// Lets each product that turns up give credits, others than most other products.
    mutating func learn(_ facts: [Fact]) {
        for fact in facts {
            let product: String
            switch fact {
            case .period(let period): product = period.product
            case .purchase(let purchase): product = purchase.product
            default: continue
            }
            let credits = product.utf8.reduce(100) { sum, octet in (sum &* 31 &+ Int64(octet)) & 0xFFFF }
            policy.allowances[product] = .init(credits: credits)
        }
    }

    /// What is left where there is access.
    func included(in ledger: AccountLedger, at time: Date) -> Int64 {
        balances.reduce(0) { sum, entry in
            ledger[entry.key]?.access(at: time).isGranted == true ? sum + entry.value.included : sum
        }
    }

    /// What was bought or carried over.
    var bought: Int64 { balances.values.reduce(0) { $0 + $1.bought } }
}
