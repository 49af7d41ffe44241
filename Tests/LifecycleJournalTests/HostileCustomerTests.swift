import Foundation
import LifecycleJournal
import NormalizerTesting
import Testing

/// Acts that one customer can repeat at will.
@Suite("A customer who does one thing again and again costs the same each time", .timeLimit(.minutes(15)))
struct HostileCustomerTests {
    enum Life: String, CaseIterable {
        /// Changes the plan on Play, which a relay reports as another purchase each time.
        case planChanges
        /// Goes by one more name each time.
        case aliases
        /// Moves what they have between two accounts of many names.
        case transfers
        /// Buys again under a name that is linked to the one before.
        case links
        /// Buys something else.
        case purchases
    }

    private static let start = Date(timeIntervalSince1970: 1_800_000_000)

    private static func results(_ life: Life, _ count: Int) -> [Normalization] {
        (0..<count).map { number in
            let time = start.addingTimeInterval(Double(number) * 86_400)
            switch life {
            case .planChanges:
                let facts = [Fact.owner(Account("u", .appUserID)), period(number, "GPA.\(number)", at: time)]
                let next = Fact.succession(.init(at: time.addingTimeInterval(86_400), from: product(number)))
                return result("GPA.\(number)", .playStore, at: time, facts: facts + [next])
            case .aliases:
                let names = (0...number).map { Account.Identifier("u\($0)", .appUserID) }
                let owner = Account("u\(number)", .appUserID, aliases: names.dropLast())
                return result("1", .appStore, at: time, facts: [.owner(owner)])
            case .transfers:
                func names(_ account: String) -> [Account.Identifier] {
                    (0..<20).map { .init("\(account)\($0)", .appUserID) }
                }
                let (from, to) = number % 2 == 0 ? ("a", "b") : ("b", "a")
                let transfer = LifecycleEvent.Transfer(from: names(from), to: names(to))
                return Normalization([
                    event(nil, .appStore, stating: .transferred(transfer), at: time, facts: [.transfer(transfer)])
                ])
            case .links:
                let before = SubscriptionID(store: .stripe, environment: .production, id: "sub_\(max(number - 1, 0))")
                let facts = [Fact.owner(Account("u", .stripeCustomer)), .link(before)]
                return result(
                    "sub_\(number)",
                    .stripe,
                    at: time,
                    facts: facts + [period(number, "in_\(number)", at: time)]
                )
            case .purchases:
                let facts = [Fact.owner(Account("u", .appUserID)), period(number, "GPA.\(number)", at: time)]
                return result("GPA.\(number)", .playStore, at: time, facts: facts)
            }
        }
    }

    private static func product(_ number: Int) -> ProductID { number % 2 == 0 ? "basic" : "pro" }

    private static func period(_ number: Int, _ transaction: TransactionID, at time: Date) -> Fact {
        let period = ServicePeriod(start: time, end: time.addingTimeInterval(2_592_000))
        return .period(.init(period, product: product(number), phase: .regular, transaction: transaction))
    }

    private static func result(_ id: String, _ store: PurchaseStore, at time: Date, facts: [Fact]) -> Normalization {
        let lineage = SubscriptionID(store: store, environment: .production, id: id)
        return Normalization([event(lineage, store, stating: .autoRenewEnabled, at: time, facts: facts)])
    }

    private static func event(
        _ lineage: SubscriptionID?,
        _ store: PurchaseStore,
        stating event: LifecycleEvent,
        at time: Date,
        facts: [Fact]
    ) -> NormalizedEvent {
        let provider: Provider = store == .stripe ? .stripe : .revenuecat
        let name = "\(time.timeIntervalSince1970)"
        return NormalizedEvent(
            id: EventID(provider: provider, environment: .production, notification: name),
            event: event,
            provider: provider,
            store: store,
            environment: .production,
            subscription: lineage,
            occurredAt: time,
            effectiveAt: time,
            assertedAt: time,
            receivedAt: time,
            facts: facts,
            origin: .madeUp(channel: .simulated, digest: name)
        )
    }

    /// The bytes of all that is kept beside the log and the events, which are as long as what was sent.
    private static func size(_ life: Life, _ count: Int) async throws -> Int {
        let storage = MemoryJournal()
        let journal = Journal(storage, now: { start })
        for result in results(life, count) { try await journal.apply(result) }
        return try await storage.read { transaction in
            var size = 0
            for table in JournalTable.allCases where table != .log && table != .event {
                for record in try await transaction.records(JournalSelection(limit: 100_000), in: table) {
                    size += record.key.utf8.count + record.group.utf8.count + record.body.count + record.detail.count
                }
            }
            return size
        }
    }

    @Test("in bytes", arguments: Life.allCases)
    func bytes(life: Life) async throws {
        let (few, many) = (try await Self.size(life, 20), try await Self.size(life, 80))
        #expect(many < few * 5, "\(few) bytes for 20, \(many) for 80")
    }
}
