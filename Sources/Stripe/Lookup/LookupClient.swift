import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import WireJSON

/// Asks Stripe's API, in one version, at one host, for as long as it was allowed.
struct LookupClient: Sendable {
    private let lookup: StripeAdapter.Lookup
    private let retries: RetryPolicy
    /// Which of Stripe's worlds the key is for; nil if it does not say.
    let isLive: Bool?
    /// The platform's own account, if it is known.
    private let ownAccount: String?

    init(_ lookup: StripeAdapter.Lookup, ownAccount: String?) throws(ConfigurationError) {
        try lookup.apiKey.checkAPIKey()
        guard !lookup.version.isEmpty, lookup.version.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ConfigurationError("API version must be printable ASCII without spaces, such as 2025-03-31.basil")
        }
        guard lookup.maximumAttempts > 0, lookup.timeout > .zero, lookup.deadline > .zero else {
            throw ConfigurationError("maximumAttempts, timeout and deadline of look-ups must be positive")
        }
        self.lookup = lookup
        self.ownAccount = ownAccount
        isLive = Self.isLive(lookup.apiKey)
        retries = RetryPolicy(
            maximumAttempts: lookup.maximumAttempts,
            deadline: lookup.deadline,
            verdict: Self.verdict
        )
        do throws(HTTPTransportError) {
            _ = try HTTPSURL(host: lookup.host, path: ["v1"])
        } catch {
            throw ConfigurationError("host for look-ups is not usable: \(error.message)")
        }
    }

    /// `sk_live_…`, `rk_test_…`, `sk_org_live_…`.
    private static func isLive(_ key: SecretBytes) -> Bool? {
        for part in key.bytes.split(separator: UInt8(ascii: "_"), maxSplits: 3).prefix(3).dropFirst() {
            if part.elementsEqual("live".utf8) { return true }
            if part.elementsEqual("test".utf8) { return false }
        }
        return nil
    }

    /// Stripe's own word first; without one, the rule of its SDKs: 409 and every 5xx again, 429 not.
    static func verdict(_ request: HTTPTransportRequest, _ outcome: RetryPolicy.Outcome) -> RetryPolicy.Verdict {
        switch outcome {
        case .success(let response):
            switch response.headers["Stripe-Should-Retry"] {
            case "true": .retry
            case "false": .stop
            default: response.status == 409 || response.status >= 500 ? .retry : .stop
            }
        case .failure(let error):
            error.isRetryable ? .retry : .stop
        }
    }

    /// Asks one question.
    ///
    /// - Returns: the object; or an answer that says that Stripe knows no such object (404 and 410), if the
    ///   notification can be mapped without it, or that the key may not read it (403), if it only has details.
    /// - Throws: `misdirected` if Stripe does not know the notification's object under our key, or the key is of the
    ///   other mode; `denied` if Stripe says that the key may not read it; `malformed` for another object than the one
    ///   asked for; `unavailable` in every other case, since a missing answer proves nothing.
    func fetch(
        _ question: LookupRequest,
        for occasion: StripeOccasion
    ) async throws(DeliveryError) -> StripeNotification.Answer {
        if let isLive, let expected = occasion.isLive, isLive != expected {
            throw occasion.error(.misdirected, "livemode is \(expected), and the API key is for \(isLive)")
        }
        let response: HTTPTransportResponse
        do throws(HTTPTransportError) {
            response = try await lookup.transport.send(
                try request(question, for: occasion),
                retrying: retries,
                clock: lookup.clock
            )
        } catch {
            throw occasion.error(
                error.code == .invalidRequest ? .malformed : .unavailable,
                "look-up of \(question.name) failed: \(error.code)",
                underlying: error
            )
        }
        let answered = "look-up of \(question.name) was answered with"
        switch response.status {
        case 200..<300:
            let answer = StripeNotification.Answer(
                status: response.status,
                body: response.body,
                answeredAt: response.headers.date.map { Date(millisecondsSince1970: $0.seconds * 1000) }
            )
            guard let document = answer.document, let reader = try? ObjectReader(document.root) else {
                throw occasion.error(.unavailable, "\(answered) \(response.body.count) bytes that are no object")
            }
            try check(reader, answers: question, for: occasion)
            return answer
        case 404, 410:
            // Stripe forgets no subscription, invoice or charge: it is another account's, or of the other mode.
            guard question.answer.isOptional else {
                throw occasion.error(.misdirected, "\(answered) status \(response.status)")
            }
            return StripeNotification.Answer(status: response.status, body: [])
        case 403 where Self.isRefusal(response):
            guard question.answer.isDetail else { throw occasion.error(.denied, "\(answered) status 403") }
            return StripeNotification.Answer(status: response.status, body: [])
        default:
            throw occasion.error(.unavailable, "\(answered) status \(response.status)")
        }
    }

    /// True if Stripe itself says that the key may not do what was asked, which only a person changes: it lacks a permission, or its
    /// access to the account was revoked (https://docs.stripe.com/api/errors). A proxy's 403 has another body.
    private static func isRefusal(_ response: HTTPTransportResponse) -> Bool {
        guard response.headers["Stripe-Should-Retry"] != "true" else { return false }
        let type = try? ObjectReader(parsing: response.body).reader("error")?.optionalString("type")
        return type != nil
    }

    /// Asks for a page of a list by itself, and not for a notification.
    ///
    /// - Throws: `denied` if the key may not read it, `stale` if Stripe does not know the element that the page is to lead
    ///   on from, `unavailable` for everything else.
    func list<Element>(
        _ path: [String],
        _ query: [(String, String)],
        of account: String?,
        reading read: (JSONValue) throws(JSONError) -> Element?
    ) async throws(DeliveryError) -> (page: ListPage<Element>, answeredAt: Date) {
        let response: HTTPTransportResponse
        do throws(HTTPTransportError) {
            response = try await lookup.transport.send(
                try request(path, query, of: account, in: nil),
                retrying: retries,
                clock: lookup.clock
            )
        } catch {
            throw DeliveryError(.unavailable, "the list could not be asked for: \(error.code)", underlying: error)
        }
        guard response.isSuccess, let document = try? JSONDocument(parsing: response.body) else {
            let isPositioned = query.contains { $0.0 == "starting_after" || $0.0 == "ending_before" }
            let code: DeliveryError.Code =
                switch response.status {
                case 401, 403: .denied
                // An event that is older than Stripe keeps is no element to lead on from (https://docs.stripe.com/api/pagination).
                case 400, 404: isPositioned ? .stale : .unavailable
                default: .unavailable
                }
            throw DeliveryError(
                code,
                "the list was answered with status \(response.status) and \(response.body.count) bytes"
            )
        }
        guard let date = response.headers.date else {
            throw DeliveryError(.unavailable, "the answer does not say when it was given")
        }
        do throws(JSONError) {
            return (try ListPage(document, read), Date(millisecondsSince1970: date.seconds * 1000))
        } catch {
            throw DeliveryError(.unavailable, "the list cannot be read", underlying: error)
        }
    }

    /// The answer is the requested object, in the mode of the event.
    private func check(
        _ reader: ObjectReader,
        answers question: LookupRequest,
        for occasion: StripeOccasion
    ) throws(DeliveryError) {
        let isAnswer =
            switch question.answer {
            case .object(let id), .optionalObject(let id), .detail(let id): Self.names(reader, id)
            case .list, .optionalList: reader.optionalValue("data")?.kind == .array
            }
        guard isAnswer else {
            throw occasion.error(.malformed, "look-up of \(question.name) was answered with something else")
        }
        if let expected = occasion.isLive, let isLive = try? reader.optionalBool("livemode"), isLive != expected {
            throw occasion.error(.misdirected, "look-up was answered with livemode \(isLive), expected \(expected)")
        }
    }

    /// True if an object has this id. The summary of a customer's entitlements has none, and is known by the customer.
    private static func names(_ reader: ObjectReader, _ id: String) -> Bool {
        if let stated = reader.optionalValue("id") { return stated.isString(id) }
        return reader.optionalValue("object")?.isString("entitlements.active_entitlement_summary") == true
            && (try? reader.reference("customer")) == id
    }

    /// An organization's key is for none of its accounts by itself, and names a connected one behind its platform
    /// (https://docs.stripe.com/context).
    private func organizationContext(of account: String?) -> String? {
        guard lookup.apiKey.bytes.starts(with: "sk_org_".utf8) else { return nil }
        guard let account, account != ownAccount else { return ownAccount }
        return ownAccount.map { "\($0)/\(account)" } ?? account
    }

    private func request(
        _ question: LookupRequest,
        for occasion: StripeOccasion
    ) throws(HTTPTransportError) -> HTTPTransportRequest {
        var request = try request(
            question.path,
            question.query,
            of: occasion.account,
            in: occasion.notification?.context
        )
        if let notification = occasion.notification, notification.isThin {
            try request.setHeader("Stripe-Request-Trigger", to: "event=\(notification.id)")
        }
        return request
    }

    private func request(
        _ path: [String],
        _ query: [(String, String)],
        of account: String?,
        in context: String?
    ) throws(HTTPTransportError) -> HTTPTransportRequest {
        let url = try HTTPSURL(
            host: lookup.host,
            path: path.map { HTTPSURL.PathSegment($0) },
            query: query.map { HTTPSURL.QueryItem($0.0, $0.1) }
        )
        var request = try HTTPTransportRequest(.get, url, timeout: lookup.timeout)
        try request.setHeader("Authorization", to: lookup.apiKey.bearerCredentials)
        try request.setHeader("Stripe-Version", to: lookup.version)
        // One of the two: the context is the account's successor and can name more than it.
        if let context = context ?? organizationContext(of: account) {
            try request.setHeader("Stripe-Context", to: context)
        } else if let account {
            try request.setHeader("Stripe-Account", to: account)
        }
        return request
    }
}
