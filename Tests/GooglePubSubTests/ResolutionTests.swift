import Foundation
import GooglePubSub
import HTTPTransport
import Normalizer
import NormalizerTesting
import Synchronization
import Testing

/// Gives a token until there is none any more, which waiting does not mend.
struct EndingTokens: AccessTokenSource {
    let hasEnded: @Sendable () -> Bool

    func accessToken() throws(AccessTokenError) -> SecretBytes {
        guard !hasEnded() else { throw AccessTokenError("invalid_grant", isRetryable: false) }
        return SecretBytes("token")
    }
}

/// Says once that something has happened.
private final class Flag: Sendable {
    private let state = Mutex(false)
    var isUp: Bool { state.withLock { $0 } }
    func raise() { state.withLock { $0 = true } }
}

@Suite(.timeLimit(.minutes(5)))
struct ResolutionTests {
    let clock = TestClock(jumping: true)
    let transport = StubTransport()

    static let root = "/androidpublisher/v3/applications/com.example.app"

    func adapter(
        _ change: (inout GooglePlayAdapter.Configuration) -> Void = { _ in }
    ) throws -> GooglePlayAdapter {
        var configuration = Google.configuration()
        change(&configuration)
        let api = try PlayDeveloperAPI(transport: transport, tokens: CountingTokens(), clock: clock)
        return try Google.adapter(configuration, api: api)
    }

    func on(_ path: String, _ responses: HTTPTransportResponse...) {
        for (index, response) in responses.enumerated() {
            transport.on(.init(.get, path: Self.root + path), times: index == responses.count - 1 ? .max : 1) {
                (_) throws(HTTPTransportError) in response
            }
        }
    }

