import FoundationEssentials
import Normalizer

/// What a host makes of credit actions that does each of them once: a balance for each lineage, and one of what was
/// bought.
struct CreditBalances: Sendable {
    private var policy = CreditPolicy([:], carriesOver: false)
    /// What is left, and of which payout: of lineages that turn out to be linked, that of the later one counts.
    private var left: [SubscriptionID: (credits: Int64, paidAt: Date)] = [:]
    private(set) var bought: Int64 = 0
    private var done: Set<String> = []

    /// Does what an event asks for.
    ///
    /// - Parameter ledger: as it is with the event.
    mutating func perform(_ applied: AppliedEvent, in ledger: AccountLedger) {
        guard let lineage = applied.event.subscription, let state = ledger[lineage] else { return }
        learn(applied.event.facts)
        left = Dictionary(left.map { (ledger[$0.key]?.subscription ?? $0.key, $0.value) }) {
            $0.paidAt < $1.paidAt ? $1 : $0
        }
        let name = state.subscription
        for action in policy.actions(for: applied, in: state) where done.insert(action.id).inserted {
            let before = left[name]?.credits ?? 0
            switch action.effect {
            case .grant(let credits):
                if credits < 0 { left[name]?.credits += credits } else { bought += credits }
            case .reset(let credits), .prorate(let credits): left[name] = (credits, action.effectiveAt)
            case .carryOver(let credits): (left[name], bought) = ((credits, action.effectiveAt), bought + before)
            case .withdraw(let credits): bought -= credits
            case .revoke: left[name]?.credits = 0
            }
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
    func subscription(in ledger: AccountLedger, at time: Date) -> Int64 {
        left.reduce(0) { sum, entry in
            ledger[entry.key]?.access(at: time).isGranted == true ? sum + entry.value.credits : sum
        }
    }
}
