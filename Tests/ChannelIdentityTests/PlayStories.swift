import NotificationSimulator
import Testing
import VectorGenerator
import WireJSON

/// A purchase token with the order that its access rests on, in the words of both channels.
struct Holding {
    typealias JSON = GoogleVectors.JSON

    var token = GoogleVectors.token
    var product = "premium"
    var plan = "monthly"
    var firstOrder = GoogleVectors.order
    var renewal: Int?
    /// When the token was bought.
    var bought = Day.of(0)
    /// The last paid period.
    var start = Day.of(0)
    var end = Day.of(30)
    var phase = "basePrice"
    var linked: String?

    var order: String { firstOrder + (renewal.map { "..\($0)" } ?? "") }

    func with(_ change: (inout Holding) -> Void) -> Holding {
        var holding = self
        change(&holding)
        return holding
    }

    /// The next period of the same token.
    func renewed(from start: Int64? = nil) -> Holding {
        with {
            $0.renewal = ($0.renewal ?? -1) + 1
            $0.start = start ?? $0.end
            $0.end = $0.start + 30 * GoogleVectors.day
            $0.phase = "basePrice"
        }
    }

    // MARK: Google

    func resource(
        _ state: String,
        expiry: Int64? = nil,
        extra: [String: String] = [:],
        item: [String: String] = [:]
    ) -> GoogleVectors.Purchase {
        GoogleVectors.purchase(state).with {
            $0.start = bought
            $0.linked = linked
            $0.extra.merge(extra) { _, new in new }
            $0.items[0].product = product
            $0.items[0].basePlan = plan
            $0.items[0].expiry = expiry ?? end
            $0.items[0].order = order
            $0.items[0].phase = phase
            $0.items[0].extra = item
        }
    }

    func hint(
        _ number: Int,
        at time: Int64,
        _ purchase: GoogleVectors.Purchase,
        and others: [String: String] = [:]
    ) -> Hint {
        var resources = others
        resources["tokens/\(token)"] = purchase.json
        return Hint(
            notification: GoogleVectors.hint(number, token: token, at: time),
            resources: resources,
            at: time
        )
    }

    /// Money of the last order went back.
    func voided(
        at time: Int64,
        _ purchase: GoogleVectors.Purchase,
        refundedAt: Int64,
        reason: String = "OTHER"
    ) -> Hint {
        let history = JSON.object([
            "refundEvent": JSON.object([
                "eventTime": JSON.time(refundedAt), "refundReason": JSON.string(reason),
                "refundDetails": JSON.object(["total": GoogleVectors.money(9, nanos: 990_000_000)]),
            ])
        ])
        return Hint(
            notification: GoogleVectors.notification(
                "voidedPurchaseNotification",
                [
                    "purchaseToken": JSON.string(token), "orderId": JSON.string(order), "productType": "1",
                    "refundType": "1",
                ],
                at: time
            ),
            resources: [
                "tokens/\(token)": purchase.json,
                "orders/\(order)": JSON.object([
                    "orderId": JSON.string(order), "state": "\"REFUNDED\"", "purchaseToken": JSON.string(token),
                    "lineItems": JSON.array([
                        JSON.object([
                            "productId": JSON.string(product), "total": GoogleVectors.money(9, nanos: 990_000_000),
                        ])
                    ]),
                    "orderHistory": history,
                ]),
            ],
            at: time
        )
    }

    // MARK: RevenueCat

    func webhook(
        _ type: String,
        at time: Int64,
        end: Int64? = nil,
        _ changes: KeyValuePairs<String, JSONText?> = [:]
    ) -> RevenueCatSimulator.Event {
        RevenueCatSimulator.Event(
            type,
            id: "\(type)-\(order)-\(time)",
            at: time + 3000,
            .init(start, to: end ?? self.end, order),
            changing: [
                "store": "PLAY_STORE", "product_id": .string("\(product):\(plan)"),
                "original_transaction_id": .string(firstOrder),
                "period_type": .string(phase == "freeTrial" ? "TRIAL" : "NORMAL"),
                "price_in_purchased_currency": .raw(phase == "freeTrial" ? "0" : "9.99"), "currency": "EUR",
            ]
        ).with(changes)
    }
}

/// Times of the stories.
enum Day {
    static func of(_ day: Int64) -> Int64 { GoogleVectors.event + day * GoogleVectors.day }
}

extension PlayStory {
    /// A notification comes a little after the moment that RevenueCat states as the start of the period.
    private static let lag: Int64 = 1500

    private static func purchase(_ holding: Holding) -> Step {
        Step(
            name: "purchase",
            hints: [holding.hint(4, at: holding.start + lag, holding.resource("ACTIVE"))],
            webhooks: [holding.webhook("INITIAL_PURCHASE", at: holding.start + lag)]
        )
    }

