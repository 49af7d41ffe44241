public import FoundationEssentials

/// One line of a log: an event, or a statement without an event.
///
/// A state is joined from both. A log of events alone loses facts that a store stated without an event, such as a
/// payment that ends a failed charge, and can then deny paid access.
public enum LogLine: Hashable, Sendable {
    /// An event, in the form of `docs/event-schema.md`.
    case event(NormalizedEvent)
    /// A statement without an event, with `"kind":"statement"`.
    case statement(StoreStatement)
}

extension LogLine: Codable {
    private enum CodingKeys: String, CodingKey { case kind }
    private static let statementKind = "statement"

    /// Reads a line; whatever has another kind is read as an event.
    public init(from decoder: any Decoder) throws {
        let kind = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .kind)
        self =
            kind == Self.statementKind
            ? .statement(try StoreStatement(from: decoder)) : .event(try NormalizedEvent(from: decoder))
    }

    /// Writes the event, or the statement with its kind.
    public func encode(to encoder: any Encoder) throws {
        switch self {
        case .event(let event):
            try event.encode(to: encoder)
        case .statement(let statement):
            try statement.encode(to: encoder)
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(Self.statementKind, forKey: .kind)
        }
    }

    /// The line's statement; nil for an event about no lineage.
    public var statement: StoreStatement? {
        switch self {
        case .event(let event): event.statement
        case .statement(let statement): statement
        }
    }

    /// The lineage that the line is about; nil for an event about no lineage.
    public var subscription: SubscriptionID? {
        switch self {
        case .event(let event): event.subscription
        case .statement(let statement): statement.subscription
        }
    }
}

extension Normalization {
    /// Everything to append to a log, in the order in which a ledger applies it.
    public var logLines: [LogLine] {
        events.map(LogLine.event)
            + ([noChange?.statement].compactMap(\.self) + furtherStatements).map(LogLine.statement)
    }
}

extension AccountLedger {
    /// Joins a line of a log.
    ///
    /// - Returns: the meaning of an event for the state of its lineage; nil for a statement.
    @discardableResult
    public mutating func apply(_ line: LogLine, catalog: ProductCatalog? = nil) -> AppliedEvent? {
        switch line {
        case .event(let event):
            return apply(event, catalog: catalog)
        case .statement(let statement):
            apply(catalog.map(statement.described) ?? statement)
            return nil
        }
    }
}

/// Events and statements as JSON Lines: the output of the command line, and the log of a backend.
public enum EventLog: Sendable {
    /// A line that is neither an event nor a statement.
    public struct InvalidLine: Error, Hashable, CustomStringConvertible {
        /// The number of the line, from 1.
        public let line: Int
        /// How long it is, in bytes.
        public let byteCount: Int
        /// Which member cannot be read, and why.
        public let cause: InvalidValue

        /// Makes the error.
        public init(line: Int, byteCount: Int, cause: InvalidValue) {
            self.line = line
            self.byteCount = byteCount
            self.cause = cause
        }

        /// Names the line, the member and the reason, and nothing of its content.
        public var description: String {
            "line \(line) (\(byteCount) bytes) is neither an event nor a statement: \(cause)"
        }
    }

    /// Reads one line.
    ///
    /// - Parameters:
    ///   - bytes: the line without its line feed.
    ///   - number: the number of the line, from 1, for the error.
    /// - Returns: nil for an empty line.
    /// - Throws: ``InvalidLine``.
    public static func line(_ bytes: some Collection<UInt8>, number: Int) throws(InvalidLine) -> LogLine? {
        let isEmpty = bytes.allSatisfy {
            $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") || $0 == UInt8(ascii: "\t")
        }
        if isEmpty { return nil }
        do throws(InvalidValue) { return try CanonicalJSON.value(LogLine.self, from: Array(bytes)) } catch {
            throw InvalidLine(line: number, byteCount: bytes.count, cause: error)
        }
    }

