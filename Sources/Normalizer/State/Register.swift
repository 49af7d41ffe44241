/// A value that a statement assigns to something that can be named.
package protocol Assertable: Hashable, Sendable, Codable {
    /// Beats any time of assertion: a statement of the thing itself over an inference from another statement.
    var dominance: Int { get }
    /// Decides between statements of one moment: what takes something away is the later step of the two.
    var precedence: Int { get }
    /// Whether it never changes, so that who says it counts more than when.
    static var isLasting: Bool { get }
    /// Whether looking at a purchase can find it out without an event that tells of it.
    static var isFoundUntold: Bool { get }
}

extension Assertable {
    package var dominance: Int { 0 }
    package static var isLasting: Bool { false }
    package static var isFoundUntold: Bool { false }
}

/// A value with the statement that it comes from.
package struct Assertion<Value: Assertable>: Hashable, Sendable, Codable {
    package var value: Value
    package var by: Citation

    package init(_ value: Value, by citation: Citation) {
        self.value = value
        self.by = citation
    }

    /// Whether `self` and `other` say different things with equal right: at one time, and with the same authority.
    fileprivate func contradicts(_ other: Self) -> Bool {
        value.dominance == other.value.dominance
            && by.milliseconds == other.by.milliseconds
            && by.authority == other.by.authority
            && value.precedence == other.value.precedence
            && value != other.value
    }

    /// A total order: of two assertions that differ in anything, one precedes the other.
    package func precedes(_ other: Self) -> Bool {
        func compare<Part: Comparable>(_ left: Part, _ right: Part) -> Bool? {
            left == right ? nil : left < right
        }
        // Absent before present, so that nil and "" are told apart.
        func compare(_ left: String?, _ right: String?) -> Bool? {
            compare(left.map { "=" + $0 } ?? "", right.map { "=" + $0 } ?? "")
        }
        return compare(value.dominance, other.value.dominance)
            ?? (Value.isLasting ? compare(by.authority.rank, other.by.authority.rank) : nil)
            ?? compare(by.milliseconds, other.by.milliseconds)
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

    // Only reached when one notification says two things of one subject.
    private var contents: [UInt8] { (try? CanonicalJSON.bytes(value)) ?? [] }
}

/// The highest assertion about one thing, the highest that contradicts it with equal right, and the highest that was not
/// found by looking.
///
/// Joining keeps the maximum of a total order, so it commutes, associates and may be repeated. The contradiction is a
/// function of all assertions ever joined too: it is the highest among those that rank as high as the maximum with
/// another value, and whatever outranks an assertion outranks its contradictions. What was not found by looking has a
/// maximum of its own.
package struct Register<Value: Assertable>: Hashable, Sendable, Codable {
    package private(set) var latest: Assertion<Value>
    package private(set) var rival: Assertion<Value>?
    /// What a notification said last; nil where that is ``latest``, and for what is told whenever it is found.
    private var told: Assertion<Value>?

    package init(_ assertion: Assertion<Value>) { latest = assertion }

    package var value: Value { latest.value }
    package var by: Citation { latest.by }

    package mutating func merge(_ other: Self) {
        insert(other.latest)
        if let rival = other.rival { insert(rival) }
        if let told = other.told { insert(told) }
    }

    /// Whether what it says now was only found by looking, and the last notification about it said something else.
    package func isFound(_ isSame: (Value) -> Bool) -> Bool {
        by.isLookup && told.map { !isSame($0.value) } ?? true
    }

    /// What a notification said last; nil where nothing but looking has found it.
    package var notified: Assertion<Value>? { by.isLookup ? told : latest }

    package mutating func insert(_ assertion: Assertion<Value>) {
        if latest == assertion { return }
        var lower = assertion
        if latest.precedes(assertion) { swap(&latest, &lower) }
        if !Value.isFoundUntold || !latest.by.isLookup {
            told = nil
        } else if !lower.by.isLookup, told?.precedes(lower) ?? true {
            told = lower
        }
        if rival?.contradicts(latest) == false { rival = nil }
        guard lower.contradicts(latest) else { return }
        if let rival, lower.precedes(rival) { return }
        rival = lower
    }
}

extension Optional {
    package mutating func insert<Value: Assertable>(
        _ assertion: Assertion<Value>
    ) where Wrapped == Register<Value> {
        if self?.insert(assertion) == nil { self = Register(assertion) }
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

    package mutating func insert<V: Assertable>(
        _ assertion: Assertion<V>,
        at key: Key
    ) where Value == Register<V> {
        if self[key]?.insert(assertion) == nil { self[key] = Register(assertion) }
    }
}

extension Fact.Period: Assertable {
    package static var isFoundUntold: Bool { true }
    // A relay may know a product of Google Play's without the base plan that the store names.
    package var dominance: Int { isProvisional ? 0 : product.namesBasePlan ? 2 : 1 }
    package var precedence: Int { 0 }
}

extension Fact.PeriodEnd: Assertable {
    package static var isFoundUntold: Bool { true }
    package var precedence: Int { 7 }
}

extension Fact.RenewalIntent: Assertable {
    package static var isFoundUntold: Bool { true }
    package var precedence: Int { terms.willRenew ? 1 : 6 }
}

extension Fact.NextProduct: Assertable {
    package static var isFoundUntold: Bool { true }
    package var precedence: Int { 3 }
}

extension Fact.ProductSwitch: Assertable {
    // A store knows how a change was paid for, and a relay may not.
    package var dominance: Int { (proration == nil ? 0 : 2) + (from == nil ? 0 : 1) }
    package static var isLasting: Bool { true }
    package var precedence: Int { 0 }
}

extension Fact.Billing: Assertable {
    package static var isFoundUntold: Bool { true }
    package var precedence: Int {
        switch status {
        case .settled: 1
        case .grace: 5
        case .suspended: 6
        }
    }
}

extension Fact.PauseState: Assertable {
    package static var isFoundUntold: Bool { true }
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
    package static var isFoundUntold: Bool { true }
    package var precedence: Int { change == nil ? 1 : 3 }
}

extension Fact.Charge: Assertable {
    package var precedence: Int { 0 }
}

extension Fact.RefundState: Assertable {
    package static var isFoundUntold: Bool { true }
    package var precedence: Int { scope == nil ? 2 : 6 }
}

extension Fact.OneTimePurchase: Assertable {
    // Who knows the end knows more than who leaves it to the host, and any type is more than none.
    package var dominance: Int { purchase.expires != nil ? 2 : purchase.type == .unknown ? 0 : 1 }
    package static var isLasting: Bool { true }
    package var precedence: Int { 0 }
}

extension LifecycleEvent.Transfer: Assertable {
    package var precedence: Int { 2 }
}
