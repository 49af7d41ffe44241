import FoundationEssentials
import HTTPTransport
import LifecycleEvents
import WireJSON

/// The body of an answer that is not a success: `errorCode` and `errorMessage`.
///
/// The codes are listed at <https://developer.apple.com/documentation/appstoreserverapi/error-codes>. Each names the
/// missing object, and those for objects that may be found later have a number of their own.
struct ErrorAnswer {
    /// Apple's number; absent if the body is not Apple's JSON, as with many a 401.
    let number: Int64?
    let status: Int

    /// `AccountNotFoundRetryableError`, `AppNotFoundRetryableError`, `OriginalTransactionIdNotFoundRetryableError`.
    private static let foundLater: Set<Int64> = [4_040_002, 4_040_004, 4_040_006]
    /// `TransactionIdNotFoundError`, `OriginalTransactionIdNotFoundError`, `AppTransactionDoesNotExistError`.
    private static let unknownHere: Set<Int64> = [4_040_010, 4_040_005, 4_040_019]
    /// `AppNotFoundError`: there is no app with the token's bundle id.
    private static let unknownApp: Int64 = 4_040_003

    init(_ response: HTTPTransportResponse) {
        status = response.status
        var limits = JSONLimits()
        limits.maximumBytes = 64 * 1024
        let reader = try? ObjectReader(parsing: response.body, limits: limits)
        number = reader.flatMap { try? $0.optionalInt64("errorCode") }
    }

    /// True if the purchase may be known in the other environment.
    var isUnknownHere: Bool { number.map(Self.unknownHere.contains) ?? false }

    /// True for a bare 401, which an app that was never released gets from Production.
    var isBareRefusal: Bool { status == 401 && number == nil }

    var code: AppStoreServerError.Code {
        if let number, Self.foundLater.contains(number) { return .unavailable }
        return switch status {
        case 401: .unauthorized
        case 403: .forbidden
        case 404 where number == Self.unknownApp: .unauthorized
        case 429: .rateLimited
        case 500...: .unavailable
        // Apple numbers its reasons. The answer is another server's, such as a proxy's, and says nothing about the request.
        case _ where number == nil: .unavailable
        case 404: .notFound
        default: .invalidRequest
        }
    }

    var isWorthAnotherAttempt: Bool { code == .unavailable || code == .rateLimited }
}

extension HTTPTransportResponse {
    /// When Apple accepts requests again: an absolute time in milliseconds, not the seconds of RFC 9110.
    var acceptsRequestsAgain: Date? {
        headers.values("Retry-After").compactMap { text in
            guard (12...15).contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let milliseconds = Int64(text)
            else { return nil }
            return Date(millisecondsSince1970: milliseconds)
        }.max()
    }
}

/// States Apple's `Retry-After` in seconds from now, as RFC 9110 has it, so that the retry policy can read it.
struct RelativeRetryAfter: HTTPTransportProtocol {
    let base: any HTTPTransportProtocol
    let now: @Sendable () -> Date

    func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        var response = try await base.send(request)
        guard !response.isSuccess, let time = response.acceptsRequestsAgain else { return response }
        let wait = max(time.millisecondsSince1970 - now().millisecondsSince1970, 0)
        response.headers.remove("Retry-After")
        response.headers.add("Retry-After", String(min(wait / 1000 + 1, 999_999_999)))
        return response
    }
}
