public import FoundationEssentials
public import HTTPTransport
public import LifecycleEvents
import WireJSON

/// Asks Google Play about purchases (Google Play Developer API v3, `androidpublisher`).
///
/// Every question is answered by a ``PlayAnswer``; nothing throws, since no failure to ask may look like an answer.
/// Requests go to one host. Whatever comes from outside becomes a percent-encoded path segment, or no request at all.
public struct PlayDeveloperAPI: Sendable {
    /// The longest purchase token that is sent, in bytes.
    public static let maximumTokenBytes = 2048
    /// How many orders one request asks for, so that its URL has a length that every server takes.
    static let ordersPerRequest = 100
    static let host = "androidpublisher.googleapis.com"

    /// Up to three attempts within the ten seconds that Pub/Sub gives a push by default.
    public static let standardRetry = RetryPolicy(
        maximumAttempts: 3,
        baseDelay: .milliseconds(500),
        maximumDelay: .seconds(2),
        deadline: .seconds(8)
    )

    private let transport: any HTTPTransportProtocol
    private let tokens: any AccessTokenSource
    private let base: HTTPSURL
    private let retry: RetryPolicy
    private let clock: any Clock<Duration>

    /// Prepares a client.
    ///
    /// - Parameters:
    ///   - transport: sends the requests.
    ///   - tokens: access tokens with the scope of the Play Developer API.
    ///   - base: the address of the API; Google's own host by default.
    ///   - retry: how often and for how long to try; the client knows which answers are worth it.
    ///   - clock: takes the waits.
    /// - Throws: `ConfigurationError` for a `base` without TLS; never without a `base`.
    public init(
        transport: any HTTPTransportProtocol,
        tokens: any AccessTokenSource,
        base: HTTPSURL? = nil,
        retry: RetryPolicy = PlayDeveloperAPI.standardRetry,
        clock: any Clock<Duration> = ContinuousClock()
    ) throws(ConfigurationError) {
        self.transport = transport
        self.tokens = tokens
        do {
            self.base = try base ?? HTTPSURL(host: Self.host)
        } catch {
            throw ConfigurationError("Play Developer API: \(error)")
        }
        guard !self.base.isEmulator else {
            throw ConfigurationError("an emulator has no TLS, so it must not get access tokens: pass `tokens: nil`")
        }
        self.retry = retry
        self.clock = clock
    }

    // MARK: Purchases

    /// The state of a subscription (`purchases.subscriptionsv2.get`).
    public func subscription(purchaseToken: String, packageName: String) async -> PlayAnswer {
        guard purchaseToken.utf8.count <= Self.maximumTokenBytes else { return .refusedHere }
        var answer = await get(packageName, ["purchases", "subscriptionsv2", "tokens", .init(purchaseToken)])
        // "no longer available for query because it has been expired for too long", which this method says in place of 410
        // (https://itneko.com/google-subscription-long-expired-receipt/).
        if answer.isAboutState { answer.outcome = .gone }
        return answer
    }

    /// The state of a one-time purchase (`purchases.productsv2.getproductpurchasev2`).
    public func product(purchaseToken: String, packageName: String) async -> PlayAnswer {
        guard purchaseToken.utf8.count <= Self.maximumTokenBytes else { return .refusedHere }
        return await get(packageName, ["purchases", "productsv2", "tokens", .init(purchaseToken)])
    }

    /// Tells Google that a subscription was granted, without which it is revoked after three days
    /// (`purchases.subscriptions.acknowledge`).
    ///
    /// An out-of-app resubscription names its predecessor only until then: ask about it first.
    ///
    /// The path is `subscriptions/{subscriptionId}/tokens/{token}:acknowledge`, as the API's discovery document has it; the
    /// id "is not required" for a purchase with add-ons, and its segment is empty then
    /// (https://developers.google.com/android-publisher/api-ref/rest/v3/purchases.subscriptions/acknowledge).
    ///
    /// - Parameters:
    ///   - id: the product; nil for a purchase with add-ons.
    ///   - purchaseToken: the purchase.
    ///   - packageName: the app.
    ///   - account: whose purchase it is from now on, for one that was made again in the Play Store, if the app could not
    ///     say so; Google takes an obfuscated account id and profile id of at most 64 characters.
    public func acknowledgeSubscription(
        id: String?,
        purchaseToken: String,
        packageName: String,
        account: Account? = nil
    ) async -> PlayAnswer {
        guard let body = AcknowledgementBody(account) else { return .refusedHere }
        return await acknowledge(
            ["subscriptions", id.map { .init($0) } ?? .empty],
            purchaseToken: purchaseToken,
            packageName: packageName,
            body: body.octets
        )
    }

