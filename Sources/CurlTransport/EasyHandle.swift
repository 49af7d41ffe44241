import CLifecycleCurl
import HTTPTransport

/// The only owner of one `CURL *`. Its transfer must have left the multi handle before it is destroyed.
@safe struct EasyHandle: ~Copyable {
    private let handle: UnsafeMutableRawPointer
    /// Where its connection comes from; the multi handle's own unless given. It goes after the handle, since a value's parts
    /// outlive its `deinit`.
    let pool: ConnectionPool?

    init(from pool: ConnectionPool? = nil) throws(HTTPTransportError) {
        guard let handle = unsafe curl_easy_init() else {
            throw HTTPTransportError(.transportFailure, "libcurl has no memory for a request")
        }
        unsafe self.handle = unsafe handle
        self.pool = pool
    }

    deinit {
        // The handle came from curl_easy_init and is freed here alone.
        unsafe curl_easy_cleanup(handle)
    }

    /// For the calls that take part in a multi handle; valid as long as the owner is.
    var pointer: UnsafeMutableRawPointer { unsafe handle }

    func set(_ option: CURLoption, _ value: Int) throws(HTTPTransportError) {
        try check(unsafe lifecycle_curl_set_long(handle, option, value), option)
    }

    func set(_ option: CURLoption, offset value: Int) throws(HTTPTransportError) {
        try check(unsafe lifecycle_curl_set_offset(handle, option, curl_off_t(value)), option)
    }

    func set(_ option: CURLoption, _ value: String) throws(HTTPTransportError) {
        // libcurl would take the text before a NUL for the whole.
        guard !value.utf8.contains(0) else {
            throw HTTPTransportError(.invalidRequest, "text with a NUL for libcurl's option \(option.rawValue)")
        }
        // libcurl copies the string during the call.
        try check(unsafe value.withCString { unsafe lifecycle_curl_set_string(handle, option, $0) }, option)
    }

    func clear(_ option: CURLoption) throws(HTTPTransportError) {
        try check(unsafe lifecycle_curl_set_string(handle, option, nil), option)
    }

    /// The target must live and stay in its place until the transfer has left the multi handle.
    @unsafe func set(_ option: CURLoption, target: UnsafeRawPointer) throws(HTTPTransportError) {
        try check(unsafe lifecycle_curl_set_pointer(handle, option, target), option)
    }

    /// Has libcurl forget the text it might write an error into, up to its very end.
    func forgetErrorText() {
        // Taking a target away cannot fail.
        unsafe lifecycle_curl_set_pointer(handle, CURLOPT_ERRORBUFFER, nil)
    }

    func set(_ option: CURLoption, callback: curl_write_callback) throws(HTTPTransportError) {
        try check(unsafe lifecycle_curl_set_callback(handle, option, callback), option)
    }

    func set(_ option: CURLoption, blob octets: [UInt8]) throws(HTTPTransportError) {
        // CURL_BLOB_COPY has libcurl copy the octets during the call; it never writes through the pointer.
        let code = unsafe octets.withUnsafeBytes { buffer in
            var blob = unsafe curl_blob(
                data: UnsafeMutableRawPointer(mutating: buffer.baseAddress),
                len: buffer.count,
                flags: UInt32(CURL_BLOB_COPY)
            )
            return unsafe lifecycle_curl_set_blob(handle, option, &blob)
        }
        try check(code, option)
    }

    func setBody(_ octets: [UInt8]) throws(HTTPTransportError) {
        // The size has to be set first: libcurl copies so many octets during the call. Without any it wants a pointer
        // all the same, or it would ask a read callback for them.
        try set(CURLOPT_POSTFIELDSIZE_LARGE, offset: octets.count)
        let code = unsafe (octets.isEmpty ? [0] : octets).withUnsafeBytes { buffer in
            unsafe lifecycle_curl_set_pointer(handle, CURLOPT_COPYPOSTFIELDS, buffer.baseAddress)
        }
        try check(code, CURLOPT_COPYPOSTFIELDS)
    }

    func usePool() throws(HTTPTransportError) {
        if let pool { try unsafe set(CURLOPT_SHARE, target: pool.pointer) }
    }

    /// The options of every request, whatever the configuration.
    func secure() throws(HTTPTransportError) {
        try check(unsafe lifecycle_curl_allow_https_only(handle), CURLOPT_URL)
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        try set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
    }

    func trust(_ roots: CurlHTTPTransport.Configuration.TrustRoots) throws(HTTPTransportError) {
        switch roots {
        case .system: return
        case .file(let path):
            try set(CURLOPT_CAINFO, path)
        case .pem(let octets):
            try clear(CURLOPT_CAINFO)
            try set(CURLOPT_CAINFO_BLOB, blob: octets)
        }
        // Distributions build in a directory of public authorities, which would be trusted in addition to these.
        try clear(CURLOPT_CAPATH)
    }

    func allowHTTPOnly() throws(HTTPTransportError) {
        try check(unsafe lifecycle_curl_allow_http_only(handle), CURLOPT_URL)
    }

    func leaveResolver() throws(HTTPTransportError) {
        try check(unsafe lifecycle_curl_leave_resolver(handle), CURLOPT_URL)
    }

    func information(_ information: CURLINFO) -> Int? {
        var value = 0
        return unsafe lifecycle_curl_get_long(handle, information, &value) == CURLE_OK ? value : nil
    }

    func information(offset information: CURLINFO) -> Int64? {
        var value: curl_off_t = 0
        return unsafe lifecycle_curl_get_offset(handle, information, &value) == CURLE_OK ? Int64(value) : nil
    }

    // An option that libcurl does not take would otherwise silently stay off.
    private func check(_ code: CURLcode, _ option: CURLoption) throws(HTTPTransportError) {
        guard code == CURLE_OK else {
            throw HTTPTransportError(
                .transportFailure,
                "libcurl refused option \(option.rawValue)",
                libraryCode: Int(code.rawValue)
            )
        }
    }
}
