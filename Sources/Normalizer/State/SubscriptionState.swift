import FoundationEssentials

/// Everything known about one lineage: the join of every fact that was ever stated about it.
///
/// The join is commutative, associative and idempotent. The same statements give the same state, whatever their order,
/// however often and through however many channels they arrive. If two copies saw different statements, ``merge(_:)``
/// gives the state that saw them all. A state is no log: it grows with the number of periods, transactions and
/// accounts, not with the number of statements about them.
///
/// Keep one for each `SubscriptionID`; ``AccountLedger`` keeps many and joins those that turn out to be one purchase.
public struct SubscriptionState: Hashable, Sendable {
    /// The store's last statements about a lineage as a whole.
    package struct Registers: Hashable, Sendable, Codable {
        package var intent: Register<Fact.RenewalIntent>?
        package var nextProduct: Register<Fact.NextProduct>?
        package var billing: Register<Fact.Billing>?
        /// The last failed charge that had grace; a statement after its end does not undo it.
        package var grace: Register<Fact.Billing>?
        /// Of the statements that may leave out some of the grace, the one with the latest end.
        package var longestGrace: Register<LongestGrace>?
        /// The failed charges that had grace before that one.
        package var earlierGraces: GraceHistory?
        /// The failed charges without grace, or after it: the first statement of each.
        package internal(set) var retries: RetryHistory?
        /// The charges for changes within periods that failed; one may be paid since.
        package internal(set) var unpaidChanges: UnpaidChangeHistory?
        package var pause: Register<Fact.PauseState>?
        /// The purchase as a whole is over or withheld, or open again.
        package var closure: Register<Fact.Closure>?
        /// The last closure that ends the items of the purchase, too.
        package internal(set) var closureOfItems: Register<Fact.Closure>?
        package var priceChange: Register<Fact.PriceChangeState>?

        package mutating func merge(_ other: Registers) {
            intent.merge(other.intent)
            nextProduct.merge(other.nextProduct)
            billing.merge(other.billing)
            longestGrace.merge(other.longestGrace)
            mergeGrace(other.grace, other.earlierGraces)
            mergeRetries(other.retries)
            mergeUnpaidChanges(other.unpaidChanges)
            pause.merge(other.pause)
            closure.merge(other.closure)
            closureOfItems.merge(other.closureOfItems)
            priceChange.merge(other.priceChange)
        }

        private enum CodingKeys: String, CodingKey {
            case billing, grace, retries, pause, closure
            case intent = "renewal_intent"
            case closureOfItems = "closure_of_items"
            case longestGrace = "longest_grace"
            case nextProduct = "next_product"
            case earlierGraces = "earlier_graces"
            case priceChange = "price_change"
            case unpaidChanges = "unpaid_changes"
        }
    }

    /// The key of a period or its end: the transaction if there is one, else the start; for an item next to the main
    /// product, its name and the start. A statement that
    /// a period was not paid for as it began has a key of its own: such a period gives nothing, however the purchase ends later.
    package enum PeriodKey: Hashable, Sendable {
        case transaction(TransactionID)
        case start(Int64)
        case item(Int64, ProductID)
        case unpaid(Int64)

        package init(transaction: TransactionID?, start: Int64, item: ProductID? = nil) {
            if let item {
                self = .item(start, item)
            } else if let transaction, !transaction.isEmpty {
                self = .transaction(transaction)
            } else {
                self = .start(start)
            }
        }

        package init(_ period: Fact.Period) {
            self.init(
                transaction: period.transaction,
                start: period.period.startMilliseconds,
                item: period.item
            )
        }

        package init(_ end: Fact.PeriodEnd) {
            let start = end.start.millisecondsSince1970
            if end.isOfUnpaidPeriod, end.item == nil {
                self = .unpaid(start)
            } else {
                self.init(transaction: end.transaction, start: start, item: end.item)
            }
        }
    }

