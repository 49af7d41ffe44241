/// An authority's statement about one of its certificates (RFC 6960 §2.2), for as long as it stands by it.
package struct CertificateStatus: Sendable, Hashable {
    package enum Statement: Sendable, Hashable {
        case good
        case revoked
        /// The authority does not know the certificate.
        case unknown
    }

    package var statement: Statement
    /// When it was known to be right, in milliseconds since 1970.
    package var thisUpdate: Int64
    /// When the authority will have stated it again, in milliseconds since 1970.
    package var nextUpdate: Int64

    package init(_ statement: Statement, thisUpdate: Int64, nextUpdate: Int64) {
        self.statement = statement
        self.thisUpdate = thisUpdate
        self.nextUpdate = nextUpdate
    }
}
