import FoundationEssentials
import HTTPTransport
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

/// A journal that takes webhooks in, and asks RevenueCat about what is due.
struct AskingJournal {
    typealias Event = RevenueCatSimulator.Event

    /// The customer's view at a time, and what the host hears.
    struct Reading: Equatable {
        /// Until when there is access, in milliseconds; nil without it.
        var until: Int64?
        var product: ProductID?
        var credits: Int64 = 0
        /// The questions that are due.
        var open: [OpenQuestion.Reason] = []
        /// The news of the answer.
        var news: [LifecycleEvent.Kind] = []
    }

    private let journal: Journal
    private let now: Int64
    private static let user = Account.Identifier("u1", .appUserID)

    init(_ webhooks: [Event], at now: Int64) async throws {
        journal = Journal(MemoryJournal(), clock: TestClock(jumping: true), now: { date(now) })
        self.now = now
        try await apply(webhooks)
    }

    func apply(_ webhooks: [Event]) async throws {
        for event in try CreditTests.events(webhooks) { try await journal.apply(Normalization([event])) }
    }

    /// Asks about everything that is due, and about everything else if `all` is true, and reads the present.
    func reading(
        after answer: String,
        _ api: RevenueCatClient.API = .v1,
        all: Bool = false
    ) async throws -> Reading {
        let transport = StubTransport()
        transport.on(
            .init(where: CustomerQuestionTests.isProduct),
            respond: ClientTests.response(200, CustomerQuestionTests.product("basic_m"))
        )
        transport.on(.any, respond: ClientTests.response(200, answer))
        let before = try await news.count
        if all { try await journal.askAgain(about: .revenuecat) }
        _ = try await journal.reconcile(with: [try ClientTests.client(transport, api)])
        var reading = try await reading(at: now)
        reading.news = Array(try await news.dropFirst(before))
        return reading
    }

    /// All that the host has heard.
    var news: [LifecycleEvent.Kind] {
        get async throws {
            try await journal.events(limit: 1000).map(\.event).filter(\.isNews).map(\.event.kind)
        }
    }

    func reading(at moment: Int64) async throws -> Reading {
        let ledger = try await journal.ledger(of: [Self.user])
        var reading = Reading()
        let access = ledger.access(of: Self.user, in: .production, at: date(moment))
        if case .granted(let until, let grant) = access.decision {
            (reading.until, reading.product) = (until?.millisecondsSince1970, grant.product)
        }
        let states = ledger.states(of: [Self.user], in: .production)
        reading.open = states.flatMap(\.openQuestions).filter { $0.dueAt <= date(moment) }.map(\.reason)
        reading.credits =
            CreditStatement(of: states, under: CreditTests.policy, uses: [], at: date(moment)).balance
        return reading
    }
}

@Suite("What a journal learns from RevenueCat's answers about a customer")
struct JournalQuestionTests {
    typealias Event = RevenueCatSimulator.Event
    typealias Period = RevenueCatSimulator.Period
    typealias Reading = AskingJournal.Reading
    typealias Entry = (name: String, changes: [KeyValuePairs<String, JSONText?>])

    private static let april = t2 + 31 * day
    private static let march = Period(t2, to: april, "O1-3")

    private static func bought(
        _ period: Period = .first,
        store: String = "APP_STORE",
        as type: String = "INITIAL_PURCHASE",
        product: String = "basic_m"
    ) -> Event {
        CreditTests.event(
            type,
            at: period.start + 5000,
            period,
            product: product,
            changing: ["store": .string(store), "original_transaction_id": .string(period.transaction)]
        ).priced("10.00")
    }

    private static let announced = CreditTests.event(
        "PRODUCT_CHANGE",
        at: t0 + 10 * day,
        .first,
        product: "basic_m",
        changing: ["new_product_id": "pro_m"]
    )

    /// An entry of the older version.
    static func entry(
        _ product: String,
        _ period: Period,
        store: String = "app_store",
        with changes: KeyValuePairs<String, JSONText?> = [:]
    ) -> Entry {
        let stated: KeyValuePairs<String, JSONText?> = [
            "purchase_date": .string(RFC3339.string(period.start)), "expires_date": .string(RFC3339.string(period.end)),
            "store": .string(store), "store_transaction_id": .string(period.transaction),
        ]
        return (product, [stated, changes])
    }

    // MARK: Entries of several products

