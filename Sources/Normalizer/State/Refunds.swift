import FoundationEssentials

extension SubscriptionState {
    /// The key of a refund: the store's name of it, else its transaction. Statements of one refund may name its transaction
    /// differently.
    package struct RefundKey: Hashable, Comparable, Sendable {
        /// Empty if the refund has a name.
        package let transaction: TransactionID
        package let refund: String?

        package init(_ refund: Fact.RefundState) {
            transaction = refund.refund == nil ? refund.transaction : ""
            self.refund = refund.refund
        }

        package static func < (lhs: Self, rhs: Self) -> Bool {
            (lhs.transaction, lhs.refund ?? "") < (rhs.transaction, rhs.refund ?? "")
        }
    }

    /// Keeps a further name of a transaction.
    ///
    /// - Returns: true if that is news to the state.
    @discardableResult
    mutating func note(_ name: TransactionID, of transaction: TransactionID) -> Bool {
        guard !name.isEmpty, !transaction.isEmpty, name != transaction else { return false }
        // Of two transactions that claim a name, always the same one has it.
        if let known = transactionNames[name], known <= transaction { return false }
        transactionNames[name] = transaction
        return true
    }

    /// The one name of a transaction. A charge may have another name for its payment, and that one for its invoice.
    package func transaction(named name: TransactionID) -> TransactionID {
        guard var known = transactionNames[name] else { return name }
        // Names that lead in a circle are names of nothing.
        for _ in 0..<Self.longestChainOfNames {
            guard let further = transactionNames[known] else { return known }
            known = further
        }
        return transactionNames[name] ?? name
    }

    private static let longestChainOfNames = 4

    /// The one name of the transaction that a refund is of.
    func transaction(of refund: Fact.RefundState) -> TransactionID {
        transaction(named: payment(named: refund.transaction, from: refund.periodStart?.millisecondsSince1970))
    }

    /// The payment that a refund names. A relay that does not know what was refunded may name it as that of a period, which begins
    /// at a moment; if something was bought once at that moment, the payment is that purchase's.
    func payment(named name: TransactionID, from start: Int64?) -> TransactionID {
        guard let start, !purchases.isEmpty, purchases[transaction(named: name)] == nil, !isPaid(name) else {
            return name
        }
        let tolerance = ServicePeriod.startTolerance
        let moment = start.addingClamped(-tolerance)...start.addingClamped(tolerance)
        return purchases.filter { moment.contains($0.value.value.at.millisecondsSince1970) }.keys.min() ?? name
    }

    /// The payment that a name of a transaction is of: an invoice may be paid by several payments, each of which has names of its own.
    ///
    /// - Parameter transaction: the one name of the transaction, which is the name of all its payments.
    private func payment(named name: TransactionID, of transaction: TransactionID) -> TransactionID {
        var payment = name
        for _ in 0..<Self.longestChainOfNames {
            guard payment != transaction, let further = transactionNames[payment], further != transaction else { break }
            payment = further
        }
        return payment
    }

    /// True if two names are of one payment, or one of them is of all payments of the transaction.
    func mayPay(_ name: TransactionID, with other: TransactionID) -> Bool {
        let transaction = transaction(named: name)
        guard self.transaction(named: other) == transaction else { return false }
        let (one, another) = (payment(named: name, of: transaction), payment(named: other, of: transaction))
        return one == another || one == transaction || another == transaction
    }

    /// All names of a transaction, its one name first and the others in order.
    func names(of transaction: TransactionID) -> [TransactionID] {
        let name = self.transaction(named: transaction)
        guard !transactionNames.isEmpty else { return [name] }
        return [name] + transactionNames.keys.filter { $0 != name && self.transaction(named: $0) == name }.sorted()
    }

    /// The amount paid for a transaction, if it is known. A payment for several purchases is stated as a whole.
    private func paid(for names: [TransactionID]) -> Money? {
        names.lazy.compactMap { charges[$0]?.value.price.money }.first
            ?? names.lazy.compactMap { purchases[$0]?.value.purchase.price?.money }.first
    }

    /// The amount paid for a one-time purchase, and for all that was bought with it; nil if it is not known.
    func paid(with purchase: Fact.OneTimePurchase) -> Money? {
        charge(named: purchase.transaction)?.value.price.money ?? purchase.purchase.price?.money
    }

    /// The start of the period that a transaction paid for, as the payment's statements name it.
    func chargedStart(of transaction: TransactionID) -> Int64? {
        charge(named: transaction)?.value.periodStart?.millisecondsSince1970
    }

