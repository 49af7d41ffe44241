/// The messages that a pull worker is working on, and the acknowledgements still to send. A value; the worker locks it.
struct Outstanding {
    private struct Entry {
        var acknowledgementID: String
        var bytes: Int
        let since: Duration
        /// Which delivery of the message this is, as far as is known here.
        var attempt: Int
        /// When Pub/Sub would deliver it again.
        var deadline: Duration
        /// True if its deadline can be moved; not once Pub/Sub has said that it has passed.
        var isHeld = true
    }

    /// An acknowledgement that is due until the message's deadline.
    struct Due {
        var id: String
        var deadline: Duration
    }

    /// A message to be given back, and for how long it is to be left alone.
    private struct Return {
        var id: String
        var delay: Duration
    }

    /// The treatment of a message that came.
    enum Admission {
        case new
        case repeated
    }

    private var entries: [String: Entry] = [:]
    private(set) var bytes = 0
    private var done: RecentKeys<Void>
    private var failures: RecentKeys<Int>
    private let backoff: Backoff
    private var acknowledgements: [Due] = []
    private var returns: [Return] = []

    init(remembering capacity: Int, _ backoff: Backoff) {
        done = RecentKeys(capacity: capacity)
        failures = RecentKeys(capacity: capacity)
        self.backoff = backoff
    }

    var count: Int { entries.count }
    var hasNews: Bool { !acknowledgements.isEmpty || !returns.isEmpty }

    /// Takes a message in, unless it is or was in work; its last delivery counts.
    ///
    /// - Parameter attempt: the number of the message's delivery, if Pub/Sub states it.
    mutating func admit(
        _ key: String,
        _ id: String,
        attempt: Int?,
        bytes: Int,
        now: Duration,
        deadline: Duration
    ) -> Admission {
        if entries[key] != nil {
            entries[key]?.acknowledgementID = id
            entries[key]?.deadline = now + deadline
            entries[key]?.isHeld = true
            return .repeated
        }
        if done[key] != nil {
            acknowledgements.append(Due(id: id, deadline: now + deadline))
            return .repeated
        }
        entries[key] = Entry(
            acknowledgementID: id,
            bytes: bytes,
            since: now,
            attempt: max(attempt ?? 1, failures[key].map { $0 < .max ? $0 + 1 : $0 } ?? 1),
            deadline: now + deadline
        )
        self.bytes += bytes
        return .new
    }

    mutating func finish(_ key: String, acknowledge: Bool) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        bytes -= entry.bytes
        if acknowledge {
            acknowledgements.append(Due(id: entry.acknowledgementID, deadline: entry.deadline))
            done[key] = ()
            failures[key] = nil
        } else {
            returns.append(Return(id: entry.acknowledgementID, delay: backoff.delay(afterAttempt: entry.attempt)))
            failures[key] = entry.attempt
        }
    }

    /// Messages whose deadline comes within `margin`, and which have not been in work for too long.
    func due(within margin: Duration, now: Duration, longest: Duration) -> [(key: String, id: String)] {
        entries.filter { $0.value.isHeld && $0.value.deadline - now <= margin && now - $0.value.since <= longest }
            .map { (key: $0.key, id: $0.value.acknowledgementID) }
    }

    mutating func extended(_ keys: [String], until deadline: Duration) {
        for key in keys where entries[key] != nil { entries[key]?.deadline = deadline }
    }

    /// Holds the messages no longer that have an id which is void, unless they have come again meanwhile.
    mutating func release(_ messages: [(key: String, id: String)]) {
        for (key, id) in messages where entries[key]?.acknowledgementID == id { entries[key]?.isHeld = false }
    }

    mutating func takeAcknowledgements(_ limit: Int) -> [Due] {
        let taken = Array(acknowledgements.prefix(limit))
        acknowledgements.removeFirst(taken.count)
        return taken
    }

    /// Takes messages that are to be left alone for the same time.
    mutating func takeReturns(_ limit: Int) -> (ids: [String], delay: Duration)? {
        guard let delay = returns.first?.delay else { return nil }
        var taken: [String] = []
        returns.removeAll { message in
            guard message.delay == delay, taken.count < limit else { return false }
            taken.append(message.id)
            return true
        }
        return (taken, delay)
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

/// How long a message that could not be dealt with is left alone: each time twice as long.
struct Backoff {
    var first: Duration
    var longest: Duration

    /// - Parameter attempt: which attempt has failed, from 1 on.
    func delay(afterAttempt attempt: Int) -> Duration {
        var delay = first
        var doublings = attempt - 1
        while doublings > 0, delay < longest {
            delay = delay + delay
            doublings -= 1
        }
        return min(delay, longest)
    }
}

/// Values for the keys that came last, so many of them.
private struct RecentKeys<Value: Sendable> {
    private var values: [String: Value] = [:]
    private var order: [String] = []
    private var oldest = 0
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    subscript(key: String) -> Value? {
        get { values[key] }
        set {
            guard let newValue, capacity > 0 else {
                values[key] = nil
                return
            }
            let isKnown = values.updateValue(newValue, forKey: key) != nil
            guard !isKnown else { return }
            if order.count < capacity {
                order.append(key)
            } else {
                if order[oldest] != key { values[order[oldest]] = nil }
                order[oldest] = key
                oldest = (oldest + 1) % capacity
            }
        }
    }
}
