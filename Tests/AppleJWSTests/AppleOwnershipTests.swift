import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Testing

@Suite("The buyer is the owner")
struct AppleOwnershipTests {
    let cases: AppleReportedCases

    init() throws { cases = try AppleReportedCases() }

    private static let one = "11111111-1111-4111-8111-111111111111"
    private static let two = "22222222-2222-4222-8222-222222222222"

    private func token(_ token: String) -> [String: String] { ["appAccountToken": "\"\(token)\""] }

    private func begun() throws -> Normalization {
        try cases.notified(
            "SUBSCRIBED",
            "INITIAL_BUY",
            of: cases.transaction("1", token(Self.one)),
            with: cases.renewal(token(Self.one)),
            at: 0
        )
    }

    private func owners(_ state: SubscriptionState) -> [String] {
        state.ownership.accounts.filter { $0.source == .appAccountToken }.map(\.id)
    }

    @Test(
        "a new purchase, or a change at once, under another account is possession from then on",
        arguments: [
            ("SUBSCRIBED", "RESUBSCRIBE"), ("DID_CHANGE_RENEWAL_PREF", "UPGRADE"), ("OFFER_REDEEMED", "RESUBSCRIBE"),
        ]
    )
    func boughtAnew(type: String, subtype: String) throws {
        let again = cases.transaction(
            "2",
            from: 40,
            to: 70,
            token(Self.two).merging(["transactionReason": #""PURCHASE""#]) { $1 }
        )
        let bought = try cases.notified(type, subtype, of: again, with: cases.renewal(until: 70), at: 40)
        let state = try cases.state([begun(), bought])
        #expect(owners(state) == [Self.two])
        #expect(state.ownership.conflicts.isEmpty && state.contradictions.isEmpty)
        var ledger = AccountLedger()
        _ = ledger.apply(try begun())
        let applied = ledger.apply(bought)
        #expect(
            applied.map(\.event.event).last
                == .transferred(
                    .init(from: [.init(Self.one, .appAccountToken)], to: [.init(Self.two, .appAccountToken)])
                )
        )
        #expect(applied.count == 2)
        #expect(ledger.apply(bought).count == 1)
        let access = { (token: String) in
            ledger.access(of: [.init(token, .appAccountToken)], in: .production, at: cases.day(50)).decision.isGranted
        }
        #expect(access(Self.two) && !access(Self.one))
    }

    private static let three = "33333333-3333-4333-8333-333333333333"

    /// A purchase in the lineage that began, forty days after that.
    private func bought(by token: String, _ members: [String: String] = [:]) -> [String: String] {
        let stated = ["transactionReason": #""PURCHASE""#].merging(members) { $1 }
        return cases.transaction("2", from: 40, to: 70, self.token(token).merging(stated) { $1 })
    }

    @Test("a new purchase is possession whatever states it, and moves the lineage once")
    func boughtUnseen() throws {
        let upload = try cases.uploaded(bought(by: Self.two), at: 40)
        let reported = try cases.notified(
            "SUBSCRIBED",
            "RESUBSCRIBE",
            of: bought(by: Self.two),
            with: cases.renewal(until: 70),
            at: 40
        )
        let refund = try cases.notified(
            "REFUND",
            of: bought(by: Self.two, ["revocationDate": "@45"]),
            status: 5,
            at: 45
        )
        let moved = LifecycleEvent.transferred(
            .init(from: [.init(Self.one, .appAccountToken)], to: [.init(Self.two, .appAccountToken)])
        )
        for results in [[upload], [upload, reported], [reported, upload], [refund], [upload, refund]] {
            let state = try cases.state([begun()] + results)
            #expect(owners(state) == [Self.two])
            #expect(state.ownership.conflicts.isEmpty && state.contradictions.isEmpty)
            var ledger = AccountLedger()
            let applied = ([try begun()] + results).flatMap { ledger.apply($0) }
            let transfers = applied.map(\.event.event).filter { $0.kind == .transferred }
            #expect(transfers == [moved])
        }
    }

    @Test("a purchase gives possession at its own time, however late it is stated again")
    func statedAgain() throws {
        let reported = try cases.uploaded(bought(by: Self.two), at: 40)
        let handover = StoreStatement.handover(
            of: SubscriptionID(store: .appStore, environment: .production, id: "1"),
            to: Account(Self.three, .appAccountToken),
            at: cases.day(50)
        )
        let again = try cases.notified(
            "DID_CHANGE_RENEWAL_STATUS",
            "AUTO_RENEW_DISABLED",
            of: bought(by: Self.two),
            with: cases.renewal(until: 70, ["autoRenewStatus": "0"]),
            at: 60
        )
        let handed = Normalization(noChange: .init(.unchanged, statement: handover))
        #expect(owners(try cases.state([begun(), reported, handed, again])) == [Self.three])
        // Set App Account Token has another account on the same purchase, which buys nothing.
        let reset = try cases.state([begun(), reported, cases.uploaded(bought(by: Self.three), at: 60)])
        #expect(owners(reset) == [Self.two])
        #expect(reset.ownership.conflicts.map(\.claimed.id) == [Self.three])
    }

    @Test("another account in a renewal is a conflict, until the host hands over")
    func renewed() throws {
        let second = cases.transaction("2", from: 30, to: 60, token(Self.two))
        let renewed = try cases.notified(
            "DID_RENEW",
            of: second,
            with: cases.renewal(until: 60, token(Self.two)),
            at: 30
        )
        let state = try cases.state([begun(), renewed])
        #expect(owners(state) == [Self.one])
        #expect(state.ownership.conflicts.map(\.claimed.id) == [Self.two])
        let handover = StoreStatement.handover(
            of: state.subscription,
            to: Account(Self.two, .appAccountToken),
            at: cases.day(31)
        )
        let handed = try cases.state([
            begun(), renewed, Normalization(noChange: .init(.unchanged, statement: handover)),
        ])
        #expect(owners(handed) == [Self.two])
        #expect(handed.ownership.conflicts.isEmpty)
    }

    @Test("renewal info names the account where the transaction names none, and a later one beside it")
    func renewalInfo() throws {
        let named = try cases.notified(
            "DID_RENEW",
            of: cases.transaction(),
            with: cases.renewal(token(Self.two)),
            at: 1
        )
        #expect(owners(try cases.state([named])) == [Self.two])
        let next = try cases.notified(
            "DID_CHANGE_RENEWAL_STATUS",
            "AUTO_RENEW_ENABLED",
            of: cases.transaction("1", token(Self.one)),
            with: cases.renewal(token(Self.two)),
            at: 1
        )
        let state = try cases.state([begun(), next])
        #expect(owners(state) == [Self.one])
        #expect(state.ownership.conflicts.map(\.claimed.id) == [Self.two])
    }
}
