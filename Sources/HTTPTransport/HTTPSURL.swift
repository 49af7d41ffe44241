/// An absolute https URL that is built from parts, so that no part can reach into another.
///
/// There are no credentials and no fragment in it. Everything outside the unreserved characters of RFC 3986,
/// section 2.3, is percent-encoded in segments and queries.
public struct HTTPSURL: Sendable, Hashable {
    /// The longest URL in octets.
    public static let maximumLength = 16_384

    /// One segment of a path: text that is encoded, and behind it perhaps the verb of a custom method.
    public struct PathSegment: Sendable, Hashable, ExpressibleByStringLiteral {
        var text: String
        var verb: String?
        var mayBeEmpty = false

        /// A segment that stands empty if a parameter of the path has no value, as in `subscriptions//tokens`.
        public static let empty: PathSegment = {
            var segment = PathSegment("")
            segment.mayBeEmpty = true
            return segment
        }()

        /// Text of any origin.
        public init(_ text: String) {
            self.text = text
        }

        /// Text of any origin and a verb behind a plain colon, as Google's APIs write `token:acknowledge`.
        public init(_ text: String, verb: StaticString) {
            self.text = text
            self.verb = verb.description
        }

        /// Text of any origin.
        public init(stringLiteral text: String) {
            self.text = text
        }
    }

    /// One `name=value` of the query.
    public struct QueryItem: Sendable, Hashable {
        /// The name, not yet encoded.
        public var name: String
        /// The value, not yet encoded.
        public var value: String

        /// Keeps a name and a value.
        public init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The host in lower case.
    public let host: String
    /// The port, if it is not 443.
    public let port: Int?
    /// The encoded path, which starts with `/`.
    public let path: String
    /// The encoded query without `?`.
    public let query: String?
    /// The reason to speak to it without TLS; nil for https.
    let plainPurpose: PlainPurpose?

    /// The exceptions from https.
    enum PlainPurpose: Hashable, Sendable {
        case emulator
        case certificateStatus
    }

    /// True if it is an emulator on this host, spoken to without TLS. Only ``emulator(host:port:path:)`` and
    /// ``emulator(_:)`` make such a URL.
    public var isEmulator: Bool { plainPurpose == .emulator }

    /// Builds a URL.
    ///
    /// - Throws: `invalidRequest` if the host is not a DNS name or an IPv4 address, the port is not one, a segment
    ///   is empty, `.` or `..`, or a control character stands in a segment or the query.
    public init(
        host: String,
        port: Int? = nil,
        path: [PathSegment] = [],
        query: [QueryItem] = []
    ) throws(HTTPTransportError) {
        self.host = try Self.checked(host: host)
        self.port = try Self.checked(port: port)
        self.path = try Self.encoded(path)
        self.query = try Self.encoded(query)
        plainPurpose = nil
        try checkLength()
    }

    /// An exception from https: an emulator of a service, on the loopback interface of this host, for tests.
    ///
    /// Apart from the address at which a certificate's authority says if it was revoked, nothing but this and ``emulator(_:)``
    /// makes a URL without TLS.
    ///
    /// - Throws: `invalidRequest` for a host other than `localhost` or one of 127.0.0.0/8, and as
    ///   ``init(host:port:path:query:)``.
    public static func emulator(
        host: String = "localhost",
        port: Int,
        path: [PathSegment] = []
    ) throws(HTTPTransportError) -> HTTPSURL {
        let url = try HTTPSURL(host: host, port: port, path: path)
        try checkLoopback(url.host)
        return HTTPSURL(host: url.host, port: port, encodedPath: url.path, encodedQuery: nil, plainPurpose: .emulator)
    }

    /// The same exception from https, for a URL from a configuration, which is taken as ``init(_:)`` takes one.
    ///
    /// - Throws: `invalidRequest` for a scheme other than http, a host other than `localhost` or one of 127.0.0.0/8, and as
    ///   ``init(_:)``.
    public static func emulator(_ string: String) throws(HTTPTransportError) -> HTTPSURL {
        let url = try HTTPSURL(string, plainPurpose: .emulator)
        try checkLoopback(url.host)
        return url
    }

    private static func checkLoopback(_ host: String) throws(HTTPTransportError) {
        let isAddress = host.utf8.allSatisfy { ASCII.isDigit($0) || $0 == UInt8(ascii: ".") }
        guard host == "localhost" || isAddress && host.hasPrefix("127.") else {
            throw HTTPTransportError(.invalidRequest, "emulator's host must be localhost or a loopback address")
        }
    }

    /// Takes a URL from a configuration as it is, apart from the case of scheme and host.
    ///
    /// - Throws: `invalidRequest` for a scheme other than https, credentials, a fragment, an empty, `.` or `..`
    ///   segment (encoded or not), or a character that has to be encoded.
    public init(_ string: String) throws(HTTPTransportError) { try self.init(string, plainPurpose: nil) }

