import Foundation
import GRDB
import Normalizer
import NotificationSimulator
import Testing

@testable import Backend

@Suite("What a database keeps of deliveries")
struct EventStoreTests {
    private static let tellers = Teller.names.map { [$0] } + [["apple", "revenuecat"]]

    @Test(
        "Everything twice, in any order and at once, gives the access of the story, and each piece of news once",
        arguments: tellers,
        Story.all.map(\.id)
    )
    func shuffled(_ tellers: [String], _ name: String) async throws {
        let story = try #require(Story.named(name))
        var results: [Normalization] = []
        for teller in tellers {
            guard let told = try await Teller(teller).results(story) else { return }
            results += told
        }
        let policy = Teller.policy(for: results)
        let (expected, credits) = Self.inOrder(results, policy)
        #expect(expected.accounts.isEmpty == expected.states.isEmpty)
        let file = try TemporaryDatabase()
        let store = try EventStore(DatabasePool(path: file.path), policy: policy)
        try await withThrowingTaskGroup { group in
            for result in (results + results).shuffled() {
                let now = result.events.map(\.receivedAt).max() ?? Teller.start
                group.addTask { try await store.update(for: result, at: now) }
            }
            try await group.waitForAll()
        }
        for account in expected.accounts {
            for days in stride(from: 0.0, through: 240, by: 15) {
                let time = Teller.start.addingTimeInterval(days * 86_400)
                let access = try await store.access(of: account, in: .production, at: time)
                #expect(access == expected.access(of: account, at: time), "\(account) on day \(days)")
            }
        }
        // Some days later: what was charged ahead has begun.
        let last = try #require(results.flatMap(\.events).map(\.receivedAt).max()) + 2 * 86_400
        for account in expected.accounts {
            let available = try await store.credits(of: account, in: .production, at: last)
            #expect(available == credits(account, last), "\(account)")
        }
        let news = try await store.outbox().map(\.id)
        #expect(Set(news).count == news.count)
        #expect(Set(results.flatMap(\.events).map(\.id)).isSuperset(of: news))
        #expect(!news.isEmpty)
    }

    /// What is known, and what credits there are, when everything is told once and in order.
    private static func inOrder(
        _ results: [Normalization],
        _ policy: CreditPolicy
    ) -> (AccountLedger, credits: (_ account: Account.Identifier, _ time: Date) -> Int64) {
        var ledger = AccountLedger()
        var balances: [SubscriptionID: CreditBalance] = [:]
        var done: Set<String> = []
        for result in results {
            for applied in ledger.apply(result) {
                guard let lineage = applied.event.subscription, let state = ledger[lineage] else { continue }
                var balance = CreditBalance()
                for name in state.lineages { balance.merge(balances.removeValue(forKey: name) ?? CreditBalance()) }
                let now = applied.event.receivedAt
                balance.settle(at: now, by: policy, in: state)
                for action in policy.actions(for: applied, in: state) where done.insert(action.id).inserted {
                    balance.perform(action, at: now)
                }
                balances[state.subscription] = balance
            }
        }
        return (
            ledger,
            { account, time in
                ledger.states(of: [account], in: .production).reduce(0) { sum, state in
                    var balance = CreditBalance()
                    for name in state.lineages { balance.merge(balances[name] ?? CreditBalance()) }
                    balance.settle(at: time, by: policy, in: state)
                    return sum + balance.available(hasAccess: state.access(at: time).isGranted)
                }
            }
        )
    }

    /// A database, and a ledger in memory that is told the same.
    private struct Told {
        let store: EventStore
        var ledger = AccountLedger()

        init(_ policy: CreditPolicy = CreditPolicy([:])) throws {
            store = try EventStore(DatabaseQueue(), policy: policy)
        }

        init(store: EventStore) { self.store = store }

        mutating func tell(_ event: LifecycleEvent, of lineage: SubscriptionID? = nil, _ facts: [Fact] = [])
            async throws
        {
            let name = "\(ledger.states.count)-\(lineage?.id ?? "")"
            let result = Self.result(event, name, of: lineage, facts)
            try await store.update(for: result, at: Teller.start)
            _ = ledger.apply(result)
        }

