import FoundationEssentials
import HTTPTransport
import Normalizer
import NormalizerTesting
import SignatureIssuing
import Testing
import VectorGenerator

@testable import GooglePubSub

/// Mistakes of other implementations, on the same input, from the message to the state.
@Suite("Google pitfalls", .timeLimit(.minutes(5)))
struct GooglePitfallTests {
    typealias Vectors = GoogleVectors

    private let play = StubTransport()

    private func adapter() throws -> GooglePlayAdapter {
        var configuration = Google.configuration()
        configuration.packageNames = [Vectors.packageName]
        let api = try PlayDeveloperAPI(
            transport: play,
            tokens: CountingTokens(),
            retry: .never,
            clock: TestClock(jumping: true)
        )
        return try Google.adapter(configuration, api: api)
    }

    private static let root = "/androidpublisher/v3/applications/\(Vectors.packageName)"

    private func on(_ path: String, _ body: String, status: Int = 200) {
        play.removeRules()
        also(path, body, status: status)
    }

    private func also(_ path: String, _ body: String, status: Int = 200) {
        play.on(
            .init(.get, path: Self.root + path),
            respond: HTTPTransportResponse(status: status, body: Array(body.utf8))
        )
    }

    private static let token = "/purchases/subscriptionsv2/tokens/\(Vectors.token)"
    private static let product = "/purchases/productsv2/tokens/\(Vectors.token)"

    private func outcome(
        _ notification: String,
        at time: Int64 = Vectors.noon
    ) async throws -> Result<Normalization, DeliveryError> {
        let message = PubSubMessage(subscription: Google.subscription, messageID: "1", data: Array(notification.utf8))
        // Orders that no test has named are not known.
        play.on(.init(where: { $0.url.path.contains("/orders/") }), respond: HTTPTransportResponse(status: 404))
        return try await adapter().outcome(ofPulled: message, receivedAt: Play.date(time))
    }

    /// The events of a number with a purchase.
    private func events(
        _ number: Int,
        _ purchase: Vectors.Purchase,
        at time: Int64 = Vectors.event
    ) async throws -> [NormalizedEvent] {
        on(Self.token, purchase.json)
        return try await outcome(Vectors.hint(number, at: time)).get().events
    }

    private func oneTime(_ number: Int, _ product: Vectors.Product) async throws -> [NormalizedEvent] {
        on(Self.product, product.json)
        return try await outcome(Vectors.oneTimeHint(number)).get().events
    }

    private func state(_ events: [NormalizedEvent]) throws -> SubscriptionState {
        let lineage = try #require(events.first?.subscription)
        var state = SubscriptionState(lineage)
        for event in events { _ = state.apply(event) }
        return state
    }

    private func isGranted(_ events: [NormalizedEvent], at time: Int64 = Vectors.noon) throws -> Bool {
        try state(events).access(at: Play.date(time)).isGranted
    }

    @Test("O3: a pause that is planned ends nothing")
    func plannedPause() async throws {
        let events = try await events(11, Vectors.purchase("ACTIVE"))
        #expect(events.map(\.kind) == [.pauseScheduled])
        #expect(try isGranted(events))
    }

    @Test("O4: a deferral gives its new end, and changes no product")
    func deferral() async throws {
        let end = Vectors.event + 44 * Vectors.day
        let events = try await events(9, Vectors.purchase("ACTIVE").with { $0.items[0].expiry = end })
        #expect(events.map(\.kind) == [.extended])
        #expect(try isGranted(events, at: end - 1))
        #expect(try !isGranted(events, at: end))
    }

