// Reads and uses the credits of an account. Of credits, the host stores uses and nothing else.

import Foundation
import Normalizer

func use(
    _ credits: Int64,
    of account: Account.Identifier,
    for job: String,
    under policy: CreditPolicy,
    at now: Date,
    in rows: any Rows
) throws -> Bool {
    // snippet.show
    let states = try rows.ledger(of: account).states(of: [account], in: .production)
    let statement = CreditStatement(of: states, under: policy, uses: try rows.uses(of: states), at: now)
    // One use for each purchase or gift that credits come from; nil where there are too few, none where the job is known.
    guard let uses = statement.uses(of: credits, id: job) else { return false }
    for use in uses { try rows.append(use) }
    // snippet.hide
    return true
}

protocol Rows {
    /// The rows of an account, with all that they are linked to.
    func ledger(of account: Account.Identifier) throws -> AccountLedger
    /// The uses whose `subscription` is one of the states' lineages.
    func uses(of states: [SubscriptionState]) throws -> [CreditUse]
    func append(_ use: CreditUse) throws
}
