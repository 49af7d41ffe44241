import SignatureCore

extension SecretBytes {
    /// The HMAC-SHA-256 (RFC 2104) of a message, with the secret as its key: 32 octets.
    ///
    /// - Throws: `unavailable` for an empty secret, with which every sender could sign, and if libcrypto fails, for want of memory.
    public func authenticationCode(over message: [UInt8]) throws(DeliveryError) -> [UInt8] {
        try code(over: message).bytes
    }

    /// True if `code` is the ``authenticationCode(over:)`` of the message. The time does not show how much of it is right.
    ///
    /// - Throws: as ``authenticationCode(over:)``.
    public func isAuthenticationCode(_ code: [UInt8], over message: [UInt8]) throws(DeliveryError) -> Bool {
        try Digest(code.span) == self.code(over: message)
    }

    private func code(over message: [UInt8]) throws(DeliveryError) -> Digest {
        do throws(SignatureError) {
            return try HMACSHA256(key: bytes.span).authenticationCode(over: message.span)
        } catch {
            throw DeliveryError(.unavailable, "HMAC-SHA-256 not computed", underlying: error)
        }
    }
}