        /// Something that is bought once, beside the periods of a lineage.
        static func pack(_ transaction: String, of lineage: String) -> Normalization {
            let purchase = LifecycleEvent.OneTimePurchase(type: .consumable, quantity: 1)
            let fact = Fact.OneTimePurchase(
                transaction: transaction,
                product: "coins",
                purchase: purchase,
                at: Teller.start
            )
            return result(
                .oneTimePurchased(purchase),
                transaction,
                of: SubscriptionID(store: .appStore, environment: .production, id: lineage),
                [.purchase(fact)],
                product: "coins",
                transaction: transaction
            )
        }

        private static func result(
            _ event: LifecycleEvent,
            _ name: String,
            of lineage: SubscriptionID?,
            _ facts: [Fact],
            product: String? = nil,
            transaction: String? = nil
        ) -> Normalization {
            let scope = lineage ?? SubscriptionID(store: .appStore, environment: .production, id: "")
            let event = NormalizedEvent(
                id: .notified(scope, by: .revenuecat, notification: name),
                event: event,
                provider: .revenuecat,
                store: .appStore,
                environment: .production,
                subscription: lineage,
                transaction: transaction,
                product: product.map { PurchasedProduct(id: $0) },
                occurredAt: Teller.start,
                effectiveAt: Teller.start,
                assertedAt: Teller.start,
                receivedAt: Teller.start,
                facts: facts,
                origin: Origin(
                    type: "T",
                    notificationID: name,
                    channel: .webhook,
                    evidence: .init(.unchecked),
                    digest: name,
                    mapper: "test/1"
                )
            )
            return Normalization([event])
        }

        /// A period between so many days after the start.
        mutating func tellOfPeriod(_ id: String, _ days: Range<Double>, _ facts: [Fact], transaction: String? = nil)
            async throws
        {
            let lineage = SubscriptionID(store: .appStore, environment: .production, id: id)
            let start = Teller.start + days.lowerBound * 86_400
            let period = ServicePeriod(start: start, end: Teller.start + days.upperBound * 86_400)
            try await tell(
                .started(.init(origin: .new, phase: .regular, period: period)),
                of: lineage,
                [.period(.init(period, product: "pro", phase: .regular, transaction: transaction ?? id))] + facts
            )
        }

        /// Whether those who ask the database, and they alone, have access at the end of so many days.
        func grants(_ accounts: [Account.Identifier], onDay day: Double) async throws -> [Bool] {
            let time = Teller.start + day * 86_400 - 1
            var granted: [Bool] = []
            for account in accounts {
                let access = try await store.access(of: account, in: .production, at: time)
                #expect(access == ledger.access(of: account, at: time))
                granted.append(access.decision.isGranted)
            }
            return granted
        }
    }

    @Test("A customer has what was bought under another name of theirs, and who gave it away has it no more")
    func names() async throws {
        let anonymous = Account.Identifier("anonymous", .appUserID)
        let (first, second) = (Account.Identifier("user-17", .appUserID), Account.Identifier("user-18", .appUserID))
        var told = try Told()
        try await told.tellOfPeriod("1", 0..<30, [.owner(Account(anonymous.id, .appUserID))])
        try await told.tellOfPeriod("2", 0..<20, [.owner(Account(first.id, .appUserID, aliases: [anonymous]))])
        #expect(try await told.grants([anonymous, first, second], onDay: 20) == [true, true, false])
        #expect(try await told.grants([anonymous, first, second], onDay: 30) == [true, true, false])
        try await told.tell(.transferred(.init(from: [anonymous, first], to: [second])))
        #expect(try await told.grants([anonymous, first, second], onDay: 30) == [false, false, true])
    }

