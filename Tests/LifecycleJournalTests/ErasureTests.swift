import Foundation
import LifecycleJournal
import Normalizer
import NormalizerTesting
import Testing

@Suite("An erased account leaves nothing, and takes nothing from others", .timeLimit(.minutes(5)))
struct ErasureTests {
    /// How a purchase of Ada's came to be Ben's.
    enum Way: String, CaseIterable {
        /// A relay moved what she had to his account, and named no purchase.
        case transfer
        /// He bought it again under his account.
        case purchase
        /// The host handed it over.
        case handover
        /// It never was hers: she was named for it later.
        case conflict
        /// The relay names him for a later period.
        case naming
        /// A relay had moved it to her before it moved it to him.
        case twice
    }

    static let start = Date(timeIntervalSince1970: 1_800_000_000)
    static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "1")
    static let name = "ada-unique-7731"
    let ada = Account.Identifier(Self.name, .appUserID)
    let ben = Account.Identifier("ben", .appUserID)
    let cleo = Account.Identifier("cleo", .appUserID)
    let folder = TemporaryFolder()

    static func day(_ number: Int) -> Date { start.addingTimeInterval(Double(number) * 86_400) }

    /// Thirty days of a purchase, paid for by an account.
    func payment(
        on day: Int,
        by account: Account.Identifier,
        of lineage: SubscriptionID = Self.lineage,
        transferring: Bool = false,
        from provider: Provider = .revenuecat
    ) -> Normalization {
        let period = ServicePeriod(start: Self.day(day), end: Self.day(day + 30))
        let transaction = "\(lineage.id)-\(day)"
        var facts: [Fact] = [
            .owner(Account(account.id, account.source)),
            .period(.init(period, product: "pro", phase: .regular, transaction: TransactionID(transaction))),
        ]
        if transferring { facts.append(.transfer(.init(from: [], to: [account]))) }
        let event = LifecycleEvent.renewed(.init(cause: .scheduled, phase: .regular, period: period))
        return result(event, of: lineage, on: day, account: account, facts: facts, from: provider)
    }

    func transfer(
        on day: Int,
        from: Account.Identifier,
        to: Account.Identifier
    ) -> Normalization {
        let transfer = LifecycleEvent.Transfer(from: [from], to: [to])
        return result(.transferred(transfer), of: nil, on: day, account: nil, facts: [.transfer(transfer)])
    }

    private func result(
        _ event: LifecycleEvent,
        of lineage: SubscriptionID?,
        on day: Int,
        account: Account.Identifier?,
        facts: [Fact],
        from provider: Provider = .revenuecat
    ) -> Normalization {
        let notification = "\(lineage?.id ?? "accounts")-\(day)"
        return Normalization([
            NormalizedEvent(
                id: EventID(provider: .revenuecat, environment: .production, notification: notification),
                event: event,
                provider: provider,
                store: .appStore,
                environment: .production,
                subscription: lineage,
                account: account.map { Account($0.id, $0.source) },
                occurredAt: Self.day(day),
                effectiveAt: Self.day(day),
                assertedAt: Self.day(day),
                receivedAt: Self.day(day),
                facts: facts,
                origin: .madeUp(channel: .simulated, digest: notification)
            )
        ])
    }

    func results(_ way: Way) -> [Normalization] {
        switch way {
        case .transfer:
            [payment(on: 0, by: ada), transfer(on: 5, from: ada, to: ben)]
        case .purchase:
            [payment(on: 0, by: ada), payment(on: 5, by: ben, transferring: true)]
        case .handover:
            [
                payment(on: 0, by: ada),
                Normalization(
                    noChange: .init(
                        .unchanged,
                        statement: .handover(of: Self.lineage, to: Account("ben", .appUserID), at: Self.day(5))
                    )
                ),
            ]
        case .conflict:
            [payment(on: 0, by: ben), payment(on: 5, by: ada, from: .apple)]
        case .naming:
            [payment(on: 0, by: ada), payment(on: 5, by: ben)]
        case .twice:
            [
                payment(on: 0, by: cleo), transfer(on: 3, from: cleo, to: ada), transfer(on: 5, from: ada, to: ben),
            ]
        }
    }

    func hasAccess(_ account: Account.Identifier, on day: Int, _ journal: Journal) async throws -> Bool {
        try await journal.access(of: [account], at: Self.day(day)).decision.isGranted
    }

    func expectNoName(_ storage: any JournalStorage) async throws {
        for table in JournalTable.allCases {
            let records = try await storage.read { try await $0.records(JournalSelection(limit: 1000), in: table) }
            for record in records {
                let text =
                    record.key + record.group
                    + String(decoding: record.body + record.detail, as: UTF8.self)
                #expect(!text.contains(Self.name), "\(table)")
            }
        }
    }

    @Test("a purchase that is another's by now stays with the other", arguments: Way.allCases, TestedStorage.available)
    func others(way: Way, tested: TestedStorage) async throws {
        let storage = try await tested.open(in: folder)[0]
        let journal = Journal(storage, now: { Self.start })
        for result in results(way) { try await journal.apply(result) }
        try #require(try await hasAccess(ben, on: 10, journal))
        let feed = try await journal.events().map(\.event.event.id)

        #expect(try await journal.erase(ada).lineages == [])
        try await expectNoName(storage)
        #expect(try await hasAccess(ben, on: 10, journal))
        #expect(try await journal.events().map(\.event.event.id) == feed)
        #expect(try await journal.rebuild().differing == [])
        // A repeated delivery brings nothing back.
        for result in results(way) { try await journal.apply(result) }
        try await expectNoName(storage)

        try await journal.apply(payment(on: 30, by: ben))
        #expect(try await hasAccess(ben, on: 35, journal))
        try await storage.write { transaction in
            for table in [JournalTable.state, .account, .transfer] {
                for record in try await transaction.records(JournalSelection(limit: 1000), in: table) {
                    _ = try await transaction.delete(record, from: table)
                }
            }
        }
        #expect(try await journal.rebuild(repairing: true).differing == [Self.lineage])
        #expect(try await hasAccess(ben, on: 35, journal))
        #expect(try await !hasAccess(ada, on: 10, journal))
        #expect(try await journal.verify().findings == [])
        try await expectNoName(storage)
    }

    @Test("A transfer to the account moves no more than it did")
    func ambiguous() async throws {
        let journal = Journal(MemoryJournal(), now: { Self.start })
        let other = SubscriptionID(store: .appStore, environment: .production, id: "2")
        let results = [
            payment(on: 0, by: cleo), payment(on: 0, by: cleo, of: other), transfer(on: 5, from: cleo, to: ada),
            payment(on: 30, by: ada), payment(on: 30, by: cleo, of: other),
        ]
        // Only a later word on either of the two tells which one it moved.
        for result in results.prefix(4) { try await journal.apply(result) }
        #expect(try await journal.erase(ada).lineages == [Self.lineage])
        #expect(try await hasAccess(cleo, on: 10, journal))
        #expect(try await journal.rebuild(repairing: true).differing == [])
        #expect(try await hasAccess(cleo, on: 10, journal))
    }

    @Test("A name that another source has, too, stays with the purchases of that one")
    func sharedName() async throws {
        let journal = Journal(MemoryJournal(), now: { Self.start })
        let token = Account.Identifier(Self.name, .appAccountToken)
        try await journal.apply(payment(on: 0, by: token))
        #expect(try await journal.erase(ada).lineages == [])
        #expect(try await hasAccess(token, on: 10, journal))
        #expect(try await journal.erase(token).lineages == [Self.lineage])
    }

    @Test("A name that only looks like another is another account's", arguments: TestedStorage.available)
    func lookalike(tested: TestedStorage) async throws {
        // One letter, and a letter with an accent of its own: `==` of strings takes the two for one.
        let composed = Account.Identifier("caf\u{E9}", .appUserID)
        let decomposed = Account.Identifier("cafe\u{301}", .appUserID)
        let results = [payment(on: 0, by: composed), transfer(on: 5, from: composed, to: decomposed)]
        for results in [results, results.reversed()] {
            let journal = Journal(try await tested.open(in: folder)[0], now: { Self.start })
            for result in results { try await journal.apply(result) }
            #expect(try await !hasAccess(composed, on: 10, journal))
            #expect(try await hasAccess(decomposed, on: 10, journal))
            for (account, lineages) in [(composed, []), (decomposed, [Self.lineage])] {
                let export = try await journal.export(account)
                #expect(export.states.map(\.subscription) == lineages)
                #expect(export.transfers.count == 1)
            }
            #expect(try await journal.erase(composed).lineages == [])
            #expect(try await journal.export(composed).transfers == [])
            #expect(try await hasAccess(decomposed, on: 10, journal))
            #expect(try await journal.rebuild().differing == [])
            #expect(try await journal.erase(decomposed).lineages == [Self.lineage])
            #expect(try await !hasAccess(decomposed, on: 10, journal))
        }
    }

    @Test("The substitute for a name that a relay made is no name of the app's either")
    func madeName() {
        for name in ["$RCAnonymousID:77", "77"] {
            let identifier = Account.Identifier(name, .appUserID)
            let replaced = Pseudonym(for: identifier).replacing(identifier)
            #expect(replaced != identifier)
            #expect(replaced.isOfApp == identifier.isOfApp)
        }
    }

    @Test("A nameless account has nothing that could be erased", arguments: TestedStorage.available)
    func nameless(tested: TestedStorage) async throws {
        let journal = Journal(try await tested.open(in: folder)[0], now: { Self.start })
        for result in results(.transfer) { try await journal.apply(result) }
        #expect(try await journal.erase(.init("", .appUserID)).lines == 0)
        #expect(try await hasAccess(ben, on: 10, journal))
    }

    @Test("A rebuild looks at what was stated after an erasure", arguments: TestedStorage.available)
    func rebuilt(tested: TestedStorage) async throws {
        let storage = try await tested.open(in: folder)[0]
        let journal = Journal(storage, now: { Self.start })
        try await journal.apply(payment(on: 0, by: ada))
        #expect(try await journal.erase(ada).lineages == [Self.lineage])
        try await journal.apply(payment(on: 30, by: ben))
        let rebuild = try await journal.rebuild()
        #expect(rebuild.purchases == 1)
        #expect(rebuild.differing == [])
        try await storage.write { transaction in
            for record in try await transaction.records(JournalSelection(limit: 9), in: .state) {
                _ = try await transaction.delete(record, from: .state)
            }
        }
        #expect(try await journal.rebuild(repairing: true).differing == [Self.lineage])
        #expect(try await hasAccess(ben, on: 35, journal))
    }

    @Test("A purchase that a new account uploads is in the log again", arguments: TestedStorage.available)
    func uploaded(tested: TestedStorage) async throws {
        let storage = try await tested.open(in: folder)[0]
        let time = ManualTime(Self.start)
        let journal = Journal(storage, now: { time.now })
        var purchase = payment(on: 0, by: ada)
        purchase.events[0].account = nil
        purchase.events[0].facts.removeFirst()
        for account in [ada, ben, ada, cleo] {
            time.advance(60)
            try await journal.upload(purchase, by: Account(account.id, account.source))
            #expect(try await hasAccess(account, on: 10, journal))
            let state = try await journal.state(of: Self.lineage)
            var logged = AccountLedger()
            for line in try await journal.lines(of: [Self.lineage]) { logged.apply(line) }
            #expect(logged[Self.lineage] == state)
            #expect(try await journal.rebuild().differing == [])
            // The same delivery tells nothing that is new.
            let count = try await journal.lines().count
            try await journal.apply(purchase)
            #expect(try await journal.lines().count == count)
            #expect(try await journal.erase(account).lineages == [Self.lineage])
            // Nor does it after the erasure.
            try await journal.apply(purchase)
            #expect(try await journal.state(of: Self.lineage) == nil)
        }
        #expect(try await journal.verify().findings == [])
        #expect(try await journal.events().isEmpty)
    }
}
