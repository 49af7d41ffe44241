import Foundation
import HTTPTransport
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("Purchases that Google Play wants acknowledged")
struct AcknowledgementTests {
    typealias Vectors = GoogleVectors

    let transport = StubTransport()
    static let lineage = SubscriptionID(store: .playStore, environment: .production, id: "0a1b")

    private static func owed(_ kind: GooglePurchase.Kind, app: String = Google.package) -> OwedAnswer {
        let event = NormalizedEvent(
            id: .notified(lineage, by: .google, notification: "n"),
            event: .acknowledgementRequired(.init(deadline: Google.receivedAt)),
            provider: .google,
            store: .playStore,
            environment: .production,
            app: app,
            subscription: lineage,
            occurredAt: Google.receivedAt,
            effectiveAt: Google.receivedAt,
            assertedAt: Google.receivedAt,
            receivedAt: Google.receivedAt,
            facts: [],
            origin: .madeUp()
        )
        let handle = PurchaseHandle(lineage, app: app, kind: kind.rawValue, token: "t")
        return OwedAnswer(event, handle: handle)
    }

    private func answerer(
        _ purchase: HTTPTransportResponse,
        acknowledged: HTTPTransportResponse = HTTPTransportResponse(status: 204),
        account: Account? = nil
    ) throws -> PlayAcknowledgements {
        transport.on(.init(.post), respond: acknowledged)
        transport.on(.any, respond: purchase)
        let api = try PlayDeveloperAPI(
            transport: transport,
            tokens: CountingTokens(),
            clock: TestClock(jumping: true)
        )
        return try #require(try Google.adapter(api: api).acknowledgements { _ in account })
    }

    private static func found(_ json: String) -> HTTPTransportResponse {
        HTTPTransportResponse(status: 200, body: Array(json.utf8))
    }

