public import LifecycleEvents

extension CustomerStory {
    /// The providers that stories are played on.
    public static let providers = Provider.adapted

    /// The reason that a provider cannot play this story; nil if it can.
    public func absence(at provider: Provider) -> String? {
        steps.lazy.compactMap { $0.act.absence(at: provider) }.first
    }

    /// True if an act that only Google Play has makes it a story of Google Play, even if a relay reports it.
    var isOfGooglePlay: Bool {
        steps.contains { $0.act.absence(at: .apple) != nil && $0.act.absence(at: .google) == nil }
    }
}

extension CustomerStory.Act {
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
        case .own(let own): own.act.name
        }
    }

    /// The reason that a provider lacks, or does not report, this act; nil if it does.
    public func absence(at provider: Provider) -> String? {
        guard let kind = StoryProviders.kind(of: provider) else { return "no simulator plays this provider" }
        if case .own(let own) = self {
            return own.provider == provider ? nil : "only \(own.provider.storyTitle) has it"
        }
        return kind.absence(of: self)
    }
}
