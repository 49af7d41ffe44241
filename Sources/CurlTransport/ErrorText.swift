import CLifecycleCurl

/// The only owner of the octets that libcurl writes a transfer's error into.
///
/// They can quote the server, so they are looked at but never handed on.
@safe struct ErrorText: ~Copyable {
    private let octets: UnsafeMutablePointer<CChar>

    init() {
        // As many as libcurl asks for, and zero, so that there is a text at any time.
        unsafe octets = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe octets.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        // Allocated above; libcurl has let go of it together with the transfer.
        unsafe octets.deallocate()
    }

    /// Valid as long as the owner is.
    var pointer: UnsafeRawPointer { unsafe UnsafeRawPointer(octets) }

    /// True if a handshake was cut off rather than refused, which have the same number in libcurl.
    var saysConnectionEnded: Bool {
        // libcurl ends the text with a zero within the size.
        let text = unsafe String(cString: octets)
        return ["SSL_ERROR_SYSCALL", "unexpected eof", "Connection reset"].contains { text.contains($0) }
    }
}