    /// The key of an immediate change. Channels may differ in its time, and in how it was paid for.
    package struct SwitchKey: Hashable, Sendable, Comparable {
        package var period: PeriodKey
        package var to: ProductID
        package var second: Int64

        package init(_ change: Fact.ProductSwitch) {
            period = PeriodKey(transaction: change.transaction, start: change.periodStart.millisecondsSince1970)
            to = change.to
            second = change.at.millisecondsSince1970.flooredQuotient(dividingBy: 1000)
        }

        package static func < (lhs: SwitchKey, rhs: SwitchKey) -> Bool {
            if lhs.second != rhs.second { return lhs.second < rhs.second }
            return lhs.period != rhs.period ? lhs.period < rhs.period : lhs.to < rhs.to
        }
    }

    package private(set) var registers = LineageRegisters()
    package private(set) var periods: [PeriodKey: PeriodEntry] = [:]
    /// The order of ``periods``, kept once there are many.
    private(set) var periodOrder: PeriodOrder?
    package internal(set) var ends = PeriodEnds()
    /// The steps by which access to periods stopped and came back.
    package internal(set) var interruptions: Set<Assertion<Fact.Interruption>> = []
    package internal(set) var refunds: [RefundKey: Register<Fact.RefundState>] = [:]
    /// The steps of refunds: when each took access away, and when it was undone. They count for the past.
    package internal(set) var refundSteps: [RefundStep.Key: RefundStep] = [:]
    package internal(set) var charges: [TransactionID: Register<Fact.Charge>] = [:]
    package internal(set) var purchases: [TransactionID: PurchaseEntry] = [:]
    package internal(set) var switches: [SwitchKey: Register<Fact.ProductSwitch>] = [:]
    /// When snapshots stated each transaction.
    package internal(set) var snapshots: [TransactionID: SnapshotTimes] = [:]
    package internal(set) var claims: [Account.Identifier: AccountClaim] = [:]
    package internal(set) var transfer: Register<LifecycleEvent.Transfer>?
    /// The reports of all events. A fact that no event has reported is still news.
    package internal(set) var reports = ReportLog()
    /// Transactions by their other names.
    package internal(set) var transactionNames: [TransactionID: TransactionID] = [:]

    /// Statements that a purchase under an unstated name replaces this one.
    package internal(set) var successions: Set<Fact.Succession> = []

    /// Other lineages of the same environment that are this purchase, continued or under another name.
    public internal(set) var links: Set<SubscriptionID> = []

    /// Links that were stated to a lineage of another environment, and are not followed.
    package internal(set) var foreignLinks: Set<SubscriptionID> = []

    /// The state of an unknown lineage.
    public init(_ subscription: SubscriptionID) {
        merge(Registers(), of: subscription)
    }

    package init(members: some Sequence<SubscriptionID>) {
        for member in members { merge(Registers(), of: member) }
    }

    /// The lineages whose facts are joined here, in the order of their names; one unless linked states were merged.
    public var lineages: [SubscriptionID] { registers.lineages.inOrder }

    /// The name of the state: the first of ``lineages`` that a store has stated something of as a whole, such as its renewal.
    /// The name of a payment is a lineage, too, and names the state only until its purchase is known.
    public var subscription: SubscriptionID {
        // A state is made with one lineage and loses none.
        registers.name ?? SubscriptionID(store: .unknown, environment: .unknown, id: "")
    }

    /// The store's world that the purchase lives in.
    public var environment: StoreEnvironment { registers.lineages.first?.environment ?? .unknown }

    /// True if nothing was stated yet.
    public var isEmpty: Bool {
        periods.isEmpty && ends.isEmpty && refunds.isEmpty && charges.isEmpty && purchases.isEmpty && claims.isEmpty
            && switches.isEmpty && interruptions.isEmpty
            && transfer == nil && reports.isEmpty && successions.isEmpty && links.isEmpty && foreignLinks.isEmpty
            && transactionNames.isEmpty
            && !registers.isStated
    }

