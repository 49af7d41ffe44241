public import FoundationEssentials
public import Normalizer

/// The history of a customer's purchases, and the reason for access or none at a time: a page for support and engineers.
///
/// It is read from a log of events and statements alone. The page is one HTML document without scripts and without anything
/// from elsewhere; serve it with ``contentSecurityPolicy``.
///
/// ```swift
/// let report = CustomerReportPage(lines, at: now)
/// response.headers["Content-Security-Policy"] = CustomerReportPage.contentSecurityPolicy
/// response.body = report.html(title: "Customer 42")
/// ```
public struct CustomerReportPage: Sendable {
    /// One purchase: lineages that are linked are one.
    public struct Purchase: Sendable {
        /// Its state.
        public var state: SubscriptionState
        /// The lines that it was joined from, in the order of the times at which the providers stated them.
        public var lines: [LogLine]
        /// The events that were no news when they came: known before, or overtaken.
        var oldNews: [NormalizedEvent: AppliedEvent.Disposition] = [:]
    }

    /// The purchases, those with access at ``time`` first.
    public var purchases: [Purchase]
    /// The time that access is explained for.
    @EventTime public var time: Date
    /// All of them, with the transfers between accounts, which move purchases that they do not name.
    let ledger: AccountLedger

    /// Joins a log.
    ///
    /// - Parameters:
    ///   - lines: events and statements, in any order.
    ///   - time: the time to explain.
    ///   - catalog: your products, by which a change is an upgrade or a downgrade, and a one-time purchase has its type and end.
    public init(_ lines: some Sequence<LogLine>, at time: Date, catalog: ProductCatalog? = nil) {
        var ledger = AccountLedger()
        let lines = Array(lines)
        var oldNews: [NormalizedEvent: AppliedEvent.Disposition] = [:]
        // In the order in which they came, since the first of two that report the same is the news.
        for line in lines.sorted(by: { $0.cameAt < $1.cameAt }) {
            guard let applied = ledger.apply(line, catalog: catalog), !applied.isNews, case .event(let event) = line
            else {
                continue
            }
            oldNews[event] = applied.disposition
        }
        var grouped: [SubscriptionID: [LogLine]] = [:]
        for line in lines {
            guard let lineage = line.subscription, let state = ledger[lineage] else { continue }
            grouped[state.subscription, default: []].append(line)
        }
        purchases = ledger.states.map { state in
            Purchase(
                state: state,
                lines: (grouped[state.subscription] ?? []).sorted { $0.assertedAt < $1.assertedAt },
                oldNews: oldNews
            )
        }
        self.ledger = ledger
        _time = EventTime(wrappedValue: time)
        purchases.sort { lhs, rhs in
            let (one, other) = (lhs.state.access(at: time).isGranted, rhs.state.access(at: time).isGranted)
            return one == other ? lhs.state.subscription.precedes(rhs.state.subscription) : one
        }
    }
}

extension LogLine {
    /// When the provider stated it.
    var assertedAt: Date {
        switch self {
        case .event(let event): event.assertedAt
        case .statement(let statement): statement.assertedAt
        }
    }

    /// When it came; a statement without an event has the time of the statement alone.
    var cameAt: Date {
        switch self {
        case .event(let event): event.receivedAt
        case .statement(let statement): statement.assertedAt
        }
    }

    var facts: [Fact] {
        switch self {
        case .event(let event): event.facts
        case .statement(let statement): statement.facts
        }
    }
}