    private static func renewal(
        _ holding: Holding,
        number: Int = 2,
        _ changes: KeyValuePairs<String, JSONText?> = [:]
    ) -> Step {
        Step(
            name: "renewal \(holding.renewal ?? -1)",
            hints: [holding.hint(number, at: holding.start + lag, holding.resource("ACTIVE"))],
            webhooks: [holding.webhook("RENEWAL", at: holding.start + lag, changes)]
        )
    }

    private static func cancellation(_ holding: Holding, at time: Int64) -> Step {
        let context = Holding.JSON.object([
            "userInitiatedCancellation": Holding.JSON.object(["cancelTime": Holding.JSON.time(time)])
        ])
        return Step(
            name: "cancellation",
            hints: [
                holding.hint(
                    3,
                    at: time + lag,
                    holding.resource("CANCELED", extra: ["canceledStateContext": context])
                )
            ],
            webhooks: [
                holding.webhook(
                    "CANCELLATION",
                    at: time + lag,
                    // Seen in the wild: the renewal's order where the first order belongs.
                    ["cancel_reason": "UNSUBSCRIBE", "original_transaction_id": .string(holding.order)]
                )
            ]
        )
    }

    private static func expiry(
        _ holding: Holding,
        by: String = "userInitiated",
        reason: String = "UNSUBSCRIBE",
        end: Int64? = nil
    ) -> Step {
        let end = end ?? holding.end
        return Step(
            name: "expiry",
            hints: [
                holding.hint(
                    13,
                    at: end + 5000,
                    holding.resource(
                        "EXPIRED",
                        expiry: end,
                        extra: ["canceledStateContext": GoogleVectors.canceled(by)]
                    )
                )
            ],
            webhooks: [
                holding.webhook("EXPIRATION", at: end + 5000, end: end, ["expiration_reason": .string(reason)])
            ]
        )
    }

    /// Another token with an order of its own takes the place of the one before.
    private static func upgrade(_ old: Holding, to new: Holding) -> Step {
        let time = new.start
        let ended = old.resource(
            "EXPIRED",
            expiry: time,
            extra: ["canceledStateContext": GoogleVectors.canceled("replacement")]
        )
        let replaced = Holding.JSON.object([
            "productId": Holding.JSON.string(old.product), "basePlanId": Holding.JSON.string(old.plan),
            "replacementMode": "\"CHARGE_FULL_PRICE\"",
        ])
        return Step(
            name: "upgrade",
            hints: [
                new.hint(
                    4,
                    at: time + lag,
                    new.resource("ACTIVE", item: ["itemReplacement": replaced]),
                    and: ["tokens/\(old.token)": ended.json]
                ),
                old.hint(13, at: time + 2 * lag, ended),
            ],
            webhooks: [
                // Without a new product the change is immediate.
                old.webhook("PRODUCT_CHANGE", at: time + lag),
                new.webhook("INITIAL_PURCHASE", at: time + lag),
                old.webhook("EXPIRATION", at: time + 2 * lag, end: time, ["expiration_reason": "UNSUBSCRIBE"]),
            ],
            isEndEchoed: true
        )
    }

    private static func refund(_ holding: Holding, at time: Int64, reason: String = "OTHER") -> Step {
        let ended = holding.resource(
            "EXPIRED",
            expiry: time,
            extra: ["canceledStateContext": GoogleVectors.canceled("developerInitiated")]
        )
        return Step(
            name: "refund",
            hints: [
                holding.voided(at: time + 2000, ended, refundedAt: time, reason: reason),
                holding.hint(12, at: time + 2500, ended),
            ],
            webhooks: [
                holding.webhook(
                    "CANCELLATION",
                    at: time + 4000,
                    end: time,
                    [
                        "cancel_reason": "CUSTOMER_SUPPORT", "price_in_purchased_currency": .raw("-9.99"),
                        "original_transaction_id": .string(holding.order),
                    ]
                ),
                holding.webhook("EXPIRATION", at: time + 5000, end: time, ["expiration_reason": "CUSTOMER_SUPPORT"]),
            ],
            isEndEchoed: true
        )
    }

    private static let first = Holding()

    private static func replacement(of old: Holding, at time: Int64, product: String, plan: String) -> Holding {
        Holding(
            token: GoogleVectors.olderToken,
            product: product,
            plan: plan,
            firstOrder: "GPA.3388-7777-6666-55555",
            bought: time,
            start: time,
            end: time + 30 * GoogleVectors.day,
            linked: old.token
        )
    }

    static let renewals = PlayStory(
        name: "renewals",
        steps: [
            purchase(first), renewal(first.renewed()), renewal(first.renewed().renewed()),
            cancellation(first.renewed().renewed(), at: Day.of(70)), expiry(first.renewed().renewed()),
        ]
    )

    static let trial = PlayStory(
        name: "trial",
        steps: [
            purchase(
                first.with {
                    $0.phase = "freeTrial"; $0.end = Day.of(7)
                }
            ),
            renewal(first.with { $0.end = Day.of(7) }.renewed(), ["is_trial_conversion": true]),
            cancellation(first.with { $0.end = Day.of(7) }.renewed(), at: Day.of(9)),
            expiry(first.with { $0.end = Day.of(7) }.renewed()),
        ]
    )

