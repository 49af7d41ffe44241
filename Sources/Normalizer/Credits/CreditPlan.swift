import FoundationEssentials

/// The grants of states under a policy: a reading of the facts, on which uses and the order of arrival have no effect.
struct CreditPlan {
    /// Credits that a period, a part of it, or a purchase gives.
    struct Grant {
        var id: CreditGrant.ID
        /// The state that it is of, by its place in ``states``.
        var state: Int
        var product: ProductID
        var credits: Int64
        var from: Int64
        /// `Int64.max` where it lasts until it is used.
        var until: Int64
        var reason: CreditGrant.Reason
        /// The payment that it was given for, by its place in ``payments``.
        var payment: Int
        /// True if the rest at the end is kept.
        var isCarriedOver = false
        /// True if a change gives it.
        var isOfChange = false
    }

    /// A payment, for a period or for a one-time purchase.
    struct Payment {
        var name: String
        /// The payment that this one replaced, and the share of it that this one's set-off pays for.
        var setOff: (payment: Int, share: ExactFraction)?
    }

    /// Refunded money, with the credits that it had paid for.
    struct Taking {
        var payment: Int
        var at: Int64
        var fraction: ExactFraction
        /// True for a change to a product that costs less than the unused part.
        var isOfChange = false
        /// True if it also takes from the payments that were set off.
        var reachesBack = false
    }

    var states: [SubscriptionState]
    var stateOfLineage: [SubscriptionID: Int] = [:]
    var grants: [Grant] = []
    var payments: [Payment] = []
    var takings: [Taking] = []

    init(of states: [SubscriptionState], under policy: CreditPolicy, until horizon: Int64) {
        self.states = states
        for (index, state) in states.enumerated() {
            for lineage in state.lineages { stateOfLineage[lineage] = index }
            addPeriods(of: state, at: index, under: policy, until: horizon)
            addPurchases(of: state, at: index, under: policy, until: horizon)
        }
    }
}
