extension AppleStory {
    /// A whole life: trial, conversion, renewal, a failed charge with grace, recovery, upgrade, refund, expiry.
    public static let demo = AppleStory(
        "demo",
        "Trial, conversion, renewal, failed charge with grace, recovery, upgrade, refund, expiry.",
        steps: [
            Step(.after(.zero), .subscribe(.basicMonthly, offer: .freeWeek)),
            Step(.atPeriodEnd, .renew),
            Step(.atPeriodEnd, .renew),
            Step(.atPeriodEnd, .failToRenew(grace: .days(16))),
            Step(.after(.days(5)), .recover),
            Step(.after(.days(10)), .upgrade(.proMonthly)),
            Step(.after(.days(3)), .refund(.previous)),
            Step(.after(.days(2)), .turnRenewalOff),
            Step(.atPeriodEnd, .expire(.voluntary)),
        ]
    )

    /// Every story, the demo first.
    public static let all: [AppleStory] = [
        demo,
        AppleStory(
            "initial-purchase",
            "A first subscription without an offer.",
            steps: [Step(.after(.zero), .subscribe(.proMonthly))]
        ),
        AppleStory(
            "trial-conversion",
            "A free week turns into a paid month.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly, offer: .freeWeek)),
                Step(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "introductory-conversion",
            "A cheap first month turns into a regular one.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly, offer: .cheapMonth)),
                Step(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "renewals",
            "Three renewals, through a February.",
            steps: [
                Step(.after(.zero), .subscribe(.basicMonthly)),
                Step(.atPeriodEnd, .renew),
                Step(.atPeriodEnd, .renew),
                Step(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "grace-recovery",
            "A charge fails, and succeeds within the grace period.",
            steps: [
                Step(.after(.zero), .subscribe(.basicMonthly)),
                Step(.atPeriodEnd, .failToRenew(grace: .days(16))),
                Step(.after(.days(4)), .recover),
            ]
        ),
        AppleStory(
            "grace-lapse",
            "A charge fails, the grace period ends, and a late payment brings access back.",
            steps: [
                Step(.after(.zero), .subscribe(.basicMonthly)),
                Step(.atPeriodEnd, .failToRenew(grace: .days(16))),
                Step(.atGraceEnd, .endGrace),
                Step(.after(.days(9)), .recover),
            ]
        ),
        AppleStory(
            "retry-expiry",
            "A charge fails without grace, and never succeeds.",
            steps: [
                Step(.after(.zero), .subscribe(.basicMonthly)),
                Step(.atPeriodEnd, .failToRenew(grace: nil)),
                Step(.after(.days(60)), .expire(.billingRetry)),
            ]
        ),
        AppleStory(
            "upgrade",
            "A change to a higher level, in effect at once.",
            steps: [
                Step(.after(.zero), .subscribe(.basicMonthly)),
                Step(.after(.days(12)), .upgrade(.proYearly)),
            ]
        ),
        AppleStory(
            "downgrade",
            "A change to a lower level, in effect with the next period.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly)),
                Step(.after(.days(12)), .downgrade(.basicMonthly)),
                Step(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "downgrade-withdrawn",
            "A change to a lower level that the customer thinks better of.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly)),
                Step(.after(.days(12)), .downgrade(.basicMonthly)),
                Step(.after(.days(2)), .withdrawDowngrade),
                Step(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "cancel-expire",
            "The customer turns renewal off, and access lasts to the end of the period.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly)),
                Step(.after(.days(20)), .turnRenewalOff),
                Step(.atPeriodEnd, .expire(.voluntary)),
            ]
        ),
        AppleStory(
            "uncancel",
            "The customer turns renewal off and on again.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly)),
                Step(.after(.days(20)), .turnRenewalOff),
                Step(.after(.days(1)), .turnRenewalOn),
                Step(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "resubscribe",
            "The customer leaves, and a win-back offer brings them back.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly)),
                Step(.after(.days(3)), .turnRenewalOff),
                Step(.atPeriodEnd, .expire(.voluntary)),
                Step(.after(.days(90)), .subscribe(.proMonthly, offer: .winBack)),
            ]
        ),
        AppleStory(
            "not-for-sale",
            "The product is withdrawn from sale.",
            steps: [
                Step(.after(.zero), .subscribe(.basicMonthly)),
                Step(.atPeriodEnd, .expire(.productNotForSale)),
            ]
        ),
        AppleStory(
            "refund-current",
            "The current period is refunded, and the refund undone.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly)),
                Step(.after(.days(2)), .requestRefund(reason: "UNINTENDED_PURCHASE")),
                Step(.after(.days(1)), .refund(.latest)),
                Step(.after(.days(10)), .reverseRefund),
            ]
        ),
        AppleStory(
            "refund-past",
            "A past period is refunded while the current one goes on.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly)),
                Step(.atPeriodEnd, .renew),
                Step(.after(.days(5)), .refund(.previous)),
                Step(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "refund-prorated",
            "Half of the current period is refunded.",
            steps: [
                Step(.after(.zero), .subscribe(.proYearly)),
                Step(.after(.days(180)), .refund(.latest, percentage: 50_685)),
            ]
        ),
        AppleStory(
            "refund-declined",
            "Apple asks the developer about a refund and declines it.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly)),
                Step(.after(.days(2)), .requestRefund(reason: "UNSATISFIED_WITH_PURCHASE")),
                Step(.after(.days(1)), .declineRefund),
            ]
        ),
        AppleStory(
            "refund-consumable",
            "Coins are bought and refunded.",
            steps: [
                Step(.after(.zero), .buy(.coins, quantity: 3)),
                Step(.after(.hours(3)), .requestRefund(reason: "FULFILLMENT_ISSUE")),
                Step(.after(.days(1)), .refund(.latest)),
            ]
        ),
        AppleStory(
            "family",
            "A family member shares a subscription, and stops.",
            steps: [
                Step(.after(.zero), .subscribe(.proYearly)),
                Step(.after(.days(1)), .shareWithFamily),
                Step(.after(.days(100)), .stopSharing),
            ]
        ),
        AppleStory(
            "price-increase",
            "A price increase that needs consent, agreed to.",
            steps: [
                Step(.after(.zero), .subscribe(.basicMonthly)),
                Step(.after(.days(5)), .raisePrice(to: 5990, needsConsent: true)),
                Step(.after(.days(5)), .acceptPrice),
                Step(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "price-increase-declined",
            "A price increase that needs consent, never answered.",
            steps: [
                Step(.after(.zero), .subscribe(.basicMonthly)),
                Step(.after(.days(5)), .raisePrice(to: 9990, needsConsent: true)),
                Step(.atPeriodEnd, .expire(.priceIncrease)),
            ]
        ),
        AppleStory(
            "extension",
            "The developer gives a fortnight, and a mass extension ends.",
            steps: [
                Step(.after(.zero), .subscribe(.basicMonthly)),
                Step(.after(.days(10)), .extend(days: 14)),
                Step(.after(.days(1)), .failToExtend),
                Step(.after(.hours(2)), .finishMassExtension(succeeded: 1204, failed: 3)),
                Step(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "one-time",
            "Coins, something to keep, and a season.",
            steps: [
                Step(.after(.zero), .buy(.coins)),
                Step(.after(.days(1)), .buy(.lifetime)),
                Step(.after(.days(1)), .buy(.season)),
            ]
        ),
        AppleStory(
            "offer-redeemed",
            "A subscriber redeems a code for the next period.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly)),
                Step(.after(.days(8)), .redeem(.code)),
                Step(.atPeriodEnd, .renew),
                Step(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "advanced-commerce",
            "Migration, new descriptions and a new price through the Advanced Commerce API.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly)),
                Step(.after(.days(3)), .migrate),
                Step(.after(.days(1)), .updateMetadata),
                Step(.after(.days(1)), .changePrice(to: 11_990)),
                Step(.atPeriodEnd, .renew),
            ]
        ),
        AppleStory(
            "external-purchase",
            "A token for purchases outside the App Store is made, remembered and asked for.",
            steps: [
                Step(.after(.zero), .externalPurchaseToken(.created)),
                Step(.after(.days(30)), .externalPurchaseToken(.activeTokenReminder)),
                Step(.after(.days(10)), .externalPurchaseToken(.unreported)),
            ]
        ),
        AppleStory(
            "consent-rescinded",
            "A parent withdraws consent for a child's use of the app.",
            steps: [Step(.after(.zero), .rescindConsent)]
        ),
        AppleStory(
            "test",
            "The developer asks for a test notification.",
            steps: [Step(.after(.zero), .test)]
        ),
    ]
}

extension Duration {
    fileprivate static func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
    fileprivate static func hours(_ count: Int64) -> Duration { .seconds(count * 3600) }
}
