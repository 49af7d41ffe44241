package import FoundationEssentials

/// The subject of an event, as an adapter reads it from a statement: one purchase, or a part of it.
package struct EventSubject: Sendable {
    // `Optional` in full, for the reason that ``NormalizedEvent`` states.

    /// The lineage; absent for what is about no purchase.
    package var lineage: Optional<SubscriptionID>
    /// The store's transaction or order.
    package var transaction: Optional<TransactionID>
    package var account: Optional<Account>
    package var product: Optional<PurchasedProduct>
    package var period: Optional<ServicePeriod>
    package var price: Optional<Price>
    /// The country that the store bills.
    package var country: Optional<String>
    package var commitment: Optional<Commitment>
    /// The store's own name of the line of its order.
    package var lineItem: Optional<String>
    package var items: Optional<[PurchasedItem]>
    package var renewal: Optional<RenewalTerms>
    /// The store's assertions about it.
    package var facts: [Fact]

    package init(
        lineage: SubscriptionID? = nil,
        transaction: TransactionID? = nil,
        account: Account? = nil,
        product: PurchasedProduct? = nil,
        period: ServicePeriod? = nil,
        price: Price? = nil,
        country: String? = nil,
        commitment: Commitment? = nil,
        lineItem: String? = nil,
        items: [PurchasedItem]? = nil,
        renewal: RenewalTerms? = nil,
        facts: [Fact] = []
    ) {
        self.lineage = lineage
        self.transaction = transaction
        self.account = account
        self.product = product
        self.period = period
        self.price = price
        self.country = country
        self.commitment = commitment
        self.lineItem = lineItem
        self.items = items
        self.renewal = renewal
        self.facts = facts
    }
}

/// An event before its envelope.
package struct EventDraft: Sendable {
    package var id: EventID
    package var event: LifecycleEvent
    /// When it happened; absent means at the time of the envelope.
    package var occurredAt: Date?
    /// From when it has effect; absent means when it happened.
    package var effectiveAt: Date?
    /// The transaction that it is about, where it is not the subject's. Of another one the subject's period and price say nothing.
    package var transaction: TransactionID?
    /// The price of that transaction, or the refunded part of it.
    package var price: Price?
    /// False if the amount that was charged for the subject says nothing of it, as where money goes back.
    package var inheritsCharge: Bool
    /// The kind of statement, where the adapter knows more than the event says.
    package var speech: Origin.Speech?

    package init(
        id: EventID,
        event: LifecycleEvent,
        occurredAt: Date? = nil,
        effectiveAt: Date? = nil,
        transaction: TransactionID? = nil,
        price: Price? = nil,
        inheritsCharge: Bool = true,
        speech: Origin.Speech? = nil
    ) {
        self.id = id
        self.event = event
        self.occurredAt = occurredAt
        self.effectiveAt = effectiveAt
        self.transaction = transaction
        self.price = price
        self.inheritsCharge = inheritsCharge
        self.speech = speech
    }
}

/// The parts that all events and statements of one notification, upload or answer have in common. Adapters make their events and
/// statements with it, and nowhere else.
package struct EventEnvelope: Sendable {
    package var provider: Provider
    package var store: PurchaseStore
    package var environment: StoreEnvironment
    /// The app it concerns: bundle id, package name, account.
    package var app: String?
    /// When an event happened whose draft does not say.
    package var occurredAt: Date
    /// When the store signed or created the statement.
    package var assertedAt: Date
    /// When the statement reached us.
    package var receivedAt: Date
    package var origin: Origin

    package init(
        provider: Provider,
        store: PurchaseStore,
        environment: StoreEnvironment,
        app: String? = nil,
        occurredAt: Date,
        assertedAt: Date,
        receivedAt: Date,
        origin: Origin
    ) {
        self.provider = provider
        self.store = store
        self.environment = environment
        self.app = app
        self.occurredAt = occurredAt
        self.assertedAt = assertedAt
        self.receivedAt = receivedAt
        self.origin = origin
    }
}

extension EventEnvelope {
    /// Makes the event of a draft, with all facts of its subject.
    package func event(_ draft: EventDraft, about subject: EventSubject) -> NormalizedEvent {
        event(draft, about: subject, facts: subject.facts)
    }

    /// Makes the events of several drafts about one subject. Each of its facts goes to the event that it speaks of.
    package func events(_ drafts: [EventDraft], about subject: EventSubject) -> [NormalizedEvent] {
        zip(drafts, subject.facts.assigned(to: drafts.map(\.event))).map { event($0, about: subject, facts: $1) }
    }

    /// Makes a statement, which says of a lineage what no event reports.
    package func statement(_ facts: [Fact], about lineage: SubscriptionID) -> StoreStatement {
        StoreStatement(
            subscription: lineage,
            provider: provider,
            assertedAt: assertedAt,
            facts: facts,
            origin: origin
        )
    }

    private func event(_ draft: EventDraft, about subject: EventSubject, facts: [Fact]) -> NormalizedEvent {
        let occurredAt = draft.occurredAt ?? self.occurredAt
        let isOfSubject = draft.transaction == nil || draft.transaction == subject.transaction
        var origin = origin
        if let speech = draft.speech { origin.speech = speech }
        return NormalizedEvent(
            id: draft.id,
            event: draft.event,
            provider: provider,
            store: store,
            environment: environment,
            app: app,
            subscription: subject.lineage,
            transaction: draft.transaction ?? subject.transaction,
            account: subject.account,
            product: subject.product,
            period: isOfSubject ? subject.period : nil,
            price: draft.price
                ?? (isOfSubject && (draft.inheritsCharge || subject.price?.role != .charged) ? subject.price : nil),
            country: subject.country,
            commitment: subject.commitment,
            lineItem: subject.lineItem,
            items: subject.items,
            renewal: subject.renewal,
            occurredAt: occurredAt,
            effectiveAt: draft.effectiveAt ?? occurredAt,
            assertedAt: assertedAt,
            receivedAt: receivedAt,
            facts: facts,
            origin: origin
        )
    }
}