    /// The payment of a charge, by any of its names.
    func charge(named transaction: TransactionID) -> Register<Fact.Charge>? {
        charges[transaction] ?? charges[self.transaction(named: transaction)]
    }

    /// True if the payment of a charge is stated.
    func isPaid(_ transaction: TransactionID) -> Bool { charge(named: transaction) != nil }

    /// The time of the first charge for a period, of those that were stated after a statement if one is given. The charge names the period, or names none and
    /// was made within it.
    func payment(from start: Int64, before end: Int64, since statement: Citation? = nil) -> Int64? {
        charges.values.lazy.compactMap { charge -> Int64? in
            if let statement,
                charge.by.milliseconds <= statement.milliseconds || charge.by.isOfMoment(of: statement)
            {
                return nil
            }
            let at = charge.value.at.millisecondsSince1970
            if let paid = charge.value.periodStart?.millisecondsSince1970 { return paid == start ? at : nil }
            return (start..<max(start, end)).contains(at) ? at : nil
        }
        .min()
    }

    /// All statements about the refunds of a transaction.
    private func refunds(of transaction: TransactionID) -> [Register<Fact.RefundState>] {
        guard !refunds.isEmpty else { return [] }
        let name = self.transaction(named: transaction)
        let stated = refunds.filter { self.transaction(of: $0.value.value) == name }.map { key, refund in
            refund.dated(by: refundSteps.values.filter { $0.key.refund == key })
        }
        return (stated + [refundOfOrder(around: name)].compactMap(\.self)).sorted { $0.latest.precedes($1.latest) }
    }

    /// The refund of the whole order that a further product was bought with.
    ///
    /// The first product has the order's own name, as the refund has. An answer of the store about the purchase says which products a
    /// refund is of; a notification alone says only the order. A relay's later statement is about the first product and takes nothing
    /// back.
    private func refundOfOrder(around transaction: TransactionID) -> Register<Fact.RefundState>? {
        guard purchases[transaction] != nil, transaction.item != nil,
            registers.stores.contains(where: \.rules.notificationsNameWholeOrders)
        else { return nil }
        let order = transaction.order
        guard refunds.values.contains(where: { $0.value.transaction == order && $0.value.scope != nil }) else {
            return nil
        }
        let steps = refundSteps.filter { $0.key.refund.transaction == order && $0.value.isOfWholeOrder }
        return steps.min { $0.key < $1.key }.map { Register($0.value.statement) }
    }

    /// The refunds of a transaction taken together.
    ///
    /// Each refund that has a name counts. A statement about the transaction as a whole includes all refunds until
    /// then, and counts less those that were undone later. A refund that a later snapshot of the transaction leaves
    /// out is undone, too.
    package func refund(of transaction: TransactionID) -> Register<Fact.RefundState>? {
        together(refunds(of: transaction), named: names(of: transaction))
    }

    /// - Parameter names: all names of the transaction.
    private func together(
        _ stated: [Register<Fact.RefundState>],
        named names: @autoclosure () -> [TransactionID]
    ) -> Register<Fact.RefundState>? {
        guard let sum = sum(of: stated, named: names()) else { return nil }
        guard isLeftOut(sum) else { return sum }
        var undone = sum.latest
        undone.value.scope = nil
        undone.value.endsAccess = false
        return Register(undone)
    }

    /// The sum of statements about the refunds of a transaction.
    ///
    /// - Parameters:
    ///   - stated: the statements, in order.
    ///   - names: all names of the transaction.
    func sum(
        of stated: [Register<Fact.RefundState>],
        named names: @autoclosure () -> [TransactionID]
    ) -> Register<Fact.RefundState>? {
        guard let last = stated.last else { return nil }
        let takesBack = registers.stores.contains(where: \.rules.takesBackRefundedSales)
        guard takesBack || stated.contains(where: { $0.value.refund != nil }) else { return last }
        let name = transaction(of: last.value)
        func payment(_ refund: Register<Fact.RefundState>) -> TransactionID {
            self.payment(named: refund.value.transaction, of: name)
        }
        let parts = stated.filter { $0.value.refund != nil }
        let counted = parts.filter { $0.value.scope != nil }
        let undone = stated.filter(\.isReversal)
        var wholes: [TransactionID: Register<Fact.RefundState>] = [:]
        for whole in stated where whole.value.refund == nil {
            guard let left = left(of: whole.value, since: whole.by.milliseconds, less: undone) else { continue }
            var assertion = whole.latest
            assertion.value = left
            wholes[payment(whole)] = Register(assertion)
        }
        let latest = (Array(wholes.values) + counted).max { $0.latest.precedes($1.latest) } ?? last
        guard latest.value.scope != nil else { return latest }
        var sum = latest.latest
        sum.value.refund = nil
        sum.value.endsAccess = stated.contains { $0.value.scope != nil && $0.value.endsAccess }
        sum.value.periodStart = stated.compactMap(\.value.periodStart).first
        sum.value.scope =
            Self.scope(
                of: wholes.compactMapValues(\.value.scope),
                Dictionary(grouping: counted, by: payment).mapValues { $0.compactMap(\.value.scope) },
                in: name
            ) ?? latest.value.scope
        let names = names()
        if case .amount(let amount) = sum.value.scope, let paid = paid(for: names) {
            if amount.covers(paid) { sum.value.scope = .full }
            if takesBack, paid.exceeds(amount) { sum.value.endsAccess = false }
        }
        if takesBack, sum.value.scope == .full, names.contains(where: { purchases[$0] != nil }) {
            sum.value.endsAccess = true
        }
        return Register(sum)
    }