    static func subscription(_ state: String, linked: String? = nil, _ more: String = "") -> HTTPTransportResponse {
        let link = linked.map { #","linkedPurchaseToken":"\#($0)""# } ?? ""
        let items =
            more.contains("lineItems")
            ? "" : #","lineItems":[{"productId":"p","expiryTime":"2026-12-31T00:00:00Z"}]"#
        return HTTPTransportResponse(
            status: 200,
            body: Array(#"{"subscriptionState":"SUBSCRIPTION_STATE_\#(state)"\#(link)\#(items)\#(more)}"#.utf8)
        )
    }

    func resolve(
        _ notification: String,
        _ adapter: GooglePlayAdapter
    ) async throws(DeliveryError) -> GoogleResolution {
        let message = PubSubMessage(subscription: Google.subscription, messageID: "1", data: Array(notification.utf8))
        return try await adapter.resolve(adapter.receive(pulled: message, receivedAt: Google.receivedAt)).value
    }

    func refusal(_ notification: String, _ adapter: GooglePlayAdapter) async -> DeliveryError? {
        do throws(DeliveryError) {
            _ = try await resolve(notification, adapter)
            return nil
        } catch {
            #expect(error.isAuthentic)
            #expect(!error.description.contains("purchase-token"))
            return error
        }
    }

    static func tokens(_ path: String) -> String { "/purchases/subscriptionsv2/tokens/\(path)" }

    @Test func asksForThePurchaseAndItsPredecessors() async throws {
        on(Self.tokens("a"), Self.subscription("ACTIVE", linked: "b"))
        on(Self.tokens("b"), Self.subscription("EXPIRED", linked: "c"))
        on(Self.tokens("c"), HTTPTransportResponse(status: 410))
        let resolution = try await resolve(Google.notification(token: "a"), adapter())
        #expect(resolution.lookups.map(\.key) == ["a", "b", "c"])
        #expect(resolution.lookups.map(\.answer.outcome) == [.found, .found, .gone])
        #expect(resolution.predecessors.map(\.key) == ["b", "c"])
        #expect(resolution.subscription()?.body == Self.subscription("ACTIVE", linked: "b").body)
        #expect(transport.requests.count == 3)
    }

    @Test func endsWhereTheChainBitesItsTail() async throws {
        on(Self.tokens("a"), Self.subscription("ACTIVE", linked: "b"))
        on(Self.tokens("b"), Self.subscription("EXPIRED", linked: "c"))
        on(Self.tokens("c"), Self.subscription("EXPIRED", linked: "a"))
        #expect(try await resolve(Google.notification(token: "a"), adapter()).lookups.map(\.key) == ["a", "b", "c"])
        transport.removeRules()
        on(Self.tokens("a"), Self.subscription("ACTIVE", linked: "a"))
        #expect(try await resolve(Google.notification(token: "a"), adapter()).lookups.map(\.key) == ["a"])
    }

    @Test(arguments: [0, 1, 10])
    func walksOnlySoFar(limit: Int) async throws {
        for number in 0..<100 {
            on(Self.tokens("t\(number)"), Self.subscription("EXPIRED", linked: "t\(number + 1)"))
        }
        let adapter = try adapter { $0.maximumPredecessors = limit }
        #expect(try await resolve(Google.notification(type: 13, token: "t0"), adapter).predecessors.count == limit)
    }

    @Test func hostilePredecessorsAreNotAskedFor() async throws {
        for linked in ["..", "", "a\\r\\nb", "a\\u0000", String(repeating: "x", count: 3000)] {
            transport.removeRules()
            on(Self.tokens("a"), Self.subscription("ACTIVE", linked: linked))
            let before = transport.requests.count
            let resolution = try await resolve(Google.notification(token: "a"), adapter())
            #expect(transport.requests.count == before + 1)
            #expect(resolution.predecessors.allSatisfy { $0.answer.outcome == .invalid })
        }
    }

    /// Whatever we cannot find out is not an answer.
    @Test(
        arguments: [
            (HTTPTransportResponse(status: 500), .unavailable), (HTTPTransportResponse(status: 429), .unavailable),
            (HTTPTransportResponse(status: 200), .unavailable), (HTTPTransportResponse(status: 302), .unavailable),
            (HTTPTransportResponse(status: 200, body: Array("<html>".utf8)), .unavailable),
            (PlayDeveloperAPITests.error(401, reason: "permissionDenied", domain: "androidpublisher"), .unavailable),
            (PlayDeveloperAPITests.error(403, reason: "accessNotConfigured"), .unavailable),
            (PlayDeveloperAPITests.error(404, reason: "applicationNotFound"), .unavailable),
        ] as [(HTTPTransportResponse, DeliveryError.Code)]
    )
    func ownFailureIsNoAnswer(response: HTTPTransportResponse, code: DeliveryError.Code) async throws {
        on(Self.tokens("purchase-token-secret"), response)
        for type in [2, 3, 12, 13] {
            let error = try #require(await refusal(Google.notification(type: type), adapter()))
            #expect(error.code == code)
            #expect(GooglePubSubStatus.of(error) == 503)
        }
    }

    @Test func accessTokenThatCannotBeSentIsNoAnswer() async throws {
        let tokens = FixedAccessToken(SecretBytes("access-token\n"))
        let api = try PlayDeveloperAPI(transport: transport, tokens: tokens, clock: clock)
        let error = try #require(await refusal(Google.notification(), Google.adapter(api: api)))
        #expect(error.code == .unavailable)
        #expect(GooglePubSubStatus.of(error) == 503)
    }

    @Test func failureOnAPredecessorIsNoAnswerEither() async throws {
        on(Self.tokens("a"), Self.subscription("ACTIVE", linked: "b"))
        on(Self.tokens("b"), HTTPTransportResponse(status: 503))
        #expect(try await refusal(Google.notification(token: "a"), adapter())?.code == .unavailable)
    }

    @Test func missingRightsAreWaitedForAndThenKept() async throws {
        on(Self.tokens("purchase-token-secret"), PlayDeveloperAPITests.error(403, reason: "accessNotConfigured"))
        let day: Int64 = 86_400_000
        let recent = Google.notification(at: Google.now * 1000 - 3 * day)
        #expect(try await refusal(recent, adapter())?.code == .unavailable)
        let old = Google.notification(at: Google.now * 1000 - 3 * day - 1)
        let error = try #require(await refusal(old, adapter()))
        #expect(error.code == .denied)
        #expect(Acknowledgement(for: .failure(error), provider: .google).decision == .acceptAndQuarantine)
        let future = Google.notification(at: Google.now * 1000 + 3 * day + 1)
        #expect(try await refusal(future, adapter())?.code == .denied)
    }

    /// One refused token, while a worker works through what waited for four days, is no want of rights.
    @Test(arguments: ["authError", "unusable"])
    func whatIsOldWaitsForAnAccessToken(trouble: String) async throws {
        on(Self.tokens("purchase-token-secret"), PlayDeveloperAPITests.error(401, reason: "authError"))
        let tokens = FixedAccessToken(SecretBytes(trouble == "unusable" ? "access-token\n" : "access-token"))
        let api = try PlayDeveloperAPI(transport: transport, tokens: tokens, clock: clock)
        let old = Google.notification(at: Google.now * 1000 - 4 * 86_400_000)
        #expect(try await refusal(old, Google.adapter(api: api))?.code == .unavailable)
    }

    @Test(arguments: [(404, PlayAnswer.Outcome.notFound), (410, .gone), (400, .invalid)])
    func factsAboutGooglesMemoryAreKept(status: Int, outcome: PlayAnswer.Outcome) async throws {
        on(Self.tokens("purchase-token-secret"), HTTPTransportResponse(status: status))
        let resolution = try await resolve(Google.notification(type: 13), adapter())
        #expect(resolution.subscription()?.outcome == outcome)
        #expect(transport.requests.count == 1)
    }

    @Test func waitsForANewPurchase() async throws {
        let fresh = Google.notification(token: "a", at: Google.now * 1000 - 1000)
        on(
            Self.tokens("a"),
            HTTPTransportResponse(status: 404),
            HTTPTransportResponse(status: 404),
            Self.subscription("ACTIVE")
        )
        #expect(try await resolve(fresh, adapter()).subscription()?.outcome == .found)
        #expect(clock.sleeps == [.seconds(2), .seconds(2)])
        transport.removeRules()
        on(Self.tokens("a"), HTTPTransportResponse(status: 404))
        #expect(try await refusal(fresh, adapter())?.code == .unavailable)
        #expect(transport.requests.count == 6)
    }

    @Test(arguments: [(3, "ACTIVE"), (12, "ACTIVE"), (13, "CANCELED"), (2, "PENDING"), (5, "ACTIVE"), (4, "PENDING")])
    func answersThatLagBehindDoNotCount(type: Int, state: String) async throws {
        on(Self.tokens("a"), Self.subscription(state))
        let fresh = Google.notification(type: type, token: "a", at: Google.now * 1000 - 59_999)
        #expect(try await refusal(fresh, adapter())?.code == .unavailable)
        #expect(transport.requests.count == 3)
        #expect(clock.sleeps == [.seconds(2), .seconds(2)])
        let old = Google.notification(type: type, token: "a", at: Google.now * 1000 - 60_000)
        #expect(try await resolve(old, adapter()).subscription()?.outcome == .found)
        #expect(transport.requests.count == 4)
    }

    @Test(arguments: [
        (3, "CANCELED"), (12, "EXPIRED"), (13, "EXPIRED"), (20, "PENDING_PURCHASE_CANCELED"),
        (4, "PENDING_PURCHASE_CANCELED"), (4, "ACTIVE"), (2, "ACTIVE"), (1, "ACTIVE"), (6, "ON_HOLD"), (99, "ACTIVE"),
        (3, "WORMHOLE"),
    ])
    func answersThatShowTheEventCountAtOnce(type: Int, state: String) async throws {
        on(Self.tokens("a"), Self.subscription(state))
        let fresh = Google.notification(type: type, token: "a", at: Google.now * 1000 - 1000)
        #expect(try await resolve(fresh, adapter()).subscription()?.outcome == .found)
        #expect(transport.requests.count == 1)
    }

    /// An event of the future would be new until then.
    @Test(arguments: [(59_999, true), (60_000, false)] as [(Int64, Bool)])
    func theFutureIsNotNewForEver(ahead: Int64, isNew: Bool) async throws {
        on(Self.tokens("a"), Self.subscription("ACTIVE"))
        let early = Google.notification(type: 13, token: "a", at: Google.now * 1000 + ahead)
        #expect(try await refusal(early, adapter())?.code == (isNew ? .unavailable : nil))
    }

    @Test func settledAnswerCounts() async throws {
        on(Self.tokens("a"), Self.subscription("ACTIVE"), Self.subscription("EXPIRED"))
        let fresh = Google.notification(type: 13, token: "a", at: Google.now * 1000)
        #expect(try await resolve(fresh, adapter()).subscription()?.body == Self.subscription("EXPIRED").body)
    }

    /// The number 4 comes when a slow payment begins, and again when the money is there: then a server that says PENDING
    /// lags behind, and nothing else would ever tell of the purchase.
    @Test func paymentThatHasArrivedIsNotTakenForOneThatIsOutstanding() async throws {
        on(Self.tokens("a"), Self.subscription("PENDING"), Self.subscription("PENDING"), Self.subscription("ACTIVE"))
        let paid = Google.notification(type: 4, token: "a", at: Google.now * 1000 - 1000)
        #expect(try await resolve(paid, adapter()).subscription()?.body == Self.subscription("ACTIVE").body)
        transport.removeRules()
        on(Self.tokens("a"), Self.subscription("PENDING"))
        #expect(try await refusal(paid, adapter())?.code == .unavailable)
        let outstanding = Google.notification(type: 4, token: "a", at: Google.now * 1000 - 60_000)
        #expect(try await resolve(outstanding, adapter()).subscription()?.outcome == .found)
    }

    /// A message that waited in our own queue is as old as Google says, not as new as its receipt.
    @Test func windowIsMeasuredByGooglesTime() async throws {
        var late = Self.subscription("ACTIVE")
        late.headers = ["Date": "Thu, 28 May 2026 20:30:40 GMT"]
        on(Self.tokens("a"), late)
        let fresh = Google.notification(type: 13, token: "a", at: Google.now * 1000)
        #expect(try await resolve(fresh, adapter()).subscription()?.outcome == .found)
        #expect(transport.requests.count == 1)
    }

    /// A purchase of a second ago that a server does not know yet, received by a clock that is two minutes ahead.
    @Test func clockOfOursThatIsAheadEndsNoWindow() async throws {
        on(
            Self.tokens("a"),
            HTTPTransportResponse(status: 404, headers: ["Date": "Thu, 28 May 2026 20:24:41 GMT"])
        )
        let fresh = Google.notification(token: "a", at: Google.now * 1000 - 120_000)
        #expect(try await refusal(fresh, adapter())?.code == .unavailable)
        #expect(transport.requests.count == 3)
    }

    @Test(arguments: [401, 403])
    func rightsToSeeAPredecessorAreNotNeeded(status: Int) async throws {
        on(Self.tokens("a"), Self.subscription("ACTIVE", linked: "b"))
        on(
            Self.tokens("b"),
            PlayDeveloperAPITests.error(status, reason: "permissionDenied", domain: "androidpublisher")
        )
        let resolution = try await resolve(Google.notification(token: "a"), adapter())
        #expect(resolution.lookups.map(\.answer.outcome) == [.found, .denied])
    }

    /// The access token ended between two questions.
    @Test(
        arguments: [tokens("b"), "/orders/GPA.1..0"],
        [(true, "authError"), (true, nil), (false, nil)] as [(Bool, String?)]
    )
    func accessTokenThatEndedSaysNothingOfRights(path: String, ending: (Bool, String?)) async throws {
        let (isRefused, reason) = ending
        on(path, PlayDeveloperAPITests.error(401, reason: reason))
        on(
            Self.tokens("a"),
            Self.subscription("ACTIVE", linked: "b", #","lineItems":[{"latestSuccessfulOrderId":"GPA.1..0"}]"#)
        )
        on(Self.tokens("b"), Self.subscription("EXPIRED"))
        on("/orders/GPA.1..0", PlayDeveloperAPITests.found)
        let transport = transport
        let tokens = EndingTokens { !isRefused && transport.requests.count == (path == Self.tokens("b") ? 1 : 2) }
        let api = try PlayDeveloperAPI(transport: transport, tokens: tokens, clock: clock)
        var configuration = Google.configuration()
        configuration.orderLookup = .charged
        let error = await refusal(Google.notification(token: "a"), try Google.adapter(configuration, api: api))
        #expect(error?.code == .unavailable)
    }

    /// However much has been found out by then, a part of it is no answer.
    @Test func cancellationAtAnyQuestionIsNoAnswer() async throws {
        let questions = [Self.tokens("a"), Self.tokens("b"), Self.tokens("c"), "/orders/GPA.1..0"]
        on(
            questions[0],
            Self.subscription("ACTIVE", linked: "b", #","lineItems":[{"latestSuccessfulOrderId":"GPA.1..0"}]"#)
        )
        on(questions[1], Self.subscription("EXPIRED", linked: "c"))
        on(questions[2], HTTPTransportResponse(status: 410))
        on(questions[3], PlayDeveloperAPITests.found)
        let charged = try adapter { $0.orderLookup = .charged }
        #expect(try await resolve(Google.notification(token: "a"), charged).lookups.count == 4)
        for question in questions {
            let transport = StubTransport()
            let asked = Flag()
            transport.on(.init(.get, path: Self.root + question)) { (_) throws(HTTPTransportError) in
                asked.raise()
                while !Task.isCancelled { await Task.yield() }
                throw HTTPTransportError(.canceled, "canceled")
            }
            let others = self.transport
            transport.on(.any) { (request) throws(HTTPTransportError) in try await others.send(request) }
            let api = try PlayDeveloperAPI(transport: transport, tokens: CountingTokens(), clock: clock)
            var configuration = Google.configuration()
            configuration.orderLookup = .charged
            let adapter = try Google.adapter(configuration, api: api)
            let task = Task { await refusal(Google.notification(token: "a"), adapter) }
            while !asked.isUp { await Task.yield() }
            task.cancel()
            #expect(await task.value?.code == .unavailable)
        }
    }

    static func voided(_ productType: Int, at milliseconds: Int64 = Google.now * 1000 - 90_000) -> String {
        """
        {"version":"1.0","packageName":"\(Google.package)","eventTimeMillis":"\(milliseconds)",\
        "voidedPurchaseNotification":{"purchaseToken":"a","orderId":"GPA.1","productType":\(productType),"refundType":1}}
        """
    }

    static func product(_ members: String = #""productLineItem":[{"productId":"p"}]"#) -> HTTPTransportResponse {
        let body = #"{"purchaseStateContext":{"purchaseState":"PURCHASED"},"orderId":"GPA.1",\#(members)}"#
        return HTTPTransportResponse(status: 200, body: Array(body.utf8))
    }

    static let refunded = HTTPTransportResponse(
        status: 200,
        body: Array(#"{"orderId":"GPA.1","state":"REFUNDED"}"#.utf8)
    )
    static let paid = HTTPTransportResponse(status: 200, body: Array(#"{"orderId":"GPA.1","state":"PROCESSED"}"#.utf8))

    func onVoided(
        subscription: HTTPTransportResponse,
        product: HTTPTransportResponse,
        order: HTTPTransportResponse
    ) {
        on(Self.tokens("a"), subscription)
        on("/purchases/productsv2/tokens/a", product)
        on("/orders/GPA.1", order)
    }

    @Test(
        arguments: [(1, [.subscription, .order]), (2, [.product, .order]), (3, [])]
            as [(Int, [GoogleResolution.Lookup.Resource])]
    )
    func asksForAVoidedPurchaseAndItsOrder(type: Int, asked: [GoogleResolution.Lookup.Resource]) async throws {
        onVoided(subscription: Self.subscription("EXPIRED"), product: Self.product(), order: Self.refunded)
        #expect(try await resolve(Self.voided(type), adapter()).lookups.map(\.resource) == asked)
        let never = try adapter { $0.orderLookup = .never }
        #expect(try await resolve(Self.voided(type), never).lookups.map(\.resource) == asked.filter { $0 != .order })
    }

    /// To this server, the voided purchase is still there, or paid in full.
    @Test func answersFromBeforeARefundDoNotCount() async throws {
        let running = Self.subscription(
            "ACTIVE",
            #","lineItems":[{"productId":"p","latestSuccessfulOrderId":"GPA.1","expiryTime":"2026-12-31T00:00:00Z"}]"#
        )
        let owned = Self.product(
            #""productLineItem":[{"productId":"p","productOfferDetails":{"refundableQuantity":1}}]"#
        )
        for (type, subscription, product, order) in [
            (1, running, owned, Self.refunded), (2, Self.subscription("EXPIRED"), owned, Self.refunded),
            (1, Self.subscription("EXPIRED"), owned, Self.paid), (2, running, Self.product(), Self.paid),
        ] {
            transport.removeRules()
            onVoided(subscription: subscription, product: product, order: order)
            let fresh = Self.voided(type, at: Google.now * 1000 - 1000)
            #expect(try await refusal(fresh, adapter())?.code == .unavailable)
            #expect(try await resolve(Self.voided(type), adapter()).lookups.count == 2)
        }
    }

    @Test(arguments: [(1, [.product, .order]), (2, [.product])] as [(Int, [GoogleResolution.Lookup.Resource])])
    func paidOrderOfAOneTimePurchase(type: Int, asked: [GoogleResolution.Lookup.Resource]) async throws {
        onVoided(subscription: Self.subscription("ACTIVE"), product: Self.product(), order: Self.paid)
        let notification = """
            {"version":"1.0","packageName":"\(Google.package)","eventTimeMillis":"\(Google.now * 1000 - 90_000)",\
            "oneTimeProductNotification":{"version":"1.0","notificationType":\(type),"purchaseToken":"a","sku":"p"}}
            """
        let charged = try adapter { $0.orderLookup = .charged }
        #expect(try await resolve(notification, charged).lookups.map(\.resource) == asked)
    }

    /// The list has what was voided since, in an order of its own, and an app may ask for few pages of it.
    @Test func listOfVoidedPurchasesIsNotReadToItsEnd() async throws {
        onVoided(subscription: Self.subscription("EXPIRED"), product: Self.product(), order: Self.refunded)
        let list = Self.root + "/purchases/voidedpurchases"
        let pages = (1...5).map { PlayDeveloperAPITests.page("\($0)") }
        for page in pages { transport.on(.init(.get, path: list), times: 1) { (_) throws(HTTPTransportError) in page } }
        let adapter = try adapter { $0.looksUpVoidedPurchases = true }
        #expect(try await resolve(Self.voided(1), adapter).voidedPurchase("GPA.1") == nil)
        #expect(transport.requests.count { $0.url.path == list } == 3)
    }

    @Test(arguments: [(403, PlayAnswer.Outcome.denied), (400, .invalid)])
    func listOfVoidedPurchasesThatIsRefusedIsKept(status: Int, outcome: PlayAnswer.Outcome) async throws {
        onVoided(subscription: Self.subscription("EXPIRED"), product: Self.product(), order: Self.refunded)
        on("/purchases/voidedpurchases", PlayDeveloperAPITests.error(status, reason: "other"))
        let adapter = try adapter { $0.looksUpVoidedPurchases = true }
        #expect(try await resolve(Self.voided(1), adapter).voidedPurchase("GPA.1")?.outcome == outcome)
        transport.removeRules()
        onVoided(subscription: Self.subscription("EXPIRED"), product: Self.product(), order: Self.refunded)
        on("/purchases/voidedpurchases", HTTPTransportResponse(status: 500))
        #expect(await refusal(Self.voided(1), adapter)?.code == .unavailable)
    }

    @Test func listOfVoidedPurchasesIsAskedForOneRow() async throws {
        let row = #"{"orderId":"GPA.1","purchaseToken":"a","voidedSource":1,"voidedReason":0}"#
        on(Self.tokens("a"), Self.subscription("EXPIRED"))
        let list = Self.root + "/purchases/voidedpurchases"
        transport.on(
            .init(.get, path: list),
            respond: HTTPTransportResponse(
                status: 200,
                body: Array(
                    #"{"voidedPurchases":[{"orderId":"GPA.0","purchaseToken":"a"}],"tokenPagination":{"nextPageToken":"2"}}"#
                        .utf8
                )
            ),
            HTTPTransportResponse(
                status: 200,
                body: Array(#"{"voidedPurchases":[{"orderId":"GPA.1","purchaseToken":"x"},\#(row)]}"#.utf8)
            )
        )
        let adapter = try adapter {
            $0.orderLookup = .never
            $0.looksUpVoidedPurchases = true
        }
        let resolution = try await resolve(Self.voided(1), adapter)
        #expect(resolution.lookups.map(\.resource) == [.subscription, .voidedPurchase])
        #expect(resolution.voidedPurchase("GPA.1")?.body == Array(row.utf8))
        let asked = transport.requests.filter { $0.url.path == list }.map(\.url.absoluteString)
        #expect(asked.count == 2)
        #expect(asked.first?.contains("startTime=\(Google.now * 1000 - 90_000 - 3_600_000)") == true)
    }

    @Test func withoutAnAPINothingIsAsked() async throws {
        let adapter = try Google.adapter()
        #expect(try await resolve(Google.notification(), adapter).lookups.isEmpty)
    }

    @Test func paidOrdersOnRequest() async throws {
        on(
            Self.tokens("a"),
            Self.subscription(
                "ACTIVE",
                """
                ,"lineItems":[{"latestSuccessfulOrderId":"GPA.1..0"},{"x":1},{"latestSuccessfulOrderId":"GPA.1..0"},\
                {"latestSuccessfulOrderId":"GPA.2..0"}]
                """
            )
        )
        on("/orders/GPA.1..0", PlayDeveloperAPITests.error(403, reason: "permissionDenied"))
        on("/orders/GPA.2..0", PlayDeveloperAPITests.found)
        #expect(try await resolve(Google.notification(token: "a"), adapter()).lookups.count == 1)
        let charged = try adapter { $0.orderLookup = .charged }
        let resolution = try await resolve(Google.notification(token: "a"), charged)
        // Orders need a right of their own.
        #expect(resolution.order("GPA.1..0")?.outcome == .denied)
        #expect(resolution.lookups.map(\.key) == ["a", "GPA.1..0", "GPA.2..0"])
        #expect(try await resolve(Google.notification(type: 3, token: "a"), charged).lookups.count == 1)
    }

    @Test func resolutionsCrossAQueue() async throws {
        on(Self.tokens("purchase-token-secret"), Self.subscription("ACTIVE", linked: "b"))
        on(Self.tokens("b"), HTTPTransportResponse(status: 404))
        let resolution = try await resolve(Google.notification(), adapter())
        let stored = try JSONEncoder().encode(resolution)
        #expect(try JSONDecoder().decode(GoogleResolution.self, from: stored) == resolution)
        #expect(!"\(resolution)\(String(reflecting: resolution.lookups))".contains("secret"))
    }
}