    @Test("O5, N3, P4, O24: the cancellation that comes before the purchase locks nobody out, nor does any other order")
    func order() async throws {
        let bought = Vectors.purchase("ACTIVE").with {
            $0.start = Vectors.event - Vectors.second
            $0.items[0].order = Vectors.order
            $0.items[0].expiry = Vectors.event + 20 * Vectors.day
        }
        let canceled = Vectors.purchase("CANCELED").with {
            $0.start = Vectors.event - Vectors.second
            $0.items[0].order = Vectors.order
        }
        let story = try await [
            events(4, bought, at: Vectors.event - Vectors.second), events(3, canceled),
            // Each is asked about anew, so what comes late reads as it is now.
            events(4, canceled, at: Vectors.event - Vectors.second),
        ]
        let kinds = story.map { $0.map(\.kind) }
        #expect(kinds == [[.started], [.autoRenewDisabled], [.started, .autoRenewDisabled]])
        let orders: [[Int]] = [[0, 1, 2], [1, 0, 2], [2, 1, 0], [1, 2, 0], [1, 2]]
        for order in orders {
            let events = order.flatMap { story[$0] }
            #expect(try isGranted(events), "\(order)")
            #expect(try isGranted(events, at: Vectors.event + 20 * Vectors.day - 1), "\(order)")
            #expect(try !isGranted(events, at: Vectors.event + 20 * Vectors.day), "\(order)")
        }
    }

    @Test(
        "O6: a look-up that fails gives no access, and least of all one without end",
        arguments: [400, 401, 404, 500]
    )
    func failedLookups(status: Int) async throws {
        for number in [1, 2, 4] {
            on(Self.token, "{}", status: status)
            switch try await outcome(Vectors.hint(number)) {
            case .success(let result): #expect(result.statements.isEmpty)
            case .failure(let error): #expect(error.isAuthentic)
            }
        }
        // Nor does a purchase that gives access and has no end.
        on(Self.token, Vectors.purchase("ACTIVE").with { $0.items[0].expiry = nil }.json)
        let endless = try await outcome(Vectors.hint(4))
        #expect(throws: DeliveryError.self) { try endless.get() }
    }

    @Test("O7, L3, D4: a token that Google signed for another account, or none, is refused before anything is asked")
    func foreignAccounts() async throws {
        let adapter = try adapter()
        for token in [
            try Google.token(claims: Google.claims(["email": "\"attacker@other.iam.gserviceaccount.com\""])),
            try Google.token(claims: Google.claims(["email_verified": "false"])),
            try Google.token(claims: Google.claims(["aud": "\"https://backend.example\""])),
            "x",
        ] {
            let error = await adapter.refusal(try Google.delivery(token: token))
            #expect(error?.isAuthentic == false)
        }
        var unproven = try Google.delivery()
        unproven.headers = [:]
        #expect(await adapter.refusal(unproven)?.code == .unauthenticated)
        #expect(play.requests.isEmpty)
    }

    @Test("O8: what could not be looked up is wanted again, and is then looked up")
    func redelivery() async throws {
        on(Self.token, "", status: 503)
        let failed = try await outcome(Vectors.hint(2))
        #expect(Acknowledgement(for: failed, provider: .google).decision == .retryLater)
        let events = try await events(2, Vectors.purchase("ACTIVE"))
        #expect(events.map(\.kind) == [.renewed])
        #expect(try isGranted(events))
    }

    @Test("O9: what was never paid is no cancellation of a subscription, and the one before lives on")
    func unpaid() async throws {
        let events = try await events(20, Vectors.purchase("PENDING_PURCHASE_CANCELED"))
        #expect(events.map(\.kind) == [.purchasePendingCanceled])
        #expect(events.allSatisfy { $0.event.accessEffect == .none })
        let living = Vectors.purchase("PENDING_PURCHASE_CANCELED").with { $0.linked = Vectors.oldToken }
        on(Self.token, living.json)
        also("/purchases/subscriptionsv2/tokens/\(Vectors.oldToken)", Vectors.purchase("ACTIVE").json)
        let result = try await outcome(Vectors.hint(20)).get()
        #expect(result.events.allSatisfy { $0.event.accessEffect == .none })
        #expect(!result.statements.flatMap(\.facts).contains { $0.kind == .periodEnded })
    }

    @Test(
        "O10: who ended it is as Google says, and a plan change is no churn",
        arguments: [
            ("developerInitiated", LifecycleEvent.Expired.Reason.developer), ("replacement", .replaced),
            ("systemInitiated", .billing), ("userInitiated", .customer),
        ]
    )
    func reasons(by: String, reason: LifecycleEvent.Expired.Reason) async throws {
        let purchase = Vectors.purchase("EXPIRED").with { $0.extra["canceledStateContext"] = Vectors.canceled(by) }
        let events = try await events(13, purchase)
        #expect(events.map(\.event) == [.expired(.init(reason: reason))])
    }

