import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import WireJSON

extension PlayAnswer {
    /// A question that cannot be put into a request.
    static let refusedHere = PlayAnswer(.invalid, status: 0, reason: "request_not_sent")

    /// Reads a final answer.
    ///
    /// - Parameter hasBody: true if success without a JSON object is none. A proxy's page is not a purchase.
    init(_ response: HTTPTransportResponse, hasBody: Bool) {
        let date = response.headers.date.map { Date(millisecondsSince1970: $0.seconds * 1000) }
        if response.isSuccess {
            guard hasBody else {
                self.init(.done, status: response.status, answeredAt: date)
                return
            }
            guard (try? JSONDocument(parsing: response.body).root.object()) != nil else {
                self.init(.unavailable, status: response.status, reason: "not_json", answeredAt: date)
                return
            }
            self.init(.found, status: response.status, body: response.body, answeredAt: date)
            return
        }
        self.init(
            Self.outcome(response),
            status: response.status,
            reason: APIErrorBody(response.body).reason,
            answeredAt: date
        )
    }

    private static func outcome(_ response: HTTPTransportResponse) -> Outcome {
        if isTransient(response) { return .unavailable }
        switch response.status {
        case 400: return .invalid
        // Not the purchase but the app is unknown to the service account: it was moved to another developer account, say.
        case 404 where APIErrorBody(response.body).isAboutApplication: return .denied
        case 404: return .notFound
        case 410: return .gone
        // Nothing else says anything about the purchase; the set-up must be checked by a person.
        case 400..<500: return .denied
        default: return .unavailable
        }
    }

    /// True if the same request may fare better later.
    static func isTransient(_ response: HTTPTransportResponse) -> Bool {
        switch response.status {
        case 408, 409, 429, 499, 500, 502, 503, 504: true
        case 403: APIErrorBody(response.body).isAboutQuota
        default: false
        }
    }

    /// True if the request is right, and what it is about is not in the state for it.
    var isAboutState: Bool { outcome == .invalid && reason.map(APIErrorBody.stateReasons.contains) ?? false }

    /// True if an access token was refused, or there was none: then Google has said nothing of our rights.
    var isAboutAccessToken: Bool {
        guard outcome == .denied else { return false }
        return status == 0 || status == 401 && reason.map(APIErrorBody.tokenReasons.contains) ?? true
    }

    /// An answer that is not the wanted one, as an error of the host's own question.
    ///
    /// - Parameter unknown: the code if Google does not know what was asked for.
    func error(about subject: String, unknown: DeliveryError.Code = .malformed) -> DeliveryError {
        let code: DeliveryError.Code =
            switch outcome {
            case .denied: .denied
            case .unavailable: .unavailable
            case .notFound, .gone: unknown
            case .invalid, .found, .done: .malformed
            }
        return DeliveryError(code, "\(subject): \(self)")
    }

    /// The token of the list's next page (`tokenPagination.nextPageToken`); nil on the last page.
    public var nextPageToken: String? {
        guard outcome == .found, let reader = try? ObjectReader(parsing: body),
            let pagination = try? reader.optionalValue("tokenPagination")?.object(),
            let token = try? pagination["nextPageToken"]?.string(), !token.isEmpty
        else { return nil }
        return token
    }
}

/// The error body of Google's APIs, as far as it is one: a proxy's has another form.
struct APIErrorBody {
    private static let quotaReasons = [
        "rateLimitExceeded", "userRateLimitExceeded", "quotaExceeded", "dailyLimitExceeded", "RESOURCE_EXHAUSTED",
        "RATE_LIMIT_EXCEEDED",
    ]
    /// Google's reasons about an access token, in their older and their newer form.
    static let tokenReasons = [
        "authError", "required", "expired", "UNAUTHENTICATED", "ACCESS_TOKEN_EXPIRED", "CREDENTIALS_MISSING",
    ]
    private static let permissionReasons = ["permissionDenied", "PERMISSION_DENIED"]
    static let stateReasons = ["failedPrecondition", "FAILED_PRECONDITION"]

    /// Every reason that is a word, and the error's status.
    private let reasons: [String]
    private let domains: [String]

    init(_ body: [UInt8]) {
        var reasons: [String] = []
        var domains: [String] = []
        if let error = try? ObjectReader(parsing: body).optionalValue("error")?.object() {
            for list in [error["errors"], error["details"]] {
                guard let entries = try? list?.array() else { continue }
                for entry in entries.prefix(16) {
                    guard let members = try? entry.object() else { continue }
                    if let reason = try? members["reason"]?.string().asReason { reasons.append(reason) }
                    if let domain = try? members["domain"]?.string() { domains.append(domain) }
                }
            }
            if let status = try? error["status"]?.string().asReason { reasons.append(status) }
        }
        self.reasons = reasons
        self.domains = domains
    }

    /// The most exact of the reasons.
    var reason: String? { reasons.first }

    var isAboutApplication: Bool { reasons.contains("applicationNotFound") }

    var isAboutQuota: Bool { reasons.contains(where: Self.quotaReasons.contains) }

    /// Rights that are missing, which Google Play answers with 401 as well, and a new access token does not help.
    var isAboutPermissions: Bool {
        reasons.contains(where: Self.permissionReasons.contains) || domains.contains("androidpublisher")
    }
}
