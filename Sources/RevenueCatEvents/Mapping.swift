import FoundationEssentials
import Normalizer

/// Maps one webhook. Pure: it reads the webhook, and what was answered about it, and nothing else.
///
/// It keeps no state: that a renewal is a recovery, a resumption or a change of product follows from the facts. A class,
/// because whatever captures it would copy what it holds.
final class Mapping {
    /// Which version of the mapping made an event.
    static let version = "revenuecat/1"

    let notification: RevenueCatNotification
    let receivedAt: Date
    private let channel: Origin.Channel
    private let evidence: Origin.Evidence
    private let digest: BodyDigest

    init(_ resolved: Authenticated<RevenueCatNotification>) {
        notification = resolved.value
        receivedAt = resolved.receivedAt
        channel = resolved.channel
        evidence = resolved.evidence
        digest = resolved.bodyDigest
    }

    var event: RevenueCatEvent { notification.webhook.event }

    /// What RevenueCat's types mean, with the conditions that tell two meanings of one type apart.
    enum Row: Hashable {
        case initialPurchase, renewal, unpaidRenewal
        case granted, oneTimePurchase, temporaryGrant
        case grantRevoked, familySharingEnded, refund, autoRenewOff(LifecycleEvent.AutoRenewDisabled.Reason),
            autoRenewOn
        case pauseScheduled, paused, expired(LifecycleEvent.Expired.Reason)
        case billingIssue
        case productChange
        case extended, refundReversed
        case priceConsent(LifecycleEvent.PriceChange.Stage)
        case transfer, redeemed, aliased
        case invoice, virtualCurrency, experiment, paywall, test
        case unknown

        /// Whether it says something about one purchase, which lives in one environment and was bought in one app.
        var isAboutPurchase: Bool {
            switch self {
            case .transfer, .redeemed, .aliased, .virtualCurrency, .experiment, .paywall, .test, .unknown: false
            default: true
            }
        }
    }

    func normalization() -> Normalization {
        let purchase = PurchaseStatement(notification.webhook)
        let outcome: Outcome
        switch notification.webhook.row {
        case .initialPurchase: outcome = started(purchase)
        case .renewal: outcome = renewed(purchase)
        case .unpaidRenewal: outcome = unpaidRenewal(purchase)
        case .granted: outcome = granted(purchase)
        case .oneTimePurchase: outcome = oneTimePurchase(purchase)
        case .temporaryGrant: outcome = temporaryGrant(purchase)
        case .grantRevoked: outcome = revoked(purchase, .developer, .developer)
        case .familySharingEnded: outcome = revoked(purchase, .familySharingEnded, .unknown)
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
        case .unknown: outcome = .events([unmapped])
        }
        return normalization(of: outcome, purchase)
    }
}

extension RevenueCatEvent {
    /// What it means.
    var row: Mapping.Row {
        // The names of paywall types can be changed in the dashboard, also to one of those below.
        if isPaywallInteraction { return .paywall }
        return switch type {
        // Also the start of a trial, a resubscription on Play, and Play's immediate change of product.
        case .initialPurchase: .initialPurchase
        // Also a trial's conversion, a recovery, the end of a pause, a lapsed customer's return, and a change of
        // product taking effect. Stripe's settings can make periods that nobody paid for.
        case .renewal: isUnpaidStripeRenewal ? .unpaidRenewal : .renewal
        // A grant has no store that could charge for it.
        case .nonRenewingPurchase: store == .promotional ? .granted : .oneTimePurchase
        // Not validated by the store yet, at most a day of access.
        case .temporaryEntitlementGrant: .temporaryGrant
        // Only a refund, the end of sharing and the removal of a grant take access away.
        case .cancellation: cancellationRow
        // The customer came back before the end. Stripe never sends it.
        case .uncancellation: .autoRenewOn
        // Access goes on until the period ends.
        case .subscriptionPaused: .pauseScheduled
        case .expiration: expirationRow
        // One for each incident; later attempts that fail are silent.
        case .billingIssue: .billingIssue
        // An announcement: it moves neither access nor money.
        case .productChange: .productChange
        case .subscriptionExtended: .extended
        // App Store only; the period may be over by now.
        case .refundReversed: .refundReversed
        case .priceIncreaseConsentRequired: .priceConsent(.pending)
        case .priceIncreaseConsentApproved: .priceConsent(.accepted)
        // Sent once, for the destination, without a product.
        case .transfer: .transfer
        case .purchaseRedeemed: .redeemed
        case .subscriberAlias: .aliased
        case .invoiceIssuance: .invoice
        case .virtualCurrencyTransaction: .virtualCurrency
        case .experimentEnrollment: .experiment
        case .paywallImpression, .paywallClose, .paywallCancel, .paywallExitOffer, .paywallComponentInteracted:
            .paywall
        // It has the shape of a purchase and is none.
        case .test: .test
        default: .unknown
        }
    }

