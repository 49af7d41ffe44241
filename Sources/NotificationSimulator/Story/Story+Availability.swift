public import LifecycleEvents

extension Story {
    /// The providers that stories are played on.
    public static let providers = Provider.adapted

    /// The reason that a provider cannot play this story; nil if it can.
    public func absence(at provider: Provider) -> String? {
        for step in steps {
            if let absence = step.act.absence(at: provider) { return "\(step.act.name): \(absence)" }
        }
        return nil
    }

    /// True if an act that only Google Play has makes it a story of Google Play, even if a relay reports it.
    var isOfGooglePlay: Bool {
        steps.contains { $0.act.absence(at: .apple) != nil && $0.act.absence(at: .google) == nil }
    }
}

extension Story.Act {
    /// Its name, in words.
    public var name: String {
        switch self {
        case .subscribe(_, nil): "subscribe"
        case .subscribe: "subscribe with an offer"
        case .subscribePending: "pending purchase"
        case .completePayment: "payment of a pending purchase"
        case .abandonPayment: "end of a pending purchase"
        case .renew: "renewal"
        case .renewEarly: "renewal ahead of time"
        case .renewAfterCancel: "renewal after a late cancellation"
        case .failCharge(nil): "failed charge"
        case .failCharge: "failed charge with grace"
        case .endGrace: "end of grace"
        case .recover: "recovery"
        case .cancel: "cancellation"
        case .uncancel: "cancellation taken back"
        case .cancelCommitment: "cancellation within a commitment"
        case .expire: "expiry"
        case .upgrade: "upgrade"
        case .crossgrade: "crossgrade"
        case .downgrade: "downgrade"
        case .withdrawDowngrade: "downgrade taken back"
        case .schedulePause: "pause planned"
        case .pause: "pause"
        case .resume: "resumption"
        case .extend: "extension"
        case .raisePrice(_, true): "price change that needs consent"
        case .raisePrice: "price change"
        case .acceptPrice: "consent to a price"
        case .buy: "one-time purchase"
        case .topUp: "top-up"
        case .requestRefund: "request for a refund"
        case .refund(_, .full): "refund"
        case .refund(_, .half): "refund of a part"
        case .declineRefund: "refund declined"
        case .reverseRefund: "refund undone"
        case .disputeCharge: "chargeback"
        case .winDispute: "chargeback won"
        case .loseDispute: "chargeback lost"
        case .shareWithFamily: "family sharing"
        case .stopSharing: "end of family sharing"
        case .transfer: "transfer"
        case .test: "test"
        }
    }

    /// The reason that a provider lacks, or does not report, this act; nil if it does.
    public func absence(at provider: Provider) -> String? {
        switch provider {
        case .apple: absenceAtApple
        case .google: absenceAtGoogle
        case .revenuecat: absenceAtRevenueCat
        case .stripe: absenceAtStripe
        default: "no simulator plays this provider"
        }
    }

    /// Why RevenueCat does not tell of it for purchases in a store; nil where it does. What it tells for no store is left out.
    func absence(relayedFrom store: Store) -> String? {
        switch self {
        // RevenueCat's own doing, whatever the store.
        case .transfer, .test: nil
        case _ where store == .appStore || store == .macAppStore: absenceAtApple
        case _ where store == .playStore: absenceAtGoogle
        case .schedulePause, .pause, .resume: "only Google Play's pauses are told"
        case .reverseRefund: "only refunds of the App Store are undone"
        case .shareWithFamily, .stopSharing: "there is no family sharing"
        case _ where store == .stripe: absenceOfStripeAtRevenueCat
        case .renewEarly: "no period is charged a day ahead"
        case .extend where store != .amazon: "extensions are not told"
        case .downgrade where store == .amazon, .upgrade where store == .amazon, .crossgrade where store == .amazon,
            .withdrawDowngrade where store == .amazon:
            "changes of product are not told"
        case .failCharge(.some) where store != .rcBilling: "no grace is told"
        default: absenceAtApple
        }
    }

    private var absenceOfStripeAtRevenueCat: String? {
        // https://www.revenuecat.com/docs/integrations/webhooks/event-types-and-fields
        if case .uncancel = self { return "that a cancellation is taken back is not told" }
        return absenceAtStripe
    }

    private var absenceAtApple: String? {
        switch self {
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

    private var absenceAtGoogle: String? {
        switch self {
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

    private var absenceAtRevenueCat: String? {
        switch self {
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

    private var absenceAtStripe: String? {
        switch self {
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
}
