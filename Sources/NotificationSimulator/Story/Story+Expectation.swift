import FoundationEssentials
public import LifecycleEvents

extension Story {
    /// The expected outcome of a step at a provider.
    public struct Expectation: Sendable, Hashable {
        /// Which step, from 0 on.
        public var step: Int
        /// The kinds of event, each fact once, in the order in which they are reported.
        public var kinds: [LifecycleEvent.Kind]
        /// The reason that these differ from the act's events elsewhere; nil if they do not.
        public var difference: String?
    }

    /// The expected outcome of each step at a provider.
    ///
    /// - Throws: ``SimulatorError`` as ``StorySimulator/notifications(_:from:)`` does.
    public func expectations(at provider: Provider) throws(SimulatorError) -> [Expectation] {
        try Plot.scenes(self, from: Date(millisecondsSince1970: 0), at: provider).map { scene in
            if let (kinds, why) = scene.wording(at: provider) {
                Expectation(step: scene.step, kinds: kinds, difference: why)
            } else {
                Expectation(step: scene.step, kinds: scene.act.kinds, difference: nil)
            }
        }
    }
}

extension Story.Act {
    /// The expected outcome of the act, unless a provider documents another.
    public var kinds: [LifecycleEvent.Kind] {
        switch self {
        case .subscribe, .completePayment, .shareWithFamily: [.started]
        case .subscribePending: [.purchasePending]
        case .abandonPayment: [.purchasePendingCanceled]
        case .renew, .renewEarly, .renewAfterCancel, .recover, .resume, .topUp: [.renewed]
        case .failCharge: [.billingIssue]
        case .endGrace: [.gracePeriodExpired]
        case .cancel, .cancelCommitment: [.autoRenewDisabled]
        case .uncancel: [.autoRenewEnabled]
        case .expire: [.expired]
        case .upgrade, .crossgrade: [.productChanged]
        case .downgrade: [.productChangeScheduled]
        case .withdrawDowngrade: [.productChangeReverted]
        case .schedulePause: [.pauseScheduled]
        case .pause: [.paused]
        case .extend: [.extended]
        case .raisePrice, .acceptPrice: [.priceChange]
        case .buy: [.oneTimePurchased]
        case .requestRefund: [.refundRequested]
        case .refund: [.refunded]
        case .declineRefund: [.refundDeclined]
        case .reverseRefund: [.refundReversed]
        case .disputeCharge, .winDispute, .loseDispute: [.chargeback]
        case .stopSharing: [.revoked]
        case .transfer: [.transferred]
        case .test: [.notice]
        }
    }
}

extension Plot.Scene {
    typealias Wording = (kinds: [LifecycleEvent.Kind], why: String)

    /// The different wording of a provider, with the reason.
    func wording(at provider: Provider) -> Wording? {
        switch provider {
        case .apple: apple
        case .google: google
        case .revenuecat: revenueCat
        case .stripe: stripe
        default: nil
        }
    }

    private var endsSubscription: Bool { before?.state == .active && after?.state == .ended }

    private var apple: Wording? {
        guard case .crossgrade = act else { return nil }
        return ([.productChangeScheduled], "another rhythm begins with the next period")
    }

    private var google: Wording? {
        let acknowledge = "a purchase has to be acknowledged"
        let replaced = "the new token has to be acknowledged, and the old one ends"
        switch act {
        case .subscribe, .completePayment, .buy: return (act.kinds + [.acknowledgementRequired], acknowledge)
        case .upgrade, .crossgrade, .downgrade, .topUp:
            return (act.kinds + [.acknowledgementRequired, .expired], replaced)
        case .endGrace: return ([.billingIssue], "account hold begins")
        case .refund where endsSubscription: return ([.refunded, .revoked], "the end of access is reported separately")
        case .disputeCharge: return ([.refundRequested], "the developer is asked for a view")
        case .loseDispute where endsSubscription:
            return ([.chargeback, .revoked], "the end of access is reported separately")
        default: return nil
        }
    }

    private var revenueCat: Wording? {
        switch act {
        case .subscribe where before != nil && after?.plan.billing != .prepaid:
            return ([.renewed], "a return within an App Store group continues the same purchase")
        case .failCharge(let grace):
            let why = "a failed charge is reported as a cancellation, too"
            return grace == nil
                ? ([.billingIssue, .autoRenewDisabled, .expired], "\(why), and without grace as the end")
                : ([.billingIssue, .autoRenewDisabled], why)
        case .expire where before?.state == .hold: return ([], "the failed charge was reported as the end")
        case .upgrade: return ([.productChangeScheduled, .renewed], "the change is announced, and then charged")
        case .crossgrade: return apple
        case .topUp: return ([.started, .expired], "every top-up is a purchase of its own")
        case .refund(.previous, _): return ([], "the refund of an earlier period is not reported")
        case .refund where endsSubscription: return ([.refunded, .expired], "the end of access is reported separately")
        case .stopSharing: return ([.expired], "the member's purchase ends like any other")
        default: return nil
        }
    }

    private var stripe: Wording? {
        switch act {
        case .renew where before?.nextPlan != nil:
            return ([.productChanged, .renewed], "a planned change and its payment are reported separately")
        case .upgrade, .crossgrade: return ([.productChanged, .notice], "the invoice of a change reports its price")
        case .endGrace: return ([.expired], "a subscription that is unpaid gives no access, and a payment revives it")
        case .refund where endsSubscription:
            return ([.refunded, .expired], "a refund ends nothing; the merchant ends the subscription")
        case .loseDispute where endsSubscription:
            return ([.chargeback, .expired], "a chargeback ends nothing; the merchant ends the subscription")
        default: return nil
        }
    }
}
