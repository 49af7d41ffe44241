extension CustomerStory {
    /// A whole life: trial, conversion, renewal, a failed charge with grace, recovery, upgrade, refund, expiry.
    public static let life = CustomerStory(
        "life",
        "Trial, conversion, renewal, failed charge with grace, recovery, upgrade, refund of the past, cancellation, end.",
        [
            Step(.after(.zero), .subscribe(.basicMonthly, offer: .freeWeek)),
            Step(.atPeriodEnd, .renew),
            Step(.atPeriodEnd, .renew),
            Step(.atPeriodEnd, .failCharge(grace: .days(16))),
            Step(.after(.days(5)), .recover),
            Step(.after(.days(10)), .upgrade(.proMonthly)),
            Step(.after(.days(3)), .refund(.previous)),
            Step(.after(.days(2)), .cancel),
            Step(.atPeriodEnd, .expire(.customer)),
        ]
    )

    /// Every story, the whole life first.
    public static let all: [CustomerStory] =
        [life] + purchases + renewals + trouble + changes + money + oneTime + others

    /// The story of that name.
    public static func named(_ id: String) -> CustomerStory? { all.first { $0.id == id } }

    private static let bought = Step(.after(.zero), .subscribe(.proMonthly))
    private static let boughtBasic = Step(.after(.zero), .subscribe(.basicMonthly))
    private static let renewed = Step(.atPeriodEnd, .renew)
    private static let ended = Step(.atPeriodEnd, .expire(.customer))

    private static let purchases: [CustomerStory] = [
        CustomerStory("initial-purchase", "A first subscription without an offer.", [bought]),
        CustomerStory(
            "trial-converts",
            "A free week turns into a paid month.",
            [Step(.after(.zero), .subscribe(.proMonthly, offer: .freeWeek)), renewed]
        ),
        CustomerStory(
            "trial-canceled",
            "A free week is canceled on its third day, and ends.",
            [
                Step(.after(.zero), .subscribe(.proMonthly, offer: .freeWeek)),
                Step(.after(.days(2)), .cancel), ended,
            ]
        ),
        CustomerStory(
            "trial-canceled-late",
            "A free week is canceled in its last hour, too late for the first charge.",
            [
                Step(.after(.zero), .subscribe(.proMonthly, offer: .freeWeek)),
                Step(.beforePeriodEnd(.hours(1)), .cancel),
                Step(.atPeriodEnd, .renewAfterCancel), ended,
            ]
        ),
        CustomerStory(
            "introductory-converts",
            "A cheap first month turns into a regular one.",
            [Step(.after(.zero), .subscribe(.proMonthly, offer: .cheapMonth)), renewed]
        ),
        CustomerStory(
            "pending-completed",
            "A purchase waits for its payment, and is paid.",
            [
                Step(.after(.zero), .subscribePending(.basicMonthly)),
                Step(.after(.hours(20)), .completePayment),
            ]
        ),
        CustomerStory(
            "pending-canceled",
            "A purchase waits for its payment, which never comes.",
            [
                Step(.after(.zero), .subscribePending(.basicMonthly)),
                Step(.after(.hours(23)), .abandonPayment),
            ]
        ),
        CustomerStory(
            "resubscribe",
            "The customer leaves, and comes back a month later.",
            [
                bought, Step(.after(.days(3)), .cancel), ended,
                Step(.after(.days(30)), .subscribe(.proMonthly)),
            ]
        ),
    ]

    private static let renewals: [CustomerStory] = [
        CustomerStory("renewals", "Three renewals, through a February.", [boughtBasic, renewed, renewed, renewed]),
        CustomerStory(
            "early-renewal",
            "A renewal is charged some hours before its period begins.",
            [boughtBasic, Step(.beforePeriodEnd(.hours(5)), .renewEarly), renewed]
        ),
        CustomerStory(
            "cancel-expire",
            "The customer turns renewal off, and access lasts to the end of the period.",
            [bought, Step(.after(.days(20)), .cancel), ended]
        ),
        CustomerStory(
            "uncancel",
            "The customer turns renewal off and on again.",
            [bought, Step(.after(.days(20)), .cancel), Step(.after(.days(1)), .uncancel), renewed]
        ),
        CustomerStory(
            "pause",
            "A subscription is paused for a month, and goes on.",
            [
                boughtBasic, Step(.after(.days(12)), .schedulePause(.days(30))), Step(.atPeriodEnd, .pause),
                Step(.after(.days(30)), .resume),
            ]
        ),
        CustomerStory(
            "extension",
            "The developer gives a fortnight.",
            [boughtBasic, Step(.after(.days(10)), .extend(days: 14)), renewed]
        ),
        CustomerStory(
            "top-up",
            "Thirty days paid in advance are topped up, and run out.",
            [
                Step(.after(.zero), .subscribe(.basicPrepaid)), Step(.after(.days(20)), .topUp),
                Step(.atPeriodEnd, .expire(.ranOut)),
            ]
        ),
        CustomerStory(
            "commitment-canceled",
            "A subscription by instalments is canceled while payments remain.",
            [
                Step(.after(.zero), .subscribe(.proInstalments)), Step(.after(.days(10)), .cancelCommitment),
                renewed,
            ]
        ),
    ]

    private static let trouble: [CustomerStory] = [
        CustomerStory(
            "grace-recovers",
            "A charge fails, and succeeds within the grace period.",
            [boughtBasic, Step(.atPeriodEnd, .failCharge(grace: .days(16))), Step(.after(.days(4)), .recover)]
        ),
        CustomerStory(
            "grace-lapses",
            "A charge fails, the grace period ends, and a late payment brings access back.",
            [
                boughtBasic, Step(.atPeriodEnd, .failCharge(grace: .days(7))), Step(.atGraceEnd, .endGrace),
                Step(.after(.days(9)), .recover),
            ]
        ),
        CustomerStory(
            "grace-expires",
            "A charge fails, and neither grace nor patience brings a payment.",
            [
                boughtBasic, Step(.atPeriodEnd, .failCharge(grace: .days(7))),
                Step(.atGraceEnd, .expire(.billing)),
            ]
        ),
        CustomerStory(
            "hold-recovers",
            "A charge fails without grace, and succeeds days later.",
            [boughtBasic, Step(.atPeriodEnd, .failCharge(grace: nil)), Step(.after(.days(6)), .recover)]
        ),
        CustomerStory(
            "hold-expires",
            "A charge fails without grace, and never succeeds.",
            [
                boughtBasic, Step(.atPeriodEnd, .failCharge(grace: nil)),
                Step(.after(.days(30)), .expire(.billing)),
            ]
        ),
    ]

    private static let changes: [CustomerStory] = [
        CustomerStory(
            "upgrade",
            "A change to a higher level, in effect at once.",
            [boughtBasic, Step(.after(.days(12)), .upgrade(.proMonthly)), renewed]
        ),
        CustomerStory(
            "downgrade",
            "A change to a lower level, in effect with the next period.",
            [bought, Step(.after(.days(12)), .downgrade(.basicMonthly)), renewed, renewed]
        ),
        CustomerStory(
            "downgrade-withdrawn",
            "A change to a lower level that the customer thinks better of.",
            [
                bought, Step(.after(.days(12)), .downgrade(.basicMonthly)),
                Step(.after(.days(2)), .withdrawDowngrade), renewed,
            ]
        ),
        CustomerStory(
            "crossgrade",
            "From a month to a year of the same level.",
            [bought, Step(.after(.days(12)), .crossgrade(.proYearly))]
        ),
        CustomerStory(
            "price-raised",
            "A price rises without asking, and is charged.",
            [
                boughtBasic, Step(.after(.days(5)), .raisePrice(to: 5990, needsConsent: false)), renewed,
            ]
        ),
        CustomerStory(
            "price-accepted",
            "A price rises that needs consent, and gets it.",
            [
                boughtBasic, Step(.after(.days(5)), .raisePrice(to: 5990, needsConsent: true)),
                Step(.after(.days(5)), .acceptPrice), renewed,
            ]
        ),
        CustomerStory(
            "price-declined",
            "A price rises that needs consent, and gets no answer.",
            [
                boughtBasic, Step(.after(.days(5)), .raisePrice(to: 9990, needsConsent: true)),
                Step(.atPeriodEnd, .expire(.priceDeclined)),
            ]
        ),
    ]

    private static let money: [CustomerStory] = [
        CustomerStory(
            "refund",
            "The current period is refunded, and access ends.",
            [bought, Step(.after(.days(3)), .refund(.latest))]
        ),
        CustomerStory(
            "refund-past",
            "A past period is refunded while the current one goes on.",
            [bought, renewed, Step(.after(.days(5)), .refund(.previous)), renewed]
        ),
        CustomerStory(
            "refund-part",
            "Half of the money for the current period goes back.",
            [bought, Step(.after(.days(15)), .refund(.latest, .half))]
        ),
        CustomerStory(
            "refund-reversed",
            "The current period is refunded, and the refund undone.",
            [bought, Step(.after(.days(3)), .refund(.latest)), Step(.after(.days(4)), .reverseRefund)]
        ),
        CustomerStory(
            "refund-declined",
            "The customer asks for a refund, and does not get it.",
            [bought, Step(.after(.days(2)), .requestRefund), Step(.after(.days(1)), .declineRefund)]
        ),
        CustomerStory(
            "chargeback-lost",
            "The customer's bank takes a charge back, and keeps it.",
            [bought, Step(.after(.days(6)), .disputeCharge), Step(.after(.days(9)), .loseDispute)]
        ),
        CustomerStory(
            "chargeback-won",
            "The customer's bank takes a charge back, and gives it up.",
            [bought, Step(.after(.days(6)), .disputeCharge), Step(.after(.days(9)), .winDispute)]
        ),
    ]

    private static let oneTime: [CustomerStory] = [
        CustomerStory("consumable", "Coins are bought.", [Step(.after(.zero), .buy(.coins, quantity: 3))]),
        CustomerStory(
            "consumable-refunded",
            "Coins are bought, and refunded.",
            [Step(.after(.zero), .buy(.coins, quantity: 3)), Step(.after(.days(1)), .refund(.latest))]
        ),
        CustomerStory("lifetime", "Something is bought for good.", [Step(.after(.zero), .buy(.lifetime))]),
    ]

    private static let others: [CustomerStory] = [
        CustomerStory(
            "family",
            "A family member shares a subscription, and stops.",
            [
                Step(.after(.zero), .subscribe(.proYearly)), Step(.after(.days(1)), .shareWithFamily),
                Step(.after(.days(100)), .stopSharing),
            ]
        ),
        CustomerStory(
            "transfer",
            "A purchase moves to another account, and renews there.",
            [bought, Step(.after(.days(9)), .transfer), renewed]
        ),
        CustomerStory("test", "The developer asks for a test notification.", [Step(.after(.zero), .test)]),
    ]
}

extension Duration {
    fileprivate static func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
    fileprivate static func hours(_ count: Int64) -> Duration { .seconds(count * 3600) }
}