    private var cancellationRow: Mapping.Row {
        if store == .promotional { return .grantRevoked }
        // Who shared got the money back. This customer paid nothing, and loses access.
        if isRefund { return isFamilyShare ? .familySharingEnded : .refund }
        return switch cancelReason {
        case .unsubscribe?: .autoRenewOff(.customer)
        case .billingError?: .autoRenewOff(.billing)
        case .priceIncrease?: .autoRenewOff(.priceIncreaseDeclined)
        case .developerInitiated?: .autoRenewOff(.developer)
        default: .autoRenewOff(.unknown)
        }
    }

    private var expirationRow: Mapping.Row {
        switch expirationReason {
        case .subscriptionPaused?: .paused
        case .unsubscribe?: .expired(.customer)
        case .billingError?: .expired(.billing)
        case .priceIncrease?: .expired(.priceIncreaseDeclined)
        case .developerInitiated?: .expired(.developer)
        case .customerSupport?: .expired(isFamilyShare ? .unknown : .refunded)
        default: .expired(.unknown)
        }
    }
}

// MARK: From rows to events

extension Mapping {
    enum Outcome {
        case events([EventDraft])
        case noChange(Normalization.NoChange.Reason, facts: [Fact])
        /// The type is known, and fields that it cannot do without are absent.
        case incomplete([String])
    }

    private func normalization(of outcome: Outcome, _ purchase: PurchaseStatement) -> Normalization {
        var anomalies = notification.webhook.anomalies
        if let timestamp = event.timestamp, timestamp > latestCredible { anomalies.append("event.event_timestamp_ms") }
        switch outcome {
        case .events(let drafts):
            return Normalization(drafts.map { normalized($0, purchase) }, anomalies: anomalies)
        case .noChange(let reason, let facts):
            let statement = purchase.lineage.map {
                StoreStatement(
                    subscription: $0,
                    provider: .revenuecat,
                    assertedAt: assertedAt,
                    facts: facts,
                    origin: origin
                )
            }
            return Normalization(noChange: .init(reason, statement: statement), anomalies: anomalies)
        case .incomplete(let names):
            return Normalization([normalized(unmapped, purchase)], anomalies: anomalies + names.map { "event." + $0 })
        }
    }

    private func normalized(_ draft: EventDraft, _ purchase: PurchaseStatement) -> NormalizedEvent {
        let occurredAt = draft.occurredAt ?? event.timestamp ?? receivedAt
        return NormalizedEvent(
            id: draft.id,
            event: draft.event,
            provider: .revenuecat,
            store: purchase.store,
            environment: purchase.environment,
            app: event.appID,
            subscription: draft.isAboutPurchase ? purchase.lineage : nil,
            transaction: draft.isAboutPurchase ? event.transactionID : nil,
            account: draft.account ?? purchase.account,
            product: draft.isAboutPurchase ? purchase.product : nil,
            period: draft.isAboutPurchase ? draft.period ?? purchase.period : nil,
            price: draft.price,
            renewal: draft.renewal,
            occurredAt: occurredAt,
            effectiveAt: draft.effectiveAt ?? occurredAt,
            assertedAt: assertedAt,
            receivedAt: receivedAt,
            facts: draft.facts,
            origin: origin
        )
    }

