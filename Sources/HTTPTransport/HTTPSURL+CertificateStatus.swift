extension HTTPSURL {
    /// The other exception from https: a responder that a proven certificate names for its status (RFC 6960, appendix A.1).
    ///
    /// Its answers are signed, and certificates name it by http because TLS would need the answer first. An address by
    /// https stays what it is.
    ///
    /// - Throws: `invalidRequest` unless it is a DNS name of at least two labels, with a path and nothing else: no port,
    ///   credentials, query or fragment. An address in a private network is none of an authority's, so a host that is an
    ///   IP address, or a name for one's own host, is refused.
    package static func certificateStatus(_ string: String) throws(HTTPTransportError) -> HTTPSURL {
        let secure = "https://"
        let plain = "http://"
        let isSecure = string.prefix(secure.utf8.count).lowercased() == secure
        guard isSecure || string.prefix(plain.utf8.count).lowercased() == plain else {
            throw HTTPTransportError(.invalidRequest, "responder's URL must begin with http://")
        }
        let rest = string.dropFirst(isSecure ? secure.utf8.count : plain.utf8.count)
        let url = try HTTPSURL(secure + rest)
        let labels = url.host.split(separator: ".")
        guard labels.count > 1, let last = labels.last, last.utf8.contains(where: { !ASCII.isDigit($0) }),
            last != "localhost"
        else {
            throw HTTPTransportError(.invalidRequest, "responder's host must be a DNS name of the internet")
        }
        guard !rest.prefix(while: { $0 != "/" }).contains(":"), url.query == nil else {
            throw HTTPTransportError(.invalidRequest, "responder's URL must have no port and no query")
        }
        return isSecure ? url : url.inPlain(for: .certificateStatus)
    }

    /// True if it may be asked without TLS for a certificate's status, and for nothing else.
    package var isCertificateStatus: Bool { plainPurpose == .certificateStatus }
}