    static func upgraded(_ name: String, product: String, plan: String) -> PlayStory {
        let old = first.renewed()
        let new = replacement(of: old, at: Day.of(40), product: product, plan: plan)
        return PlayStory(
            name: name,
            steps: [
                purchase(first), renewal(old), upgrade(old, to: new), renewal(new.renewed()),
                cancellation(new.renewed(), at: Day.of(80)), expiry(new.renewed()),
            ]
        )
    }

    static let refunded = PlayStory(
        name: "refund",
        steps: [purchase(first), renewal(first.renewed()), refund(first.renewed(), at: Day.of(35))]
    )

    /// The bank took the money back. RevenueCat has no word for it but a refund.
    static let chargedBack = PlayStory(
        name: "chargeback",
        steps: [
            purchase(first), renewal(first.renewed()),
            refund(first.renewed(), at: Day.of(35), reason: "CHARGEBACK"),
        ]
    )

    static let refundedAfterUpgrade: PlayStory = {
        let new = replacement(of: first, at: Day.of(10), product: "premium", plan: "annual")
        return PlayStory(
            name: "refund after an upgrade",
            steps: [purchase(first), upgrade(first, to: new), refund(new, at: Day.of(15))]
        )
    }()

    static let paused: PlayStory = {
        let resumed = first.renewed(from: Day.of(60))
        let context = ["pausedStateContext": Holding.JSON.object(["autoResumeTime": Holding.JSON.time(Day.of(60))])]
        return PlayStory(
            name: "pause",
            steps: [
                purchase(first),
                Step(
                    name: "pause",
                    hints: [first.hint(10, at: Day.of(30) + 3000, first.resource("PAUSED", extra: context))],
                    webhooks: [
                        first.webhook(
                            "EXPIRATION",
                            at: Day.of(30) + 3000,
                            ["expiration_reason": "SUBSCRIPTION_PAUSED"]
                        )
                    ]
                ),
                renewal(resumed, number: 1), cancellation(resumed, at: Day.of(70)), expiry(resumed),
            ]
        )
    }()

    static let troubled: PlayStory = {
        let recovered = first.renewed(from: Day.of(32))
        func grace(_ holding: Holding, until end: Int64, at time: Int64) -> Step {
            Step(
                name: "grace",
                hints: [holding.hint(6, at: time, holding.resource("IN_GRACE_PERIOD", expiry: end))],
                webhooks: [
                    holding.webhook(
                        "BILLING_ISSUE",
                        at: time,
                        end: end,
                        ["grace_period_expiration_at_ms": .integer(end)]
                    )
                ]
            )
        }
        let hold = Step(
            name: "hold",
            hints: [recovered.hint(5, at: Day.of(65) + 9000, recovered.resource("ON_HOLD", expiry: Day.of(65)))],
            webhooks: [
                recovered.webhook(
                    "EXPIRATION",
                    at: Day.of(65) + 9000,
                    end: Day.of(65),
                    ["expiration_reason": "BILLING_ERROR"]
                )
            ],
            isAtAnotherTime: true
        )
        // RevenueCat knows no hold: it reports the end when the grace period ends, and this is that end.
        let givenUp = Step(
            name: "given up",
            hints: [
                recovered.hint(
                    13,
                    at: Day.of(95),
                    recovered.resource(
                        "EXPIRED",
                        expiry: Day.of(65),
                        extra: ["canceledStateContext": GoogleVectors.canceled("systemInitiated")]
                    )
                )
            ],
            webhooks: [],
            isAtAnotherTime: true
        )
        return PlayStory(
            name: "grace and hold",
            steps: [
                purchase(first), grace(first, until: Day.of(33), at: Day.of(30) + 2000), renewal(recovered),
                grace(recovered, until: Day.of(65), at: Day.of(62) + 2000), hold, givenUp,
            ]
        )
    }()

    static let deferred: PlayStory = {
        let longer = first.with { $0.end = Day.of(44) }
        return PlayStory(
            name: "deferral",
            steps: [
                purchase(first),
                Step(
                    name: "deferral",
                    hints: [first.hint(9, at: Day.of(20), longer.resource("ACTIVE"))],
                    webhooks: [longer.webhook("SUBSCRIPTION_EXTENDED", at: Day.of(20))]
                ),
                renewal(longer.renewed()), cancellation(longer.renewed(), at: Day.of(50)), expiry(longer.renewed()),
            ]
        )
    }()

    static let subscriptions = [
        renewals, trial, upgraded("upgrade to another base plan", product: "premium", plan: "annual"),
        upgraded("upgrade to another subscription", product: "family", plan: "monthly"), refunded,
        chargedBack, refundedAfterUpgrade, paused, troubled, deferred,
    ]
}
