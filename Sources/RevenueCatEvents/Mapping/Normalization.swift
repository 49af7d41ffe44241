import FoundationEssentials
import LifecycleEvents

/// Maps one webhook. Pure: it reads only the webhook, and the answers about it.
///
/// It keeps no state: that a renewal is a recovery, a resumption or a change of product follows from the facts.
struct Mapping {
    /// Which version of the mapping made an event.
    static let version = "revenuecat/1"

    private let resolved: Authenticated<RevenueCatNotification>

    init(_ resolved: Authenticated<RevenueCatNotification>) { self.resolved = resolved }

    var notification: RevenueCatNotification { resolved.value }
    var receivedAt: Date { resolved.receivedAt }
    var event: RevenueCatEvent { notification.webhook.event }

    /// The mapping of one of the webhook's items.
    private func of(_ item: RevenueCatEvent) -> Mapping {
        Mapping(resolved.map { RevenueCatNotification($0, event: item) })
    }

    func normalization() -> Normalization {
        // To ask the event for its products copies all of it.
        guard notification.webhook.row.isOfAllItems, !notification.webhook.event.items.isEmpty,
            let items = event.ofItems
        else { return whole() }
        var result = of(items[0]).whole()
        result.link(to: items[0].nameAsItem)
        // Fields that the base product lacks are lacking for the others, too.
        guard !result.events.contains(where: { $0.kind == .unmapped }) else { return result }
        for item in items.dropFirst() {
            let more = of(item).whole()
            if notification.webhook.row.isOfOrder {
                result.furtherStatements += more.statements
                continue
            }
            result.events += more.events
            if let statement = more.noChange?.statement { result.furtherStatements.append(statement) }
        }
        return result
    }

    private func whole() -> Normalization {
        let purchase = PurchaseStatement(notification.webhook)
        let outcome: Outcome
        switch notification.webhook.row {
        case .initialPurchase: outcome = started(purchase)
        case .renewal: outcome = renewed(purchase)
        case .unpaidRenewal: outcome = unpaidRenewal(purchase)
        case .granted: outcome = granted(purchase)
        case .oneTimePurchase: outcome = oneTimePurchase(purchase)
        case .temporaryGrant: outcome = temporaryGrant(purchase)
        case .revokedByDeveloper: outcome = revoked(purchase, .developer, endsPeriod: .developer)
        case .familySharingEnded: outcome = revoked(purchase, .familySharingEnded, endsPeriod: .unknown)
        case .refund: outcome = refunded(purchase)
        case .autoRenewOff(let reason): outcome = autoRenewOff(purchase, reason)
        case .autoRenewOn: outcome = autoRenewOn(purchase)
        case .pauseScheduled: outcome = pauseScheduled(purchase)
        case .paused: outcome = ended(purchase, .paused)
        case .expired(let reason): outcome = ended(purchase, reason)
        case .billingIssue: outcome = billingIssue(purchase)
        case .productChange: outcome = productChange(purchase)
        case .extended: outcome = extended(purchase)
        case .refundReversed: outcome = refundReversed(purchase)
        case .priceConsent(let stage): outcome = priceConsent(purchase, stage)
        case .transfer: outcome = transferred()
        case .redeemed: outcome = redeemed()
        case .aliased: outcome = notice(.accountsLinked)
        case .invoice: outcome = notice(.invoiceIssued, about: purchase)
        case .virtualCurrency: outcome = virtualCurrency()
        case .experiment: outcome = notice(.experiment)
        case .paywall: outcome = notice(.paywall)
        case .test: outcome = notice(.test)
        case .unknown: outcome = .event(unmapped, about: subject(purchase))
        }
        return normalization(of: outcome, purchase)
    }
}

extension Mapping {
    enum Outcome {
        /// Events, and what the notification states besides, with a date of its own.
        case events([EventDraft], about: EventSubject, statement: StoreStatement? = nil)
        case noChange(Normalization.NoChange.Reason, facts: [Fact])
        /// The type is known, and fields that it cannot do without are absent.
        case incomplete([String])

        static func event(_ draft: EventDraft, about subject: EventSubject, statement: StoreStatement? = nil) -> Outcome
        {
            .events([draft], about: subject, statement: statement)
        }
    }

