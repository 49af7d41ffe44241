import CLifecycleCurl
import HTTPTransport

/// One request on its way. Only the loop's thread touches it, and libcurl's callbacks, which run there too.
final class Transfer {
    typealias Continuation = CheckedContinuation<Result<HTTPTransportResponse, HTTPTransportError>, Never>

    /// All header fields of an answer together, those of interim answers included.
    static let maximumHeaderBytes = 65_536

    let ticket: Ticket
    let easy: EasyHandle
    let deadline: ContinuousClock.Instant
    private let headerList: HeaderList
    private let errorText: ErrorText
    private let continuation: Continuation
    private let silence: ConnectionSilence
    private let start = ContinuousClock.now
    /// True if no kept connection may carry it.
    private let isOnNewConnection: Bool
    private let url: HTTPSURL
    private let limit: Int
    private var headers = HTTPTransportHeaders()
    private var headerBytes = 0
    private var isHeaderComplete = false
    private var body: [UInt8] = []
    /// Why a callback has broken the transfer off; libcurl then only knows that one did.
    private var refusal: HTTPTransportError?

    init(
        _ request: HTTPTransportRequest,
        for ticket: Ticket,
        until deadline: ContinuousClock.Instant,
        from pool: ConnectionPool?,
        with configuration: CurlHTTPTransport.Configuration,
        endingA silence: ConnectionSilence,
        resuming continuation: Continuation
    ) throws(HTTPTransportError) {
        self.ticket = ticket
        self.deadline = deadline
        self.silence = silence
        self.continuation = continuation
        // On a kept connection that turns out to be closed, libcurl sends a request once more by itself.
        isOnNewConnection = !request.isIdempotent
        url = request.url
        limit = request.maximumResponseBytes
        easy = try EasyHandle(from: pool)
        headerList = try HeaderList(request.headers)
        errorText = ErrorText()

        try setConnection(configuration, timeout: request.timeout)
        // Not asked for by the URL's text: an emulator's URL says so, whose host is a loopback one, and that of a responder.
        if request.url.isEmulator {
            try easy.allowHTTPOnly()
            // The proxy has another loopback interface.
            try easy.set(CURLOPT_PROXY, "")
            try easy.set(CURLOPT_NOPROXY, "*")
        } else if request.url.isCertificateStatus {
            try easy.allowHTTPOnly()
        }
        try setMessage(request)
        try setCallbacks()
    }

    private func setConnection(
        _ configuration: CurlHTTPTransport.Configuration,
        timeout: Duration
    ) throws(HTTPTransportError) {
        try easy.usePool()
        try easy.secure()
        try easy.trust(configuration.trustRoots)
        try easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        // Rather share a connection that is just being made than make another one.
        try easy.set(CURLOPT_PIPEWAIT, 1)
        try easy.set(CURLOPT_NOSIGNAL, 1)
        try easy.leaveResolver()
        try easy.set(CURLOPT_CONNECTTIMEOUT_MS, min(timeout, configuration.connectTimeout).curlMilliseconds)

        // An empty name, not an absent one, keeps libcurl from the environment's proxies and exceptions.
        if let proxy = configuration.proxy {
            try easy.set(CURLOPT_PROXY, proxy.host)
            try easy.set(CURLOPT_PROXYPORT, proxy.port)
            try easy.set(CURLOPT_PROXYTYPE, Int(CURLPROXY_HTTP.rawValue))
            try easy.set(CURLOPT_NOPROXY, "")
            try easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
            if let (username, password) = proxy.credentials {
                try easy.set(CURLOPT_PROXYUSERNAME, username)
                try easy.set(CURLOPT_PROXYPASSWORD, password)
            }
        } else {
            try easy.set(CURLOPT_PROXY, "")
            try easy.set(CURLOPT_NOPROXY, "*")
        }
    }

    private func setMessage(_ request: HTTPTransportRequest) throws(HTTPTransportError) {
        try easy.set(CURLOPT_URL, request.url.absoluteString)
        try easy.set(CURLOPT_PATH_AS_IS, 1)
        try easy.set(CURLOPT_ACCEPT_ENCODING, "gzip")
        switch request.method {
        case .get: try easy.set(CURLOPT_HTTPGET, 1)
        case .head: try easy.set(CURLOPT_NOBODY, 1)
        case .delete where request.body.isEmpty:
            try easy.set(CURLOPT_CUSTOMREQUEST, request.method.name)
        default:
            try easy.set(CURLOPT_POST, 1)
            try easy.setBody(request.body)
            try easy.set(CURLOPT_CUSTOMREQUEST, request.method.name)
        }
        if isOnNewConnection { try easy.set(CURLOPT_FRESH_CONNECT, 1) }
        if request.method != .head, limit > 0 {
            // Refuses by Content-Length, before the first octet of the body.
            try easy.set(CURLOPT_MAXFILESIZE_LARGE, offset: limit)
        }
    }

