// The code that the pages in docs/ show.

import AppStoreServer
import AppleJWS
import CurlTransport
import Foundation
import GooglePubSub
import HTTPTransport
import LifecycleJournal
import Normalizer
import NotificationSimulator
import RevenueCatEvents
import SQLiteJournal
import Stripe

// MARK: docs/journal.md

func tour(
    _ delivery: Delivery,
    _ adapter: some ProviderAdapter,
    account: Account.Identifier,
    policy: CreditPolicy,
    now: Date,
    send: (NormalizedEvent) async throws -> Void
) async throws {
    // snippet.show
    let journal = Journal(try await SQLiteJournalStorage(path: "billing.sqlite"), now: { Date() })

    let answer = await journal.receive(delivery, with: adapter)  // send answer.status to the provider
    let access = try await journal.access(of: [.init("user-17", .appUserID)], at: now)
    let credits = try await journal.credits(of: [account], under: policy, at: now)
    let statement = try await journal.use(30, id: "job-1", of: [account], under: policy, at: now)  // nil: fewer than 30
    for item in try await journal.outbox.next(10, lease: .seconds(60)) {
        try await send(item.value.event)  // under item.id, which is always the same
        try await journal.outbox.done(item)
    }
    // snippet.hide
    print(answer.status, access.decision.isGranted, credits.balance, statement?.balance ?? 0)
}

func twoSteps(
    _ delivery: Delivery,
    _ adapter: some ProviderAdapter,
    google: GooglePlayAdapter,
    stripe: StripeAdapter,
    journal: Journal
) async throws -> Acknowledgement {
    // snippet.show
    let answer = await journal.accept(delivery, with: adapter)
    while try await journal.work(with: ["google": google, "stripe": stripe]) > 0 {}
    // snippet.hide
    return answer
}

func backfill(_ server: AppStoreServerClient, since launch: Date, _ journal: Journal) async throws -> Int {
    // snippet.show
    let report = try await journal.backfill(from: server.history(in: .production), since: launch)
    // snippet.hide
    return report.unreadable
}

// MARK: docs/apple.md

func checkRevocation(
    _ configuration: inout AppleAdapter.Configuration,
    _ curl: CurlHTTPTransport
) throws -> AppleAdapter.AwaitingRevocation {
    // snippet.show
    let checker = try RevocationChecker(transport: curl, now: { Date() })
    configuration.revocation = .hard(checker)
    let endpoint = try AppleAdapter(configuration).awaitingRevocation
    // snippet.hide
    return endpoint
}

// MARK: docs/model.md

func read(_ state: SubscriptionState, now: Date) {
    // snippet.show
    switch state.access(at: now) {
    case .granted(let until, let grant): print("until \(until ?? .distantFuture)", grant.product)  // nil: without end
    case .denied(let since, let denial): print("since \(since ?? .distantPast)", denial.reason)
    @unknown default: print(state.access(at: now).isGranted)  // a case of a later version
    }
    let next = state.nextTransition(after: now)  // when to look again; no notification is needed for time to pass
    let snapshot = state.snapshot(at: now)  // status, period, pending product, renewal: what a customer sees
    let explanation = state.explain(at: now)  // the statements behind the decision
    // snippet.hide
    print(next ?? now, snapshot.status, explanation)
}

func decide(_ rows: [SubscriptionState], _ transfers: [AccountTransfer], now: Date) -> Bool {
    // snippet.show
    let ledger = AccountLedger(rows, transfers: transfers)
    let access = ledger.access(of: .init("user-17", .appUserID), in: .production, at: now)
    // snippet.hide
    return access.decision.isGranted
}

func apply(_ event: NormalizedEvent, to state: inout SubscriptionState, catalog: ProductCatalog)
    -> AppliedEvent.Disposition
{
    // snippet.show
    let applied = state.apply(event, catalog: catalog)
    // snippet.hide
    return applied.disposition
}

