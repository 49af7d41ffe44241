import FoundationEssentials
import LifecycleEvents
import WireJSON

/// Maps one event. Pure: it reads only the notification and the objects fetched for it.
///
/// A class, because closures that capture it would copy the whole notification.
final class Mapping {
    /// Which version of the mapping made an event.
    static let version = "stripe/1"

    let notification: StripeNotification
    let policy: StripeAdapter.Policy
    let ownAccount: String?
    let receivedAt: Date
    /// When the event was created, or a question asked.
    let created: Milliseconds
    private let channel: Origin.Channel
    private let evidence: Origin.Evidence
    private let digest: BodyDigest
    /// Which step of its subscription the event is.
    private var revision: Origin.Revision?
    /// The subscription's attributes before an update, as the event shows it.
    private(set) var previous: PreviousAttributes?

    init(_ resolved: Authenticated<StripeNotification>, policy: StripeAdapter.Policy, ownAccount: String?) {
        notification = resolved.value
        self.policy = policy
        self.ownAccount = ownAccount
        receivedAt = resolved.receivedAt
        created =
            notification.isQuestion
            ? receivedAt.asked(answeredAt: notification.answers[LookupRequest.object]?.answeredAt).millisecondsSince1970
            : notification.createdMilliseconds
        channel = resolved.channel
        evidence = resolved.evidence
        digest = resolved.bodyDigest
    }

    func normalization() throws(JSONError) -> Normalization {
        let row = Row(notification)
        switch object(for: row) {
        case .found(let value):
            let mapped = try map(row, value)
            return normalization(of: mapped.outcome, anomalies: mapped.anomalies)
        case .notNeeded: return normalization(of: mapWithoutObject(row))
        case .notAsked: return normalization(of: .none(.needsLookup, lineage: relatedLineage))
        case .absent: throw notification.absentObject
        }
    }

    private func map(_ row: Row, _ value: JSONValue) throws(JSONError) -> Mapped {
        if row.namesObject { _ = try ObjectReader(value).string(.id) }
        return switch row {
        case .subscriptionCreated: try mapped(value, subscriptionCreated)
        case .subscriptionUpdated: try mapped(value, subscriptionUpdated)
        case .subscriptionDeleted: try mapped(value, subscriptionDeleted)
        case .subscriptionPaused: try mapped(value, subscriptionPaused)
        case .subscriptionResumed: try mapped(value, subscriptionResumed)
        case .trialWillEnd: try mapped(value, trialWillEnd)
        case .pendingUpdateApplied: try mapped(value) { statement($0, .reportedElsewhere) }
        case .pendingUpdateExpired: try mapped(value, pendingUpdateExpired)
        case .subscriptionStep(let step): try mapped(value) { subscriptionStep(step, $0) }
        case .invoicePaid: try mapped(value, invoicePaid)
        case .invoicePayment: (try invoicePayment(value), [])
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
        case .chargeNames: (chargeNames(try Payment(value)), [])
        case .dispute: try mapped(value) { dispute throws(JSONError) in try self.dispute(dispute, Payment(value)) }
        case .checkout: try mapped(value, checkout)
        case .checkoutFailed: try mapped(value, checkoutFailed)
        case .entitlements: (try entitlements(value), [])
        case .customerDeleted: (try customerDeleted(value), [])
        case .subscriptionAsked: try subscriptionAsked(value)
        case .checkoutAsked: try mapped(value) { session throws(JSONError) in try checkoutAsked(session, value) }
        case .test, .reportedElsewhere, .unchanged, .unknown: (mapWithoutObject(row), [])
        }
    }

    /// An outcome, and the paths of descriptive members that were of another kind.
    typealias Mapped = (outcome: Outcome, anomalies: [String])

    private func mapped<Object: WireObject>(
        _ value: JSONValue,
        _ map: (Object) throws(JSONError) -> Outcome
    ) throws(JSONError) -> Mapped {
        let object = try Object(value, addOns: policy.addOnProducts)
        if let subscription = object as? SubscriptionObject {
            previous = try notification.previous(of: subscription, policy)
            revision = try notification.revision(of: subscription, previous)
        }
        return (try map(object), object.anomalies)
    }

