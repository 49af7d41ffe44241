import ConformanceVectors
package import Normalizer
package import NotificationSimulator
import WireJSON

/// A customer's story in webhooks, in the order in which they were made. They may arrive in any other.
package struct RevenueCatStory: Sendable, CustomStringConvertible {
    package let name: String
    package let summary: String
    /// The webhooks, each with the kind of event that has to come of it; nil where none has.
    package let moments: [(event: RevenueCatSimulator.Event, kind: LifecycleEvent.Kind?)]

    package var description: String { name }

    package static let all: [RevenueCatStory] = [
        purchaseAndRenewal, cancel, uncancel, resubscribeSameGroup, resubscribeOtherPurchase, resubscribeInGrace, pause,
        billingNoGrace, billingNoGraceRecovered, billingGraceFails, billingGraceRecovers, billingCancellationOnly,
        extendedApple, extendedPlay, extendedPlayFails, extendedContradicted, trialConverts, trialCanceled,
        trialCanceledRenews, trialLapsedBought, immediateApple, immediatePlay, immediateStripe, changeAtPeriodEnd,
        changeWithdrawn, playDeferred, transfer, transferRenewed, transferBack, refundRenewed, refundReversed,
        refundByDeveloper, canceledByDeveloper, oneTimeRefunded, grantRevoked, temporaryThenPurchase,
        temporaryRejected, earlyRenewal, earlyRenewalCanceled, staleCancellation, prepaidTopUp, lifetimeAndMonthly,
        playOrders, bothEnvironments,
    ]
}

extension RevenueCatStory {
    private typealias Event = RevenueCatSimulator.Event
    private typealias Period = RevenueCatSimulator.Period

    /// Members to set, or to take out, in order.
    private struct Changes: ExpressibleByDictionaryLiteral, Sendable {
        var pairs: [(String, JSONText?)]

        init(_ pairs: [(String, JSONText?)]) { self.pairs = pairs }

        init(dictionaryLiteral elements: (String, JSONText?)...) { pairs = elements }
    }

    /// 2026-01-01, 2026-02-01 and 2026-03-01.
    static let t0: Int64 = 1_767_225_600_000
    static let t1: Int64 = 1_769_904_000_000
    static let t2: Int64 = 1_772_323_200_000
    static let minute: Int64 = 60_000
    static let hour: Int64 = 3_600_000
    static let day: Int64 = 86_400_000
    /// Sixteen days after the first period.
    static let grace = t1 + 16 * day

    private typealias Step = (String, Int64, Period, Changes, LifecycleEvent.Kind?)

    private init(_ name: String, _ summary: String, _ steps: [Step]) {
        self.name = name
        self.summary = summary
        moments = steps.enumerated().map { index, step in
            var event = Event(step.0, id: "\(name)-\(index + 1)", at: step.1, step.2)
            for (name, value) in step.3.pairs { event.members[name] = value }
            return (event, step.4)
        }
    }

    private static func p(_ start: Int64, _ end: Int64, _ transaction: String) -> Period {
        Period(start, end, transaction)
    }

    private static let initial: Step = ("INITIAL_PURCHASE", t0 + 5000, .first, paid, .started)
    private static let renewal: Step = ("RENEWAL", t1 + 5000, .second, paid, .renewed)
    private static let paid: Changes = [
        "price": .raw("9.99"), "price_in_purchased_currency": .raw("9.99"), "currency": "USD",
    ]
    private static let unsubscribe: Step = (
        "CANCELLATION", t0 + 10 * day, .first, ["cancel_reason": "UNSUBSCRIBE"], .autoRenewDisabled
    )
    private static let expired: Step = (
        "EXPIRATION", t1 + 40_000, .first, ["expiration_reason": "UNSUBSCRIBE"], .expired
    )

    private static let purchaseAndRenewal = RevenueCatStory("S2-1", "a purchase and its renewal", [initial, renewal])
    private static let cancel = RevenueCatStory(
        "S2-2",
        "canceled, and over at the end",
        [initial, unsubscribe, expired]
    )
    private static let uncancel = RevenueCatStory(
        "S2-3",
        "canceled, and taken back",
        [
            initial, unsubscribe, ("UNCANCELLATION", t0 + 11 * day, .first, [:], .autoRenewEnabled),
        ]
    )

