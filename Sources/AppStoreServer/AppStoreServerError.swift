public import FoundationEssentials
public import LifecycleEvents

/// Why the App Store Server API gave no usable answer.
///
/// Nothing follows from such an error for a purchase: a failed look-up never ends access.
public struct AppStoreServerError: Error, Sendable {
    /// The cause, from an open set.
    public struct Code: OpenValue {
        /// The name used in logs and metrics.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The request was refused here, or Apple calls it wrong; sending it again does not help.
        public static let invalidRequest: Code = "invalid_request"
        /// Apple refuses the token: key, key id, issuer id, bundle id or the clock is wrong. Apple does not say which; see
        /// ``AppStoreServer/AppStoreServerClient/preflight(attempts:)``.
        public static let unauthorized: Code = "unauthorized"
        /// Apple does not allow this for the purchase, such as a third extension within a year.
        public static let forbidden: Code = "forbidden"
        /// Apple knows no such transaction, order or test. It says nothing about access: recent transactions can be unknown
        /// for a while, and an id can belong to the other environment.
        public static let notFound: Code = "not_found"
        /// Too many requests. ``AppStoreServerError/retryAt`` says when to continue, if Apple states it.
        public static let rateLimited: Code = "rate_limited"
        /// Apple or the network is out of order at the moment, or another server has answered, such as a proxy.
        /// ``AppStoreServerError/retryAt`` says when to continue, if Apple states it.
        public static let unavailable: Code = "unavailable"
        /// The answer is not the documented JSON, or its signed data does not verify.
        public static let unreadable: Code = "unreadable"
        /// The task was canceled.
        public static let canceled: Code = "canceled"
    }

    /// The cause.
    public var code: Code
    /// The details. They never hold a token, an identifier of a customer, or a payload.
    public var message: String
    /// Apple's `errorCode`, verbatim, even if it is not a documented one.
    public var number: Int64?
    /// The HTTP status of the answer; absent if there was none.
    public var status: Int?
    /// When Apple accepts requests again (`Retry-After`, which Apple states as an absolute time in milliseconds).
    public var retryAt: Date?
    /// The error behind this one.
    public var underlying: (any Error)?

    init(
        _ code: Code,
        _ message: String,
        number: Int64? = nil,
        status: Int? = nil,
        retryAt: Date? = nil,
        underlying: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.number = number
        self.status = status
        self.retryAt = retryAt
        self.underlying = underlying
    }

    /// True if the same request can succeed later without a change.
    public var isRetryable: Bool { code == .rateLimited || code == .unavailable }
}

extension AppStoreServerError: CustomStringConvertible {
    /// `code: message (Apple's number)`
    public var description: String { "\(code): \(details)" }

    /// `message (Apple's number)`
    var details: String { message + (number.map { " (errorCode \($0))" } ?? "") }
}
