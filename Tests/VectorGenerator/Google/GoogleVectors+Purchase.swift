import ConformanceVectors

// The meanings of a new token.
extension GoogleVectors {
    /// A purchase of a moment ago.
    private static func bought(_ item: Item = Item(order: order), _ change: (inout Purchase) -> Void = { _ in })
        -> Purchase
    {
        var purchase = Purchase(start: event - second, acknowledgement: "PENDING", items: [item])
        change(&purchase)
        return purchase
    }

    private static func predecessor(_ product: String, basePlan: String = "monthly", isPrepaid: Bool = false) -> String
    {
        var purchase = purchase(
            "EXPIRED",
            Item(product: product, order: "GPA.3399-0000-1111-22222..3", basePlan: basePlan, isPrepaid: isPrepaid)
        )
        purchase.extra["canceledStateContext"] = canceled("replacement")
        return subscriptionAnswer(purchase.json, token: oldToken)
    }

    private static func replaced(_ product: String, _ basePlan: String = "monthly", mode: String) -> String {
        JSON.object([
            "productId": JSON.string(product), "basePlanId": JSON.string(basePlan),
            "replacementMode": JSON.string(mode),
        ])
    }

    static func purchaseCases() -> [Case] {
        var cases: [Case] = []
        let acknowledge = Expected(
            "acknowledgement_required",
            JSON.object(["deadline": JSON.time(event - second + 3 * day)])
        )

        func add(
            _ id: String,
            _ why: String,
            _ purchase: Purchase,
            others: [String] = [],
            number: Int = 4,
            config: [String: String] = [:],
            _ expected: Expected...
        ) {
            cases.append(
                Case(
                    id: id,
                    why: why,
                    notification: hint(number),
                    http: [subscriptionAnswer(purchase.json)] + others,
                    config: config,
                    expect: .events(expected)
                )
            )
        }

        // First purchases, and the terms they are used under.
        add(
            "new",
            "bought for the first time",
            bought(),
            Expected("started", #"{"origin":"new","phase":"regular"}"#),
            acknowledge
        )
        add(
            "new-acknowledged",
            "acknowledged before we asked",
            bought { $0.acknowledgement = "ACKNOWLEDGED" },
            Expected("started", #"{"origin":"new"}"#)
        )
        add(
            "trial",
            "free of charge at first: the price of later is not what it costs now",
            bought(Item(order: order, offer: "freetrial7", phase: "freeTrial")),
            Expected(
                "started",
                JSON.object([
                    "origin": "\"new\"", "phase": "\"trial\"",
                    "period": JSON.object(["start": JSON.time(event - second), "end": JSON.time(event + 30 * day)]),
                ])
            ),
            acknowledge
        )
        add(
            "introductory",
            "at an introductory price",
            bought(Item(order: order, offer: "intro3", phase: "introductoryPrice")),
            Expected("started", #"{"phase":"introductory"}"#),
            acknowledge
        )
        add(
            "offer-without-phase",
            "an offer, and an answer of the time before phases: no trial is made up of it",
            bought(Item(order: order, offer: "welcome", phase: nil)),
            Expected("started", #"{"phase":"promotional"}"#),
            acknowledge
        )
        add(
            "phase-unknown",
            "a phase that nobody knows yet",
            bought(Item(order: order, phase: "loyaltyPrice")),
            Expected("started", #"{"phase":"regular"}"#),
            acknowledge
        )
        add(
            "code",
            "signed up with a code",
            bought(Item(order: order, extra: ["signupPromotion": #"{"oneTimeCode":{}}"#])),
            Expected("started", #"{"origin":"new"}"#),
            acknowledge
        )
        add(
            "licence-tester",
            "a licence tester's: sandbox, and five minutes to acknowledge",
            bought { $0.isTest = true },
            Expected("started", #"{"origin":"new"}"#),
            Expected("acknowledgement_required", JSON.object(["deadline": JSON.time(event - second + 300 * second)]))
        )
        add(
            "without-account",
            "the app named no account",
            bought { $0.account = nil },
            Expected("started", #"{"origin":"new"}"#),
            acknowledge
        )
        add(
            "fraction-of-no-digits",
            "times with no, six and nine digits after the second",
            bought(Item(expiry: nil, order: order, extra: ["expiryTime": "\"2026-04-01T12:00:00Z\""])) {
                $0.extra["startTime"] = "\"2026-03-01T11:58:29.123456789Z\""
            },
            Expected("started", #"{"period":{"start":"2026-03-01T11:58:29.123Z","end":"2026-04-01T12:00:00.000Z"}}"#),
            Expected("acknowledgement_required", #"{"deadline":"2026-03-04T11:58:29.123Z"}"#)
        )
        add(
            "order-looked-up",
            "what was charged, and what of it is tax",
            bought(),
            others: [
                orderAnswer(
                    JSON.object([
                        "orderId": JSON.string(order), "purchaseToken": JSON.string(token), "state": "\"PROCESSED\"",
                        "total": money(11, 890_000_000), "tax": money(1, 900_000_000),
                        "lineItems": JSON.array([
                            JSON.object([
                                "productId": "\"premium\"", "total": money(11, 890_000_000),
                                "tax": money(1, 900_000_000),
                                "subscriptionDetails": JSON.object([
                                    "basePlanId": "\"monthly\"",
                                    "servicePeriodStartTime": JSON.time(event - 2 * second),
                                    "servicePeriodEndTime": JSON.time(event + 30 * day),
                                ]),
                            ])
                        ]),
                        "orderHistory": JSON.object([
                            "processedEvent": JSON.object(["eventTime": JSON.time(event - second)])
                        ]),
                    ]),
                    order: order
                )
            ],
            config: ["orderLookup": "\"charged\""],
            Expected(
                "started",
                #"{"price":{"amount":"11.89","currency":"EUR","role":"charged","tax":{"amount":"1.9","currency":"EUR"}}}"#
            ),
            acknowledge
        )
        add(
            "order-denied",
            "no right to see orders: amounts are missing, and nothing else",
            bought(),
            others: [orderAnswer(error(403, "insufficientPermissions"), order: order, status: 403)],
            config: ["orderLookup": "\"charged\""],
            Expected("started", #"{"price":{"amount":"9.99","currency":"EUR","role":"list"}}"#),
            acknowledge
        )

        // Resubscriptions.
        add(
            "out-of-app",
            "bought again in the Play Store after the end: the user is the expired purchase's",
            bought {
                $0.account = nil
                $0.extra["outOfAppPurchaseContext"] = JSON.object([
                    "expiredPurchaseToken": JSON.string(oldToken),
                    "expiredExternalAccountIdentifiers": #"{"obfuscatedExternalAccountId":"acct-7f3a"}"#,
                ])
            },
            Expected("started", #"{"origin":"resubscribed"}"#),
            acknowledge
        )
        add(
            "re-signup",
            "bought again in the app before the end of a canceled subscription",
            bought { $0.linked = oldToken },
            others: [predecessor("premium")],
            Expected("started", #"{"origin":"resubscribed"}"#),
            acknowledge
        )
        add(
            "re-signup-predecessor-gone",
            "the purchase before is not kept any more",
            bought { $0.linked = oldToken },
            others: [subscriptionAnswer(error(410, "purchaseTokenNoLongerValid"), token: oldToken, status: 410)],
            Expected("started", #"{"origin":"resubscribed"}"#),
            acknowledge
        )

        // Changes of plan, at once.
        for (mode, proration) in [
            ("WITH_TIME_PRORATION", "time_credit"), ("CHARGE_PRORATED_PRICE", "prorated_charge"),
            ("WITHOUT_PRORATION", "none"), ("CHARGE_FULL_PRICE", "full_charge"),
        ] {
            add(
                "changed-\(mode)",
                "another product at once, \(mode)",
                bought(
                    Item(order: order, extra: ["itemReplacement": replaced("basic", mode: mode)])
                ) { $0.linked = oldToken },
                others: [predecessor("basic")],
                Expected(
                    "product_changed",
                    #"{"from":"basic:monthly","to":"premium:monthly","timing":"immediate","direction":"unknown","basis":"store","proration":"\#(proration)"}"#
                ),
                acknowledge
            )
        }
        add(
            "changed-mode-unknown",
            "a mode that nobody knows yet",
            bought(
                Item(order: order, extra: ["itemReplacement": replaced("basic", mode: "CHARGE_LATER")])
            ) { $0.linked = oldToken },
            others: [predecessor("basic")],
            Expected("product_changed", #"{"from":"basic:monthly","to":"premium:monthly"}"#),
            acknowledge
        )
        add(
            "changed-base-plan",
            "another base plan of the same product",
            bought(
                Item(
                    order: order,
                    basePlan: "yearly",
                    extra: ["itemReplacement": replaced("premium", mode: "CHARGE_FULL_PRICE")]
                )
            ) { $0.linked = oldToken },
            others: [predecessor("premium")],
            Expected("product_changed", #"{"from":"premium:monthly","to":"premium:yearly","proration":"full_charge"}"#),
            acknowledge
        )
        add(
            "changed-without-replacement",
            "only the purchase before tells that the product is another",
            bought { $0.linked = oldToken },
            others: [predecessor("basic")],
            Expected("product_changed", #"{"from":"basic:monthly","to":"premium:monthly"}"#),
            acknowledge
        )
        add(
            "changed-proration-period",
            "what the old purchase was worth runs as a period of its own",
            bought(
                Item(
                    order: order,
                    phase: nil,
                    extra: [
                        "itemReplacement": replaced("basic", mode: "WITH_TIME_PRORATION"),
                        "offerPhase": #"{"prorationPeriod":{"originalOfferPhaseType":"BASE"}}"#,
                    ]
                )
            ) { $0.linked = oldToken },
            others: [predecessor("basic")],
            Expected("product_changed", #"{"proration":"time_credit"}"#),
            acknowledge
        )
        var chain = purchase("EXPIRED", Item(product: "basic", order: "GPA.3399-0000-1111-22222..3"))
        chain.linked = olderToken
        chain.extra["canceledStateContext"] = canceled("replacement")
        add(
            "changed-chain",
            "the third token of a chain",
            bought { $0.linked = oldToken },
            others: [
                subscriptionAnswer(chain.json, token: oldToken),
                subscriptionAnswer(error(410, "subscriptionPurchaseNoLongerAvailable"), token: olderToken, status: 410),
            ],
            Expected("product_changed", #"{"from":"basic:monthly","to":"premium:monthly"}"#),
            acknowledge
        )
        chain.linked = token
        add(
            "changed-circle",
            "a chain that leads back to itself",
            bought { $0.linked = oldToken },
            others: [subscriptionAnswer(chain.json, token: oldToken)],
            Expected("product_changed", #"{"from":"basic:monthly","to":"premium:monthly"}"#),
            acknowledge
        )
        add(
            "to-prepaid",
            "from renewing to paid in advance",
            bought(Item(order: order, basePlan: "prepaid30", phase: nil, isPrepaid: true)) { $0.linked = oldToken },
            others: [predecessor("premium")],
            Expected("product_changed", #"{"from":"premium:monthly","to":"premium:prepaid30"}"#),
            acknowledge
        )

        // Changes of plan, at the end of the period.
        let deferred = bought(
            Item(
                product: "premium",
                expiry: event + 12 * day,
                order: "GPA.3399-0000-1111-22222..3",
                isRenewing: false,
                extra: ["deferredItemReplacement": #"{"productId":"basic"}"#]
            )
        ) {
            $0.linked = oldToken
            $0.items.append(Item(product: "basic", expiry: nil, order: nil, price: money(4, 990_000_000)))
        }
        add(
            "deferred",
            "another product from the next renewal on; a new token now",
            deferred,
            others: [predecessor("premium")],
            Expected(
                "product_change_scheduled",
                JSON.object([
                    "from": "\"premium:monthly\"", "to": "\"basic:monthly\"", "timing": "\"at_period_end\"",
                    "effective_at": JSON.time(event + 12 * day), "proration": "\"deferred\"",
                ])
            ),
            acknowledge
        )
        var effective = Purchase(
            start: event - 12 * day,
            items: [
                Item(
                    product: "premium",
                    expiry: event - 40 * second,
                    order: "GPA.3399-0000-1111-22222..3",
                    isRenewing: false
                ),
                Item(product: "basic", expiry: event + 30 * day, order: "\(order)..0", price: money(4, 990_000_000)),
            ]
        )
        effective.linked = oldToken
        add(
            "deferred-effective",
            "the renewal with which the other product begins",
            effective,
            others: [predecessor("premium")],
            number: 2,
            Expected("renewed", #"{"cause":"plan_change","price":{"amount":"4.99","currency":"EUR","role":"list"}}"#)
        )
        var superseded = purchase("EXPIRED", Item(product: "premium", order: "GPA.3399-0000-1111-22222..3"))
        superseded.extra["canceledStateContext"] = canceled("systemInitiated")
        superseded.items = [superseded.items[0].with { $0.expiry = nil }]
        add(
            "deferred-old-token",
            "the old token of a deferred change ends without a date: not for the money's sake",
            superseded,
            number: 13,
            Expected("expired", #"{"reason":"unknown"}"#)
        )

        // The old token of a change.
        var replacement = purchase("EXPIRED", Item(product: "basic", order: "GPA.3399-0000-1111-22222..3"))
        replacement.extra["canceledStateContext"] = canceled("replacement")
        add(
            "replaced",
            "the old token of a change of plan ends: no churn",
            replacement,
            number: 13,
            Expected("expired", #"{"reason":"replaced"}"#)
        )
        add(
            "replaced-late-purchase",
            "the old token's own purchase, delivered after it was replaced",
            replacement.with { $0.items = [$0.items[0].with { $0.order = "GPA.3399-0000-1111-22222" }] },
            Expected("started", #"{"origin":"new"}"#),
            Expected("expired", #"{"reason":"replaced"}"#)
        )

        // Paid in advance.
        let prepaid = Item(expiry: event + 30 * day, order: order, basePlan: "prepaid30", phase: nil, isPrepaid: true)
        add(
            "prepaid",
            "paid in advance",
            bought(prepaid),
            Expected("started", #"{"origin":"new","phase":"prepaid"}"#),
            acknowledge
        )
        add(
            "prepaid-short",
            "three days paid in advance: half of them to acknowledge",
            bought(prepaid.with { $0.expiry = event - second + 3 * day }),
            Expected("started", #"{"phase":"prepaid"}"#),
            Expected("acknowledgement_required", JSON.object(["deadline": JSON.time(event - second + 36 * hour)]))
        )
        add(
            "top-up",
            "topped up",
            bought(prepaid.with { $0.expiry = event + 45 * day }) { $0.linked = oldToken },
            others: [predecessor("premium", basePlan: "prepaid30", isPrepaid: true)],
            Expected("renewed", #"{"cause":"top_up","phase":"prepaid"}"#),
            acknowledge
        )
        add(
            "top-up-predecessor-gone",
            "paid in advance behind a purchase that nobody knows any more",
            bought(prepaid) { $0.linked = oldToken },
            others: [subscriptionAnswer(error(410, "purchaseTokenNoLongerValid"), token: oldToken, status: 410)],
            Expected("product_changed", #"{"to":"premium:prepaid30","direction":"unknown"}"#),
            acknowledge
        )
        add(
            "prepaid-canceled-state",
            "the state that one of Google's pages gives to what was paid in advance: nothing was turned off",
            bought(prepaid) { $0.state = "CANCELED" },
            Expected("started", #"{"phase":"prepaid"}"#),
            acknowledge
        )
        add(
            "prepaid-over",
            "what was paid in advance ran out",
            bought(prepaid.with { $0.expiry = event - 5 * second }) {
                $0.state = "EXPIRED"; $0.start = event - 30 * day
            },
            number: 13,
            Expected("expired", #"{"reason":"unknown"}"#)
        )

        // Several items.
        add(
            "add-ons",
            "three products at once",
            bought {
                $0.items = [
                    Item(order: order), Item(product: "voice", order: order, price: money(2)),
                    Item(product: "offline", order: order, price: money(1, 500_000_000)),
                ]
            },
            // In the order of their products, whatever the order of the list.
            Expected("started", #"{"origin":"new","price":{"amount":"1.5","currency":"EUR","role":"list"}}"#),
            acknowledge,
            Expected("started", #"{"origin":"new","price":{"amount":"9.99","currency":"EUR","role":"list"}}"#),
            Expected("started", #"{"origin":"new","price":{"amount":"2","currency":"EUR","role":"list"}}"#)
        )
        add(
            "add-on-added",
            "a product added, the other kept: a new token",
            bought {
                $0.linked = oldToken
                $0.items = [
                    Item(extra: ["itemReplacement": replaced("premium", mode: "KEEP_EXISTING")]),
                    Item(product: "voice", order: order, price: money(2)),
                ]
            },
            others: [predecessor("premium")],
            Expected("product_changed", #"{"direction":"add_ons","to":"premium:monthly"}"#),
            acknowledge,
            Expected("started", #"{"origin":"new","price":{"amount":"2","currency":"EUR","role":"list"}}"#)
        )

        // Late, or early.
        add(
            "canceled-within-moments",
            "bought and canceled before we asked: it was bought all the same",
            bought(Item(order: order, isRenewing: false)) {
                $0.state = "CANCELED"
                $0.extra["canceledStateContext"] = canceledByUser
            },
            Expected("started", #"{"origin":"new"}"#),
            Expected("auto_renew_disabled", #"{"reason":"customer"}"#),
            acknowledge
        )
        add(
            "pending",
            "payment is outstanding",
            purchase("PENDING"),
            Expected("purchase_pending", #"{"product":"premium"}"#)
        )
        add(
            "pending-replacement",
            "payment for a change is outstanding: the old purchase goes on",
            purchase("PENDING").with { $0.linked = oldToken },
            others: [subscriptionAnswer(purchase("ACTIVE", Item(product: "basic")).json, token: oldToken)],
            Expected("purchase_pending", #"{"product":"premium"}"#)
        )
        add(
            "pending-replacement-canceled",
            "the payment for a change came to nothing: never paid, and nothing ends",
            purchase("PENDING_PURCHASE_CANCELED").with { $0.linked = oldToken },
            others: [subscriptionAnswer(purchase("ACTIVE", Item(product: "basic")).json, token: oldToken)],
            number: 20,
            Expected("purchase_pending_canceled", #"{"product":"premium"}"#)
        )
        add(
            "old-schema",
            "members of older answers are no harm",
            bought { $0.extra["latestOrderId"] = JSON.string("\(order)..0") },
            Expected("started", #"{"origin":"new"}"#),
            acknowledge
        )
        add(
            "unknown-members",
            "members and values that nobody knows yet",
            bought {
                $0.extra["loyaltyContext"] = #"{"tier":["gold",1,null]}"#
                $0.acknowledgement = "DELEGATED"
            },
            Expected("started", #"{"origin":"new"}"#)
        )
        return cases
    }
}
