import Foundation
import GRDB
import Normalizer

/// What credits there are, in the tables of `docs/model.md`.
struct CreditBook: Sendable {
    let policy: CreditPolicy

    /// Does what an event asks for, each action once.
    func perform(_ applied: AppliedEvent, in ledger: AccountLedger, at now: Date, _ db: Database) throws {
        guard let lineage = applied.event.subscription, let state = ledger[lineage] else { return }
        let actions = try policy.actions(for: applied, in: state, at: now).filter { try insert($0, db) }
        if actions.isEmpty { return }
        var balance = try balance(of: state, at: now, db)
        for action in actions { balance.perform(action, at: now) }
        try write(balance, of: state, db)
    }

    func available(to states: [SubscriptionState], at time: Date, _ db: Database) throws -> Int64 {
        try states.reduce(0) { sum, state in
            sum + (try balance(of: state, at: time, db).available(hasAccess: state.access(at: time).isGranted))
        }
    }

    func use(_ number: Int64, of states: [SubscriptionState], at time: Date, _ db: Database) throws -> Bool {
        guard number >= 0, try available(to: states, at: time, db) >= number else { return false }
        var missing = number
        for state in states {
            var balance = try balance(of: state, at: time, db)
            missing -= balance.use(upTo: missing, hasAccess: state.access(at: time).isGranted)
            try write(balance, of: state, db)
        }
        return true
    }

    /// Whether it is to be done, and was not before.
    private func insert(_ action: CreditAction, _ db: Database) throws -> Bool {
        try db.execute(
            sql: "INSERT INTO credit_action (id, action) VALUES (?, ?) ON CONFLICT (id) DO NOTHING",
            arguments: [action.id, CanonicalJSON.text(action)]
        )
        return db.changesCount > 0
    }

    /// One balance for all names under which a purchase goes on.
    private func balance(of state: SubscriptionState, at time: Date, _ db: Database) throws -> CreditBalance {
        var joined = CreditBalance()
        let rows = "SELECT balance FROM credit_balance WHERE subscription IN (SELECT value FROM json_each(?))"
        for text in try String.fetchAll(db, sql: rows, arguments: [names(of: state)]) {
            joined.merge(try CanonicalJSON.value(from: Array(text.utf8)))
        }
        joined.settle(at: time, by: policy, in: state)
        return joined
    }

    private func write(_ balance: CreditBalance, of state: SubscriptionState, _ db: Database) throws {
        try db.execute(
            sql: "DELETE FROM credit_balance WHERE subscription IN (SELECT value FROM json_each(?))",
            arguments: [names(of: state)]
        )
        try db.execute(
            sql: "INSERT INTO credit_balance (subscription, balance) VALUES (?, ?)",
            arguments: [state.subscription.description, CanonicalJSON.text(balance)]
        )
    }

    private func names(of state: SubscriptionState) throws -> String {
        try CanonicalJSON.text(state.lineages.map(\.description))
    }
}
