import Synchronization
import NormalizerTesting
import AppStoreServer
import AppleJWS
import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import Normalizer
import NotificationSimulator
import Testing

@Suite("Answers of the App Store Server API") struct AnswerTests {
    @Test("the notification history gives the same ids and facts as the webhook, by the channel history")
    func history() async throws {
        let world = try World()
        world.serve()
        let start = World.start.addingTimeInterval(-86_400 * 60)
        let story = try World.story(from: start)
        world.state.withLock { $0.production.sent = story.map { .init($0) } }
        let client = try world.client()
        let query = NotificationHistoryQuery(from: start, to: World.start)

        var entries: [NotificationHistoryPage.Entry] = []
        var page: String?
        repeat {
            let answer = try await client.notificationHistory(query, page: page, in: .production)
            entries += answer.entries
            page = answer.next
        } while page != nil
        #expect(entries.count == story.count)
        #expect(story.count > AppStoreServerSimulator.pageSize)
        // The first request has no token, and every request has the same body.
        #expect(world.transport.requests.map { $0.url.query == nil } == [true] + Array(repeating: false, count: 1))
        #expect(Set(world.transport.requests.map(\.body)).count == 1)

        let adapter = try world.adapter()
        let apple = world.state.withLock { $0.production.apple }
        for (entry, notification) in zip(entries, story) {
            let past = try adapter.normalize(adapter.authenticate(entry.delivery, channel: .history))
            let live = try adapter.normalize(adapter.authenticate(apple.delivery(notification)))
            #expect(past.events.map(\.id) == live.events.map(\.id))
            #expect(past.events.map(\.facts) == live.events.map(\.facts))
            #expect(past.events.allSatisfy { $0.origin.channel == .history })
        }
    }

    @Test("the history can be limited to failures, and an expired page token has its own error")
    func failures() async throws {
        let world = try World()
        world.serve()
        let start = World.start.addingTimeInterval(-86_400)
        let notification = AppleSimulator.Notification(
            "TEST",
            notificationUUID: "u",
            signedDate: World.start.addingTimeInterval(-60)
        )
        world.state.withLock {
            $0.production.sent = [
                .init(notification), .init(notification, attempts: ["TIMED_OUT", "TLS_ISSUE"]),
            ]
        }
        let client = try world.client()
        let query = NotificationHistoryQuery(from: start, to: World.start, onlyFailures: true)
        let answer = try await client.notificationHistory(query, in: .production)
        #expect(answer.entries.map { $0.attempts.map(\.result) } == [[.timedOut, .tlsIssue]])
        let error = await failure { () throws(AppStoreServerError) in
            try await client.notificationHistory(query, page: "1_2_3", in: .production)
        }
        #expect(error?.number == 4_000_014)
    }

    @Test("about statuses are verified statements, of every group, with Apple's status")
    func statuses() async throws {
        let world = try World()
        world.serve()
        var lapsed = AppleSimulator.Transaction.month(
            "7",
            of: "2000",
            from: World.start.addingTimeInterval(-86_400 * 40)
        )
        lapsed.subscriptionGroupIdentifier = "other"
        world.state.withLock {
            var renewal = AppleSimulator.RenewalInfo(
                originalTransactionId: "1000",
                productId: "pro.monthly",
                autoRenewProductId: "pro.monthly"
            )
            renewal.autoRenewStatus = 0
            $0.production.purchases = [
                .init([.month("1")], renewalInfo: renewal, status: 1), .init([lapsed], status: 2),
            ]
        }
        let client = try world.client()
        let answer = try await client.subscriptionStatuses(ofTransaction: "7")
        #expect(answer.refused.isEmpty)
        #expect(answer.subscriptions.map(\.group) == ["group", "other"])
        #expect(answer.subscriptions.map(\.status) == [.active, .expired])

        var ledger = AccountLedger()
        for status in answer.subscriptions {
            let result = try client.normalize(status)
            #expect(result.events.allSatisfy { $0.origin.channel == .refetch })
            _ = ledger.apply(result)
        }
        let active = try #require(ledger.states.first { $0.lineages.contains { $0.id == "1000" } })
        #expect(active.access(at: World.start.addingTimeInterval(60)).isGranted)
        #expect(active.snapshot(at: World.start.addingTimeInterval(60)).willRenew == false)
        let expired = try #require(ledger.states.first { $0.lineages.contains { $0.id == "2000" } })
        #expect(!expired.access(at: World.start).isGranted)
    }

