import FoundationEssentials

/// The times at which a store stated a transaction as a whole, in milliseconds since 1970.
///
/// The last one decides what holds now. The earlier ones say since when: a fact that was left out counts as undone since the first
/// snapshot without it. A state must not grow with the number of notifications, so of many times the first of each stretch is kept. A
/// stretch is twice as long each time there are too many. So the times depend on what was stated, and not on its order.
package struct SnapshotTimes: Hashable, Sendable {
    /// How many times are kept in addition to the last one.
    private static let limit = 8

    private(set) var last: Int64
    /// The first time of each stretch, in order, without ``last``.
    private(set) var earlier: [Int64] = []
    /// A stretch lasts 2 to the power of this, in milliseconds.
    private(set) var exponent = 0

    init(_ time: Int64) { last = time }

    mutating func merge(_ other: Self) {
        if other.earlier.isEmpty, other.exponent <= exponent, other.last == last { return }
        exponent = max(exponent, other.exponent)
        let times = (earlier + [last] + other.earlier + [other.last]).sorted()
        last = max(last, other.last)
        var firsts = Self.firsts(of: times, exponent)
        while firsts.count > Self.limit {
            exponent += 1
            firsts = Self.firsts(of: firsts, exponent)
        }
        if firsts.last == last { firsts.removeLast() }
        earlier = firsts
    }

    var first: Int64 { earlier.first ?? last }

    /// The first time after a moment, as far as it was kept.
    func first(after moment: Int64) -> Int64? {
        earlier.first { $0 > moment } ?? (last > moment ? last : nil)
    }

    /// - Parameter times: in order.
    private static func firsts(of times: [Int64], _ exponent: Int) -> [Int64] {
        var firsts: [Int64] = []
        for time in times where firsts.last.map({ $0 >> exponent != time >> exponent }) ?? true { firsts.append(time) }
        return firsts
    }
}

/// When a transaction was stated as a whole, as a stored state has it.
struct StoredSnapshot: Codable {
    var transaction: TransactionID
    var times: SnapshotTimes

    private enum CodingKeys: String, CodingKey { case transaction, at, earlier, exponent }

    init(transaction: TransactionID, times: SnapshotTimes) {
        self.transaction = transaction
        self.times = times
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        transaction = try container.decode(TransactionID.self, forKey: .transaction)
        let at = try container.decode(EventTime.self, forKey: .at)
        let earlier = try container.decodeIfPresent([EventTime].self, forKey: .earlier) ?? []
        let exponent = try container.decodeIfPresent(Int.self, forKey: .exponent) ?? 0
        times = SnapshotTimes(last: at.milliseconds, earlier: earlier.map(\.milliseconds), exponent: exponent)
    }

    func encode(to encoder: any Encoder) throws {
        func time(_ milliseconds: Int64) -> EventTime {
            EventTime(wrappedValue: Date(millisecondsSince1970: milliseconds))
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(transaction, forKey: .transaction)
        try container.encode(time(times.last), forKey: .at)
        guard !times.earlier.isEmpty else { return }
        try container.encode(times.earlier.map(time), forKey: .earlier)
        if times.exponent > 0 { try container.encode(times.exponent, forKey: .exponent) }
    }
}

extension SnapshotTimes {
    /// Stretches of all known time are the longest.
    private static let exponents = 0...48

    fileprivate init(last: Int64, earlier: [Int64], exponent: Int) {
        self.init(last)
        self.exponent = min(max(exponent, Self.exponents.lowerBound), Self.exponents.upperBound)
        for time in earlier { merge(SnapshotTimes(time)) }
    }
}
