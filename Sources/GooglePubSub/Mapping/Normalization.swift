import FoundationEssentials
public import LifecycleEvents
import WireJSON

extension GooglePlayAdapter {
    static let mapper = "google/1"

    /// Maps a notification, with Google Play's answers about it, to canonical events.
    ///
    /// State comes from the answer, intent from the notification. If the answer is that Google no longer keeps the
    /// purchase, only the notification's report of an end is passed on, without facts. Without an answer there is no
    /// event.
    ///
    /// - Throws: `DeliveryError`, marked authentic, if an answer cannot be read, or Google Play refuses to answer.
    public func normalize(_ resolved: Authenticated<GoogleResolution>) throws(DeliveryError) -> Normalization {
        try ResolutionMapping(resolved: resolved, addOns: configuration.addOns).normalization
    }

    /// Maps Google Play's answer about a purchase that was looked up without a notification.
    ///
    /// Facts and identities are those of Google's own notifications, so the first to arrive is the news. The beginning
    /// of the last paid period is reported if its start is known: for a first period, and for a later one whose order
    /// was looked up. That is then a renewal of unknown cause; the state knows the cause.
    ///
    /// A purchase that Google does not know, or no longer keeps, gives no event and no statement
    /// (`Normalization.NoChange.Reason.purchaseGone`).
    ///
    /// - Throws: `DeliveryError` with `malformed` for a token that Google refuses, and for an answer that cannot be read.
    public func normalize(_ purchase: Authenticated<GooglePurchase>) throws(DeliveryError) -> Normalization {
        try ResolutionMapping(purchase: purchase, addOns: configuration.addOns).normalization
    }
}

/// The mapping of Google Play's answers, about a notification or to the host's own question.
struct ResolutionMapping {
    private let occasion: Occasion<GoogleNotification, GooglePurchase>
    private(set) var answers: Authenticated<[GoogleResolution.Lookup]>
    /// The products that are only sold as add-ons.
    let addOns: PlayAddOns

    init(resolved: Authenticated<GoogleResolution>, addOns: Set<String> = []) {
        self.addOns = PlayAddOns(products: addOns)
        occasion = .notification(resolved.value.notification)
        answers = resolved.map(\.lookups)
    }

    init(purchase: Authenticated<GooglePurchase>, addOns: Set<String> = []) {
        self.addOns = PlayAddOns(products: addOns)
        occasion = .question(purchase.value)
        answers = purchase.map(\.lookups)
    }

    var lookups: [GoogleResolution.Lookup] { answers.value }

    var packageName: String {
        switch occasion {
        case .notification(let notification): notification.content.packageName
        case .question(let purchase): purchase.packageName
        }
    }

    /// The time of the event that made us ask; without one, the time of our question.
    var eventTime: Date {
        switch occasion {
        case .notification(let notification): notification.content.eventTime
        case .question: answers.receivedAt.asked(answeredAt: lookups.first?.answer.answeredAt)
        }
    }

    private var type: String {
        switch occasion {
        case .notification(let notification): notification.content.bodyName
        case .question(let purchase): purchase.kind.resourceName
        }
    }

    private var subtype: String? {
        switch occasion {
        case .notification(let notification): notification.content.typeNumber
        case .question: nil
        }
    }

    /// True if a proven notification caused the look-up, and not an uploaded token.
    var isAuthentic: Bool {
        if case .notification = occasion { true } else { false }
    }

    private var notificationID: String? {
        switch occasion {
        case .notification(let notification): notification.message.messageID ?? answers.digest
        case .question: nil
        }
    }

    var normalization: Normalization {
        get throws(DeliveryError) {
            var result: Normalization
            switch occasion {
            case .notification(let notification): result = try normalization(of: notification.content)
            case .question(let purchase): result = try normalization(of: purchase)
            }
            result.handles = handles(for: result)
            return result
        }
    }

    private func normalization(of purchase: GooglePurchase) throws(DeliveryError) -> Normalization {
        switch purchase.kind {
        case .subscription: try subscription(purchase.purchaseToken, .question)
        case .product: try oneTimeProduct(purchase.purchaseToken, nil)
        }
    }

