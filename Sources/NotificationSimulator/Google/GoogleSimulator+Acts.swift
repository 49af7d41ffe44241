import LifecycleEvents

extension GoogleSimulator: StoryProvider {
    static let title = "Google Play"

    // https://cloud.google.com/pubsub/docs/handling-failures#exponential_backoff, with its default bounds, for the
    // default retention of seven days.
    static var redelivery: RedeliverySchedule {
        var waits: [Duration] = [10, 20, 40, 80, 160, 320].map { .seconds($0) }
        waits += Array(repeating: .seconds(600), count: 1006)
        return RedeliverySchedule(waits: waits, timeout: .seconds(10), accepted: [102, 200, 201, 202, 204])
    }

    static func simulator(seed: String) throws(SimulatorError) -> any StorySimulator { try GoogleSimulator(seed: seed) }

    static func absence(of act: CustomerStory.Act) -> String? {
        switch act {
        case .withdrawDowngrade: "a planned change is not taken back, but replaced by another"
        case .requestRefund, .declineRefund: "only chargebacks are put before the developer"
        case .refund(_, .half): "refunds of a part are not reported"
        case .reverseRefund: "refunds are final"
        case .winDispute: "a chargeback that was won is not reported"
        case .shareWithFamily, .stopSharing: "family sharing is not reported"
        case .transfer: "purchases do not change their account"
        default: nil
        }
    }

    static func wording(of scene: Plot.Scene) -> Plot.Scene.Wording? {
        let acknowledge = "a purchase has to be acknowledged"
        let replaced = "the new token has to be acknowledged, and the old one ends"
        switch scene.act {
        case .subscribe, .completePayment, .buy: return (scene.act.kinds + [.acknowledgementRequired], acknowledge)
        case .upgrade, .crossgrade, .downgrade, .topUp:
            return (scene.act.kinds + [.acknowledgementRequired, .expired], replaced)
        case .endGrace: return ([.billingIssue], "account hold begins")
        case .refund where scene.endsSubscription:
            return ([.refunded, .revoked], "the end of access is reported separately")
        case .disputeCharge: return ([.refundRequested], "the developer is asked for a view")
        case .loseDispute where scene.endsSubscription:
            return ([.chargeback, .revoked], "the end of access is reported separately")
        default: return nil
        }
    }
}
