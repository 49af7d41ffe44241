import LifecycleEvents

extension AppleSimulator: StoryProvider {
    static let title = "App Store"
    static let habits = Plot.Habits(changesRhythmLater: true)

    // https://developer.apple.com/documentation/appstoreservernotifications/responding-to-app-store-server-notifications
    static var redelivery: RedeliverySchedule {
        RedeliverySchedule(
            waits: [1, 12, 24, 48, 72].map { .seconds($0 * 3600) },
            timeout: .seconds(30),
            accepted: Set(200...206)
        )
    }

    static func simulator(seed: String) throws(SimulatorError) -> any StorySimulator { try AppleSimulator(seed: seed) }

    static func absence(of act: CustomerStory.Act) -> String? {
        switch act {
        case .subscribePending, .completePayment, .abandonPayment:
            "a purchase that waits for approval or payment is not reported before it is made"
        case .cancelCommitment: "commitments are not played yet"
        case .subscribe(let plan, _) where plan.billing == .instalments: "commitments are not played yet"
        case .schedulePause, .pause, .resume: "subscriptions cannot be paused"
        case .subscribe(let plan, _) where plan.billing == .prepaid: "no subscription is paid in advance"
        case .topUp, .expire(.ranOut): "no subscription is paid in advance"
        case .disputeCharge, .winDispute, .loseDispute: "chargebacks are not reported"
        case .transfer: "purchases do not change their account"
        default: nil
        }
    }

    static func wording(of scene: Plot.Scene) -> Plot.Scene.Wording? {
        guard case .crossgrade = scene.act else { return nil }
        return ([.productChangeScheduled], "another rhythm begins with the next period")
    }
}