    @Test("the product that was to come next is the purchase, and the one before it ends nothing")
    func changed() async throws {
        // RENEWAL of pro_m is lost, twice.
        let now = t2 + 3 * hour
        let host = try await AskingJournal([Self.bought(), Self.announced], at: now)
        let answer = ClientTests.entries([Self.entry("basic_m", .first), Self.entry("pro_m", Self.march)], at: now)
        #expect(
            try await host.reading(after: answer)
                == Reading(until: Self.april, product: "pro_m", credits: 500, news: [.renewed])
        )
    }

    @Test(
        "while another product gives access and may be the purchase's, nothing has ended",
        arguments: [
            (entry("pro_m", .second), Reading(open: [.renewalDue])),
            // It is over, in another store, or in the sandbox.
            (entry("pro_m", .first), Reading(news: [.expired])),
            (entry("pro_m", .second, store: "play_store"), Reading(news: [.expired])),
            (entry("pro_m", .second, with: ["is_sandbox": true]), Reading(news: [.expired])),
        ]
    )
    func unexplained(other: Entry, reading: Reading) async throws {
        let now = t1 + 3 * hour
        let host = try await AskingJournal([Self.bought()], at: now)
        let entries = [Self.entry("basic_m", .first), other]
        #expect(try await host.reading(after: ClientTests.entries(entries, at: now)) == reading)
    }

    // MARK: Customers who came back

    /// The names of a customer's first purchase of a product and of the next one, in a store that gives another name.
    struct Return: Sendable {
        var store: String
        var first: String
        var second: String
        var renewal: String
        var entry: String { store.lowercased() }

        static let all = [
            Self(store: "PLAY_STORE", first: "GPA.1", second: "GPA.2", renewal: "GPA.2..0"),
            Self(store: "RC_BILLING", first: "S1", second: "S2", renewal: "S3"),
            // With another account of the store.
            Self(store: "APP_STORE", first: "O1", second: "O5", renewal: "O5-2"),
        ]
    }

    @Test("the customer's new purchase is no answer about the old one", arguments: Return.all)
    func cameBack(names: Return) async throws {
        // EXPIRATION of the first is lost.
        let (start, end) = (t1 + 10 * day, t1 + 38 * day)
        let (old, new) = (Period(t0, to: t1, names.first), Period(start, to: end, names.second))
        let webhooks = [Self.bought(old, store: names.store), Self.bought(new, store: names.store)]
        let host = try await AskingJournal(webhooks, at: start + 2 * day)
        let answer = ClientTests.entries([Self.entry("basic_m", new, store: names.entry)], at: start + 2 * day)
        #expect(
            try await host.reading(after: answer)
                == Reading(until: end, product: "basic_m", credits: 200, open: [.renewalDue])
        )
        let refundedAt = start + 3 * day
        let refunded = Period(start, to: refundedAt, names.second)
        let refund = CreditTests.event(
            "CANCELLATION",
            at: refundedAt + 5000,
            refunded,
            product: "basic_m",
            changing: [
                "store": .string(names.store), "original_transaction_id": .string(names.second),
                "cancel_reason": "CUSTOMER_SUPPORT",
            ]
        ).priced("-10.00")
        try await host.apply([refund])
        #expect(try await host.reading(at: refundedAt + day) == Reading(open: [.renewalDue]))
    }

    @Test("a renewal that is lost is that of the purchase that began last", arguments: Return.all)
    func renewedAfterReturn(names: Return) async throws {
        let (start, end) = (t1 + 10 * day, t1 + 38 * day)
        let (old, new) = (Period(t0, to: t1, names.first), Period(start, to: end, names.second))
        let webhooks = [Self.bought(new, store: names.store), Self.bought(old, store: names.store)]
        let host = try await AskingJournal(webhooks, at: end + 3 * hour)
        let renewed = Period(end, to: end + 28 * day, names.renewal)
        let answer = ClientTests.entries([Self.entry("basic_m", renewed, store: names.entry)], at: end + 3 * hour)
        #expect(
            try await host.reading(after: answer)
                == Reading(until: renewed.end, product: "basic_m", credits: 200, open: [.renewalDue], news: [.renewed])
        )
    }

    // MARK: Transactions that a store keeps

    @Test(
        "the entry of a store that keeps the transaction leaves the first period, and its renewal is news",
        arguments: ["AMAZON", "PADDLE", "RC_BILLING"],
        [false, true]
    )
    func keptTransaction(store: String, isKnown: Bool) async throws {
        // RENEWAL of March is lost.
        let periods = [Period(t0, to: t1, "S1"), Period(t1, to: t2, "S1"), Period(t2, to: Self.april, "S1")]
        let types = ["INITIAL_PURCHASE", "RENEWAL", "RENEWAL"]
        let webhooks = zip(periods, types).map { Self.bought($0, store: store, as: $1) }
        let now = t2 + 3 * hour
        let host = try await AskingJournal(isKnown ? webhooks : Array(webhooks.dropLast()), at: now)
        let entry = Self.entry("basic_m", periods[2], store: store.lowercased())
        let expected = Reading(until: Self.april, product: "basic_m", credits: 200)
        var healed = expected
        if !isKnown { healed.news = [.renewed] }
        #expect(try await host.reading(after: ClientTests.entries([entry], at: now), all: true) == healed)
        #expect(
            try await host.reading(at: t0 + 10 * day) == Reading(until: Self.april, product: "basic_m", credits: 200)
        )
        // The webhook that comes after all is the same renewal.
        try await host.apply(webhooks)
        #expect(try await host.reading(at: now) == expected)
        #expect(try await host.news == [.started, .renewed, .renewed])
    }

    @Test("a refund that only an entry shows is of its own period")
    func keptTransactionRefunded() async throws {
        let (first, second) = (Period(t0, to: t1, "S1"), Period(t1, to: t2, "S1"))
        let webhooks = [Self.bought(first, store: "AMAZON"), Self.bought(second, store: "AMAZON", as: "RENEWAL")]
        let now = t1 + 10 * day
        let host = try await AskingJournal(webhooks, at: now)
        let refundedAt = t1 + 9 * day
        let refunded: KeyValuePairs<String, JSONText?> = ["refunded_at": .string(RFC3339.string(refundedAt))]
        let entry = Self.entry("basic_m", second, store: "amazon", with: refunded)
        _ = try await host.reading(after: ClientTests.entries([entry], at: now), all: true)
        #expect(try await host.reading(at: now) == Reading())
        for time in [t0 + 10 * day, t1 + day] {
            #expect(try await host.reading(at: time) == Reading(until: refundedAt, product: "basic_m", credits: 200))
        }
        // The webhook is the same refund.
        let cancellation = CreditTests.event(
            "CANCELLATION",
            at: now,
            Period(t1, to: refundedAt, "S1"),
            product: "basic_m",
            changing: ["store": "AMAZON", "original_transaction_id": "S1", "cancel_reason": "CUSTOMER_SUPPORT"]
        ).priced("-10.00")
        try await host.apply([cancellation])
        #expect(try await host.reading(at: now) == Reading())
    }

    // MARK: Grace that the newer version does not date

    @Test(
        "an answer that gives access in grace takes none of it, and gives a day where no end is known",
        arguments: [
            // BILLING_ISSUE states the end of grace, or is lost; the answer has the paid end, or that of grace.
            (true, t1, Reading(until: t1 + 16 * day, product: "basic_m", credits: 200)),
            (false, t1, Reading(until: t1 + 27 * hour, product: "basic_m", credits: 200, news: [.billingIssue])),
            (true, t1 + 16 * day, Reading(until: t1 + 16 * day, product: "basic_m", credits: 200)),
            (
                false, t1 + 16 * day,
                Reading(until: t1 + 16 * day, product: "basic_m", credits: 200, news: [.billingIssue])
            ),
        ]
    )
    func grace(isKnown: Bool, end: Int64, reading: Reading) async throws {
        let now = t1 + 3 * hour
        let issue = CreditTests.event(
            "BILLING_ISSUE",
            at: t1 + 32_000,
            Period(t0, to: t1 + 16 * day, "O1"),
            product: "basic_m",
            changing: ["grace_period_expiration_at_ms": .integer(t1 + 16 * day)]
        )
        let host = try await AskingJournal([Self.bought()] + (isKnown ? [issue] : []), at: now)
        let item = ClientTests.item(["status": "in_grace_period", "ends_at": .integer(end)])
        let answer = ClientTests.list([item])
        #expect(try await host.reading(after: answer, .v2(project: "proj1"), all: true) == reading)
        // Where no end is known, the question comes back after an hour.
        let isOpen = !isKnown && end == t1
        #expect(try await host.reading(at: now + hour).open == (isOpen ? [.graceWithoutEnd] : []))
        // The end of it counts, and so does a payment.
        let over = CreditTests.event(
            "EXPIRATION",
            at: now + 2 * hour,
            Period(t0, to: t1, "O1"),
            product: "basic_m",
            changing: ["expiration_reason": "BILLING_ERROR"]
        )
        try await host.apply([over])
        #expect(try await host.reading(at: now + 3 * hour) == Reading())
        let recovered = CreditTests.event("RENEWAL", at: now + 4 * hour, .second, product: "basic_m").priced("10.00")
        try await host.apply([recovered])
        #expect(try await host.reading(at: now + 5 * hour) == Reading(until: t2, product: "basic_m", credits: 200))
    }

    @Test("an answer that gives access after the expected end settles nothing, until it shows what followed")
    func lateAnswer() async throws {
        let now = t1 + 3 * hour
        let host = try await AskingJournal([Self.bought()], at: now)
        let api = RevenueCatClient.API.v2(project: "proj1")
        let early = try await host.reading(after: ClientTests.list([ClientTests.item()]), api)
        #expect(early == Reading(open: [.renewalDue]))
        let renewed = ClientTests.item([
            "current_period_starts_at": .integer(t1), "current_period_ends_at": .integer(t2), "ends_at": .integer(t2),
        ])
        let late = try await host.reading(after: ClientTests.list([renewed]), api, all: true)
        #expect(late == Reading(until: t2, product: "basic_m", credits: 200, news: [.renewed]))
    }
}
