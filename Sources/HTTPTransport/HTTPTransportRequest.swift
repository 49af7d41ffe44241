/// One HTTPS request, checked when it is made: a transport can send it as it is.
public struct HTTPTransportRequest: Sendable, Hashable {
    /// A request method.
    public struct Method: Sendable, Hashable, CustomStringConvertible {
        /// As it is sent.
        public let name: String

        /// Reads.
        public static let get = Method(name: "GET")
        /// Reads the header fields only.
        public static let head = Method(name: "HEAD")
        /// Has the server process the body.
        public static let post = Method(name: "POST")
        /// Replaces.
        public static let put = Method(name: "PUT")
        /// Changes a part.
        public static let patch = Method(name: "PATCH")
        /// Removes.
        public static let delete = Method(name: "DELETE")

        /// True if sending it twice does what sending it once does (RFC 9110, section 9.2.2).
        public var isIdempotent: Bool { self != .post && self != .patch }

        /// As it is sent.
        public var description: String { name }
    }

    /// The method.
    public let method: Method
    /// Where it goes.
    public let url: HTTPSURL
    /// The header fields; the transport adds `Host`, `Content-Length` and `Accept-Encoding`.
    public private(set) var headers = HTTPTransportHeaders()
    /// The body.
    public let body: [UInt8]
    /// How long everything together may take, from the look-up of the name to the last octet of the answer.
    public private(set) var timeout: Duration
    /// The largest body of an answer, in octets after content decoding.
    public let maximumResponseBytes: Int
    /// True if it may be sent again when it is unknown if the server has acted on it.
    ///
    /// The method decides, unless you know better: a `POST` with an idempotency key, or one that only reads. It pays
    /// to say so, since a kept connection can end just when it is used again, and a request that must not be repeated
    /// therefore has to go over a new one.
    public var isIdempotent: Bool

    /// Makes a request.
    ///
    /// - Throws: `invalidRequest` if ``setHeader(_:to:)`` refuses a field, a `GET` or `HEAD` has a body, the
    ///   time-out is not positive, or the limit is negative.
    public init(
        _ method: Method,
        _ url: HTTPSURL,
        headers: HTTPTransportHeaders = [:],
        body: [UInt8] = [],
        timeout: Duration = .seconds(10),
        maximumResponseBytes: Int = 1_048_576
    ) throws(HTTPTransportError) {
        guard body.isEmpty || (method != .get && method != .head) else {
            throw HTTPTransportError(.invalidRequest, "\(method) with a body of \(body.count) bytes")
        }
        guard timeout > .zero else { throw HTTPTransportError(.invalidRequest, "timeout must be positive") }
        guard maximumResponseBytes >= 0 else {
            throw HTTPTransportError(.invalidRequest, "maximumResponseBytes must not be negative")
        }
        for field in headers.fields { try Self.check(field) }
        self.method = method
        self.url = url
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumResponseBytes = maximumResponseBytes
        self.isIdempotent = method.isIdempotent
    }

    /// Replaces every field of that name by one.
    ///
    /// - Throws: `invalidRequest` if the name is no token, the value has a control character other than a tab or
    ///   exceeds 16 KiB, or the field is one that only the transport may write.
    public mutating func setHeader(_ name: String, to value: String) throws(HTTPTransportError) {
        try Self.check(HTTPTransportHeaders.Field(name: name, value: value))
        headers.remove(name)
        headers.add(name, value)
    }

    /// The same request with no more time than `limit`.
    func limited(to limit: Duration) -> HTTPTransportRequest {
        var request = self
        request.timeout = min(timeout, limit)
        return request
    }

    // They state the end of a message and its addressee; two opinions on that are request smuggling.
    private static let reserved = [
        "Host", "Content-Length", "Transfer-Encoding", "TE", "Trailer", "Connection", "Keep-Alive", "Upgrade",
        "Proxy-Connection", "Proxy-Authorization", "Expect", "Accept-Encoding",
    ]

    private static func check(_ field: HTTPTransportHeaders.Field) throws(HTTPTransportError) {
        guard (1...256).contains(field.name.utf8.count), field.name.utf8.allSatisfy(ASCII.isTokenCharacter) else {
            throw HTTPTransportError(
                .invalidRequest,
                "name of a header field must be a token (RFC 9110, section 5.6.2)"
            )
        }
        guard !reserved.contains(where: { HTTPTransportHeaders.namesMatch($0, field.name) }) else {
            throw HTTPTransportError(.invalidRequest, "header \(field.name) is written by the transport")
        }
        guard field.value.utf8.count <= 16_384 else {
            throw HTTPTransportError(
                .invalidRequest,
                "value of header \(field.name) has \(field.value.utf8.count) bytes, at most 16384"
            )
        }
        guard !field.value.utf8.contains(where: { ASCII.isControl($0) && $0 != 0x09 }) else {
            throw HTTPTransportError(.invalidRequest, "value of header \(field.name) has a control character")
        }
    }
}

extension HTTPTransportRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Method, host, header names and the body's length.
    public var description: String { "\(method) \(url) \(headers), body of \(body.count) bytes" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
