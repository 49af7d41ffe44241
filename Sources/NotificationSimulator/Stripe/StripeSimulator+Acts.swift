import LifecycleEvents

extension StripeSimulator: StoryProvider {
    static let title = "Stripe"
    // Stripe never moves its periods, and a subscription is ended beside a refund.
    static let habits = Plot.Habits(keepsPeriods: true, endsForGood: true)

    // https://docs.stripe.com/webhooks#retries: up to three days with growing waits, which are not published.
    static var redelivery: RedeliverySchedule {
        RedeliverySchedule(
            waits: [5, 30, 120, 300, 600, 720, 720, 720, 720].map { .seconds($0 * 60) },
            timeout: .seconds(30),
            accepted: Set(200...299)
        )
    }

    static func simulator(seed: String) throws(SimulatorError) -> any StorySimulator { StripeSimulator(seed: seed) }

    static func absence(of act: CustomerStory.Act) -> String? {
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
            return (
                [.productChanged, .renewed, .notice],
                "a planned change, its invoice and the payment of that are reported separately"
            )
        case .subscribe, .completePayment, .renew, .recover, .resume:
            guard (scene.after?.price ?? 0) >= 10 else { return nil }
            return (scene.act.kinds + [.notice], "the payment of an invoice is reported separately")
        case .upgrade, .crossgrade:
            let payment: [LifecycleEvent.Kind] = scene.isChangeCharged ? [.notice] : []
            return (
                [.productChanged, .notice] + payment,
                "the invoice of a change reports its price, and its payment is reported separately"
            )
        case .endGrace: return ([.expired], "a subscription that is unpaid gives no access, and a payment revives it")
        case .refund where scene.endsSubscription:
            return ([.refunded, .expired], "a refund ends nothing; the merchant ends the subscription")
        case .loseDispute where scene.endsSubscription:
            return ([.chargeback, .expired], "the loss ends access; the merchant ends the subscription")
        default: return nil
        }
    }
}

extension Plot.Scene {
    /// The value of the time that a change leaves unused, in the smallest unit of the currency.
    ///
    /// - Parameter price: the price of the period in that unit.
    func unused(ofPrice price: Int64) -> Int64 {
        guard let before else { return 0 }
        return price * max(0, before.end - time) / max(1, before.end - before.start)
    }

    /// True if the new product costs more than what is left of the old one.
    fileprivate var isChangeCharged: Bool {
        guard let before, let after else { return false }
        return after.plan.price / 10 > unused(ofPrice: (before.nextPrice ?? before.plan.price) / 10)
    }
}
