import FoundationEssentials
import Normalizer

/// What a host makes of credit actions that does each of them once: a balance for each lineage, and one of what was
/// bought.
struct CreditBalances: Sendable {
    private var policy = CreditPolicy([:], carriesOver: false)
    private var left: [SubscriptionID: Int64] = [:]
    private(set) var bought: Int64 = 0
    private var done: Set<String> = []

    /// Does what an event asks for.
    ///
    /// - Parameter ledger: as it is with the event.
    mutating func perform(_ application: Application, in ledger: AccountLedger) {
        guard let lineage = application.event.subscription, let state = ledger[lineage] else { return }
        learn(application.event.facts)
        // Lineages may have been linked since.
        left = Dictionary(left.map { (ledger[$0.key]?.subscription ?? $0.key, $0.value) }, uniquingKeysWith: +)
        let name = state.subscription
        for action in policy.actions(for: application, in: state) where done.insert(action.id).inserted {
            switch action.effect {
            case .grant(let credits): if credits < 0 { left[name, default: 0] += credits } else { bought += credits }
            case .reset(let credits), .prorate(let credits): left[name] = credits
            case .carryOver(let credits): (left[name], bought) = (credits, bought + left[name, default: 0])
            case .withdraw(let credits): bought -= credits
            case .revoke: left[name] = 0
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
            ledger[entry.key]?.access(at: time).isGranted == true ? sum + entry.value : sum
        }
    }
}
