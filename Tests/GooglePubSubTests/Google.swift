import FoundationEssentials
import GooglePubSub
import Normalizer
import SignatureCore
import SignatureIssuing

/// Google as the tests play it: its keys, the tokens it signs, what it pushes.
enum Google {
    static let seed = Seed("google")
    static let keys = Result { () throws(SignatureError) in
        (
            current: try SigningKey(.rsa2048, seed: seed, label: "current"),
            next: try SigningKey(.rsa2048, seed: seed, label: "next"),
            foreign: try SigningKey(.rsa2048, seed: seed, label: "foreign"),
            weak: try SigningKey(.rsa1024, seed: seed, label: "weak")
        )
    }

    static let now: Int64 = 1_780_000_000
    static let receivedAt = Date(timeIntervalSince1970: 1_780_000_000)
    static let audience = "https://backend.example/hooks/play?x=1"
    static let account = "push@project-one.iam.gserviceaccount.com"
    static let subscription = "projects/project-one/subscriptions/play-events"
    static let package = "com.example.app"
    static let header = #"{"alg":"RS256","kid":"current","typ":"JWT"}"#

    /// The claims of a good token, with members replaced (nil removes one). Values are JSON.
    static func claims(_ changes: KeyValuePairs<String, String?> = [:]) -> String {
        var members: [(String, String)] = [
            ("aud", "\"\(audience)\""), ("azp", "\"104029292853099978293\""), ("email", "\"\(account)\""),
            ("email_verified", "true"), ("exp", "\(now + 3000)"), ("iat", "\(now - 600)"),
            ("iss", "\"https://accounts.google.com\""), ("sub", "\"104029292853099978293\""),
        ]
        for (name, value) in changes {
            members.removeAll { $0.0 == name }
            if let value { members.append((name, value)) }
        }
        return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }

    static func token(
        header: String = header,
        claims: String = claims(),
        key: SigningKey? = nil
    ) throws -> String {
        let token = try JWSIssuer.rs256(
            header: Array(header.utf8),
            payload: Array(claims.utf8),
            key: key ?? keys.get().current
        )
        return String(decoding: token, as: UTF8.self)
    }

    static func jwk(_ id: String, _ key: SigningKey, members more: String = #""use":"sig","alg":"RS256""#) throws
        -> String
    {
        let (modulus, exponent) = try key.modulusAndExponent()
        return #"{"kty":"RSA","kid":"\#(id)","n":"\#(base64URL(modulus))","e":"\#(base64URL(exponent))",\#(more)}"#
    }

    static func keySet(_ ids: [(String, SigningKey)]) throws -> [UInt8] {
        Array("{\"keys\":[\(try ids.map { try jwk($0.0, $0.1) }.joined(separator: ","))]}".utf8)
    }

    static func keySource() throws -> StaticKeySource {
        try StaticKeySource(json: keySet([("current", keys.get().current)]))
    }

    static func configuration() -> GooglePlayAdapter.Configuration {
        GooglePlayAdapter.Configuration(
            packageNames: [package],
            subscriptions: [subscription],
            push: .init(audience: audience, serviceAccountEmail: account)
        )
    }

    static func adapter(
        _ configuration: GooglePlayAdapter.Configuration = configuration(),
        api: PlayDeveloperAPI? = nil
    ) throws -> GooglePlayAdapter {
        try GooglePlayAdapter(configuration, keys: keySource(), api: api)
    }

    static func notification(
        type: Int = 4,
        token: String = "purchase-token-secret",
        at milliseconds: Int64 = now * 1000 - 90_000
    ) -> String {
        """
        {"version":"1.0","packageName":"\(package)","eventTimeMillis":"\(milliseconds)",\
        "subscriptionNotification":{"version":"1.0","notificationType":\(type),"purchaseToken":"\(token)"}}
        """
    }

    static func wrapped(_ notification: String = notification(), id: String = "136969346945") -> [UInt8] {
        Array(
            """
            {"message":{"data":"\(base64(Array(notification.utf8)))","messageId":"\(id)","message_id":"\(id)",\
            "publishTime":"2026-05-28T22:26:40.123Z","publish_time":"2026-05-28T22:26:40.123Z"},\
            "subscription":"\(subscription)"}
            """.utf8
        )
    }

    static func delivery(
        _ body: [UInt8] = wrapped(),
        token: String? = nil,
        headers: [(String, String)] = []
    ) throws -> Delivery {
        var fields = Delivery.Headers()
        fields.add("authorization", "Bearer \(try token ?? self.token())")
        for (name, value) in headers { fields.add(name, value) }
        return Delivery(headers: fields, body: body, receivedAt: receivedAt)
    }

    static func base64(_ octets: [UInt8]) -> String {
        String(decoding: Base64.encode(octets.span), as: UTF8.self)
    }

    static func base64URL(_ octets: [UInt8]) -> String {
        String(decoding: Base64URL.encode(octets.span), as: UTF8.self)
    }
}

extension GooglePlayAdapter {
    /// The error that a delivery is refused with.
    func refusal(_ delivery: Delivery) async -> DeliveryError? {
        do throws(DeliveryError) {
            _ = try await authenticate(delivery)
            return nil
        } catch {
            return error
        }
    }
}
