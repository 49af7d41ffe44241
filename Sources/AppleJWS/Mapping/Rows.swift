import FoundationEssentials
import LifecycleEvents

/// The table of App Store Server Notifications V2: one row per type, by subtype.
///
/// Apple's page "notificationType" lists types and subtypes. A type keeps its meaning under an unknown subtype: the
/// subtype's meaning is read from the data, or left out. An unknown type becomes `unmapped`, next to the events that
/// its transaction shows by itself.
struct NotificationMapping {
    let notification: AppleNotification
    let snapshot: AppleSnapshot?

    init(_ notification: AppleNotification) {
        self.notification = notification
        guard case .data(let data) = notification.content, let transaction = data.transaction else {
            snapshot = nil
            return
        }
        snapshot = AppleSnapshot(
            transaction: transaction,
            renewalInfo: data.renewalInfo,
            status: data.status,
            notification: (notification.type, notification.subtype),
            assertedAt: notification.signedDate
        )
    }

    var environment: AppleEnvironment {
        switch notification.content {
        case .data(let data): data.environment
        case .summary(let summary): summary.environment
        case .externalPurchaseToken(let token): token.environment
        case .appData(let data): data.environment
        }
    }

    var bundleID: String {
        switch notification.content {
        case .data(let data): data.bundleID
        case .summary(let summary): summary.bundleID
        case .externalPurchaseToken(let token): token.bundleID
        case .appData(let data): data.bundleID
        }
    }

    /// The purchase or customer that the notification is about.
    var subject: EventSubject {
        if let snapshot { return snapshot.subject }
        switch notification.content {
        case .appData(let data):
            return EventSubject(account: data.appTransaction?.appTransactionID.map { Account($0, .appTransactionID) })
        case .summary(let summary):
            return EventSubject(product: summary.productID.map { PurchasedProduct(id: ProductID($0)) })
        default:
            return EventSubject()
        }
    }

    /// The notification's events, in the order in which they take effect.
    func drafts() throws(DeliveryError) -> [EventDraft] {
        let draft = try draft()
        // An unknown type may be about a period that nothing else reports. The identity of its beginning shows if
        // another notification did.
        guard let snapshot, mayBegin(snapshot, with: draft.event) else { return [draft] }
        return snapshot.uploadDrafts + [draft]
    }

    /// True if a notification that does not say so may carry a new purchase. One without a subtype has done so
    /// (https://developer.apple.com/forums/thread/765643).
    private func mayBegin(_ snapshot: AppleSnapshot, with event: LifecycleEvent) -> Bool {
        if case .unmapped = event { return true }
        guard notification.type == .didChangeRenewalPref, snapshot.transaction.isPurchase, !snapshot.transaction.isFirst
        else { return false }
        return notification.subtype != .upgrade && notification.subtype != .downgrade
    }

    private func draft() throws(DeliveryError) -> EventDraft {
        switch notification.type {
        case .subscribed: try subscribed()
        case .didRenew: try didRenew()
        case .didFailToRenew: try didFailToRenew()
        case .gracePeriodExpired: try gracePeriodExpired()
        case .expired: expired(try requiredSubscription())
        case .didChangeRenewalStatus: try didChangeRenewalStatus()
        case .didChangeRenewalPref: try didChangeRenewalPref()
        case .offerRedeemed: try offerRedeemed()
        case .priceIncrease: try priceIncrease()
        case .priceChange: try priceChange()
        case .metadataUpdate: notice(.metadata)
        // Apple's change log spells this type both ways.
        case .migration, "MIGRATE": try migration()
        case .oneTimeCharge: try required().oneTimePurchased
        case .refund: try refund()
        case .refundDeclined: try onTransaction { .refundDeclined($0) }
        case .refundReversed: try refundReversed()
        case .consumptionRequest: try consumptionRequest()
        case .revoke: try revoke()
        case .renewalExtended: try renewalExtended()
        case .renewalExtension: renewalExtension()
        case .externalPurchaseToken: externalPurchaseToken()
        case .rescindConsent: notified(.revoked(.init(reason: .consentRescinded)))
        case .test: notice(.test)
        default: unmapped
        }
    }
}

// MARK: Rows

extension NotificationMapping {
    /// First purchase in the group, or purchase after a lapse; for family members the first sharing.
    private func subscribed() throws(DeliveryError) -> EventDraft {
        let snapshot = try requiredSubscription()
        return snapshot.started(origin(of: snapshot))
    }

