import CLifecycleCurl
import HTTPTransport

/// Connections apart from those that the transport keeps otherwise. The only owner of one `CURLSH *`.
///
/// Only the loop's thread touches it, so that libcurl needs no locks. It closes its connections when the last transfer that
/// may use them is gone.
@safe final class ConnectionPool {
    private let share: UnsafeMutableRawPointer

    init() throws(HTTPTransportError) {
        guard let share = unsafe curl_share_init() else {
            throw HTTPTransportError(.transportFailure, "libcurl has no memory for a pool of connections")
        }
        unsafe self.share = unsafe share
        let code = unsafe lifecycle_curl_share_set_data(share, CURL_LOCK_DATA_CONNECT)
        guard code == CURLSHE_OK else {
            throw HTTPTransportError(
                .transportFailure,
                "libcurl refused to share connections",
                libraryCode: Int(code.rawValue)
            )
        }
    }

    deinit {
        // Every easy handle that uses it holds this object, and lets go of it when it is cleaned up itself.
        unsafe curl_share_cleanup(share)
    }

    /// For the option of an easy handle, which has to keep this object for as long as it lives.
    var pointer: UnsafeRawPointer { unsafe UnsafeRawPointer(share) }
}
