import FoundationEssentials
import Normalizer

/// Some customers' purchases, made up from a seed: results as adapters would make them, in the order in which things happened.
struct JournalHistory {
    /// The results, in the order of delivery.
    private(set) var results: [Normalization] = []
    /// The owner of the purchases.
    private(set) var accounts: [Account.Identifier] = []
    /// After the last period.
    private(set) var end = Date(timeIntervalSince1970: 0)

    private static let start = Date(timeIntervalSince1970: 1_800_000_000)
    private static let month: TimeInterval = 2_592_000

    init(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for customer in 0..<3 {
            // As strange as a provider could send it: a NUL, a letter in two parts, a line break, a backslash.
            let account = Account("customer \(customer)\0e\u{301}\\\n\(seed)", .appUserID)
            accounts.append(Account.Identifier(account.id, account.source))
            var lineage = SubscriptionID(store: .stripe, environment: .production, id: "sub_\(seed)_\(customer)")
            for month in 0..<4 {
                var facts: [Fact] = [.owner(account)]
                if month == 2, customer != 1 {
                    // The purchase continues under another name.
                    let other = SubscriptionID(store: .stripe, environment: .production, id: lineage.id + "_next")
                    facts.append(.link(lineage))
                    lineage = other
                }
                results.append(Self.period(month, of: lineage, facts))
                if Bool.random(using: &generator) { results.append(Self.canceled(month, lineage)) }
                if Bool.random(using: &generator) { results.append(Self.stated(month, lineage)) }
            }
            results += Self.upgrade("GPA_\(seed)_\(customer)", .owner(account))
        }
        end = Self.start.addingTimeInterval(Self.month * 3.5)
    }

    private static func period(
        _ month: Int,
        of lineage: SubscriptionID,
        _ facts: [Fact],
        product: ProductID = "basic"
    ) -> Normalization {
        let begin = start.addingTimeInterval(Self.month * Double(month))
        let period = ServicePeriod(start: begin, end: begin.addingTimeInterval(Self.month))
        let transaction = TransactionID(lineage.store == .playStore ? lineage.id : "in_\(lineage.id)_\(month)")
        let event: LifecycleEvent =
            month == 0
            ? .started(.init(origin: .new, phase: .regular, period: period))
            : .renewed(.init(cause: .scheduled, phase: .regular, period: period))
        return Normalization([
            self.event(
                .periodBegan(lineage, transaction: transaction, product: product),
                event,
                in: lineage,
                at: begin,
                facts: facts + [.period(.init(period, product: product, phase: .regular, transaction: transaction))]
            )
        ])
    }

    /// A purchase and the one that takes its place, of a store whose relay names no link between the two.
    private static func upgrade(_ name: String, _ owner: Fact) -> [Normalization] {
        let old = SubscriptionID(store: .playStore, environment: .production, id: name)
        let new = SubscriptionID(store: .playStore, environment: .production, id: name + "_next")
        let moment = start.addingTimeInterval(month)
        let change = event(
            EventID(.notified, in: old, "changed"),
            .notice(.init(.productChange)),
            in: old,
            at: moment,
            facts: [owner, .succession(.init(at: moment, from: "small"))]
        )
        return [period(0, of: old, [owner], product: "small"), Normalization([change]), period(1, of: new, [owner])]
    }

    private static func canceled(_ month: Int, _ lineage: SubscriptionID) -> Normalization {
        let time = start.addingTimeInterval(Self.month * (Double(month) + 0.5))
        return Normalization([
            event(
                EventID(.notified, in: lineage, "canceled", "\(month)"),
                .autoRenewDisabled(.init(reason: .customer)),
                in: lineage,
                at: time,
                facts: [.renewalIntent(.init(RenewalTerms(willRenew: false), reason: .customer))]
            )
        ])
    }

    /// A statement without an event: a log of events alone would lose it.
    private static func stated(_ month: Int, _ lineage: SubscriptionID) -> Normalization {
        let time = start.addingTimeInterval(Self.month * (Double(month) + 0.75))
        let statement = StoreStatement(
            subscription: lineage,
            provider: .stripe,
            assertedAt: time,
            facts: [.renewalIntent(.init(RenewalTerms(willRenew: true)))],
            origin: origin("look-up \(lineage.id) \(month)")
        )
        return Normalization(noChange: .init(.unchanged, statement: statement))
    }

    private static func event(
        _ id: EventID,
        _ event: LifecycleEvent,
        in lineage: SubscriptionID,
        at time: Date,
        facts: [Fact]
    ) -> NormalizedEvent {
        NormalizedEvent(
            id: id,
            event: event,
            provider: lineage.store == .playStore ? .revenuecat : .stripe,
            store: lineage.store,
            environment: .production,
            subscription: lineage,
            occurredAt: time,
            effectiveAt: time,
            assertedAt: time,
            receivedAt: time,
            facts: facts,
            origin: origin(id.description)
        )
    }

    private static func origin(_ digest: String) -> Origin {
        Origin.madeUp(channel: .simulated, digest: digest)
    }
}
