import AppStoreServer
import AppleJWS
package import FoundationEssentials
import GooglePubSub
package import HTTPTransport
package import Normalizer
package import NotificationSimulator
import ReceiverConfiguration
package import RevenueCatEvents
import Stripe
import WireJSON

/// A host's means to heal with a provider during a story: the provider's memory, and its answers to questions.
package struct StoryHealing: Sendable {
    /// The provider's memory.
    package let histories: [any DeliveryHistory]
    /// Its answers to questions.
    package let questions: [any LineageQuestions]
    /// The purchases that the provider lists itself.
    package let purchases: (any PurchaseList)?

    /// True if the provider can be asked at all. What a webhook alone would have said is else lost with it.
    package var isPossible: Bool { !histories.isEmpty || !questions.isEmpty }

    /// - Parameters:
    ///   - api: the provider's API.
    ///   - simulator: the provider.
    ///   - fault: what a test puts between the host and the API.
    ///   - relay: which version of RevenueCat's API is asked.
    ///   - clock: takes the waits.
    ///   - now: the host's time.
    package init(
        _ api: StoryAPI,
        of simulator: any StorySimulator,
        through fault: (any HTTPTransportProtocol) -> any HTTPTransportProtocol = { $0 },
        relay: RevenueCatClient.API = .v2(project: "proj1"),
        clock: any Clock<Duration>,
        now: @escaping @Sendable () -> Date
    ) throws {
        let transport = fault(api.transport(now: now))
        let config = try JSONDocument(parsing: simulator.receiverConfiguration, limits: Receivers.limits).root
        let receiver = try Receivers.receiver(for: simulator.provider, config: config, answers: transport)
        switch (simulator, receiver) {
        case (let apple as AppleSimulator, _):
            guard let server = api.appStoreServer else { throw SimulatorError("there is no API key", .nonsense) }
            let environment: AppStoreServerClient.Environment =
                apple.environment == .production ? .production : .sandbox
            var configuration = AppleAdapter.Configuration(
                apps: [.init(bundleID: apple.bundleId, appAppleID: apple.appAppleId)],
                environments: [environment == .production ? .production : .sandbox],
                trustAnchors: try AppleTrustAnchors(der: [apple.rootCertificate])
            )
            configuration.maximumAge = nil
            let key = try AppStoreServerKey(
                issuerID: server.issuerID,
                keyID: server.keyID,
                privateKey: SecretBytes(bytes: server.privateKey)
            )
            let client = try AppStoreServerClient(
                .init(key: key, bundleID: apple.bundleId, environments: [environment]),
                adapter: try AppleAdapter(configuration),
                transport: transport,
                clock: clock,
                now: now
            )
            (histories, questions, purchases) = ([client.history(in: environment)], [client], nil)
        case (let google as GoogleSimulator, let receiver as GoogleReceiver):
            histories = [receiver.adapter.voidedPurchases(of: google.packageName)].compactMap(\.self)
            (questions, purchases) = ([receiver.adapter], nil)
        case (_, let receiver as StripeReceiver):
            histories = [receiver.adapter.history()].compactMap(\.self)
            (questions, purchases) = ([receiver.adapter], receiver.adapter.subscriptions())
        case (is RevenueCatSimulator, _):
            var client = try RevenueCatClient(transport: transport, apiKey: SecretBytes("sk_story"), api: relay)
            client.clock = clock
            (histories, questions, purchases) = ([], [client], nil)
        default:
            (histories, questions, purchases) = ([], [receiver.questions].compactMap(\.self), nil)
        }
    }
}
