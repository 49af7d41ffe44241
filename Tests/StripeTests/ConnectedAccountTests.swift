import FoundationEssentials
import HTTPTransport
import NormalizerTesting
import NotificationSimulator
import Normalizer
import Stripe
import Testing
import WireJSON

@Suite("Stripe, the history of a connected account")
struct ConnectedAccountTests {
    /// Stripe names the account in what an endpoint for connected accounts gets (https://docs.stripe.com/connect/webhooks).
    @Test(
        "the history of a connected account names its webhooks' lineages, whether or not its events say which it is",
        arguments: [nil, "acct_connected"]
    )
    func historyOfConnected(stated: String?) async throws {
        var subscription = StripeSubscription(status: "active", from: created, to: created + 30 * day)
        subscription.startDate = created
        func event(_ account: String?) -> [UInt8] {
            simulator(account: account).event(
                "customer.subscription.created",
                id: "evt_1",
                created: created,
                object: .object(subscription.object(.endive))
            ).bytes
        }
        let transport = StubTransport()
        let list = #"{"object":"list","has_more":false,"data":[\#(String(decoding: event(stated), as: UTF8.self))]}"#
        let answer = HTTPTransportResponse(
            status: 200,
            headers: ["Date": "Sun, 01 Mar 2026 12:00:05 GMT"],
            body: Array(list.utf8)
        )
        transport.on(.any, respond: answer)
        func entries(_ account: String, ownAccount: String?) async throws -> [NormalizedEvent] {
            let adapter = try adapter {
                $0.lookup = StripeAdapter.Lookup(transport: transport, apiKey: SecretBytes("rk_live_x"))
                $0.ownAccount = ownAccount
            }
            let history = try #require(adapter.history(of: account))
            let page = try await history.page(of: date(created - 1)..<date(created + 9), at: nil)
            return try page.entries.flatMap { try $0.outcome.get().events }
        }
        let webhook = try adapter().take(event("acct_connected")).events
        let listed = try await entries("acct_connected", ownAccount: nil)
        #expect(listed.map(\.id) == webhook.map(\.id) && listed.count == 1)
        #expect(listed.map(\.subscription) == webhook.map(\.subscription) && listed.map(\.app) == ["acct_connected"])
        #expect(listed.map(\.subscription?.id) == ["acct_connected/sub_1"])
        // The endpoint's own account is none of the connected ones.
        let own = try await entries("acct_connected", ownAccount: "acct_connected")
        #expect(own.map(\.subscription?.id) == ["sub_1"])
    }
}
