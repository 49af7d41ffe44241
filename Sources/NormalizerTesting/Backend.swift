import FoundationEssentials
package import Normalizer

/// A backend that acts on news, once on each identity: it keeps a unique index on events.
package struct Backend {
    package private(set) var ledger = AccountLedger()
    package private(set) var acts: [NormalizedEvent] = []
    package private(set) var dispositions: [AppliedEvent.Disposition] = []
    private let policy: CreditPolicy
    private var seen: Set<EventID> = []

    package init(_ events: [NormalizedEvent], _ policy: CreditPolicy = CreditPolicy([:])) {
        self.policy = policy
        for event in events {
            let applied = ledger.apply(event)
            dispositions.append(applied.disposition)
            if seen.insert(event.id).inserted, applied.disposition == .applied { acts.append(applied.event) }
        }
    }

    /// The balance ten minutes after the last report.
    package var balance: Int64 {
        let time = acts.map { $0.receivedAt.addingTimeInterval(600) }.max() ?? .distantPast
        return CreditStatement(of: ledger.states, under: policy, uses: [], at: time).balance
    }

    package func count(_ kind: LifecycleEvent.Kind) -> Int { acts.count { $0.kind == kind } }
}