    private func setCallbacks() throws(HTTPTransportError) {
        // List and text live as long as this object. The loop keeps the object until libcurl has let go of the
        // handle, and callbacks come only until then.
        if let list = unsafe headerList.pointer {
            try unsafe easy.set(CURLOPT_HTTPHEADER, target: list)
        }
        try unsafe easy.set(CURLOPT_ERRORBUFFER, target: errorText.pointer)
        let context = unsafe UnsafeRawPointer(Unmanaged.passUnretained(self).toOpaque())
        try unsafe easy.set(CURLOPT_PRIVATE, target: context)
        try unsafe easy.set(CURLOPT_WRITEDATA, target: context)
        try unsafe easy.set(CURLOPT_HEADERDATA, target: context)
        try unsafe easy.set(CURLOPT_WRITEFUNCTION) { octets, size, count, context in
            unsafe Transfer.receive(octets, size: size, count: count, for: context) { unsafe $0.receiveBody($1) }
        }
        try unsafe easy.set(CURLOPT_HEADERFUNCTION) { octets, size, count, context in
            unsafe Transfer.receive(octets, size: size, count: count, for: context) { unsafe $0.receiveHeader($1) }
        }
    }

    deinit {
        easy.forgetErrorText()
    }

    /// Hands octets on; libcurl breaks the transfer off when it gets back another number than it gave.
    @unsafe private static func receive(
        _ octets: UnsafeMutablePointer<CChar>?,
        size: Int,
        count: Int,
        for context: UnsafeMutableRawPointer?,
        by take: (Transfer, UnsafeRawBufferPointer) -> Bool
    ) -> Int {
        let (length, overflow) = size.multipliedReportingOverflow(by: count)
        guard !overflow, let context = unsafe context, let octets = unsafe octets else { return 0 }
        // The context is the transfer, alive as long as its handle is; the octets are valid during the call.
        let transfer = unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
        return unsafe take(transfer, UnsafeRawBufferPointer(start: octets, count: length)) ? length : Self.brokenOff
    }

    // Never the number given, not even for an empty piece.
    private static let brokenOff = -1

    private func receiveBody(_ octets: UnsafeRawBufferPointer) -> Bool {
        silence.end(on: connection)
        guard octets.count <= limit - body.count else {
            refusal = HTTPTransportError(.responseTooLarge, "\(url): body has more than \(limit) bytes")
            return false
        }
        unsafe body.append(contentsOf: octets)
        return true
    }