    /// Reads a log, one line at a time; empty lines are skipped.
    ///
    /// - Throws: ``InvalidLine`` for the first line that is neither an event nor a statement.
    public static func lines(in bytes: [UInt8]) throws(InvalidLine) -> [LogLine] {
        var lines: [LogLine] = []
        var number = 0
        for part in bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            number += 1
            if let line = try line(part, number: number) { lines.append(line) }
        }
        return lines
    }

    /// Reads the events of a log and skips statements and empty lines.
    ///
    /// - Throws: ``InvalidLine`` for the first line that is neither an event nor a statement.
    public static func events(in bytes: [UInt8]) throws(InvalidLine) -> [NormalizedEvent] {
        try lines(in: bytes).compactMap { if case .event(let event) = $0 { event } else { nil } }
    }

    /// Writes events, one a line.
    ///
    /// - Throws: `EncodingError` from an event; those of this package throw none.
    public static func bytes(_ events: some Sequence<NormalizedEvent>) throws -> [UInt8] {
        try bytes(lines: events.map(LogLine.event))
    }

    /// Writes the lines of a log.
    ///
    /// - Throws: `EncodingError` from a line; those of this package throw none.
    public static func bytes(lines: some Sequence<LogLine>) throws -> [UInt8] {
        var bytes: [UInt8] = []
        for line in lines {
            bytes += try CanonicalJSON.bytes(line)
            bytes.append(UInt8(ascii: "\n"))
        }
        return bytes
    }
}

/// A log of events played into a ledger: the resulting states, and the meaning of each event for them.
public struct Timeline: Hashable, Sendable {
    /// The states after all events.
    public private(set) var ledger = AccountLedger()
    /// The disposition of each event, in the order of the log.
    public private(set) var appliedEvents: [AppliedEvent] = []

    /// Makes an empty timeline.
    public init() {}

    /// Plays events in the given order. The ledger does not depend on the order; the meaning of each event does.
    public init(_ events: some Sequence<NormalizedEvent>, catalog: ProductCatalog? = nil) {
        for event in events { appliedEvents.append(ledger.apply(event, catalog: catalog)) }
    }

    /// Plays a log of events and statements without keeping the meaning of each event, so that memory follows the
    /// states alone.
    public mutating func play(_ line: LogLine, catalog: ProductCatalog? = nil) {
        ledger.apply(line, catalog: catalog)
    }

    /// A report about one lineage, for printing.
    public struct LineageReport: Hashable, Sendable, Codable {
        /// The lineage.
        public var subscription: SubscriptionID
        /// Linked lineages that are the same purchase.
        public var lineages: [SubscriptionID]
        /// Its appearance at the moment.
        public var snapshot: SubscriptionSnapshot
        /// Statements that cannot all be true.
        public var contradictions: [Contradiction]
    }

    /// Every lineage at `time`, in the order of their names.
    public func report(at time: Date) -> [LineageReport] {
        ledger.states.map {
            LineageReport(
                subscription: $0.subscription,
                lineages: $0.lineages,
                snapshot: $0.snapshot(at: time),
                contradictions: ledger.contradictions(of: $0)
            )
        }
    }

    /// An explanation of every lineage of an account at `time`, see ``AccountLedger/explanations(of:in:at:)``. `account` is
    /// compared with identifiers of any source.
    public func explanations(account: String? = nil, at time: Date) -> [Explanation] {
        guard let account else { return ledger.states.map { ledger.explain($0, at: time) } }
        let identifiers = identifiers(named: account)
        return environments.flatMap { ledger.explanations(of: identifiers, in: $0, at: time) }
    }

    /// Access of an account at `time`, in each environment that it has purchases in. `account` is compared with
    /// identifiers of any source.
    public func access(of account: String, at time: Date) -> [StoreEnvironment: AccountAccess] {
        let identifiers = identifiers(named: account)
        let environments = Set(
            ledger.states.filter { $0.claims.keys.contains { identifiers.contains($0) } }.map(\.environment)
        )
        .union(states(of: account).map(\.environment))
        return Dictionary(
            uniqueKeysWithValues: environments.map { ($0, ledger.access(of: identifiers, in: $0, at: time)) }
        )
    }

    /// The states that belong to an account, whatever the source of its identifier.
    package func states(of account: String, at time: Date? = nil) -> [SubscriptionState] {
        let identifiers = identifiers(named: account)
        return environments.flatMap { ledger.states(of: identifiers, in: $0, at: time) }
    }

    private var environments: [StoreEnvironment] {
        Set(ledger.states.map(\.environment)).sorted { $0.rawValue < $1.rawValue }
    }

    /// The identifiers of every source under which an account is known.
    private func identifiers(named account: String) -> [Account.Identifier] {
        let name = Account.Identifier(account, "").name
        return ledger.accounts.filter { $0.name == name }
    }
}