    private init(_ string: String, plainPurpose: PlainPurpose?) throws(HTTPTransportError) {
        let scheme = plainPurpose == nil ? "https://" : "http://"
        let octets = Array(string.utf8)
        guard octets.count <= Self.maximumLength else {
            throw HTTPTransportError(.invalidRequest, "URL has \(octets.count) bytes, at most \(Self.maximumLength)")
        }
        guard string.prefix(scheme.count).lowercased() == scheme else {
            throw HTTPTransportError(.invalidRequest, "URL must begin with \(scheme)")
        }
        let rest = octets.dropFirst(scheme.utf8.count)
        let authorityEnd = rest.firstIndex { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") } ?? rest.endIndex
        let authority = rest[..<authorityEnd]
        let pathEnd = rest[authorityEnd...].firstIndex(of: UInt8(ascii: "?")) ?? rest.endIndex

        guard !authority.contains(UInt8(ascii: "@")) else {
            throw HTTPTransportError(.invalidRequest, "URL must have no user or password")
        }
        if let colon = authority.firstIndex(of: UInt8(ascii: ":")) {
            let digits = String(decoding: authority[authority.index(after: colon)...], as: UTF8.self)
            guard !digits.isEmpty, digits.utf8.count <= 5, digits.utf8.allSatisfy(ASCII.isDigit),
                let number = Int(digits)
            else { throw HTTPTransportError(.invalidRequest, "URL's port must be a number") }
            host = try Self.checked(host: String(decoding: authority[..<colon], as: UTF8.self))
            let other = try Self.checked(port: number)
            port = plainPurpose == nil ? other : number
        } else {
            host = try Self.checked(host: String(decoding: authority, as: UTF8.self))
            port = nil
        }

        let path = rest[authorityEnd..<pathEnd]
        try Self.check(path, allowing: "/:@!$&'()*+,;=", name: "path")
        if !path.isEmpty {
            let segments = path.dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
            for (index, segment) in segments.enumerated() {
                let isTrailing = index == segments.count - 1
                guard !segment.isEmpty || isTrailing, !ASCII.isDotSegment(segment) else {
                    throw HTTPTransportError(
                        .invalidRequest,
                        "segment \(index) of the URL's path must not be empty, . or .."
                    )
                }
            }
        }
        self.path = path.isEmpty ? "/" : String(decoding: path, as: UTF8.self)

        let query = rest[pathEnd...].dropFirst()
        try Self.check(query, allowing: "/:@!$&'()*+,;=?", name: "query")
        self.query = query.isEmpty ? nil : String(decoding: query, as: UTF8.self)
        self.plainPurpose = plainPurpose
    }

    /// The same URL with more segments at the end of its path and more items at the end of its query.
    ///
    /// - Throws: as ``init(host:port:path:query:)``.
    public func appending(
        path segments: [PathSegment],
        query items: [QueryItem] = []
    ) throws(HTTPTransportError) -> HTTPSURL {
        let added = segments.isEmpty ? "" : try Self.encoded(segments)
        let base = path.hasSuffix("/") && !added.isEmpty ? String(path.dropLast()) : path
        let queries = [query, try Self.encoded(items)].compactMap { $0 }
        let url = HTTPSURL(
            host: host,
            port: port,
            encodedPath: base + added,
            encodedQuery: queries.isEmpty ? nil : queries.joined(separator: "&"),
            plainPurpose: plainPurpose
        )
        try url.checkLength()
        return url
    }

    /// The whole URL, for the transport. It can hold tokens; ``description`` does not.
    public var absoluteString: String {
        let authority = port.map { "\(host):\($0)" } ?? host
        return "\(scheme)://\(authority)\(path)" + (query.map { "?\($0)" } ?? "")
    }

    /// `https`, unless it is an emulator's, or that of a responder which a certificate names.
    public var scheme: String { plainPurpose == nil ? "https" : "http" }

    /// True if the path is made of these segments, however each is encoded (RFC 3986, section 6.2.2.2).
    package func leads(to segments: [PathSegment]) -> Bool {
        let parts = Array(path.utf8).dropFirst().split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        return parts.count == segments.count
            && zip(parts, segments).allSatisfy { part, segment in
                segment.verb == nil && ASCII.percentDecoded(part).elementsEqual(segment.text.utf8)
            }
    }

    private init(host: String, port: Int?, encodedPath: String, encodedQuery: String?, plainPurpose: PlainPurpose?) {
        self.host = host
        self.port = port
        self.path = encodedPath
        self.query = encodedQuery
        self.plainPurpose = plainPurpose
    }

    func inPlain(for purpose: PlainPurpose) -> HTTPSURL {
        HTTPSURL(host: host, port: port, encodedPath: path, encodedQuery: query, plainPurpose: purpose)
    }

    private func checkLength() throws(HTTPTransportError) {
        let length = absoluteString.utf8.count
        guard length <= Self.maximumLength else {
            throw HTTPTransportError(.invalidRequest, "URL has \(length) bytes, at most \(Self.maximumLength)")
        }
    }
}

extension HTTPSURL: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Scheme, host and port: paths and queries carry purchase tokens.
    public var description: String {
        "\(scheme)://" + (port.map { "\(host):\($0)" } ?? host)
    }