    @Test("A relay moves by an app user id what the store knows by an account token, in either case")
    func namesAcrossSources() async throws {
        let user = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
        let (old, new) = (Account.Identifier(user, .appAccountToken), Account.Identifier("user-18", .appUserID))
        var told = try Told()
        try await told.tellOfPeriod("1", 0..<30, [.owner(Account(user.lowercased(), .appAccountToken))])
        #expect(try await told.grants([old, new], onDay: 30) == [true, false])
        try await told.tell(.transferred(.init(from: [.init(user, .appUserID)], to: [new])))
        #expect(try await told.grants([old, new], onDay: 30) == [false, true])
    }

    @Test("What goes on under another name belongs to whoever is named under the first, also when that is told of last")
    func links() async throws {
        let account = Account.Identifier("user-17", .appUserID)
        var told = try Told()
        let old = SubscriptionID(store: .appStore, environment: .production, id: "1")
        try await told.tellOfPeriod("2", 30..<60, [.link(old)])
        try await told.tellOfPeriod("1", 0..<30, [.owner(Account(account.id, .appUserID))])
        #expect(try await told.grants([account], onDay: 60) == [true])
        // The row of the one name says nothing of this, and that of the other nothing of the account.
        try await told.tellOfPeriod("2", 60..<90, [], transaction: "3")
        #expect(try await told.grants([account], onDay: 90) == [true])
    }

