import ConformanceVectors
import FoundationEssentials
import GooglePubSub
import HTTPTransport
import Normalizer
import NormalizerTesting
import SignatureCore
import SignatureIssuing
import WireJSON

/// The receiver of Google's vectors.
private struct PlayWorld {
    static let shared: PlayWorld = {
        do { return try PlayWorld() } catch { preconditionFailure("\(error)") }
    }()

    let configuration: GooglePlayAdapter.Configuration
    let keys: StaticKeySource
    let receivedAt: Date
    /// A header that holds.
    let authorization: String
    let signingKey: RSAPrivateKey

    private init() throws {
        guard let vector = Corpus.vectors.first(where: { $0.id.hasPrefix("google/matrix/") }) else {
            throw VectorError("no vectors")
        }
        let config = try ObjectReader(vector.config)
        configuration = GooglePlayAdapter.Configuration(
            packageNames: [try config.string("packageName")],
            subscriptions: [try config.string("subscription")],
            push: .init(
                audience: try config.string("audience"),
                serviceAccountEmail: try config.string("serviceAccountEmail")
            )
        )
        keys = try StaticKeySource(json: Array(try config.value("jwks").rawBytes))
        receivedAt = vector.now
        authorization = vector.headers.values("Authorization").first ?? ""
        signingKey = try SigningKey(.rsa2048, seed: Seed("google play test vectors"), label: "oidc").rsa()
    }

    static let keyID = "5a1b0c7e2f9d4c3a8b6e7d5f4a3b2c1d0e9f8a7b"

    func adapter(_ api: PlayDeveloperAPI? = nil) -> GooglePlayAdapter {
        do { return try GooglePlayAdapter(configuration, keys: keys, api: api) } catch {
            preconditionFailure("\(error)")
        }
    }

}

/// Once the token holds, every body is from Google.
enum EnvelopeFuzzing {
    private static let adapter = PlayWorld.shared.adapter()

    static func run(_ input: [UInt8], _ meter: inout Meter) throws(Violation) -> Outcome {
        let delivery = Delivery(
            headers: ["Authorization": PlayWorld.shared.authorization],
            body: input,
            receivedAt: PlayWorld.shared.receivedAt
        )
        let results = [0, 1].map { _ -> Result<Authenticated<GoogleNotification>, DeliveryError> in
            meter { CallingThread.result { () throws(DeliveryError) in try await adapter.authenticate(delivery) } }
        }
        let outcome = try Outcome.of(results[0], results[1])
        switch results[0] {
        case .failure(let error): try promise(error.isAuthentic, "a body makes a caller another one")
        case .success(let proven):
            let decoded = try sound("a notification does not survive its own JSON") {
                try CanonicalJSON.value(Authenticated<GoogleNotification>.self, from: CanonicalJSON.bytes(proven))
            }
            try promise(decoded.value == proven.value, "a notification that was written and read is another one")
        }
        return outcome
    }

    static func seeds() -> [[UInt8]] {
        Corpus.vectors(.google).map(\.body).filter { $0.count < 16_384 }
    }
}

/// A token counts when Google's key signed it and it says what is configured.
enum TokenFuzzing {
    private static let adapter = PlayWorld.shared.adapter()
    private static let body = Corpus.vectors.first { $0.id.hasPrefix("google/matrix/") }?.body ?? []
    /// Data that a trusted key signed, without the signature.
    private static let signed: [String] = Corpus.headers(.google, "Authorization").compactMap { value in
        let token = value.split(separator: " ").last.map(String.init) ?? value
        guard let dot = token.lastIndex(of: ".") else { return nil }
        return String(token[..<dot])
    }

    private struct Claims: Decodable {
        var iss: String
        var aud: String
        var email: String
        var email_verified: Bool
        var exp: Int64
        var iat: Int64
    }

