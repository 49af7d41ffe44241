import NormalizerTesting
import FoundationEssentials
import Testing

@testable import Normalizer

/// Whose a purchase is after transfers that name accounts and no purchase.
@Suite("Whom purchases belong to")
struct OwnershipStories {
    static func owned(_ lineage: String, _ store: PurchaseStore, by account: Account, at days: Double = 0)
        -> NormalizedEvent
    {
        let period = ServicePeriod(start: AccountStories.day(0), end: AccountStories.day(365))
        return AccountStories.event(
            .started(.init(origin: .new, phase: .regular, period: period)),
            TransactionID(lineage),
            at: days,
            of: lineage,
            store: store,
            by: .revenuecat,
            facts: [
                .period(.init(period, product: "basic", phase: .regular, transaction: TransactionID(lineage))),
                .owner(account),
            ]
        )
    }

    static func moved(
        _ from: [String],
        _ to: [String],
        at days: Double,
        store: PurchaseStore = .appStore
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
            facts: [.transfer(transfer)]
        )
        event.subscription = nil
        return event
    }

    static func ledger(_ events: [NormalizedEvent]) -> AccountLedger { AccountLedger(applying: events) }

    @Test("a transfer to no one is passed on, and moves nothing", arguments: [[], [""]])
    func movedToNoOne(to: [String]) {
        func moved(_ from: String, _ to: [String], at days: Double) -> NormalizedEvent {
            var event = Self.moved([from], to, at: days)
            event.subscription = SubscriptionID(store: .appStore, environment: .production, id: "O1")
            return event
        }
        var ledger = Self.ledger([
            Self.owned("O1", .appStore, by: Account("u1", .appUserID)), moved("u1", ["u2"], at: 10),
        ])
        let known = ledger
        for event in [moved("u2", to, at: 20), Self.moved(["u2"], to, at: 30)] {
            #expect(ledger.apply(event).isNews)
            #expect(ledger == known)
        }
        #expect(ledger.states.map { ledger.ownership(of: $0).accounts.map(\.id) } == [["u2"]])
    }

    /// RevenueCat's SDK gives StoreKit an app user id that is a UUID, which the App Store writes in its own case.
    @Test("a relay's transfer moves what the store knows by the same UUID in another case", arguments: [true, false])
    func spelling(isRelayed: Bool) {
        let upper = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
        var reported = Self.owned("O1", .appStore, by: Account(upper, .appAccountToken))
        reported.provider = .apple
        var events = [reported, Self.moved([upper], ["u2"], at: 10)]
        if isRelayed { events.insert(Self.owned("O1", .appStore, by: Account(upper, .appUserID), at: 0.001), at: 1) }
        let ledger = Self.ledger(events)
        func has(_ account: Account.Identifier) -> Bool {
            ledger.access(of: account, at: AccountStories.day(20)).decision.isGranted
        }
        #expect(has(.init("u2", .appUserID)))
        #expect(!has(.init(upper, .appAccountToken)))
        #expect(!has(.init(upper, .appUserID)))
    }

    @Test(
        "a claim under another source than the owner's is a conflict, unless the store made the owner's name up",
        arguments: [
            (Account("owner", .obfuscatedAccountID), false), (Account("owner", .stripeCustomer), true),
            (Account("$RCAnonymousID:1f0a", .appUserID), true),
        ]
    )
    func claimUnderAnotherSource(owner: Account, isMadeUp: Bool) throws {
        let bought = Self.owned("P1", .playStore, by: owner)
        let lineage = try #require(bought.subscription)
        let claim = StoreStatement.claim(
            of: lineage,
            by: Account("thief", .appAccountToken),
            at: AccountStories.day(-5)
        )
        for isLate in [false, true] {
            var ledger = AccountLedger()
            if isLate { _ = ledger.apply(bought) }
            ledger.apply(claim)
            if !isLate { _ = ledger.apply(bought) }
            let access = ledger.access(of: .init("thief", .appAccountToken), at: AccountStories.day(20))
            #expect(access.decision.isGranted == isMadeUp)
            #expect(ledger.access(of: .init(owner.id, owner.source), at: AccountStories.day(20)).decision.isGranted)
            let conflicts = ledger.states.flatMap { ledger.ownership(of: $0).conflicts.map(\.claimed) }
            #expect(conflicts == (isMadeUp ? [] : [.init("thief", .appAccountToken)]))
            // Both see the conflict, and the claimant nothing else.
            let explanations = [Account.Identifier("thief", .appAccountToken), .init(owner.id, owner.source)].map {
                ledger.explanations(of: [$0], at: AccountStories.day(20))
            }
            #expect(explanations.map(\.count) == [1, 1])
            let found = explanations.joined().map { ($0.decision.isGranted, $0.contradictions.map(\.kind)) }
            #expect(found.map(\.0) == [isMadeUp, true])
            #expect(found.map(\.1) == (isMadeUp ? [[], []] : [[.ownership], [.ownership]]))
        }
    }

    @Test("are looked up by a key that is the same for every source, and for a UUID in every case")
    func lookupKeys() {
        let upper = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
        let sources: [Account.Source] = [.appUserID, .appAccountToken, .stripeCustomer, .obfuscatedAccountID]
        for source in sources {
            #expect(Account.Identifier(upper, source).lookupKey == upper.lowercased())
            for other in ["User", "E621E1F8C36C495A93FC0C247A3E6E5F", "G621E1F8-C36C-495A-93FC-0C247A3E6E5F", ""] {
                #expect(Account.Identifier(other, source).id == other)
                #expect(Account.Identifier(other, source).lookupKey == other)
            }
        }
        // An identifier is kept as it was written, since a host may look it up in a table of its own.
        #expect(Account.Identifier(upper, .appUserID) != Account.Identifier(upper.lowercased(), .appUserID))
    }

    @Test("one UUID is one account in either case, whatever its source, and other texts are not")
    func oneSpelling() {
        let upper = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
        for source: Account.Source in [.appAccountToken, .appUserID, .clientReferenceID, .metadata, "own"] {
            for (written, asked, isSame) in [
                (upper, upper.lowercased(), true), (upper.lowercased(), upper, true), ("User", "user", false),
            ] {
                let ledger = Self.ledger([Self.owned("O1", .appStore, by: Account(written, source))])
                let access = ledger.access(of: .init(asked, source), at: AccountStories.day(20))
                #expect(access.decision.isGranted == isSame, "\(source)")
                let timeline = Timeline([Self.owned("O1", .appStore, by: Account(written, source))])
                #expect(timeline.explanations(account: asked, at: AccountStories.day(20)).isEmpty != isSame)
                #expect(timeline.access(of: asked, at: AccountStories.day(20)).isEmpty != isSame)
            }
        }
    }

    @Test("both spellings of one UUID are names of its account and no conflict")
    func noConflict() {
        let upper = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
        let events = [
            Self.owned("O1", .appStore, by: Account(upper, .appUserID)),
            Self.owned("O1", .appStore, by: Account(upper.lowercased(), .appUserID), at: 1),
        ]
        for events in [events, events.reversed()] {
            let ownership = Self.ledger(events).states.map(\.ownership)
            #expect(ownership.flatMap(\.conflicts) == [])
            #expect(ownership.flatMap(\.accounts).map(\.id) == [upper, upper.lowercased()])
        }
    }

    /// The stores of what an account has access by.
    static func stores(_ account: String, _ ledger: AccountLedger) -> Set<PurchaseStore> {
        let access = ledger.access(of: Account.Identifier(account, .appUserID), at: AccountStories.day(100))
        return Set(access.grantors.map(\.subscription.store))
    }

    @Test("a transfer of one store's account moves the purchases made in that store")
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

    @Test("a purchase that was moved to an account of several names moves on under any of them")
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

    @Test("a transfer that names no new account moves nothing", arguments: [[], [""]])
    func transferToNobody(names: [String]) {
        let story = [Self.owned("O1", .appStore, by: Account("u1", .appUserID)), Self.moved(["u1"], names, at: 10)]
        for story in [story, story.reversed()] { #expect(Self.stores("u1", Self.ledger(story)) == [.appStore]) }
    }

    // MARK: A transfer names accounts, and not purchases

    static func renewed(_ lineage: String, by account: String, at days: Double) -> NormalizedEvent {
        var event = owned(lineage, .appStore, by: Account(account, .appUserID), at: days)
        event.event = .autoRenewEnabled
        event.id = EventID(provider: .revenuecat, environment: .production, notification: "\(lineage) \(days)")
        return event
    }

    /// An attacker who can guess an app user id can buy under it, and then restore the purchase under their own.
    static let takeover = [
        owned("year", .appStore, by: Account("victim", .appUserID)),
        owned("week", .appStore, by: Account("victim", .appUserID), at: 30),
        moved(["victim"], ["attacker"], at: 31),
    ]

    static func lineages(_ account: String, _ ledger: AccountLedger, at days: Double = 100) -> [String] {
        ledger.access(of: Account.Identifier(account, .appUserID), at: AccountStories.day(days)).grantors
            .map(\.subscription.id).sorted()
    }

    @Test(
        "one of several purchases moves when a later statement names the new account for it",
        arguments: [
            ([], [], 2), ([("week", "attacker")], ["week"], 1),
            ([("week", "attacker"), ("year", "victim")], ["week"], 0), ([("year", "victim")], [], 1),
            // A purchase that is named for one and then for the other belongs to the last.
            ([("year", "attacker"), ("year", "victim")], [], 1),
        ] as [([(String, String)], [String], Int)]
    )
    func severalPurchases(later: [(String, String)], moved: [String], conflicts: Int) {
        let story =
            Self.takeover + later.enumerated().map { Self.renewed($1.0, by: $1.1, at: 40 + Double($0)) }
        for story in story.orders(seed: 7) {
            let ledger = Self.ledger(story)
            #expect(Self.lineages("victim", ledger) == ["week", "year"].filter { !moved.contains($0) })
            #expect(Self.lineages("attacker", ledger) == moved)
            // Nothing is so before it was stated.
            #expect(Self.lineages("victim", ledger, at: 30.5) == ["week", "year"])
            #expect(Self.lineages("attacker", ledger, at: 30.5) == [])
            let access = ledger.access(of: .init("attacker", .appUserID), at: AccountStories.day(100))
            #expect(access.conflicts.count { $0.by.notificationID == "transfer-31.0" } == conflicts)
            let grounds = ledger.states.flatMap { ledger.explain($0, at: AccountStories.day(100)).contradictions }
            #expect(grounds.filter { $0.statements.first?.notificationID == "transfer-31.0" }.count == conflicts)
        }
    }

    @Test("the only purchase in its store moves at once, and comes back when it is named for the old account")
    func onlyPurchase() {
        let story = [
            Self.owned("year", .appStore, by: Account("u1", .appUserID)),
            Self.owned("GPA.1", .playStore, by: Account("u1", .appUserID)), Self.moved(["u1"], ["u2"], at: 10),
        ]
        for story in story.orders(seed: 1) {
            let ledger = Self.ledger(story)
            #expect(Self.lineages("u1", ledger, at: 9) == ["GPA.1", "year"])
            #expect(Self.lineages("u2", ledger, at: 9) == [])
            #expect(Self.lineages("u1", ledger, at: 11) == ["GPA.1"])
            #expect(Self.lineages("u2", ledger, at: 11) == ["year"])
            // A host that asked earlier has to ask again then.
            let access = ledger.access(of: .init("u1", .appUserID), at: AccountStories.day(9))
            #expect(access.nextTransition == AccountStories.day(10))
        }
        for story in (story + [Self.renewed("year", by: "u1", at: 20)]).orders(seed: 2) {
            let ledger = Self.ledger(story)
            #expect(Self.lineages("u1", ledger) == ["GPA.1", "year"])
            #expect(Self.lineages("u2", ledger) == [])
        }
    }

    // MARK: A relay names the present owner

    /// A statement of a relay's about a month of the one purchase "O1", which begins on day 0.
    static func month(_ month: Int, of account: String, aliases: [String] = [], at days: Double) -> NormalizedEvent {
        let start = Double(month) * 30
        let period = ServicePeriod(start: AccountStories.day(start), end: AccountStories.day(start + 30))
        let transaction = TransactionID("O1-\(month)")
        return AccountStories.event(
            .autoRenewEnabled,
            transaction,
            at: days,
            of: "O1",
            by: .revenuecat,
            facts: [
                .period(.init(period, product: "basic", phase: .regular, transaction: transaction)),
                .owner(Account(account, .appUserID, aliases: aliases.map { .init($0, .appUserID) })),
            ]
        )
    }

    /// A statement of a relay's about the same purchase and none of its months.
    static func notice(of account: String, at days: Double) -> NormalizedEvent {
        AccountStories.event(
            .autoRenewEnabled,
            "O1-0",
            at: days,
            of: "O1",
            by: .revenuecat,
            facts: [.owner(Account(account, .appUserID))]
        )
    }

    /// Statements, and who owns at which day; of several names of one account the first by name.
    struct Naming: CustomTestStringConvertible {
        var testDescription: String
        var story: [NormalizedEvent]
        var owners: [Double: [String]]

        init(_ what: String, _ story: [NormalizedEvent], owners: [Double: [String]]) {
            (testDescription, self.story, self.owners) = (what, story, owners)
        }
    }

    @Test(
        "a purchase is that of the account which a relay named last for the latest period",
        arguments: [
            Naming(
                "a lost transfer, in the next period",
                [month(0, of: "u1", at: 0), month(1, of: "u2", at: 30), month(2, of: "u2", at: 60)],
                owners: [20: ["u1"], 31: ["u2"], 65: ["u2"]]
            ),
            Naming(
                "in the same period",
                [month(0, of: "u1", at: 0), month(0, of: "u2", at: 10)],
                owners: [9: ["u1"], 11: ["u2"]]
            ),
            Naming(
                "a period charged ahead",
                [month(0, of: "u1", at: 0), month(1, of: "u2", at: 29.5), month(0, of: "u1", at: 29.8)],
                owners: [29: ["u1"], 31: ["u2"]]
            ),
            Naming(
                "an earlier period stated again",
                [month(0, of: "u1", at: 0), month(1, of: "u2", at: 30), month(0, of: "u1", at: 70)],
                owners: [20: ["u1"], 40: ["u2"], 80: ["u2"]]
            ),
            Naming(
                "there and back",
                [month(0, of: "u1", at: 0), month(1, of: "u2", at: 30), month(2, of: "u1", at: 60)],
                owners: [20: ["u1"], 65: ["u1"]]
            ),
            Naming(
                "two lost transfers",
                [month(0, of: "u1", at: 0), month(1, of: "u2", at: 30), month(2, of: "u3", at: 60)],
                owners: [20: ["u1"], 40: ["u2"], 65: ["u3"]]
            ),
            Naming(
                "the first of two transfers is lost",
                [month(0, of: "u1", at: 0), moved(["u2"], ["u3"], at: 20), month(1, of: "u3", at: 30)],
                owners: [10: ["u1"], 35: ["u3"]]
            ),
            Naming(
                "a transfer names the account by a name that is unknown",
                [month(0, of: "$RCAnonymousID:1", at: 0), moved(["u1"], ["u2"], at: 10), month(0, of: "u2", at: 15)],
                owners: [9: ["$RCAnonymousID:1"], 16: ["u2"]]
            ),
            Naming(
                "a login, of which no webhook speaks",
                [month(0, of: "$RCAnonymousID:1", at: 0), month(0, of: "u1", at: 10)],
                owners: [9: ["$RCAnonymousID:1"], 11: ["u1"]]
            ),
            Naming(
                "a login that is named",
                [month(0, of: "$RCAnonymousID:1", at: 0), month(0, of: "u1", aliases: ["$RCAnonymousID:1"], at: 10)],
                owners: [11: ["$RCAnonymousID:1", "u1"]]
            ),
            Naming(
                "both transfers are known",
                [
                    month(0, of: "u1", at: 0), moved(["u1"], ["u2"], at: 10), month(1, of: "u2", at: 30),
                    moved(["u2"], ["u1"], at: 40), month(2, of: "u1", at: 60),
                ],
                owners: [9: ["u1"], 20: ["u2"], 35: ["u2"], 45: ["u1"], 65: ["u1"]]
            ),
            Naming(
                "a word on the former account is older than the transfer, and about no period",
                [
                    month(0, of: "u1", at: 0), notice(of: "u1", at: 20), moved(["u1"], ["u2"], at: 25),
                    month(0, of: "u2", at: 26),
                ],
                owners: [24: ["u1"], 25.5: ["u2"], 29: ["u2"], 35: ["u2"]]
            ),
            Naming(
                "a word on the former account is older than the transfer, and about a later period",
                [
                    month(0, of: "u1", at: 0), month(1, of: "u1", at: 29), moved(["u1"], ["u2"], at: 29.5),
                    month(0, of: "u2", at: 29.6),
                ],
                owners: [29.2: ["u1"], 29.7: ["u2"], 35: ["u2"]]
            ),
            Naming(
                "a transfer is known, and the one after it is lost",
                [month(0, of: "u1", at: 0), moved(["u1"], ["u2"], at: 10), month(1, of: "u3", at: 30)],
                owners: [9: ["u1"], 20: ["u2"], 35: ["u3"]]
            ),
            Naming(
                "two accounts become one",
                [
                    month(0, of: "u1", at: 0), linked([.init("u1", .appUserID), .init("u2", .appUserID)], at: 10),
                    month(1, of: "u2", at: 30),
                ],
                owners: [9: ["u1"], 20: ["u1", "u2"], 35: ["u1", "u2"]]
            ),
        ]
    )
    func presentOwner(naming: Naming) {
        for story in naming.story.orders(seed: 11) {
            let ledger = Self.ledger(story)
            #expect(ledger.states.flatMap { ledger.ownership(of: $0).conflicts } == [])
            for (day, owners) in naming.owners {
                let named = ["$RCAnonymousID:1", "u1", "u2", "u3"].filter {
                    !ledger.states(of: [.init($0, .appUserID)], in: .production, at: AccountStories.day(day)).isEmpty
                }
                #expect(named == owners, "day \(day)")
            }
        }
    }

    /// The way back is lost, and another move names the account that has the purchase again.
    @Test(
        "a move that cannot have brought a purchase explains no later word on its owner",
        arguments: [
            [moved(["u9"], ["u1"], at: 10, store: .playStore)], [moved(["u9"], ["u1"], at: 10)],
            [linked([.init("u1", .appUserID), .init("anonymous", .appUserID)], at: 10)],
            [moved(["u3"], ["u1"], at: 10)],
        ]
    )
    func unrelatedArrival(other: [NormalizedEvent]) {
        let story =
            [Self.month(0, of: "u1", at: 0), Self.moved(["u1"], ["u2"], at: 5)] + other
            + [Self.month(1, of: "u1", at: 30), Self.month(2, of: "u1", at: 70)]
        for events in story.orders(seed: 13) {
            let ledger = Self.ledger(events)
            #expect(ledger.access(of: .init("u1", .appUserID), at: AccountStories.day(75)).decision.isGranted)
            #expect(!ledger.access(of: .init("u2", .appUserID), at: AccountStories.day(75)).decision.isGranted)
            #expect(ledger.states.flatMap { ledger.ownership(of: $0).conflicts } == [])
        }
    }

    @Test("a transfer from a name that was linked to the owner before it had the purchase moves it")
    func linkedBefore() {
        let story = [
            Self.month(0, of: "u1", at: 0),
            Self.linked([.init("u2", .appUserID), .init("anonymous", .appUserID)], at: 2),
            Self.moved(["u1"], ["u2"], at: 5), Self.moved(["anonymous"], ["u3"], at: 10),
        ]
        for events in story.orders(seed: 14) {
            let ledger = Self.ledger(events)
            for (day, owner) in [(4.0, "u1"), (7, "u2"), (7, "anonymous"), (11, "u3")] {
                let owners = ["u1", "u2", "u3", "anonymous"].filter {
                    !ledger.states(of: [.init($0, .appUserID)], in: .production, at: AccountStories.day(day)).isEmpty
                }
                #expect(owners.contains(owner), "day \(day)")
                #expect(owners.count == (day == 7 ? 2 : 1), "day \(day)")
            }
        }
    }

    @Test("a transfer between linked names takes the purchase from all names of the former owner")
    func linkedFormerOwner() {
        func linked(_ one: String, _ other: String, at days: Double) -> NormalizedEvent {
            Self.linked([.init(one, .appUserID), .init(other, .appUserID)], at: days)
        }
        var repeated = Self.owned("O1", .appStore, by: Account("u1", .appAccountToken), at: 14)
        (repeated.provider, repeated.event) = (.apple, .autoRenewEnabled)
        let story = [
            Self.month(0, of: "u1", at: 0), linked("u1", "x1", at: 7), repeated, linked("u2", "x2", at: 21),
            Self.moved(["x1"], ["u2"], at: 27), Self.month(1, of: "x2", at: 30),
        ]
        for count in [story.count - 1, story.count] {
            for events in Array(story.prefix(count)).orders(seed: 17) {
                let ledger = Self.ledger(events)
                let accounts = ledger.states.flatMap { ledger.ownership(of: $0).accounts.map(\.id) }
                #expect(accounts == ["u2", "x2"])
            }
        }
    }

    @Test("a word on a linked name of the new account settles a transfer")
    func linkedNewOwner() throws {
        let story = [
            Self.month(0, of: "u2", at: 0), Self.owned("O2", .appStore, by: Account("u2", .appUserID)),
            Self.linked([.init("u1", .appUserID), .init("x1", .appUserID)], at: 14), Self.moved(["u2"], ["u1"], at: 21),
            Self.owned("O2", .appStore, by: Account("x1", .appUserID), at: 28),
        ]
        for events in story.orders(seed: 18) {
            let ledger = Self.ledger(events)
            let moved = try #require(ledger.states.first { $0.subscription.id == "O2" })
            #expect(ledger.ownership(of: moved).accounts.map(\.id) == ["u1", "x1"])
        }
    }

    @Test(
        "a buyer whom a store first names after a transfer loses the purchase with it, since a store repeats that name"
    )
    func buyerNamedAfterTransfer() {
        let buyer = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
        var repeated = Self.owned("O1", .appStore, by: Account(buyer, .appAccountToken), at: 20)
        (repeated.provider, repeated.event) = (.apple, .autoRenewEnabled)
        let story = [Self.moved([buyer], ["u2"], at: 10), repeated]
        for events in story.orders(seed: 15) {
            let ledger = Self.ledger(events)
            #expect(!ledger.access(of: .init(buyer, .appAccountToken), at: AccountStories.day(30)).decision.isGranted)
            #expect(ledger.access(of: .init("u2", .appUserID), at: AccountStories.day(30)).decision.isGranted)
        }
    }

    @Test("answers settle transfers to and fro between accounts with several purchases")
    func answersSettle() {
        let owner = Account("u1", .appUserID)
        let story = [
            Self.owned("O1", .appStore, by: owner), Self.owned("O2", .appStore, by: owner, at: 1),
            Self.moved(["u1"], ["u2"], at: 10), Self.moved(["u2"], ["u1"], at: 20),
            Self.owned("O1", .appStore, by: owner, at: 100), Self.owned("O2", .appStore, by: owner, at: 100),
        ]
        for events in story.orders(seed: 16) {
            let ledger = Self.ledger(events)
            for state in ledger.states {
                #expect(ledger.ownership(of: state) == Ownership(accounts: [.init("u1", .appUserID)], conflicts: []))
            }
        }
    }

    @Test("a word about no period settles a transfer back to an account that had the purchase before")
    func wordAboutNoPeriod() throws {
        let story = [
            Self.month(0, of: "u1", at: 0), Self.moved(["u1"], ["u2"], at: 5), Self.month(0, of: "u2", at: 6),
            Self.owned("O2", .appStore, by: Account("u2", .appUserID), at: 8), Self.month(1, of: "u2", at: 30),
            Self.moved(["u2"], ["u1"], at: 35), Self.notice(of: "u1", at: 36),
        ]
        for events in story.orders(seed: 12) {
            let ledger = Self.ledger(events)
            let moved = try #require(ledger.states.first { $0.subscription.id == "O1" })
            #expect(ledger.ownership(of: moved) == Ownership(accounts: [.init("u1", .appUserID)], conflicts: []))
        }
    }

    @Test("the buyer whom a store repeats under another source loses the purchase with the relay's name of it")
    func presentOwnerUnderTwoSources() {
        let buyer = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
        func repeated(at days: Double) -> NormalizedEvent {
            var event = Self.owned("O1", .appStore, by: Account(buyer, .appAccountToken), at: days)
            (event.provider, event.event) = (.apple, .autoRenewEnabled)
            event.id = EventID(provider: .apple, environment: .production, notification: "\(days)")
            return event
        }
        let story = [
            Self.month(0, of: buyer, at: 0), repeated(at: 1), Self.month(1, of: "u2", at: 30), repeated(at: 40),
        ]
        for story in story.orders(seed: 12) {
            let ledger = Self.ledger(story)
            for source in [Account.Source.appUserID, .appAccountToken] {
                #expect(!ledger.access(of: .init(buyer, source), at: AccountStories.day(45)).decision.isGranted)
            }
            #expect(ledger.access(of: .init("u2", .appUserID), at: AccountStories.day(45)).decision.isGranted)
            #expect(ledger.states.flatMap { ledger.ownership(of: $0).conflicts } == [])
        }
    }

    @Test("a handover of the host's stays while the relay names the account that it named before")
    func handoverOfPresentOwner() throws {
        let first = Self.month(0, of: "u1", at: 0)
        let handover = StoreStatement.handover(
            of: try #require(first.subscription),
            to: Account("u5", .appUserID),
            at: AccountStories.day(10)
        )
        func owner(_ later: [NormalizedEvent]) -> [String] {
            var ledger = Self.ledger([first])
            ledger.apply(handover)
            for event in later { _ = ledger.apply(event) }
            return ledger.states.flatMap { ledger.ownership(of: $0).accounts.map(\.id) }
        }
        #expect(owner([Self.month(1, of: "u1", at: 30)]) == ["u5"])
        #expect(owner([Self.month(1, of: "u2", at: 30)]) == ["u2"])
    }

    @Test("a state of an earlier version has its owner until a later period is stated")
    func storedNaming() throws {
        let events = [Self.month(0, of: "u1", at: 0), Self.month(1, of: "u2", at: 30)]
        let state = try #require(Self.ledger(events).states.first)
        let text = String(decoding: try CanonicalJSON.bytes(state), as: UTF8.self)
        let earlier = text.replacing(try Regex(#","holding":\{[^}]*\}"#), with: "")
        #expect(earlier != text)
        let stored = try CanonicalJSON.value(SubscriptionState.self, from: Array(earlier.utf8))
        #expect(stored.ownership.accounts.map(\.id) == ["u1"])
        #expect(stored.ownership.conflicts.map(\.claimed.id) == ["u2"])
        for (event, owner) in [
            (Self.month(0, of: "u1", at: 70), "u1"), (Self.month(1, of: "u2", at: 70), "u2"),
            (Self.month(2, of: "u2", at: 70), "u2"),
        ] {
            var state = stored
            _ = state.apply(event)
            #expect(state.ownership.accounts.map(\.id) == [owner])
        }
    }

    /// A store writes the account that was set at purchase into all that it states later.
    @Test(
        "a buyer whom a store names is no word against a transfer, unless it had stated the purchase before without that name",
        arguments: [Account.Source.appAccountToken, .obfuscatedAccountID]
    )
    func repeatedBuyer(source: Account.Source) {
        let buyer = "E621E1F8-C36C-495A-93FC-0C247A3E6E5F"
        func stated(at days: Double) -> NormalizedEvent {
            var event = Self.owned("year", .appStore, by: Account(buyer, source), at: days)
            (event.provider, event.event) = (.apple, .autoRenewEnabled)
            event.id = EventID(provider: .apple, environment: .production, notification: "\(days)")
            return event
        }
        let moved = [
            Self.owned("year", .appStore, by: Account(buyer, .appUserID)), Self.moved([buyer], ["u2"], at: 10),
            stated(at: 20),
        ]
        // A store may be listened to from the first day, or only since the transfer.
        for story in (moved + [stated(at: 5)]).orders(seed: 4) + moved.orders(seed: 5) {
            let ledger = Self.ledger(story)
            #expect(Self.lineages(buyer, ledger, at: 9) == ["year"])
            #expect(Self.lineages("u2", ledger) == ["year"])
            #expect(Self.lineages(buyer, ledger) == [])
            #expect(ledger.access(of: .init("u2", .appUserID), at: AccountStories.day(100)).conflicts == [])
        }
        var nameless = stated(at: 5)
        nameless.facts.removeAll { if case .owner = $0 { true } else { false } }
        for story in (moved + [nameless]).orders(seed: 6) {
            #expect(Self.lineages(buyer, Self.ledger(story)) == ["year"])
            #expect(Self.lineages("u2", Self.ledger(story)) == [])
        }
    }

    @Test("a transfer back explains what is named for the old account afterwards")
    func thereAndBack() {
        let story = [
            Self.owned("year", .appStore, by: Account("u1", .appUserID)), Self.moved(["u1"], ["u2"], at: 10),
            Self.moved(["u2"], ["u1"], at: 20), Self.renewed("year", by: "u1", at: 30),
        ]
        for story in story.orders(seed: 3) {
            let ledger = Self.ledger(story)
            #expect(Self.lineages("u2", ledger, at: 15) == ["year"])
            #expect(Self.lineages("u1", ledger, at: 15) == [])
            #expect(Self.lineages("u1", ledger, at: 25) == ["year"])
            #expect(Self.lineages("u1", ledger, at: 35) == ["year"])
        }
    }

    @Test("a transfer in the sandbox moves nothing that was paid for")
    func transferElsewhere() {
        var move = Self.moved(["u1"], ["u2"], at: 10)
        move.environment = .sandbox
        let story = [Self.owned("O1", .appStore, by: Account("u1", .appUserID)), move]
        for story in [story, story.reversed()] {
            let ledger = Self.ledger(story)
            #expect(Self.stores("u1", ledger) == [.appStore])
            #expect(Self.stores("u2", ledger) == [])
        }
    }

    @Test("a purchase in another environment gives nothing, whichever environment was selected")
    func otherEnvironment() throws {
        let owned = Self.owned("O1", .appStore, by: Account("u1", .appUserID))
        let states = Self.ledger([owned]).states
        let moment = AccountStories.day(1)
        #expect(AccountAccess(states, in: .production, at: moment).decision.isGranted)
        let access = AccountAccess(states, in: .sandbox, at: moment)
        #expect(!access.decision.isGranted)
        #expect((access.grantors, access.others, access.nextTransition) == ([], [], nil))
    }

    @Test(
        "a store's own word is that of its own provider",
        arguments: [
            (.apple, [.appStore, .macAppStore]), (.google, [.playStore]), (.stripe, [.stripe]),
            (.revenuecat, [.rcBilling, .promotional, .testStore]), ("paddle", [.paddle]),
        ] as [(Provider, Set<PurchaseStore>)]
    )
    func authority(provider: Provider, own: Set<PurchaseStore>) {
        let stores: [PurchaseStore] = [
            .appStore, .macAppStore, .playStore, .stripe, .amazon, .roku, .paddle, .rcBilling, .testStore, .promotional,
            .unknown,
        ]
        #expect(Set(stores.filter { provider.speaks(for: $0) }) == own)
    }

    static func linked(_ names: [Account.Identifier], at days: Double) -> NormalizedEvent {
        var event = moved([], [], at: days, store: .rcBilling)
        event.event = .notice(.init(.accountsLinked))
        event.facts = []
        event.account = names.first.map { Account($0.id, $0.source, aliases: Array(names.dropFirst())) }
        return event
    }

    @Test("linked names have what any of them had, and what moves to another account moves from all of them")
    func linkedNames() throws {
        let (web, app) = (Account("$RCAnonymousID:1", .appUserID), Account("u1", .appUserID))
        let names = web.identifiers + app.identifiers
        let story = [
            Self.owned("W1", .rcBilling, by: web), Self.owned("O1", .appStore, by: app),
            Self.owned("P1", .paddle, by: Account("u2", .appUserID)), Self.linked(names, at: 10),
        ]
        for story in [story, story.reversed()] {
            let ledger = Self.ledger(story)
            for name in names { #expect(Self.stores(name.id, ledger) == [.rcBilling, .appStore]) }
            #expect(Self.stores("u2", ledger) == [.paddle])
            #expect(AccountLedger(ledger.states, transfers: ledger.transfers) == ledger)
            var again = ledger
            #expect(again.apply(Self.linked(names, at: 10)).disposition == .duplicate)
        }
        let moved = Self.ledger(story + [Self.moved(["u1"], ["u3"], at: 20, store: .unknown)])
        for name in names { #expect(Self.stores(name.id, moved) == []) }
        #expect(Self.stores("u3", moved) == [.rcBilling, .appStore])
        // Another account's claim stays a conflict, and one name, or names of different sources, link nothing.
        var other = Self.owned("W1", .rcBilling, by: Account("u4", .appUserID), at: 5)
        other.provider = .apple
        let claimed = Self.ledger(story + [other])
        let access = claimed.access(of: Account.Identifier("u4", .appUserID), at: AccountStories.day(100))
        #expect(access.conflicts.map(\.claimed.id) == ["u4"])
        #expect(!access.decision.isGranted)
        for names in [web.identifiers, web.identifiers + [Account.Identifier("cus_1", .stripeCustomer)]] {
            let ledger = Self.ledger(story.dropLast() + [Self.linked(names, at: 10)])
            #expect(ledger.transfers.isEmpty)
            #expect(Self.stores("cus_1", ledger) == [])
        }
    }

    /// RevenueCat names the two of each claim, and not the others that came before.
    @Test("an account that claims two web purchases keeps the first claim, under each name")
    func linkedTwice() {
        func name(_ id: String) -> Account.Identifier { .init(id, .appUserID) }
        let story = [
            Self.owned("W1", .rcBilling, by: Account("w1", .appUserID)), Self.linked([name("u"), name("w1")], at: 10),
            Self.owned("W2", .paddle, by: Account("w2", .appUserID)), Self.linked([name("u"), name("w2")], at: 20),
        ]
        for story in [story, story.reversed()] {
            let ledger = Self.ledger(story)
            #expect(Self.stores("u", ledger) == [.rcBilling, .paddle])
            #expect(Self.stores("w1", ledger) == [.rcBilling])
            #expect(Self.stores("w2", ledger) == [.rcBilling, .paddle])
            #expect(ledger.access(of: name("w1"), at: AccountStories.day(100)).conflicts == [])
        }
        // Nor does who was given a purchase lose it by a name that only one of the others is linked to.
        let given = [
            Self.owned("O1", .appStore, by: Account("u", .appUserID)), Self.moved(["u"], ["v", "x"], at: 5),
            Self.linked([name("x"), name("y")], at: 10), Self.linked([name("y"), name("z")], at: 20),
        ]
        for story in [given, given.reversed()] {
            let ledger = Self.ledger(story)
            for id in ["v", "x", "y", "z"] { #expect(Self.stores(id, ledger) == [.appStore]) }
            #expect(Self.stores("u", ledger) == [])
            let moved = Self.ledger(story + [Self.moved(["z"], ["t"], at: 30)])
            for id in ["v", "x", "y", "z"] { #expect(Self.stores(id, moved) == []) }
            #expect(Self.stores("t", moved) == [.appStore])
        }
    }

    @Test("names that only look alike are two accounts")
    func canonicalEquivalents() throws {
        let (composed, decomposed) = ("jos\u{E9}", "jose\u{301}")
        #expect(Account(composed, .appUserID) != Account(decomposed, .appUserID))
        let ledger = Self.ledger([
            Self.owned("O1", .appStore, by: Account(composed, .appUserID)),
            Self.owned("S1", .stripe, by: Account(decomposed, .appUserID)),
        ])
        #expect(Self.stores(composed, ledger) == [.appStore])
        #expect(Self.stores(decomposed, ledger) == [.stripe])
        #expect(ledger.accounts.count == 2)
        var stated = Self.owned("O1", .appStore, by: Account(decomposed, .appUserID), at: 1)
        stated.provider = .apple
        let both = Self.ledger([
            Self.owned("O1", .appStore, by: Account(composed, .appUserID)),
            stated,
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

    @Test("an account's purchases are found among others as they are by looking at all")
    func foundAmongOthers() {
        for seed in 0..<400 as Range<UInt64> {
            var random = SeededGenerator(seed: ~seed)
            let stories = (0..<3).flatMap { RandomStory(seed: seed &* 3 &+ $0).events }
            var ledger = AccountLedger()
            for event in stories {
                _ = ledger.apply(event)
                if case .transferred = event.event { continue }
                guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
                let (to, from) = (["u1", "u2", "u4"].shuffled(using: &random), ["u3", "u2"].shuffled(using: &random))
                var move = Self.moved(Array(from.prefix(1)), Array(to.prefix(2)), at: 0)
                if Bool.random(using: &random) {
                    move = Self.linked([to[0], from[0], "u5"].map { .init($0, .appUserID) }, at: 0)
                }
                move.assertedAt = event.assertedAt.addingTimeInterval(1)
                _ = ledger.apply(move)
            }
            let read = AccountLedger(ledger.states.reversed(), transfers: ledger.transfers)
            #expect(read == ledger, "seed \(seed)")
            for environment in [StoreEnvironment.production, .sandbox] {
                let all = ledger.states.filter { $0.environment == environment }
                var groups = AliasGroups()
                for state in all { groups.insert(state.claims) }
                for id in ["u1", "u2", "u3", "u4", "u5"] {
                    for source in [Account.Source.appUserID, .appAccountToken] {
                        let identifier = Account.Identifier(id, source)
                        let wanted = groups.representative(of: identifier)
                        let owned = all.filter { state in
                            ledger.ownership(of: state).accounts.contains { groups.representative(of: $0) == wanted }
                        }
                        #expect(ledger.states(of: [identifier], in: environment) == owned, "seed \(seed)")
                        let access = ledger.access(of: identifier, in: environment, at: AccountStories.day(1))
                        let conflicts = all.flatMap { ledger.ownership(of: $0, at: AccountStories.day(1)).conflicts }
                        #expect(access.conflicts == conflicts.filter { $0.claimed == identifier }, "seed \(seed)")
                    }
                }
            }
        }
    }

    @Test("a relay's event about one customer does not search all customers", .timeLimit(.minutes(5)))
    func manyCustomers() {
        var ledger = AccountLedger()
        for customer in 0..<5000 {
            let event = Self.owned("GPA.\(customer)", .playStore, by: Account("u\(customer)", .appUserID))
            #expect(ledger.apply(event).disposition == .applied)
        }
        #expect(Self.stores("u4999", ledger) == [.playStore])
    }
}