    private func origin(of snapshot: AppleSnapshot) -> LifecycleEvent.Started.Origin {
        if snapshot.isFamilyShared { return .familyShared }
        switch notification.subtype {
        case .initialBuy?: return .new
        case .resubscribe?: return .resubscribed
        default: return snapshot.transaction.isFirst ? .new : .resubscribed
        }
    }

    /// A renewal as planned, or after failed attempts. Only the state knows the trouble before, grace or retry.
    private func didRenew() throws(DeliveryError) -> EventDraft {
        let snapshot = try requiredSubscription()
        switch notification.subtype {
        case nil: return snapshot.renewed(.scheduled)
        case .billingRecovery?: return snapshot.renewed(.recovery(from: .unknown))
        default: return snapshot.renewed(.unknown)
        }
    }

    /// With a grace period access continues until `gracePeriodExpiresDate`, and no longer. If Apple does not try again,
    /// the subscription has expired.
    private func didFailToRenew() throws(DeliveryError) -> EventDraft {
        let snapshot = try requiredSubscription()
        if snapshot.isGivenUp { return expired(snapshot) }
        let grace = notification.subtype == nil ? nil : snapshot.graceUntil
        return notified(
            .billingIssue(
                .init(
                    access: grace.map { .grace(until: $0) } ?? .suspended,
                    retryUntil: snapshot.transaction.retryUntil
                )
            )
        )
    }

    private func gracePeriodExpired() throws(DeliveryError) -> EventDraft {
        let snapshot = try requiredSubscription()
        return notified(.gracePeriodExpired, occurredAt: snapshot.graceUntil)
    }

    /// The subtype gives the reason; without one, `expirationIntent` does.
    private func expired(_ snapshot: AppleSnapshot) -> EventDraft {
        EventDraft(
            id: .ended(
                snapshot.lineage,
                transaction: snapshot.transactionID,
                product: snapshot.productName,
                periodStart: snapshot.period.start
            ),
            event: .expired(.init(reason: snapshot.expiryReason(subtype: notification.subtype))),
            occurredAt: snapshot.expiredAt
        )
    }

    /// Turning renewal off takes nothing away.
    private func didChangeRenewalStatus() throws(DeliveryError) -> EventDraft {
        let snapshot = try requiredSubscription()
        let isOff =
            switch notification.subtype {
            case .autoRenewEnabled?: false
            case .autoRenewDisabled?: true
            default: snapshot.terms.map { !$0.willRenew }
            }
        switch isOff {
        case false?:
            return notified(.autoRenewEnabled)
        case true?:
            let reason = snapshot.disabledReason ?? .customer
            let accessUntil =
                reason == .commitment && snapshot.revokedAt == nil
                ? snapshot.transaction.commitment?.expiresDate ?? snapshot.accessEnd : snapshot.accessEnd
            return notified(
                .autoRenewDisabled(.init(reason: reason, accessUntil: accessUntil)),
                effectiveAt: accessUntil
            )
        case nil:
            return unmapped
        }
    }

    /// An upgrade carries the new transaction, a downgrade the current one; without a subtype the customer went back to
    /// the current product. A purchase in it is an event of its own.
    private func didChangeRenewalPref() throws(DeliveryError) -> EventDraft {
        let snapshot = try requiredSubscription()
        switch notification.subtype {
        case .upgrade?: return snapshot.upgraded
        case .downgrade?: return changeScheduled(snapshot)
        case _ where snapshot.plansChange: return changeScheduled(snapshot)
        default:
            let renewsAt = snapshot.renewalInfo?.renewalDate ?? snapshot.transaction.expiresDate
            return EventDraft(
                id: .notified(snapshot.lineage, by: .apple, notification: notification.notificationUUID),
                event: .productChangeReverted(
                    .init(
                        to: snapshot.productName,
                        direction: .unknown,
                        timing: .atPeriodEnd(renewsAt),
                        basis: .store
                    )
                )
            )
        }
    }

    private func changeScheduled(_ snapshot: AppleSnapshot) -> EventDraft {
        guard let next = snapshot.renewal?.nextProduct else { return unmapped }
        let date = snapshot.renewalInfo?.renewalDate ?? snapshot.transaction.expiresDate
        return EventDraft(
            id: .changeScheduled(snapshot.lineage, from: snapshot.productName, to: next, at: date),
            event: .productChangeScheduled(
                .init(
                    from: snapshot.productName,
                    to: next,
                    direction: notification.subtype == .downgrade ? .downgrade : .unknown,
                    timing: .atPeriodEnd(date),
                    basis: .store
                )
            ),
            effectiveAt: date
        )
    }