func describe(
    _ resolved: Authenticated<GoogleResolution>,
    google: GooglePlayAdapter
) throws -> Normalization {
    // snippet.show
    let catalog = ProductCatalog(
        [.init(id: "pro:monthly", group: "pro", level: 1, duration: .month)],
        oneTimeProducts: [
            .init(id: "premium_lifetime", type: .nonConsumable),
            .init(id: "coins_100", type: .consumable),
            .init(id: "film:rent", type: .nonRenewing, duration: CalendarDuration(days: 2)),
        ],
        unlisted: .consumable
    )
    let result = try google.normalize(resolved).described(by: catalog)
    // snippet.hide
    return result
}

// MARK: The providers' pages

func configureApple(appleRootCAG3: [UInt8]) throws -> AppleAdapter {
    // snippet.show
    var configuration = AppleAdapter.Configuration(
        apps: [.init(bundleID: "com.example.app", appAppleID: 1_234_567_890)],
        environments: [.production, .sandbox],
        trustAnchors: try AppleTrustAnchors(der: [appleRootCAG3])
    )
    let apple = try AppleAdapter(configuration)
    // snippet.hide
    // The page changes it in what follows.
    configuration.revocation = .off
    return apple
}

func askApple(p8: String, adapter: AppleAdapter, curl: CurlHTTPTransport, ledger: inout AccountLedger)
    async throws
{
    // snippet.show
    let key = try AppStoreServerKey(
        issuerID: "57246542-96fe-1a63-e053-0824d011072a",
        keyID: "2X9R4HXF34",
        privateKey: SecretBytes(p8)
    )
    let server = try AppStoreServerClient(
        .init(key: key, bundleID: "com.example.app"),
        adapter: adapter,  // the AppleAdapter of your webhook
        transport: curl,
        now: { Date() }
    )
    let answer = try await server.subscriptionStatuses(ofTransaction: "2000000123456789")
    for status in answer.subscriptions { _ = ledger.apply(try server.normalize(status)) }
    // snippet.hide
}

func configureGoogle(keyFile: [UInt8]) throws -> GooglePlayAdapter {
    // snippet.show
    let transport = try CurlHTTPTransport()
    let account = try ServiceAccount(keyFile: SecretBytes(bytes: keyFile))
    let api = try PlayDeveloperAPI(
        transport: transport,
        tokens: try ServiceAccountTokenSource(account, transport: transport, now: { Date() })
    )
    let google = try GooglePlayAdapter(
        GooglePlayAdapter.Configuration(
            packageNames: ["com.example.app"],
            subscriptions: ["projects/my-project/subscriptions/play-events"],
            push: .init(
                audience: "https://backend.example/hooks/play",
                serviceAccountEmail: "pubsub-push@my-project.iam.gserviceaccount.com"
            )
        ),
        keys: try RemoteKeySource(transport: transport),
        api: api
    )
    // snippet.hide
    return google
}

func pull(
    _ google: GooglePlayAdapter,
    account: ServiceAccount,
    transport: CurlHTTPTransport,
    store: any PulledStore
) async throws {
    // snippet.show
    let worker = try PullWorker(
        PullWorker.Configuration(subscription: "projects/my-project/subscriptions/play-events"),
        transport: transport,
        tokens: try ServiceAccountTokenSource(account, scopes: [.pubSub], transport: transport, now: { Date() }),
        now: { Date() }
    )
    try await worker.run(google) { message, outcome in
        try await store.keep(message, outcome)  // failures too; what throws is delivered again
    }
    // snippet.hide
}

protocol PulledStore: Sendable {
    func keep(_ message: PullWorker.Message, _ outcome: Result<Normalization, DeliveryError>) async throws
}

func configureRevenueCat(authorization: String, signingSecret: String) throws -> RevenueCatAdapter {
    // snippet.show
    var configuration = RevenueCatAdapter.Configuration(
        authorizations: [SecretBytes(authorization)],  // the dashboard's "Authorization header value", whole
        signingSecrets: [SecretBytes(signingSecret)]  // "HMAC webhook signing"; several while one is replaced
    )
    configuration.environments = [.production]
    let revenueCat = try RevenueCatAdapter(configuration)
    // snippet.hide
    return revenueCat
}

