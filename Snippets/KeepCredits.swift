// Does what events ask for with credits, in the transaction that stores their states.

import Foundation
import Normalizer

func keep(_ result: Normalization, under policy: CreditPolicy, at now: Date, in rows: any Rows) throws {
    var ledger = try rows.ledger(of: result.lineages)
    // snippet.show
    for applied in ledger.apply(result) {
        guard let lineage = applied.event.subscription, let state = ledger[lineage] else { continue }
        // The rows of all that is linked, one merged into the other; this one takes their place.
        var balance = try rows.balance(of: state.lineages)
        balance.settle(at: now, by: policy, in: state)
        for action in policy.actions(for: applied, in: state, at: now) where try rows.isFirst(action.id) {
            balance.perform(action, at: now)
        }
        try rows.write(balance, of: state)
    }
    // snippet.hide
}

protocol Rows {
    func ledger(of lineages: [SubscriptionID]) throws -> AccountLedger
    func balance(of lineages: [SubscriptionID]) throws -> CreditBalance
    func isFirst(_ action: String) throws -> Bool
    func write(_ balance: CreditBalance, of state: SubscriptionState) throws
}