    @Test("Credits are used once, however many use them at once, and those of two subscriptions together")
    func use() async throws {
        let account = Account.Identifier("user-17", .appUserID)
        let owner = Fact.owner(Account(account.id, account.source))
        var told = try Told(CreditPolicy(["pro": .init(credits: 100)]))
        try await told.tellOfPeriod("1", 0..<30, [owner])
        try await told.tellOfPeriod("2", 0..<20, [owner])
        let store = told.store
        func credits(_ day: Double) async throws -> Int64 {
            try await store.credits(of: account, in: .production, at: Teller.start + day * 86_400)
        }
        #expect(try await credits(1) == 200)
        let used = try await withThrowingTaskGroup { group in
            for _ in 0..<20 {
                group.addTask { try await store.use(30, of: account, in: .production, at: Teller.start + 86_400) }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(used == 6)
        #expect(try await credits(1) == 20)
        #expect(try await !store.use(-30, of: account, in: .production, at: Teller.start + 86_400))
        let stranger = Account.Identifier("user-18", .appUserID)
        #expect(try await !store.use(1, of: stranger, in: .production, at: Teller.start + 86_400))
        // What the second one has left counts as long as that gives access.
        #expect(try await [credits(19), credits(20)] == [20, 0])
    }

    @Test("What was charged ahead pays out when it begins, and what is linked pays out once")
    func credits() async throws {
        let account = Account.Identifier("user-17", .appUserID)
        let old = SubscriptionID(store: .appStore, environment: .production, id: "1")
        var told = try Told(CreditPolicy(["pro": .init(credits: 100)]))
        try await told.tellOfPeriod("1", 1..<30, [.owner(Account(account.id, account.source))])
        // Told of on the first day.
        let store = told.store
        func credits(_ day: Double) async throws -> Int64 {
            try await store.credits(of: account, in: .production, at: Teller.start + day * 86_400)
        }
        #expect(try await [credits(0.5), credits(1)] == [0, 100])
        #expect(try await store.use(60, of: account, in: .production, at: Teller.start + 2 * 86_400))
        try await told.tellOfPeriod("2", 1..<30, [], transaction: "relayed")
        #expect(try await credits(3) == 40)
        try await told.tellOfPeriod("2", 1..<30, [.link(old)], transaction: "relayed")
        #expect(try await credits(3) == 40)
    }

    /// The statements of a block of the page, by what they begin with.
    private static func documented(_ start: String) throws -> [String] {
        let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("docs/model.md")
        return try String(contentsOf: page, encoding: .utf8).components(separatedBy: "```sql\n").dropFirst()
            .flatMap { $0.components(separatedBy: "```")[0].components(separatedBy: ";") }
            .map { $0.split(separator: "\n").filter { !$0.hasPrefix("--") }.joined(separator: "\n") }
            .filter { $0.hasPrefix(start) }
    }

    /// Databases that let writers in side by side have to compare what they read with what is there.
    @Test("In the documented tables, credits that are used and credits that are given at once are not there twice")
    func documentedBalances() throws {
        let database = try DatabaseQueue()
        let (table, delete, insert) = try (
            #require(Self.documented("CREATE TABLE credit_balance").first),
            #require(Self.documented("DELETE FROM credit_balance").first),
            #require(Self.documented("INSERT INTO credit_balance").first)
        )
        /// One of two who each have read all rows, and write when the other may have written.
        struct Writer {
            var rows: [String: Int]
            var balance = CreditBalance()

            init(_ db: Database) throws {
                rows = [:]
                for row in try Row.fetchAll(db, sql: "SELECT * FROM credit_balance") {
                    let text: String = row["balance"]
                    balance.merge(try CanonicalJSON.value(from: Array(text.utf8)))
                    rows[row["subscription"]] = row["version"]
                }
            }

            /// Whether it may write, as far as the statements say.
            func write(to subscription: String, _ delete: String, _ insert: String, _ db: Database) throws -> Bool {
                var isSwapped = true
                try db.inSavepoint {
                    for (name, version) in rows {
                        try db.execute(sql: delete, arguments: ["subscription": name, "version": version])
                        if db.changesCount != 1 { isSwapped = false }
                    }
                    let version = (rows.values.max() ?? 0) + 1
                    try db.execute(
                        sql: insert,
                        arguments: [
                            "subscription": subscription, "version": version, "balance": CanonicalJSON.text(balance),
                        ]
                    )
                    if db.changesCount != 1 { isSwapped = false }
                    return isSwapped ? .commit : .rollback
                }
                return isSwapped
            }
        }
        // Under the two names of one purchase, one of which has no row yet, and then under one.
        for names in [["A", "B"], ["B", "A"], ["A", "A"]] {
            try database.write { db in
                try db.execute(sql: "DROP TABLE IF EXISTS credit_balance; " + table)
                var first = try Writer(db)
                first.balance.bought += 100
                #expect(try first.write(to: "A", delete, insert, db))
                var (given, used) = (try Writer(db), try Writer(db))
                given.balance.bought += 30
                #expect(used.balance.use(upTo: 60, hasAccess: true) == 60)
                #expect(try given.write(to: names[0], delete, insert, db))
                #expect(try !used.write(to: names[1], delete, insert, db))
                used = try Writer(db)
                #expect(used.balance.use(upTo: 60, hasAccess: true) == 60)
                #expect(try used.write(to: names[1], delete, insert, db))
                #expect(try Writer(db).balance == CreditBalance(bought: 70))
            }
        }
    }

    @Test(
        "Who uses credits while others are given, under another name of the purchase and by another process, uses each once"
    )
    func usedBesideGiven() async throws {
        let account = Account.Identifier("user-17", .appUserID)
        let old = SubscriptionID(store: .appStore, environment: .production, id: "1")
        let policy = CreditPolicy(["coins": .init(credits: 10), "pro": .init(credits: 100)])
        let file = try TemporaryDatabase()
        var waiting = Configuration()
        waiting.busyMode = .timeout(30)
        let stores = try (0..<2).map { _ in
            try EventStore(DatabasePool(path: file.path, configuration: waiting), policy: policy)
        }
        var told = try Told(store: stores[0])
        try await told.tellOfPeriod("1", 0..<30, [.owner(Account(account.id, account.source))])
        try await told.tellOfPeriod("2", 30..<60, [.link(old)])
        let packs = (0..<20).map { Told.pack("coins-\($0)", of: ["1", "2"][$0 % 2]) }
        let used = try await withThrowingTaskGroup { group in
            for pack in packs {
                group.addTask {
                    try await stores[1].update(for: pack, at: Teller.start)
                    return false
                }
                for store in stores {
                    group.addTask { try await store.use(7, of: account, in: .production, at: Teller.start) }
                }
            }
            return try await group.reduce(into: Int64(0)) { $0 += $1 ? 7 : 0 }
        }
        #expect(used > 0)
        let left = try await stores[0].credits(of: account, in: .production, at: Teller.start)
        #expect(left + used == 300)
    }
}