    @Test("O15: a pending one-time purchase that is canceled is no refund, and a paid one no subscription")
    func oneTime() async throws {
        let unpaid = Vectors.Product(state: "CANCELLED", order: nil, completion: nil)
        #expect(try await oneTime(2, unpaid).map(\.kind) == [.purchasePendingCanceled])
        #expect(try await oneTime(1, Vectors.Product()).map(\.kind) == [.oneTimePurchased])
    }

    @Test("O16, N8: a part that went back is no full refund, and neither is a chargeback")
    func voided() async throws {
        on(Self.product, Vectors.Product(details: ["quantity": "10", "refundableQuantity": "7"]).json)
        let part = try await outcome(Vectors.voidedHint(2, 2, order: Vectors.productOrder)).get().events
        #expect(part.map(\.event.accessEffect) == [.none])
        guard case .refunded(let refund)? = part.first?.event else {
            Issue.record("no refund")
            return
        }
        #expect(refund.scope == .quantity(3))

        on(Self.token, Vectors.purchase("EXPIRED").json)
        let order = "\(Vectors.order)..1"
        also(
            "/orders/\(order)",
            #"{"orderId":"\#(order)","state":"REFUNDED","orderHistory":{"refundEvent":{"refundReason":"CHARGEBACK"}}}"#
        )
        let disputed = try await outcome(Vectors.voidedHint(1, 1, order: order)).get().events
        #expect(disputed.map(\.kind) == [.chargeback, .revoked])
    }

    @Test("N8: a voided purchase is looked up, and a hint alone takes nothing")
    func voidedHintAlone() async throws {
        on(Self.product, "", status: 503)
        let unasked = try await outcome(Vectors.voidedHint(2, 1, order: Vectors.productOrder))
        #expect(Acknowledgement(for: unasked, provider: .google).decision == .retryLater)
        on(Self.product, Vectors.Product(details: ["quantity": "1", "refundableQuantity": "1"]).json)
        #expect(try await outcome(Vectors.voidedHint(2, 1, order: Vectors.productOrder)).get().events.isEmpty)
    }

    @Test("O17: licence testers are sandbox; the console's test says nothing of any purchase")
    func testers() async throws {
        let tester = try await events(4, Vectors.purchase("ACTIVE").with { $0.isTest = true })
        #expect(tester.allSatisfy { $0.environment == .sandbox && $0.subscription?.environment == .sandbox })
        let test = try await outcome(Vectors.notification("testNotification", ["version": "\"1.0\""])).get().events
        #expect(test.map(\.environment) == [.unknown])
        #expect(try await oneTime(1, Vectors.Product(isTest: true)).allSatisfy { $0.environment == .sandbox })
    }

    @Test("O21, L2: every number is kept, known or not", arguments: Array(0...30) + [Int.max, -1])
    func nothingIsDropped(number: Int) async throws {
        on(Self.token, Vectors.purchase("CANCELED").json)
        let outcome = try await outcome(Vectors.hint(number))
        #expect(try !outcome.get().statements.isEmpty)
        #expect(Acknowledgement(for: outcome, provider: .google).status == 200)
    }

    @Test("O22, N7: what can never succeed is answered with 200 and kept, since 4xx has it delivered for days")
    func poison() async throws {
        for notification in ["", "{", "[]", "{\"packageName\":\"\(Vectors.packageName)\"}", "null"] {
            let acknowledgement = Acknowledgement(for: try await outcome(notification), provider: .google)
            #expect(acknowledgement.decision == .acceptAndQuarantine && acknowledgement.status == 200)
        }
    }

