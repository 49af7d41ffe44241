import LifecycleEvents

extension StripeSimulator: StoryProvider {
    static let title = "Stripe"

    // https://docs.stripe.com/webhooks#retries: up to three days with growing waits, which are not published.
    static var redelivery: RedeliverySchedule {
        RedeliverySchedule(
            waits: [5, 30, 120, 300, 600, 720, 720, 720, 720].map { .seconds($0 * 60) },
            timeout: .seconds(30),
            accepted: Set(200...299)
        )
    }

    static func simulator(seed: String) throws(SimulatorError) -> any StorySimulator { StripeSimulator(seed: seed) }

    static func absence(of act: Story.Act) -> String? {
        switch act {
        case .renewEarly: "no period is charged before it begins"
        case .renewAfterCancel: "a subscription that was canceled ends on time"
        case .subscribe(let plan, _) where plan.billing == .instalments: "there are no commitments"
        case .cancelCommitment: "there are no commitments"
        case .raisePrice(_, true), .acceptPrice, .expire(.priceDeclined): "prices change without consent"
        case .subscribe(let plan, _) where plan.billing == .prepaid: "no subscription is paid in advance"
        case .topUp, .expire(.ranOut): "no subscription is paid in advance"
        case .requestRefund, .declineRefund: "customers ask the merchant, not Stripe"
        case .shareWithFamily, .stopSharing: "there is no family sharing"
        case .transfer: "subscriptions do not change their customer"
        default: nil
        }
    }

    static func wording(of scene: Plot.Scene) -> Plot.Scene.Wording? {
        switch scene.act {
        case .renew where scene.before?.nextPlan != nil:
            return ([.productChanged, .renewed], "a planned change and its payment are reported separately")
        case .upgrade, .crossgrade: return ([.productChanged, .notice], "the invoice of a change reports its price")
        case .endGrace: return ([.expired], "a subscription that is unpaid gives no access, and a payment revives it")
        case .refund where scene.endsSubscription:
            return ([.refunded, .expired], "a refund ends nothing; the merchant ends the subscription")
        case .loseDispute where scene.endsSubscription:
            return ([.chargeback, .expired], "the loss ends access; the merchant ends the subscription")
        default: return nil
        }
    }
}