    private func mapWithoutObject(_ row: Row) -> Outcome {
        switch row {
        case .test: .events([notice(.test)])
        case .reportedElsewhere: .none(.reportedElsewhere)
        case .unchanged: .none(.unchanged)
        default: .events([unmapped()])
        }
    }
}

extension Mapping {
    /// Where the object of an event is.
    private enum Source {
        case found(JSONValue)
        /// It has to be asked for, and was not.
        case notAsked
        /// The event names none.
        case absent
        case notNeeded
    }

    private func object(for row: Row) -> Source {
        guard row.isAboutObject else { return .notNeeded }
        guard notification.isThin else { return notification.object.map { .found($0) } ?? .absent }
        guard notification.relatedObject != nil else { return .absent }
        guard row.readsObject else { return .notNeeded }
        return notification.subject.map { .found($0) } ?? .notAsked
    }

    /// The result of a row.
    enum Outcome {
        /// - Parameter beside: further facts about their lineage.
        case events([NormalizedEvent], beside: [Fact] = [])
        case none(Normalization.NoChange.Reason, lineage: SubscriptionID? = nil, facts: [Fact] = [])
    }

    private func normalization(of outcome: Outcome, anomalies: [String] = []) -> Normalization {
        switch outcome {
        case .events(let events, let facts):
            guard !facts.isEmpty, let lineage = events.first?.subscription else {
                return Normalization(events, anomalies: anomalies)
            }
            return Normalization(
                events,
                furtherStatements: [envelope.statement(facts, about: lineage)],
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

    private var relatedLineage: SubscriptionID? {
        notification.relatedObject.flatMap { $0.type == "subscription" ? lineage($0.id) : nil }
    }

    /// The time of the event's creation. For a fetched object, which is as new as its answer: the time at which the
    /// host asked us to fetch it.
    var assertedAt: Milliseconds {
        guard notification.isThin, !notification.answers.isEmpty else { return created }
        // Events are created in whole seconds. One of the second in which we asked is at least as new as the answer.
        if notification.isQuestion { return max(0, created - 1001) }
        return max(created, receivedAt.millisecondsSince1970)
    }

    var environment: StoreEnvironment {
        switch notification.isLive {
        case true?: .production
        case false?: .sandbox
        case nil: .unknown
        }
    }

    /// Names a lineage. An id is unique within its account, and connected accounts are others than ours.
    func lineage(_ id: String) -> SubscriptionID {
        let connected = notification.account.flatMap { $0 == ownAccount ? nil : $0 }
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

    /// - Parameter fact: the store's further fact with this event, besides the subject's facts.
    func event(
        _ id: EventID,
        _ event: LifecycleEvent,
        _ subject: EventSubject,
        effectiveAt: Milliseconds? = nil,
        with fact: Fact? = nil
    ) -> NormalizedEvent {
        var subject = subject
        if let fact { subject.facts.append(fact) }
        return envelope.event(EventDraft(id: id, event: event, effectiveAt: effectiveAt?.date), about: subject)
    }

    private var envelope: EventEnvelope {
        let isFetched = notification.isThin && !notification.answers.isEmpty
        return EventEnvelope(
            provider: .stripe,
            store: .stripe,
            environment: environment,
            app: notification.account ?? ownAccount,
            occurredAt: created.date,
            assertedAt: assertedAt.date,
            receivedAt: receivedAt,
            origin: Origin(
                type: notification.type,
                notificationID: notification.isQuestion ? nil : notification.id,
                channel: isFetched ? .refetch : channel,
                evidence: isFetched ? Origin.Evidence(.tls) : evidence,
                digest: digest,
                mapper: Self.version,
                revision: revision
            )
        )
    }

    /// The name of a notification that has no other name: a thin event and its snapshot twin are one.
    var notificationName: String { notification.snapshotEvent ?? notification.id }

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
    ) -> NormalizedEvent {
        event(
            EventID(provider: .stripe, environment: environment, notification: notificationName),
            .notice(LifecycleEvent.Notice(kind, facts: facts)),
            subject,
            effectiveAt: effectiveAt
        )
    }

    private func unmapped() -> NormalizedEvent {
        event(
            EventID(provider: .stripe, environment: environment, notification: notificationName),
            .unmapped(LifecycleEvent.Unmapped(type: notification.type)),
            EventSubject(lineage: relatedLineage)
        )
    }
}
