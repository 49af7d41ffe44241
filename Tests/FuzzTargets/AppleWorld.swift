import NotificationSimulator
import SignatureCore
import SignatureIssuing

/// The keys and certificates of Apple's vectors.
enum AppleWorld {
    static let certificates: AppleCertificates = {
        do { return try AppleCertificates(seed: Seed("vectors")) } catch { preconditionFailure("\(error)") }
    }()

    private static let signer: (header: [UInt8], key: P256PrivateKey) = {
        do {
            let header = JWSIssuer.header(algorithm: "ES256", certificates: certificates.x5c)
            return (header, try certificates.leafKey.p256())
        } catch { preconditionFailure("\(error)") }
    }()

    /// A payload signed by the leaf of the vectors.
    static func sign(_ payload: [UInt8]) -> [UInt8] {
        do throws(SignatureError) {
            return try JWSIssuer.compact(header: signer.header, payload: payload) { input throws(SignatureError) in
                try signer.key.signature(over: input.span)
            }
        } catch { preconditionFailure("\(error)") }
    }
}
