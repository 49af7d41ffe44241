public import FoundationEssentials
public import LifecycleEvents

extension RevenueCatSimulator: StorySimulator {
    /// Makes a simulator with a header value and a secret of its own: the same seed gives the same.
    public init(seed: String) {
        let identity = StoryIdentity(seed: seed, story: "")
        self.init(
            authorization: Secret("Bearer \(identity.letters("revenuecat authorization", 32))"),
            signingSecret: Secret(identity.letters("revenuecat signing", 32))
        )
        self.seed = seed
    }

    /// RevenueCat.
    public var provider: Provider { .revenuecat }

    /// RevenueCat's notifications: of the App Store, or of Google Play where only that has the story's acts.
    public func notifications(
        _ story: Story,
        from start: Date
    ) throws(SimulatorError) -> [SimulatedNotification] {
        let scenes = try Plot.scenes(story, from: start, at: .revenuecat)
        var teller = try RevenueCatStoryteller(story, scenes, from: start, seed: seed)
        for scene in scenes { try teller.tell(scene) }
        return teller.notifications
    }

    /// One attempt: RevenueCat signs each one again.
    public func delivery(
        of notification: SimulatedNotification,
        sentAt: Date
    ) throws(SimulatorError) -> Delivery {
        try delivery(notification.content, receivedAt: sentAt)
    }

    /// The credentials.
    public var receiverConfiguration: [UInt8] {
        var members = JSONMembers()
        if let authorization {
            members.append("authorization", .string(String(decoding: authorization.bytes, as: UTF8.self)))
        }
        if let signingSecret {
            members.append("hmacSecrets", [.string(String(decoding: signingSecret.bytes, as: UTF8.self))])
        }
        return members.bytes
    }
}