    static let return_ = t1 + 20 * day
    private static let resubscribeSameGroup = RevenueCatStory(
        "S2-4a",
        "back after a lapse, in the same group",
        [
            initial, unsubscribe, expired,
            ("RENEWAL", return_ + 5000, p(return_, return_ + 31 * day, "O1-3"), paid, .renewed),
        ]
    )
    private static let resubscribeOtherPurchase = RevenueCatStory(
        "S2-4b",
        "back after a lapse, by another purchase",
        [
            initial, unsubscribe, expired,
            (
                "INITIAL_PURCHASE", return_ + 5000, p(return_, return_ + 31 * day, "O2"),
                ["original_transaction_id": "O2"], .started
            ),
        ]
    )
    private static let resubscribeInGrace = RevenueCatStory(
        "S2-4c",
        "back on Play while in grace",
        [
            ("INITIAL_PURCHASE", t0 + 5000, p(t0, t1, "GPA.4"), play, .started),
            (
                "BILLING_ISSUE", t1 + 32_000, p(t0, grace, "GPA.4"),
                playWith(["grace_period_expiration_at_ms": .integer(grace)]), .billingIssue
            ),
            ("RENEWAL", t1 + 3 * day, p(t1, t2, "GPA.4..0"), play, .renewed),
        ]
    )
    private static let play: Changes = [
        "store": "PLAY_STORE", "product_id": "s:pro", "original_transaction_id": "GPA.4",
    ]
    private static func playWith(_ changes: Changes) -> Changes { Changes(play.pairs + changes.pairs) }

    private static let pause = RevenueCatStory(
        "S2-5",
        "paused, and resumed",
        [
            ("INITIAL_PURCHASE", t0 + 5000, p(t0, t1, "GPA.4"), play, .started),
            (
                "SUBSCRIPTION_PAUSED", t0 + 15 * day, p(t0, t1, "GPA.4"),
                playWith(["auto_resume_at_ms": .integer(t1 + 30 * day)]), .pauseScheduled
            ),
            (
                "EXPIRATION", t1 + 9000, p(t0, t1, "GPA.4"), playWith(["expiration_reason": "SUBSCRIPTION_PAUSED"]),
                .paused
            ),
            ("RENEWAL", t1 + 30 * day + 5000, p(t1 + 30 * day, t1 + 61 * day, "GPA.4..0"), play, .renewed),
        ]
    )

    private static let issue: Step = (
        "BILLING_ISSUE", t1 + 32_000, .first, ["grace_period_expiration_at_ms": .some(.null)], .billingIssue
    )
    private static let failed: Step = (
        "CANCELLATION", t1 + 32_000, .first, ["cancel_reason": "BILLING_ERROR"], .autoRenewDisabled
    )
    private static let given: Step = (
        "EXPIRATION", t1 + 32_000, .first, ["expiration_reason": "BILLING_ERROR"], .expired
    )
    private static let billingNoGrace = RevenueCatStory(
        "S2-6a",
        "a failed charge without grace",
        [
            initial, issue, failed, given,
        ]
    )
    private static let billingNoGraceRecovered = RevenueCatStory(
        "S2-6a-recovered",
        "charged at last, days later",
        [
            initial, issue, failed, given,
            ("RENEWAL", t1 + 12 * day + 5000, p(t1 + 12 * day, t1 + 43 * day, "O1-2"), paid, .renewed),
        ]
    )
    private static let inGrace = p(t0, grace, "O1")
    private static let graceIssue: Step = (
        "BILLING_ISSUE", t1 + 32_000, inGrace, ["grace_period_expiration_at_ms": .integer(grace)], .billingIssue
    )
    private static let graceFailed: Step = (
        "CANCELLATION", t1 + 32_000, inGrace, ["cancel_reason": "BILLING_ERROR"], .autoRenewDisabled
    )
    private static let billingGraceFails = RevenueCatStory(
        "S2-6b",
        "a failed charge, and grace that ends",
        [
            initial, graceIssue, graceFailed,
            ("EXPIRATION", grace + 1000, inGrace, ["expiration_reason": "BILLING_ERROR"], .expired),
        ]
    )
    private static let billingGraceRecovers = RevenueCatStory(
        "S2-6c",
        "a failed charge, and a renewal in grace",
        [
            initial, graceIssue, graceFailed, ("RENEWAL", t1 + 3 * day, .second, paid, .renewed),
        ]
    )
    private static let billingCancellationOnly = RevenueCatStory(
        "S2-6d",
        "one of the two webhooks is lost",
        [
            initial, graceFailed,
        ]
    )

