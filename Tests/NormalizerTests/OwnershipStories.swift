import FoundationEssentials
import Testing

@testable import Normalizer

/// Whose a purchase is after transfers that name accounts and no purchase.
@Suite("Whom purchases belong to")
struct OwnershipStories {
    static func owned(_ lineage: String, _ store: Store, by account: Account, at days: Double = 0) -> NormalizedEvent {
        let period = ServicePeriod(start: AccountStories.day(0), end: AccountStories.day(365))
        return AccountStories.event(
            .started(.init(origin: .new, phase: .regular, period: period)),
            lineage,
            at: days,
            of: lineage,
            store: store,
            by: .revenuecat,
            [
                .period(.init(period, product: "basic", phase: .regular, transaction: lineage)),
                .owner(account),
            ]
        )
    }

    static func moved(
        _ from: [String],
        _ to: [String],
        at days: Double,
        store: Store = .appStore
    ) -> NormalizedEvent {
        let transfer = LifecycleEvent.Transfer(
            from: from.map { .init($0, .appUserID) },
            to: to.map { .init($0, .appUserID) }
        )
        var event = AccountStories.event(
            .transferred(transfer),
            nil,
            at: days,
            store: store,
            by: .revenuecat,
            product: nil,
            notification: "transfer-\(days)",
            [.transfer(transfer)]
        )
        event.subscription = nil
        return event
    }

    static func ledger(_ events: [NormalizedEvent]) -> AccountLedger {
        var ledger = AccountLedger()
        for event in events { _ = ledger.apply(event) }
        return ledger
    }

    /// The stores of what an account has access by.
    static func stores(_ account: String, _ ledger: AccountLedger) -> Set<Store> {
        let access = ledger.access(of: Account.Identifier(account, .appUserID), at: AccountStories.day(100))
        return Set(access.grantors.map(\.subscription.store))
    }

    @Test("what moves with one store's account is what was bought in that store")
    func transferOfOneStore() {
        let first = Account("u1", .appUserID)
        let story = [
            Self.owned("O1", .appStore, by: first), Self.owned("S1", .stripe, by: first),
            Self.owned("GPA.1", .playStore, by: first), Self.owned("P1", .promotional, by: first),
            Self.moved(["u1"], ["u2"], at: 10),
        ]
        for story in [story, story.reversed()] {
            let ledger = Self.ledger(story)
            #expect(Self.stores("u1", ledger) == [.stripe, .playStore, .promotional])
            #expect(Self.stores("u2", ledger) == [.appStore])
        }
        // Apple's two stores are one, and where no store is named everything moves.
        let mac = Self.ledger(story.dropLast() + [Self.moved(["u1"], ["u2"], at: 10, store: .macAppStore)])
        #expect(Self.stores("u2", mac) == [.appStore])
        let all = Self.ledger(story.dropLast() + [Self.moved(["u1"], ["u2"], at: 10, store: .unknown)])
        #expect(Self.stores("u1", all) == [])
        #expect(Self.stores("u2", all) == [.appStore, .stripe, .playStore, .promotional])
    }

    @Test("what was moved to an account of several names moves on under any of them")
    func transferOfTransferred() {
        let story = [
            Self.owned("O1", .appStore, by: Account("u1", .appUserID)),
            Self.moved(["u1"], ["u2", "$RCAnonymousID:2"], at: 10),
            Self.moved(["u2"], ["u3"], at: 20),
        ]
        for story in [story, story.reversed()] {
            let ledger = Self.ledger(story)
            #expect(Self.stores("u1", ledger) == [])
            #expect(Self.stores("u2", ledger) == [])
            #expect(Self.stores("$RCAnonymousID:2", ledger) == [])
            #expect(Self.stores("u3", ledger) == [.appStore])
        }
    }

    @Test("names that only look alike are two accounts")
    func canonicalEquivalents() throws {
        let (composed, decomposed) = ("jos\u{E9}", "jose\u{301}")
        let ledger = Self.ledger([
            Self.owned("O1", .appStore, by: Account(composed, .appUserID)),
            Self.owned("S1", .stripe, by: Account(decomposed, .appUserID)),
        ])
        #expect(Self.stores(composed, ledger) == [.appStore])
        #expect(Self.stores(decomposed, ledger) == [.stripe])
        #expect(ledger.accounts.count == 2)
        let both = Self.ledger([
            Self.owned("O1", .appStore, by: Account(composed, .appUserID)),
            Self.owned("O1", .appStore, by: Account(decomposed, .appUserID), at: 1),
        ])
        let state = try #require(both.states.first)
        #expect(state.ownership.conflicts.count == 1)
        let read = try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes(state))
        #expect(read == state)
        #expect(Self.stores(decomposed, both) == [])
        #expect(Self.stores(composed, both) == [.appStore])
        let moved = Self.ledger([
            Self.owned("O1", .appStore, by: Account(composed, .appUserID)), Self.moved([decomposed], ["u2"], at: 10),
        ])
        #expect(Self.stores(composed, moved) == [.appStore])
    }

    @Test("a stored link into another environment is not followed, and costs no state")
    func storedForeignLink() throws {
        let sandbox = SubscriptionID(store: .appStore, environment: .sandbox, id: "O1")
        let ledger = Self.ledger([Self.owned("O1", .appStore, by: Account("u1", .appUserID))])
        let state = try #require(ledger.states.first)
        var text = String(decoding: try CanonicalJSON.bytes(state), as: UTF8.self)
        text = String(text.dropLast()) + ",\"links\":[\"\(sandbox)\"]}"
        let linked = try CanonicalJSON.value(SubscriptionState.self, from: Array(text.utf8))
        #expect(AccountLedger([SubscriptionState(sandbox), linked]).states.count == 2)
    }
}
