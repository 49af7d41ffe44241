import FoundationEssentials
public import LifecycleEvents
import SignatureCore

extension AppleAdapter {
    static let mapper = "apple/1"

    /// Maps a notification to the event that it stands for, with the facts that its data asserts.
    ///
    /// - Throws: `DeliveryError` with `malformed` if a notification lacks the data that its type is about; marked authentic if Apple
    ///   signed it, which Xcode's test data is not.
    public func normalize(_ notification: Authenticated<AppleNotification>) throws(DeliveryError) -> Normalization {
        let value = notification.value
        let mapping = NotificationMapping(value)
        let envelope = EventEnvelope(
            provider: .apple,
            store: .appStore,
            environment: mapping.environment.canonical,
            app: mapping.bundleID,
            occurredAt: value.signedDate,
            assertedAt: value.signedDate,
            receivedAt: notification.receivedAt,
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
        return Normalization(
            envelope.events(try mapping.drafts(), about: mapping.subject),
            anomalies: value.anomalies + (mapping.snapshot?.anomalies ?? [])
        )
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
                    isAuthentic: transaction.value.isSigned
                )
            }
        }
        let value = transaction.value
        // A client chooses the parts of its upload. Neither may make the other any younger or older: a transaction may have been
        // replaced since, renewal turned off, and another account set.
        let separate = renewalInfo.flatMap { $0.signedDate == value.signedDate ? nil : $0 }
        let snapshot = AppleSnapshot(
            transaction: value,
            renewalInfo: separate == nil ? renewalInfo : nil,
            status: status,
            assertedAt: value.signedDate
        )
        let envelope = EventEnvelope(
            provider: .apple,
            store: .appStore,
            environment: value.environment.canonical,
            app: value.bundleID,
            occurredAt: snapshot.beganAt,
            assertedAt: value.signedDate,
            receivedAt: transaction.receivedAt,
            origin: Origin(
                type: "JWSTransaction",
                channel: transaction.channel,
                evidence: transaction.evidence,
                digest: transaction.bodyDigest,
                mapper: Self.mapper
            )
        )
        let further = separate.map { renewalInfo in
            statement(
                transaction.map { _ in renewalInfo },
                beside: snapshot,
                digest: BodyDigest(of: renewalInfo.payload)
            )
        }
        var subject = snapshot.subject
        if let separate {
            // The event says all that the upload shows. The facts of each part count from when that part was signed.
            subject.renewal = further?.terms
            if value.appAccountToken == nil { subject.account = snapshot.owner(by: separate) ?? subject.account }
        }
        return Normalization(
            envelope.events(snapshot.uploadDrafts, about: subject),
            furtherStatements: [further?.statement].compactMap(\.self),
            anomalies: [value.anomalies, renewalInfo?.anomalies ?? [], further?.anomalies ?? [], snapshot.anomalies]
                .flatMap(\.self)
        )
    }
}

extension AppleAdapter {
    /// Maps renewal info that came alone. It names no transaction, so it gives facts and no event.
    public func normalize(_ renewalInfo: Authenticated<AppleRenewalInfo>) -> Normalization {
        Normalization(
            noChange: .init(.unchanged, statement: statement(renewalInfo, digest: renewalInfo.bodyDigest).statement),
            anomalies: renewalInfo.value.anomalies
        )
    }

    private func statement(
        _ renewalInfo: Authenticated<AppleRenewalInfo>,
        beside snapshot: AppleSnapshot? = nil,
        digest: BodyDigest
    ) -> (statement: StoreStatement, terms: RenewalTerms?, anomalies: [String]) {
        let value = renewalInfo.value
        let environment = value.environment.canonical
        // Renewal info is about the purchase that ends when it says, whichever of the two was signed first.
        let purchase = snapshot.flatMap { snapshot in
            let transaction = snapshot.transaction
            return !transaction.isUpgraded && transaction.expiresDate == value.renewalDate ? snapshot : nil
        }
        // That it existed when the renewal info was signed makes the transaction older at most, never younger.
        let period = purchase.flatMap { value.signedDate < $0.assertedAt ? $0.periodFact : nil }
        let renewal = AppleRenewalSnapshot(
            renewalInfo: value,
            transaction: purchase?.transaction,
            status: snapshot?.status
        )
        let envelope = EventEnvelope(
            provider: .apple,
            store: .appStore,
            environment: environment,
            occurredAt: value.signedDate,
            assertedAt: value.signedDate,
            receivedAt: renewalInfo.receivedAt,
            origin: Origin(
                type: "JWSRenewalInfo",
                channel: renewalInfo.channel,
                evidence: renewalInfo.evidence,
                digest: digest,
                mapper: Self.mapper
            )
        )
        let owner = snapshot?.owner(by: value).map(Fact.owner)
        let statement = envelope.statement(
            [period].compactMap(\.self) + renewal.facts + [owner].compactMap(\.self),
            about: SubscriptionID(store: .appStore, environment: environment, id: value.originalTransactionID)
        )
        return (statement, renewal.terms, renewal.anomalies)
    }
}
