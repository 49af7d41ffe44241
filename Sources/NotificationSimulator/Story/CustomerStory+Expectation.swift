import FoundationEssentials
public import LifecycleEvents

extension CustomerStory {
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
            Expectation(scene, scene.wording(at: provider))
        }
    }
}

extension CustomerStory.Expectation {
    /// The outcome of a scene, in the provider's wording if that differs.
    init(_ scene: Plot.Scene, _ wording: Plot.Scene.Wording?) {
        self.init(step: scene.step, kinds: wording?.kinds ?? scene.act.kinds, difference: wording?.why)
    }
}

extension CustomerStory.Act {
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
        case .own(let own): own.act.kinds
        }
    }
}

extension Plot.Scene {
    typealias Wording = (kinds: [LifecycleEvent.Kind], why: String)

    /// The different wording of a provider, with the reason.
    func wording(at provider: Provider) -> Wording? {
        StoryProviders.kind(of: provider)?.wording(of: self)
    }

    /// True if the act ends an active subscription.
    var endsSubscription: Bool { before?.state == .active && after?.state == .ended }
}