    private static let extendedApple = RevenueCatStory(
        "S2-7a",
        "extended by ten days, then renewed",
        [
            initial, ("SUBSCRIPTION_EXTENDED", t0 + 20 * day, p(t0, t1 + 10 * day, "O1"), [:], .extended),
            ("RENEWAL", t1 + 10 * day + 5000, p(t1 + 10 * day, t1 + 38 * day, "O1-2"), paid, .renewed),
        ]
    )
    private static let deferral: Step = (
        "SUBSCRIPTION_EXTENDED", t1 - hour, p(t0, t1 + 20 * hour, "GPA.4"), play, .extended
    )
    private static let playInitial: Step = ("INITIAL_PURCHASE", t0 + 5000, p(t0, t1, "GPA.4"), play, .started)
    private static let extendedPlay = RevenueCatStory(
        "S2-7b",
        "Play puts a charge off by hours",
        [
            playInitial, deferral,
            (
                "RENEWAL", t1 + 20 * hour + 5000, p(t1 + 20 * hour, t1 + 20 * hour + 31 * day, "GPA.4..0"), play,
                .renewed
            ),
        ]
    )
    private static let extendedPlayFails = RevenueCatStory(
        "S2-7c",
        "Play puts a charge off, and it fails",
        [
            playInitial, deferral,
            ("BILLING_ISSUE", t1 + 20 * hour + 1000, p(t0, t1 + 20 * hour, "GPA.4"), play, .billingIssue),
            (
                "CANCELLATION", t1 + 20 * hour + 1000, p(t0, t1 + 20 * hour, "GPA.4"),
                playWith(["cancel_reason": "BILLING_ERROR"]), .autoRenewDisabled
            ),
        ]
    )
    private static let extendedContradicted = RevenueCatStory(
        "S2-7d",
        "an end that forgets the extension",
        [
            initial, ("SUBSCRIPTION_EXTENDED", t0 + 20 * day, p(t0, t1 + 10 * day, "O1"), [:], .extended), expired,
        ]
    )

    private static let trialEnd = t0 + 7 * day
    private static let trial = p(t0, trialEnd, "O1")
    private static let trialStart: Step = (
        "INITIAL_PURCHASE", t0 + 5000, trial,
        ["period_type": "TRIAL", "price": 0, "price_in_purchased_currency": 0, "currency": "USD"], .started
    )
    private static let trialCancel: Step = (
        "CANCELLATION", t0 + day, trial, ["cancel_reason": "UNSUBSCRIBE", "period_type": "TRIAL"], .autoRenewDisabled
    )
    private static let trialOver: Step = (
        "EXPIRATION", trialEnd + 40_000, trial, ["expiration_reason": "UNSUBSCRIBE", "period_type": "TRIAL"], .expired
    )
    private static func conversion(_ at: Int64, _ start: Int64) -> Step {
        ("RENEWAL", at, p(start, start + 31 * day, "O1-2"), ["is_trial_conversion": true], .renewed)
    }
    private static let trialConverts = RevenueCatStory(
        "S2-8",
        "a trial is charged half an hour early",
        [
            trialStart, conversion(trialEnd - 28 * minute, trialEnd),
        ]
    )
    private static let trialCanceled = RevenueCatStory(
        "S2-9",
        "a trial is canceled",
        [trialStart, trialCancel, trialOver]
    )
    private static let trialCanceledRenews = RevenueCatStory(
        "S2-10",
        "canceled too late",
        [
            trialStart,
            (
                "CANCELLATION", trialEnd - 3 * hour, trial, ["cancel_reason": "UNSUBSCRIBE", "period_type": "TRIAL"],
                .autoRenewDisabled
            ),
            conversion(trialEnd + 1000, trialEnd),
        ]
    )
    private static let trialLapsedBought = RevenueCatStory(
        "S2-11",
        "bought weeks after the trial",
        [
            trialStart, trialCancel, trialOver, conversion(t0 + 40 * day, t0 + 40 * day),
        ]
    )

