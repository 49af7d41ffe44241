public import FoundationEssentials
public import LifecycleEvents
import SignatureCore
import SignatureIssuing
import WireJSON

/// Stands in for Google Play: pushes notifications as Pub/Sub does, with tokens of an OpenID Connect issuer of its own,
/// and knows the Play Developer API's answers to them.
///
/// The same seed gives the same bytes. Only a receiver whose keys are ``keySet`` accepts them.
public struct GoogleSimulator: Sendable {
    /// How Pub/Sub hands a message over.
    @nonexhaustive
    public enum Wrapping: Sendable, Hashable {
        /// In JSON, with the message's metadata.
        case wrapped
        /// As it is, with the metadata in headers (`NoWrapper` with `writeMetadata`).
        case unwrapped
    }

    /// The app that everything is about.
    public let packageName: String
    /// The audience of the push subscription's tokens.
    public let audience: String
    /// The service account that pushes are signed as.
    public let serviceAccountEmail: String
    /// The push subscription's full name.
    public let subscription: String
    /// How messages are handed over.
    public let wrapping: Wrapping
    /// The issuer's public keys: a JWK set (RFC 7517, section 5) in JSON.
    public let keySet: [UInt8]

    let seed: String
    private let key: SigningKey
    private let keyID: String

    /// Makes keys.
    ///
    /// - Throws: ``SimulatorError`` if libcrypto cannot make them.
    public init(
        seed: String,
        packageName: String = "com.example.app",
        audience: String = "https://backend.example/hooks/google",
        serviceAccountEmail: String = "pubsub-push@example.iam.gserviceaccount.com",
        subscription: String = "projects/example/subscriptions/play-events",
        wrapping: Wrapping = .wrapped
    ) throws(SimulatorError) {
        self.seed = seed
        self.packageName = packageName
        self.audience = audience
        self.serviceAccountEmail = serviceAccountEmail
        self.subscription = subscription
        self.wrapping = wrapping
        let key = try SimulatorError.wrapping { () throws(SignatureError) in
            try SigningKey(.rsa2048, seed: Seed(seed), label: "oidc")
        }
        let (modulus, exponent) = try SimulatorError.wrapping { () throws(SignatureError) in
            try key.modulusAndExponent()
        }
        self.key = key
        keyID = StoryIdentity(seed: seed, story: "").hexadecimal("oidc key", 40)
        let jwk: JSONText = [
            "kty": "RSA", "alg": "RS256", "use": "sig", "kid": .string(keyID),
            "n": .string(String(decoding: Base64URL.encode(modulus.span), as: UTF8.self)),
            "e": .string(String(decoding: Base64URL.encode(exponent.span), as: UTF8.self)),
        ]
        keySet = JSONMembers([("keys", [jwk])]).bytes
    }

    private init(_ other: GoogleSimulator, audience: String, wrapping: Wrapping) {
        (seed, packageName, serviceAccountEmail) = (other.seed, other.packageName, other.serviceAccountEmail)
        (subscription, keySet, key, keyID) = (other.subscription, other.keySet, other.key, other.keyID)
        (self.audience, self.wrapping) = (audience, wrapping)
    }

    /// The same keys for another endpoint.
    public func pushing(to audience: String, _ wrapping: Wrapping = .wrapped) -> GoogleSimulator {
        GoogleSimulator(self, audience: audience, wrapping: wrapping)
    }

    /// A push of a message.
    ///
    /// - Parameters:
    ///   - data: the notification in JSON, as Google Play publishes it.
    ///   - messageID: Pub/Sub's id of the message.
    ///   - publishedAt: the time at which it was published.
    ///   - sentAt: the time that Google's clock shows; the token is valid for an hour around it.
    /// - Throws: ``SimulatorError`` if libcrypto cannot sign.
    public func delivery(
        _ data: [UInt8],
        messageID: String,
        publishedAt: Date,
        sentAt: Date
    ) throws(SimulatorError) -> Delivery {
        var headers: Delivery.Headers = ["Authorization": "Bearer \(try token(at: sentAt))"]
        let published = RFC3339.string(publishedAt.millisecondsSince1970)
        switch wrapping {
        case .wrapped:
            headers.add("Content-Type", "application/json")
            let content = String(decoding: Base64.encode(data.span), as: UTF8.self)
            let message: JSONText = [
                "data": .string(content), "messageId": .string(messageID), "message_id": .string(messageID),
                "publishTime": .string(published), "publish_time": .string(published),
            ]
            let body = JSONMembers([("message", message), ("subscription", .string(subscription))])
            return Delivery(headers: headers, body: body.bytes, receivedAt: sentAt)
        case .unwrapped:
            headers.add("x-goog-pubsub-subscription-name", subscription)
            headers.add("x-goog-pubsub-message-id", messageID)
            headers.add("x-goog-pubsub-publish-time", published)
            return Delivery(headers: headers, body: data, receivedAt: sentAt)
        }
    }

