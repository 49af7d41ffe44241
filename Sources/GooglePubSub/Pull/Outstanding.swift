/// The messages that a pull worker has in hand, and what Pub/Sub is still to be told. A value; the worker locks it.
struct Outstanding {
    private struct Entry {
        var acknowledgementID: String
        var bytes: Int
        let since: Duration
        /// When Pub/Sub would deliver it again.
        var deadline: Duration
    }

    /// An acknowledgement that is due until the message's deadline.
    struct Due {
        var id: String
        var deadline: Duration
    }

    /// What becomes of a message that came.
    enum Admission {
        case new
        case repeated
    }

    private var entries: [String: Entry] = [:]
    private(set) var bytes = 0
    private var done: Set<String> = []
    private var order: [String] = []
    private var oldest = 0
    private let capacity: Int
    private var acknowledgements: [Due] = []
    private var returns: [String] = []

    init(remembering capacity: Int) {
        self.capacity = capacity
    }

    var count: Int { entries.count }
    var hasNews: Bool { !acknowledgements.isEmpty || !returns.isEmpty }

    /// Takes a message in, unless it is in hand or was; whichever delivery of it is the last one counts.
    mutating func admit(_ key: String, _ id: String, bytes: Int, now: Duration, deadline: Duration) -> Admission {
        if entries[key] != nil {
            entries[key]?.acknowledgementID = id
            entries[key]?.deadline = now + deadline
            return .repeated
        }
        if done.contains(key) {
            acknowledgements.append(Due(id: id, deadline: now + deadline))
            return .repeated
        }
        entries[key] = Entry(acknowledgementID: id, bytes: bytes, since: now, deadline: now + deadline)
        self.bytes += bytes
        return .new
    }

    mutating func finish(_ key: String, acknowledge: Bool) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        bytes -= entry.bytes
        if acknowledge {
            acknowledgements.append(Due(id: entry.acknowledgementID, deadline: entry.deadline))
            remember(key)
        } else {
            returns.append(entry.acknowledgementID)
        }
    }

    private mutating func remember(_ key: String) {
        guard capacity > 0, done.insert(key).inserted else { return }
        if order.count < capacity {
            order.append(key)
        } else {
            done.remove(order[oldest])
            order[oldest] = key
            oldest = (oldest + 1) % capacity
        }
    }

    /// Messages whose deadline comes within `margin`, and which have not been in hand for too long.
    func due(within margin: Duration, now: Duration, longest: Duration) -> [(key: String, id: String)] {
        entries.filter { $0.value.deadline - now <= margin && now - $0.value.since <= longest }
            .map { (key: $0.key, id: $0.value.acknowledgementID) }
    }

    mutating func extended(_ keys: [String], until deadline: Duration) {
        for key in keys where entries[key] != nil { entries[key]?.deadline = deadline }
    }

    mutating func takeAcknowledgements(_ limit: Int) -> [Due] {
        let taken = Array(acknowledgements.prefix(limit))
        acknowledgements.removeFirst(taken.count)
        return taken
    }

    mutating func takeReturns(_ limit: Int) -> [String] {
        let taken = Array(returns.prefix(limit))
        returns.removeFirst(taken.count)
        return taken
    }

    /// Keeps acknowledgements that could not be sent, apart from those that have become void.
    ///
    /// - Returns: how many have.
    mutating func putBack(_ failed: [Due], now: Duration) -> Int {
        let valid = failed.filter { now < $0.deadline }
        acknowledgements.append(contentsOf: valid)
        return failed.count - valid.count
    }
}
