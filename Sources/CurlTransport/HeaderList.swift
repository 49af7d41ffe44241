import CLifecycleCurl
import HTTPTransport

/// The only owner of one `curl_slist *`.
@safe struct HeaderList: ~Copyable {
    private var list: UnsafeMutablePointer<curl_slist>?

    init(_ headers: HTTPTransportHeaders) throws(HTTPTransportError) {
        unsafe list = nil
        for field in headers.fields {
            // To libcurl a field without a value means to leave it out; with a semicolon it sends it empty.
            let isEmpty = field.value.utf8.allSatisfy { $0 == 0x20 || $0 == 0x09 }
            try append(isEmpty ? "\(field.name);" : "\(field.name): \(field.value)")
        }
        // Fields that libcurl would add by itself.
        if headers["Content-Type"] == nil { try append("Content-Type:") }
        try append("Expect:")
    }

    deinit {
        // The list came from curl_slist_append and is freed here alone.
        unsafe curl_slist_free_all(list)
    }

    /// Valid as long as the owner is.
    var pointer: UnsafeRawPointer? { unsafe UnsafeRawPointer(list) }

    private mutating func append(_ line: String) throws(HTTPTransportError) {
        // libcurl copies the line; where it fails, the old list stays as it is and ours.
        let longer = unsafe line.withCString { unsafe curl_slist_append(list, $0) }
        guard let longer = unsafe longer else {
            throw HTTPTransportError(.transportFailure, "libcurl has no memory for a request")
        }
        unsafe list = unsafe longer
    }
}
