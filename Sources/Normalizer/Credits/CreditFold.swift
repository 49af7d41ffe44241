import FoundationEssentials
import SignatureCore

/// Applies ends, refunds and uses to planned grants, in the order of time.
struct CreditFold {
    private(set) var grants: [CreditGrant] = []
    private(set) var endings: [CreditEnding] = []
    private(set) var uses: [CreditUse] = []
    private(set) var history: [(at: Int64, balance: Int64)] = []
    private(set) var balance: Int64 = 0

    private let plan: CreditPlan
    private let policy: CreditPolicy
    /// The grant that holds the rest of a planned one now: its own, or the one that the rest was carried over to.
    private var holders: [Int?]
    /// The credits of each planned grant that were used and can still be owed.
    private var usedOf: [Int64]
    /// The planned grants of a payment that have begun.
    private var begun: [[Int]]
    /// The takings of each payment that have taken effect: they reach grants that begin later, too.
    private var effective: [[CreditPlan.Taking]]
    /// The planned grant behind each grant; nil for those that no payment gave.
    private var sources: [Int?] = []
    private var purses: [Purse]
    /// Grants of which more was used than there was, with how much is still owed.
    private var debts: [(grant: Int, credits: Int64)] = []
    private var firstDebt = 0

    /// The remaining grants of one purchase, in the order of use.
    private struct Purse {
        /// Grants with an end. There are few at a time.
        var ending: [Int] = []
        /// Grants without an end, the oldest first.
        var lasting: [Int] = []
        var firstLasting = 0
        /// Credits that were used, and whose money went back at a change: set off against the next changes.
        var setOff: Int64 = 0
    }

    private enum Step {
        case take(Int), end(Int), begin(Int), give(Int), use(Int)

        /// At one time, refunds come first, then credits end, then others are given, and last they are used.
        var rank: Int {
            switch self {
            case .take: 0
            case .end: 1
            case .begin: 2
            case .give: 3
            case .use: 4
            }
        }
    }

    init(_ plan: CreditPlan, _ policy: CreditPolicy) {
        self.plan = plan
        self.policy = policy
        holders = Array(repeating: nil, count: plan.grants.count)
        usedOf = Array(repeating: 0, count: plan.grants.count)
        begun = Array(repeating: [], count: plan.payments.count)
        effective = Array(repeating: [], count: plan.payments.count)
        // The last is for the host's grants without a purchase.
        purses = Array(repeating: Purse(), count: plan.states.count + 1)
    }

    mutating func run(uses given: [CreditUse], until horizon: Int64) {
        let counted = Self.counted(given, until: horizon)
        var steps: [(at: Int64, step: Step, tie: String)] = []
        for (index, grant) in plan.grants.enumerated() {
            steps.append((grant.from, .begin(index), grant.id.rawValue))
            if grant.until <= horizon { steps.append((grant.until, .end(index), grant.id.rawValue)) }
        }
        for (index, taking) in plan.takings.enumerated() where taking.at <= horizon {
            steps.append((taking.at, .take(index), plan.payments[taking.payment].name))
        }
        for (index, use) in counted.enumerated() {
            steps.append((use.at.millisecondsSince1970, use.gift == nil ? .use(index) : .give(index), use.id))
        }
        steps.sort {
            $0.at != $1.at
                ? $0.at < $1.at : $0.step.rank != $1.step.rank ? $0.step.rank < $1.step.rank : $0.tie.precedes($1.tie)
        }
        for (at, step, _) in steps {
            switch step {
            case .take(let index): take(plan.takings[index])
            case .end(let index): end(index)
            case .begin(let index): begin(index)
            case .give(let index), .use(let index): use(counted[index])
            }
            if history.last?.at == at {
                history[history.count - 1].balance = balance
            } else if history.last?.balance != balance {
                history.append((at, balance))
            }
        }
    }

