import CLifecycleCurl
import HTTPTransport

/// A `CURLM *` on its way between threads.
///
/// `@unchecked Sendable` holds because ``TransferLoop`` keeps three rules. Before the loop's thread runs, only the
/// initializer touches the handle. From then on that thread alone does, apart from `curl_multi_wakeup`, which libcurl
/// allows on any thread. A wake-up happens only under the lock of the loop's mailbox and while the mailbox holds the
/// handle; the thread takes it out, under the same lock, before it destroys it.
@safe struct MultiHandle: @unchecked Sendable {
    let pointer: UnsafeMutableRawPointer

    init(_ configuration: CurlHTTPTransport.Configuration) throws(HTTPTransportError) {
        guard let pointer = unsafe curl_multi_init() else {
            throw HTTPTransportError(.transportFailure, "libcurl has no memory for a transport")
        }
        unsafe self.pointer = unsafe pointer
        let options = [
            (CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX)),
            (CURLMOPT_MAX_HOST_CONNECTIONS, configuration.maximumConnectionsPerHost),
            (CURLMOPT_MAXCONNECTS, configuration.maximumIdleConnections),
        ]
        for (option, value) in options {
            try require(
                unsafe lifecycle_curl_multi_set_long(pointer, option, value),
                "libcurl refused option \(option.rawValue) of a transport"
            )
        }
        // Without a descriptor for it libcurl makes a handle that cannot be woken, and reports it here only.
        try require(unsafe curl_multi_wakeup(pointer), "libcurl has no descriptor to be woken by")
    }

    private func require(_ code: CURLMcode, _ message: String) throws(HTTPTransportError) {
        guard code != CURLM_OK else { return }
        destroy()
        throw HTTPTransportError(.transportFailure, message, libraryCode: Int(code.rawValue))
    }

    /// Closes every connection. No transfer may be left, and the handle may not be used afterwards.
    func destroy() {
        unsafe curl_multi_cleanup(pointer)
    }

    func wakeUp() {
        // It can only fail where the pipe to the thread is full, and then the thread is awake.
        _ = unsafe curl_multi_wakeup(pointer)
    }

    /// Takes a transfer up; it must be kept until ``remove(_:)``.
    func add(_ transfer: Transfer) -> CURLMcode {
        unsafe curl_multi_add_handle(pointer, transfer.easy.pointer)
    }

    /// Breaks a transfer off, or clears one away that has ended. No callback comes afterwards.
    ///
    /// It fails only for handles that are none.
    func remove(_ transfer: Transfer) {
        let code = unsafe curl_multi_remove_handle(pointer, transfer.easy.pointer)
        assert(code == CURLM_OK)
    }

    /// Does all work that needs no waiting.
    func perform() -> CURLMcode {
        var running: Int32 = 0
        return unsafe curl_multi_perform(pointer, &running)
    }

    /// Waits for a socket, for the next of libcurl's own deadlines, for ours, or for ``wakeUp()``.
    func wait(until deadline: ContinuousClock.Instant?) -> CURLMcode {
        let milliseconds = deadline.map { ContinuousClock.now.duration(to: $0).curlMilliseconds } ?? Int(Int32.max)
        return unsafe curl_multi_poll(pointer, nil, 0, Int32(milliseconds), nil)
    }

    /// The next transfer that has come to its end.
    func nextCompletion() -> (transfer: Transfer, code: CURLcode)? {
        var left: Int32 = 0
        while let message = unsafe curl_multi_info_read(pointer, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE else { continue }
            let code = unsafe message.pointee.data.result
            var target: UnsafeMutableRawPointer?
            guard unsafe lifecycle_curl_get_pointer(message.pointee.easy_handle, CURLINFO_PRIVATE, &target) == CURLE_OK,
                let target = unsafe target
            else { continue }
            // CURLOPT_PRIVATE is a transfer that the loop keeps until it has removed it from this handle.
            return (unsafe Unmanaged<Transfer>.fromOpaque(target).takeUnretainedValue(), code)
        }
        return nil
    }
}
