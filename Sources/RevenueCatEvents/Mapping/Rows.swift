import LifecycleEvents

extension Mapping {
    /// The meanings of RevenueCat's types. Conditions distinguish the meanings of one type.
    enum Row: Hashable {
        case initialPurchase, renewal, unpaidRenewal
        case granted, oneTimePurchase, temporaryGrant
        case revokedByDeveloper, familySharingEnded, refund, autoRenewOff(LifecycleEvent.AutoRenewDisabled.Reason),
            autoRenewOn
        case pauseScheduled, paused, expired(LifecycleEvent.Expired.Reason)
        case billingIssue
        case productChange
        case extended, refundReversed
        case priceConsent(LifecycleEvent.PriceChange.Stage)
        case transfer, redeemed, aliased
        case invoice, virtualCurrency, experiment, paywall, test
        case unknown

        /// True if it holds for every product of a subscription with add-ons, which has one lifecycle.
        var isOfAllItems: Bool {
            switch self {
            case .initialPurchase, .renewal, .refund, .familySharingEnded, .autoRenewOff, .autoRenewOn, .pauseScheduled,
                .paused, .expired, .billingIssue, .extended:
                true
            default: false
            }
        }

        /// True if it is about the money of an order, whatever products the order paid for: one event reports it.
        var isOfOrder: Bool { self == .refund }

        /// True if access to all products ends with it, however each of them was paid for.
        var endsAllItems: Bool {
            switch self {
            case .refund, .familySharingEnded, .paused, .expired, .billingIssue, .autoRenewOff(.billing): true
            default: false
            }
        }

        /// True if it is about one purchase, which lives in one environment and was bought in one app.
        var isAboutPurchase: Bool {
            switch self {
            case .transfer, .redeemed, .aliased, .virtualCurrency, .experiment, .paywall, .test, .unknown: false
            default: true
            }
        }
    }
}

extension RevenueCatEvent {
    /// The result of taking it in.
    var row: Mapping.Row {
        // The names of paywall types can be changed in the dashboard, also to one of those below.
        if isPaywallInteraction { return .paywall }
        return switch type {
        // Also the start of a trial, a resubscription on Play, and Play's immediate change of product.
        case .initialPurchase: .initialPurchase
        // Also a trial's conversion, a recovery, the end of a pause, a lapsed customer's return, and a change of
        // product taking effect. With some settings Stripe makes periods that are never paid for.
        case .renewal: isUnpaidStripeRenewal ? .unpaidRenewal : .renewal
        // A grant has no store that could charge for it.
        case .nonRenewingPurchase: store == .promotional ? .granted : .oneTimePurchase
        // Not validated by the store yet, at most a day of access.
        case .temporaryEntitlementGrant: .temporaryGrant
        // Only a refund, the end of sharing and the removal of a grant take access away.
        case .cancellation: cancellationRow
        // The customer came back before the end. Stripe never sends it.
        case .uncancellation: .autoRenewOn
        // Access continues until the period ends.
        case .subscriptionPaused: .pauseScheduled
        case .expiration: expirationRow
        // One for each incident; later attempts that fail are silent.
        case .billingIssue: .billingIssue
        // An announcement: it moves neither access nor money.
        case .productChange: .productChange
        case .subscriptionExtended: .extended
        // App Store only; the period may be over by now.
        case .refundReversed: .refundReversed
        case .priceIncreaseConsentRequired: .priceConsent(.pending)
        case .priceIncreaseConsentApproved: .priceConsent(.accepted)
        // Sent once, for the destination, without a product.
        case .transfer: .transfer
        case .purchaseRedeemed: .redeemed
        case .subscriberAlias: .aliased
        case .invoiceIssuance: .invoice
        case .virtualCurrencyTransaction: .virtualCurrency
        case .experimentEnrollment: .experiment
        case .paywallImpression, .paywallClose, .paywallCancel, .paywallExitOffer, .paywallComponentInteracted:
            .paywall
        // It has the shape of a purchase and is none.
        case .test: .test
        default: .unknown
        }
    }

    private var cancellationRow: Mapping.Row {
        if store == .promotional { return .revokedByDeveloper }
        // The person who shared got the money back. This customer paid nothing, and loses access.
        if isRefund { return isFamilyShare ? .familySharingEnded : .refund }
        // A purchase without an end does not renew, so a developer who cancels it takes it back.
        if cancelReason == .developerInitiated, expirationAt == nil { return .revokedByDeveloper }
        return switch cancelReason {
        case .unsubscribe?: .autoRenewOff(.customer)
        case .billingError?: .autoRenewOff(.billing)
        case .priceIncrease?: .autoRenewOff(.priceIncreaseDeclined)
        case .developerInitiated?: .autoRenewOff(.developer)
        default: .autoRenewOff(.unknown)
        }
    }

    private var expirationRow: Mapping.Row {
        switch expirationReason {
        case .subscriptionPaused?: .paused
        case .unsubscribe?: .expired(.customer)
        case .billingError?: .expired(.billing)
        case .priceIncrease?: .expired(.priceIncreaseDeclined)
        case .developerInitiated?: .expired(.developer)
        case .customerSupport?: .expired(isFamilyShare ? .unknown : .refunded)
        default: .expired(.unknown)
        }
    }
}
