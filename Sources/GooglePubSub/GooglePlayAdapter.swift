public import FoundationEssentials
public import LifecycleEvents
import SignatureCore

/// Takes Google Play's real-time developer notifications, pushed or pulled, to canonical events.
public struct GooglePlayAdapter: ProviderAdapter {
    /// Google Play.
    public let provider: Provider = .google

    package let configuration: GooglePlayAdapter.Configuration
    private let keys: (any KeySource)?
    let api: PlayDeveloperAPI?

    /// Prepares the adapter.
    ///
    /// - Parameters:
    ///   - configuration: the package names, and the push subscription to accept.
    ///   - keys: Google's public keys; nil if messages are only pulled.
    ///   - api: where to ask about purchases; without it nothing is looked up, and no notification gives an event.
    /// - Throws: `ConfigurationError` for a configuration that would verify nothing.
    public init(
        _ configuration: GooglePlayAdapter.Configuration,
        keys: (any KeySource)?,
        api: PlayDeveloperAPI?
    ) throws(ConfigurationError) {
        try configuration.validate()
        guard configuration.push == nil || keys != nil else {
            throw ConfigurationError("push needs keys to verify the tokens with: pass `keys`")
        }
        self.configuration = configuration
        self.keys = keys
        self.api = api
    }

    /// Proves and decodes a push, wrapped or unwrapped.
    ///
    /// The token proves the sender. Once it holds, every error of the body is marked authentic: a redelivery would have
    /// the same error.
    ///
    /// - Throws: `DeliveryError` with `malformed`, `unauthenticated`, `untrusted`, `stale`, `misdirected` or
    ///   `unavailable`, the last also if pushes are not configured; answer with `Acknowledgement`.
    public func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<GoogleNotification> {
        guard let push = configuration.push, let keys else {
            throw DeliveryError(.unavailable, "this adapter takes no pushes: its configuration has no `push`")
        }
        let token = try await OIDCToken.verify(
            delivery.headers,
            push,
            keys: keys,
            receivedAt: delivery.receivedAt.millisecondsSince1970
        )
        let notification: GoogleNotification
        do throws(DeliveryError) {
            try Limits.check(delivery.body, atMost: configuration.maximumBodyBytes)
            let (message, layout) = try PubSubMessage.pushed(delivery)
            notification = try self.notification(message, mustNameSubscription: layout == .wrapped)
        } catch {
            throw error.authentic
        }
        return Authenticated(
            notification,
            receivedAt: delivery.receivedAt,
            channel: .webhook,
            evidence: Origin.Evidence(.oidc, key: token.keyID),
            digest: delivery.bodyDigest
        )
    }

    /// Decodes a message that was pulled from Google over TLS, which proves it.
    ///
    /// - Throws: `DeliveryError` with `malformed` or `misdirected`, marked authentic.
    public func receive(
        pulled message: PubSubMessage,
        receivedAt: Date
    ) throws(DeliveryError) -> Authenticated<GoogleNotification> {
        let notification: GoogleNotification
        do throws(DeliveryError) {
            try Limits.check(message.data, named: "data", atMost: configuration.maximumBodyBytes)
            notification = try self.notification(message, mustNameSubscription: true)
        } catch {
            throw error.authentic
        }
        return Authenticated(
            notification,
            receivedAt: receivedAt,
            channel: .pull,
            evidence: Origin.Evidence(.tls),
            digest: BodyDigest(of: message.data)
        )
    }

    /// Takes a pulled message through all steps.
    func outcome(
        ofPulled message: PubSubMessage,
        receivedAt: Date
    ) async -> Result<Normalization, DeliveryError> {
        do throws(DeliveryError) {
            let notification = try receive(pulled: message, receivedAt: receivedAt)
            return .success(try normalize(try await resolve(notification)))
        } catch {
            return .failure(error)
        }
    }

    /// - Parameter mustNameSubscription: not where an unwrapped push without metadata is known by its token alone.
    private func notification(
        _ message: PubSubMessage,
        mustNameSubscription: Bool
    ) throws(DeliveryError) -> GoogleNotification {
        if let named = message.subscription ?? (mustNameSubscription ? "" : nil) { try checkSubscription(named) }
        let content = try DeveloperNotification(payload: message.data)
        try checkAddressee(of: content.packageName)
        return GoogleNotification(message: message, content: content)
    }

    /// Asks Google Play about the purchase that a notification is about.
    ///
    /// It asks for a subscription's predecessors too, so that its lineage has one name. Right after an event Google's
    /// servers may not agree yet: if an answer does not show the notification's event, it asks again, and the answer
    /// does not count before ``Configuration/settlingWindow`` is over.
    ///
    /// - Throws: `DeliveryError`, marked authentic: `unavailable` if Google could not be asked or does not show the
    ///   event yet; `denied` if rights are missing and the event is older than ``Configuration/deniedRetryWindow``.
    ///   Neither says anything about the purchase.
    public func resolve(
        _ notification: Authenticated<GoogleNotification>
    ) async throws(DeliveryError) -> Authenticated<GoogleResolution> {
        try await resolve(notification, voided: nil)
    }

    /// - Parameter row: the row of the list of voided purchases, if it is known without a question.
    func resolve(
        _ notification: Authenticated<GoogleNotification>,
        voided row: PlayAnswer?
    ) async throws(DeliveryError) -> Authenticated<GoogleResolution> {
        var lookups: [GoogleResolution.Lookup] = []
        if let api {
            let content = notification.value.content
            var lookup = PurchaseLookup(
                api: api,
                configuration: configuration,
                packageName: content.packageName,
                receivedAt: notification.receivedAt,
                eventTime: content.eventTime
            )
            lookups = try await lookup.run(content.content, voided: row)
        }
        return notification.map { GoogleResolution(notification: $0, lookups: lookups) }
    }
}

extension DeliveryError {
    /// The same error about a delivery that was proven before. An error that is only `unavailable` stays so.
    var authentic: DeliveryError {
        var error = self
        error.isAuthentic = true
        return error
    }
}