    private var origin: Origin {
        Origin(
            type: event.type.rawValue,
            subtype: (event.cancelReason ?? event.expirationReason)?.rawValue,
            notificationID: event.id,
            channel: channel,
            evidence: evidence,
            digest: digest,
            mapper: Self.version
        )
    }

    // A time from far ahead would outrank whatever comes after it.
    private var latestCredible: Date { receivedAt.addingTimeInterval(86_400) }

    private var assertedAt: Date {
        guard let timestamp = event.timestamp, timestamp <= latestCredible else { return receivedAt }
        return timestamp
    }
}

/// An event before its envelope.
struct EventDraft {
    var id: EventID
    var event: LifecycleEvent
    var facts: [Fact] = []
    var price: Price?
    var renewal: RenewalTerms?
    /// Whom it is about, where that is not the customer of the purchase.
    var account: Account?
    /// The period, where it is not the one that the fields state.
    var period: ServicePeriod?
    /// Whether it is about the purchase that the fields name.
    var isAboutPurchase = true
    /// When it happened; absent means when RevenueCat made it.
    var occurredAt: Date?
    /// From when it has effect; absent means when it happened.
    var effectiveAt: Date?
}

// MARK: Periods that begin

extension Mapping {
    private func started(_ purchase: PurchaseStatement) -> Outcome {
        began(purchase) { period, price in
            .started(
                .init(
                    origin: event.isFamilyShare ? .familyShared : .new,
                    phase: purchase.phase,
                    period: period,
                    price: price
                )
            )
        }
    }

    /// Why there is another period only the state can tell, but for a conversion.
    private func renewed(_ purchase: PurchaseStatement) -> Outcome {
        began(purchase) { period, price in
            .renewed(
                .init(
                    cause: event.isTrialConversion ? .trialConversion : .unknown,
                    phase: purchase.phase,
                    period: period,
                    price: price
                )
            )
        }
    }

    private func began(
        _ purchase: PurchaseStatement,
        _ event: (ServicePeriod, Price?) -> LifecycleEvent
    ) -> Outcome {
        guard let complete = purchase.complete, self.event.timestamp != nil else {
            return .incomplete(purchase.missing)
        }
        let period = ServicePeriod(start: complete.start, end: complete.end)
        let price = purchase.price
        let terms = RenewalTerms(willRenew: purchase.phase != .prepaid)
        var facts: [Fact] = []
        facts.reserveCapacity(6)
        facts.append(.period(purchase.fact(period, complete.product)))
        if let price, price.role == .charged, let transaction = self.event.transactionID {
            facts.append(.charge(.init(transaction: transaction, price: price, at: complete.start)))
        }
        facts.append(.renewalIntent(.init(terms)))
        facts.append(.billing(.init(.settled, periodStart: complete.start)))
        facts.append(.pause(.init(.none)))
        if let account = purchase.account { facts.append(.owner(account)) }
        return .events([
            EventDraft(
                id: purchase.periodBeganID(complete),
                event: event(period, price),
                facts: facts,
                price: price,
                renewal: terms,
                effectiveAt: purchase.effect(of: complete.start)
            )
        ])
    }

    /// RevenueCat's own word on access decides; without it nothing is granted.
    private func unpaidRenewal(_ purchase: PurchaseStatement) -> Outcome {
        guard let snapshot = notification.answeredSubscription else {
            return .noChange(.needsLookup, facts: purchase.owner)
        }
        if snapshot.givesAccess == true { return renewed(purchase) }
        return .noChange(
            .stale,
            facts: snapshot.facts(product: purchase.productName, at: receivedAt) + purchase.owner
        )
    }

