public import FoundationEssentials
import SignatureCore

/// Events as JSON Lines: what the command line prints, and what a backend appends to its log.
public enum EventLog: Sendable {
    /// A line that is no event.
    public struct InvalidLine: Error, Hashable, CustomStringConvertible {
        /// The number of the line, from 1.
        public let line: Int
        /// How long it is, in bytes.
        public let byteCount: Int

        /// Names the line, and nothing of its content.
        public var description: String { "line \(line), \(byteCount) bytes: not an event" }
    }

    /// Reads events, one a line; empty lines are skipped.
    ///
    /// - Throws: ``InvalidLine`` for the first line that is no event.
    public static func events(in bytes: [UInt8]) throws(InvalidLine) -> [NormalizedEvent] {
        var events: [NormalizedEvent] = []
        var number = 0
        for line in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            if line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\t") }) {
                continue
            }
            guard let event = try? CanonicalJSON.value(NormalizedEvent.self, from: Array(line)) else {
                throw InvalidLine(line: number, byteCount: line.count)
            }
            events.append(event)
        }
        return events
    }

    /// Writes events, one a line.
    ///
    /// - Throws: `EncodingError` from an event; those of this package throw none.
    public static func bytes(_ events: some Sequence<NormalizedEvent>) throws -> [UInt8] {
        var bytes: [UInt8] = []
        for event in events {
            bytes += try CanonicalJSON.bytes(event)
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }
}

/// A log of events played into a ledger: the states that come of it, and what each event was to them.
public struct Timeline: Hashable, Sendable {
    /// The states after all events.
    public private(set) var ledger = AccountLedger()
    /// What each event was, in the order of the log.
    public private(set) var appliedEvents: [AppliedEvent] = []

    /// Plays events in the given order. The ledger does not depend on the order; what each event was does.
    public init(_ events: some Sequence<NormalizedEvent>, catalog: ProductCatalog? = nil) {
        for event in events { appliedEvents.append(ledger.apply(event, catalog: catalog)) }
    }

    /// What to print about one lineage.
    public struct LineageReport: Hashable, Sendable, Codable {
        /// The lineage.
        public var subscription: SubscriptionID
        /// Linked lineages that are the same purchase.
        public var lineages: [SubscriptionID]
        /// What it looks like.
        public var snapshot: SubscriptionSnapshot
        /// What was stated and cannot be so at once.
        public var contradictions: [Contradiction]
    }

    /// What every lineage looks like at `time`, in the order of their names.
    public func report(at time: Date) -> [LineageReport] {
        ledger.states.map {
            LineageReport(
                subscription: $0.subscription,
                lineages: $0.lineages,
                snapshot: $0.snapshot(at: time),
                contradictions: $0.contradictions(after: ledger.transfers)
            )
        }
    }

    /// What every lineage of an account rests on at `time`. `account` is compared with identifiers of any source.
    public func explanations(account: String? = nil, at time: Date) -> [Explanation] {
        guard let account else { return ledger.states.map { $0.explain(at: time, after: ledger.transfers) } }
        return states(of: account).map { $0.explain(at: time, after: ledger.transfers) }
    }

    /// Access of an account at `time`, in each environment that it has purchases in. `account` is compared with
    /// identifiers of any source.
    public func access(of account: String, at time: Date) -> [StoreEnvironment: AccountAccess] {
        let identifiers = ledger.accounts.filter { $0.id.hasOctets(of: account) }
        let environments = Set(
            ledger.states.filter { $0.claims.keys.contains { $0.id.hasOctets(of: account) } }.map(\.environment)
        )
        .union(states(of: account).map(\.environment))
        return Dictionary(
            uniqueKeysWithValues: environments.map { ($0, ledger.access(of: identifiers, in: $0, at: time)) }
        )
    }

    private func states(of account: String) -> [SubscriptionState] {
        let identifiers = ledger.accounts.filter { $0.id.hasOctets(of: account) }
        return Set(ledger.states.map(\.environment.rawValue)).sorted()
            .flatMap { ledger.states(of: identifiers, in: StoreEnvironment(rawValue: $0)) }
    }
}