    static let upgrade = t0 + 15 * day
    private static let basic: Changes = ["product_id": "basic_m"]
    private static let basicStart: Step = ("INITIAL_PURCHASE", t0 + 5000, .first, basic, .started)
    private static let immediateApple = RevenueCatStory(
        "S2-12a",
        "an upgrade in the App Store",
        [
            basicStart,
            (
                "PRODUCT_CHANGE", upgrade, .first, ["product_id": "basic_m", "new_product_id": "pro_m"],
                .productChangeScheduled
            ),
            ("RENEWAL", upgrade + 3000, p(upgrade, upgrade + 31 * day, "O1-2"), paid, .renewed),
        ]
    )
    private static let immediatePlay = RevenueCatStory(
        "S2-12b",
        "an immediate change on Play",
        [
            (
                "INITIAL_PURCHASE", t0 + 5000, p(t0, t1, "GPA.1"),
                ["store": "PLAY_STORE", "product_id": "s:basic", "original_transaction_id": "GPA.1"], .started
            ),
            (
                "PRODUCT_CHANGE", upgrade, p(t0, t1, "GPA.1"),
                ["store": "PLAY_STORE", "product_id": "s:basic", "original_transaction_id": "GPA.1"], .notice
            ),
            (
                "INITIAL_PURCHASE", upgrade + 2000, p(upgrade, upgrade + 31 * day, "GPA.2"),
                ["store": "PLAY_STORE", "product_id": "s:pro", "original_transaction_id": "GPA.2"], .started
            ),
            (
                "EXPIRATION", upgrade + 5000, p(t0, upgrade, "GPA.1"),
                [
                    "store": "PLAY_STORE", "product_id": "s:basic", "original_transaction_id": "GPA.1",
                    "expiration_reason": "UNKNOWN",
                ], .expired
            ),
        ]
    )
    private static let immediateStripe = RevenueCatStory(
        "S2-12c",
        "an immediate change on Stripe keeps the period",
        [
            ("INITIAL_PURCHASE", t0 + 5000, p(t0, t1, "si_1"), ["store": "STRIPE", "product_id": "basic_m"], .started),
            (
                "PRODUCT_CHANGE", upgrade, p(t0, t1, "si_1"),
                ["store": "STRIPE", "product_id": "basic_m", "new_product_id": "pro_m"], .productChangeScheduled
            ),
            (
                "RENEWAL", upgrade + 3000, p(t0, t1, "si_1"),
                [
                    "store": "STRIPE", "price": .raw("5.5"), "price_in_purchased_currency": .raw("5.5"),
                    "currency": "USD",
                ],
                .renewed
            ),
        ]
    )
    private static let announced: Step = (
        "PRODUCT_CHANGE", upgrade, .first, ["new_product_id": "basic_m"], .productChangeScheduled
    )
    private static let changeAtPeriodEnd = RevenueCatStory(
        "S2-13",
        "a downgrade at the end of the period",
        [
            initial, announced, ("RENEWAL", t1 + 3000, .second, basic, .renewed),
        ]
    )
    private static let changeWithdrawn = RevenueCatStory(
        "S2-13-withdrawn",
        "a downgrade, taken back",
        [
            initial, announced,
            ("PRODUCT_CHANGE", upgrade + day, .first, ["new_product_id": "pro_m"], .productChangeReverted),
        ]
    )
    private static let playDeferred = RevenueCatStory(
        "S2-13-play",
        "a deferred change on Play begins a purchase",
        [
            playInitial,
            (
                "PRODUCT_CHANGE", upgrade, p(t0, t1, "GPA.4"), playWith(["new_product_id": "s:basic"]),
                .productChangeScheduled
            ),
            (
                "RENEWAL", t1 + 3000, p(t1, t2, "GPA.5"),
                ["store": "PLAY_STORE", "product_id": "s:basic", "original_transaction_id": "GPA.5"], .renewed
            ),
        ]
    )

