import FoundationEssentials
import LifecycleEvents
import WireJSON

/// Maps one event, or the answer to one question. Pure: it reads only these and the objects fetched for them.
struct Mapping {
    /// Which version of the mapping made an event.
    static let version = "stripe/1"

    private let resolved: Authenticated<StripeOccasion>
    let policy: StripeAdapter.Policy
    let ownAccount: String?
    /// When the event was created, or a question asked.
    let created: Milliseconds

    init(_ resolved: Authenticated<StripeOccasion>, for adapter: StripeAdapter) {
        self.resolved = resolved
        policy = adapter.configuration.policy
        ownAccount = adapter.configuration.ownAccount
        switch resolved.value {
        case .notification(let notification):
            created = notification.createdMilliseconds
        case .question(let purchase):
            let answeredAt = purchase.answers[LookupRequest.object]?.answeredAt
            created = resolved.receivedAt.asked(answeredAt: answeredAt).millisecondsSince1970
        }
    }

    var occasion: StripeOccasion { resolved.value }
    var notification: StripeNotification? { occasion.notification }

    func normalization() throws(DeliveryError) -> Normalization {
        do throws(JSONError) {
            return normalization(of: try mapped())
        } catch {
            throw occasion.error(.malformed, error.description, underlying: error)
        }
    }

    private func mapped() throws(JSONError) -> Mapped {
        switch occasion {
        case .question(let purchase):
            guard let value = occasion.subject else { return notAsked }
            return try asked(purchase, value)
        case .notification(let notification):
            let row = Row(notification)
            guard row.isAboutObject else { return mapWithoutObject(row) }
            try notification.checkObject()
            guard row.readsObject || !notification.isThin else { return mapWithoutObject(row) }
            guard let value = notification.subject else { return notAsked }
            return try map(row, value)
        }
    }

    private func map(_ row: Row, _ value: JSONValue) throws(JSONError) -> Mapped {
        if row.namesObject { _ = try ObjectReader(value).utf8Slice(.id) }
        return switch row {
        case .subscriptionCreated: try subscription(value) { now, _ in subscriptionCreated(now) }
        case .subscriptionUpdated:
            try subscription(value) { now, previous throws(JSONError) in try subscriptionUpdated(now, previous) }
        case .subscriptionDeleted: try subscription(value) { now, _ in subscriptionDeleted(now) }
        case .subscriptionPaused: try subscription(value) { now, _ in subscriptionPaused(now) }
        case .subscriptionResumed: try subscription(value) { now, _ in subscriptionResumed(now) }
        case .trialWillEnd: try subscription(value) { now, _ in trialWillEnd(now) }
        case .pendingUpdateApplied: try subscription(value) { now, _ in statement(now, .reportedElsewhere) }
        case .pendingUpdateExpired: try subscription(value) { now, _ in pendingUpdateExpired(now) }
        case .subscriptionStep(let step): try subscription(value) { now, _ in subscriptionStep(step, now) }
        case .invoicePaid: try mapped(value, invoicePaid)
        case .invoicePayment: Mapped(outcome: try invoicePayment(value))
        case .invoiceSettled: try mapped(value, invoiceSettled)
        case .invoiceFailed(let actionRequired): try mapped(value) { invoiceFailed($0, actionRequired) }
        case .invoiceUpcoming: try mapped(value, invoiceUpcoming)
        case .invoiceNotice: try mapped(value, invoiceNotice)
        case .schedule: try mapped(value, schedule)
        case .scheduleEnded: try mapped(value, scheduleEnded)
        case .refund: try mapped(value) { refund throws(JSONError) in try self.refund(refund, Payment(value)) }
        case .refundFailed: try mapped(value) { refund throws(JSONError) in try refundFailed(refund, Payment(value)) }
        case .chargeRefundUpdated:
            try mapped(value) { refund throws(JSONError) in try chargeRefundUpdated(refund, Payment(value)) }
        case .chargeRefunded:
            try mapped(value) { charge throws(JSONError) in try chargeRefunded(charge, Payment(value)) }
        case .chargeCaptured:
            try mapped(value) { charge throws(JSONError) in try chargeCaptured(charge, Payment(value)) }
        case .chargeNames: Mapped(outcome: chargeNames(try Payment(value)))
        case .paymentCanceled: Mapped(outcome: try paymentCanceled(value))
        case .dispute: try mapped(value) { dispute throws(JSONError) in try self.dispute(dispute, Payment(value)) }
        case .disputeFunds:
            try mapped(value) { dispute throws(JSONError) in disputeFunds(dispute, try Payment(value)) }
        case .checkout: try mapped(value, checkout)
        case .checkoutFailed: try mapped(value, checkoutFailed)
        case .entitlements: Mapped(outcome: try entitlements(value))
        case .customerDeleted: Mapped(outcome: try customerDeleted(value))
        case .test, .reportedElsewhere, .unchanged, .unknown: mapWithoutObject(row)
        }
    }

