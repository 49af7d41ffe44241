import Foundation
import HTTPTransport
import Normalizer
import NormalizerTesting
import Testing
import VectorGenerator

@testable import GooglePubSub

@Suite("A backfill from the list of voided purchases", .timeLimit(.minutes(5)))
struct VoidedPurchaseHistoryTests {
    typealias Vectors = GoogleVectors

    static let window = Google.receivedAt.addingTimeInterval(-86_400)..<Google.receivedAt
    static let subscriptionToken = "subscription-token"
    static let subscription = Vectors.purchase("EXPIRED")
    static let product = Vectors.Product(state: "CANCELLED")
    static let order = "\(Vectors.order)..0"

    static func row(_ token: String, _ order: String, source: Int = 0, reason: Int = 1) -> String {
        """
        {"purchaseToken":"\(token)","orderId":"\(order)","purchaseTimeMillis":"\(Vectors.event - 1000)",\
        "voidedTimeMillis":"\(Vectors.event)","voidedSource":\(source),"voidedReason":\(reason),\
        "kind":"androidpublisher#voidedPurchase"}
        """
    }

    static func response(_ status: Int, _ body: String) -> HTTPTransportResponse {
        HTTPTransportResponse(
            status: status,
            headers: ["Date": "Thu, 28 May 2026 20:26:40 GMT"],
            body: Array(body.utf8)
        )
    }

    let transport = StubTransport()

    private func history(pages: [String: [String]], looksUp: Bool = false, gone: [String] = []) throws
        -> VoidedPurchaseHistory
    {
        transport.on(.init(.get, path: ResolutionTests.root + "/purchases/voidedpurchases")) {
            (request) throws(HTTPTransportError) in
            let query = request.url.query ?? ""
            let type = query.contains("type=1") ? "1" : "0"
            let token = query.split(separator: "&").first { $0.hasPrefix("token=") }.flatMap { Int($0.dropFirst(6)) }
            let rows = pages[type] ?? []
            let index = token ?? 0
            guard rows.indices.contains(index) else { return Self.response(200, "{}") }
            let next =
                rows.indices.contains(index + 1) ? #","tokenPagination":{"nextPageToken":"\#(index + 1)"}"# : ""
            return Self.response(200, #"{"voidedPurchases":[\#(rows[index])]\#(next)}"#)
        }
        for (path, json) in [
            (ResolutionTests.tokens(Self.subscriptionToken), Self.subscription.json),
            ("/purchases/productsv2/tokens/\(Vectors.token)", Self.product.json),
        ] {
            transport.on(.init(.get, path: ResolutionTests.root + path), respond: Self.response(200, json))
        }
        for token in gone {
            let path = ResolutionTests.root + ResolutionTests.tokens(token)
            transport.on(.init(.get, path: path), respond: Self.response(410, "{}"))
        }
        transport.on(.any, respond: Self.response(404, "{}"))
        let api = try PlayDeveloperAPI(
            transport: transport,
            tokens: CountingTokens(),
            clock: TestClock(jumping: true)
        )
        var configuration = Google.configuration()
        configuration.orderLookup = .never
        configuration.looksUpVoidedPurchases = looksUp
        return try #require(try Google.adapter(configuration, api: api).voidedPurchases(of: Google.package))
    }

    private func read(_ history: VoidedPurchaseHistory) async throws -> [[NormalizedEvent]] {
        var events: [[NormalizedEvent]] = []
        var position: String?
        repeat {
            let page = try await history.page(of: Self.window, at: position)
            for entry in page.entries { events.append(try entry.outcome.get().events) }
            position = page.next
        } while position != nil
        return events
    }

    @Test("gives what the notifications give, each purchase once, whatever page it is on")
    func rows() async throws {
        let productRow = Self.row(Vectors.token, Vectors.productOrder)
        let subscriptionRow = Self.row(Self.subscriptionToken, Self.order)
        let history = try history(pages: ["0": [productRow], "1": [productRow, subscriptionRow]])
        let events = try await read(history)
        let product = try Play.mapProduct(
            Vectors.voidedHint(2, 1, order: Vectors.productOrder),
            Self.product
        )
        let subscription = try ResolutionMapping(
            resolved: Play.resolved(
                Vectors.voidedHint(1, 1, order: Self.order, token: Self.subscriptionToken),
                [Play.found(.subscription, for: Self.subscriptionToken, Self.subscription.json)]
            )
        ).normalization
        let ids: [[EventID]] = events.map { $0.map(\.id) }
        #expect(ids == [product.events.map(\.id), subscription.events.map(\.id)])
        let kinds: [LifecycleEvent.Kind?] = events.map { $0.first?.kind }
        #expect(kinds == [.refunded, .refunded])
        #expect(events.joined().allSatisfy { $0.receivedAt == Google.receivedAt })
        let queries = transport.requests.compactMap(\.url.query).filter { $0.contains("type=") }
        for query in queries {
            #expect(query.contains("includeQuantityBasedPartialRefund=true"))
            if !query.contains("token=") { #expect(query.contains("startTime=") && query.contains("endTime=")) }
        }
    }

    /// An app has 30 requests in 30 seconds for the list (https://developers.google.com/android-publisher/voided-purchases).
    @Test("asks for each page of the list once, and knows from it who voided a purchase", arguments: [true, false])
    func reasons(looksUp: Bool) async throws {
        let rows = [
            Self.row(Vectors.token, Vectors.productOrder, source: 1),
            Self.row(Self.subscriptionToken, Self.order, reason: 7),
        ]
        let events = try await read(try history(pages: ["0": [rows[0]], "1": [rows[1]]], looksUp: looksUp)).joined()
        let reasons = events.compactMap { event -> LifecycleEvent.Refund.Reason? in
            if case .refunded(let refund) = event.event { refund.reason } else { nil }
        }
        #expect(reasons == [.developer])
        #expect(events.contains { $0.kind == .chargeback })
        #expect(transport.requests.count { $0.url.path.hasSuffix("/voidedpurchases") } == 2)
    }

    /// Google answers a question about a one-time purchase's token with 410 where it is asked about a subscription.
    @Test("takes a one-time purchase for no subscription, also where Google calls its token gone")
    func goneAsSubscription() async throws {
        let productRow = Self.row(Vectors.token, Vectors.productOrder)
        let goneRow = Self.row("gone", Self.order)
        let history = try history(pages: ["1": [productRow, goneRow]], gone: [Vectors.token, "gone"])
        let events = try await read(history)
        let orders: [[TransactionID?]] = events.map { $0.map(\.transaction) }
        #expect(orders == [[TransactionID(Self.order)]])
    }

    @Test(
        "a position that has expired is refused as such, and other trouble is not",
        arguments: [
            ("subscriptions/7", 400, DeliveryError.Code.stale), ("subscriptions", 400, .stale), (nil, 400, .malformed),
            ("subscriptions/7", 503, .unavailable), ("subscriptions", 503, .unavailable),
            ("subscriptions/7", 403, .denied),
        ] as [(String?, Int, DeliveryError.Code)]
    )
    func trouble(position: String?, status: Int, code: DeliveryError.Code) async throws {
        let history = try history(pages: [:])
        transport.removeRules()
        transport.on(.any, respond: Self.response(status, "{}"))
        let error = await #expect(throws: DeliveryError.self) {
            try await history.page(of: Self.window, at: position)
        }
        #expect(error?.code == code)
    }
}
