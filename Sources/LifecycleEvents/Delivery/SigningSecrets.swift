import SignatureCore

/// The secrets with which a sender may sign, as keys, and the evidence of a delivery that one proves.
package struct SigningSecrets: Sendable {
    let keys: [HMACSHA256]
    let evidence: [Origin.Evidence]

    package var isEmpty: Bool { keys.isEmpty }

    /// - Throws: ``ConfigurationError`` for a secret that is blank, has white space at an end, or is not of printable ASCII.
    package init(_ secrets: [SecretBytes]) throws(ConfigurationError) {
        var keys: [HMACSHA256] = []
        for (index, secret) in secrets.enumerated() {
            guard !secret.isBlank else { throw ConfigurationError("signing secret \(index + 1) must not be blank") }
            guard !secret.hasWhiteSpaceAtAnEnd else {
                throw ConfigurationError("signing secret \(index + 1) must not begin or end with white space")
            }
            // As every provider's is. The ellipsis of a manual is no part of one, and verifies nothing.
            guard secret.bytes.allSatisfy({ (0x20...0x7E).contains($0) }) else {
                throw ConfigurationError("signing secret \(index + 1) must be printable ASCII")
            }
            do throws(SignatureError) {
                keys.append(try HMACSHA256(key: secret.bytes.span))
            } catch {
                throw ConfigurationError("signing secret \(index + 1) cannot be used: \(error)")
            }
        }
        self.keys = keys
        evidence = keys.indices.map { Origin.Evidence(.hmac, key: "secret \($0 + 1)") }
    }
}