    /// A statement about all refunds of a payment, less those that were undone later; nil if nothing is left, or not known how much. A
    /// refund of more than was stated was made later as well.
    private func left(
        of whole: Fact.RefundState,
        since moment: Int64,
        less reversals: [Register<Fact.RefundState>]
    ) -> Fact.RefundState? {
        let stated = whole.scope?.money
        let undone = reversals.filter { reversal in
            if let stated, reversal.value.undone?.exceeds(stated) == true { return false }
            return reversal.by.milliseconds > moment && mayPay(reversal.value.transaction, with: whole.transaction)
        }
        guard !undone.isEmpty else { return whole }
        let amounts = undone.compactMap(\.value.undone?.negated)
        guard let stated, amounts.count == undone.count, let sum = Money.sum([stated] + amounts),
            sum.amount > ExactDecimal(0)
        else { return nil }
        var left = whole
        left.scope = .amount(sum)
        return left
    }

    /// The reversals of refunds that statements about a payment as a whole include.
    func reversals(of payment: TransactionID) -> [Register<Fact.RefundState>] {
        refunds(of: payment).filter { $0.isReversal && mayPay($0.value.transaction, with: payment) }
    }

    /// True if a refund was undone after a moment; of a statement about all of them, if one was.
    func isUndone(_ refund: Fact.RefundState, since moment: Int64) -> Bool {
        if refund.refund != nil { return refunds[RefundKey(refund)]?.value.scope == nil }
        return reversals(of: refund.transaction).contains { $0.by.milliseconds > moment }
    }

    /// True if a part of a payment went back whose store leaves the customer everything until all of it has, such as with a lost
    /// dispute over a part of the charge.
    package func leavesAccess(_ refund: Register<Fact.RefundState>) -> Bool {
        guard refund.value.scope?.money != nil, registers.stores.contains(where: \.rules.takesBackRefundedSales)
        else { return false }
        return self.refund(of: transaction(of: refund.value))?.value.endsAccess == false
    }

    /// The refunds of each refunded transaction taken together, under its one name.
    package var refundsOfTransactions: [Register<Fact.RefundState>] {
        // One pass over refunds and names, since there may be many of each.
        let stated = Dictionary(grouping: datedRefunds) { transaction(of: $0.value) }
        let names = Dictionary(grouping: transactionNames.keys) { transaction(named: $0) }
        return stated.sorted { $0.key < $1.key }.compactMap { name, registers in
            together(
                registers.sorted { $0.latest.precedes($1.latest) },
                named: [name] + (names[name] ?? []).sorted()
            ).map { register in
                var assertion = register.latest
                assertion.value.transaction = name
                if assertion.value.periodStart == nil, let start = chargedStart(of: name) {
                    assertion.value.periodStart = Date(millisecondsSince1970: start)
                }
                return Register(assertion)
            }
        }
    }

