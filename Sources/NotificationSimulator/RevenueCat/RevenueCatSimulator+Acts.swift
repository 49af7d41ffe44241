import LifecycleEvents

extension RevenueCatSimulator: StoryProvider {
    static let title = "RevenueCat"
    // Those of the App Store.
    static let habits = Plot.Habits(changesRhythmLater: true)

    // https://www.revenuecat.com/docs/integrations/webhooks: five more attempts, and 200 is the only success.
    static var redelivery: RedeliverySchedule {
        RedeliverySchedule(
            waits: [5, 10, 20, 40, 80].map { .seconds($0 * 60) },
            timeout: .seconds(60),
            accepted: [200]
        )
    }

    static func simulator(seed: String) throws(SimulatorError) -> any StorySimulator { RevenueCatSimulator(seed: seed) }

    static func absence(of act: CustomerStory.Act) -> String? {
        switch act {
        case .subscribePending, .completePayment, .abandonPayment: "pending purchases are not reported"
        case .cancelCommitment: "commitments are not reported"
        case .subscribe(let plan, _) where plan.billing == .instalments: "commitments are not reported"
        case .acceptPrice, .raisePrice, .expire(.priceDeclined):
            "the webhook that reports a price is not settled for every store"
        case .requestRefund, .declineRefund: "requests for refunds are not reported"
        case .refund(_, .half): "refunds of a part are not distinguished"
        case .disputeCharge, .winDispute, .loseDispute: "chargebacks are not reported"
        case .endGrace: "the end of grace is reported as the expiry"
        default: nil
        }
    }

    static func wording(of scene: Plot.Scene) -> Plot.Scene.Wording? { wording(of: scene, relayedFrom: .appStore) }

    /// The events of a scene of a purchase in a store if they differ from its act's, with the reason.
    static func wording(of scene: Plot.Scene, relayedFrom store: PurchaseStore) -> Plot.Scene.Wording? {
        switch scene.act {
        case .subscribe where scene.before != nil && scene.after?.plan.billing != .prepaid && store == .appStore:
            return ([.renewed], "a return within an App Store group continues the same purchase")
        case .failCharge(let grace):
            let why = "a failed charge is reported as a cancellation, too"
            return grace == nil && store != .stripe
                ? ([.billingIssue, .autoRenewDisabled, .expired], "\(why), and without grace as the end")
                : ([.billingIssue, .autoRenewDisabled], why)
        case .expire where scene.before?.state == .hold && store != .stripe:
            return ([], "the failed charge was reported as the end")
        case .upgrade where store == .playStore:
            return ([.notice, .started, .expired], "the new purchase reports the change, and the old one ends")
        case .crossgrade where store == .stripe: return ([], "another rhythm of one product is not reported")
        case .upgrade where !namesNewProduct(of: store):
            return ([.renewed], "the change is announced without the new product, and then charged")
        case .downgrade where !namesNewProduct(of: store), .crossgrade where !namesNewProduct(of: store),
            .withdrawDowngrade where !namesNewProduct(of: store):
            return ([], "the change is announced without the new product")
        case .upgrade: return ([.productChangeScheduled, .renewed], "the change is announced, and then charged")
        case .crossgrade: return AppleSimulator.wording(of: scene)
        case .topUp: return ([.started, .expired], "every top-up is a purchase of its own")
        case .refund(.previous, _): return ([], "the refund of an earlier period is not reported")
        case .refund where scene.endsSubscription:
            return ([.refunded, .expired], "the end of access is reported separately")
        case .stopSharing: return ([.expired], "the member's purchase ends like any other")
        default: return nil
        }
    }

    /// True if the announcement of a change has `new_product_id`. On Play that of a change at once has none either.
    /// https://www.revenuecat.com/docs/integrations/webhooks/event-types-and-fields
    static func namesNewProduct(of store: PurchaseStore) -> Bool { store == .appStore || store == .playStore }

    /// The reason that RevenueCat does not report an act of a purchase in a store; nil if it does. Acts that it reports for no
    /// store are left out.
    static func absence(of act: CustomerStory.Act, relayedFrom store: PurchaseStore) -> String? {
        switch act {
        // RevenueCat's own doing, whatever the store.
        case .transfer, .test: nil
        case _ where store == .appStore || store == .macAppStore: AppleSimulator.absence(of: act)
        case _ where store == .playStore: GoogleSimulator.absence(of: act)
        case .schedulePause, .pause, .resume: "only Google Play's pauses are reported"
        case .reverseRefund: "only refunds of the App Store are undone"
        case .shareWithFamily, .stopSharing: "there is no family sharing"
        case _ where store == .stripe: absenceOfStripe(act)
        case .renewEarly: "no period is charged a day ahead"
        case .extend where store != .amazon: "extensions are not reported"
        case .downgrade where store == .amazon, .upgrade where store == .amazon, .crossgrade where store == .amazon,
            .withdrawDowngrade where store == .amazon:
            "changes of product are not reported"
        case .failCharge(.some) where store != .rcBilling: "no grace is reported"
        default: AppleSimulator.absence(of: act)
        }
    }

    private static func absenceOfStripe(_ act: CustomerStory.Act) -> String? {
        // https://www.revenuecat.com/docs/integrations/webhooks/event-types-and-fields
        if case .uncancel = act { return "a cancellation that is taken back is not reported" }
        return StripeSimulator.absence(of: act)
    }
}
