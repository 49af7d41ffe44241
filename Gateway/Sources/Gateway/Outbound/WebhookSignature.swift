import Foundation
import Normalizer

/// Base64, as headers carry it.
enum Base64 {
    static func decode(_ text: String) -> [UInt8]? { Data(base64Encoded: text).map(Array.init) }
    static func encode(_ bytes: some ContiguousBytes) -> String {
        bytes.withUnsafeBytes { Data($0).base64EncodedString() }
    }
}

/// The headers that prove the gateway's requests to a receiver: Standard Webhooks 1.0, with a symmetric key
/// (<https://www.standardwebhooks.com>).
struct WebhookSignature: Sendable {
    private let key: SecretBytes

    /// - Throws: ``SettingError`` for a secret that is not `whsec_` and 24 to 64 bytes in base64.
    init(secret text: String, of setting: String = "news.secret") throws {
        guard text.hasPrefix("whsec_"), let bytes = Base64.decode(String(text.dropFirst(6))),
            (24...64).contains(bytes.count)
        else { throw SettingError(setting, "must be whsec_ and 24 to 64 random bytes in base64") }
        key = SecretBytes(bytes: bytes)
    }

    /// `webhook-id`, `webhook-timestamp` and `webhook-signature`.
    ///
    /// - Throws: `unavailable` if the signature cannot be computed, for want of memory.
    func headers(id: String, at time: Date, body: [UInt8]) throws(DeliveryError) -> [(String, String)] {
        let seconds = String(Int64(time.timeIntervalSince1970))
        let code = try key.authenticationCode(over: Array("\(id).\(seconds).".utf8) + body)
        return [
            ("webhook-id", id), ("webhook-timestamp", seconds),
            ("webhook-signature", "v1," + Base64.encode(code)),
        ]
    }
}
