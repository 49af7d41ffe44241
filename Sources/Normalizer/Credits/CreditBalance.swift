public import FoundationEssentials

/// The credits of a lineage: what ``CreditAction``s come to.
///
/// A host stores one beside each state, changes it in the same transaction, and does each action once, by its id.
/// ``settle(at:by:in:)`` comes before anything else, so that what has waited is done in its turn.
public struct CreditBalance: Hashable, Sendable, Codable {
    /// What is left of the credits that the subscription includes. They count while the lineage gives access. Less than zero
    /// where more of them was used than turns out to be due.
    public var included: Int64 = 0
    /// Credits that were bought, or carried over. Less than zero where the money for what was used went back.
    public var bought: Int64 = 0
    /// When the payout took effect that `included` is left of; absent before the first one.
    @OptionalEventTime public private(set) var paidOutAt: Date?
    /// Actions whose time has not come, of periods that were charged ahead.
    public private(set) var waiting: [CreditAction] = []
    /// What payouts took the place of, for a change in between that is told of late.
    private var replaced: [Remainder]?

    /// What was left of a payout when another took its place.
    private struct Remainder: Hashable, Sendable, Codable {
        var credits: Int64
        @EventTime var from: Date
        @EventTime var to: Date
    }

    /// As many as a year has months.
    private static let maximumReplaced = 12

    /// Makes a balance: an empty one, or what a host has kept in another way so far.
    ///
    /// - Parameters:
    ///   - included: what is left of the subscription's credits.
    ///   - bought: what was bought or carried over.
    ///   - paidOutAt: when the subscription's credits were given, such as the start of its period.
    public init(included: Int64 = 0, bought: Int64 = 0, paidOutAt: Date? = nil) {
        self.included = included
        self.bought = bought
        self.paidOutAt = paidOutAt
    }

    private enum CodingKeys: String, CodingKey {
        case included, bought, waiting, replaced
        case paidOutAt = "paid_out_at"
    }

    /// Does an action, or lets it wait for its time. A payout that comes to light when a later one has taken its place gives
    /// nothing, and an end takes nothing of what was paid out after it. A change that is told of so late still moves what was
    /// left then to the bought credits.
    ///
    /// - Parameters:
    ///   - action: what to do. Each is to be done once, by its id.
    ///   - now: the time, of the host's clock: that of the event's processing, which may have waited in a queue.
    public mutating func perform(_ action: CreditAction, at now: Date) {
        guard action.effectiveAt <= now else {
            waiting.append(action)
            return
        }
        if let paidOutAt, action.effectiveAt < paidOutAt {
            if case .carryOver = action.effect { carryOver(leftAt: action.effectiveAt) }
            if action.effect.payout != nil || action.effect == .revoke { return }
        }
        switch action.effect {
        // Of a subscription that has paid nothing out, nothing was too much.
        case .grant(let credits) where credits < 0: if paidOutAt != nil { included = included.addingClamped(credits) }
        case .grant(let credits): bought = bought.addingClamped(credits)
        case .withdraw(let credits): bought = bought.addingClamped(0 - max(credits, -.max))
        case .reset(let credits), .prorate(let credits):
            drop(at: action.effectiveAt)
            (included, paidOutAt) = (credits, action.effectiveAt)
        case .carryOver(let credits):
            carryOver(leftAt: action.effectiveAt)
            bought = bought.addingClamped(included)
            (included, paidOutAt) = (credits, action.effectiveAt)
        case .revoke: included = 0
        }
    }

    /// What is left is not there any more from a time on.
    private mutating func drop(at time: Date) {
        defer { included = 0 }
        guard included > 0, let paidOutAt, paidOutAt < time else { return }
        replaced = ((replaced ?? []) + [Remainder(credits: included, from: paidOutAt, to: time)])
            .suffix(Self.maximumReplaced)
    }

    /// What was dropped since had been left by a change.
    private mutating func carryOver(leftAt time: Date) {
        guard let index = replaced?.lastIndex(where: { $0.from <= time && time < $0.to }),
            let left = replaced?.remove(at: index)
        else { return }
        bought = bought.addingClamped(left.credits)
    }

    /// Of two that were left at one time, what the one has of which more was used: both may be of one purchase.
    private mutating func joinReplaced(_ other: [Remainder]) {
        guard !other.isEmpty else { return }
        var all = replaced ?? []
        for remainder in other {
            if let index = all.firstIndex(where: { $0.from < remainder.to && remainder.from < $0.to }) {
                if remainder.credits < all[index].credits { all[index] = remainder }
            } else {
                all.append(remainder)
            }
        }
        replaced = all.sorted { $0.from < $1.from }.suffix(Self.maximumReplaced)
    }