    /// Redeemed by an active subscriber. Purchases under an offer were once reported here, too.
    private func offerRedeemed() throws(DeliveryError) -> EventDraft {
        let snapshot = try requiredSubscription()
        switch notification.subtype {
        case .initialBuy?, .resubscribe?: return snapshot.started(origin(of: snapshot))
        case .upgrade?: return snapshot.upgraded
        case .downgrade?: return changeScheduled(snapshot)
        default:
            // An offer on the next renewal that the current period was not sold under is the one just redeemed.
            if let next = snapshot.nextOffer, next != snapshot.offer {
                return notified(
                    .offerRedeemed(.init(offer: next)),
                    effectiveAt: snapshot.renewalInfo?.renewalDate ?? snapshot.transaction.expiresDate
                )
            }
            guard let offer = snapshot.offer else { return unmapped }
            return EventDraft(
                id: .periodBegan(
                    snapshot.lineage,
                    transaction: snapshot.transactionID,
                    product: snapshot.productName
                ),
                event: .offerRedeemed(.init(offer: offer, period: snapshot.period)),
                occurredAt: snapshot.beganAt
            )
        }
    }

    /// `PENDING` needs the customer's consent; `ACCEPTED` is consent, or a notice that needs none.
    private func priceIncrease() throws(DeliveryError) -> EventDraft {
        let snapshot = try requiredSubscription()
        let stage: LifecycleEvent.PriceChange.Stage
        switch notification.subtype {
        case .pending?: stage = .pending
        case .accepted?: stage = .accepted
        default: stage = snapshot.renewalInfo?.priceIncreaseStatus == .accepted ? .accepted : .pending
        }
        return priceChange(snapshot, stage: stage, consentRequired: stage == .pending)
    }

    /// The developer's own change, through the Advanced Commerce API; its items say how far it has come.
    private func priceChange() throws(DeliveryError) -> EventDraft {
        let snapshot = try requiredSubscription()
        let statuses = snapshot.renewalInfo?.advancedCommerce?.items.compactMap(\.priceIncrease?.status) ?? []
        if !statuses.isEmpty, statuses.allSatisfy({ $0 == "ACCEPTED" }) {
            return priceChange(snapshot, stage: .accepted, consentRequired: false)
        }
        return priceChange(snapshot, stage: .pending, consentRequired: statuses.contains("PENDING"))
    }

    private func priceChange(
        _ snapshot: AppleSnapshot,
        stage: LifecycleEvent.PriceChange.Stage,
        consentRequired: Bool
    ) -> EventDraft {
        let date = snapshot.renewalInfo?.renewalDate ?? snapshot.transaction.expiresDate
        return notified(
            .priceChange(
                .init(
                    stage: stage,
                    old: snapshot.transaction.price,
                    new: snapshot.renewalInfo?.renewalPrice,
                    effectiveAt: date,
                    consentRequired: consentRequired
                )
            ),
            effectiveAt: date
        )
    }

    private func migration() throws(DeliveryError) -> EventDraft {
        let previous = try required().transaction.previousOriginalTransactionID
        return notice(.migration, previous.map { ["previous_original_transaction_id": $0] } ?? [:])
    }

    /// `status` shows if access rests on the refunded transaction: if the subscription is active, it rests on another.
    /// A transaction that has ended by itself gave no access any more.
    private func refund() throws(DeliveryError) -> EventDraft {
        let snapshot = try required()
        let isCurrent: Bool?
        switch snapshot.status {
        // Access continues with the remaining items.
        case .active?, .gracePeriod?: isCurrent = snapshot.endsItem ? nil : false
        case .revoked?: isCurrent = true
        case .expired?, .billingRetry?:
            let refundedAt = snapshot.transaction.revocationDate ?? notification.signedDate
            isCurrent = snapshot.transaction.expiresDate.map { refundedAt < $0 }
        default: isCurrent = nil
        }
        return snapshot.refunded(isCurrent: isCurrent)
    }

    private func refundReversed() throws(DeliveryError) -> EventDraft {
        let snapshot = try required()
        return EventDraft(
            id: .refundReversed(snapshot.lineage, transaction: snapshot.purchaseID),
            event: .refundReversed(.init(transaction: snapshot.purchaseID))
        )
    }

