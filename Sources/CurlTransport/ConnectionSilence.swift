/// How long requests have waited in vain on each connection since its last answer.
///
/// If the network loses a connection, neither end learns of it. If a caller gives up before the request's own time-out,
/// only this count reveals such a connection. Only the loop's thread touches it, and libcurl's callbacks, which run
/// there too.
final class ConnectionSilence {
    /// One origin's connections differ in the port at this end.
    struct Connection: Hashable {
        var origin: String
        var localPort: Int
    }

    private struct Record {
        /// The time until which the connection's silence is known.
        var instant: ContinuousClock.Instant
        /// For how long requests were on it that were given up, since it last brought anything.
        var waited: Duration
    }

    /// Longer than an answer usually takes. A connection that is thrown away by mistake costs a handshake.
    private static let patience: Duration = .seconds(1)
    /// More connections than are of interest at once; those that were not heard of for longest are forgotten.
    private static let capacity = 1024

    private var records: [Connection: Record] = [:]

    /// Notes that the connection has brought something.
    func end(on connection: Connection) {
        keep(Record(instant: .now, waited: .zero), of: connection)
    }

    /// Notes that a request was given up which was sent on the connection at `start`.
    ///
    /// - Returns: true if the connection has been silent for so long that it is not to be used any more.
    func isTooLong(on connection: Connection, since start: ContinuousClock.Instant) -> Bool {
        let now = ContinuousClock.now
        let known = records[connection]
        // Time during which several requests wait counts once.
        let begin = max(start, known?.instant ?? start)
        let waited = (known?.waited ?? .zero) + begin.duration(to: now)
        guard waited < Self.patience else {
            records[connection] = nil
            return true
        }
        keep(Record(instant: now, waited: waited), of: connection)
        return false
    }

    private func keep(_ record: Record, of connection: Connection) {
        records[connection] = record
        guard records.count > Self.capacity else { return }
        let instants = records.values.map(\.instant).sorted()
        let limit = instants[instants.count / 2]
        records = records.filter { $0.value.instant > limit }
    }
}
