import WireJSON

/// Why RevenueCat's REST API refused a request, in either version's words.
public struct RevenueCatAPIError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The numeric code of the older version.
    public struct Code: RawRepresentable, Hashable, Sendable, ExpressibleByIntegerLiteral {
        /// RevenueCat's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }
        /// Keeps a number as it is.
        public init(integerLiteral value: Int64) { rawValue = value }

        /// The store could not be asked.
        public static let storeProblem: Code = 7101
        /// The API key is not valid.
        public static let invalidKey: Code = 7225
        /// The subscription is not known.
        public static let subscriptionNotFound: Code = 7259
        /// A purchase is being worked on already.
        public static let inProgress: Code = 7638
        /// RevenueCat failed.
        public static let internalError: Code = 7110
    }

    /// The HTTP status.
    public var status: Int
    /// The code, if one was given.
    public var code: Code?
    /// The newer version's `type`, such as `rate_limit_error`.
    public var type: String?
    /// True if RevenueCat says that the same request can succeed later.
    public var isRetryable: Bool
    /// How long RevenueCat asks to be left alone, in milliseconds.
    public var backoffMilliseconds: Int64?
    /// True if the body is RevenueCat's own. A proxy may have answered instead.
    private(set) var isStated = false

    /// Reads as much as possible of an answer; a body of another form says nothing.
    init(status: Int, body: [UInt8]) {
        self.status = status
        isRetryable = status == 423 || status == 429 || status >= 500
        guard var reader = try? ObjectReader(parsing: body) else { return }
        if let value = reader.optionalValue("code") {
            let number = value.kind == .string ? Int64((try? value.string()) ?? "") : try? value.int64()
            code = number.map(Code.init(rawValue:))
        }
        if [.inProgress, 7629, .storeProblem, .internalError].contains(code) { isRetryable = true }
        type = reader.descriptiveString("type")
        isStated = code != nil || type != nil || reader.descriptiveString("message") != nil
        if let stated = reader.descriptiveBool("retryable") { isRetryable = stated }
        backoffMilliseconds = reader.descriptiveInt64("backoff_ms").flatMap { $0 >= 0 ? $0 : nil }
    }

    /// Status and code; never RevenueCat's message, which may repeat the request.
    public var description: String {
        "status \(status)" + (code.map { ", code \($0.rawValue)" } ?? "") + (type.map { ", \($0)" } ?? "")
    }
}