    private func granted(_ purchase: PurchaseStatement) -> Outcome {
        guard let lineage = purchase.lineage, let start = event.purchasedAt, let product = purchase.productName,
            event.timestamp != nil
        else { return .incomplete(purchase.missing(["purchased_at_ms", "product_id"])) }
        let period = ServicePeriod(start: start, end: event.expirationAt)
        let terms = RenewalTerms(willRenew: false)
        return .events([
            EventDraft(
                id: event.transactionID.map { .periodBegan(lineage, transaction: $0) }
                    ?? .periodBegan(lineage, product: product, start: start),
                event: .started(.init(origin: .granted, phase: .promotional, period: period)),
                facts: [
                    .period(.init(period, product: product, phase: .promotional, transaction: event.transactionID)),
                    .renewalIntent(.init(terms)),
                ] + purchase.owner,
                renewal: terms,
                effectiveAt: start
            )
        ])
    }

    private func oneTimePurchase(_ purchase: PurchaseStatement) -> Outcome {
        guard let lineage = purchase.lineage, let start = event.purchasedAt, let product = purchase.productName,
            let transaction = event.transactionID ?? event.originalTransactionID, event.timestamp != nil
        else { return .incomplete(purchase.missing(["purchased_at_ms", "product_id"])) }
        let price = purchase.price
        // RevenueCat unlocks entitlements for good with a product without an end. One that unlocks none is used up, or
        // kept, as the host decides.
        let type: LifecycleEvent.OneTimePurchase.ProductType =
            event.expirationAt != nil ? .nonRenewing : event.entitlementIDs.isEmpty ? .unknown : .nonConsumable
        let detail = LifecycleEvent.OneTimePurchase(
            type: type,
            quantity: 1,
            price: price,
            expires: event.expirationAt,
            familyShared: event.isFamilyShare
        )
        var facts: [Fact] = [
            .purchase(.init(transaction: transaction, product: product, purchase: detail, at: start))
        ]
        if let price, price.role == .charged {
            facts.append(.charge(.init(transaction: transaction, price: price, at: start)))
        }
        return .events([
            EventDraft(
                id: .purchased(lineage, transaction: transaction),
                event: .oneTimePurchased(detail),
                facts: facts + purchase.owner,
                price: price,
                effectiveAt: start
            )
        ])
    }

    /// The purchase itself comes later under its own identity, perhaps with the same transaction. Until then this is an
    /// assumption, and it lasts a day at most.
    private func temporaryGrant(_ purchase: PurchaseStatement) -> Outcome {
        guard let timestamp = event.timestamp else { return .incomplete(["event_timestamp_ms"]) }
        let start = event.purchasedAt ?? timestamp
        let limit = timestamp.addingTimeInterval(86_400)
        let period = ServicePeriod(start: start, end: min(event.expirationAt ?? limit, limit))
        var purchase = purchase
        if purchase.lineage == nil { purchase.nameLineage(event.id) }
        let facts: [Fact] = [
            .period(
                .init(
                    period,
                    product: purchase.productName ?? "",
                    phase: purchase.phase,
                    transaction: event.transactionID,
                    isProvisional: true
                )
            )
        ]
        return .events([
            EventDraft(
                id: notifiedID(purchase),
                event: .started(.init(origin: .temporary, phase: purchase.phase, period: period)),
                facts: facts + purchase.owner,
                period: period,
                effectiveAt: start
            )
        ])
    }
}

// MARK: What changes a period

extension Mapping {
    private func revoked(
        _ purchase: PurchaseStatement,
        _ reason: LifecycleEvent.Revocation.Reason,
        _ endReason: LifecycleEvent.Expired.Reason
    ) -> Outcome {
        guard let lineage = purchase.lineage, let at = purchase.end else {
            return .incomplete(purchase.missing([]))
        }
        return .events([
            EventDraft(
                id: purchase.endedID(lineage, .unknown),
                event: .revoked(.init(reason: reason)),
                facts: purchase.provisional + purchase.cut(at: at, endReason) + purchase.owner,
                occurredAt: at
            )
        ])
    }

