import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Testing

/// A client's uploads are genuinely signed, but the client chooses what to upload, when, and next to what.
@Suite("Uploads of old and new things together", .timeLimit(.minutes(5)))
struct AppleUploadTests {
    /// A story whose notifications a ledger took in, and what the simulator signs for a client of its customer.
    private struct Reported {
        let fixture: AppleFixture
        let notifications: [AppleSimulator.Notification]
        var ledger = AccountLedger()

        init(_ steps: [CustomerStory.Step]) throws {
            fixture = try AppleFixture()
            notifications = try fixture.simulator.unsignedNotifications(
                CustomerStory("upload", "Uploads.", steps: steps),
                from: AppleFixture.start
            )
            for notification in notifications {
                for event in try fixture.adapter.events(fixture.simulator.delivery(notification)) {
                    _ = ledger.apply(event)
                }
            }
        }

        /// A day after everything.
        var later: Date { (notifications.last?.signedDate ?? AppleFixture.start).addingTimeInterval(86_400) }

        func data(_ index: Int) throws -> AppleSimulator.PurchaseData {
            guard case .data(let data) = notifications[index].content else { throw CancellationError() }
            return data
        }

        /// Takes in a transaction beside renewal info, each signed when it says.
        mutating func upload(
            _ transaction: AppleSimulator.Transaction?,
            at signed: Date,
            beside renewalInfo: AppleSimulator.RenewalInfo?,
            at renewalSigned: Date
        ) throws -> Normalization {
            let result = try fixture.adapter.receive(
                signedTransaction: fixture.simulator.signed(#require(transaction), at: signed),
                signedRenewalInfo: fixture.simulator.signed(#require(renewalInfo), at: renewalSigned),
                receivedAt: max(signed, renewalSigned)
            )
            _ = ledger.apply(result)
            return result
        }

        func snapshot(of lineage: String? = nil) throws -> SubscriptionSnapshot {
            let state = ledger.states.first { lineage == nil || $0.subscription.id == lineage }
            return try #require(state).snapshot(at: later.addingTimeInterval(60))
        }
    }

    private typealias Step = CustomerStory.Step

    @Test(
        "a device keeps what was signed years ago, and may hand it in, unless a maximum age of uploads says otherwise"
    )
    func age() throws {
        let simulator = try AppleSimulator(seed: "age")
        let received = AppleFixture.start.addingTimeInterval(3 * 365 * 86_400)
        let story = try simulator.unsignedNotifications(
            CustomerStory("age", "A purchase.", steps: [Step(.after(.zero), .subscribe(.basicMonthly))]),
            from: AppleFixture.start
        )
        guard case .data(let data) = story[0].content else { throw CancellationError() }
        let transaction = try simulator.signed(#require(data.transactionInfo), at: AppleFixture.start)
        let renewalInfo = try simulator.signed(#require(data.renewalInfo), at: AppleFixture.start)
        func adapter(_ change: (inout AppleAdapter.Configuration) -> Void) throws -> AppleAdapter {
            try AppleFixture.adapter(trusting: simulator, change)
        }
        func receive(_ adapter: AppleAdapter) throws -> [LifecycleEvent.Kind] {
            try adapter.receive(signedTransaction: transaction, signedRenewalInfo: renewalInfo, receivedAt: received)
                .events.map(\.event.kind)
        }
        let ofNotifications = try adapter { $0.maximumAge = .seconds(14 * 86_400) }
        #expect(try receive(ofNotifications) == [.started])
        // A notification is not that old, and what Apple answers may be of any age.
        let error = #expect(throws: DeliveryError.self) {
            try ofNotifications.verifier.transaction(transaction, receivedAt: received, channel: .webhook)
        }
        #expect(error?.code == .stale)
        _ = try ofNotifications.verifier.transaction(transaction, receivedAt: received, channel: .refetch)
        let app = AppleSimulator.AppTransaction(appTransactionId: "1", originalPurchaseDate: AppleFixture.start)
        let signedApp = try simulator.signed(app, at: AppleFixture.start)
        _ = try ofNotifications.verifier.appTransaction(signedApp, receivedAt: received)
        #expect(throws: DeliveryError.self) {
            try ofNotifications.verifier.appTransaction(signedApp, receivedAt: received, channel: .webhook)
        }
        for (age, isTaken) in [(3 * 365 * 86_400, true), (3 * 365 * 86_400 - 1, false)] {
            let adapter = try adapter { $0.maximumUploadAge = .seconds(age) }
            if isTaken {
                #expect(try receive(adapter) == [.started])
            } else {
                let error = #expect(throws: DeliveryError.self) { try receive(adapter) }
                #expect(error?.code == .stale)
            }
        }
        #expect(throws: ConfigurationError.self) { try adapter { $0.maximumUploadAge = .seconds(-1) } }
    }

    @Test("renewal info of another lineage, or of another environment, says nothing of a transaction")
    func unrelated() throws {
        let simulator = try AppleSimulator(seed: "unrelated")
        let adapter = try AppleFixture.adapter(trusting: simulator) { $0.environments = [.production, .sandbox] }
        let notification = try AppleFixture.life[0]
        guard case .data(let data) = notification.content else { throw CancellationError() }
        let (transaction, own) = (try #require(data.transactionInfo), try #require(data.renewalInfo))
        var other = own
        other.originalTransactionId += "0"
        let date = notification.signedDate
        let cases = [
            (simulator, own, true), (simulator, other, false), (simulator.simulating(.sandbox), own, false),
        ]
        for (signer, renewalInfo, isTaken) in cases {
            let jws = (try simulator.signed(transaction, at: date), try signer.signed(renewalInfo, at: date))
            do throws(DeliveryError) {
                let result = try adapter.receive(
                    signedTransaction: jws.0,
                    signedRenewalInfo: jws.1,
                    receivedAt: date
                )
                #expect(isTaken && result.events.count == 1)
            } catch {
                #expect(!isTaken && error.code == .misdirected)
            }
        }
    }

    @Test("the transaction of a year that gave way to an upgrade gives no access beside today's renewal info")
    func replaced() throws {
        var reported = try Reported([
            Step(.after(.zero), .subscribe(.proYearly)),
            Step(.after(.seconds(12 * 86_400)), .upgrade(.proMonthly)),
            Step(.after(.seconds(86_400)), .cancel),
            Step(.atPeriodEnd, .expire(.customer)),
        ])
        #expect(try !reported.snapshot().access.isGranted)
        let before = try reported.snapshot()
        let bought = reported.notifications[0].signedDate
        let result = try reported.upload(
            reported.data(0).transactionInfo,
            at: bought,
            beside: reported.data(3).renewalInfo,
            at: reported.later
        )
        #expect(try reported.snapshot() == before)
        #expect(result.statements.map(\.assertedAt) == [bought, reported.later])
        #expect(Set(result.statements.map(\.subscription)).count == 1)
    }

    @Test("a family member whose sharing ended gets nothing back by the transaction from before")
    func unshared() throws {
        var reported = try Reported([
            Step(.after(.zero), .subscribe(.proYearly)),
            Step(.after(.seconds(86_400)), .shareWithFamily),
            Step(.after(.seconds(86_400)), .stopSharing),
        ])
        let shared = try #require(reported.data(1).transactionInfo)
        var renewalInfo = try #require(reported.data(0).renewalInfo)
        renewalInfo.originalTransactionId = shared.originalTransactionId
        #expect(try !reported.snapshot(of: shared.originalTransactionId).access.isGranted)
        _ = try reported.upload(
            shared,
            at: reported.notifications[1].signedDate,
            beside: renewalInfo,
            at: reported.later
        )
        #expect(try !reported.snapshot(of: shared.originalTransactionId).access.isGranted)
    }

    @Test("the transaction of the first period takes no grace away from the one that is to be paid for")
    func grace() throws {
        var reported = try Reported([
            Step(.after(.zero), .subscribe(.proMonthly)),
            Step(.atPeriodEnd, .renew),
            Step(.atPeriodEnd, .failCharge(grace: .seconds(16 * 86_400))),
        ])
        #expect(try reported.snapshot().access.isGranted)
        let before = try reported.snapshot()
        _ = try reported.upload(
            reported.data(0).transactionInfo,
            at: reported.notifications[0].signedDate,
            beside: reported.data(2).renewalInfo,
            at: reported.later
        )
        let after = try reported.snapshot()
        #expect(after.access.isGranted && after.status == before.status && after.period == before.period)
    }

    @Test("renewal info from before renewal was turned off does not turn it on, whatever is signed beside it")
    func renewalTurnedOff() throws {
        var reported = try Reported([
            Step(.after(.zero), .subscribe(.proMonthly)),
            Step(.after(.seconds(86_400)), .cancel),
        ])
        #expect(try reported.snapshot().willRenew == false)
        let (first, last) = (try reported.data(0), try reported.data(1))
        _ = try reported.upload(
            last.transactionInfo,
            at: reported.later,
            beside: first.renewalInfo,
            at: reported.notifications[0].signedDate
        )
        #expect(try reported.snapshot().willRenew == false)
    }

    /// An answer about the status of a subscription, or a device's upload, has two signatures, steps apart.
    @Test(
        "renewal info that was signed just before the first transaction that is heard of is about its period",
        arguments: [-60_000, -5, 0, 5] as [Double]
    )
    func signedJustBefore(milliseconds: Double) throws {
        func snapshot(_ steps: [Step], of index: Int) throws -> SubscriptionSnapshot {
            var reported = try Reported(steps)
            reported.ledger = AccountLedger()
            let data = try reported.data(index)
            _ = try reported.upload(
                data.transactionInfo,
                at: reported.later,
                beside: data.renewalInfo,
                at: reported.later.addingTimeInterval(milliseconds / 1000)
            )
            return try reported.snapshot()
        }
        let bought = Step(.after(.zero), .subscribe(.proMonthly))
        let grace = try snapshot(
            [bought, Step(.atPeriodEnd, .failCharge(grace: .seconds(16 * 86_400)))],
            of: 1
        )
        #expect(grace.access.isGranted && grace.status == .grace)
        let planned = try snapshot([bought, Step(.after(.seconds(86_400)), .downgrade(.basicMonthly))], of: 1)
        #expect(planned.pendingProduct != nil)
    }

    @Test("Apple's request before a retention message does not pass for renewal info")
    func retentionMessage() throws {
        let fixture = try AppleFixture()
        let payload = """
            {"originalTransactionId":"2000000900000001","appAppleId":1234567890,"productId":"pro","userLocale":"en-US",\
            "requestIdentifier":"5f2f8d0e-1b7b-4c0e-9d66-0f3a5f0f6a11","environment":"Production",\
            "signedDate":1767225600000}
            """
        let jws = try fixture.simulator.jws(Array(payload.utf8))
        let error = #expect(throws: DeliveryError.self) {
            try fixture.adapter.verifier.renewalInfo(jws, receivedAt: AppleFixture.start)
        }
        #expect(error?.code == .malformed)
        #expect(error?.isAuthentic == true)
    }
}