    /// Tells Google that a one-time purchase was granted (`purchases.products.acknowledge`).
    public func acknowledgeProduct(id: String, purchaseToken: String, packageName: String) async -> PlayAnswer {
        await acknowledge(
            ["products", .init(id)],
            purchaseToken: purchaseToken,
            packageName: packageName,
            body: Array("{}".utf8)
        )
    }

    // MARK: Orders

    /// An order (`orders.get`): the only place for amounts, tax and refunds without revocation.
    public func order(_ orderID: String, packageName: String) async -> PlayAnswer {
        guard OrderID.isValid(orderID) else { return .refusedHere }
        return await get(packageName, ["orders", .init(orderID)])
    }

    /// Answers Google's question about a chargeback (`orders.reviewrefund`). Only the first answer counts.
    ///
    /// - Parameters:
    ///   - orderID: the order in dispute.
    ///   - packageName: the app.
    ///   - token: the `pendingRefundToken` of the notification.
    ///   - review: your view.
    public func reviewRefund(
        ofOrder orderID: String,
        packageName: String,
        token: SecretBytes,
        _ review: RefundReview
    ) async -> PlayAnswer {
        guard OrderID.isValid(orderID), let body = review.body(token: token) else { return .refusedHere }
        return await ask(.post, ["orders", .init(orderID, verb: "reviewrefund")], of: packageName, body: body)
    }

    /// Orders, a hundred to an answer (`orders.batchget`). Where one of a hundred is not found, none of them is.
    public func orders(_ orderIDs: [String], packageName: String) async -> [PlayAnswer] {
        var distinct: [String] = []
        var known: Set<[UInt8]> = []
        for id in orderIDs where known.insert(Array(id.utf8)).inserted { distinct.append(id) }
        var answers: [PlayAnswer] = []
        var rest = distinct[...]
        while !rest.isEmpty {
            let batch = rest.prefix(Self.ordersPerRequest)
            rest = rest.dropFirst(Self.ordersPerRequest)
            guard batch.allSatisfy(OrderID.isValid) else {
                answers.append(.refusedHere)
                continue
            }
            answers.append(
                await get(
                    packageName,
                    [.init("orders", verb: "batchGet")],
                    query: batch.map { .init("orderIds", $0) }
                )
            )
        }
        return answers
    }

    // MARK: Voided purchases

    /// One page of the purchases voided in the last thirty days (`purchases.voidedpurchases.list`), oldest first.
    ///
    /// - Parameters:
    ///   - packageName: the app.
    ///   - query: the purchases that are asked for.
    ///   - pageToken: ``PlayAnswer/nextPageToken`` of the page before; nil for the first page.
    public func voidedPurchases(
        packageName: String,
        _ query: VoidedPurchasesQuery = VoidedPurchasesQuery(),
        pageToken: String? = nil
    ) async -> PlayAnswer {
        await get(packageName, ["purchases", "voidedpurchases"], query: query.items(pageToken: pageToken))
    }
}

extension PlayDeveloperAPI {
    /// Waits on the client's clock; ends early when the task is canceled.
    func pause(for duration: Duration) async {
        try? await clock.sleep(for: duration)
    }

    private func acknowledge(
        _ product: [HTTPSURL.PathSegment],
        purchaseToken: String,
        packageName: String,
        body: [UInt8]
    ) async -> PlayAnswer {
        guard purchaseToken.utf8.count <= Self.maximumTokenBytes else { return .refusedHere }
        let path = ["purchases"] + product + ["tokens", .init(purchaseToken, verb: "acknowledge")]
        return await ask(.post, path, of: packageName, body: body)
    }

    func get(
        _ packageName: String,
        _ path: [HTTPSURL.PathSegment],
        query: [HTTPSURL.QueryItem] = []
    ) async -> PlayAnswer {
        await ask(.get, path, of: packageName, query: query)
    }