    /// Joins the knowledge of another state into this one.
    ///
    /// Merge states of one lineage, or of lineages that are linked.
    ///
    /// - Returns: false, with nothing changed, for a state of another environment: production and sandbox never mix.
    @discardableResult
    public mutating func merge(_ other: SubscriptionState) -> Bool {
        guard other.environment == environment else { return false }
        for (lineage, theirs) in other.registers.all { merge(theirs, of: lineage) }
        note(other.periods)
        ends.merge(other.ends)
        interruptions.formUnion(other.interruptions)
        refunds.merge(other.refunds)
        for step in other.refundSteps.values { note(step) }
        charges.merge(other.charges)
        for purchase in other.purchases.values { note(purchase) }
        switches.merge(other.switches)
        for (transaction, times) in other.snapshots { noteSnapshot(of: transaction, at: times) }
        for (identifier, claim) in other.claims {
            if claims[identifier]?.merge(claim) == nil { claims[identifier] = claim }
        }
        claims.settleAliases()
        transfer.merge(other.transfer)
        reports.merge(other.reports)
        for (name, transaction) in other.transactionNames { note(name, of: transaction) }
        successions.formUnion(other.successions)
        links = links.union(other.links).filter { !registers.contains($0) }
        foreignLinks.formUnion(other.foreignLinks)
        return true
    }

    /// This state joined with another's knowledge.
    ///
    /// - Returns: nil for a state of another environment.
    public func joined(with other: SubscriptionState) -> SubscriptionState? {
        var joined = self
        return joined.merge(other) ? joined : nil
    }

    mutating func merge(_ theirs: Registers, of lineage: SubscriptionID) {
        registers.merge(theirs, of: lineage)
    }

    /// Joins a period at its key.
    ///
    /// - Returns: true if that is news to the state.
    @discardableResult
    mutating func note(_ entry: PeriodEntry, at key: PeriodKey) -> Bool {
        let known = periods[key]
        if periods[key]?.merge(entry) == nil { periods[key] = entry }
        guard periods[key] != known else { return false }
        if periodOrder == nil {
            keepPeriodOrder()
        } else {
            periodOrder?.note(key, from: known, in: periods)
        }
        return true
    }

    /// Joins many periods, each at its key.
    mutating func note(_ entries: some Collection<(key: PeriodKey, value: PeriodEntry)>) {
        if periodOrder != nil, entries.count < PeriodOrder.leastCount {
            for (key, entry) in entries { note(entry, at: key) }
            return
        }
        for (key, entry) in entries {
            if periods[key]?.merge(entry) == nil { periods[key] = entry }
        }
        keepPeriodOrder()
    }

    private mutating func keepPeriodOrder() {
        guard periods.count >= PeriodOrder.leastCount else { return }
        periodOrder = PeriodOrder(periods)
    }

    /// Joins a statement's facts.
    ///
    /// - Returns: false, with nothing changed, for a statement about another lineage.
    @discardableResult
    public mutating func apply(_ statement: StoreStatement) -> Bool {
        guard !statement.subscription.id.isEmpty, registers.contains(statement.subscription) else { return false }
        join(statement)
        return true
    }

    /// Joins the facts of a statement about one of the state's lineages.
    ///
    /// - Returns: true if one of them is news to the state.
    @discardableResult
    mutating func join(_ statement: StoreStatement) -> Bool {
        let citation = Citation(statement)
        let holding = statement.holding
        var isChanged = false
        for fact in statement.facts where join(fact, of: statement.subscription, by: citation, holding) {
            isChanged = true
        }
        return isChanged
    }

