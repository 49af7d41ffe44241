import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import Testing

/// Mistakes of other implementations, on the same input.
@Suite("Pitfalls")
struct ApplePitfallTests {
    private let fixture: AppleFixture

    init() throws { fixture = try AppleFixture() }

    /// The state after each event of a story.
    private func states(_ story: CustomerStory) throws -> [(event: NormalizedEvent, state: SubscriptionState)] {
        var result: [(event: NormalizedEvent, state: SubscriptionState)] = []
        for event in try fixture.events(story) {
            guard let statement = event.statement else { continue }
            var state = result.last?.state ?? SubscriptionState(statement.subscription)
            state.apply(statement)
            result.append((event, state))
        }
        return result
    }

    private func isGranted(_ state: SubscriptionState, _ date: Date) -> Bool {
        if case .granted = state.access(at: date) { true } else { false }
    }

    private func event(_ story: CustomerStory, _ kind: LifecycleEvent.Kind) throws -> NormalizedEvent {
        try #require(try fixture.events(story).first { $0.kind == kind })
    }

    private func named(_ name: String) throws -> CustomerStory {
        try #require(AppleSimulator.stories.first { $0.id == name })
    }

    @Test("O1, N1: in a grace period access lasts until its end, and no longer")
    func grace() throws {
        let (event, state) = try #require(try states(named("grace-lapses")).first { $0.event.kind == .billingIssue })
        guard case .billingIssue(let issue) = event.event, case .grace(let until) = issue.access else {
            Issue.record("no grace")
            return
        }
        let end = try #require(event.period?.end)
        #expect(until > end)
        #expect(isGranted(state, end.addingTimeInterval(60)))
        #expect(isGranted(state, until.addingTimeInterval(-1)))
        #expect(!isGranted(state, until))
    }

    @Test("SP3: the end of grace is a time, not a length")
    func graceIsATime() throws {
        let event = try event(named("grace-recovers"), .billingIssue)
        guard case .billingIssue(let issue) = event.event, case .grace(let until) = issue.access else {
            Issue.record("no grace")
            return
        }
        let end = try #require(event.period?.end)
        #expect(until == end.addingTimeInterval(16 * 86_400))
    }

    @Test("O2: turning renewal on again leaves nothing of the cancellation")
    func uncancelled() throws {
        let all = try states(named("uncancel"))
        let (event, state) = try #require(all.first { $0.event.kind == .autoRenewEnabled })
        let snapshot = state.snapshot(at: event.occurredAt)
        #expect(snapshot.willRenew == true)
        #expect(snapshot.willNotRenewBecause == nil)
    }

