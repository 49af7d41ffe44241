public import FoundationEssentials

/// An account's access through any of its lineages, with the lineages that give it.
public struct AccountAccess: Hashable, Sendable, Codable {
    /// One lineage's part in the decision.
    public struct Contribution: Hashable, Sendable, Codable {
        /// The lineage's state.
        public var subscription: SubscriptionID
        /// Its own decision.
        public var decision: AccessDecision
    }

    /// The account's decision. Access is granted if any lineage grants it, until the end of the unbroken access of all.
    public var decision: AccessDecision
    /// The lineages that grant access, the longest first; one-time purchases of unknown type come last.
    public var grantors: [Contribution]
    /// The lineages that grant no access.
    public var others: [Contribution]
    /// Claims of the account on lineages that belong to another one. They give nothing.
    public var conflicts: [Ownership.Conflict]
    /// When to look again; absent if no change is known.
    @OptionalEventTime public var nextTransition: Date?

    private enum CodingKeys: String, CodingKey {
        case decision, grantors, others, conflicts
        case nextTransition = "next_transition"
    }
}

extension AccountAccess {
    /// Decides over states that a host has selected; those of another environment are left out.
    public init(_ states: some Sequence<SubscriptionState>, in environment: StoreEnvironment, at time: Date) {
        let moment = time.millisecondsSince1970
        var contributions: [Contribution] = []
        var intervals: [(start: Int64, end: Int64)] = []
        var transitions: [Int64] = []
        for state in states where state.environment == environment {
            let (decision, timeline) = state.reading(at: moment)
            contributions.append(Contribution(subscription: state.subscription, decision: decision))
            intervals += state.intervals(timeline, state.ownedPurchases)
            if let next = state.nextTransition(after: moment, timeline) { transitions.append(next) }
        }
        contributions.sort { $0.rank < $1.rank }
        grantors = contributions.filter(\.decision.isGranted)
        others = contributions.filter { !$0.decision.isGranted }
        conflicts = []
        nextTransition = transitions.min().map { Date(millisecondsSince1970: $0) }
        if case .granted(let until, let grant)? = grantors.first?.decision {
            let end = SubscriptionState.end(of: intervals, from: until?.millisecondsSince1970 ?? .max)
            decision = .granted(until: SubscriptionState.date(end), because: grant)
        } else if let latest = others.first {
            decision = latest.decision
        } else {
            decision = .denied(
                since: nil,
                because: AccessDecision.Denial(
                    reason: .never,
                    subscription: SubscriptionID(store: .unknown, environment: environment, id: ""),
                    evidence: []
                )
            )
        }
    }
}

extension AccountAccess.Contribution {
    /// Known grants of access before presumed ones, of either the longest first; then the latest end, then the name.
    fileprivate var rank: (Int, Int64, String) {
        switch decision {
        case .granted(let until, let grant):
            (grant.basis == .unclassified ? 1 : 0, -(until?.millisecondsSince1970 ?? .max), subscription.description)
        case .denied(let since, _): (2, -(since?.millisecondsSince1970 ?? -.max), subscription.description)
        }
    }
}