    private func receiveHeader(_ octets: UnsafeRawBufferPointer) -> Bool {
        headerBytes += octets.count
        guard headerBytes <= Self.maximumHeaderBytes else {
            refusal = HTTPTransportError(
                .responseTooLarge,
                "\(url): header has more than \(Self.maximumHeaderBytes) bytes"
            )
            return false
        }
        var line = unsafe Array(octets)[...]
        if line.last == 0x0A { line.removeLast() }
        if line.last == 0x0D { line.removeLast() }
        if line.starts(with: Array("HTTP/".utf8)) {
            silence.end(on: connection)
            headers = HTTPTransportHeaders()
            isHeaderComplete = false
            return true
        }
        if line.isEmpty {
            isHeaderComplete = true
            return true
        }
        // Fields after the header are trailers, which are not used.
        if isHeaderComplete { return true }
        guard let colon = line.firstIndex(of: 0x3A), colon > line.startIndex,
            !line.contains(where: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F }),
            !line[..<colon].contains(where: { $0 <= 0x20 || $0 > 0x7E })
        else {
            refusal = HTTPTransportError(.protocolError, "\(url): a header field is malformed")
            return false
        }
        var value = line[line.index(after: colon)...]
        while value.first == 0x20 || value.first == 0x09 { value.removeFirst() }
        while value.last == 0x20 || value.last == 0x09 { value.removeLast() }
        headers.add(String(decoding: line[..<colon], as: UTF8.self), String(decoding: value, as: UTF8.self))
        return true
    }

    /// Wakes the waiting task. Call it once, after the transfer has left the multi handle.
    func finish(_ code: CURLcode) {
        guard code == CURLE_OK else { return finish(failing: refusal ?? error(code)) }
        guard let status = easy.information(CURLINFO_RESPONSE_CODE), (200...999).contains(status) else {
            return finish(failing: HTTPTransportError(.protocolError, "\(url): no status"))
        }
        continuation.resume(returning: .success(HTTPTransportResponse(status: status, headers: headers, body: body)))
    }

    /// Whose connections it may use.
    var origin: String { url.description }
    /// Which of them.
    var pool: ConnectionPool? { easy.pool }

    private var connection: ConnectionSilence.Connection {
        ConnectionSilence.Connection(origin: origin, localPort: easy.information(CURLINFO_LOCAL_PORT) ?? 0)
    }

    /// When it was sent, or somewhat before: a wait for a connection is not taken off; nil if it was not.
    private var sentAt: ContinuousClock.Instant? {
        guard let microseconds = easy.information(offset: CURLINFO_PRETRANSFER_TIME_T), microseconds > 0 else {
            return nil
        }
        return start + .microseconds(microseconds)
    }

    /// True if the connection that it is on is not to be used any more, now that it is given up.
    func findsConnectionSilent() -> Bool {
        sentAt.map { silence.isTooLong(on: connection, since: $0) } ?? false
    }

    /// Has the connection closed as soon as no other request is on it. Call it before the transfer has come to its end.
    func giveConnectionUp() {
        // Where libcurl does not take it, the connection stays, as it would without.
        try? easy.set(CURLOPT_FORBID_REUSE, 1)
    }

    /// Wakes the waiting task because its time is over. Call it once, after the transfer has left the multi handle.
    func finishLate() {
        finish(
            failing: sentAt == nil
                ? HTTPTransportError(.connectionFailed, "\(url): no connection in time")
                : HTTPTransportError(.timeout, "\(url): no complete answer in time")
        )
    }

    /// Wakes the waiting task with an error. Call it once, after the transfer has left the multi handle.
    func finish(failing error: HTTPTransportError) {
        var error = error
        // libcurl refuses a length in the middle of the header, and has the status by then.
        if let status = easy.information(CURLINFO_RESPONSE_CODE), (200...999).contains(status) { error.status = status }
        continuation.resume(returning: .failure(error))
    }

    private func error(_ code: CURLcode) -> HTTPTransportError {
        // libcurl's texts for a number are constants; its texts about one transfer could quote the server.
        let text = unsafe curl_easy_strerror(code).map { unsafe String(cString: $0) } ?? "unknown"
        var message = "\(url): \(text)"
        var ourCode = HTTPTransportError.Code(code)
        if code == CURLE_PEER_FAILED_VERIFICATION, let result = easy.information(CURLINFO_SSL_VERIFYRESULT) {
            message += " (X509 verify result \(result))"
        }
        if code == CURLE_SSL_CONNECT_ERROR, errorText.saysConnectionEnded {
            ourCode = .connectionFailed
            message += " (the connection ended in the handshake)"
        }
        if let status = easy.information(CURLINFO_HTTP_CONNECTCODE), status != 0, !(200..<300).contains(status) {
            ourCode = .connectionFailed
            message += " (the proxy answered \(status))"
        }
        return HTTPTransportError(ourCode, message, libraryCode: Int(code.rawValue))
    }
}

extension HTTPTransportError.Code {
    init(_ code: CURLcode) {
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT, CURLE_PROXY,
            CURLE_INTERFACE_FAILED, CURLE_OPERATION_TIMEDOUT:
            // libcurl gets one time-out only: that for the connection.
            self = .connectionFailed
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CIPHER, CURLE_SSL_CERTPROBLEM,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_CLIENTCERT, CURLE_USE_SSL_FAILED:
            self = .tls
        case CURLE_PARTIAL_FILE, CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_HTTP2,
            CURLE_HTTP2_STREAM, CURLE_SSL_SHUTDOWN_FAILED:
            self = .connectionLost
        case CURLE_FILESIZE_EXCEEDED, CURLcode(100):
            // 100 is CURLE_TOO_LARGE from 8.6 on; before, an endless line of a header is said to be out of memory.
            self = .responseTooLarge
        case CURLE_WEIRD_SERVER_REPLY, CURLE_UNSUPPORTED_PROTOCOL, CURLE_WRITE_ERROR, CURLE_BAD_CONTENT_ENCODING:
            self = .protocolError
        case CURLE_URL_MALFORMAT:
            self = .invalidRequest
        default:
            self = .transportFailure
        }
    }
}

extension Duration {
    /// Rounded up, at least one, and within libcurl's range: to it zero means no limit.
    var curlMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds < 2_000_000 else { return 2_000_000_000 }
        return max(1, Int(seconds) * 1000 + Int((attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000))
    }
}