    static func run(_ input: [UInt8], _ meter: inout Meter) throws(Violation) -> Outcome {
        var header = String(decoding: input, as: UTF8.self)
        var claims: [UInt8]?
        if input.first == UInt8(ascii: "{") {
            let lines = input.split(separator: UInt8(ascii: "\n"), maxSplits: 1, omittingEmptySubsequences: false)
            let payload = lines.count > 1 ? Array(lines[1]) : []
            claims = payload
            let token = try sound("not signed") {
                try JWSIssuer.compact(header: Array(lines[0]), payload: payload) { text throws(SignatureError) in
                    try PlayWorld.shared.signingKey.signature(over: text.span)
                }
            }
            header = "Bearer " + String(decoding: token, as: UTF8.self)
        } else {
            header = header.replacing("\u{1}", with: PlayWorld.shared.authorization.dropFirst("Bearer ".count))
        }
        let delivery = Delivery(
            headers: ["Authorization": header],
            body: body,
            receivedAt: PlayWorld.shared.receivedAt
        )
        let results = [0, 1].map { _ -> Result<Authenticated<GoogleNotification>, DeliveryError> in
            meter { CallingThread.result { () throws(DeliveryError) in try await adapter.authenticate(delivery) } }
        }
        let outcome = try Outcome.of(results[0], results[1])
        switch results[0] {
        case .failure(let error): try promise(!error.isAuthentic, "a body counts whose sender is not proven")
        case .success:
            if let claims {
                try judge(claims)
            } else {
                try promise(signed.contains { header.contains($0) }, "a token that nobody signed is accepted")
            }
        }
        return outcome
    }

    private static func judge(_ bytes: [UInt8]) throws(Violation) {
        let claims = try sound("claims") { try CanonicalJSON.value(Claims.self, from: bytes) }
        let now = PlayWorld.shared.receivedAt.millisecondsSince1970 / 1000
        let push = PlayWorld.shared.configuration.push
        try promise(["https://accounts.google.com", "accounts.google.com"].contains(claims.iss), "issuer")
        try promise(claims.aud == push?.audience && claims.email == push?.serviceAccountEmail, "audience or e-mail")
        try promise(claims.email_verified, "the e-mail is not verified")
        try promise(claims.exp >= now - 60 && claims.iat <= now + 60, "times")
    }

    static func seeds() -> [[UInt8]] {
        let push = PlayWorld.shared.configuration.push
        let now = PlayWorld.shared.receivedAt.millisecondsSince1970 / 1000
        let claims = """
            {"iss":"https://accounts.google.com","aud":"\(push?.audience ?? "")","sub":"113774264463038321964",\
            "email":"\(push?.serviceAccountEmail ?? "")","email_verified":true,"iat":\(now - 600),"exp":\(now + 3000)}
            """
        let header = #"{"alg":"RS256","kid":"\#(PlayWorld.keyID)","typ":"JWT"}"#
        var inputs = Corpus.headers(.google, "Authorization")
        inputs += ["Bearer \u{1}", "bearer \u{1}", "Bearer  \u{1}", "\u{1}", "Bearer \(Corpus.canary).e30.AAAA"]
        inputs += ["\(header)\n\(claims)", #"{"alg":"none"}"# + "\n\(claims)"]
        return inputs.map { Array($0.utf8) }
    }
}

/// Whatever the API answers, the purchase is read the same way each time, and nothing is made up.
enum PlayFuzzing {
    private static let token = "kpbgnfjmlaidhoecbeaghdfc.AO-J1OyT5mU2s9wq7Fh4Xc0Zb3Nv6Kd8Re1Lp5Ta2Wy7Qi9Uo4"
    private static let contents: [String] =
        [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 17, 18, 19, 20, 22, 99].map {
            #""subscriptionNotification":{"version":"1.0","notificationType":\#($0),"purchaseToken":"\#(token)"}"#
        }
        + [1, 2, 9].map {
            #""oneTimeProductNotification":{"version":"1.0","notificationType":\#($0),"purchaseToken":"\#(token)","sku":"coins"}"#
        }
        + [(1, 1), (2, 1), (2, 2), (1, 3)].map {
            #""voidedPurchaseNotification":{"purchaseToken":"\#(token)","orderId":"GPA.3311-4415-6677-88990","productType":\#($0.0),"refundType":\#($0.1)}"#
        }
    private static let statuses = [200, 200, 200, 200, 404, 410, 400, 401, 403, 429, 500, 503]