    /// Of a refund the end of the transaction is the moment of the refund. Renewal stays as it was.
    private func refunded(_ purchase: PurchaseStatement) -> Outcome {
        guard let lineage = purchase.lineage, let at = purchase.end,
            let transaction = event.transactionID ?? event.originalTransactionID
        else { return .incomplete(purchase.missing([])) }
        let isPeriod = event.expirationAt != nil
        let refund = Fact.RefundState(
            transaction: transaction,
            scope: .full,
            at: at,
            periodStart: isPeriod ? event.purchasedAt : nil,
            endsAccess: true
        )
        return .events([
            EventDraft(
                id: .refunded(lineage, refund: transaction),
                event: .refunded(
                    .init(
                        transaction: transaction,
                        scope: .full,
                        reason: event.cancelReason == .developerInitiated ? .developer : .unknown,
                        // RevenueCat reports no refund of an earlier period.
                        affectsCurrentPeriod: true
                    )
                ),
                facts: (isPeriod ? purchase.provisional : []) + [.refund(refund)] + purchase.owner,
                price: purchase.refundedPrice,
                occurredAt: at
            )
        ])
    }

    private func autoRenewOff(
        _ purchase: PurchaseStatement,
        _ reason: LifecycleEvent.AutoRenewDisabled.Reason
    ) -> Outcome {
        guard purchase.lineage != nil, let timestamp = event.timestamp else {
            return .incomplete(purchase.missing([]))
        }
        let terms = RenewalTerms(willRenew: false)
        var facts = purchase.provisional
        facts.append(.renewalIntent(.init(terms, reason: reason)))
        if reason == .billing { facts.append(purchase.failedCharge(at: timestamp, graceUntil: nil)) }
        return .events([
            EventDraft(
                id: notifiedID(purchase),
                event: .autoRenewDisabled(.init(reason: reason, accessUntil: event.expirationAt)),
                facts: facts + purchase.owner,
                renewal: terms,
                effectiveAt: event.expirationAt
            )
        ])
    }

    private func autoRenewOn(_ purchase: PurchaseStatement) -> Outcome {
        guard purchase.lineage != nil, event.timestamp != nil else { return .incomplete(purchase.missing([])) }
        let terms = RenewalTerms(willRenew: true)
        return .events([
            EventDraft(
                id: notifiedID(purchase),
                event: .autoRenewEnabled,
                facts: purchase.provisional + [.renewalIntent(.init(terms))] + purchase.owner,
                renewal: terms
            )
        ])
    }

    private func pauseScheduled(_ purchase: PurchaseStatement) -> Outcome {
        guard purchase.lineage != nil, event.timestamp != nil else { return .incomplete(purchase.missing([])) }
        return .events([
            EventDraft(
                id: notifiedID(purchase),
                event: .pauseScheduled(.init(resumesAt: event.autoResumeAt)),
                facts: purchase.provisional + [.pause(.init(.scheduled, resumesAt: event.autoResumeAt))]
                    + purchase.owner,
                effectiveAt: event.expirationAt
            )
        ])
    }

    // No fact about the pause: the end of the period says that it began, and only its announcement says until when.
    private func ended(_ purchase: PurchaseStatement, _ reason: LifecycleEvent.Expired.Reason) -> Outcome {
        guard let lineage = purchase.lineage, let at = purchase.end else {
            return .incomplete(purchase.missing([]))
        }
        return .events([
            EventDraft(
                id: purchase.endedID(lineage, reason),
                event: reason == .paused
                    ? .paused(.init(resumesAt: event.autoResumeAt)) : .expired(.init(reason: reason)),
                facts: purchase.provisional + purchase.cut(at: at, reason) + purchase.owner,
                occurredAt: at
            )
        ])
    }

