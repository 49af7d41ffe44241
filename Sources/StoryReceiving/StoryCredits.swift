package import FoundationEssentials
package import Normalizer

/// The allowances of a story's products. Each gives credits, and most give different numbers.
package struct StoryCredits: Sendable {
    private var policy = CreditPolicy([:])

    package init() {}

    package mutating func learn(_ facts: [Fact]) {
        for fact in facts {
            let product: ProductID
            switch fact {
            case .period(let period): product = period.product
            case .purchase(let purchase): product = purchase.product
            default: continue
            }
            let credits = product.rawValue.utf8.reduce(100) { sum, octet in (sum &* 31 &+ Int64(octet)) & 0xFFFF }
            policy.allowances[product] = .init(credits: credits)
        }
    }

    /// The balance at a time, if a third was used each week.
    package func statement(of ledger: AccountLedger, at time: Date) -> CreditStatement {
        let uses = (0..<12).map { week in
            CreditUse(id: "\(week)", credits: 100, at: time.addingTimeInterval(-604_800 * Double(week)))
        }
        return CreditStatement(of: ledger.states, under: policy, uses: uses, at: time)
    }
}
