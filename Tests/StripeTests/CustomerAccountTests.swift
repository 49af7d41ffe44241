import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

/// Since 2025-12-15 a customer can be an account of Accounts v2, and the host may know no other name of it.
@Suite("Stripe, accounts as customers")
struct CustomerAccountTests {
    private static func reported(_ type: String, _ object: JSONText, of customer: String) -> [UInt8] {
        let text = object.text.replacing(
            "\"customer\":\"cus_1\"",
            with: "\"customer\":\(customer),\"customer_account\":\"acct_9\""
        )
        return simulator().event(type, id: "evt_1", created: created, object: .raw(text)).bytes
    }

    private static let checkout: JSONText = [
        "id": "cs_1", "object": "checkout.session", "mode": "subscription", "payment_status": "paid",
        "customer": "cus_1",
        "subscription": "sub_1", "client_reference_id": nil, "metadata": [:],
    ]

    private static let paid: JSONText = {
        var invoice = StripeInvoice(
            "in_1",
            reason: "subscription_cycle",
            lines: [.init(.basic, from: created, to: created + 30 * day)],
            created: created
        )
        invoice.paidAt = created
        return .object(invoice.object(.endive))
    }()

    static let reported: [(type: String, object: JSONText)] = [
        ("customer.subscription.created", .object(RareFlowTests.active(.basic).object(.endive))),
        ("invoice.paid", paid),
        ("checkout.session.completed", checkout),
    ]

    @Test("the account is a name of the customer", arguments: reported.indices)
    func names(index: Int) throws {
        let (type, object) = Self.reported[index]
        let both = try adapter().take(Self.reported(type, object, of: "\"cus_1\""))
        let account = Account("cus_1", .stripeCustomer, aliases: [.init("acct_9", .stripeCustomer)])
        #expect(both.events.map(\.account) == [account])
        #expect(both.events.allSatisfy { $0.facts.contains(.owner(account)) })
        let alone = try adapter().take(Self.reported(type, object, of: "null"))
        #expect(alone.events.map(\.account) == [Account("acct_9", .stripeCustomer)])
    }

    @Test("a customer that is deleted is known by its account as well")
    func deleted() throws {
        let customer: JSONText = ["id": "cus_1", "object": "customer", "customer_account": "acct_9"]
        let body = simulator().event("customer.deleted", id: "evt_1", created: created, object: customer).bytes
        let account = Account("cus_1", .stripeCustomer, aliases: [.init("acct_9", .stripeCustomer)])
        #expect(try adapter().take(body).events.map(\.account) == [account])
    }
}