    /// The end of the transaction holds the grace period already; Stripe's holds the time in which it tries again.
    private func billingIssue(_ purchase: PurchaseStatement) -> Outcome {
        guard purchase.lineage != nil, let timestamp = event.timestamp else {
            return .incomplete(purchase.missing([]))
        }
        let stated = event.gracePeriodExpirationAt ?? (event.store == .stripe ? event.expirationAt : nil)
        let graceUntil = stated.flatMap { $0 > timestamp ? $0 : nil }
        return .events([
            EventDraft(
                id: notifiedID(purchase),
                event: .billingIssue(.init(access: graceUntil.map { .grace(until: $0) } ?? .suspended)),
                facts: purchase.provisional + [purchase.failedCharge(at: timestamp, graceUntil: graceUntil)]
                    + purchase.owner
            )
        ])
    }

    private func extended(_ purchase: PurchaseStatement) -> Outcome {
        guard let lineage = purchase.lineage, let complete = purchase.complete, event.timestamp != nil else {
            return .incomplete(purchase.missing)
        }
        let period = ServicePeriod(start: complete.start, end: complete.end)
        return .events([
            EventDraft(
                id: event.transactionID.map { .extended(lineage, transaction: $0, to: complete.end) }
                    ?? notifiedID(purchase),
                event: .extended(.init(to: complete.end, reason: .unknown)),
                facts: [.period(purchase.fact(period, complete.product))] + purchase.owner
            )
        ])
    }

    private func refundReversed(_ purchase: PurchaseStatement) -> Outcome {
        guard let lineage = purchase.lineage, let timestamp = event.timestamp,
            let transaction = event.transactionID ?? event.originalTransactionID
        else { return .incomplete(purchase.missing([])) }
        var facts: [Fact] = []
        if let complete = purchase.complete {
            facts.append(
                .period(purchase.fact(ServicePeriod(start: complete.start, end: complete.end), complete.product))
            )
        }
        facts.append(
            .refund(
                .init(
                    transaction: transaction,
                    scope: nil,
                    at: timestamp,
                    periodStart: event.expirationAt == nil ? nil : event.purchasedAt,
                    endsAccess: false
                )
            )
        )
        return .events([
            EventDraft(
                id: .refundReversed(lineage, transaction: transaction),
                event: .refundReversed(.init(transaction: transaction)),
                facts: facts + purchase.owner
            )
        ])
    }

    private func priceConsent(
        _ purchase: PurchaseStatement,
        _ stage: LifecycleEvent.PriceChange.Stage
    ) -> Outcome {
        guard purchase.lineage != nil else { return .incomplete(purchase.missing([])) }
        let change = LifecycleEvent.PriceChange(stage: stage, consentRequired: stage == .pending)
        return .events([
            EventDraft(
                id: notifiedID(purchase),
                event: .priceChange(change),
                facts: [.priceChange(.init(change))] + purchase.owner
            )
        ])
    }
}

// MARK: Product changes

extension Mapping {
    /// Whether a change takes effect at once or at the end of the period, only Play's bodies tell: a deferred one names
    /// the new product, an immediate one does not, for its purchase does. Elsewhere it is pending until a period of
    /// the new product begins.
    private func productChange(_ purchase: PurchaseStatement) -> Outcome {
        guard let lineage = purchase.lineage, let from = event.productID, let timestamp = event.timestamp else {
            return .incomplete(purchase.missing(["product_id"]))
        }
        let periodEnd = event.expirationAt.flatMap { $0 > timestamp ? $0 : nil }
        let facts = purchase.provisional + purchase.owner
        guard let to = event.newProductID else {
            if event.store == .playStore { return .noChange(.reportedElsewhere, facts: facts) }
            guard let snapshot = notification.answeredSubscription else {
                return .noChange(.needsLookup, facts: facts)
            }
            guard let pending = snapshot.pendingProduct else { return .noChange(.unchanged, facts: facts) }
            return scheduled(lineage, from, pending, snapshot.period?.end ?? periodEnd, .store, facts)
        }
        guard from != to else {
            return .events([
                EventDraft(
                    id: notifiedID(purchase),
                    event: .productChangeReverted(
                        .init(to: to, direction: .unknown, timing: .atPeriodEnd(periodEnd), basis: .store)
                    ),
                    facts: purchase.provisional + [.nextProduct(.init(nil))] + purchase.owner
                )
            ])
        }
        let basis: LifecycleEvent.ProductChange.Basis = event.store == .playStore ? .store : .inferred
        return scheduled(lineage, from, to, periodEnd, basis, facts)
    }