    /// Pub/Sub uses a token for many messages: one for each half hour.
    private func token(at time: Date) throws(SimulatorError) -> String {
        let issuedAt = time.millisecondsSince1970.flooredQuotient(dividingBy: 1_800_000) * 1800
        let account = StoryIdentity(seed: seed, story: "").decimal("service account", 20)
        let claims = JSONMembers([
            ("aud", .string(audience)), ("azp", .string("1\(account)")), ("email", .string(serviceAccountEmail)),
            ("email_verified", true), ("exp", .integer(issuedAt + 3600)), ("iat", .integer(issuedAt)),
            ("iss", "https://accounts.google.com"), ("sub", .string("1\(account)")),
        ])
        let token = try SimulatorError.wrapping { () throws(SignatureError) in
            try JWSIssuer.rs256(
                header: JWSIssuer.header(algorithm: "RS256", keyID: keyID, type: "JWT"),
                payload: claims.bytes,
                key: key
            )
        }
        return String(decoding: token, as: UTF8.self)
    }

    /// The key file of a service account that may ask the Play Developer API, as the Cloud console hands it out.
    ///
    /// - Parameter tokenURI: where the account asks for access tokens.
    /// - Throws: ``SimulatorError`` if libcrypto cannot make its key.
    public func serviceAccountKeyFile(
        tokenURI: String = "https://oauth2.googleapis.com/token"
    ) throws(SimulatorError) -> SecretBytes {
        let pem = try SimulatorError.wrapping { () throws(SignatureError) in
            try SigningKey(.rsa2048, seed: Seed(seed), label: "service account").privatePEM()
        }
        let identity = StoryIdentity(seed: seed, story: "")
        let file = JSONMembers([
            ("type", "service_account"), ("project_id", "example"),
            ("private_key_id", .string(identity.hexadecimal("service account key", 40))),
            ("private_key", .string(String(decoding: pem, as: UTF8.self))),
            ("client_email", "play-api@example.iam.gserviceaccount.com"),
            ("client_id", .string("1\(identity.decimal("service account client", 20))")),
            ("token_uri", .string(tokenURI)),
        ])
        return SecretBytes(bytes: file.bytes)
    }
}

extension GoogleSimulator: StorySimulator {
    /// Google Play.
    public var provider: Provider { .google }

    /// Google Play's notifications, each with the purchases and orders that it changes.
    public func notifications(
        _ story: CustomerStory,
        from start: Date
    ) throws(SimulatorError) -> [SimulatedNotification] {
        try GoogleStoryteller.notifications(
            story,
            scenes: try Plot.scenes(story, from: start, at: .google),
            packageName: packageName,
            seed: seed
        )
    }

    /// One attempt: the message is the same, the token as old as Pub/Sub's are.
    public func delivery(
        of notification: SimulatedNotification,
        sentAt: Date
    ) throws(SimulatorError) -> Delivery {
        try delivery(
            notification.content,
            messageID: notification.id,
            publishedAt: notification.occurredAt.addingTimeInterval(0.4),
            sentAt: sentAt
        )
    }

    /// The keys, the account, the audience, the app and the subscription.
    public var receiverConfiguration: [UInt8] {
        JSONMembers([
            ("jwks", .raw(String(decoding: keySet, as: UTF8.self))), ("audience", .string(audience)),
            ("serviceAccountEmail", .string(serviceAccountEmail)), ("packageName", .string(packageName)),
            ("subscription", .string(subscription)), ("orderLookup", "charged"),
        ]).bytes
    }
}
