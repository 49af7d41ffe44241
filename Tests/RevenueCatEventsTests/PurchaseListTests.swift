import Foundation
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import Testing
import WireJSON

@Suite("The purchases of RevenueCat's customers, for an import")
struct PurchaseListTests {
    private static let time = Date(timeIntervalSince1970: 1_767_607_200)

    /// Two pages of customers. The first has a subscription in each of three stores, the second something bought once.
    private static func transport() -> StubTransport {
        let transport = StubTransport()
        transport.on(.any) { request throws(HTTPTransportError) in
            let query = request.url.query ?? ""
            let body: String
            switch request.url.path {
            case "/v2/projects/proj1/customers":
                body =
                    query.contains("starting_after=u1")
                    ? ClientTests.list([#"{"id":"u2"}"#])
                    : ClientTests.list([#"{"id":"u1"}"#], next: "/v2/projects/proj1/customers?starting_after=u1")
            case "/v2/projects/proj1/customers/u1/subscriptions":
                body = ClientTests.list([
                    ClientTests.item(["store": "play_store", "store_subscription_identifier": "GPA.1-2-3-4..5"]),
                    ClientTests.item(["store_subscription_identifier": "2000000000000007"]),
                    ClientTests.item(["store": "stripe", "store_subscription_identifier": "si_1"]),
                    ClientTests.item(["store": "promotional", "store_subscription_identifier": .null, "id": "sub9"]),
                ])
            case "/v2/projects/proj1/customers/u2/purchases":
                body = ClientTests.list([PurchaseLookupTests.item(["store_purchase_identifier": "T1"])])
            default: body = ClientTests.list([])
            }
            return ClientTests.response(200, body)
        }
        return transport
    }

    @Test("name a purchase as its webhooks do, or say that they cannot", arguments: [false, true])
    func names(asksAppStore: Bool) async throws {
        let client = try ClientTests.client(Self.transport())
        let list = try #require(client.purchases(askingAppStore: asksAppStore))
        #expect(list.name == "revenuecat/proj1/customers")
        let first = try await list.page(at: nil, askedAt: Self.time)
        #expect(first.next == "u1")
        let apple = SubscriptionID(store: .appStore, environment: .production, id: "2000000000000007")
        let play = SubscriptionID(store: .playStore, environment: .production, id: "GPA.1-2-3-4")
        let unnamed = [
            SubscriptionID(store: .stripe, environment: .production, id: "si_1"),
            SubscriptionID(store: .promotional, environment: .production, id: "sub9"),
        ]
        #expect(first.questions.map(\.names) == (asksAppStore ? [[play], [apple]] : [[play]]))
        #expect(first.questions.allSatisfy { $0.isSubscription && $0.accounts.isEmpty })
        #expect(first.questions.map(\.namesOnlyTransaction) == (asksAppStore ? [false, true] : [false]))
        #expect(first.unnamed == (asksAppStore ? unnamed : [apple] + unnamed))
        let second = try await list.page(at: first.next, askedAt: Self.time)
        #expect(second.next == nil)
        #expect(second.questions.map { $0.names.map(\.id) } == [["T1"]])
        #expect(second.questions.allSatisfy { !$0.isSubscription && $0.accounts.isEmpty })
        // A purchase that Apple does not know is not taken under the name of one of its transactions.
        for question in first.questions where question.namesOnlyTransaction {
            #expect(try await client.ask(question) == .unknown)
        }
    }

    @Test(
        "are not there in the older version of the API, and a refused key is no empty list",
        arguments: [(401, DeliveryError.Code.denied), (403, .denied), (404, .malformed), (500, .unavailable)]
    )
    func refused(status: Int, code: DeliveryError.Code) async throws {
        #expect(try ClientTests.client(StubTransport(), .v1).purchases()?.name == nil)
        let transport = StubTransport()
        let body = #"{"object":"error","type":"no","message":"no","retryable":false}"#
        transport.on(.any, respond: ClientTests.response(status, body))
        let list = try #require(try ClientTests.client(transport).purchases())
        let error = await #expect(throws: DeliveryError.self) { try await list.page(at: nil, askedAt: Self.time) }
        #expect(error?.code == code)
    }
}