    @Test("P1: turning renewal off takes no access")
    func cancelled() throws {
        let (event, state) = try #require(
            try states(named("cancel-expire")).first { $0.event.kind == .autoRenewDisabled }
        )
        let end = try #require(event.period?.end)
        #expect(event.event.accessEffect == .none)
        #expect(isGranted(state, end.addingTimeInterval(-1)))
        #expect(!isGranted(state, end))
    }

    @Test(
        "O11: an upgrade has the new product and its own period; a downgrade and its withdrawal name the next product"
    )
    func changes() throws {
        let upgrade = try event(named("upgrade"), .productChanged)
        #expect(upgrade.product?.id == ProductID(AppStoreProduct(.proMonthly).id))
        #expect(upgrade.period?.start == upgrade.occurredAt)
        let all = try states(named("downgrade-withdrawn"))
        let scheduled = try #require(all.first { $0.event.kind == .productChangeScheduled })
        guard case .productChangeScheduled(let change) = scheduled.event.event else { throw CancellationError() }
        #expect(change.from == ProductID(AppStoreProduct(.proMonthly).id))
        #expect(change.to == ProductID(AppStoreProduct(.basicMonthly).id))
        #expect(
            scheduled.state.snapshot(at: scheduled.event.occurredAt).product
                == ProductID(AppStoreProduct(.proMonthly).id)
        )
        #expect(
            scheduled.state.snapshot(at: scheduled.event.occurredAt).pendingProduct
                == ProductID(AppStoreProduct(.basicMonthly).id)
        )
        let reverted = try #require(all.first { $0.event.kind == .productChangeReverted })
        #expect(reverted.state.snapshot(at: reverted.event.occurredAt).pendingProduct == nil)
    }

    @Test("O12, N4: a refund of a past period leaves the current one alone")
    func pastRefund() throws {
        let (event, state) = try #require(try states(named("refund-past")).first { $0.event.kind == .refunded })
        #expect(event.event.accessEffect == .none)
        #expect(isGranted(state, event.occurredAt.addingTimeInterval(1)))
    }

    @Test("O12: a refund of the current period ends it, and its reversal restores it")
    func currentRefund() throws {
        let all = try states(named("refund-reversed"))
        let refund = try #require(all.first { $0.event.kind == .refunded })
        #expect(refund.event.event.accessEffect == .removes)
        #expect(!isGranted(refund.state, refund.event.occurredAt.addingTimeInterval(1)))
        let reversal = try #require(all.first { $0.event.kind == .refundReversed })
        #expect(isGranted(reversal.state, reversal.event.occurredAt.addingTimeInterval(1)))
    }

    @Test("O13, SP4: a reversed refund is not a start")
    func reversal() throws {
        let events = try fixture.events(named("refund-reversed"))
        #expect(events.filter { $0.kind == .started }.count == 1)
        #expect(events.last?.kind == .refundReversed)
    }

    /// The transaction that an upgrade replaced stays replaced, with the money or without.
    @Test("a reversed refund of a replaced purchase is reported, even if a device has shown the transaction")
    func reversalOfWhatWasReplaced() throws {
        func day(_ days: Double) -> Date { AppleFixture.start.addingTimeInterval(days * 86_400) }
        func heard(_ type: String, _ transaction: AppleSimulator.Transaction, at days: Double) throws -> NormalizedEvent
        {
            let notification = AppleSimulator.Notification(
                type,
                type == "SUBSCRIBED" ? "INITIAL_BUY" : nil,
                notificationUUID: "00000000-0000-4000-8000-\(Int(100_000_000_000 + days))",
                signedDate: day(days),
                content: .data(.init(status: 1, transactionInfo: transaction))
            )
            return try #require(try fixture.adapter.events(fixture.simulator.delivery(notification)).first)
        }
        var replaced = AppleFixture.month()
        let bought = try heard("SUBSCRIBED", replaced, at: 0)
        replaced.isUpgraded = true
        var refunded = replaced
        (refunded.revocationDate, refunded.revocationType) = (day(5), "REFUND_FULL")
        let reversal = try heard("REFUND_REVERSED", replaced, at: 6)
        #expect(
            reversal.facts.compactMap { if case .refund(let refund) = $0 { refund.scope == nil } else { nil } } == [
                true
            ]
        )
        for isUploaded in [false, true] {
            var ledger = AccountLedger()
            #expect(ledger.apply(bought).disposition == .applied)
            #expect(ledger.apply(try heard("REFUND", refunded, at: 5)).disposition == .applied)
            if isUploaded {
                let upload = try fixture.simulator.signed(replaced, at: day(6))
                _ = ledger.apply(try fixture.adapter.receive(signedTransaction: upload, receivedAt: day(6)))
            }
            #expect(ledger.apply(reversal).disposition == .applied)
            #expect(ledger.apply(reversal).disposition == .duplicate)
        }
    }

    @Test("O14: the end of Family Sharing is no refund")
    func familySharing() throws {
        let event = try event(named("family"), .revoked)
        #expect(event.event == .revoked(.init(reason: .familySharingEnded)))
        #expect(!event.facts.contains { if case .refund = $0 { true } else { false } })
        #expect(event.account?.source != .appAccountToken)
    }

    @Test("O18: an environment that is absent or unknown is never production")
    func environment() throws {
        for environment in [
            "", "\"environment\":null,", "\"environment\":\"production\",", "\"environment\":\"Prod\",",
        ] {
            let payload = """
                {"notificationType":"TEST","notificationUUID":"u","signedDate":1767225600000,\
                "data":{\(environment)"bundleId":"com.example.app","appAppleId":1234567890}}
                """
            let body = AppleHostileInputTests.body(try fixture.simulator.jws(Array(payload.utf8)))
            #expect(throws: DeliveryError.self) {
                try fixture.adapter.events(Delivery(body: body, receivedAt: AppleFixture.start))
            }
        }
    }

    @Test("O19, D1: what is nested is verified, and refused with the whole")
    func nested() throws {
        let forger = try AppleSimulator(seed: "forger")
        let notification = try AppleFixture.life[0]
        guard case .data(let data) = notification.content, let transaction = data.transactionInfo else {
            throw CancellationError()
        }
        let forged = String(decoding: try forger.signed(transaction, at: notification.signedDate), as: UTF8.self)
        let payload = """
            {"notificationType":"SUBSCRIBED","subtype":"INITIAL_BUY","notificationUUID":"u","signedDate":1767225600000,\
            "data":{"environment":"Production","bundleId":"com.example.app","appAppleId":1234567890,\
            "signedTransactionInfo":"\(forged)"}}
            """
        let body = AppleHostileInputTests.body(try fixture.simulator.jws(Array(payload.utf8)))
        let error = #expect(throws: DeliveryError.self) {
            try fixture.adapter.events(Delivery(body: body, receivedAt: AppleFixture.start))
        }
        #expect(error?.code == .untrusted)
    }

    @Test("O20, U3: the time of receipt changes neither order nor identity")
    func receipt() throws {
        let notification = try AppleFixture.life[0]
        let now = try fixture.adapter.events(fixture.simulator.delivery(notification))
        let later = try fixture.adapter.events(
            fixture.simulator.delivery(notification, receivedAt: AppleFixture.start.addingTimeInterval(500_000))
        )
        #expect(now.map(\.id) == later.map(\.id))
        #expect(now.map(\.assertedAt) == later.map(\.assertedAt))
    }

    @Test("O21: every type gives an event", arguments: AppleSimulator.stories)
    func everything(story: CustomerStory) throws {
        #expect(try fixture.events(story).count == story.steps.count)
    }

    @Test("O22, D3, N7: an authentic notification that cannot be mapped is accepted and kept, a forged one is not")
    func answers() throws {
        func answer(_ simulator: AppleSimulator) throws -> Acknowledgement {
            let payload = """
                {"notificationType":"DID_RENEW","notificationUUID":"u","signedDate":1767225600000,\
                "data":{"environment":"Production","bundleId":"com.example.app","appAppleId":1234567890}}
                """
            let body = AppleHostileInputTests.body(try simulator.jws(Array(payload.utf8)))
            let delivery = Delivery(body: body, receivedAt: AppleFixture.start)
            let outcome: Result<Normalization, DeliveryError>
            do throws(DeliveryError) {
                outcome = .success(try fixture.adapter.normalize(try fixture.adapter.authenticate(delivery)))
            } catch { outcome = .failure(error) }
            return Acknowledgement(for: outcome, provider: .apple)
        }
        #expect(try answer(fixture.simulator).decision == .acceptAndQuarantine)
        #expect(try answer(fixture.simulator).status == 200)
        #expect(try answer(AppleSimulator(seed: "forger")).decision == .reject)
    }

    @Test("O23: a trial was charged at nothing, whatever it costs afterwards")
    func trialPrice() throws {
        let event = try #require(try fixture.events(named("trial-converts")).first)
        #expect(event.price == Price(Money(ExactDecimal(0), "USD"), .charged))
        #expect(event.renewal?.nextPrice == ExactDecimal("9.99").map { Money($0, "USD") })
    }

    @Test("O24, N3: a refund that arrives late still counts, and an older renewal takes nothing back")
    func order() throws {
        for name in ["refund-reversed", "refund-past", "grace-lapses", "downgrade", "cancel-expire", "life"] {
            let events = try fixture.events(named(name))
            let inOrder = try #require(try states(named(name)).last?.state)
            for turned in [
                Array(events.reversed()), events + events, events.sorted { $0.id.description < $1.id.description },
            ] {
                let statements = turned.compactMap(\.statement)
                var state = SubscriptionState(try #require(statements.first?.subscription))
                for statement in statements { state.apply(statement) }
                #expect(state == inOrder, "\(name)")
            }
        }
    }

    @Test("SP2, SP4, U4: offers, one-time purchases, refunds of them and tests need no renewal info and no text dates")
    func withoutRenewalInfo() throws {
        #expect(try fixture.events(named("one-time")).map(\.kind) == Array(repeating: .oneTimePurchased, count: 3))
        #expect(
            try fixture.events(named("refund-consumable")).map(\.kind) == [
                .oneTimePurchased, .refundRequested, .refunded,
            ]
        )
        #expect(try fixture.events(named("offer-redeemed")).map(\.kind).contains(.offerRedeemed))
        #expect(try fixture.events(named("test")).map(\.kind) == [.notice])
    }

    @Test("D5: renewal info says what renews, not the absence of a refund")
    func intent() throws {
        let stopped = try event(named("cancel-expire"), .autoRenewDisabled)
        #expect(stopped.renewal?.willRenew == false)
        let started = try event(named("initial-purchase"), .started)
        #expect(started.renewal?.willRenew == true)
    }

    @Test("L1: a body of the first version is refused, and beside a signed one it says nothing")
    func downgrade() throws {
        let legacy = #""notification_type":"CANCEL","password":"p","unified_receipt":{}"#
        func body(_ members: String) -> Delivery {
            Delivery(body: Array("{\(members)}".utf8), receivedAt: AppleFixture.start)
        }
        #expect(throws: DeliveryError.self) { try fixture.adapter.events(body(legacy)) }
        let notification = try AppleFixture.life[0]
        let signed = String(decoding: try fixture.simulator.signed(notification), as: UTF8.self)
        let alone = try fixture.adapter.events(body("\"signedPayload\":\"\(signed)\""))
        let beside = try fixture.adapter.events(body("\(legacy),\"signedPayload\":\"\(signed)\""))
        #expect(alone.map(\.event) == beside.map(\.event))
        #expect(alone.map(\.facts) == beside.map(\.facts) && beside.map(\.kind) == [.started])
        let forged = String(decoding: try AppleSimulator(seed: "forger").signed(notification), as: UTF8.self)
        let error = #expect(throws: DeliveryError.self) {
            try fixture.adapter.events(body("\(legacy),\"signedPayload\":\"\(forged)\""))
        }
        #expect(error?.isAuthentic == false)
    }

    @Test("SP1: Apple's own repetitions, up to 157 hours late, are not too old by default")
    func repetitions() throws {
        let notification = try AppleFixture.life[0]
        for hours in [1.0, 13, 37, 85, 157] {
            let received = notification.signedDate.addingTimeInterval(hours * 3600)
            #expect(
                try fixture.adapter.events(fixture.simulator.delivery(notification, receivedAt: received)).count == 1
            )
        }
    }
}
