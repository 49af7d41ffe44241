import AppStoreServer
import AppleJWS
import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import Synchronization
import Testing

@Suite("Purchases that Apple is asked about", .timeLimit(.minutes(5))) struct QuestionTests {
    static let bought = World.start.addingTimeInterval(-86_400 * 100)
    static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "1000")

    /// A subscription of four months, the last of which runs now.
    static func purchase(status: Int64 = 1, renews: Bool = true) -> AppStoreServerSimulator.Purchase {
        var renewal = AppleSimulator.RenewalInfo(
            originalTransactionId: "1000",
            productId: "pro.monthly",
            autoRenewProductId: "pro.monthly"
        )
        renewal.autoRenewStatus = renews ? 1 : 0
        let months = (0..<4).reversed().map { index in
            AppleSimulator.Transaction.month(
                String(1000 + index),
                from: bought.addingTimeInterval(Double(index) * 30 * 86_400)
            )
        }
        return .init(months, renewalInfo: renewal, status: status)
    }

    /// A journal that has heard of the first month.
    func journal(_ world: World, account: String? = nil) async throws -> Journal {
        let journal = Journal(MemoryJournal(), clock: TestClock(jumping: true), now: { world.now })
        var transaction = AppleSimulator.Transaction.month("1000", from: Self.bought)
        transaction.appAccountToken = account
        try await receive("SUBSCRIBED", "INITIAL_BUY", of: transaction, at: Self.bought, by: journal, in: world)
        return journal
    }

    private func receive(
        _ type: String,
        _ subtype: String? = nil,
        of transaction: AppleSimulator.Transaction,
        at time: Date,
        by journal: Journal,
        in world: World
    ) async throws {
        var data = AppleSimulator.PurchaseData(status: 1, transactionInfo: transaction)
        data.renewalInfo = AppleSimulator.RenewalInfo(
            originalTransactionId: "1000",
            productId: "pro.monthly",
            autoRenewProductId: "pro.monthly"
        )
        let notification = AppleSimulator.Notification(
            type,
            subtype,
            notificationUUID: "00000000-0000-4000-8000-00000000\(transaction.transactionId)",
            signedDate: time.addingTimeInterval(5),
            content: .data(data)
        )
        let apple = world.state.withLock { $0.production.apple }
        let delivery = try apple.delivery(notification, receivedAt: time.addingTimeInterval(6))
        #expect(await journal.receive(delivery, with: try world.adapter()).status == 200)
    }

    @Test("have every month that was lost, and the present, over the network")
    func healing() async throws {
        let world = try World()
        world.state.withLock { $0.production.purchases = [Self.purchase(renews: false)] }
        try await world.overTLS { client in
            let journal = try await journal(world)
            #expect(try await journal.state(of: Self.lineage)?.access(at: world.now).isGranted == false)
            let report = try await journal.reconcile(with: [client])
            #expect((report.asked, report.settled, report.stopped) == (1, 1, [:]))
            let state = try #require(try await journal.state(of: Self.lineage))
            #expect(state.access(at: world.now).isGranted)
            #expect(state.snapshot(at: world.now).willRenew == false)
            for month in 0..<4 {
                let time = Self.bought.addingTimeInterval((Double(month) * 30 + 15) * 86_400)
                #expect(state.access(at: time).isGranted, "month \(month)")
            }
            #expect(try await journal.verify().findings == [])
            // Apple's repeated answer is known.
            #expect(try await journal.refetch(Self.lineage, with: [client])?.filter(\.isNews) == [])
        }
    }

    @Test("have what was lost below a period that is known: a refund, a renewal, and who bought it again")
    func gap() async throws {
        let world = try World()
        world.serve()
        let accounts = ["aaaaaaaa-0000-4000-8000-000000000001", "bbbbbbbb-0000-4000-8000-000000000002"]
        var purchase = Self.purchase()
        for index in purchase.transactions.indices {
            purchase.transactions[index].appAccountToken = accounts[index < 2 ? 1 : 0]
            purchase.transactions[index].transactionReason = index == 1 ? "PURCHASE" : "RENEWAL"
        }
        purchase.transactions[2].revocationDate = Self.bought.addingTimeInterval(40 * 86_400)
        purchase.transactions[2].revocationReason = 0
        world.state.withLock { $0.production.purchases = [purchase] }
        // Heard of are the first month and the last.
        let journal = try await journal(world, account: accounts[0])
        try await receive(
            "DID_RENEW",
            of: purchase.transactions[0],
            at: Self.bought + 90 * 86_400,
            by: journal,
            in: world
        )
        let events = try #require(try await journal.refetch(Self.lineage, with: [try world.client()]))
        // A late renewal is superseded by the one that is known.
        #expect(events.filter(\.isNews).map(\.event.kind) == [.refunded, .transferred])
        let state = try #require(try await journal.state(of: Self.lineage))
        #expect(state.ownership.accounts.map(\.id) == [accounts[1]])
        // The first month still names its own customer.
        #expect(state.contradictions == [])
        #expect(!state.access(at: Self.bought + 45 * 86_400).isGranted)
        #expect(state.access(at: Self.bought + 75 * 86_400).isGranted)
    }

    @Test("are over where Apple says so")
    func lapsed() async throws {
        let world = try World()
        world.serve()
        var purchase = Self.purchase(status: 2, renews: false)
        purchase.transactions = [purchase.transactions.removeLast()]
        world.state.withLock { $0.production.purchases = [purchase] }
        let journal = try await journal(world)
        let report = try await journal.reconcile(with: [try world.client()])
        #expect((report.asked, report.settled) == (1, 1))
        #expect(try await journal.state(of: Self.lineage)?.access(at: world.now).isGranted == false)
    }

    @Test("purchases of another app, store or environment are unknown, and no request is made for the last two")
    func unknown() async throws {
        let world = try World()
        world.serve()
        let client = try world.client { $0.environments = [.production] }
        for (lineage, requests) in [
            (Self.lineage, 1), (SubscriptionID(store: .playStore, environment: .production, id: "1000"), 0),
            (SubscriptionID(store: .appStore, environment: .sandbox, id: "1000"), 0),
        ] {
            let before = world.transport.requests.count
            #expect(try await client.ask(LineageQuestion(lineage, askedAt: World.start)) == .unknown)
            #expect(world.transport.requests.count - before == requests)
        }
    }

    @Test("are stated in part where something of the answer does not verify", arguments: [0, 1])
    func refused(place: Int) async throws {
        let world = try World()
        let (path, body) = [
            (
                "/inApps/v1/subscriptions/1000",
                #"{"data":[{"lastTransactions":[{"status":1,"signedTransactionInfo":"e30.e30.e30"}]}]}"#
            ), ("/inApps/v2/history/1000", #"{"signedTransactions":["e30.e30.e30"],"revision":"r","hasMore":false}"#),
        ][place]
        world.transport.on(.init(path: path), respond: HTTPTransportResponse(status: 200, body: Array(body.utf8)))
        world.serve()
        world.state.withLock { $0.production.purchases = [Self.purchase()] }
        let answer = try await world.client().ask(LineageQuestion(Self.lineage, askedAt: World.start))
        guard case .incomplete(let results, because: .malformed) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(results.flatMap(\.lineages).contains(Self.lineage))
    }

    @Test(
        "are stated in part where Apple says that there are more transactions, and not from where on",
        arguments: ["", #""revision":"r","#]
    )
    func endless(revision: String) async throws {
        let world = try World()
        let body = Array(#"{"signedTransactions":[],\#(revision)"hasMore":true}"#.utf8)
        world.transport.on(
            .init(path: "/inApps/v2/history/1000"),
            respond: HTTPTransportResponse(status: 200, body: body)
        )
        world.serve()
        world.state.withLock { $0.production.purchases = [Self.purchase()] }
        let answer = try await world.client().ask(LineageQuestion(Self.lineage, askedAt: World.start))
        guard case .incomplete(let results, because: .malformed) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(results.flatMap(\.lineages).contains(Self.lineage))
    }

    @Test("if bought once, are found behind more transactions than can be read, which do not pass for all")
    func truncated() async throws {
        let world = try World()
        world.serve()
        var purchases = [Self.purchase()]
        for index in 0...1000 {
            let transaction = AppleSimulator.Transaction(
                transactionId: "\(5000 + index)",
                originalTransactionId: "\(5000 + index)",
                productId: "gems",
                purchaseDate: Self.bought + TimeInterval(index),
                type: "Consumable"
            )
            purchases.append(.init([transaction]))
        }
        let all = purchases
        world.state.withLock { $0.production.purchases = all }
        let client = try world.client()
        let last = SubscriptionID(store: .appStore, environment: .production, id: "6000")
        var question = LineageQuestion(last, askedAt: World.start)
        guard case .incomplete(let results, because: .malformed) = try await client.ask(question) else {
            Issue.record("the answer passes for all")
            return
        }
        #expect(results.flatMap(\.lineages).contains(last))
        question.isSubscription = false
        for known in [question, LineageQuestion(Self.lineage, askedAt: World.start)] {
            var known = known
            known.since = Self.bought
            let before = world.transport.requests.count
            guard case .stated(let results) = try await client.ask(known) else {
                Issue.record("the answer is in part")
                return
            }
            #expect(Set(results.flatMap(\.lineages)) == Set(known.names))
            #expect(world.transport.requests.count - before == (known.isSubscription ? 2 : 1))
        }
    }

    @Test(
        "say nothing where Apple refuses or is out of order",
        arguments: [(401, DeliveryError.Code.denied), (429, .unavailable), (500, .unavailable)]
    )
    func trouble(status: Int, code: DeliveryError.Code) async throws {
        let world = try World()
        world.transport.on(.any, respond: HTTPTransportResponse(status: status, body: []))
        let journal = try await journal(world)
        let before = try await journal.state(of: Self.lineage)
        let report = try await journal.reconcile(with: [try world.client()])
        #expect((report.asked, report.stopped) == (0, ["apple": code]))
        #expect(try await journal.state(of: Self.lineage) == before)
        #expect(try await journal.questions(at: world.now).count == 1)
    }
}