    /// Apple waits twelve hours for an answer, and asks again under a new UUID.
    private func consumptionRequest() throws(DeliveryError) -> EventDraft {
        let snapshot = try required()
        guard case .data(let data) = notification.content else { return unmapped }
        return notified(
            .refundRequested(
                .init(
                    transaction: snapshot.transactionID,
                    reason: data.consumptionRequestReason,
                    answerBy: notification.signedDate.addingTimeInterval(12 * 3600)
                )
            )
        )
    }

    /// Family Sharing ended for this member. No money went back to them.
    private func revoke() throws(DeliveryError) -> EventDraft {
        try required().revoked
    }

    private func renewalExtended() throws(DeliveryError) -> EventDraft {
        let snapshot = try requiredSubscription()
        let end = snapshot.transaction.expiresDate ?? notification.signedDate
        return EventDraft(
            id: .extended(
                snapshot.lineage,
                transaction: snapshot.transactionID,
                product: snapshot.productName,
                to: end
            ),
            event: .extended(.init(to: end, reason: .developer))
        )
    }

    /// `SUMMARY` closes a mass request; `FAILURE` is about one subscription of it.
    private func renewalExtension() -> EventDraft {
        switch (notification.subtype, notification.content) {
        case (.failure?, _):
            return notice(.extensionFailed)
        // One of Apple's pages writes SUCCESS for SUMMARY; the object decides.
        case (_, .summary(let summary)):
            var facts: [String: String] = [:]
            facts["request_identifier"] = summary.requestIdentifier
            facts["succeeded_count"] = summary.succeededCount.map(String.init)
            facts["failed_count"] = summary.failedCount.map(String.init)
            if !summary.storefrontCountryCodes.isEmpty {
                facts["storefront_country_codes"] = summary.storefrontCountryCodes.joined(separator: ",")
            }
            return notice(.extensionSummary, facts)
        default:
            return unmapped
        }
    }

    private func externalPurchaseToken() -> EventDraft {
        guard case .externalPurchaseToken(let token) = notification.content else { return unmapped }
        var facts = ["external_purchase_id": token.externalPurchaseID]
        facts["stage"] = notification.subtype?.rawValue.lowercased()
        facts["token_type"] = token.tokenType
        facts["created_at"] = token.tokenCreationDate.map { RFC3339.string($0.millisecondsSince1970) }
        facts["expires_at"] = token.tokenExpirationDate.map { RFC3339.string($0.millisecondsSince1970) }
        return notice(.externalPurchaseToken, facts)
    }
}

// MARK: Shapes

extension NotificationMapping {
    private func required() throws(DeliveryError) -> AppleSnapshot {
        guard let snapshot else {
            throw malformed("notification carries no signedTransactionInfo")
        }
        return snapshot
    }

    private func requiredSubscription() throws(DeliveryError) -> AppleSnapshot {
        let snapshot = try required()
        guard snapshot.transaction.expiresDate != nil else {
            throw malformed("transaction of a subscription has no expiresDate")
        }
        return snapshot
    }

    private func malformed(_ message: String) -> DeliveryError {
        DeliveryError(.malformed, message, isAuthentic: notification.isSigned)
    }

    private var notifiedID: EventID {
        guard let snapshot else {
            return EventID(
                provider: .apple,
                environment: environment.canonical,
                notification: notification.notificationUUID
            )
        }
        return .notified(snapshot.lineage, by: .apple, notification: notification.notificationUUID)
    }

    private func notified(
        _ event: LifecycleEvent,
        occurredAt: Date? = nil,
        effectiveAt: Date? = nil
    ) -> EventDraft {
        EventDraft(id: notifiedID, event: event, occurredAt: occurredAt, effectiveAt: effectiveAt)
    }

    private func notice(_ kind: LifecycleEvent.Notice.Kind, _ facts: [String: String] = [:]) -> EventDraft {
        notified(.notice(.init(kind, facts: facts)))
    }

    private func onTransaction(
        _ event: (LifecycleEvent.TransactionReference) -> LifecycleEvent
    ) throws(DeliveryError) -> EventDraft {
        notified(event(.init(transaction: try required().transactionID)))
    }

    private var unmapped: EventDraft {
        notified(
            .unmapped(.init(type: notification.type.rawValue, subtype: notification.subtype?.rawValue))
        )
    }
}
