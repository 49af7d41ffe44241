package import FoundationEssentials
package import GooglePubSub
package import HTTPTransport
package import Normalizer
import SignatureCore
package import WireJSON

/// Google Play's adapter as a configuration in JSON sets it up.
package struct GoogleReceiver: ConfiguredReceiver {
    package static let memberNames: Set = [
        "jwks", "audience", "serviceAccountEmail", "serviceAccountId", "packageName", "packageNames",
        "subscription", "subscriptions", "clockSkewSeconds", "orderLookup", "voidedPurchaseLookup",
        "settlingSeconds", "kind",
    ]

    /// How a delivery came: Pub/Sub called, or a message was taken from the queue and stands in the body, or an app
    /// uploaded the purchase token that stands there.
    private enum Kind: String {
        case push, pull, upload
    }

    package let adapter: GooglePlayAdapter
    private let kind: Kind

    /// - Parameter answers: the provider's answers, at once or never; nil for no look-ups.
    package init(config: JSONValue, answers: (any HTTPTransportProtocol)? = nil) throws(ConfigurationError) {
        let members: Members
        do throws(JSONError) {
            members = try Members(ObjectReader(config))
        } catch {
            throw ConfigurationError("config: \(error)")
        }
        guard let kind = Kind(rawValue: members.kind) else {
            throw ConfigurationError("config: kind must be push, pull or upload")
        }
        self.kind = kind
        var api: PlayDeveloperAPI?
        if let answers {
            api = try PlayDeveloperAPI(
                transport: answers,
                tokens: FixedAccessToken(SecretBytes("recorded")),
                // A recorded answer comes at once or never.
                retry: RetryPolicy(maximumAttempts: 1),
                clock: StandingClock()
            )
        }
        adapter = try GooglePlayAdapter(try members.configuration(), keys: try members.keys(), api: api)
    }

    package func receive(_ delivery: Delivery) async throws(DeliveryError) -> Normalization {
        switch kind {
        case .push: return try await adapter.receive(delivery)
        case .pull:
            return try adapter.normalize(
                try await adapter.resolve(
                    try adapter.receive(pulled: try message(delivery), receivedAt: delivery.receivedAt)
                )
            )
        case .upload:
            let upload = try upload(delivery)
            return try await ask(
                upload.kind,
                PurchaseToken(upload.purchaseToken),
                packageName: upload.packageName,
                at: delivery.receivedAt
            )
        }
    }

    package static let asksSimulator = true
    package var questions: (any LineageQuestions)? { adapter }

    package func ask(path: [String], at time: Date) async throws(DeliveryError) -> Normalization? {
        guard path[1] == "tokens" else { return nil }
        return try await ask(path[0] == "productsv2" ? .product : .subscription, PurchaseToken(path[2]), at: time)
    }

    /// Asks about a purchase of the app.
    package func ask(
        _ kind: GooglePurchase.Kind,
        _ purchaseToken: PurchaseToken,
        packageName: String? = nil,
        at time: Date
    ) async throws(DeliveryError) -> Normalization {
        try await adapter.receive(
            purchaseToken: purchaseToken,
            of: kind,
            packageName: packageName ?? adapter.configuration.packageNames.first ?? "",
            receivedAt: time
        )
    }

    /// The content of a body `{"kind":"subscription","packageName":"…","purchaseToken":"…"}`.
    private func upload(
        _ delivery: Delivery
    ) throws(DeliveryError) -> (kind: GooglePurchase.Kind, packageName: String, purchaseToken: String) {
        do throws(JSONError) {
            let reader = try ObjectReader(parsing: delivery.body)
            guard let kind = GooglePurchase.Kind(rawValue: try reader.string("kind")) else {
                throw try reader.value("kind").error(.missing)
            }
            return (kind, try reader.string("packageName"), try reader.string("purchaseToken"))
        } catch {
            throw DeliveryError(.malformed, "body: \(error)", underlying: error)
        }
    }

    /// The message of a body `{"subscription":"…","message":{"data":"…","messageId":"…"}}`, decoded.
    private func message(_ delivery: Delivery) throws(DeliveryError) -> PubSubMessage {
        do throws(JSONError) {
            let reader = try ObjectReader(parsing: delivery.body)
            let message = try ObjectReader(reader.value("message"))
            guard let data = try? Base64.decode(Array(try message.utf8Slice("data")).span) else {
                throw try message.value("data").error(.invalidEscape)
            }
            return PubSubMessage(
                subscription: try reader.optionalString("subscription"),
                messageID: try message.optionalString("messageId"),
                data: data
            )
        } catch {
            throw DeliveryError(.malformed, "body: \(error)", isAuthentic: true, underlying: error)
        }
    }
}

