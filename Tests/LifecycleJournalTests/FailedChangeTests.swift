import Foundation
import HTTPTransport
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import Stripe
import Testing
import WireJSON

/// A customer changes a monthly plan, and the charge for that fails. Stripe's update of the subscription is lost, so that only the invoice
/// speaks, which is the same whether the change is made or waits (`pending_if_incomplete`).
@Suite("A journal asks Stripe what became of a change whose charge failed", .timeLimit(.minutes(5)))
struct FailedChangeTests {
    private static let start: Int64 = 1_800_000_000
    private static let end = start + 30 * 86_400
    private static let middle = start + 10 * 86_400
    private static let lineage = SubscriptionID(store: .stripe, environment: .production, id: "sub_1")
    private static let simulator = StripeSimulator(signingSecret: SecretBytes("whsec_failed_change"))
    private let transport = StubTransport()
    private let time = ManualTime(Date(timeIntervalSince1970: Double(start)))

    private static let month = StripeSubscription(status: "active", from: start, to: end, latestInvoice: "in_1")

    private func adapter() throws -> StripeAdapter {
        var configuration = StripeAdapter.Configuration(signingSecrets: [Self.simulator.signingSecret])
        configuration.lookup = .init(transport: transport, apiKey: SecretBytes("rk_journal"))
        configuration.policy.pastDue = .suspends
        return try StripeAdapter(configuration)
    }

    private static func invoice(
        _ id: String,
        _ type: String,
        for reason: String,
        lines: [StripeInvoice.Line],
        at time: Int64
    ) throws -> Delivery {
        var invoice = StripeInvoice(id, reason: reason, lines: lines, created: time)
        (invoice.status, invoice.paidAt) = type == "paid" ? ("paid", time) : ("open", nil)
        return try event("invoice.\(type)", invoice.object(.endive), at: time)
    }

    private static func event(_ type: String, _ object: JSONMembers, at time: Int64) throws -> Delivery {
        let body = simulator.event(type, id: "evt_\(type)_\(time)", created: time, object: .object(object)).bytes
        return try simulator.delivery(body, receivedAt: Date(timeIntervalSince1970: Double(time)))
    }

    /// Made, and not paid for; or still waiting.
    private static func answer(isMade: Bool) -> HTTPTransportResponse {
        var subscription = month
        subscription.latestInvoice = "in_2"
        if isMade {
            (subscription.status, subscription.items) = ("past_due", [.init("si_1", .pro)])
        } else {
            subscription.pendingUpdate = [
                "expires_at": .integer(middle + 23 * 3600),
                "subscription_items": [
                    [
                        "id": "si_1", "object": "subscription_item", "price": StripePrice.pro.price(), "quantity": 1,
                    ]
                ],
            ]
        }
        return HTTPTransportResponse(status: 200, body: subscription.object(.endive).bytes)
    }

    @Test("an hour later, once, and takes the access if the answer does", arguments: [true, false])
    func asks(isMade: Bool) async throws {
        let (time, adapter) = (time, try adapter())
        let journal = Journal(MemoryJournal(), clock: TestClock(jumping: true), now: { time.now })
        func set(_ seconds: Int64) { time.set(Date(timeIntervalSince1970: Double(seconds))) }
        func hasAccess() async throws -> Bool {
            try await journal.state(of: Self.lineage)?.access(at: time.now).isGranted ?? false
        }
        let rest = [(StripePrice.basic, Int64(-666)), (.pro, 1333)].map {
            StripeInvoice.Line($0, amount: $1, from: Self.middle, to: Self.end, isProration: true)
        }
        for (seconds, delivery) in [
            (Self.start, try Self.event("customer.subscription.created", Self.month.object(.endive), at: Self.start)),
            (
                Self.start,
                try Self.invoice(
                    "in_1",
                    "paid",
                    for: "subscription_create",
                    lines: [.init(.basic, from: Self.start, to: Self.end)],
                    at: Self.start
                )
            ),
            (
                Self.middle,
                try Self.invoice("in_2", "payment_failed", for: "subscription_update", lines: rest, at: Self.middle)
            ),
        ] {
            set(seconds)
            #expect(await journal.receive(delivery, with: adapter).status == 200)
        }
        transport.on(.init(path: "/v1/subscriptions/sub_1"), respond: Self.answer(isMade: isMade))
        let none = JSONMembers([("object", "list"), ("has_more", false), ("data", [])])
        transport.on(.init(path: "/v1/invoices"), respond: HTTPTransportResponse(status: 200, body: none.bytes))
        set(Self.middle + 3599)
        #expect(try await journal.reconcile(with: [adapter]).asked == 0)
        #expect(try await hasAccess())
        set(Self.middle + 3602)
        #expect(try await journal.questions(at: time.now).map(\.kind) == ["change_failed"])
        let report = try await journal.reconcile(with: [adapter])
        #expect((report.asked, report.settled, report.open) == (1, 1, 0))
        #expect(try await hasAccess() == !isMade)
        set(Self.middle + 2 * 3600)
        #expect(try await journal.reconcile(with: [adapter]).asked == 0)
    }
}