    private func ask(
        _ method: HTTPTransportRequest.Method,
        _ path: [HTTPSURL.PathSegment],
        of packageName: String,
        query: [HTTPSURL.QueryItem] = [],
        body: [UInt8] = []
    ) async -> PlayAnswer {
        guard PackageName.isValid(packageName) else { return .refusedHere }
        let root: [HTTPSURL.PathSegment] = ["androidpublisher", "v3", "applications", .init(packageName)]
        guard let url = try? base.appending(path: root + path, query: query) else { return .refusedHere }
        var (answer, isStaleToken) = await ask(method, url, body: body)
        if isStaleToken { (answer, _) = await ask(method, url, body: body) }
        return answer
    }

    /// - Returns: the answer, with true if Google refused the access token rather than us; the token is then forgotten.
    private func ask(
        _ method: HTTPTransportRequest.Method,
        _ url: HTTPSURL,
        body: [UInt8]
    ) async -> (PlayAnswer, isStaleToken: Bool) {
        let token: SecretBytes
        do throws(AccessTokenError) {
            token = try await tokens.accessToken()
        } catch {
            let isUnavailable = error.isRetryable || error.underlying != nil
            return (PlayAnswer(isUnavailable ? .unavailable : .denied, status: 0, reason: error.message), false)
        }
        // The address is one already: only the access token can keep the request from being made.
        guard let request = try? request(method, url, body: body, token: token) else {
            return (PlayAnswer(.denied, status: 0, reason: "unusable_access_token"), false)
        }
        var policy = retry
        policy.verdict = Self.verdict
        let response: HTTPTransportResponse
        do throws(HTTPTransportError) {
            response = try await transport.send(request, retrying: policy, clock: clock)
        } catch {
            return (PlayAnswer(.unavailable, status: 0, reason: error.code.rawValue), false)
        }
        let answer = PlayAnswer(response, hasBody: method == .get)
        guard response.status == 401, !APIErrorBody(response.body).isAboutPermissions else { return (answer, false) }
        tokens.discard(token)
        return (answer, true)
    }

    private func request(
        _ method: HTTPTransportRequest.Method,
        _ url: HTTPSURL,
        body: [UInt8],
        token: SecretBytes
    ) throws(HTTPTransportError) -> HTTPTransportRequest {
        var request = try HTTPTransportRequest(
            method,
            url,
            headers: [
                "Accept": "application/json",
                "Authorization": "Bearer \(String(decoding: token.bytes, as: UTF8.self))",
            ],
            body: body
        )
        if !body.isEmpty { try request.setHeader("Content-Type", to: "application/json") }
        // An acknowledgement does the same the second time, and a second review nothing.
        request.isIdempotent = true
        return request
    }

    private static func verdict(
        _ request: HTTPTransportRequest,
        _ outcome: RetryPolicy.Outcome
    ) -> RetryPolicy.Verdict {
        guard case .success(let response) = outcome else {
            return RetryPolicy.standardVerdict(for: request, outcome)
        }
        return PlayAnswer.isTransient(response) ? .retry : .stop
    }
}

/// Which voided purchases are asked for.
public struct VoidedPurchasesQuery: Sendable, Hashable {
    /// Subscriptions too; without them Google lists one-time purchases only.
    public var includesSubscriptions = true
    /// Refunds of a part of a quantity too.
    public var includesPartialRefunds = true
    /// Records that appeared from then on.
    public var from: Date?
    /// Records that appeared before then.
    public var until: Date?
    /// How many records a page has at most, 1 to 1000.
    public var pageSize = 1000

    /// Asks for everything of the last thirty days.
    public init() {}

    func items(pageToken: String?) -> [HTTPSURL.QueryItem] {
        var items: [HTTPSURL.QueryItem] = [
            .init("type", includesSubscriptions ? "1" : "0"),
            .init("maxResults", String(min(max(pageSize, 1), 1000))),
        ]
        if includesPartialRefunds { items.append(.init("includeQuantityBasedPartialRefund", "true")) }
        if let pageToken {
            items.append(.init("token", pageToken))
        } else {
            if let from { items.append(.init("startTime", String(from.millisecondsSince1970))) }
            if let until { items.append(.init("endTime", String(until.millisecondsSince1970))) }
        }
        return items
    }
}
