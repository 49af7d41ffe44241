import FoundationEssentials
import Normalizer

/// What the products of a story give: each of them something, others than most other products.
struct StoryCredits: Sendable {
    private var policy = CreditPolicy([:])

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

    /// What is left at a time, of which a third was used each week.
    func statement(of ledger: AccountLedger, at time: Date) -> CreditStatement {
        let uses = (0..<12).map { week in
            CreditUse(id: "\(week)", credits: 100, at: time.addingTimeInterval(-604_800 * Double(week)))
        }
        return CreditStatement(of: ledger.states, under: policy, uses: uses, at: time)
    }
}