    /// Each use once, in the order of time; names decide between uses of one time.
    private static func counted(_ uses: [CreditUse], until horizon: Int64) -> [CreditUse] {
        struct Key: Hashable {
            var name: CreditUse.Name
            var subscription: SubscriptionID?
            var grant: CreditGrant.ID?
        }
        func precedes(_ one: CreditUse, _ other: CreditUse) -> Bool {
            if one.at != other.at { return one.at < other.at }
            if one.name != other.name { return one.name < other.name }
            if one.subscription != other.subscription {
                return (one.subscription?.description ?? "").precedes(other.subscription?.description ?? "")
            }
            if one.grant != other.grant { return (one.grant ?? "") < (other.grant ?? "") }
            return one.credits < other.credits
        }
        var seen: Set<Key> = []
        return uses.filter { $0.at.millisecondsSince1970 <= horizon }.sorted(by: precedes).filter {
            seen.insert(Key(name: $0.name, subscription: $0.subscription, grant: $0.grant)).inserted
        }
    }

    // MARK: Grants

    private mutating func begin(_ index: Int) {
        let planned = plan.grants[index]
        let grant = add(
            CreditGrant(
                id: planned.id,
                subscription: plan.states[planned.state].subscription,
                product: planned.product,
                credits: planned.credits,
                from: Date(millisecondsSince1970: planned.from),
                until: planned.until == .max ? nil : Date(millisecondsSince1970: planned.until),
                reason: planned.reason
            ),
            source: index,
            purse: planned.state
        )
        holders[index] = grant
        begun[planned.payment].append(index)
        for taking in effective[planned.payment] { take(taking.fraction, from: index, taking) }
        if planned.isOfChange, purses[planned.state].setOff > 0 {
            let credits = min(purses[planned.state].setOff, grants[grant].left)
            end(credits, of: grant, at: planned.from, .setOff)
            purses[planned.state].setOff -= credits
        }
        repay(at: planned.from)
    }

    private mutating func add(_ grant: CreditGrant, source: Int?, purse: Int) -> Int {
        let index = grants.count
        grants.append(grant)
        sources.append(source)
        balance = balance.addingClamped(grant.credits)
        if grant.until == nil {
            purses[purse].lasting.append(index)
        } else {
            purses[purse].ending.append(index)
        }
        return index
    }

    private mutating func end(_ credits: Int64, of grant: Int, at time: Int64, _ reason: CreditEnding.Reason) {
        guard credits > 0 else { return }
        grants[grant].ended = grants[grant].ended.addingClamped(credits)
        balance = balance.addingClamped(0 - credits)
        endings.append(
            CreditEnding(
                grant: grants[grant].id,
                credits: credits,
                at: Date(millisecondsSince1970: time),
                reason: reason
            )
        )
    }

    /// The time of a grant is over: the rest lapses, or becomes a grant of its own.
    private mutating func end(_ index: Int) {
        let planned = plan.grants[index]
        guard let grant = holders[index] else { return }
        purses[planned.state].ending.removeAll { $0 == grant }
        let left = grants[grant].left
        guard left > 0 else { return }
        end(left, of: grant, at: planned.until, planned.isCarriedOver ? .carriedOver : .lapsed)
        guard planned.isCarriedOver else { return }
        holders[index] = add(
            CreditGrant(
                id: CreditGrant.ID(rawValue: planned.id.rawValue + "/left"),
                subscription: plan.states[planned.state].subscription,
                product: planned.product,
                credits: left,
                from: Date(millisecondsSince1970: planned.until),
                reason: .carriedOver(from: planned.id)
            ),
            source: index,
            purse: planned.state
        )
    }

    // MARK: Money that goes back

    private mutating func take(_ taking: CreditPlan.Taking) {
        effective[taking.payment].append(taking)
        for index in begun[taking.payment] { take(taking.fraction, from: index, taking) }
        guard taking.reachesBack else { return }
        // A set-off pays for a part of the payment before it, and that one's set-off for a part of an earlier one.
        var (payment, fraction) = (taking.payment, taking.fraction)
        while let before = plan.payments[payment].setOff {
            fraction = fraction.multiplied(by: before.share)
            if fraction == .none { return }
            payment = before.payment
            for index in begun[payment] { take(fraction, from: index, taking) }
        }
    }

