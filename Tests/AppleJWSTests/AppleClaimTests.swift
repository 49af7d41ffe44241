import AppleJWS
import FoundationEssentials
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Testing

@Suite("Purchases to which the store binds no account")
struct AppleClaimTests {
    private let start = AppleFixture.start
    private let fixture: AppleFixture
    private func day(_ days: Double) -> Date { start.addingTimeInterval(days * 86_400) }

    init() throws { fixture = try AppleFixture() }

    private static let ada = Account("57f8a9b2-3d0e-4f0c-9b58-1f1f2d0a6c11", .appAccountToken)
    private static let bob = Account("8b1e0f5a-91c4-47d2-8a3e-6a5f4c3b2d10", .appAccountToken)

    /// A device's copy of the first month, signed some days after it began, and uploaded later still.
    private func upload(signed: Double, token: String? = nil, isShared: Bool = false) throws -> Normalization {
        var transaction = AppleFixture.month()
        transaction.appAccountToken = token
        if isShared { transaction.inAppOwnershipType = "FAMILY_SHARED" }
        return try fixture.adapter.receive(
            signedTransaction: fixture.simulator.signed(transaction, at: day(signed)),
            receivedAt: day(signed)
        )
    }

    private func access(_ account: Account, _ ledger: AccountLedger) -> AccountAccess {
        ledger.access(of: account.identifiers, at: day(20))
    }

    @Test("belong to who hands them in, signed in", arguments: [false, true])
    func claimed(isShared: Bool) throws {
        let result = try upload(signed: 1, isShared: isShared)
        #expect(!access(Self.ada, AccountLedger(applying: [result])).decision.isGranted)
        let claimed = result.claimed(by: Self.ada, at: day(2))
        #expect(claimed.events == result.events)
        #expect(claimed.lineages == result.lineages)
        for results in [[claimed], [claimed, claimed], [result, claimed], [claimed, result]] {
            let ledger = AccountLedger(applying: results)
            #expect(access(Self.ada, ledger).decision.isGranted)
            #expect(access(Self.ada, ledger).conflicts == [])
            #expect(!access(Self.bob, ledger).decision.isGranted)
            #expect(ledger.accounts.contains(Self.ada.identifiers[0]))
        }
        let stored = try CanonicalJSON.value(Normalization.self, from: try CanonicalJSON.bytes(claimed))
        #expect(stored == claimed)
    }

    /// Swift writes a UUID in upper case, StoreKit is given the UUID itself, and the adapter reads it in lower case.
    @Test("and those that the store binds are found by the account token in either case", arguments: [false, true])
    func spelling(isClaimed: Bool) throws {
        let upper = Account(Self.ada.id.uppercased(), .appAccountToken)
        #expect(upper == Self.ada)
        #expect(Account.Identifier(Self.ada.id.uppercased(), .appAccountToken) == Self.ada.identifiers[0])
        // A claim by the owner under the other spelling is the owner's.
        var result = try upload(signed: 1, token: Self.ada.id)
        if isClaimed { result = result.claimed(by: upper, at: day(2)) }
        let ledger = AccountLedger(applying: [result])
        #expect(access(upper, ledger).decision.isGranted)
        #expect(access(upper, ledger).conflicts == [])
        #expect(ledger.accounts.filter { $0.source == .appAccountToken } == Self.ada.identifiers)
        let written = Array(#"{"id":"\#(Self.ada.id.uppercased())","source":"app_account_token"}"#.utf8)
        #expect(try CanonicalJSON.value(Account.self, from: written) == Self.ada)
        #expect(try CanonicalJSON.value(Account.Identifier.self, from: written) == Self.ada.identifiers[0])
    }

    @Test("stay with who claimed them first, also where somebody else has an older signature to show")
    func contested() throws {
        let first = try upload(signed: 5).claimed(by: Self.ada, at: day(5))
        let second = try upload(signed: 1).claimed(by: Self.bob, at: day(9))
        for results in [[first, second], [second, first], [first, second, first, second]] {
            let ledger = AccountLedger(applying: results)
            #expect(access(Self.ada, ledger).decision.isGranted)
            #expect(!access(Self.bob, ledger).decision.isGranted)
            #expect(access(Self.bob, ledger).conflicts.map(\.existing) == Self.ada.identifiers)
        }
    }

    @Test("and a claim does not move those that it binds")
    func bound() throws {
        for signed in [0.5, 3] {
            let named = try upload(signed: signed, token: Self.ada.id)
            for results in [
                [named, named.claimed(by: Self.bob, at: day(5))], [named.claimed(by: Self.bob, at: day(5))],
            ] {
                let ledger = AccountLedger(applying: results)
                #expect(access(Self.ada, ledger).decision.isGranted)
                #expect(!access(Self.bob, ledger).decision.isGranted)
                #expect(access(Self.bob, ledger).conflicts.map(\.claimed) == Self.bob.identifiers)
            }
            #expect(
                access(Self.ada, AccountLedger(applying: [named.claimed(by: Self.ada, at: day(5))])).conflicts == []
            )
        }
    }

    /// A host's clock may be behind the store's, and a claim by name may come before anything is heard of the purchase.
    @Test("whenever the claim is dated, and whichever is heard of first", arguments: [-1, 3, 3.000_01, 9])
    func boundByNow(claimedAt: Double) throws {
        let named = try upload(signed: 3, token: Self.ada.id)
        let lineage = try #require(named.lineages.first)
        let claim = StoreStatement.claim(of: lineage, by: Self.bob, at: day(claimedAt))
        let claimed = Normalization(noChange: .init(.unchanged, statement: claim))
        let unnamed = try upload(signed: 1)
        for results in [
            [named, claimed], [claimed, named], [claimed, unnamed, named],
            [named.claimed(by: Self.bob, at: day(claimedAt))],
        ] {
            let ledger = AccountLedger(applying: results)
            #expect(access(Self.ada, ledger).decision.isGranted)
            #expect(!access(Self.bob, ledger).decision.isGranted)
            #expect(access(Self.bob, ledger).conflicts.map(\.existing) == Self.ada.identifiers)
            let stored = try ledger.states.map {
                try CanonicalJSON.value(SubscriptionState.self, from: CanonicalJSON.bytes($0))
            }
            #expect(stored == ledger.states)
        }
        // An account that the store names too has made no claim against it.
        let confirmed = StoreStatement.claim(of: lineage, by: Self.ada, at: day(claimedAt))
        for results in [[claimed, named], [named, claimed]] {
            var ledger = AccountLedger(applying: results)
            ledger.apply(confirmed)
            #expect(access(Self.ada, ledger).decision.isGranted)
            #expect(access(Self.ada, ledger).conflicts == [])
        }
    }

    @Test("or are claimed by their name alone, before anything is heard of them or after")
    func byName() throws {
        let result = try upload(signed: 1)
        let lineage = try #require(result.lineages.first)
        let claim = StoreStatement.claim(of: lineage, by: Self.ada, at: day(2))
        let claimed = Normalization(noChange: .init(.unchanged, statement: claim))
        for results in [[result, claimed], [claimed, result]] {
            #expect(access(Self.ada, AccountLedger(applying: results)).decision.isGranted)
        }
        #expect(!access(Self.ada, AccountLedger(applying: [claimed])).decision.isGranted)
    }

    @Test("A result that is about no purchase has nothing to claim")
    func nothing() {
        let result = Normalization(noChange: .init(.needsLookup))
        #expect(result.claimed(by: Self.ada, at: day(1)) == result)
    }
}
