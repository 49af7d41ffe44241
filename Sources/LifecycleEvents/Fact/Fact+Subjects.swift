extension LifecycleEvent {
    /// The kinds of fact that speak of it.
    fileprivate var subjects: Set<Fact.Kind> {
        switch self {
        case .started, .renewed, .productChanged, .extended: [.period, .charge, .link, .owner, .pause, .closure]
        case .billingIssue: [.billing, .periodEnded, .closure]
        case .expired, .revoked, .paused: [.periodEnded, .pause, .billing, .closure]
        case .pauseScheduled: [.pause]
        case .autoRenewDisabled, .autoRenewEnabled: [.renewalIntent]
        case .productChangeScheduled, .productChangeReverted: [.nextProduct, .renewalIntent]
        case .priceChange: [.priceChange]
        case .refunded, .chargeback: [.refund, .charge, .transactionName]
        case .oneTimePurchased: [.purchase, .charge, .owner]
        default: []
        }
    }
}

extension [Fact] {
    /// The facts of each of several events that were made of one statement. Every fact goes to the first event about
    /// it, else to the first of all. Each event carries its own, so that a state decides for each if it is news.
    package func assigned(to events: [LifecycleEvent]) -> [[Fact]] {
        // Most statements make one event, which takes all. To ask would be three tenths of Apple's mapping.
        guard events.count > 1 else { return events.map { _ in self } }
        var assigned: [[Fact]] = events.map { _ in [] }
        for fact in self {
            let index = events.firstIndex { $0.subjects.contains(fact.kind) } ?? 0
            if assigned.indices.contains(index) { assigned[index].append(fact) }
        }
        return assigned
    }
}