    private mutating func take(_ fraction: ExactFraction, from index: Int, _ taking: CreditPlan.Taking) {
        guard let grant = holders[index],
            let due = fraction.applied(to: Int128(plan.grants[index].credits), policy.rounding).map({
                Int64(clamping: $0)
            })
        else { return }
        let taken = max(0, min(due, grants[grant].left))
        end(taken, of: grant, at: taking.at, .takenBack)
        let owed = min(due - taken, usedOf[index])
        guard owed > 0 else { return }
        if policy.owes {
            usedOf[index] -= owed
            end(owed, of: grant, at: taking.at, .takenBack)
            debts.append((grant, owed))
            repay(at: taking.at)
        } else if taking.isOfChange {
            usedOf[index] -= owed
            purses[plan.grants[index].state].setOff += owed
        }
    }

    /// Credits at hand make up for owed ones, as if they had been used in place of the credits that are gone.
    private mutating func repay(at time: Int64) {
        while firstDebt < debts.count {
            let (debtor, owed) = debts[firstDebt]
            guard let grant = next(in: purses.indices) else { return }
            let credits = min(owed, grants[grant].left)
            grants[grant].used += credits
            grants[debtor].used -= credits
            if let source = sources[grant] { usedOf[source] += credits }
            debts[firstDebt].credits -= credits
            if debts[firstDebt].credits == 0 { firstDebt += 1 }
        }
    }

    // MARK: Uses

    private mutating func use(_ use: CreditUse) {
        uses.append(use)
        let purse = use.subscription.flatMap { plan.stateOfLineage[$0] }
        if let gift = use.gift {
            _ = add(
                CreditGrant(
                    id: gift,
                    subscription: use.subscription,
                    credits: 0 - max(use.credits, -.max),
                    from: use.at,
                    reason: .given
                ),
                source: nil,
                purse: purse ?? plan.states.count
            )
            return repay(at: use.at.millisecondsSince1970)
        }
        // A use of a purchase that these states are not of has nothing to draw from.
        let purses = use.subscription == nil ? Array(purses.indices) : purse.map { [$0] } ?? []
        var missing = use.credits
        while missing > 0, let grant = use.grant.map({ only($0, in: purses) }) ?? next(in: purses) {
            let credits = min(missing, grants[grant].left)
            grants[grant].used += credits
            if let source = sources[grant] { usedOf[source] += credits }
            balance -= credits
            missing -= credits
        }
        guard missing > 0 else { return }
        // More was used than there was, as far as is known now.
        let grant = grants.count
        grants.append(
            CreditGrant(
                id: CreditGrant.ID(rawValue: use.name(of: "overdrawn")),
                subscription: use.subscription,
                credits: policy.owes ? 0 : missing,
                from: use.at,
                reason: .overdrawn(use: use.id),
                used: missing
            )
        )
        sources.append(nil)
        guard policy.owes else { return }
        balance = balance.addingClamped(0 - missing)
        debts.append((grant, missing))
        repay(at: use.at.millisecondsSince1970)
    }

    /// The grant whose credits are used next.
    private mutating func next(in purses: some Sequence<Int>) -> Int? {
        var best: Int?
        for purse in purses {
            while self.purses[purse].firstLasting < self.purses[purse].lasting.count,
                grants[self.purses[purse].lasting[self.purses[purse].firstLasting]].left <= 0
            { self.purses[purse].firstLasting += 1 }
            var candidates = self.purses[purse].ending.filter { grants[$0].left > 0 }
            if self.purses[purse].firstLasting < self.purses[purse].lasting.count {
                candidates.append(self.purses[purse].lasting[self.purses[purse].firstLasting])
            }
            for candidate in candidates {
                if let known = best, !CreditGrant.isUsedBefore(grants[candidate], grants[known]) { continue }
                best = candidate
            }
        }
        return best
    }

    /// The grant of a name, if anything is left of it.
    private func only(_ id: CreditGrant.ID, in purses: some Sequence<Int>) -> Int? {
        for purse in purses {
            for grant in self.purses[purse].ending + self.purses[purse].lasting
            where grants[grant].id == id && grants[grant].left > 0 { return grant }
        }
        return nil
    }
}