    /// How much went back of a transaction. Each of its payments is known by its refunds, or by a statement about all of them.
    ///
    /// - Parameters:
    ///   - wholes: the statements about all refunds of a payment.
    ///   - parts: the refunds of each payment.
    ///   - transaction: the one name of the transaction. A statement by that name is about all its payments.
    private static func scope(
        of wholes: [TransactionID: LifecycleEvent.Refund.Scope],
        _ parts: [TransactionID: [LifecycleEvent.Refund.Scope]],
        in transaction: TransactionID
    ) -> LifecycleEvent.Refund.Scope? {
        if wholes.values.contains(.full) || parts.values.contains(where: { $0.contains(.full) }) { return .full }
        let stated = wholes.sorted { $0.key < $1.key }.map(\.value)
        if let share = stated.last(where: { $0.money == nil }) { return share }
        let payments = Set(wholes.keys).union(parts.keys).subtracting([transaction])
        let sums = payments.map { payment in
            Money.largest([wholes[payment]?.money, Money.sum((parts[payment] ?? []).compactMap(\.money))])
        }
        return Money.largest([
            wholes[transaction]?.money,
            Money.sum(parts.values.flatMap { $0.compactMap(\.money) }),
            Money.sum(sums.compactMap(\.self)),
        ]).map { .amount($0) }
    }

    /// True if reported refunds cover this amount: one refund is reported by itself, and as part of all refunds of its
    /// charge.
    ///
    /// - Parameters:
    ///   - amount: the refunded amount, as the event states it.
    ///   - moment: when that was stated.
    func wasReported(_ refund: Fact.RefundState, of amount: Money?, at moment: Int64) -> Bool {
        guard refund.scope != nil else { return false }
        let stated = refunds(of: refund.transaction).filter {
            reports.hasRefund(RefundKey($0.value)) && mayPay($0.value.transaction, with: refund.transaction)
        }
        let parts = stated.filter { $0.value.refund != nil && $0.value.scope != nil }
        let reversals = reversals(of: refund.transaction)
        let whole = stated.last { $0.value.refund == nil && $0.value.scope != nil }.flatMap { whole in
            let before = reversals.filter { $0.by.milliseconds <= moment }
            return left(of: whole.value, since: whole.by.milliseconds, less: before)
        }?.scope
        guard let name = refund.refund else {
            // The whole: known by its parts.
            guard !parts.isEmpty else { return false }
            guard let total = Money.sum(parts.compactMap(\.value.scope?.money)) else {
                return parts.contains { $0.value.scope == .full }
            }
            if case .amount(let stated) = refund.scope {
                return total.covers(left(of: refund, since: moment, less: reversals)?.scope?.money ?? stated)
            }
            guard let amount else { return false }
            return total.covers(Money.sum([whole?.money, amount].compactMap(\.self)) ?? amount)
        }
        // A part: known by the whole.
        guard let whole, !parts.contains(where: { $0.value.refund == name }) else { return false }
        if whole == .full { return true }
        let others = parts.compactMap(\.value.scope?.money)
        guard let counted = whole.money, let total = Money.sum(others + [refund.scope?.money].compactMap(\.self)) else {
            return false
        }
        return counted.covers(total)
    }
}

extension Register<Fact.RefundState> {
    /// The refund; nil if it was undone.
    var standing: Self? { value.scope == nil ? nil : self }

    /// True if it undoes a refund with a name. Money that a bank took, or gave back, is no part of the refunds of a payment.
    fileprivate var isReversal: Bool { value.refund != nil && value.scope == nil && !value.endsAccess }
}

extension LifecycleEvent.Refund.Scope {
    /// The amount, if one is stated.
    var money: Money? {
        if case .amount(let money) = self { money } else { nil }
    }
}

extension Money {
    /// The sum of amounts of one currency; nil for none, and for amounts that have no sum.
    fileprivate static func sum(_ amounts: [Money]) -> Money? {
        guard let currency = amounts.first?.currency, let scale = amounts.map(\.amount.scale).max() else { return nil }
        var sum: Int128 = 0
        for money in amounts {
            guard money.currency == currency, let amount = money.amount.coefficient(scale: scale) else { return nil }
            let (next, overflows) = sum.addingReportingOverflow(amount)
            guard !overflows else { return nil }
            sum = next
        }
        return ExactDecimal(coefficient: sum, scale: scale).map { Money($0, currency) }
    }

    fileprivate var negated: Money { Money(amount.negated, currency) }

    /// The largest of the amounts that are known, as the first one is written; nil for none. Amounts of other currencies do not compare.
    fileprivate static func largest(_ amounts: [Money?]) -> Money? {
        amounts.compactMap(\.self).reduce(nil) { largest, money in
            guard let largest else { return money }
            return money.exceeds(largest) ? money : largest
        }
    }

    /// True if it is at least as much, in the same currency.
    fileprivate func covers(_ other: Money) -> Bool { currency == other.currency && amount >= other.amount }

    /// True if it is more, in the same currency. A bank may take money back in another one than the customer paid in.
    fileprivate func exceeds(_ other: Money) -> Bool { currency == other.currency && amount > other.amount }
}
