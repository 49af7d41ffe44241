import CLifecycleOpenSSL

/// Why a signature, key, certificate or encoded value was refused.
///
/// The message names lengths, counts and algorithm names, never content.
package struct SignatureError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The kind of failure, coarse enough to decide the answer.
    package enum Kind: Sendable, Hashable, CaseIterable {
        /// Not in the encoding it has to be in.
        case malformed
        /// An algorithm other than the pinned one.
        case algorithm
        /// A JWS protected header that must not be accepted.
        case header
        /// A single certificate that is unreadable or unfit.
        case certificate
        /// A certificate path that does not lead to a trust anchor.
        case chain
        /// A certificate outside its validity period.
        case validity
        /// A key that is unreadable or unfit.
        case key
        /// A signature that does not hold.
        case signature
        /// Something larger than is read at all.
        case limit
        /// libcrypto failed at a step that does not depend on input.
        case internalFailure
    }

    package let kind: Kind
    package let message: String
    /// The packed code of the first error libcrypto queued, if it caused this.
    package let openSSL: UInt?

    package init(_ kind: Kind, _ message: String, openSSL: UInt? = nil) {
        self.kind = kind
        self.message = message
        self.openSSL = openSSL
    }

    package var description: String {
        guard let openSSL else { return "\(kind): \(message)" }
        return "\(kind): \(message) (OpenSSL \(String(openSSL, radix: 16)))"
    }
}

extension SignatureError {
    /// An error that takes the first code out of this thread's OpenSSL queue and leaves the queue empty.
    ///
    /// The queue belongs to the thread, so this has to run before anything suspends.
    package static func openSSL(_ kind: Kind, _ message: String) -> SignatureError {
        let code = ERR_peek_error()
        ERR_clear_error()
        return SignatureError(kind, message, openSSL: code == 0 ? nil : code)
    }
}