    private func normalization(of content: DeveloperNotification) throws(DeliveryError) -> Normalization {
        switch content.content {
        case .subscription(let hint):
            return try subscription(hint.purchaseToken, .notification(hint.type))
        case .oneTimeProduct(let hint):
            return try oneTimeProduct(hint.purchaseToken, hint.type)
        case .voidedPurchase(let hint):
            return try voided(hint)
        case .pendingRefundReview(let review):
            var result = normalization(of: refundReview(review))
            if let token = review.pendingRefundToken {
                for event in result.events { result.answerTokens[event.id] = SecretBytes(token.value) }
            }
            return result
        case .test:
            return normalization(of: notice(.notice(.init(.test))))
        case .unknown:
            return normalization(of: notice(unmapped))
        }
    }

    var unmapped: LifecycleEvent { .unmapped(.init(type: type, subtype: subtype)) }
}

extension GooglePurchase.Kind {
    /// The resource of the Play Developer API that shows it.
    fileprivate var resourceName: String {
        switch self {
        case .subscription: "purchases.subscriptionsv2"
        case .product: "purchases.productsv2"
        }
    }
}

// MARK: Answers

extension ResolutionMapping {
    /// This mapping as if a predecessor, with those before it, had been asked for by itself.
    func asked(from predecessor: Int) -> Self {
        var mapping = self
        mapping.answers = answers.map { lookups in
            Array(lookups.predecessors[predecessor...] + lookups.filter { $0.resource != .subscription })
        }
        return mapping
    }

    /// An order that was looked up and found; an unreadable one says nothing.
    func order(_ orderID: String) -> PlayOrder? {
        guard let answer = lookups.answer(.order, orderID), answer.outcome == .found else { return nil }
        return try? PlayOrder(payload: answer.body)
    }

    func decoded<Resource>(
        _ body: [UInt8],
        _ decode: ([UInt8]) throws(JSONError) -> Resource
    ) throws(DeliveryError) -> Resource {
        do throws(JSONError) {
            return try decode(body)
        } catch {
            throw DeliveryError(
                .malformed,
                "Google Play's answer: \(error)",
                isAuthentic: isAuthentic,
                underlying: error
            )
        }
    }

    /// Google's own time of the answer; an answer cannot be older than the event that made us ask. Of a question, when we asked.
    func assertedAt(_ answer: PlayAnswer) -> Date {
        switch occasion {
        case .notification: max(answer.answeredAt ?? answers.receivedAt, eventTime)
        case .question: eventTime
        }
    }
}

// MARK: Without an answer

extension StoreEnvironment {
    /// The environment of a purchase of which Google keeps nothing any more, so that it may be a tester's. Purchases that
    /// testers make end within the hour by themselves, and nothing is granted to a purchase that is forgotten.
    static let forgotten: StoreEnvironment = .production
}

extension ResolutionMapping {
    /// That nothing of a forgotten subscription gives access any more. Its items are not stated, so all of them are meant.
    func closure(of answer: PlayAnswer) -> Fact {
        .closure(Fact.Closure(at: min(eventTime, assertedAt(answer)), reason: .unknown, coversItems: true))
    }

    /// The result of an answer without a resource: the end that the notification reported, or nothing.
    func unanswered(
        _ answer: PlayAnswer,
        token: PurchaseToken,
        reporting lineages: (SubscriptionID) -> [LineageDraft]
    ) throws(DeliveryError) -> Normalization {
        switch answer.outcome {
        case .gone, .notFound:
            let lineage = SubscriptionID(
                store: .playStore,
                environment: .forgotten,
                id: token.fingerprint
            )
            let reported = lineages(lineage)
            guard !reported.isEmpty else { return Normalization(noChange: .init(.purchaseGone)) }
            return normalization(
                of: reported,
                environment: lineage.environment,
                assertedAt: eventTime,
                channel: answers.channel
            )
        case .invalid:
            throw DeliveryError(
                .malformed,
                "Google Play refuses the purchase token (\(answer.status))",
                isAuthentic: isAuthentic
            )
        case .denied:
            throw DeliveryError(
                .denied,
                "Google Play does not let the service account see the purchase (\(answer.status))",
                isAuthentic: isAuthentic
            )
        default:
            throw DeliveryError(.unavailable, "Google Play gave no answer (\(answer.status))", isAuthentic: isAuthentic)
        }
    }