    @Test("the history of transactions comes page by page, and later from the kept revision")
    func transactionHistory() async throws {
        let world = try World()
        world.serve()
        let months = (0..<25).map { index in
            AppleSimulator.Transaction.month(
                String(100 + index),
                from: World.start.addingTimeInterval(Double(index - 25) * 30 * 86_400)
            )
        }
        world.state.withLock { $0.production.purchases = [.init(months.reversed(), status: 1)] }
        let client = try world.client()
        let first = try await client.transactionHistory(ofTransaction: "100")
        #expect(first.transactions.count == 20 && first.hasMore)
        let second = try await client.transactionHistory(ofTransaction: "100", revision: first.revision)
        #expect(second.transactions.map(\.value.transactionID) == (120..<125).map(String.init))
        #expect(!second.hasMore)
        world.state.withLock { $0.production.purchases[0].transactions.append(.month("125")) }
        let later = try await client.transactionHistory(ofTransaction: "100", revision: second.revision)
        #expect(later.transactions.map(\.value.transactionID) == ["125"])
        // An old transaction that has changed is part of what is new.
        world.state.withLock { state in
            let oldest = state.production.purchases[0].transactions.firstIndex { $0.transactionId == "100" } ?? 0
            state.production.purchases[0].transactions[oldest].revocationDate = World.start.addingTimeInterval(60)
        }
        let changed = try await client.transactionHistory(ofTransaction: "100", revision: later.revision)
        #expect(changed.transactions.map(\.value.transactionID) == ["100"])
        let error = await failure { () throws(AppStoreServerError) in
            try await client.transactionHistory(ofTransaction: "100", revision: "expired")
        }
        #expect(error?.number == 4_000_005)
    }

    @Test("a history between two times has the purchases made from its beginning until its end")
    func transactionHistoryFilter() async throws {
        let world = try World()
        world.serve()
        let months = (0..<4).map { index in
            AppleSimulator.Transaction.month(
                String(100 + index),
                from: World.start.addingTimeInterval(Double(index - 4) * 30 * 86_400)
            )
        }
        world.state.withLock { $0.production.purchases = [.init(months.reversed(), status: 1)] }
        let client = try world.client()
        var query = TransactionHistoryQuery()
        query.start = months[1].purchaseDate
        query.end = months[3].purchaseDate
        let page = try await client.transactionHistory(ofTransaction: "100", query)
        #expect(page.transactions.map(\.value.transactionID) == ["101", "102"])
    }

    @Test("about the app itself are verified, and none for a customer without an app transaction")
    func appTransaction() async throws {
        let world = try World()
        world.serve()
        var known = AppleSimulator.Transaction.month("1")
        known.appTransactionId = "701"
        let named = known
        world.state.withLock {
            $0.production.purchases = [.init([named], customer: "a"), .init([.month("2")], customer: "b")]
        }
        let client = try world.client()
        let found = try await client.appTransaction(ofTransaction: "1")
        #expect(found.value.appTransactionID == "701")
        #expect(found.value.environment == .production)
        let error = await failure { () throws(AppStoreServerError) in
            try await client.appTransaction(ofTransaction: "2", in: .production)
        }
        #expect(error?.code == .notFound)
        #expect(error?.number == 4_040_019)
    }

    @Test("about an order have its transactions, and none for an order that is none")
    func order() async throws {
        let world = try World()
        world.serve()
        world.state.withLock { $0.production.purchases = [.init([.month("1")], status: 1)] }
        let client = try world.client()
        let found = try await client.transactions(ofOrder: "M1")
        #expect(found?.transactions.map(\.value.transactionID) == ["1"])
        #expect(try await client.transactions(ofOrder: "M2") == nil)
    }