    /// Does what has waited for a time that has come, and drops what is void by then. What is left of an item that was not
    /// renewed lapses with what was paid for it, while something else of the subscription goes on that gives nothing.
    ///
    /// - Parameters:
    ///   - now: the time, of the host's clock.
    ///   - policy: what the actions are from.
    ///   - state: the state of the lineage, as it is now.
    public mutating func settle(at now: Date, by policy: CreditPolicy, in state: SubscriptionState) {
        let due = waiting.filter { $0.effectiveAt <= now }.sorted { $0.effectiveAt < $1.effectiveAt }
        defer {
            if included > 0, let paidOutAt, let end = policy.lapse(of: paidOutAt, by: now, in: state) { drop(at: end) }
        }
        guard !due.isEmpty else { return }
        waiting.removeAll { $0.effectiveAt <= now }
        var payer: SubscriptionID?
        for action in due where !policy.isVoid(action, in: state) {
            // A linked lineage may have paid out what this one waited for. Two items of one lineage each pay out.
            if let credits = action.effect.payout, let paidOutAt, action.effectiveAt <= paidOutAt,
                payer != action.subscription
            {
                merge(CreditBalance(included: credits, paidOutAt: action.effectiveAt))
            } else {
                perform(action, at: now)
                if action.effect.payout != nil { payer = action.subscription }
            }
        }
    }

    /// Joins the balance of another lineage, which turns out to be linked to this one.
    ///
    /// Both may have been paid out for one purchase, so what the later payout has left is what counts, and not the sum; of two
    /// payouts at one time, what the one has left of which more was used.
    public mutating func merge(_ other: CreditBalance) {
        if paidOutAt == other.paidOutAt {
            included = paidOutAt == nil ? max(included, other.included) : min(included, other.included)
            joinReplaced(other.replaced ?? [])
        } else if let later = other.paidOutAt, paidOutAt.map({ $0 < later }) ?? true {
            (included, paidOutAt, replaced) = (other.included, later, other.replaced)
        }
        bought = bought.addingClamped(other.bought)
        waiting += other.waiting
    }

    /// How many credits there are to use.
    ///
    /// - Parameter hasAccess: whether the lineage gives access, without which what the subscription includes does not count.
    public func available(hasAccess: Bool) -> Int64 {
        var sum = bought
        if hasAccess { sum = sum.addingClamped(included) }
        return sum
    }

    /// Uses credits, those that the subscription includes first, since they do not last.
    ///
    /// - Parameters:
    ///   - credits: how many to use at most.
    ///   - hasAccess: as in ``available(hasAccess:)``.
    /// - Returns: how many were used. The rest is for the account's other balances.
    public mutating func use(upTo credits: Int64, hasAccess: Bool) -> Int64 {
        let used = max(0, min(credits, available(hasAccess: hasAccess)))
        let ofIncluded = hasAccess ? max(0, min(used, included)) : 0
        included -= ofIncluded
        bought -= used - ofIncluded
        return used
    }
}

extension CreditAction.Effect {
    /// What takes the place of what is left.
    fileprivate var payout: Int64? {
        switch self {
        case .reset(let credits), .prorate(let credits), .carryOver(let credits): credits
        case .grant, .withdraw, .revoke: nil
        }
    }
}

extension AccountLedger {
    /// Balances by the state that their lineage belongs to, those of linked lineages merged.
    package func joined(_ balances: [SubscriptionID: CreditBalance]) -> [SubscriptionID: CreditBalance] {
        balances.reduce(into: [:]) { joined, entry in
            joined[self[entry.key]?.subscription ?? entry.key, default: CreditBalance()].merge(entry.value)
        }
    }
}

extension CreditBalance {
    /// The uses that make a statement agree with the stored balance at a time.
    ///
    /// Convert each stored balance once: join the states that are linked, add up their balances, and append these uses. At `time` the
    /// statement then has ``included`` credits with an end and ``bought`` ones without, as far as its grants allow: of
    /// credits that no grant gives, such as bonuses of the host's, a use of less than zero makes a grant that lasts until it is used.
    ///
    /// - Parameters:
    ///   - state: the state of the purchase.
    ///   - policy: what products give.
    ///   - time: when the conversion is made. Uses before that are in the stored balance and nowhere else.
    public func uses(in state: SubscriptionState, under policy: CreditPolicy, at time: Date) -> [CreditUse] {
        let statement = CreditStatement(of: state, under: policy, uses: [], at: time)
        var uses: [CreditUse] = []
        func use(_ credits: Int64, of grant: CreditGrant.ID?) {
            guard credits != 0 else { return }
            let id = ["converted", grant?.rawValue].compactMap(\.self).joined(separator: ":")
            uses.append(CreditUse(id: id, credits: credits, at: time, subscription: state.subscription, grant: grant))
        }
        // What is left of a kind is taken off the grants of that kind, the last of which are used last.
        func settle(_ left: Int64, _ grants: [CreditGrant]) -> Int64 {
            var left = max(0, left)
            for grant in grants.sorted(by: CreditGrant.isUsedBefore).reversed() {
                let kept = min(left, grant.left)
                use(grant.left - kept, of: grant.id)
                left -= kept
            }
            return left
        }
        let open = statement.grants.filter { $0.left > 0 }
        let missing = settle(included, open.filter { $0.until != nil })
            .addingClamped(settle(bought, open.filter { $0.until == nil }))
        use(0 - missing, of: nil)
        if bought < 0 { use(0 - max(bought, -.max), of: nil) }
        return uses
    }
}