    /// The outcome of an object.
    struct Mapped {
        let outcome: Outcome
        /// The paths of descriptive members that were of another kind.
        var anomalies: [String] = []
        /// Which step of its subscription an event is.
        var revision: Origin.Revision?
    }

    func mapped<Object: WireObject>(
        _ value: JSONValue,
        _ map: (Object) throws(JSONError) -> Outcome
    ) throws(JSONError) -> Mapped {
        let object = try Object(value, addOns: policy.addOnProducts)
        return Mapped(outcome: try map(object), anomalies: object.anomalies)
    }

    /// - Parameter map: takes the subscription, and its attributes before an update.
    private func subscription(
        _ value: JSONValue,
        _ map: (SubscriptionObject, PreviousAttributes?) throws(JSONError) -> Outcome
    ) throws(JSONError) -> Mapped {
        let subscription = try SubscriptionObject(value, addOns: policy.addOnProducts)
        let previous = try notification?.previous(of: subscription, policy)
        let revision = try notification?.revision(of: subscription, previous)
        return Mapped(outcome: try map(subscription, previous), anomalies: subscription.anomalies, revision: revision)
    }

    private func mapWithoutObject(_ row: Row) -> Mapped {
        switch row {
        case .test: Mapped(outcome: .events([notice(.test)]))
        case .reportedElsewhere: Mapped(outcome: .none(.reportedElsewhere))
        case .unchanged: Mapped(outcome: .none(.unchanged))
        default: Mapped(outcome: .events([unmapped()]))
        }
    }
}

extension Mapping {
    /// The result of a row.
    enum Outcome {
        /// - Parameters:
        ///   - beside: further facts about their lineage.
        ///   - assertedAt: when they were stated, if that was before the event or question that shows them.
        case events([Draft], beside: [Fact] = [], assertedAt: Milliseconds? = nil)
        case none(Normalization.NoChange.Reason, lineage: SubscriptionID? = nil, facts: [Fact] = [])
    }

    private func normalization(of mapped: Mapped) -> Normalization {
        var envelope = envelope(mapped.revision)
        let anomalies = mapped.anomalies + occasion.refused.map { "right to read \($0)" }
        switch mapped.outcome {
        case .events(let drafts, let facts, let time):
            if let time { envelope.assertedAt = min(envelope.assertedAt, time.date) }
            let lineage = facts.isEmpty ? nil : drafts.first?.subject.lineage
            return Normalization(
                drafts.map { envelope.event($0.event, about: $0.subject) },
                furtherStatements: lineage.map { [envelope.statement(facts, about: $0)] } ?? [],
                anomalies: anomalies
            )
        case .none(let reason, let lineage, let facts):
            let statement = lineage.map { envelope.statement(facts, about: $0) }
            return Normalization(
                noChange: Normalization.NoChange(reason, statement: statement),
                anomalies: anomalies
            )
        }
    }

    private var notAsked: Mapped { Mapped(outcome: .none(.needsLookup, lineage: namedLineage)) }