    private mutating func join(
        _ fact: Fact,
        of lineage: SubscriptionID,
        by citation: Citation,
        _ holding: Holding?
    ) -> Bool {
        switch fact {
        case .period(let period):
            let entry = PeriodEntry(Assertion(period, by: citation), lineage: lineage)
            let isNew = note(entry, at: PeriodKey(period))
            return (!period.isProvisional && noteSnapshot(of: period.transaction, by: citation)) || isNew
        case .periodEnded(let end):
            return ends.insert(Assertion(end, by: citation))
        case .interruption(let step):
            return interruptions.insert(Assertion(step, by: citation)).inserted
        case .productSwitch(let change):
            return switches.insert(Assertion(change, by: citation), at: SwitchKey(change))
        case .charge(let charge):
            return charges.insert(Assertion(charge, by: citation), at: charge.transaction)
        case .refund(let refund):
            let assertion = Assertion(refund, by: citation)
            let isNewStep = note(assertion)
            return refunds.insert(assertion, at: RefundKey(refund)) || isNewStep
        case .purchase(let purchase):
            let isNew = note(PurchaseEntry(Register(Assertion(purchase, by: citation))))
            return noteSnapshot(of: purchase.transaction, by: citation) || isNew
        case .owner(let account):
            let known = claims
            claim(account, by: citation, holding)
            return claims != known
        case .transfer(let move):
            // One that moves nothing takes back no move before it.
            return !move.recipients.isEmpty && transfer.insert(Assertion(move, by: citation))
        case .link(let other):
            return link(to: other)
        case .transactionName(let name):
            return note(name.name, of: name.transaction)
        case .succession(let succession):
            return successions.insert(succession).inserted
        case .renewalIntent, .nextProduct, .billing, .pause, .closure, .priceChange:
            return registers.join(fact, of: lineage, by: citation)
        }
    }

    /// - Returns: true if the link is news to the state.
    @discardableResult
    mutating func link(to other: SubscriptionID) -> Bool {
        guard !other.id.isEmpty, !registers.contains(other) else { return false }
        return other.environment == environment
            ? links.insert(other).inserted : foreignLinks.insert(other).inserted
    }
}

extension SubscriptionState.Registers {
    /// True if a charge failed and had grace, whatever came of it.
    var hadGrace: Bool { grace != nil || earlierGraces != nil }

    /// Joins a statement about the lineage as a whole; other facts are none.
    ///
    /// - Returns: true if it is news to the registers.
    mutating func join(_ fact: Fact, by citation: Citation) -> Bool {
        switch fact {
        case .renewalIntent(let stated):
            let isNew = intent.insert(Assertion(stated, by: citation))
            guard let product = stated.terms.nextProduct else { return isNew }
            return nextProduct.insert(Assertion(Fact.NextProduct(product), by: citation)) || isNew
        case .nextProduct(let product):
            return nextProduct.insert(Assertion(product, by: citation))
        case .billing(let stated):
            return join(Assertion(stated, by: citation))
        case .pause(let stated):
            return pause.insert(Assertion(stated, by: citation))
        case .closure(let stated):
            let isNew = closure.insert(Assertion(stated, by: citation))
            return stated.coversItems && closureOfItems.insert(Assertion(stated, by: citation)) || isNew
        case .priceChange(let stated):
            return priceChange.insert(Assertion(stated, by: citation))
        case .period, .periodEnded, .interruption, .productSwitch, .charge, .refund, .purchase, .owner, .transfer,
            .link, .transactionName, .succession:
            return false
        }
    }

    private mutating func join(_ stated: Assertion<Fact.Billing>) -> Bool {
        let billing = stated.value
        var isNew = false
        if UnpaidChange.includes(billing) {
            let known = unpaidChanges
            noteUnpaidChange(stated)
            if unpaidChanges != known { isNew = true }
        }
        guard billing.status != .unknown else { return isNew }
        if self.billing.insert(stated) { isNew = true }
        if billing.status == .suspended {
            let known = retries
            noteRetry(stated)
            if retries != known { isNew = true }
        }
        guard billing.status != .settled, billing.graceUntil != nil else { return isNew }
        let known = (grace, earlierGraces)
        noteGrace(stated)
        if known != (grace, earlierGraces) { isNew = true }
        guard billing.isPartial else { return isNew }
        return longestGrace.insert(Assertion(LongestGrace(billing), by: stated.by)) || isNew
    }
}
