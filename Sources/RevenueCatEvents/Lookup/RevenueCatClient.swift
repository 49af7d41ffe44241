public import HTTPTransport
public import LifecycleEvents
import WireJSON

/// Asks RevenueCat's REST API how purchases stand.
///
/// An answer that does not come changes nothing: it is thrown as `unavailable`, and never becomes an end of access.
public struct RevenueCatClient: Sendable {
    /// Which version of the API to use. Keys of one do not open the other.
    public enum API: Hashable, Sendable {
        /// The older one: one entry for each product of a customer.
        case v1
        /// The newer one, with the id of the project, `proj…`.
        case v2(project: String)
    }

    /// RevenueCat's subscriptions of a customer.
    public enum Customer: Hashable, Sendable {
        /// The subscriptions.
        case known([RevenueCatSubscription])
        /// RevenueCat did not know the id. The older version makes a customer of it by being asked; either way it says
        /// nothing about purchases.
        case unknown
    }

    /// One-time purchases of a customer, as RevenueCat knows them.
    public enum Purchases: Hashable, Sendable {
        /// The one-time purchases.
        case known([RevenueCatPurchase])
        /// RevenueCat did not know the id, as of ``Customer/unknown``.
        case unknown
    }

    /// Which version of the API to use.
    public let api: API
    /// How long one request may take.
    public var timeout: Duration = .seconds(10)
    /// How many attempts a request has, the first included.
    public var maximumAttempts = 4
    /// How long a request may take with all its attempts and waits.
    public var deadline: Duration = .seconds(90)
    /// How many pages of a list are read at most. A longer list throws `unavailable`, except that of a customer's ids.
    public var maximumPages = 50
    /// Which clock the waits between attempts are taken on.
    public var clock: any Clock<Duration> = ContinuousClock()

    /// Copies share them.
    let products = ProductNames()
    private let transport: BackoffTransport
    private let apiKey: SecretBytes
    private static let host = "api.revenuecat.com"

    /// Makes a client.
    ///
    /// - Throws: `ConfigurationError` for a blank key, or one with characters that none has, and for a blank project.
    public init(transport: any HTTPTransportProtocol, apiKey: SecretBytes, api: API) throws(ConfigurationError) {
        try apiKey.checkAPIKey()
        if case .v2(let project) = api {
            do throws(HTTPTransportError) {
                _ = try HTTPSURL(host: Self.host, path: ["v2", "projects", HTTPSURL.PathSegment(project)])
            } catch {
                throw ConfigurationError("the project must be an id as RevenueCat shows it: \(error.message)")
            }
        }
        self.transport = BackoffTransport(base: transport)
        self.api = api
        self.apiKey = apiKey
    }

    /// All the subscriptions that a customer has.
    ///
    /// Ask only for ids from webhooks that were proven, never for one from a request: the older version makes a customer
    /// of every id.
    ///
    /// - Throws: `DeliveryError` with `unavailable` if no usable answer comes; `malformed` for an id that cannot
    ///   stand in a URL.
    public func customer(_ id: String) async throws(DeliveryError) -> Customer {
        switch api {
        case .v1:
            let response = try await get(["v1", "subscribers", HTTPSURL.PathSegment(id)])
            guard response.status == 200 else { return .unknown }
            return .known(
                try read(response.body) { (body) throws(JSONError) in
                    try RevenueCatSubscription.subscriber(body, of: id)
                }
            )
        case .v2(let project):
            let path: [HTTPSURL.PathSegment] = [
                "v2", "projects", HTTPSURL.PathSegment(project), "customers", HTTPSURL.PathSegment(id),
                "subscriptions",
            ]
            return try await list(path, query: [], RevenueCatSubscription.list).map { .known($0) } ?? .unknown
        }
    }

    /// All of a customer's one-time purchases. The older version leaves out refunded ones, or does not mark them.
    ///
    /// Ask only for ids from authenticated webhooks, as for ``customer(_:)``.
    ///
    /// - Throws: `DeliveryError` as for ``customer(_:)``.
    public func purchases(ofCustomer id: String) async throws(DeliveryError) -> Purchases {
        switch api {
        case .v1:
            let response = try await get(["v1", "subscribers", HTTPSURL.PathSegment(id)])
            guard response.status == 200 else { return .unknown }
            return .known(
                try read(response.body) { (body) throws(JSONError) in try RevenueCatPurchase.subscriber(body, of: id) }
            )
        case .v2(let project):
            let path: [HTTPSURL.PathSegment] = [
                "v2", "projects", HTTPSURL.PathSegment(project), "customers", HTTPSURL.PathSegment(id), "purchases",
            ]
            return try await list(path, query: [], RevenueCatPurchase.list).map { .known($0) } ?? .unknown
        }
    }