    @Test("O23, U5: in a trial nothing was charged, and an offer with an order's suffix makes no trial")
    func trials() async throws {
        let trial = try await events(
            4,
            Vectors.purchase("ACTIVE").with {
                $0.items[0].order = Vectors.order
                $0.items[0].offer = "free-week"
                $0.items[0].phase = "freeTrial"
            }
        )
        guard case .started(let started)? = trial.first?.event else {
            Issue.record("not started")
            return
        }
        #expect(started.phase == .trial)
        #expect(started.price == nil && trial.first?.price == nil)
        let discounted = try await events(
            4,
            Vectors.purchase("ACTIVE").with {
                $0.items[0].order = Vectors.order
                $0.items[0].offer = "half-price"
                $0.items[0].phase = "introductoryPrice"
            }
        )
        guard case .started(let introductory)? = discounted.first?.event else {
            Issue.record("not started")
            return
        }
        #expect(introductory.phase == .introductory)
        #expect(introductory.price == nil)
    }

    @Test("N2, P1: canceled is paid up, and lasts to its end")
    func canceled() async throws {
        let events = try await events(3, Vectors.purchase("CANCELED"))
        #expect(events.map(\.event.accessEffect) == [.none])
        #expect(try isGranted(events, at: Vectors.event + 20 * Vectors.day - 1))
        #expect(try !isGranted(events, at: Vectors.event + 20 * Vectors.day))
    }

    @Test("SP5: bought and canceled within moments is both, and what is acknowledged already is no error")
    func canceledAtOnce() async throws {
        let purchase = Vectors.purchase("CANCELED").with {
            $0.items[0].order = Vectors.order
            $0.start = Vectors.event - Vectors.second
        }
        let events = try await events(4, purchase)
        #expect(events.map(\.kind) == [.started, .autoRenewDisabled])
        #expect(try isGranted(events))
        // A full void is no no-op.
        on(Self.token, Vectors.purchase("EXPIRED").json)
        let voided = try await outcome(Vectors.voidedHint(1, 1, order: "\(Vectors.order)..1")).get().events
        #expect(voided.map(\.kind) == [.refunded, .revoked])
    }

    @Test("U4, D10: every body is one of its own; none of them is refused for not being a subscription's")
    func bodies() async throws {
        on(Self.product, Vectors.Product().json)
        let bodies = [
            Vectors.notification("testNotification", ["version": "\"1.0\""]), Vectors.oneTimeHint(1),
            Vectors.voidedHint(2, 1, order: Vectors.productOrder),
            Vectors.notification(
                "pendingRefundReviewNotification",
                ["version": "\"1.0\"", "pendingRefundToken": "\"r\"", "orderId": "\"GPA.1\"", "refundReason": "7"]
            ),
            Vectors.notification("somethingNewNotification", ["version": "\"1.0\""]),
        ]
        for body in bodies {
            let outcome = try await outcome(body)
            #expect(Acknowledgement(for: outcome, provider: .google).status == 200)
            _ = try outcome.get()
        }
    }

    @Test("U3: the event has the same id each time it is delivered")
    func identity() async throws {
        on(Self.token, Vectors.purchase("ACTIVE").json)
        let first = try await outcome(Vectors.hint(2)).get().events
        let second = try await outcome(Vectors.hint(2), at: Vectors.noon + Vectors.hour).get().events
        #expect(first.map(\.id) == second.map(\.id))
    }

    @Test("D2: 12 is revoked, and 13 is expired")
    func numbers() async throws {
        #expect(try await events(12, Vectors.purchase("EXPIRED")).map(\.kind) == [.revoked])
        #expect(try await events(13, Vectors.purchase("EXPIRED")).map(\.kind) == [.expired])
    }

    @Test(
        "D4: holds, pauses and revocations take access",
        arguments: [(5, "ON_HOLD"), (10, "PAUSED"), (12, "EXPIRED"), (13, "EXPIRED")]
    )
    func whatTakesAccess(number: Int, state: String) async throws {
        // A revocation comes in the middle of a period, the others at its end.
        let later = Vectors.event + Vectors.hour
        let end = number == 12 ? Vectors.event + 30 * Vectors.day : later - Vectors.second
        let renewed = try await events(2, Vectors.purchase("ACTIVE").with { $0.items[0].expiry = end })
        #expect(try isGranted(renewed, at: later - 2 * Vectors.second))
        on(Self.token, Vectors.purchase(state).with { $0.items[0].expiry = later - Vectors.second }.json)
        let taken = try await outcome(Vectors.hint(number, at: later), at: later + 1000).get().events
        #expect(!taken.isEmpty)
        #expect(try !isGranted(renewed + taken, at: later + 2000))
        #expect(try !isGranted(taken + renewed, at: later + 2000))
    }

