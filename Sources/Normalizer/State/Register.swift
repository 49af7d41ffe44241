import FoundationEssentials

/// A value that a statement assigns to something that can be named.
package protocol Assertable: Hashable, Sendable, Codable {
    /// Beats any time of assertion: a direct statement ranks above an inference from another statement.
    var dominance: Int { get }
    /// Decides between statements of one moment: the one that takes something away is the later step of the two.
    var precedence: Int { get }
    /// The time when its content came about, in milliseconds, for content that stores state again later. It counts from
    /// that moment on, and of several statements about that moment the first counts. Nil if it came about when it was
    /// stated.
    var moment: Int64? { get }
    /// True if it never changes, so that the authority of a statement counts more than its time.
    static var isLasting: Bool { get }
    /// True if it says the same as another, with more or fewer details.
    func means(_ other: Self) -> Bool
}

extension Assertable {
    package var dominance: Int { 0 }
    package var moment: Int64? { nil }
    package static var isLasting: Bool { false }
    package func means(_ other: Self) -> Bool { self == other }
}

/// A value with the statement that it comes from.
package struct Assertion<Value: Assertable>: Hashable, Sendable, Codable {
    package var value: Value
    package var by: Citation

    package init(_ value: Value, by citation: Citation) {
        self.value = value
        self.by = citation
    }

    /// From when on it counts, in milliseconds.
    package var moment: Int64 { value.moment ?? by.milliseconds }

    /// Greater the earlier its moment was stated.
    private var earliness: Int64 { value.moment == nil ? 0 : ~by.milliseconds }

    /// True if `self` and `other` say different things at one time and with the same authority.
    fileprivate func contradicts(_ other: Self) -> Bool {
        isOfMoment(of: other) && value.precedence == other.value.precedence && value != other.value
    }

    /// True if neither is later than the other, and neither has more authority.
    fileprivate func isOfMoment(of other: Self) -> Bool {
        value.dominance == other.value.dominance
            && moment == other.moment
            && by.milliseconds == other.by.milliseconds
            && by.authority == other.by.authority
    }

    /// A total order: of two assertions that differ in anything, one precedes the other.
    package func precedes(_ other: Self) -> Bool {
        func compare<Part: Comparable>(_ left: Part, _ right: Part) -> Bool? {
            left == right ? nil : left < right
        }
        // Absent before present, so that nil and "" differ.
        func compare(_ left: String?, _ right: String?) -> Bool? {
            compare(left.map { "=" + $0 } ?? "", right.map { "=" + $0 } ?? "")
        }
        return compare(value.dominance, other.value.dominance)
            ?? (Value.isLasting ? compare(by.authority.rank, other.by.authority.rank) : nil)
            ?? compare(moment, other.moment)
            ?? compare(earliness, other.earliness)
            ?? compare(by.authority.rank, other.by.authority.rank)
            ?? compare(value.precedence, other.value.precedence)
            ?? compare(by.digest, other.by.digest)
            ?? compare(by.provider.rawValue, other.by.provider.rawValue)
            ?? compare(by.type, other.by.type)
            ?? compare(by.subtype, other.by.subtype)
            ?? compare(by.notificationID, other.by.notificationID)
            ?? compare(by.channel.rawValue, other.by.channel.rawValue)
            ?? (value == other.value ? false : contents.lexicographicallyPrecedes(other.contents))
    }

    // Only reached if one notification makes two statements about one subject.
    private var contents: [UInt8] { (try? CanonicalJSON.bytes(value)) ?? [] }

    /// Keeps the highest of the statements, and of those that contradict it the highest.
    fileprivate static func keep(_ assertion: Self, beside latest: inout Self, rival: inout Self?) {
        var lower = assertion
        if latest.precedes(assertion) { swap(&latest, &lower) }
        if rival?.contradicts(latest) == false { rival = nil }
        guard lower.contradicts(latest) else { return }
        if let rival, lower.precedes(rival) { return }
        rival = lower
    }
}