    /// The one-time purchases with a transaction or order of the store; none if RevenueCat knows none.
    ///
    /// - Throws: `DeliveryError` as for ``subscriptions(withTransaction:)``.
    public func purchases(withTransaction transaction: String) async throws(DeliveryError) -> [RevenueCatPurchase] {
        try await list(
            try projectPath("purchases"),
            query: [.init("store_purchase_identifier", transaction)],
            RevenueCatPurchase.list
        ) ?? []
    }

    /// The subscriptions of a transaction or order, past ones included; none if RevenueCat knows none.
    ///
    /// - Throws: `DeliveryError` with `unavailable` if there is no usable answer, and for the older version of the API,
    ///   which cannot be asked for a transaction.
    public func subscriptions(
        withTransaction transaction: String
    ) async throws(DeliveryError) -> [RevenueCatSubscription] {
        try await list(
            try projectPath("subscriptions"),
            query: [.init("store_subscription_identifier", transaction)],
            RevenueCatSubscription.list
        ) ?? []
    }

    /// The store's id of a product; nil if RevenueCat knows no such product. Keep it: the limit on these requests is
    /// tight.
    ///
    /// - Throws: `DeliveryError` as for ``subscriptions(withTransaction:)``.
    public func storeIdentifier(ofProduct reference: String) async throws(DeliveryError) -> String? {
        guard case .v2(let project) = api else { throw Self.unsupported }
        let response = try await get([
            "v2", "projects", HTTPSURL.PathSegment(project), "products", HTTPSURL.PathSegment(reference),
        ])
        guard response.status == 200 else { return nil }
        return try read(response.body) { (body) throws(JSONError) in
            try ObjectReader(parsing: body).optionalString("store_identifier")
        }
    }

    // MARK: For webhooks

    /// The answer that mapping a webhook needs; nil if this version of the API has no such question.
    func answer(about event: RevenueCatEvent) async throws(DeliveryError) -> LookupAnswer? {
        switch api {
        case .v1:
            guard let customer = event.customerIDs.first else { return nil }
            let response = try await get(["v1", "subscribers", HTTPSURL.PathSegment(customer)])
            guard response.status == 200 else { return nil }
            _ = try read(response.body) { (body) throws(JSONError) in
                try RevenueCatSubscription.subscriber(body, of: customer)
            }
            return LookupAnswer(form: .v1, body: response.body)
        case .v2:
            guard let transaction = event.transactionID ?? event.originalTransactionID else { return nil }
            let response = try await get(
                try projectPath("subscriptions"),
                query: [.init("store_subscription_identifier", transaction)]
            )
            guard response.status == 200 else { return nil }
            _ = try read(response.body) { (body) throws(JSONError) in try RevenueCatSubscription.list(body) }
            return LookupAnswer(form: .v2, body: response.body)
        }
    }

    // MARK: Requests

    private func projectPath(_ list: HTTPSURL.PathSegment) throws(DeliveryError) -> [HTTPSURL.PathSegment] {
        guard case .v2(let project) = api else { throw Self.unsupported }
        return ["v2", "projects", HTTPSURL.PathSegment(project), list]
    }

    private static var unsupported: DeliveryError {
        DeliveryError(.unavailable, "this needs version 2 of the API", isAuthentic: true)
    }

    private static func unavailable(_ error: RevenueCatAPIError) -> DeliveryError {
        DeliveryError(.unavailable, "look-up was answered with \(error)", isAuthentic: true, underlying: error)
    }

    /// Reads every page; nil if RevenueCat knows no such thing.
    func list<Item>(
        _ path: [HTTPSURL.PathSegment],
        query: [HTTPSURL.QueryItem],
        _ readPage: ([UInt8]) throws(JSONError) -> (items: [Item], nextPage: String?)
    ) async throws(DeliveryError) -> [Item]? {
        guard let list = try await pages(path, query: query, until: { _ in false }, readPage) else { return nil }
        guard !list.hasMore else {
            throw DeliveryError(
                .unavailable,
                "the list has more than \(maximumPages) pages, the most that are read",
                isAuthentic: true
            )
        }
        return list.items
    }