    @Test("D9: restarted is renewal switched on, and an end is taken as it is, however often it is said")
    func restarted() async throws {
        let on = try await events(7, Vectors.purchase("ACTIVE"))
        #expect(on.map(\.kind) == [.autoRenewEnabled])
        let extended = try await events(9, Vectors.purchase("ACTIVE"))
        let end = Vectors.event + 30 * Vectors.day
        let all = on + extended + extended + on
        #expect(try isGranted(all, at: end - 1))
        #expect(try !isGranted(all, at: end))
    }

    @Test("Y1: an event names its notification, the raw bytes by digest, and how it was proven")
    func audit() async throws {
        let event = try #require(try await events(2, Vectors.purchase("ACTIVE")).first)
        #expect(event.origin.notificationID == "1")
        #expect(event.origin.digest.utf8.count == 64)
        #expect(event.origin.type == "subscriptionNotification" && event.origin.subtype == "2")
        #expect(event.origin.evidence.method == .tls)
    }

    @Test("Y2: a chargeback that is under review can be seen")
    func chargebackReview() async throws {
        let review = Vectors.notification(
            "pendingRefundReviewNotification",
            ["version": "\"1.0\"", "pendingRefundToken": "\"r\"", "orderId": "\"GPA.1\"", "refundReason": "7"]
        )
        let events = try await outcome(review).get().events
        #expect(events.map(\.kind) == [.refundRequested])
        #expect(play.requests.isEmpty)
    }

    @Test("Y3: an answer that is no purchase is an error of ours to try again, and nothing is lost")
    func brokenAnswers() async throws {
        for body in ["", "{", "<html>", "[]", "null"] {
            on(Self.token, body)
            let failed = try await outcome(Vectors.hint(13))
            #expect(Acknowledgement(for: failed, provider: .google).decision == .retryLater)
        }
        // A purchase without its state is unreadable, today and tomorrow.
        on(Self.token, "{}")
        let unreadable = try await outcome(Vectors.hint(13))
        #expect(Acknowledgement(for: unreadable, provider: .google).decision == .acceptAndQuarantine)
    }

    @Test("C3: a state that is not known gives no access, and takes none", arguments: ["GRACE_PERIOD", "", "GIFTED"])
    func unknownStates(state: String) async throws {
        let renewed = try await events(2, Vectors.purchase("ACTIVE"))
        let unknown = try await events(2, Vectors.purchase(state), at: Vectors.event + 1000)
        #expect(unknown.map(\.kind) == [.unmapped])
        #expect(try !isGranted(unknown))
        #expect(try isGranted(renewed + unknown))
    }

    @Test("K1: octets that are no UTF-8 are malformed, and trap nothing")
    func encodings() async throws {
        for octets: [UInt8] in [[0xFF, 0xFE], Array("{\"packageName\":\"".utf8) + [0xC0, 0x80] + Array("\"}".utf8)] {
            let message = PubSubMessage(subscription: Google.subscription, messageID: "1", data: octets)
            let outcome = try await adapter().outcome(ofPulled: message, receivedAt: Play.date(Vectors.noon))
            guard case .failure(let error) = outcome else {
                Issue.record("accepted")
                continue
            }
            #expect(error.code == .malformed && error.isAuthentic)
        }
    }

    @Test("P3: the transaction is the order, and never the purchase token")
    func names() async throws {
        let event = try #require(try await events(2, Vectors.purchase("ACTIVE")).first)
        #expect(event.transaction == "\(Vectors.order)..1")
        let text = String(decoding: try CanonicalJSON.bytes(event), as: UTF8.self)
        #expect(!text.contains(Vectors.token))
    }
}
