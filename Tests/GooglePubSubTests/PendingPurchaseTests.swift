import Foundation
import HTTPTransport
import Normalizer
import NormalizerTesting
import Testing

@testable import GooglePubSub

@Suite("Payments that took their time", .timeLimit(.minutes(5)))
struct PendingPurchaseTests {
    let clock = TestClock(jumping: true)
    let transport = StubTransport()

    @Test("a purchase that is paid for is asked for again while Google Play still says that it is pending")
    func answerLags() async throws {
        let api = try PlayDeveloperAPI(transport: transport, tokens: CountingTokens(), clock: clock)
        let adapter = try Google.adapter(Google.configuration(), api: api)
        let path = ResolutionTests.root + "/purchases/productsv2/tokens/t"
        for (state, times) in [("PENDING", 1), ("PURCHASED", Int.max)] {
            let body =
                #"{"purchaseStateContext":{"purchaseState":"\#(state)"},"productLineItem":[{"productId":"p"}]}"#
            transport.on(.init(.get, path: path), times: times) { (_) throws(HTTPTransportError) in
                HTTPTransportResponse(status: 200, body: Array(body.utf8))
            }
        }
        let notification = """
            {"version":"1.0","packageName":"\(Google.package)","eventTimeMillis":"\(Google.now * 1000 - 1000)",\
            "oneTimeProductNotification":{"version":"1.0","notificationType":1,"purchaseToken":"t","sku":"p"}}
            """
        let message = PubSubMessage(
            subscription: Google.subscription,
            messageID: "1",
            data: Array(notification.utf8)
        )
        let resolved = try await adapter.resolve(adapter.receive(pulled: message, receivedAt: Google.receivedAt))
        #expect(try adapter.normalize(resolved).kinds == ["one_time_purchased"])
    }
}
