extension CustomerStory {
    /// A whole life: trial, conversion, renewal, a failed charge with grace, recovery, upgrade, refund, expiry.
    public static let life = CustomerStory(
        "life",
        "Trial, conversion, renewal, failed charge with grace, recovery, upgrade, refund of the past, cancellation, end.",
        steps: [
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

    /// Every story of the acts that all providers may have, the whole life first.
    public static let all: [CustomerStory] =
        [life] + purchases + renewals + trouble + changes + money + oneTime + others

    /// The story of that name.
    public static func named(_ id: String) -> CustomerStory? { all.first { $0.id == id } }

    private static let bought = Step(.after(.zero), .subscribe(.proMonthly))
    private static let boughtBasic = Step(.after(.zero), .subscribe(.basicMonthly))
    private static let renewed = Step(.atPeriodEnd, .renew)
    private static let ended = Step(.atPeriodEnd, .expire(.customer))

    private static let purchases: [CustomerStory] = [
        CustomerStory("initial-purchase", "A first subscription without an offer.", steps: [bought]),
        CustomerStory(
            "trial-converts",
            "A free week turns into a paid month.",
            steps: [Step(.after(.zero), .subscribe(.proMonthly, offer: .freeWeek)), renewed]
        ),
        CustomerStory(
            "trial-canceled",
            "A free week is canceled on its third day, and ends.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly, offer: .freeWeek)),
                Step(.after(.days(2)), .cancel), ended,
            ]
        ),
        CustomerStory(
            "trial-canceled-late",
            "A free week is canceled in its last hour, too late for the first charge.",
            steps: [
                Step(.after(.zero), .subscribe(.proMonthly, offer: .freeWeek)),
                Step(.beforePeriodEnd(.hours(1)), .cancel),
                Step(.atPeriodEnd, .renewAfterCancel), ended,
            ]
        ),
        CustomerStory(
            "introductory-converts",
            "A cheap first month turns into a regular one.",
            steps: [Step(.after(.zero), .subscribe(.proMonthly, offer: .cheapMonth)), renewed]
        ),
        CustomerStory(
            "pending-completed",
            "A purchase waits for its payment, and is paid.",
            steps: [
                Step(.after(.zero), .subscribePending(.basicMonthly)),
                Step(.after(.hours(20)), .completePayment),
            ]
        ),
        CustomerStory(
            "pending-canceled",
            "A purchase waits for its payment, which never comes.",
            steps: [
                Step(.after(.zero), .subscribePending(.basicMonthly)),
                Step(.after(.hours(23)), .abandonPayment),
            ]
        ),
        CustomerStory(
            "resubscribe",
            "The customer leaves, and comes back a month later.",
            steps: [
                bought, Step(.after(.days(3)), .cancel), ended,
                Step(.after(.days(30)), .subscribe(.proMonthly)),
            ]
        ),
    ]

    private static let renewals: [CustomerStory] = [
        CustomerStory(
            "renewals",
            "Three renewals, through a February.",
            steps: [boughtBasic, renewed, renewed, renewed]
        ),
        CustomerStory(
            "early-renewal",
            "A renewal is charged some hours before its period begins.",
            steps: [boughtBasic, Step(.beforePeriodEnd(.hours(5)), .renewEarly), renewed]
        ),
        CustomerStory(
            "cancel-expire",
            "The customer turns renewal off, and access lasts to the end of the period.",
            steps: [bought, Step(.after(.days(20)), .cancel), ended]
        ),
        CustomerStory(
            "uncancel",
            "The customer turns renewal off and on again.",
            steps: [bought, Step(.after(.days(20)), .cancel), Step(.after(.days(1)), .uncancel), renewed]
        ),
        CustomerStory(
            "pause",
            "A subscription is paused for a month, and goes on.",
            steps: [
                boughtBasic, Step(.after(.days(12)), .schedulePause(.days(30))), Step(.atPeriodEnd, .pause),
                Step(.after(.days(30)), .resume),
            ]
        ),
        CustomerStory(
            "extension",
            "The developer gives a fortnight.",
            steps: [boughtBasic, Step(.after(.days(10)), .extend(days: 14)), renewed]
        ),
        CustomerStory(
            "top-up",
            "Thirty days paid in advance are topped up, and run out.",
            steps: [
                Step(.after(.zero), .subscribe(.basicPrepaid)), Step(.after(.days(20)), .topUp),
                Step(.atPeriodEnd, .expire(.ranOut)),
            ]
        ),
        CustomerStory(
            "commitment-canceled",
            "A subscription by instalments is canceled while payments remain.",
            steps: [
                Step(.after(.zero), .subscribe(.proInstalments)), Step(.after(.days(10)), .cancelCommitment),
                renewed,
            ]
        ),
    ]

    private static let trouble: [CustomerStory] = [
        CustomerStory(
            "grace-recovers",
            "A charge fails, and succeeds within the grace period.",
            steps: [boughtBasic, Step(.atPeriodEnd, .failCharge(grace: .days(16))), Step(.after(.days(4)), .recover)]
        ),
        CustomerStory(
            "grace-lapses",
            "A charge fails, the grace period ends, and a late payment brings access back.",
            steps: [
                boughtBasic, Step(.atPeriodEnd, .failCharge(grace: .days(7))), Step(.atGraceEnd, .endGrace),
                Step(.after(.days(9)), .recover),
            ]
        ),
        CustomerStory(
            "grace-expires",
            "A charge fails, and neither grace nor patience brings a payment.",
            steps: [
                boughtBasic, Step(.atPeriodEnd, .failCharge(grace: .days(7))),
                Step(.atGraceEnd, .expire(.billing)),
            ]
        ),
        CustomerStory(
            "hold-recovers",
            "A charge fails without grace, and succeeds days later.",
            steps: [boughtBasic, Step(.atPeriodEnd, .failCharge(grace: nil)), Step(.after(.days(6)), .recover)]
        ),
        CustomerStory(
            "hold-expires",
            "A charge fails without grace, and never succeeds.",
            steps: [
                boughtBasic, Step(.atPeriodEnd, .failCharge(grace: nil)),
                Step(.after(.days(30)), .expire(.billing)),
            ]
        ),
    ]

    private static let changes: [CustomerStory] = [
        CustomerStory(
            "upgrade",
            "A change to a higher level, in effect at once.",
            steps: [boughtBasic, Step(.after(.days(12)), .upgrade(.proMonthly)), renewed]
        ),
        CustomerStory(
            "downgrade",
            "A change to a lower level, in effect with the next period.",
            steps: [bought, Step(.after(.days(12)), .downgrade(.basicMonthly)), renewed, renewed]
        ),
        CustomerStory(
            "downgrade-withdrawn",
            "A change to a lower level that the customer thinks better of.",
            steps: [
                bought, Step(.after(.days(12)), .downgrade(.basicMonthly)),
                Step(.after(.days(2)), .withdrawDowngrade), renewed,
            ]
        ),
        CustomerStory(
            "crossgrade",
            "From a month to a year of the same level.",
            steps: [bought, Step(.after(.days(12)), .crossgrade(.proYearly))]
        ),
        CustomerStory(
            "price-raised",
            "A price rises without asking, and is charged.",
            steps: [
                boughtBasic, Step(.after(.days(5)), .raisePrice(to: 5990, needsConsent: false)), renewed,
            ]
        ),
        CustomerStory(
            "price-accepted",
            "A price rises that needs consent, and gets it.",
            steps: [
                boughtBasic, Step(.after(.days(5)), .raisePrice(to: 5990, needsConsent: true)),
                Step(.after(.days(5)), .acceptPrice), renewed,
            ]
        ),
        CustomerStory(
            "price-declined",
            "A price rises that needs consent, and gets no answer.",
            steps: [
                boughtBasic, Step(.after(.days(5)), .raisePrice(to: 9990, needsConsent: true)),
                Step(.atPeriodEnd, .expire(.priceDeclined)),
            ]
        ),
    ]

    private static let money: [CustomerStory] = [
        CustomerStory(
            "refund",
            "The current period is refunded, and access ends.",
            steps: [bought, Step(.after(.days(3)), .refund(.latest))]
        ),
        CustomerStory(
            "refund-past",
            "A past period is refunded while the current one goes on.",
            steps: [bought, renewed, Step(.after(.days(5)), .refund(.previous)), renewed]
        ),
        CustomerStory(
            "refund-part",
            "Half of the money for the current period goes back.",
            steps: [bought, Step(.after(.days(15)), .refund(.latest, .half))]
        ),
        CustomerStory(
            "refund-reversed",
            "The current period is refunded, and the refund undone.",
            steps: [bought, Step(.after(.days(3)), .refund(.latest)), Step(.after(.days(4)), .reverseRefund)]
        ),
        CustomerStory(
            "refund-declined",
            "The customer asks for a refund, and does not get it.",
            steps: [bought, Step(.after(.days(2)), .requestRefund), Step(.after(.days(1)), .declineRefund)]
        ),
        CustomerStory(
            "chargeback-lost",
            "The customer's bank takes a charge back, and keeps it.",
            steps: [bought, Step(.after(.days(6)), .disputeCharge), Step(.after(.days(9)), .loseDispute)]
        ),
        CustomerStory(
            "chargeback-won",
            "The customer's bank takes a charge back, and gives it up.",
            steps: [bought, Step(.after(.days(6)), .disputeCharge), Step(.after(.days(9)), .winDispute)]
        ),
    ]

    private static let oneTime: [CustomerStory] = [
        CustomerStory("consumable", "Coins are bought.", steps: [Step(.after(.zero), .buy(.coins, quantity: 3))]),
        CustomerStory(
            "consumable-refunded",
            "Coins are bought, and refunded.",
            steps: [Step(.after(.zero), .buy(.coins, quantity: 3)), Step(.after(.days(1)), .refund(.latest))]
        ),
        CustomerStory("lifetime", "Something is bought for good.", steps: [Step(.after(.zero), .buy(.lifetime))]),
    ]

    private static let others: [CustomerStory] = [
        CustomerStory(
            "family",
            "A family member shares a subscription, and stops.",
            steps: [
                Step(.after(.zero), .subscribe(.proYearly)), Step(.after(.days(1)), .shareWithFamily),
                Step(.after(.days(100)), .stopSharing),
            ]
        ),
        CustomerStory(
            "transfer",
            "A purchase moves to another account, and renews there.",
            steps: [bought, Step(.after(.days(9)), .transfer), renewed]
        ),
        CustomerStory("test", "The developer asks for a test notification.", steps: [Step(.after(.zero), .test)]),
    ]
}

extension Duration {
    static func days(_ count: Int64) -> Duration { .seconds(count * 86_400) }
    static func hours(_ count: Int64) -> Duration { .seconds(count * 3600) }
}