    @Test("that Production does not know are asked of Sandbox, and what is found there stays a test purchase")
    func sandbox() async throws {
        let world = try World()
        world.serve()
        world.state.withLock { $0.sandbox.purchases = [.init([.month("1")])] }
        let client = try world.client()
        let found = try await client.transaction("1")
        #expect(found.value.environment == .sandbox)
        #expect(
            world.transport.requests.map(\.url.host) == ["api.storekit.apple.com", "api.storekit-sandbox.apple.com"]
        )
        let error = await failure { () throws(AppStoreServerError) in try await client.transaction("1", in: .production)
        }
        #expect(error?.number == 4_040_010)
    }

    @Test("an answer of 401 leads to Sandbox only for an app without a release", arguments: [true, false])
    func unreleased(isDeclaredReleased: Bool) async throws {
        let world = try World()
        world.serve()
        world.state.withLock {
            $0.production.isReleased = false
            $0.sandbox.purchases = [.init([.month("1")])]
        }
        let client = try world.client { $0.isReleased = isDeclaredReleased }
        if isDeclaredReleased {
            let error = await failure { () throws(AppStoreServerError) in try await client.transaction("1") }
            #expect(error?.code == .unauthorized)
        } else {
            #expect(try await client.transaction("1").value.environment == .sandbox)
        }
    }

    @Test("that hold another environment's data, another app's or a forgery are not used")
    func foreign() async throws {
        let world = try World()
        let apple = world.state.withLock { $0.production.apple }
        let foreigners = [
            try apple.simulating(.sandbox).signed(.month("1"), at: World.start),
            try AppleSimulator(seed: "world", bundleId: "com.example.other").signed(.month("1"), at: World.start),
            try AppleSimulator(seed: "attacker").signed(.month("1"), at: World.start),
            Array("e30.e30.e30".utf8),
        ]
        let genuine = try apple.signed(.month("2"), at: World.start)
        for jws in foreigners {
            let text = String(decoding: jws, as: UTF8.self)
            let single = HTTPTransportResponse(status: 200, body: Array(#"{"signedTransactionInfo":"\#(text)"}"#.utf8))
            world.transport.removeRules()
            world.transport.on(.any, respond: single)
            let client = try world.client()
            let error = await failure { () throws(AppStoreServerError) in
                try await client.transaction("1", in: .production)
            }
            #expect(error?.code == .unreadable)
            // One that cannot be used hides no other.
            let list =
                #"{"signedTransactions":["\#(text)","\#(String(decoding: genuine, as: UTF8.self))"],"revision":"r","hasMore":false}"#
            world.transport.removeRules()
            world.transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array(list.utf8)))
            let page = try await client.transactionHistory(ofTransaction: "1", in: .production)
            #expect(page.transactions.map(\.value.transactionID) == ["2"])
            #expect(page.refused.map(\.code) == [.unreadable])
        }
    }

    @Test(
        "that are no JSON, or other JSON, are unreadable and never a trap",
        arguments: [
            "", "[]", "null", "{", #"{"signedTransactionInfo":1}"#, #"{"data":[1]}"#,
            #"{"data":[{"lastTransactions":[{"status":"x"}]}]}"#,
        ]
    )
    func hostile(body: String) async throws {
        let world = try World()
        world.transport.on(.any, respond: HTTPTransportResponse(status: 200, body: Array(body.utf8)))
        let client = try world.client()
        let one = await failure { () throws(AppStoreServerError) in try await client.transaction("1", in: .production) }
        #expect(one?.code == .unreadable)
        let all = await failure { () throws(AppStoreServerError) in
            try await client.subscriptionStatuses(ofTransaction: "1", in: .production)
        }
        #expect(all?.code == .unreadable || body.contains("signed"))
    }
}

extension World {
    /// Thirty notifications of a monthly subscription's life.
    static func story(from start: Date, first: Int = 0) throws -> [AppleSimulator.Notification] {
        (first..<first + 30).map { index in
            let date = start.addingTimeInterval(Double(index - first) * 86_400)
            var data = AppleSimulator.PurchaseData(status: 1, transactionInfo: .month("\(1000 + index)", from: date))
            data.renewalInfo = AppleSimulator.RenewalInfo(
                originalTransactionId: "1000",
                productId: "pro.monthly",
                autoRenewProductId: "pro.monthly"
            )
            return AppleSimulator.Notification(
                index == 0 ? "SUBSCRIBED" : "DID_RENEW",
                index == 0 ? "INITIAL_BUY" : nil,
                notificationUUID: "00000000-0000-4000-8000-\(String(100_000_000_000 + index))",
                signedDate: date.addingTimeInterval(5),
                content: .data(data)
            )
        }
    }
}
