public import LifecycleEvents
package import SignatureCore

/// The root certificates that a chain has to end in: Apple Root CA - G3, and other Apple roots if you like.
///
/// None is built in and none is fetched. Apple publishes them at <https://www.apple.com/certificateauthority/>.
public struct AppleTrustAnchors: Sendable {
    package let anchors: TrustAnchors

    /// Takes certificates in DER.
    ///
    /// - Throws: `ConfigurationError` for an empty list, or one that holds anything but root certificates.
    public init(der certificates: [[UInt8]]) throws(ConfigurationError) {
        do throws(SignatureError) {
            anchors = try TrustAnchors(der: certificates)
        } catch {
            let isPEM = certificates.contains { $0.starts(with: "-----BEGIN".utf8) }
            throw ConfigurationError("Apple trust anchors: \(error.message)\(isPEM ? ": use init(pem:) for PEM" : "")")
        }
    }

    /// Takes one or more certificates in PEM.
    ///
    /// - Throws: `ConfigurationError` for text that holds anything but root certificates, or none.
    public init(pem text: String) throws(ConfigurationError) {
        do throws(SignatureError) {
            anchors = try TrustAnchors(pem: Array(text.utf8).span)
        } catch {
            throw ConfigurationError("Apple trust anchors: \(error.message)")
        }
    }
}
