import ConformanceVectors
import Normalizer
import NotificationSimulator
import SignatureCore
import SignatureIssuing
import WireJSON

/// A push of Pub/Sub's around a notification, with a token of Google's.
///
/// `send` may have `wrap`: false if nothing is put around the body; and for the token: `claims` that differ (null for an absent
/// one), `head` instead of the usual header, and `key`, `next` or `attacker`, instead of `ours`.
struct GoogleCaseSender: CaseSender {
    private static let keyIDs = [
        "ours": "5a1b0c7e2f9d4c3a8b6e7d5f4a3b2c1d0e9f8a7b", "next": "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c",
    ]
    private static let subscription = "projects/example/subscriptions/play-rtdn"

    let manners: Set = ["claims", "head", "key", "wrap"]
    private let keys: [String: SigningKey]
    private let keySet: JSONText
    /// The words of the token of most deliveries.
    private let token: [String: JSONText]

    init() throws {
        let seed = Seed("google play test vectors")
        let keys = [
            "ours": try SigningKey(.rsa2048, seed: seed, label: "oidc"),
            "next": try SigningKey(.rsa2048, seed: seed, label: "oidc next"),
            "attacker": try SigningKey(.rsa2048, seed: seed, label: "attacker"),
        ]
        self.keys = keys
        keySet = [
            "keys": .array(try ["ours", "next"].map { try Self.publicKey(keys[$0], named: Self.keyIDs[$0] ?? "") })
        ]
        token = try Self.token(JSONMembers(), keys)
    }

    func send(_ delivery: CaseDelivery) throws -> (headers: JSONMembers, body: [UInt8]) {
        let token = try token(of: delivery)
        let headers = JSONMembers([
            ("Authorization", try JSONText.string("Bearer {token}").filled { token[$0] }),
            ("Content-Type", "application/json"),
        ])
        let octets = delivery.body.octets
        return (headers, delivery.isBare ? octets : Self.wrapped(octets, id: delivery.id).bytes)
    }

    /// `{jwks}`; `{token}` and its parts; purchase tokens.
    func word(_ name: String, in text: String, of delivery: CaseDelivery) throws -> JSONText? {
        switch name {
        case "jwks": return keySet
        case "purchase": return .string(GoogleVectors.token)
        case "old": return .string(GoogleVectors.oldToken)
        case "older": return .string(GoogleVectors.olderToken)
        default: return try name.hasPrefix("token") ? token(of: delivery)[name] : nil
        }
    }

    // MARK: Tokens

    private func token(of delivery: CaseDelivery) throws -> [String: JSONText] {
        let isUsual = ["claims", "head", "key"].allSatisfy { delivery.manner[$0] == nil }
        return try isUsual ? token : Self.token(delivery.manner, by: delivery.manner("key") ?? "ours", keys)
    }

    private static func token(
        _ manner: JSONMembers,
        by key: String = "ours",
        _ keys: [String: SigningKey]
    ) throws -> [String: JSONText] {
        guard let signing = keys[key] else { throw VectorError("\(key): no such key") }
        let now = GoogleVectors.noon / 1000
        var claims = JSONMembers([
            ("iss", "https://accounts.google.com"), ("aud", "https://hooks.example.com/google?source=play"),
            ("azp", "113774264463038321964"), ("sub", "113774264463038321964"),
            ("email", "rtdn-push@example.iam.gserviceaccount.com"), ("email_verified", true),
            ("iat", .integer(now - 600)), ("exp", .integer(now + 3000)),
        ])
        if case .object(let changes)? = manner["claims"] {
            for (name, value) in changes {
                if case .raw("null") = value { claims[name] = nil } else { claims[name] = value }
            }
        }
        let head = manner["head"] ?? ["alg": "RS256", "kid": .string(keyIDs[key] ?? ""), "typ": "JWT"]
        let token = try JWSIssuer.rs256(
            header: head.sorted.bytes,
            payload: JSONText.object(claims).sorted.bytes,
            key: signing
        )
        return [String: JSONText](jws: [token], named: "token")
    }

    private static func publicKey(_ key: SigningKey?, named name: String) throws -> JSONText {
        guard let (modulus, exponent) = try key?.modulusAndExponent() else { throw VectorError("no such key") }
        return [
            "alg": "RS256", "e": .string(String(decoding: Base64URL.encode(exponent.span), as: UTF8.self)),
            "kid": .string(name), "kty": "RSA",
            "n": .string(String(decoding: Base64URL.encode(modulus.span), as: UTF8.self)), "use": "sig",
        ]
    }

    // MARK: Messages

    /// A wrapped push as Pub/Sub makes it, with both spellings of id and time.
    private static func wrapped(_ data: [UInt8], id: String) -> JSONMembers {
        let number = JSONText.string(messageID(id))
        let time = JSONText.string(RFC3339.string(GoogleVectors.noon - 400))
        return JSONMembers([
            (
                "message",
                [
                    "data": .string(String(decoding: Base64.encode(data.span), as: UTF8.self)), "messageId": number,
                    "message_id": number, "publishTime": time, "publish_time": time,
                ]
            ), ("subscription", .string(subscription)),
        ])
    }

    /// Sixteen digits, as Pub/Sub's ids have, by the name of the case in its file.
    private static func messageID(_ id: String) -> String {
        let name = id.split(separator: "/").dropFirst().joined(separator: "/")
        let digest = SHA256.hash(Array(name.utf8).span).bytes
        return "1" + digest.prefix(15).map { String($0 % 10) }.joined()
    }
}