/// The last statement about one thing, and any statement of equal rank that contradicts it.
///
/// Joining keeps the maximum of a total order, so it commutes, associates and may be repeated. Statements of one moment
/// may say which step of the store's object they are (`Origin.Revision`). These are all kept until a later moment is
/// stated, and read in the order of the steps: the last step counts, even if it is the lowest in the total order. The
/// kept statements depend only on the set of joined assertions, not on their order.
package struct Register<Value: Assertable>: Hashable, Sendable {
    /// The statement that counts.
    package private(set) var latest: Assertion<Value>
    /// A statement of equal rank that contradicts it.
    package private(set) var rival: Assertion<Value>?
    /// The statements of the moment of ``latest``, if there are more than that one; else nil.
    private var moment: Moment?
    /// The content of the store's object before that moment, as far as steps are stated.
    private var earlier: EarlierContent?

    package init(_ assertion: Assertion<Value>) { latest = assertion }

    package var value: Value { latest.value }
    package var by: Citation { latest.by }

    package mutating func merge(_ other: Self) {
        insert(other.latest)
        if let rival = other.rival { insert(rival) }
        for assertion in other.moment?.assertions ?? [] { insert(assertion) }
        if let earlier = other.earlier { note(earlier) }
    }

    /// The same statements with other values.
    package func mapped(_ change: (Value) -> Value) -> Self {
        func changed(_ assertion: Assertion<Value>) -> Assertion<Value> {
            Assertion(change(assertion.value), by: assertion.by)
        }
        var mapped = Self(changed(latest))
        if let rival { mapped.insert(changed(rival)) }
        for assertion in moment?.assertions ?? [] { mapped.insert(changed(assertion)) }
        if let earlier { mapped.note(earlier) }
        return mapped
    }

    /// True if the last step was taken after a statement of the same moment.
    package func wasTaken(after citation: Citation) -> Bool { moment?.isOvertaken(citation, by: earlier) ?? false }

    package mutating func insert(_ assertion: Assertion<Value>) {
        if latest == assertion { return }
        guard moment != nil || latest.by.revision != nil || assertion.by.revision != nil else {
            Assertion.keep(assertion, beside: &latest, rival: &rival)
            return
        }
        if latest.isOfMoment(of: assertion) {
            var moment = moment ?? Moment(latest, rival)
            moment.insert(assertion)
            take(moment)
        } else if latest.precedes(assertion) {
            let passed = moment?.assertions ?? [latest]
            moment = nil
            Assertion.keep(assertion, beside: &latest, rival: &rival)
            passed.forEach { note($0) }
        } else {
            note(assertion)
        }
    }

    private mutating func take(_ moment: Moment) {
        guard let reading = moment.reading(after: earlier) else { return }
        latest = reading.latest
        rival = reading.rival
        self.moment = moment.assertions.count > 1 ? moment : nil
    }

    private mutating func note(_ assertion: Assertion<Value>) {
        guard let revision = assertion.by.revision else { return }
        note(EarlierContent(milliseconds: assertion.by.milliseconds, content: revision.after))
    }

    private mutating func note(_ content: EarlierContent) {
        guard content.milliseconds < latest.by.milliseconds else { return }
        earlier = earlier.map { $0.joined(with: content) } ?? content
        if let moment { take(moment) }
    }
}

