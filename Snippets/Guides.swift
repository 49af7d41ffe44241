// The code that the guides show.

import AppStoreServer
import AppleJWS
import Foundation
import GooglePubSub
import HTTPTransport
import LifecycleJournal
import Normalizer
import NormalizerTesting
import NotificationSimulator
import SQLiteJournal
import ShadowComparison
import Stripe

func start(stripeSecret: String) async throws -> (Journal, StripeAdapter) {
    // snippet.show
    let stripe = try StripeAdapter(.init(signingSecrets: [SecretBytes(stripeSecret)]))
    let journal = Journal(try await SQLiteJournalStorage(path: "billing.sqlite"), now: { Date() })
    // snippet.hide
    return (journal, stripe)
}

func end(_ serve: () async throws -> Void) async throws {
    // snippet.show
    do {
        try await serve()
    } catch let error as ConfigurationError {
        FileHandle.standardError.write(Data("configuration: \(error)\n".utf8))
        exit(78)
    }
    // snippet.hide
}

func handle(
    body: [UInt8],
    headerFields: [(String, String)],
    _ stripe: StripeAdapter,
    _ journal: Journal
) async -> Int {
    // snippet.show
    let delivery = Delivery(headers: Delivery.Headers(headerFields), body: body, receivedAt: Date())
    let answer = await journal.receive(delivery, with: stripe)
    return answer.status
    // snippet.hide
}

func log(_ storage: SQLiteJournalStorage) -> Journal {
    // snippet.show
    struct DeliveryLog: JournalObserver {
        func observe(_ observation: JournalObservation) {
            guard case .delivery(let delivery) = observation, let error = delivery.error else { return }
            print("\(delivery.source): \(delivery.decision): \(error): \(delivery.message ?? "")")
        }
    }
    let journal = Journal(storage, observer: DeliveryLog(), now: { Date() })
    // snippet.hide
    return journal
}

func act(_ journal: Journal, _ send: (NormalizedEvent, String) async throws -> Void) async throws {
    // snippet.show
    for item in try await journal.outbox.next(10, lease: .seconds(60)) {
        do {
            try await send(item.value.event, item.id)
            try await journal.outbox.done(item)
        } catch {
            try await journal.outbox.failed(item, because: "receiver refused")
        }
    }
    // snippet.hide
}

func access(of userID: String, _ journal: Journal) async throws -> String {
    // snippet.show
    let access = try await journal.access(of: [.init(userID, .appAccountToken), .init(userID, .appUserID)], at: Date())
    switch access.decision {
    case .granted(let until, _): return "until \(until.map { "\($0)" } ?? "further notice")"
    case .denied(let since, _): return "not since \(since.map { "\($0)" } ?? "ever")"
    @unknown default: return access.decision.isGranted ? "yes" : "no"
    }
    // snippet.hide
}

func claim(_ jws: String, by userID: String, apple: AppleAdapter, journal: Journal) async throws {
    // snippet.show
    let result = try apple.receive(signedTransaction: jws.utf8, receivedAt: Date())
    try await journal.upload(result, by: Account(userID, .appAccountToken))
    // snippet.hide
}

func spend(_ userID: String, _ journal: Journal) async throws -> Bool {
    // snippet.show
    let policy = CreditPolicy([
        "basic": .init(credits: 200, price: Money(ExactDecimal(10), "USD")),
        "pro": .init(credits: 500, price: Money(ExactDecimal(20), "USD")),
    ])
    let user = Account.Identifier(userID, .appUserID)
    let before = try await journal.credits(of: [user], under: policy, at: Date()).balance
    let after = try await journal.use(30, id: "job-1", of: [user], under: policy, at: Date())
    print(before, after?.balance ?? "fewer than 30")
    // snippet.hide
    return after != nil
}

func list(apple: AppleAdapter, appStore: AppStoreServerClient, stripe: StripeAdapter) {
    // snippet.show
    let adapters: [String: any ProviderAdapter] = ["apple": apple, "stripe": stripe]
    let sources: [any LineageQuestions] = [appStore, stripe]
    var histories: [any DeliveryHistory] = [appStore.history(in: .production)]
    if let events = stripe.history() { histories.append(events) }
    // snippet.hide
    print(adapters.count, sources.count, histories.count)
}