    /// The subscription that an event names or the host asked about.
    private var namedLineage: SubscriptionID? {
        switch occasion {
        case .notification(let notification):
            notification.relatedObject.flatMap { $0.type == "subscription" ? lineage($0.id) : nil }
        case .question(let purchase):
            purchase.kind == .subscription ? lineage(purchase.id) : nil
        }
    }

    /// The time of the event's creation. For a fetched object, which is as new as its answer: the time at which the
    /// host asked us to fetch it.
    private var assertedAt: Milliseconds {
        guard occasion.isFetched else { return created }
        return switch occasion {
        case .notification: max(created, resolved.receivedAt.millisecondsSince1970)
        // Events are created in whole seconds. One of the second in which we asked is at least as new as the answer.
        case .question: max(0, created - 1001)
        }
    }

    var environment: StoreEnvironment {
        switch occasion.isLive {
        case true?: .production
        case false?: .sandbox
        case nil: .unknown
        }
    }

    /// Names a lineage. An id is unique within its account, and connected accounts are others than ours.
    func lineage(_ id: String) -> SubscriptionID {
        let connected = occasion.account.flatMap { $0 == ownAccount ? nil : $0 }
        return SubscriptionID(store: .stripe, environment: environment, id: connected.map { "\($0)/\(id)" } ?? id)
    }

    /// The owner of an object: the host's own id if one is stated, then Stripe's customer.
    func account(customer: CustomerReference?, clientReference: String? = nil, metadata: JSONObject?) -> Account? {
        var account: Account?
        func add(_ id: String?, _ source: Account.Source) {
            guard let id, !id.isEmpty else { return }
            if account == nil {
                account = Account(id, source)
            } else {
                account?.aliases.append(Account.Identifier(id, source))
            }
        }
        for key in policy.accountMetadataKeys where account == nil {
            add(try? metadata?[MemberName(key)]?.string(), .metadata)
        }
        add(clientReference, .clientReferenceID)
        add(customer?.id, .stripeCustomer)
        add(customer?.account, .stripeCustomer)
        return account
    }

    private func envelope(_ revision: Origin.Revision?) -> EventEnvelope {
        let isFetched = occasion.isFetched
        return EventEnvelope(
            provider: .stripe,
            store: .stripe,
            environment: environment,
            app: occasion.account ?? ownAccount,
            occurredAt: created.date,
            assertedAt: assertedAt.date,
            receivedAt: resolved.receivedAt,
            origin: Origin(
                type: occasion.type,
                notificationID: notification?.id,
                channel: isFetched ? .refetch : resolved.channel,
                evidence: isFetched ? Origin.Evidence(.tls) : resolved.evidence,
                digest: resolved.bodyDigest,
                mapper: Self.version,
                revision: revision
            )
        )
    }

    /// The name of a notification that has no other name: a thin event and its snapshot twin are one.
    /// A question makes no event that takes its name.
    var notificationName: String { notification.map { $0.snapshotEvent ?? $0.id } ?? resolved.digest }

    /// The identity of an event for which no other provider has a name. Stripe's own objects distinguish it, so that
    /// all its notifications agree.
    func identity(_ lineage: SubscriptionID, _ name: String...) -> EventID {
        EventID(notifiedTo: lineage, by: .stripe, path: name)
    }

    func notice(
        _ kind: LifecycleEvent.Notice.Kind,
        _ facts: [String: String] = [:],
        about subject: EventSubject = EventSubject(),
        effectiveAt: Milliseconds? = nil
    ) -> Draft {
        Draft(
            EventID(provider: .stripe, environment: environment, notification: notificationName),
            .notice(LifecycleEvent.Notice(kind, facts: facts)),
            about: subject,
            effectiveAt: effectiveAt
        )
    }

    private func unmapped() -> Draft {
        Draft(
            EventID(provider: .stripe, environment: environment, notification: notificationName),
            .unmapped(LifecycleEvent.Unmapped(type: occasion.type)),
            about: EventSubject(lineage: namedLineage)
        )
    }
}