extension Register {
    /// Which content the store's object had before a moment, by the last statement that says so.
    fileprivate struct EarlierContent: Hashable, Sendable, Codable {
        var milliseconds: Int64
        /// Nil if the statements of that moment do not agree.
        var content: String?

        func joined(with other: Self) -> Self {
            if milliseconds != other.milliseconds { return milliseconds < other.milliseconds ? other : self }
            return content == other.content ? self : Self(milliseconds: milliseconds, content: nil)
        }

        private enum CodingKeys: String, CodingKey {
            case content
            case milliseconds = "asserted_at"
        }

        init(milliseconds: Int64, content: String?) {
            self.milliseconds = milliseconds
            self.content = content
        }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            milliseconds = try container.decode(EventTime.self, forKey: .milliseconds).milliseconds
            content = try container.decodeIfPresent(String.self, forKey: .content)
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(
                EventTime(wrappedValue: Date(millisecondsSince1970: milliseconds)),
                forKey: .milliseconds
            )
            try container.encodeIfPresent(content, forKey: .content)
        }
    }

    /// All statements of one moment with equal authority: the steps, and the highest of those without a step.
    fileprivate struct Moment: Hashable, Sendable {
        /// More statements of one object in one moment than a store makes.
        private static var maximumSteps: Int { 16 }

        private var steps: [Assertion<Value>] = []
        private var plain: Assertion<Value>?
        private var plainRival: Assertion<Value>?

        init(_ first: Assertion<Value>, _ rival: Assertion<Value>?) {
            insert(first)
            if let rival { insert(rival) }
        }

        init(_ assertions: [Assertion<Value>]) {
            for assertion in assertions { insert(assertion) }
        }

        var assertions: [Assertion<Value>] { steps + [plain, plainRival].compactMap(\.self) }

        mutating func insert(_ assertion: Assertion<Value>) {
            guard assertion.by.revision != nil else {
                insertPlain(assertion)
                return
            }
            let index = steps.firstIndex { !$0.precedes(assertion) } ?? steps.count
            if index < steps.count, steps[index] == assertion { return }
            steps.insert(assertion, at: index)
            if steps.count > Self.maximumSteps { steps.removeFirst() }
        }

        private mutating func insertPlain(_ assertion: Assertion<Value>) {
            var highest = plain ?? assertion
            if highest != assertion { Assertion.keep(assertion, beside: &highest, rival: &plainRival) }
            plain = highest
        }

        /// The statement that counts, and one that contradicts it; nil without statements.
        func reading(after earlier: EarlierContent?) -> (latest: Assertion<Value>, rival: Assertion<Value>?)? {
            let last = lastSteps(after: earlier)
            guard var latest = last.max(by: { $0.precedes($1) }) ?? plain else { return nil }
            if let plain, latest.precedes(plain) {
                // The content before the last step is over, even if it is stated about another object as well.
                let isOvertaken =
                    !latest.value.means(plain.value)
                    && steps.contains { !last.contains($0) && $0.value.means(plain.value) }
                if !isOvertaken { latest = plain }
            }
            var rivals = (last + [plain, plainRival].compactMap(\.self)).filter { $0.contradicts(latest) }
            if latest.by.revision != nil { rivals += last.filter { $0.value != latest.value } }
            return (latest, rivals.max { $0.precedes($1) })
        }

        /// True if a statement of the moment is a step that others follow.
        func isOvertaken(_ citation: Citation, by earlier: EarlierContent?) -> Bool {
            guard let step = steps.first(where: { $0.by == citation }) else { return false }
            let last = lastSteps(after: earlier)
            return !last.contains(step) && last.contains { $0.by.revision?.after != citation.revision?.after }
        }

        /// The steps that lead to the final content; several contents if the known steps leave that open.
        private func lastSteps(after earlier: EarlierContent?) -> [Assertion<Value>] {
            let revisions = Set(steps.compactMap(\.by.step))
            let ends = StepOrder(revisions, earlier: earlier?.content).ends
            return steps.filter { $0.by.revision.map { ends.contains($0.after) } ?? false }
        }
    }
}

extension Register: Codable {
    private enum CodingKeys: String, CodingKey {
        case latest, rival, earlier, moment
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        latest = try container.decode(Assertion<Value>.self, forKey: .latest)
        rival = try container.decodeIfPresent(Assertion<Value>.self, forKey: .rival)
        earlier = try container.decodeIfPresent(EarlierContent.self, forKey: .earlier)
        // An array of none would be a moment without a statement.
        let others = try container.decodeIfPresent([Assertion<Value>].self, forKey: .moment) ?? []
        moment = others.isEmpty ? nil : Moment(others + [latest])
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(latest, forKey: .latest)
        try container.encodeIfPresent(rival, forKey: .rival)
        try container.encodeIfPresent(earlier, forKey: .earlier)
        try container.encodeIfPresent(moment?.assertions.filter { $0 != latest }, forKey: .moment)
    }
}

extension Optional {
    /// - Returns: true if the statement is news to the register.
    @discardableResult
    package mutating func insert<Value: Assertable>(
        _ assertion: Assertion<Value>
    ) -> Bool where Wrapped == Register<Value> {
        let known = self
        if self?.insert(assertion) == nil { self = Register(assertion) }
        return self != known
    }

    package mutating func merge<Value: Assertable>(_ other: Register<Value>?) where Wrapped == Register<Value> {
        guard let other else { return }
        if self?.merge(other) == nil { self = other }
    }
}

extension Dictionary {
    package mutating func merge<V: Assertable>(_ other: Self) where Value == Register<V> {
        for (key, register) in other { merge(register, at: key) }
    }

    package mutating func merge<V: Assertable>(_ register: Register<V>, at key: Key) where Value == Register<V> {
        if self[key]?.merge(register) == nil { self[key] = register }
    }

    /// - Returns: true if the statement is news to the register.
    @discardableResult
    package mutating func insert<V: Assertable>(
        _ assertion: Assertion<V>,
        at key: Key
    ) -> Bool where Value == Register<V> {
        let known = self[key]
        if self[key]?.insert(assertion) == nil { self[key] = Register(assertion) }
        return self[key] != known
    }
}