    private func normalization(of outcome: Outcome, _ purchase: PurchaseStatement) -> Normalization {
        var anomalies = notification.webhook.anomalies
        if let timestamp = event.timestamp, timestamp > latestCredible { anomalies.append("event.event_timestamp_ms") }
        let envelope = envelope(purchase)
        switch outcome {
        case .events(let drafts, let subject, let statement):
            return Normalization(
                drafts.map { envelope.event($0, about: subject) },
                furtherStatements: [statement].compactMap(\.self),
                anomalies: anomalies
            )
        case .noChange(let reason, let facts):
            let statement = purchase.lineage.map { envelope.statement(facts, about: $0) }
            return Normalization(noChange: .init(reason, statement: statement), anomalies: anomalies)
        case .incomplete(let names):
            return Normalization(
                [envelope.event(unmapped, about: subject(purchase))],
                anomalies: anomalies + names.map { "event." + $0 }
            )
        }
    }

    /// The one-time purchase, as a webhook about something else names it. It has the date of the purchase, so the purchase's
    /// own webhook counts whenever it comes.
    func statementOfPurchase(_ purchase: PurchaseStatement) -> StoreStatement? {
        guard event.expirationAt == nil, event.timestamp != nil, let lineage = purchase.lineage,
            let bought = oneTimePurchase(of: purchase, price: nil)
        else { return nil }
        var envelope = envelope(purchase)
        envelope.assertedAt = min(bought.at, envelope.assertedAt)
        return envelope.statement([.purchase(bought)], about: lineage)
    }

    /// The purchase as events name it.
    func subject(
        _ purchase: PurchaseStatement,
        transaction: TransactionID? = nil,
        price: Price? = nil,
        renewal: RenewalTerms? = nil,
        facts: [Fact] = []
    ) -> EventSubject {
        EventSubject(
            lineage: purchase.lineage,
            transaction: transaction ?? purchase.transactionID,
            account: purchase.account,
            product: purchase.product,
            period: purchase.period,
            price: price,
            country: event.countryCode,
            renewal: renewal,
            facts: facts
        )
    }

    /// The customer, for what is about no purchase.
    var customer: Account? { Account(appUserIDs: event.customerIDs) }

    private func envelope(_ purchase: PurchaseStatement) -> EventEnvelope {
        EventEnvelope(
            provider: .revenuecat,
            store: purchase.store,
            environment: purchase.environment,
            app: event.appID,
            occurredAt: event.timestamp ?? receivedAt,
            assertedAt: assertedAt,
            receivedAt: receivedAt,
            origin: Origin(
                type: event.type.rawValue,
                subtype: (event.cancelReason ?? event.expirationReason)?.rawValue,
                notificationID: event.id,
                channel: resolved.channel,
                evidence: resolved.evidence,
                digest: resolved.bodyDigest,
                mapper: Self.version
            )
        )
    }

    // A time from far ahead would outrank whatever comes after it.
    private var latestCredible: Date { receivedAt.addingTimeInterval(86_400) }

    private var assertedAt: Date {
        guard let timestamp = event.timestamp, timestamp <= latestCredible else { return receivedAt }
        return timestamp
    }

    private var unmapped: EventDraft {
        EventDraft(
            id: notificationID(),
            event: .unmapped(
                .init(
                    type: event.type.rawValue,
                    subtype: (event.cancelReason ?? event.expirationReason)?.rawValue
                )
            )
        )
    }

    func notifiedID(_ purchase: PurchaseStatement) -> EventID {
        purchase.lineage.map { .notified($0, by: .revenuecat, notification: event.id) } ?? notificationID()
    }

    func notificationID(ordinal: Int = 0) -> EventID {
        EventID(
            provider: .revenuecat,
            environment: event.environment?.canonical ?? .unknown,
            notification: event.id,
            ordinal: ordinal
        )
    }
}

extension Normalization {
    /// Adds that a purchase is known under another name as well.
    fileprivate mutating func link(to name: String?) {
        guard let name else { return }
        func link(_ lineage: SubscriptionID) -> Fact {
            .link(SubscriptionID(store: lineage.store, environment: lineage.environment, id: name))
        }
        for index in events.indices {
            guard let lineage = events[index].subscription else { continue }
            events[index].facts.append(link(lineage))
        }
        guard var statement = noChange?.statement else { return }
        statement.facts.append(link(statement.subscription))
        noChange?.statement = statement
    }
}