    private func scheduled(
        _ lineage: SubscriptionID,
        _ from: String,
        _ to: String,
        _ date: Date?,
        _ basis: LifecycleEvent.ProductChange.Basis,
        _ facts: [Fact]
    ) -> Outcome {
        .events([
            EventDraft(
                id: .changeScheduled(lineage, from: from, to: to, at: date),
                event: .productChangeScheduled(
                    .init(
                        from: from,
                        to: to,
                        direction: .unknown,
                        timing: .atPeriodEnd(basis == .store ? date : nil),
                        basis: basis
                    )
                ),
                facts: facts + [.nextProduct(.init(to))]
            )
        ])
    }
}

// MARK: Customers and notices

extension Mapping {
    private func transferred() -> Outcome {
        guard !event.transferredTo.isEmpty, event.timestamp != nil else {
            return .incomplete(event.timestamp == nil ? ["event_timestamp_ms"] : ["transferred_to"])
        }
        let transfer = LifecycleEvent.Transfer(
            from: event.transferredFrom.map { Account.Identifier($0, .appUserID) },
            to: event.transferredTo.map { Account.Identifier($0, .appUserID) }
        )
        return .events([
            EventDraft(
                id: notificationID(),
                event: .transferred(transfer),
                facts: [.transfer(transfer)],
                account: Account(appUserIDs: event.transferredTo),
                isAboutPurchase: false
            )
        ])
    }

    /// Under `alias` two ids turn out to be one customer. What moves under `transfer` comes in a webhook of its own.
    private func redeemed() -> Outcome {
        let ids =
            event.notes["redemption_outcome"] == "alias" ? event.redeemedBy + event.redeemedFrom : event.redeemedBy
        return notice(.accountsLinked, account: Account(appUserIDs: ids))
    }

    /// One event for each currency that changed.
    private func virtualCurrency() -> Outcome {
        guard !event.adjustments.isEmpty else { return notice(.virtualCurrency) }
        let drafts = event.adjustments.enumerated().map { ordinal, adjustment in
            var facts = event.notes
            facts["currency"] = adjustment.currency
            facts["amount"] = String(adjustment.amount)
            facts["transaction"] = event.transactionID
            facts["product"] = event.productID
            return EventDraft(
                id: notificationID(ordinal: ordinal),
                event: .notice(.init(.virtualCurrency, facts: facts)),
                isAboutPurchase: false
            )
        }
        return .events(drafts)
    }

    private func notice(
        _ kind: LifecycleEvent.Notice.Kind,
        about purchase: PurchaseStatement? = nil,
        account: Account? = nil
    ) -> Outcome {
        .events([
            EventDraft(
                id: purchase.map(notifiedID) ?? notificationID(),
                event: .notice(.init(kind, facts: kind == .test ? [:] : event.notes)),
                account: account,
                isAboutPurchase: purchase != nil
            )
        ])
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

    private func notifiedID(_ purchase: PurchaseStatement) -> EventID {
        purchase.lineage.map { .notified($0, by: .revenuecat, notification: event.id) } ?? notificationID()
    }

    private func notificationID(ordinal: Int = 0) -> EventID {
        EventID(
            provider: .revenuecat,
            environment: event.environment?.canonical ?? .unknown,
            notification: event.id,
            ordinal: ordinal
        )
    }
}
