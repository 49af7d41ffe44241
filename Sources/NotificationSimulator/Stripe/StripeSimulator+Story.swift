public import FoundationEssentials
public import LifecycleEvents
import WireJSON

extension StripeSimulator: StorySimulator {
    /// Makes a simulator with a secret of its own: the same seed gives the same.
    public init(seed: String, version: Version = .endive, isLive: Bool = true, account: String? = nil) {
        self.init(
            signingSecret: SecretBytes("whsec_\(StoryIdentity(seed: seed, story: "").letters("stripe", 32))"),
            version: version,
            isLive: isLive,
            account: account
        )
        self.seed = seed
    }

    /// Stripe.
    public var provider: Provider { .stripe }

    /// Stripe's notifications.
    public func notifications(
        _ story: CustomerStory,
        from start: Date
    ) throws(SimulatorError) -> [SimulatedNotification] {
        var teller = StripeStoryteller(self, story: story)
        for scene in try Plot.scenes(story, from: start, at: .stripe) { try teller.tell(scene) }
        return teller.notifications
    }

    /// One attempt: Stripe signs each one again.
    public func delivery(
        of notification: SimulatedNotification,
        sentAt: Date
    ) throws(SimulatorError) -> Delivery {
        var delivery = try delivery(notification.content, receivedAt: sentAt)
        delivery.headers.add("Content-Type", "application/json; charset=utf-8")
        delivery.headers.add("User-Agent", "Stripe/1.0 (+https://stripe.com/docs/webhooks)")
        return delivery
    }

    /// The secret and the mode.
    public var receiverConfiguration: [UInt8] {
        JSONMembers([
            ("secrets", [.string(String(decoding: signingSecret.bytes, as: UTF8.self))]),
            ("livemode", .bool(isLive)),
        ]).bytes
    }
}