    /// The same as the description.
    public var debugDescription: String { description }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension HTTPSURL.PathSegment: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The length only.
    public var description: String { "segment of \(text.utf8.count) bytes" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension HTTPSURL.QueryItem: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name and the length of the value.
    public var description: String { "\(name)=<\(value.utf8.count) bytes>" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension HTTPSURL {
    private static func checked(host: String) throws(HTTPTransportError) -> String {
        let refusal = HTTPTransportError(.invalidRequest, "URL's host is neither a DNS name nor an IPv4 address")
        let labels = host.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard !host.isEmpty, host.utf8.count <= 253 else { throw refusal }
        for label in labels {
            guard !label.isEmpty, label.count <= 63, label.first != UInt8(ascii: "-"), label.last != UInt8(ascii: "-"),
                label.allSatisfy({ ASCII.isAlphanumeric($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") })
            else { throw refusal }
        }
        // Resolvers read `127.1`, `0x7f000001` and `2130706433` as addresses, which no allow-list of hosts expects.
        if let last = labels.last, let first = last.first, ASCII.isDigit(first) {
            guard labels.count == 4 else { throw refusal }
            for label in labels {
                guard label.count <= 3, label.allSatisfy(ASCII.isDigit),
                    label.count == 1 || label.first != UInt8(ascii: "0"),
                    UInt8(String(decoding: label, as: UTF8.self)) != nil
                else { throw refusal }
            }
        }
        return host.lowercased()
    }

    private static func checked(port: Int?) throws(HTTPTransportError) -> Int? {
        guard let port, port != 443 else { return nil }
        guard (1...65_535).contains(port) else {
            throw HTTPTransportError(.invalidRequest, "URL's port must be 1 to 65535")
        }
        return port
    }

    private static func encoded(_ segments: [PathSegment]) throws(HTTPTransportError) -> String {
        guard !segments.isEmpty else { return "/" }
        var path = ""
        for (index, segment) in segments.enumerated() {
            guard !segment.text.isEmpty || segment.mayBeEmpty, segment.text != ".", segment.text != ".." else {
                throw HTTPTransportError(
                    .invalidRequest,
                    "segment \(index) of the URL's path must not be empty, . or .."
                )
            }
            guard !ASCII.hasControl(segment.text) else {
                throw HTTPTransportError(.invalidRequest, "segment \(index) of the URL's path has a control character")
            }
            path += "/" + ASCII.percentEncoded(segment.text)
            if let verb = segment.verb {
                guard !verb.isEmpty, verb.utf8.allSatisfy(ASCII.isAlphanumeric) else {
                    throw HTTPTransportError(.invalidRequest, "verb of segment \(index) is not letters and digits")
                }
                path += ":" + verb
            }
        }
        return path
    }

    private static func encoded(_ items: [QueryItem]) throws(HTTPTransportError) -> String? {
        guard !items.isEmpty else { return nil }
        var pairs: [String] = []
        for (index, item) in items.enumerated() {
            guard !item.name.isEmpty, !ASCII.hasControl(item.name), !ASCII.hasControl(item.value) else {
                throw HTTPTransportError(
                    .invalidRequest,
                    "query item \(index) has no name, or a control character in it"
                )
            }
            pairs.append(ASCII.percentEncoded(item.name) + "=" + ASCII.percentEncoded(item.value))
        }
        return pairs.joined(separator: "&")
    }

    private static func check(
        _ octets: ArraySlice<UInt8>,
        allowing extra: StaticString,
        name: StaticString
    ) throws(HTTPTransportError) {
        let extra = Set(extra.description.utf8)
        var index = octets.startIndex
        while index < octets.endIndex {
            if octets[index] == UInt8(ascii: "%") {
                guard let decoded = ASCII.decodedEscape(octets[index...]), !ASCII.isControl(decoded) else {
                    throw HTTPTransportError(.invalidRequest, "URL's \(name) has a wrong percent-encoding")
                }
                index += 3
            } else {
                guard ASCII.isUnreserved(octets[index]) || extra.contains(octets[index]) else {
                    throw HTTPTransportError(.invalidRequest, "URL's \(name) has a character that must be encoded")
                }
                index += 1
            }
        }
    }
}