/// A clock on which waiting takes no time.
private struct StandingClock: Clock {
    struct Instant: InstantProtocol {
        var offset: Duration = .zero
        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (lhs: Instant, rhs: Instant) -> Bool { lhs.offset < rhs.offset }
    }

    var now: Instant { Instant() }
    var minimumResolution: Duration { .zero }
    func sleep(until deadline: Instant, tolerance: Duration?) async throws {}
}

/// The members of a configuration, as `TestVectors/README.md` lists them.
private struct Members {
    var kind: String
    var jwks: [UInt8]?
    var audience: String?
    var serviceAccountEmail: String?
    var serviceAccountID: String?
    var packageNames: [String]
    var subscriptions: [String]
    var clockSkew: Int64?
    var orderLookup: String?
    var looksUpVoidedPurchases: Bool
    var settlingSeconds: Int64?
    var maximumBodyBytes: Int64?

    init(_ reader: ObjectReader) throws(JSONError) {
        kind = try reader.optionalString("kind") ?? "push"
        jwks = reader.optionalValue("jwks").map { Array($0.rawBytes) }
        audience = try reader.optionalString("audience")
        serviceAccountEmail = try reader.optionalString("serviceAccountEmail")
        serviceAccountID = try reader.optionalString("serviceAccountId")
        packageNames = try reader.optionalStrings("packageNames") ?? []
        if let name = try reader.optionalString("packageName") { packageNames.append(name) }
        subscriptions = try reader.optionalStrings("subscriptions") ?? []
        if let name = try reader.optionalString("subscription") { subscriptions.append(name) }
        clockSkew = try reader.optionalInt64("clockSkewSeconds")
        orderLookup = try reader.optionalString("orderLookup")
        looksUpVoidedPurchases = try reader.optionalBool("voidedPurchaseLookup") ?? false
        settlingSeconds = try reader.optionalInt64("settlingSeconds")
        maximumBodyBytes = try reader.optionalInt64("maxBodyBytes")
    }

    func configuration() throws(ConfigurationError) -> GooglePlayAdapter.Configuration {
        var push: GooglePlayAdapter.Configuration.Push?
        if kind == "push" {
            // Absent is not "do not check": the adapter refuses a blank value.
            push = .init(
                audience: audience ?? "",
                serviceAccountEmail: serviceAccountEmail ?? "",
                serviceAccountID: serviceAccountID
            )
            if let clockSkew { push?.clockSkew = .seconds(clockSkew) }
        }
        var configuration = GooglePlayAdapter.Configuration(
            packageNames: Set(packageNames),
            subscriptions: Set(subscriptions),
            push: push
        )
        switch orderLookup {
        case nil, "voided": configuration.orderLookup = .voided
        case "never": configuration.orderLookup = .never
        case "charged": configuration.orderLookup = .charged
        default: throw ConfigurationError("config: orderLookup must be never, voided or charged")
        }
        configuration.looksUpVoidedPurchases = looksUpVoidedPurchases
        if let settlingSeconds { configuration.settlingWindow = .seconds(settlingSeconds) }
        if let maximumBodyBytes {
            configuration.maximumBodyBytes = Int(exactly: maximumBodyBytes) ?? configuration.maximumBodyBytes
        }
        return configuration
    }

    func keys() throws(ConfigurationError) -> (any KeySource)? {
        guard let jwks else {
            if kind != "push" { return nil }
            throw ConfigurationError("config: jwks is missing")
        }
        return try StaticKeySource(json: jwks)
    }
}
