/// Why a request has no answer.
///
/// Messages name hosts, header names and counts; never a path, a query, a header's value or a body.
public struct HTTPTransportError: Error, Sendable {
    /// The cause. The set is open: a transport may add its own.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The name used in logs and metrics.
        public let rawValue: String

        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The request was refused before anything was sent.
        public static let invalidRequest = Code(rawValue: "invalidRequest")
        /// No connection came about, or none in time, so the server has seen nothing of the request.
        public static let connectionFailed = Code(rawValue: "connectionFailed")
        /// The connection broke after the request, or a part of it, may have been sent.
        public static let connectionLost = Code(rawValue: "connectionLost")
        /// TLS could not be agreed on, or the server's certificate is not one for this host that we trust.
        public static let tls = Code(rawValue: "tls")
        /// The time was over before the answer was complete, and the request, or a part of it, may have been sent.
        public static let timeout = Code(rawValue: "timeout")
        /// The answer is larger than the request allows.
        public static let responseTooLarge = Code(rawValue: "responseTooLarge")
        /// The answer breaks HTTP, or its content coding.
        public static let protocolError = Code(rawValue: "protocolError")
        /// The task was canceled.
        public static let canceled = Code(rawValue: "canceled")
        /// The transport was shut down.
        public static let shutDown = Code(rawValue: "shutDown")
        /// The transport has no memory, threads or descriptors left, or is set up wrongly.
        public static let transportFailure = Code(rawValue: "transportFailure")

        /// True if the same request can succeed later without a change on your side.
        public var isRetryable: Bool {
            switch self {
            case .connectionFailed, .connectionLost, .timeout, .protocolError: true
            default: false
            }
        }

        /// The name itself.
        public var description: String { rawValue }
    }

    /// The cause.
    public var code: Code
    /// The details, for a log.
    public var message: String
    /// The number that the transport's own library gave, for looking up.
    public var libraryCode: Int?
    /// The status of the answer, if it had come before the request failed, as it has for an answer that is too large.
    public var status: Int?

    /// Makes an error. The message must be fit for a log.
    public init(_ code: Code, _ message: String, libraryCode: Int? = nil) {
        self.code = code
        self.message = message
        self.libraryCode = libraryCode
    }

    /// True if the same request can succeed later without a change on your side.
    public var isRetryable: Bool { code.isRetryable }
}

extension HTTPTransportError: CustomStringConvertible {
    /// `code: message`
    public var description: String { "\(code): \(message)" }
}
