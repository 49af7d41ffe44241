public import FoundationEssentials
public import LifecycleEvents
import WireJSON

extension RevenueCatSimulator: StorySimulator {
    /// The stores whose purchases it can tell of.
    public static let stores: [PurchaseStore] = [.appStore, .playStore, .stripe, .rcBilling, .amazon, .roku, .paddle]

    /// Makes a simulator with a header value and a secret of its own.
    ///
    /// - Parameters:
    ///   - seed: what the two are made from: the same seed gives the same.
    ///   - store: the store of the purchases, one of ``stores``; nil for the App Store, or Google Play where only that has the
    ///     story's acts.
    public init(seed: String, store: PurchaseStore? = nil) {
        let identity = StoryIdentity(seed: seed, story: "")
        self.init(
            authorization: SecretBytes("Bearer \(identity.letters("revenuecat authorization", 32))"),
            signingSecret: SecretBytes(identity.letters("revenuecat signing", 32))
        )
        self.seed = seed
        self.store = store
    }

    /// Why RevenueCat does not tell a story of the store; nil where it does.
    public func absence(of story: CustomerStory) -> String? {
        story.absence(at: .revenuecat)
            ?? store.flatMap { store in
                story.steps.lazy.compactMap { Self.absence(of: $0.act, relayedFrom: store) }.first
            }
    }

    /// RevenueCat.
    public var provider: Provider { .revenuecat }

    /// The store whose purchases a story is about.
    private func store(of story: CustomerStory) -> PurchaseStore {
        store ?? (story.isOfGooglePlay ? .playStore : .appStore)
    }

    // The store moves periods, and RevenueCat only reports them.
    private func scenes(_ story: CustomerStory, from start: Date) throws(SimulatorError) -> [Plot.Scene] {
        try Plot.scenes(
            story,
            from: start,
            at: .revenuecat,
            habits: store == .stripe ? StripeSimulator.habits : Self.habits,
            absence: { act in store.flatMap { Self.absence(of: act, relayedFrom: $0) } }
        )
    }

    /// The expected outcome of each step, which differs between the stores that RevenueCat reports.
    public func expectations(of story: CustomerStory) throws(SimulatorError) -> [CustomerStory.Expectation] {
        let scenes = try scenes(story, from: Date(millisecondsSince1970: 0))
        let store = store(of: story)
        return scenes.map { CustomerStory.Expectation($0, Self.wording(of: $0, relayedFrom: store)) }
    }

    /// RevenueCat's notifications of purchases in the store.
    public func notifications(
        _ story: CustomerStory,
        from start: Date
    ) throws(SimulatorError) -> [SimulatedNotification] {
        let scenes = try scenes(story, from: start)
        let store = store(of: story)
        var teller = try RevenueCatStoryteller(story, scenes, of: store, seed: seed)
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