    private static func subscription(
        _ acknowledgement: String,
        state: String = "ACTIVE",
        products: [String] = ["p"],
        planned: [String] = [],
        isOutOfApp: Bool = false
    ) -> HTTPTransportResponse {
        let items =
            products.map { #"{"productId":"\#($0)","expiryTime":"2026-12-31T00:00:00Z"}"# }
            + planned.map { #"{"productId":"\#($0)"}"# }
        return found(
            """
            {"subscriptionState":"SUBSCRIPTION_STATE_\(state)",\
            "acknowledgementState":"ACKNOWLEDGEMENT_STATE_\(acknowledgement)",\
            \(isOutOfApp ? #""outOfAppPurchaseContext":{"expiredPurchaseToken":"old"},"# : "")\
            "lineItems":[\(items.joined(separator: ","))]}
            """
        )
    }

    private var posted: [String] {
        transport.requests.filter { $0.method == .post }.map {
            String($0.url.path.dropFirst(ResolutionTests.root.count))
        }
    }

    @Test(
        "by the path of what was bought",
        arguments: [
            (["p"], [], "/purchases/subscriptions/p/tokens/t:acknowledge"),
            (["p", "add-on"], [], "/purchases/subscriptions//tokens/t:acknowledge"),
            // No add-ons, but a change for the end of the period: to another product, and to another base plan.
            (["p"], ["q"], "/purchases/subscriptions/p/tokens/t:acknowledge"),
            (["p", "p"], [], "/purchases/subscriptions/p/tokens/t:acknowledge"),
        ]
    )
    func subscriptions(products: [String], planned: [String], path: String) async throws {
        let answerer = try answerer(Self.subscription("PENDING", products: products, planned: planned))
        #expect(answerer.isOwed(Self.owed(.subscription)))
        try await answerer.answer(Self.owed(.subscription))
        #expect(posted == [path])
    }

    /// "This field can only be set for resubscription purchases"
    /// (https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptions/acknowledge#ExternalAccountIds).
    @Test("with the account where Google takes it, and without it elsewhere", arguments: [true, false])
    func account(isOutOfApp: Bool) async throws {
        let purchase = Self.subscription("PENDING", isOutOfApp: isOutOfApp)
        try await answerer(purchase, account: Account("ada", .obfuscatedAccountID)).answer(Self.owed(.subscription))
        let bodies = transport.requests.filter { $0.method == .post }.map { String(decoding: $0.body, as: UTF8.self) }
        #expect(bodies == [isOutOfApp ? #"{"externalAccountIds":{"obfuscatedAccountId":"ada"}}"# : "{}"])
    }

    @Test(
        "an account that cannot be written keeps no purchase from being acknowledged",
        arguments: [Account("u", .appUserID), Account(String(repeating: "x", count: 65), .obfuscatedAccountID)]
    )
    func unwritableAccount(account: Account) async throws {
        let answerer = try answerer(Self.subscription("PENDING", isOutOfApp: true), account: account)
        try await answerer.answer(Self.owed(.subscription))
        #expect(posted.count == 1)
    }

    @Test("nor does one that Google refuses")
    func refusedAccount() async throws {
        let refused = HTTPTransportResponse(status: 400)
        transport.on(
            .init(where: { $0.method == .post && String(decoding: $0.body, as: UTF8.self).contains("ada") }),
            respond: refused
        )
        let purchase = Self.subscription("PENDING", isOutOfApp: true)
        try await answerer(purchase, account: Account("ada", .obfuscatedAccountID)).answer(Self.owed(.subscription))
        #expect(posted.count == 2)
    }

    @Test("a one-time product is acknowledged by its own path, too")
    func products() async throws {
        let answerer = try answerer(Self.found(Vectors.Product(acknowledgement: "PENDING").json))
        try await answerer.answer(Self.owed(.product))
        #expect(posted == ["/purchases/products/coins_100/tokens/t:acknowledge"])
    }

    @Test("not twice, and not where nothing is left to acknowledge")
    func done() async throws {
        for response in [
            Self.subscription("ACKNOWLEDGED"), HTTPTransportResponse(status: 410),
            Self.subscription("PENDING", state: "EXPIRED"),
            Self.subscription("PENDING", state: "PENDING_PURCHASE_CANCELED"),
        ] {
            transport.removeRules()
            try await answerer(response).answer(Self.owed(.subscription))
        }
        transport.removeRules()
        let canceled = Vectors.Product(state: "CANCELLED", acknowledgement: "PENDING")
        try await answerer(Self.found(canceled.json)).answer(Self.owed(.product))
        #expect(posted.isEmpty)
    }

    @Test(
        "later where Google cannot be asked, and never where it refuses",
        arguments: [(503, DeliveryError.Code.unavailable), (403, .denied), (400, .malformed)]
    )
    func trouble(status: Int, code: DeliveryError.Code) async throws {
        for (purchase, acknowledged) in [(status, 204), (200, status)] {
            transport.removeRules()
            let answerer = try answerer(
                purchase == 200 ? Self.subscription("PENDING") : HTTPTransportResponse(status: purchase),
                acknowledged: HTTPTransportResponse(status: acknowledged)
            )
            let error = await #expect(throws: DeliveryError.self) {
                try await answerer.answer(Self.owed(.subscription))
            }
            #expect(error?.code == code)
        }
    }

    @Test("what Google does not show for its state is not taken for done: it may be taken back")
    func refusedForItsState() async throws {
        let body = #"{"error":{"code":400,"status":"FAILED_PRECONDITION"}}"#
        let answerer = try answerer(HTTPTransportResponse(status: 400, body: Array(body.utf8)))
        for kind in [GooglePurchase.Kind.subscription, .product] {
            let error = await #expect(throws: DeliveryError.self) { try await answerer.answer(Self.owed(kind)) }
            #expect(error?.code == .malformed)
        }
    }

    @Test("purchases of another app are not owed by this adapter")
    func business() throws {
        let answerer = try answerer(HTTPTransportResponse(status: 410))
        for hasToken in [true, false] {
            var owed = Self.owed(.subscription, app: "com.example.other")
            if !hasToken { owed.handle = nil }
            #expect(!answerer.isOwed(owed))
        }
    }

    @Test("one whose token cannot be read waits for the sealing key, and is not taken for done")
    func noToken() async throws {
        let answerer = try answerer(Self.subscription("PENDING"))
        var owed = Self.owed(.subscription)
        owed.handle = nil
        #expect(answerer.isOwed(owed))
        let error = await #expect(throws: DeliveryError.self) { try await answerer.answer(owed) }
        #expect(error?.code == .denied)
        #expect(transport.requests.isEmpty)
    }
}
