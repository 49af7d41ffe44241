import FoundationEssentials
public import LifecycleEvents
import SignatureCore

extension AppleAdapter {
    static let mapper = "apple/1"

    /// Maps a notification to the event that it stands for, with the facts that its data asserts.
    ///
    /// - Throws: `DeliveryError` with `malformed`, marked authentic, where a notification lacks the data that its
    ///   type is about.
    public func normalize(_ notification: Authenticated<AppleNotification>) throws(DeliveryError) -> Normalization {
        let value = notification.value
        let mapping = NotificationMapping(value)
        let snapshot = mapping.snapshot
        let drafts = try mapping.drafts()
        let facts = (snapshot?.facts() ?? []).assigned(to: drafts.map(\.event))
        let events = zip(drafts, facts).map { draft, facts in
            NormalizedEvent(
                id: draft.id,
                event: draft.event,
                provider: .apple,
                store: .appStore,
                environment: mapping.environment.canonical,
                app: mapping.bundleID,
                subscription: snapshot?.lineage,
                transaction: snapshot?.purchaseID,
                account: mapping.account,
                product: mapping.product,
                period: snapshot.flatMap { $0.isSubscription ? $0.period : nil },
                price: snapshot?.price,
                country: snapshot?.country,
                commitment: snapshot?.commitment,
                lineItem: snapshot?.lineItem,
                items: snapshot?.items,
                renewal: snapshot?.terms,
                occurredAt: draft.occurredAt ?? value.signedDate,
                effectiveAt: draft.effectiveAt ?? draft.occurredAt ?? value.signedDate,
                assertedAt: value.signedDate,
                receivedAt: notification.receivedAt,
                facts: facts,
                origin: Origin(
                    type: value.type.rawValue,
                    subtype: value.subtype?.rawValue,
                    notificationID: value.notificationUUID,
                    channel: notification.channel,
                    evidence: notification.evidence,
                    digest: notification.bodyDigest,
                    mapper: Self.mapper
                )
            )
        }
        return Normalization(events, anomalies: value.anomalies + (snapshot?.anomalies ?? []))
    }

    /// Maps a transaction that came without a notification: from a client, or from the App Store Server API.
    ///
    /// The facts and the identities are those of Apple's notification of the same transaction. An event that a
    /// notification words more exactly, such as an upgrade, is here a renewal of unknown cause; the state knows the
    /// cause.
    ///
    /// Renewal info that was signed at another time than the transaction is a statement of its own, among
    /// `Normalization.furtherStatements`.
    ///
    /// - Parameters:
    ///   - transaction: the verified transaction.
    ///   - renewalInfo: the renewal info that came with it, of the same subscription.
    ///   - status: the subscription's status, if Apple's server states it with the transaction (Get All Subscription
    ///     Statuses).
    public func normalize(
        _ transaction: Authenticated<AppleTransaction>,
        renewalInfo: AppleRenewalInfo? = nil,
        status: AppleNotification.Status? = nil
    ) throws(DeliveryError) -> Normalization {
        if let renewalInfo {
            guard
                renewalInfo.originalTransactionID.hasOctets(of: transaction.value.originalTransactionID),
                renewalInfo.environment == transaction.value.environment
            else {
                throw DeliveryError(
                    .misdirected,
                    "transaction and renewal info are of different lineages",
                    isAuthentic: true
                )
            }
        }
        let value = transaction.value
        let snapshot = AppleSnapshot(
            transaction: value,
            renewalInfo: renewalInfo,
            status: status,
            assertedAt: value.signedDate
        )
        // A client chooses the parts of its upload. Neither may make the other any younger: a transaction may have been
        // replaced since, and renewal turned off.
        let separate = renewalInfo.flatMap { $0.signedDate == value.signedDate ? nil : $0 }
        let facts = snapshot.facts(withRenewal: separate == nil)
        let further = separate.map { renewalInfo in
            statement(
                of: renewalInfo,
                beside: snapshot,
                channel: transaction.channel,
                evidence: transaction.evidence,
                digest: BodyDigest(of: renewalInfo.payload)
            )
        }
        let drafts = snapshot.uploadDrafts
        let events = zip(drafts, facts.assigned(to: drafts.map(\.event))).map { draft, facts in
            NormalizedEvent(
                id: draft.id,
                event: draft.event,
                provider: .apple,
                store: .appStore,
                environment: value.environment.canonical,
                app: value.bundleID,
                subscription: snapshot.lineage,
                transaction: snapshot.purchaseID,
                account: snapshot.account,
                product: snapshot.product,
                period: snapshot.isSubscription ? snapshot.period : nil,
                price: snapshot.price,
                country: snapshot.country,
                commitment: snapshot.commitment,
                lineItem: snapshot.lineItem,
                items: snapshot.items,
                renewal: snapshot.terms,
                occurredAt: draft.occurredAt ?? snapshot.beganAt,
                effectiveAt: draft.effectiveAt ?? draft.occurredAt ?? snapshot.beganAt,
                assertedAt: snapshot.assertedAt,
                receivedAt: transaction.receivedAt,
                facts: facts,
                origin: Origin(
                    type: "JWSTransaction",
                    channel: transaction.channel,
                    evidence: transaction.evidence,
                    digest: transaction.bodyDigest,
                    mapper: Self.mapper
                )
            )
        }
        return Normalization(
            events,
            furtherStatements: [further].compactMap(\.self),
            anomalies: value.anomalies + (renewalInfo?.anomalies ?? []) + snapshot.anomalies
        )
    }
}

extension AppleAdapter {
    /// Maps renewal info that came alone. It names no transaction, so it gives facts and no event.
    public func normalize(_ renewalInfo: Authenticated<AppleRenewalInfo>) -> Normalization {
        let statement = statement(
            of: renewalInfo.value,
            channel: renewalInfo.channel,
            evidence: renewalInfo.evidence,
            digest: renewalInfo.bodyDigest
        )
        return Normalization(
            noChange: .init(.unchanged, statement: statement),
            anomalies: renewalInfo.value.anomalies
        )
    }

    private func statement(
        of renewalInfo: AppleRenewalInfo,
        beside snapshot: AppleSnapshot? = nil,
        channel: Origin.Channel,
        evidence: Origin.Evidence,
        digest: BodyDigest
    ) -> StoreStatement {
        // Renewal info that was signed moments before the transaction is about its period all the same. That it existed
        // then makes the transaction older at most, never younger.
        var period: [Fact] = []
        if let snapshot, renewalInfo.signedDate < snapshot.assertedAt, let end = snapshot.transaction.expiresDate,
            end == renewalInfo.renewalDate
        {
            period = [snapshot.periodFact]
        }
        return StoreStatement(
            subscription: SubscriptionID(
                store: .appStore,
                environment: renewalInfo.environment.canonical,
                id: renewalInfo.originalTransactionID
            ),
            provider: .apple,
            assertedAt: renewalInfo.signedDate,
            facts: period + AppleRenewalSnapshot(renewalInfo: renewalInfo, transaction: nil).facts,
            origin: Origin(
                type: "JWSRenewalInfo",
                channel: channel,
                evidence: evidence,
                digest: digest,
                mapper: Self.mapper
            )
        )
    }
}

/// An event before its envelope.
struct EventDraft {
    var id: EventID
    var event: LifecycleEvent
    /// When it happened; absent means when it was signed.
    var occurredAt: Date?
    /// From when it has effect; absent means when it happened.
    var effectiveAt: Date?
}