    /// Reads pages until they are enough, ``maximumPages`` at most, at ``pace``; nil if RevenueCat knows no such thing.
    func pages<Item>(
        _ path: [HTTPSURL.PathSegment],
        query: [HTTPSURL.QueryItem] = [],
        until isEnough: ([Item]) -> Bool,
        _ readPage: ([UInt8]) throws(JSONError) -> (items: [Item], nextPage: String?)
    ) async throws(DeliveryError) -> (items: [Item], hasMore: Bool)? {
        var response = try await get(path, query: query)
        guard response.status == 200 else { return nil }
        var items: [Item] = []
        var pages = 1
        while true {
            let page = try read(response.body, readPage)
            items += page.items
            guard let next = page.nextPage, !next.isEmpty else { return (items, false) }
            guard pages < maximumPages, !isEnough(items) else { return (items, true) }
            pages += 1
            try? await clock.sleep(for: pace)
            response = try await send { () throws(HTTPTransportError) in
                try HTTPTransportRequest(.get, try Self.page(next, of: path), timeout: timeout)
            }
            guard response.status == 200 else {
                throw Self.unavailable(RevenueCatAPIError(status: response.status, body: response.body))
            }
        }
    }

    // The key goes wherever the address leads: it stays at the same path of the same host, which may be written in
    // another way than ours, as `$RCAnonymousID:…` is.
    private static func page(
        _ address: String,
        of path: [HTTPSURL.PathSegment]
    ) throws(HTTPTransportError) -> HTTPSURL {
        guard address.utf8.first == UInt8(ascii: "/") else {
            throw HTTPTransportError(.protocolError, "address of the next page is not relative")
        }
        let url: HTTPSURL
        do throws(HTTPTransportError) {
            url = try HTTPSURL("https://" + host + address)
        } catch {
            throw HTTPTransportError(.protocolError, "address of the next page cannot be read: \(error.message)")
        }
        guard url.host == host, url.port == nil, url.leads(to: path) else {
            throw HTTPTransportError(.protocolError, "next page is of another list")
        }
        return url
    }

    func get(
        _ path: [HTTPSURL.PathSegment],
        query: [HTTPSURL.QueryItem] = []
    ) async throws(DeliveryError) -> HTTPTransportResponse {
        let response = try await send { () throws(HTTPTransportError) in
            try HTTPTransportRequest(.get, try HTTPSURL(host: Self.host, path: path, query: query), timeout: timeout)
        }
        guard response.status != 200, response.status != 201 else { return response }
        let error = RevenueCatAPIError(status: response.status, body: response.body)
        // A proxy's 404 says nothing of a customer.
        guard error.status == 404, error.isStated else { throw Self.unavailable(error) }
        return response
    }

    // `X-Platform` is not sent with look-ups: it would count as the customer's visit.
    private func send(
        _ make: () throws(HTTPTransportError) -> HTTPTransportRequest
    ) async throws(DeliveryError) -> HTTPTransportResponse {
        do throws(HTTPTransportError) {
            var request = try make()
            try request.setHeader("Authorization", to: apiKey.bearerCredentials)
            try request.setHeader("Accept", to: "application/json")
            return try await transport.send(request, retrying: policy, clock: clock)
        } catch {
            throw DeliveryError(
                error.code == .invalidRequest ? .malformed : .unavailable,
                "look-up failed: \(error.code)",
                isAuthentic: true,
                underlying: error
            )
        }
    }

    func read<Value>(
        _ body: [UInt8],
        _ read: ([UInt8]) throws(JSONError) -> Value
    ) throws(DeliveryError) -> Value {
        do throws(JSONError) {
            return try read(body)
        } catch {
            throw DeliveryError(
                .unavailable,
                "look-up was answered with \(body.count) bytes that cannot be read: \(error)",
                isAuthentic: true,
                underlying: error
            )
        }
    }

    private var policy: RetryPolicy {
        RetryPolicy(
            maximumAttempts: maximumAttempts,
            maximumDelay: .seconds(20),
            deadline: deadline
        ) { request, outcome in
            switch outcome {
            case .success(let response):
                let error = RevenueCatAPIError(status: response.status, body: response.body)
                return !response.isSuccess && error.isRetryable ? .retry : .stop
            case .failure:
                return RetryPolicy.standardVerdict(for: request, outcome)
            }
        }
    }
}

/// Puts the wait that an answer's body asks for in place of its `Retry-After`, whose unit RevenueCat's own pages
/// disagree on.
private struct BackoffTransport: HTTPTransportProtocol {
    let base: any HTTPTransportProtocol

    func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        var response = try await base.send(request)
        guard !response.isSuccess, response.headers["Retry-After"] != nil || response.status == 429,
            let milliseconds = RevenueCatAPIError(status: response.status, body: response.body).backoffMilliseconds
        else { return response }
        response.headers.remove("Retry-After")
        response.headers.add("Retry-After", String(milliseconds / 1000 + (milliseconds % 1000 == 0 ? 0 : 1)))
        return response
    }
}
