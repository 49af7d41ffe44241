import FoundationEssentials
import Normalizer

extension ChannelComparison {
    /// One side of a comparison.
    struct Channel {
        /// The statements, with events and without.
        let statements: [StoreStatement]
        /// In the order of their making, each identity once.
        let distinct: [NormalizedEvent]
        private let providers: Set<Provider>
        private let byLineage: [SubscriptionID: [NormalizedEvent]]

        init(_ lines: some Sequence<LogLine>) {
            statements = lines.compactMap(\.statement)
            let events = lines.compactMap { if case .event(let event) = $0 { event } else { nil } }
            let sorted = events.sorted {
                $0.assertedAt == $1.assertedAt ? $0.id.description < $1.id.description : $0.assertedAt < $1.assertedAt
            }
            var seen: Set<EventID> = []
            distinct = sorted.filter { seen.insert($0.id).inserted }
            providers = Set(distinct.map(\.provider))
            byLineage = Dictionary(grouping: distinct.filter { $0.subscription != nil }) {
                $0.subscription ?? SubscriptionID(store: .unknown, environment: .unknown, id: "")
            }
        }

        /// True if the channel has a type for an event of the other. A channel that said nothing at all could have
        /// said anything.
        func canReport(_ event: NormalizedEvent) -> Bool {
            providers.isEmpty || providers.contains { $0.canReport(event) }
        }

        /// True if an event of the channel only repeats another one of the same channel under another type: a failed
        /// charge as an end of renewal, or by a relay as an expiration; a refund as an expiration; or a change of
        /// product, whose time the channel did not know, that took effect within the minute.
        func saysOtherwise(_ event: NormalizedEvent) -> Bool {
            guard let lineage = event.subscription, let others = byLineage[lineage] else { return false }
            switch event.event {
            case .autoRenewDisabled(let detail) where detail.reason == .billing:
                return others.contains { $0.kind == .billingIssue && distance($0, event) <= 60_000 }
            // A store says so when it has given up trying, and not at all where it is paid in the end.
            case .expired(let detail) where detail.reason == .billing && event.provider == .revenuecat:
                return others.contains { $0.kind == .billingIssue && $0.transaction == event.transaction }
            case .expired(let detail) where detail.reason == .refunded:
                return others.contains { $0.kind == .refunded && $0.transaction == event.transaction }
            case .productChangeScheduled(let change) where change.basis == .inferred:
                return others.contains {
                    meaning($0) == "period_began" && $0.product?.id == change.to && distance($0, event) <= 60_000
                }
            default:
                return false
            }
        }
    }
}

extension Provider {
    /// True if the provider has a type for an event of another, and knows of its store at all.
    fileprivate func canReport(_ event: NormalizedEvent) -> Bool {
        switch self {
        case .apple: return event.homeStore == .appStore && isReportedByStores(event)
        case .google: return event.homeStore == .playStore && isReportedByStores(event)
        case .stripe: return event.homeStore == .stripe && isReportedByStores(event)
        case .revenuecat: return isReportedByRevenueCat(event)
        default: return true
        }
    }

    private func isReportedByStores(_ event: NormalizedEvent) -> Bool {
        switch event.event {
        // Accounts are the host's or the relay's, and notices are everybody's own.
        case .transferred, .notice, .unmapped: false
        case .started(let detail): detail.origin != .temporary && detail.origin != .granted
        default: true
        }
    }

    private func isReportedByRevenueCat(_ event: NormalizedEvent) -> Bool {
        switch event.event {
        case .purchasePending, .purchasePendingCanceled, .gracePeriodExpired, .offerRedeemed, .refundRequested,
            .refundDeclined, .chargeback, .acknowledgementRequired, .notice, .unmapped:
            false
        // The refund of a period other than the latest makes no webhook.
        case .refunded(let detail): detail.affectsCurrentPeriod != false
        case .priceChange(let detail): detail.stage == .pending || detail.stage == .accepted
        default: true
        }
    }
}