extension Fact.Period: Assertable {
    // A relay may know a product of Google Play's without the base plan that the store names.
    package var dominance: Int { isProvisional ? 0 : product.hasBasePlan ? 2 : 1 }
    package var precedence: Int { 0 }
    // One inference does not contradict another.
    package func means(_ other: Self) -> Bool { self == other || isProvisional && other.isProvisional }
}

extension Assertion<Fact.Period> {
    /// True if the start of a period is read from another statement of it, and not from this one. This is a total order.
    ///
    /// A statement before an inferred one, then one in time before one that comes late. Of those in time the earliest is nearest to the
    /// start. What comes late may have been said in the period before, so of those the latest is nearest.
    func yieldsStart(to other: Self) -> Bool {
        if value.isStartInferred != other.value.isStartInferred { return value.isStartInferred }
        guard value.isStartInferred else { return precedes(other) }
        if isLate != other.isLate { return isLate }
        let (start, moment) = (value.period.startMilliseconds, other.value.period.startMilliseconds)
        return start == moment ? precedes(other) : isLate == (start < moment)
    }

    /// True if the store had said long before what the statement is about, so that another period may have begun since: a delivery came
    /// again or was held up. A day is longer than most hold-ups, and shorter than every period that is sold.
    private var isLate: Bool { by.milliseconds - value.period.startMilliseconds > 86_400_000 }
}

extension Fact.PeriodEnd: Assertable {
    package var precedence: Int { 7 }

    /// Not every statement knows when a period began that it names by its transaction.
    package func means(_ other: Self) -> Bool {
        guard transaction != nil, transaction == other.transaction else { return self == other }
        var same = other
        same.start = start
        return self == same
    }

    /// True if it says that the first charge for the period failed, so that it gave nothing.
    package var isOfUnpaidPeriod: Bool { reason == .billing && outstandingCharge == nil && at <= start }
}

extension Fact.Interruption: Assertable {
    package var precedence: Int { reason == nil ? 1 : 7 }
}

extension Fact.RenewalIntent: Assertable {
    package var precedence: Int { isOn ? 1 : 6 }
    package func means(_ other: Self) -> Bool { isOn == other.isOn }
}

extension Fact.NextProduct: Assertable {
    package var precedence: Int { 3 }
}

extension Fact.ProductSwitch: Assertable {
    // A store knows how a change was paid for, and a relay may not.
    package var dominance: Int { (proration == nil ? 0 : 2) + (from == nil ? 0 : 1) }
    package static var isLasting: Bool { true }
    package var precedence: Int { 0 }
}

extension Fact.Billing: Assertable {
    // Of two statements of one status the one with more details counts.
    package var precedence: Int {
        let details = (charge?.actionRequired == true ? 4 : 0) + (retryUntil == nil ? 0 : 2) + (charge == nil ? 0 : 1)
        return switch status {
        case .unknown: 0
        case .settled: 1
        case .grace: 10 + details
        case .suspended: 20 + details
        }
    }
    package func means(_ other: Self) -> Bool { status == other.status }
}

extension Fact.PauseState: Assertable {
    package var precedence: Int {
        switch status {
        case .none: 1
        case .scheduled: 4
        case .paused: 7
        }
    }
}

extension Fact.Closure: Assertable {
    package var precedence: Int { at == nil ? 1 : 7 }
}

extension Fact.PriceChangeState: Assertable {
    package var precedence: Int { change == nil ? 1 : 3 }
}

extension Fact.Charge: Assertable {
    // A relay, and an answer without the price of a period, leave out how much of that it paid for.
    package var dominance: Int { items?.contains { $0.part != nil } == true ? 1 : 0 }
    // A statement that shows the lines of a payment says more than one that does not.
    package var precedence: Int { items == nil ? 0 : 1 }
}

extension Fact.RefundState: Assertable {
    /// One refund may be stated under several names of its transaction, and undone without its amount.
    package func means(_ other: Self) -> Bool {
        guard refund != nil else { return self == other }
        var same = other
        (same.transaction, same.periodStart, same.undone) = (transaction, periodStart, undone)
        return self == same
    }
    package var precedence: Int { scope == nil ? (undone == nil ? 2 : 3) : scope == .full ? 7 : 6 }
}

extension Fact.OneTimePurchase: Assertable {
    // A statement of the end says more than one that leaves the end to the host, and any type is more than none.
    package var dominance: Int { purchase.expires != nil ? 2 : purchase.type == .unknown ? 0 : 1 }
    package var precedence: Int { 0 }
}

extension LifecycleEvent.Transfer: Assertable {
    package var precedence: Int { 2 }
    package var moment: Int64? { at?.millisecondsSince1970 }
}