    static func run(_ input: [UInt8], _ meter: inout Meter) throws(Violation) -> Outcome {
        guard input.count >= 2 else { return .refused }
        let content = contents[Int(input[0]) % contents.count]
        let status = statuses[Int(input[1]) % statuses.count]
        let transport = StubTransport()
        for part in input.dropFirst(2).split(separator: 0x1E, maxSplits: 7, omittingEmptySubsequences: false) {
            transport.on(.any, respond: HTTPTransportResponse(status: status, headers: [:], body: Array(part)))
        }
        let api = try sound("no client") {
            try PlayDeveloperAPI(
                transport: transport,
                tokens: FixedAccessToken(SecretBytes("fuzzing")),
                retry: RetryPolicy(maximumAttempts: 1),
                clock: TestClock(jumping: true)
            )
        }
        let adapter = PlayWorld.shared.adapter(api)
        let receivedAt = PlayWorld.shared.receivedAt
        let name = PlayWorld.shared.configuration.packageNames.first ?? ""
        let message = PubSubMessage(
            subscription: PlayWorld.shared.configuration.subscriptions.first,
            messageID: "1",
            data: Array(
                #"{"version":"1.0","packageName":"\#(name)","eventTimeMillis":"\#(receivedAt.millisecondsSince1970 - 90_000)",\#(content)}"#
                    .utf8
            )
        )
        let resolution = meter {
            CallingThread.result { () throws(DeliveryError) in
                try await adapter.resolve(try adapter.receive(pulled: message, receivedAt: receivedAt))
            }
        }
        let notified = try outcome(of: resolution, isAuthentic: true, &meter) { (value) throws(DeliveryError) in
            try adapter.normalize(value)
        }
        // The same answers for an uploaded token.
        let kind: GooglePurchase.Kind = content.hasPrefix("\"oneTime") ? .product : .subscription
        let purchase = meter {
            CallingThread.result { () throws(DeliveryError) in
                try await adapter.resolve(PurchaseToken(token), of: kind, packageName: name, receivedAt: receivedAt)
            }
        }
        let uploaded = try outcome(of: purchase, isAuthentic: false, &meter) { (value) throws(DeliveryError) in
            try adapter.normalize(value)
        }
        return notified == .accepted ? .accepted : uploaded
    }

    /// - Parameter isAuthentic: whether a proven message made us ask.
    private static func outcome<Value: Codable & Sendable>(
        of resolved: Result<Authenticated<Value>, DeliveryError>,
        isAuthentic: Bool,
        _ meter: inout Meter,
        normalize: (Authenticated<Value>) throws(DeliveryError) -> Normalization
    ) throws(Violation) -> Outcome {
        guard case .success(let resolution) = resolved else {
            if case .failure(let error) = resolved { try check(error, isAuthentic: isAuthentic) }
            return .refused
        }
        let copy = try sound("a resolution does not survive its own JSON") {
            try CanonicalJSON.value(Authenticated<Value>.self, from: CanonicalJSON.bytes(resolution))
        }
        let results = [resolution, copy].map { value -> Result<Normalization, DeliveryError> in
            meter { Result { () throws(DeliveryError) in try normalize(value) } }
        }
        let outcome = try Outcome.of(results[0], results[1])
        if case .failure(let error) = results[0] { try check(error, isAuthentic: isAuthentic) }
        if case .success(let first) = results[0], case .success(let second) = results[1] {
            try promise(first == second, "a resolution that crossed a queue gives other events")
            try Promises.check(first)
        }
        return outcome
    }

    private static func check(_ error: DeliveryError, isAuthentic: Bool) throws(Violation) {
        try promise(error.isAuthentic == isAuthentic, "an answer changes who made us ask")
        try promise(!error.description.contains(Corpus.canary), "an error shows what was read")
    }

    static func seeds() -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for (index, vector) in Corpus.vectors(.google).enumerated() {
            guard let http = vector.http, !http.isEmpty else { continue }
            let status = statuses.firstIndex(of: http[0].status) ?? 0
            let body = http.map(\.body).joined(separator: [0x1E])
            seeds.append([UInt8(index % contents.count), UInt8(status)] + body)
        }
        return seeds
    }
}