func accept(stripe: StripeAdapter, delivery: Delivery, journal: Journal) async -> Int {
    // snippet.show
    let answer = await journal.accept(delivery, with: stripe)
    return answer.status
    // snippet.hide
}

func work(_ adapters: [String: any ProviderAdapter], _ journal: Journal) async throws {
    // snippet.show
    while !Task.isCancelled {
        do {
            if try await journal.work(with: adapters) > 0 { continue }
        } catch {
            print("work: \(error)")
        }
        try await Task.sleep(for: .seconds(1))
    }
    // snippet.hide
}

func catchUp(_ history: some DeliveryHistory, _ journal: Journal) async throws {
    // snippet.show
    let report = try await journal.backfill(from: history)
    if let gap = report.gap { print("unknown from \(gap.from) to \(gap.until)") }
    // snippet.hide
}

func everyHour(
    _ journal: Journal,
    histories: [any DeliveryHistory],
    sources: [any LineageQuestions],
    adapters: [String: any ProviderAdapter]
) async throws {
    // snippet.show
    while !Task.isCancelled {
        for history in histories {
            do { try await journal.backfill(from: history) } catch { print("history \(history.name): \(error)") }
        }
        do {
            let round = try await journal.reconcile(with: sources, replaying: adapters)
            for (source, code) in round.stopped { print("\(source) could not be asked: \(code)") }
        } catch {
            print("questions: \(error)")
        }
        try await Task.sleep(for: .seconds(3600))
    }
    // snippet.hide
}

func replay(_ journal: Journal, _ adapters: [String: any ProviderAdapter]) async throws {
    // snippet.show
    for entry in try await journal.quarantine.list() {  // the first hundred
        guard let adapter = adapters[entry.source] else { continue }
        let answer = await journal.quarantine.replay(entry, with: adapter)
        print(entry.source, entry.reason, answer.decision)
    }
    // snippet.hide
}

func compare(revenuecat: [NormalizedEvent], apple: [NormalizedEvent]) {
    // snippet.show
    let comparison = ChannelComparison(revenuecat, apple)
    for difference in comparison.access {
        print(difference.subscription, difference.isFirstGranting, difference.from)
    }
    print(comparison.summary.isAgreement)
    // snippet.hide
}

func play() async throws -> Bool {
    // snippet.show
    let simulator = StripeSimulator(seed: "42")
    let stripe = try StripeAdapter(.init(signingSecrets: [simulator.signingSecret]))
    let journal = Journal(MemoryJournal(), now: { Date() })
    for notification in try simulator.notifications(.life, from: Date(timeIntervalSince1970: 1_767_225_600)) {
        let delivery = try simulator.delivery(of: notification, sentAt: notification.occurredAt)
        guard await journal.receive(delivery, with: stripe).status == 200 else { return false }
    }
    // snippet.hide
    return true
}

func answer(_ journal: Journal) async throws -> Bool {
    // snippet.show
    let simulator = try GoogleSimulator(seed: "42")
    let transport = StubTransport()
    let google = try GooglePlayAdapter(
        .init(
            packageNames: [simulator.packageName],
            push: .init(audience: simulator.audience, serviceAccountEmail: simulator.serviceAccountEmail)
        ),
        keys: try StaticKeySource(json: simulator.keySet),
        api: try PlayDeveloperAPI(transport: transport, tokens: FixedAccessToken(SecretBytes("token")))
    )
    let notifications = try simulator.notifications(.life, from: Date(timeIntervalSince1970: 1_767_225_600))
    for (index, notification) in notifications.enumerated() {
        transport.removeRules()
        for answer in notifications.resources(upTo: index) {
            transport.on(
                .init(host: answer.host, path: answer.path),
                respond: HTTPTransportResponse(status: answer.status, body: answer.body)
            )
        }
        let delivery = try simulator.delivery(of: notification, sentAt: notification.occurredAt)
        guard await journal.receive(delivery, with: google).status == 200 else { return false }
    }
    // snippet.hide
    return true
}

func check(_ adapter: some ProviderAdapter, genuine: Delivery, forged: Delivery, unknown: Delivery) async -> Bool {
    // snippet.show
    let conformance = AdapterConformance(
        adapter,
        proof: .body,
        genuine: [.init("purchase", genuine)],
        forged: [.init("another secret", forged)],
        unknown: [.init("a type of next year", unknown)]
    )
    return await conformance.findings().isEmpty
    // snippet.hide
}