func askRevenueCat(
    _ transport: CurlHTTPTransport,
    apiKey: String,
    project: String,
    about lineage: SubscriptionID,
    transaction: String,
    productID: ProductID,
    _ state: inout SubscriptionState,
    now: Date,
    handle: (NormalizedEvent) -> Void
) async throws {
    // snippet.show
    let client = try RevenueCatClient(transport: transport, apiKey: SecretBytes(apiKey), api: .v2(project: project))
    for subscription in try await client.subscriptions(withTransaction: transaction) {
        state.apply(subscription.statement(about: lineage, product: productID, at: now))
    }
    // snippet.hide
    // snippet.show
    for purchase in try await client.purchases(withTransaction: transaction) {  // or purchases(ofCustomer:)
        if let event = purchase.event(product: productID, at: now) { handle(event) }
        for statement in purchase.statements(product: productID, at: now) { state.apply(statement) }
    }
    // snippet.hide
}

func receiveStripe(
    webhookSecret: String,
    webhookSecretBeforeTheRoll: String,
    apiKey: String,
    headers: Delivery.Headers,
    body: [UInt8],
    now: Date
) async throws -> Normalization {
    // snippet.show
    var configuration = StripeAdapter.Configuration(
        signingSecrets: [SecretBytes(webhookSecret), SecretBytes(webhookSecretBeforeTheRoll)]
    )
    configuration.mode = .live
    configuration.lookup = .init(transport: try CurlHTTPTransport(), apiKey: SecretBytes(apiKey))
    let stripe = try StripeAdapter(configuration)

    let result = try await stripe.receive(Delivery(headers: headers, body: body, receivedAt: now))
    // snippet.hide
    return result
}

// MARK: docs/simulator.md

func receiveSimulated() throws -> (AppleAdapter, StripeAdapter) {
    // snippet.show
    let simulator = try AppleSimulator(seed: "1")
    var configuration = AppleAdapter.Configuration(
        apps: [.init(bundleID: simulator.bundleId, appAppleID: simulator.appAppleId)],
        environments: [.production],
        trustAnchors: try AppleTrustAnchors(der: [simulator.rootCertificate])
    )
    configuration.maximumAge = nil  // Apple's signatures have the story's times
    let apple = try AppleAdapter(configuration)
    let stripe = try StripeAdapter(.init(signingSecrets: [StripeSimulator(seed: "1").signingSecret]))
    // snippet.hide
    return (apple, stripe)
}

func askSimulated(_ configuration: inout StripeAdapter.Configuration, port: Int) throws {
    // snippet.show
    struct SimulatedAPI: HTTPTransportProtocol {
        let curl: CurlHTTPTransport
        let port: Int

        func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
            let query = request.url.query.map { "?\($0)" } ?? ""
            let url = try HTTPSURL("https://localhost:\(port)\(request.url.path)\(query)")
            return try await curl.send(
                HTTPTransportRequest(request.method, url, headers: request.headers, body: request.body)
            )
        }
    }
    let curl = try CurlHTTPTransport(.init(trustRoots: .file(path: "/tmp/stripe/ca.pem")))
    configuration.lookup = .init(
        transport: SimulatedAPI(curl: curl, port: port),
        apiKey: SecretBytes("rk_live_simulated")
    )
    configuration.lookup?.completesSnapshots = true
    // snippet.hide
}

func simulate(from start: Date, now: Date) throws {
    // snippet.show
    let story = CustomerStory(
        "late",
        "A charge fails, and succeeds four days later.",
        steps: [
            .init(.after(.zero), .subscribe(.basicMonthly, offer: .freeWeek)),
            .init(.atPeriodEnd, .renew),
            .init(.atPeriodEnd, .failCharge(grace: .seconds(16 * 86_400))),
            .init(.after(.seconds(4 * 86_400)), .recover),
        ]
    )
    let google = try GoogleSimulator(seed: "42")
    for notification in try google.notifications(story, from: start) {
        let delivery = try google.delivery(of: notification, sentAt: now)  // signed for that moment
        let answers = notification.resources  // what the Play API says from then on
        print(delivery.body.count, answers.count)
    }
    // snippet.hide
}
