extension AppleStory {
    /// A whole life: trial, conversion, renewal, a failed charge with grace, recovery, upgrade, refund, expiry.
    public static let demo = AppleStory(
        "demo",
        "Trial, conversion, renewal, failed charge with grace, recovery, upgrade, refund, expiry.",
        [
            Moment(.after(.zero), .subscribe(.basicMonthly, offer: .freeWeek)),
            Moment(.atPeriodEnd, .renew),
            Moment(.atPeriodEnd, .renew),
            Moment(.atPeriodEnd, .failToRenew(grace: .days(16))),
            Moment(.after(.days(5)), .recover),
            Moment(.after(.days(10)), .upgrade(.proMonthly)),
            Moment(.after(.days(3)), .refund(.previous)),
            Moment(.after(.days(2)), .turnRenewalOff),
            Moment(.atPeriodEnd, .expire(.voluntary)),
        ]
    )

    /// Every story, the demo first.
    public static let all: [AppleStory] = [
        demo,
        AppleStory(
            "initial-purchase",
            "A first subscription without an offer.",
            [Moment(.after(.zero), .subscribe(.proMonthly))]
        ),
        AppleStory(
            "trial-conversion",
            "A free week turns into a paid month.",
            [
                Moment(.after(.zero), .subscribe(.proMonthly, offer: .freeWeek)),
                Moment(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "introductory-conversion",
            "A cheap first month turns into a regular one.",
            [
                Moment(.after(.zero), .subscribe(.proMonthly, offer: .cheapMonth)),
                Moment(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "renewals",
            "Three renewals, through a February.",
            [
                Moment(.after(.zero), .subscribe(.basicMonthly)),
                Moment(.atPeriodEnd, .renew),
                Moment(.atPeriodEnd, .renew),
                Moment(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "grace-recovery",
            "A charge fails, and succeeds within the grace period.",
            [
                Moment(.after(.zero), .subscribe(.basicMonthly)),
                Moment(.atPeriodEnd, .failToRenew(grace: .days(16))),
                Moment(.after(.days(4)), .recover),
            ]
        ),
        AppleStory(
            "grace-lapse",
            "A charge fails, the grace period ends, and a late payment brings access back.",
            [
                Moment(.after(.zero), .subscribe(.basicMonthly)),
                Moment(.atPeriodEnd, .failToRenew(grace: .days(16))),
                Moment(.atGraceEnd, .endGrace),
                Moment(.after(.days(9)), .recover),
            ]
        ),
        AppleStory(
            "retry-expiry",
            "A charge fails without grace, and never succeeds.",
            [
                Moment(.after(.zero), .subscribe(.basicMonthly)),
                Moment(.atPeriodEnd, .failToRenew(grace: nil)),
                Moment(.after(.days(60)), .expire(.billingRetry)),
            ]
        ),
        AppleStory(
            "upgrade",
            "A change to a higher level, in effect at once.",
            [
                Moment(.after(.zero), .subscribe(.basicMonthly)),
                Moment(.after(.days(12)), .upgrade(.proYearly)),
            ]
        ),
        AppleStory(
            "downgrade",
            "A change to a lower level, in effect with the next period.",
            [
                Moment(.after(.zero), .subscribe(.proMonthly)),
                Moment(.after(.days(12)), .downgrade(.basicMonthly)),
                Moment(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "downgrade-withdrawn",
            "A change to a lower level that the customer thinks better of.",
            [
                Moment(.after(.zero), .subscribe(.proMonthly)),
                Moment(.after(.days(12)), .downgrade(.basicMonthly)),
                Moment(.after(.days(2)), .withdrawDowngrade),
                Moment(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "cancel-expire",
            "The customer turns renewal off, and access lasts to the end of the period.",
            [
                Moment(.after(.zero), .subscribe(.proMonthly)),
                Moment(.after(.days(20)), .turnRenewalOff),
                Moment(.atPeriodEnd, .expire(.voluntary)),
            ]
        ),
        AppleStory(
            "uncancel",
            "The customer turns renewal off and on again.",
            [
                Moment(.after(.zero), .subscribe(.proMonthly)),
                Moment(.after(.days(20)), .turnRenewalOff),
                Moment(.after(.days(1)), .turnRenewalOn),
                Moment(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "resubscribe",
            "The customer leaves, and a win-back offer brings them back.",
            [
                Moment(.after(.zero), .subscribe(.proMonthly)),
                Moment(.after(.days(3)), .turnRenewalOff),
                Moment(.atPeriodEnd, .expire(.voluntary)),
                Moment(.after(.days(90)), .subscribe(.proMonthly, offer: .winBack)),
            ]
        ),
        AppleStory(
            "not-for-sale",
            "The product is withdrawn from sale.",
            [
                Moment(.after(.zero), .subscribe(.basicMonthly)),
                Moment(.atPeriodEnd, .expire(.productNotForSale)),
            ]
        ),
        AppleStory(
            "refund-current",
            "The current period is refunded, and the refund undone.",
            [
                Moment(.after(.zero), .subscribe(.proMonthly)),
                Moment(.after(.days(2)), .requestRefund(reason: "UNINTENDED_PURCHASE")),
                Moment(.after(.days(1)), .refund(.latest)),
                Moment(.after(.days(10)), .reverseRefund),
            ]
        ),
        AppleStory(
            "refund-past",
            "A past period is refunded while the current one goes on.",
            [
                Moment(.after(.zero), .subscribe(.proMonthly)),
                Moment(.atPeriodEnd, .renew),
                Moment(.after(.days(5)), .refund(.previous)),
                Moment(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "refund-prorated",
            "Half of the current period is refunded.",
            [
                Moment(.after(.zero), .subscribe(.proYearly)),
                Moment(.after(.days(180)), .refund(.latest, percentage: 50_685)),
            ]
        ),
        AppleStory(
            "refund-declined",
            "Apple asks the developer about a refund and declines it.",
            [
                Moment(.after(.zero), .subscribe(.proMonthly)),
                Moment(.after(.days(2)), .requestRefund(reason: "UNSATISFIED_WITH_PURCHASE")),
                Moment(.after(.days(1)), .declineRefund),
            ]
        ),
        AppleStory(
            "refund-consumable",
            "Coins are bought and refunded.",
            [
                Moment(.after(.zero), .buy(.coins, quantity: 3)),
                Moment(.after(.hours(3)), .requestRefund(reason: "FULFILLMENT_ISSUE")),
                Moment(.after(.days(1)), .refund(.latest)),
            ]
        ),
        AppleStory(
            "family",
            "A family member shares a subscription, and stops.",
            [
                Moment(.after(.zero), .subscribe(.proYearly)),
                Moment(.after(.days(1)), .shareWithFamily),
                Moment(.after(.days(100)), .stopSharing),
            ]
        ),
        AppleStory(
            "price-increase",
            "A price increase that needs consent, agreed to.",
            [
                Moment(.after(.zero), .subscribe(.basicMonthly)),
                Moment(.after(.days(5)), .raisePrice(to: 5990, needsConsent: true)),
                Moment(.after(.days(5)), .acceptPrice),
                Moment(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "price-increase-declined",
            "A price increase that needs consent, never answered.",
            [
                Moment(.after(.zero), .subscribe(.basicMonthly)),
                Moment(.after(.days(5)), .raisePrice(to: 9990, needsConsent: true)),
                Moment(.atPeriodEnd, .expire(.priceIncrease)),
            ]
        ),
        AppleStory(
            "extension",
            "The developer gives a fortnight, and a mass extension ends.",
            [
                Moment(.after(.zero), .subscribe(.basicMonthly)),
                Moment(.after(.days(10)), .extend(days: 14)),
                Moment(.after(.days(1)), .failToExtend),
                Moment(.after(.hours(2)), .finishMassExtension(succeeded: 1204, failed: 3)),
                Moment(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "one-time",
            "Coins, something to keep, and a season.",
            [
                Moment(.after(.zero), .buy(.coins)),
                Moment(.after(.days(1)), .buy(.lifetime)),
                Moment(.after(.days(1)), .buy(.season)),
            ]
        ),
        AppleStory(
            "offer-redeemed",
            "A subscriber redeems a code for the next period.",
            [
                Moment(.after(.zero), .subscribe(.proMonthly)),
                Moment(.after(.days(8)), .redeem(.code)),
                Moment(.atPeriodEnd, .renew),
                Moment(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "advanced-commerce",
            "Migration, new descriptions and a new price through the Advanced Commerce API.",
            [
                Moment(.after(.zero), .subscribe(.proMonthly)),
                Moment(.after(.days(3)), .migrate),
                Moment(.after(.days(1)), .updateMetadata),
                Moment(.after(.days(1)), .changePrice(to: 11_990)),
                Moment(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "external-purchase",
            "A token for purchases outside the App Store is made, remembered and asked for.",
            [
                Moment(.after(.zero), .externalPurchaseToken(.created)),
                Moment(.after(.days(30)), .externalPurchaseToken(.activeTokenReminder)),
                Moment(.after(.days(10)), .externalPurchaseToken(.unreported)),
            ]
        ),
        AppleStory(
            "consent-rescinded",
            "A parent withdraws consent for a child's use of the app.",
            [Moment(.after(.zero), .rescindConsent)]
        ),
        AppleStory(
            "test",
            "The developer asks for a test notification.",
            [Moment(.after(.zero), .test)]
        ),
    ]
}

extension Duration {
    fileprivate static func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
    fileprivate static func hours(_ count: Int64) -> Duration { .seconds(count * 3600) }
}