    private static func move(_ at: Int64, _ from: String, _ to: String) -> Step {
        (
            "TRANSFER", at, .first,
            [
                "transferred_from": [.string(from)], "transferred_to": [.string(to)], "app_user_id": nil,
                "original_app_user_id": nil, "aliases": nil, "product_id": nil, "entitlement_ids": nil,
                "period_type": nil, "purchased_at_ms": nil, "expiration_at_ms": nil, "transaction_id": nil,
                "original_transaction_id": nil, "is_family_share": nil, "country_code": nil,
            ], .transferred
        )
    }
    private static let transfer = RevenueCatStory(
        "S2-14",
        "moved to another customer",
        [
            initial, move(t0 + 9 * day, "u1", "u2"),
        ]
    )
    private static let transferRenewed = RevenueCatStory(
        "S2-14-renewed",
        "moved, and renewed there",
        [
            initial, move(t0 + 9 * day, "u1", "u2"),
            (
                "RENEWAL", t1 + 5000, .second, ["app_user_id": "u2", "original_app_user_id": "u2", "aliases": ["u2"]],
                .renewed
            ),
        ]
    )
    private static let transferBack = RevenueCatStory(
        "S2-14-back",
        "moved there and back",
        [
            initial, move(t0 + 9 * day, "u1", "u2"), move(t0 + 12 * day, "u2", "u1"),
        ]
    )