    /// The name of the notification, also when it was published twice.
    var notificationKey: String {
        "\(type)/\(subtype ?? "")/\(eventTime.millisecondsSince1970)"
    }
}

// MARK: Without a purchase

extension ResolutionMapping {
    /// An event about no purchase that can be looked up.
    struct Notice {
        var event: LifecycleEvent
        var identity: String
        var transaction: TransactionID?
        var account: Account?
    }

    private func notice(_ event: LifecycleEvent) -> Notice {
        Notice(event: event, identity: notificationID ?? answers.digest)
    }

    /// Google waits a day for the developer's view; the first answer counts.
    private func refundReview(_ review: DeveloperNotification.PendingRefundReview) -> Notice {
        Notice(
            event: .refundRequested(
                .init(
                    transaction: TransactionID(review.orderID),
                    reason: review.refundReason.map { $0 == 7 ? "chargeback" : String($0) },
                    answerBy: eventTime.addingTimeInterval(86_400)
                )
            ),
            identity: "refund_review/\(review.orderID)",
            transaction: TransactionID(review.orderID),
            account: Account([
                review.obfuscatedAccountID.map { Account.Identifier($0, .obfuscatedAccountID) },
                review.obfuscatedProfileID.map { Account.Identifier($0, .obfuscatedProfileID) },
            ])
        )
    }

    private func normalization(of notice: Notice) -> Normalization {
        Normalization([
            envelope(.unknown, assertedAt: eventTime, channel: answers.channel).event(
                EventDraft(
                    id: EventID(provider: .google, environment: .unknown, notification: notice.identity),
                    event: notice.event
                ),
                about: EventSubject(transaction: notice.transaction, account: notice.account)
            )
        ])
    }
}

// MARK: Envelope

extension ResolutionMapping {
    /// - Parameter channel: how the statement reached us: by asking, unless it rests on the notification alone.
    func normalization(
        of lineages: [LineageDraft],
        environment: StoreEnvironment,
        assertedAt: Date,
        channel: Origin.Channel = .refetch,
        anomalies: [String] = []
    ) -> Normalization {
        let envelope = envelope(environment, assertedAt: assertedAt, channel: channel)
        let events = lineages.flatMap { envelope.events($0.drafts, about: $0.subject) }
        // A state is made of all that the store stated, with or without an event.
        var statements = lineages.filter(\.drafts.isEmpty).map {
            envelope.statement($0.subject.facts, about: $0.lineage)
        }
        guard events.isEmpty else {
            statements.removeAll(where: \.facts.isEmpty)
            return Normalization(events, furtherStatements: statements, anomalies: anomalies)
        }
        return Normalization(
            noChange: .init(isAuthentic ? .stale : .unchanged, statement: statements.first),
            furtherStatements: statements.dropFirst().filter { !$0.facts.isEmpty },
            anomalies: anomalies
        )
    }

    private func envelope(
        _ environment: StoreEnvironment,
        assertedAt: Date,
        channel: Origin.Channel
    ) -> EventEnvelope {
        EventEnvelope(
            provider: .google,
            store: .playStore,
            environment: environment,
            app: packageName,
            occurredAt: eventTime,
            assertedAt: assertedAt,
            receivedAt: answers.receivedAt,
            origin: Origin(
                type: type,
                subtype: subtype,
                notificationID: notificationID,
                channel: channel,
                evidence: answers.evidence,
                digest: answers.bodyDigest,
                mapper: GooglePlayAdapter.mapper
            )
        )
    }
}
