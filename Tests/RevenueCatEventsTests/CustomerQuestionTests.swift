import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import RevenueCatEvents
import Testing

@testable import Normalizer

private let t0: Int64 = 1_767_225_600_000
private let t1: Int64 = 1_769_904_000_000
private let t2: Int64 = 1_772_323_200_000

@Suite("Purchases that RevenueCat is asked about")
struct CustomerQuestionTests {
    static let askedAt = Date(millisecondsSince1970: t1 + 7_200_000)

    static func question(_ lineage: SubscriptionID = ClientTests.lineage) -> LineageQuestion {
        var question = LineageQuestion(lineage, askedAt: askedAt)
        question.accounts = [.init("u1", .appUserID), .init("cus_1", .stripeCustomer)]
        question.product = "pro_m"
        return question
    }

    /// The access that a state has from the answer alone.
    static func hasAccess(_ answer: LineageAnswer) -> Bool? {
        guard case .stated(let results) = answer else { return nil }
        var ledger = AccountLedger()
        for result in results { _ = ledger.apply(result) }
        return ledger[ClientTests.lineage]?.access(at: askedAt).isGranted
    }

    @Test("by the transaction in the newer version, of several subscriptions the one that began last")
    func transactions() async throws {
        let transport = StubTransport()
        let renewed = ClientTests.item([
            "current_period_starts_at": .integer(t1), "current_period_ends_at": .integer(t2), "ends_at": .integer(t2),
        ])
        transport.on(.any, respond: ClientTests.response(200, ClientTests.list([renewed, ClientTests.item()])))
        let client = try ClientTests.client(transport)
        #expect(Self.hasAccess(try await client.ask(Self.question())) == true)
        #expect(transport.requests.map(\.url.query) == ["store_subscription_identifier=O1"])
    }

    @Test("by the customer in the older version, and by the product")
    func customers() async throws {
        let entry = ClientTests.entry(
            ["purchase_date": "2026-02-01T00:00:00Z", "expires_date": "2026-03-01T00:00:00Z"],
            product: "pro_m",
            at: t1 + 7_200_000
        )
        for (product, access) in [("pro_m", true), ("other", nil)] {
            let transport = StubTransport()
            transport.on(.any, respond: ClientTests.response(200, entry))
            var question = Self.question()
            question.product = product
            #expect(Self.hasAccess(try await ClientTests.client(transport, .v1).ask(question)) == access)
            #expect(transport.requests.map(\.url.path) == ["/v1/subscribers/u1"])
        }
    }

    @Test("are unknown where RevenueCat knows none, in another environment, or by a name that only a store knows")
    func unknown() async throws {
        let elsewhere = ClientTests.item(["environment": "sandbox"])
        for list in [ClientTests.list([]), ClientTests.list([elsewhere])] {
            let transport = StubTransport()
            transport.on(.any, respond: ClientTests.response(200, list))
            #expect(try await ClientTests.client(transport).ask(Self.question()) == .unknown)
        }
        let transport = StubTransport()
        let fingerprint = SubscriptionID(store: .playStore, environment: .production, id: "0a1b2c")
        #expect(try await ClientTests.client(transport).ask(Self.question(fingerprint)) == .unknown)
        #expect(transport.requests.isEmpty)
    }

    @Test("say nothing where RevenueCat cannot be asked")
    func trouble() async throws {
        let transport = StubTransport()
        transport.on(.any, respond: ClientTests.response(503, "{}"))
        let client = try ClientTests.client(transport)
        let error = await #expect(throws: DeliveryError.self) { try await client.ask(Self.question()) }
        #expect(error?.code == .unavailable)
    }
}