    static let refundedAt = t0 + 10 * day - 15 * minute
    private static let refundPeriod = p(t0, refundedAt, "O1")
    private static let refund: Step = (
        "CANCELLATION", t0 + 10 * day, refundPeriod,
        [
            "cancel_reason": "CUSTOMER_SUPPORT", "price": .raw("-9.99"), "price_in_purchased_currency": .raw("-9.99"),
            "currency": "USD",
        ], .refunded
    )
    private static let refundExpired: Step = (
        "EXPIRATION", t0 + 10 * day + 1, refundPeriod, ["expiration_reason": "CUSTOMER_SUPPORT"], .expired
    )
    private static let refundRenewed = RevenueCatStory(
        "S3-1",
        "refunded; renewal stays on",
        [
            initial, refund, refundExpired, renewal,
        ]
    )
    private static let refundReversed = RevenueCatStory(
        "S3-2",
        "refunded, and the refund undone",
        [
            initial, refund, refundExpired, ("REFUND_REVERSED", t0 + 13 * day, .first, [:], .refundReversed),
        ]
    )
    private static let refundByDeveloper = RevenueCatStory(
        "S3-3",
        "refunded by the developer",
        [
            initial,
            (
                "CANCELLATION", t0 + 10 * day, refundPeriod,
                ["cancel_reason": "DEVELOPER_INITIATED", "price": .raw("-4.99")], .refunded
            ),
        ]
    )
    private static let canceledByDeveloper = RevenueCatStory(
        "S3-3-canceled",
        "renewal ended by the developer",
        [
            initial,
            (
                "CANCELLATION", t0 + 10 * day, .first, ["cancel_reason": "DEVELOPER_INITIATED", "price": 0],
                .autoRenewDisabled
            ),
        ]
    )
    private static let oneTimeRefunded = RevenueCatStory(
        "S3-4",
        "a one-time purchase, refunded",
        [
            (
                "NON_RENEWING_PURCHASE", t0 + 5000, p(t0, t1, "O7"),
                ["expiration_at_ms": nil, "product_id": "lifetime", "original_transaction_id": "O7"], .oneTimePurchased
            ),
            (
                "CANCELLATION", t0 + 3 * day, p(t0, t1, "O7"),
                [
                    "expiration_at_ms": nil, "product_id": "lifetime", "original_transaction_id": "O7",
                    "cancel_reason": "CUSTOMER_SUPPORT", "price": .raw("-49.99"),
                ], .refunded
            ),
        ]
    )
    private static let grantChanges: Changes = [
        "store": "PROMOTIONAL", "period_type": "PROMOTIONAL", "product_id": "rc_promo_pro_weekly", "app_id": nil,
        "original_transaction_id": "promo-1",
    ]
    private static let grantRevoked = RevenueCatStory(
        "S3-5",
        "a grant beside a purchase, taken back",
        [
            initial, ("NON_RENEWING_PURCHASE", t0 + 5000, p(t0, trialEnd, "promo-1"), grantChanges, .started),
            (
                "CANCELLATION", t0 + 2 * day, p(t0, trialEnd, "promo-1"),
                [
                    "store": "PROMOTIONAL", "period_type": "PROMOTIONAL", "product_id": "rc_promo_pro_weekly",
                    "app_id": nil,
                    "original_transaction_id": "promo-1", "cancel_reason": "DEVELOPER_INITIATED",
                ], .revoked
            ),
        ]
    )
    private static let temporary: Step = (
        "TEMPORARY_ENTITLEMENT_GRANT", t0, p(t0, t0 + day, "X"), ["original_transaction_id": nil], .started
    )
    private static let temporaryThenPurchase = RevenueCatStory(
        "S3-6-purchase",
        "access ahead of the purchase",
        [
            temporary, ("INITIAL_PURCHASE", t0 + hour, .first, paid, .started),
        ]
    )
    private static let temporaryRejected = RevenueCatStory(
        "S3-6-rejected",
        "access ahead of a purchase that was none",
        [
            temporary,
            (
                "EXPIRATION", t0 + hour, p(t0, t0 + hour, "X"),
                ["original_transaction_id": nil, "expiration_reason": "UNKNOWN"], .expired
            ),
        ]
    )
    private static let early: Step = ("RENEWAL", t1 - 22 * hour, .second, paid, .renewed)
    private static let earlyRenewal = RevenueCatStory("early", "charged a day ahead", [initial, early])
    private static let earlyRenewalCanceled = RevenueCatStory(
        "S3-7",
        "charged a day ahead, then canceled",
        [
            initial, early,
            ("CANCELLATION", t1 - 20 * hour, .second, ["cancel_reason": "UNSUBSCRIBE"], .autoRenewDisabled),
        ]
    )
    private static let staleCancellation = RevenueCatStory(
        "S3-8",
        "a cancellation that was taken back long ago",
        [
            initial, unsubscribe, ("UNCANCELLATION", t0 + 11 * day, .first, [:], .autoRenewEnabled), renewal,
        ]
    )
    private static let prepaidTopUp = RevenueCatStory(
        "S3-9",
        "a prepaid subscription, topped up",
        [
            (
                "INITIAL_PURCHASE", t0, p(t0, t0 + 15 * minute, "GPA.7"),
                ["store": "PLAY_STORE", "period_type": "PREPAID", "original_transaction_id": "GPA.7"], .started
            ),
            (
                "INITIAL_PURCHASE", t0 + 2 * minute, p(t0 + 2 * minute, t0 + 30 * minute, "GPA.8"),
                ["store": "PLAY_STORE", "period_type": "PREPAID", "original_transaction_id": "GPA.8"], .started
            ),
            (
                "EXPIRATION", t0 + 2 * minute, p(t0, t0 + 2 * minute, "GPA.7"),
                [
                    "store": "PLAY_STORE", "period_type": "PREPAID", "original_transaction_id": "GPA.7",
                    "expiration_reason": "UNKNOWN",
                ], .expired
            ),
        ]
    )
    private static let lifetimeAndMonthly = RevenueCatStory(
        "S3-14",
        "a purchase for good beside a subscription",
        [
            initial,
            (
                "NON_RENEWING_PURCHASE", t0 + day, p(t0 + day, t1, "O7"),
                ["expiration_at_ms": nil, "product_id": "lifetime", "original_transaction_id": "O7"], .oneTimePurchased
            ),
            expired,
        ]
    )
    private static let playOrders = RevenueCatStory(
        "S3-16",
        "a Play order with and without its suffix",
        [
            (
                "INITIAL_PURCHASE", t0 + 5000, p(t0, t1, "GPA.9"),
                ["store": "PLAY_STORE", "original_transaction_id": "GPA.9"], .started
            ),
            (
                "CANCELLATION", t0 + 10 * day, p(t0, t1, "GPA.9..0"),
                ["store": "PLAY_STORE", "original_transaction_id": "GPA.9..0", "cancel_reason": "UNSUBSCRIBE"],
                .autoRenewDisabled
            ),
        ]
    )
    private static let bothEnvironments = RevenueCatStory(
        "S3-10",
        "a sandbox renewal beside a purchase",
        [
            initial, ("RENEWAL", t1 + 5000, .second, ["environment": "SANDBOX"], .renewed),
        ]
    )
}
