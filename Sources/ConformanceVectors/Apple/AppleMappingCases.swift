import FoundationEssentials
import NotificationSimulator
import Normalizer

/// Every type and subtype of Apple's page "notificationType", with its variants, and the event that each stands for.
enum AppleMappingCases {
    typealias World = AppleVectorWorld

    static func all(_ world: World) throws -> [AppleCase] {
        try subscribed(world) + renewed(world) + failed(world) + expired(world) + intents(world) + changes(world)
            + offers(world) + prices(world) + oneTime(world) + refunds(world) + sharing(world) + extensions(world)
            + others(world)
    }

    static func date(_ milliseconds: Int64) -> Date { Date(millisecondsSince1970: milliseconds) }

    static let period = ServicePeriod(start: date(World.start), end: date(World.end))
    static let end = date(World.end)
    static let retryEnd = date(World.end + 60 * World.day)

    static func money(_ amount: String) -> Money { Money(ExactDecimal(amount) ?? ExactDecimal(-1), "USD") }
    static func charged(_ amount: String) -> Price { Price(money(amount), .charged) }
    static func list(_ amount: String) -> Price { Price(money(amount), .list) }

    static func started(
        _ origin: LifecycleEvent.Started.Origin,
        _ phase: Phase = .regular,
        _ price: Price? = charged("9.99")
    ) -> LifecycleEvent {
        .started(.init(origin: origin, phase: phase, period: period, price: price))
    }

    static func renewed(
        _ cause: LifecycleEvent.Renewed.Cause,
        _ phase: Phase = .regular,
        _ price: Price? = charged("9.99")
    ) -> LifecycleEvent {
        .renewed(.init(cause: cause, phase: phase, period: period, price: price))
    }

    static func unmapped(_ type: String, _ subtype: String? = nil) -> LifecycleEvent {
        .unmapped(.init(type: type, subtype: subtype))
    }

    /// A subscription's facts where nothing is unusual.
    static let usual: [Fact.Kind] = [.period, .charge, .renewalIntent, .billing, .priceChange, .owner]

    private static func one(
        _ world: World,
        _ id: String,
        _ type: String,
        subtype: String? = nil,
        transaction: JSONMembers? = nil,
        info renewalInfo: JSONMembers? = nil,
        status: Int64? = nil,
        at signed: Int64 = World.signed,
        data: (inout JSONMembers) -> Void = { _ in },
        facts: [Fact.Kind]? = nil,
        note: String? = nil,
        _ event: LifecycleEvent
    ) throws -> AppleCase {
        try world.accepted(
            "mapping/\(id)",
            world.notification(
                type,
                subtype,
                try world.purchase(transaction, renewalInfo, status: status, data),
                at: signed
            ),
            [event],
            facts: facts,
            config: world.config { $0["now"] = .integer(signed + 1000) },
            tags: ["mapping", type],
            note: note
        )
    }

    private static func offer(
        _ type: Int64,
        _ discountType: String?,
        id: String? = nil,
        price: Int64
    ) -> (inout JSONMembers) -> Void {
        {
            $0["offerType"] = .integer(type)
            $0["offerDiscountType"] = discountType.map(JSONText.string)
            $0["offerIdentifier"] = id.map(JSONText.string)
            $0["offerPeriod"] = "P1M"
            $0["price"] = .integer(price)
        }
    }

    private static let familyShared: @Sendable (inout JSONMembers) -> Void = {
        $0["inAppOwnershipType"] = "FAMILY_SHARED"
    }

    // MARK: SUBSCRIBED

    private static func subscribed(_ world: World) throws -> [AppleCase] {
        let info = world.renewalInfo()
        func one(
            _ id: String,
            subtype: String?,
            change: (inout JSONMembers) -> Void = { _ in },
            facts: [Fact.Kind]? = usual,
            note: String? = nil,
            _ event: LifecycleEvent
        ) throws -> AppleCase {
            try self.one(
                world,
                "subscribed-\(id)",
                "SUBSCRIBED",
                subtype: subtype,
                transaction: world.transaction(change),
                info: info,
                status: 1,
                facts: facts,
                note: note,
                event
            )
        }
        return [
            try one("initial-buy", subtype: "INITIAL_BUY", started(.new)),
            try one(
                "initial-buy-trial",
                subtype: "INITIAL_BUY",
                change: offer(1, "FREE_TRIAL", price: 0),
                started(.new, .trial, charged("0"))
            ),
            try one(
                "initial-buy-trial-older",
                subtype: "INITIAL_BUY",
                change: offer(1, nil, price: 0),
                note: "before offerDiscountType, a trial was an introductory offer that cost nothing",
                started(.new, .trial, charged("0"))
            ),
            try one(
                "initial-buy-pay-as-you-go",
                subtype: "INITIAL_BUY",
                change: offer(1, "PAY_AS_YOU_GO", price: 1990),
                started(.new, .introductory, charged("1.99"))
            ),
            try one(
                "initial-buy-pay-up-front",
                subtype: "INITIAL_BUY",
                change: offer(1, "PAY_UP_FRONT", price: 5990),
                started(.new, .introductory, charged("5.99"))
            ),
            try one(
                "initial-buy-introductory-older",
                subtype: "INITIAL_BUY",
                change: offer(1, nil, price: 1990),
                started(.new, .introductory, charged("1.99"))
            ),
            try one(
                "initial-buy-promotional",
                subtype: "INITIAL_BUY",
                change: offer(2, "PAY_AS_YOU_GO", id: "loyal", price: 3990),
                started(.new, .promotional, charged("3.99"))
            ),
            try one(
                "initial-buy-promotional-trial",
                subtype: "INITIAL_BUY",
                change: offer(2, "FREE_TRIAL", id: "loyal-free", price: 0),
                started(.new, .trial, charged("0"))
            ),
            try one(
                "initial-buy-code",
                subtype: "INITIAL_BUY",
                change: offer(3, "PAY_UP_FRONT", id: "autumn", price: 2990),
                started(.new, .promotional, charged("2.99"))
            ),
            try one(
                "initial-buy-one-time-discount",
                subtype: "INITIAL_BUY",
                change: offer(3, "ONE_TIME", id: "once", price: 2990),
                started(.new, .promotional, charged("2.99"))
            ),
            try one(
                "initial-buy-unknown-offer-type",
                subtype: "INITIAL_BUY",
                change: offer(9, "PAY_AS_YOU_GO", id: "later", price: 990),
                started(.new, .promotional, charged("0.99"))
            ),
            try one(
                "initial-buy-unknown-discount-type",
                subtype: "INITIAL_BUY",
                change: offer(1, "PAY_WHAT_YOU_WANT", price: 10),
                started(.new, .introductory, charged("0.01"))
            ),
            try one(
                "initial-buy-family",
                subtype: "INITIAL_BUY",
                change: familyShared,
                facts: [.period, .renewalIntent, .billing, .priceChange, .owner],
                note: "who shares pays nothing, and the purchaser's token is nobody's here",
                started(.familyShared, .regular, list("9.99"))
            ),
            try one("resubscribe", subtype: "RESUBSCRIBE", started(.resubscribed)),
            try one(
                "resubscribe-win-back",
                subtype: "RESUBSCRIBE",
                change: offer(4, "PAY_AS_YOU_GO", id: "come-back", price: 990),
                started(.resubscribed, .promotional, charged("0.99"))
            ),
            try one(
                "resubscribe-family",
                subtype: "RESUBSCRIBE",
                change: familyShared,
                facts: nil,
                started(.familyShared, .regular, list("9.99"))
            ),
            try one("without-subtype", subtype: nil, unmapped("SUBSCRIBED")),
            try one("unknown-subtype", subtype: "GIFTED", unmapped("SUBSCRIBED", "GIFTED")),
        ]
    }

    // MARK: DID_RENEW

    private static func renewed(_ world: World) throws -> [AppleCase] {
        let info = world.renewalInfo()
        func one(
            _ id: String,
            subtype: String? = nil,
            change: (inout JSONMembers) -> Void = { _ in },
            note: String? = nil,
            _ event: LifecycleEvent
        ) throws -> AppleCase {
            try self.one(
                world,
                "did-renew-\(id)",
                "DID_RENEW",
                subtype: subtype,
                transaction: world.renewal(change),
                info: info,
                status: 1,
                note: note,
                event
            )
        }
        return [
            try one("plain", renewed(.scheduled)),
            try one("billing-recovery", subtype: "BILLING_RECOVERY", renewed(.recovery(from: .unknown))),
            try one("family", subtype: nil, change: familyShared, renewed(.scheduled, .regular, list("9.99"))),
            try one(
                "with-offer",
                subtype: nil,
                change: offer(3, "PAY_AS_YOU_GO", id: "autumn", price: 2990),
                renewed(.scheduled, .promotional, charged("2.99"))
            ),
            try one(
                "introductory-goes-on",
                subtype: nil,
                change: offer(1, "PAY_AS_YOU_GO", price: 1990),
                renewed(.scheduled, .introductory, charged("1.99"))
            ),
            try one(
                "downgraded",
                subtype: nil,
                change: {
                    $0["productId"] = "com.example.app.basic.monthly"
                    $0["price"] = 4990
                },
                note: "a downgrade comes into force with an ordinary renewal; the state tells that the product changed",
                renewed(.scheduled, .regular, charged("4.99"))
            ),
            try one("unknown-subtype", subtype: "BY_MAGIC", unmapped("DID_RENEW", "BY_MAGIC")),
        ]
    }

    // MARK: DID_FAIL_TO_RENEW, GRACE_PERIOD_EXPIRED

    private static func failed(_ world: World) throws -> [AppleCase] {
        let at = World.end + 60_000
        let transaction = world.renewal(at: at)
        func retrying(grace: Bool, at date: Int64 = at) -> JSONMembers {
            world.renewalInfo(at: date) {
                $0["isInBillingRetryPeriod"] = true
                $0["expirationIntent"] = 2
                if grace { $0["gracePeriodExpiresDate"] = .integer(World.graceEnd) }
            }
        }
        let lapsed = World.graceEnd + 60_000
        return [
            try one(
                world,
                "did-fail-to-renew-grace",
                "DID_FAIL_TO_RENEW",
                subtype: "GRACE_PERIOD",
                transaction: transaction,
                info: retrying(grace: true),
                status: 4,
                at: at,
                facts: usual,
                note: "expiresDate has passed; gracePeriodExpiresDate is how long access lasts",
                .billingIssue(.init(access: .grace(until: date(World.graceEnd)), retryUntil: retryEnd))
            ),
            try one(
                world,
                "did-fail-to-renew-grace-family",
                "DID_FAIL_TO_RENEW",
                subtype: "GRACE_PERIOD",
                transaction: transaction.with(familyShared),
                info: retrying(grace: true),
                status: 4,
                at: at,
                .billingIssue(.init(access: .grace(until: date(World.graceEnd)), retryUntil: retryEnd))
            ),
            try one(
                world,
                "did-fail-to-renew-grace-without-date",
                "DID_FAIL_TO_RENEW",
                subtype: "GRACE_PERIOD",
                transaction: transaction,
                info: retrying(grace: false),
                status: 4,
                at: at,
                note: "no end of grace is stated, so none is made up",
                .billingIssue(.init(access: .suspended, retryUntil: retryEnd))
            ),
            try one(
                world,
                "did-fail-to-renew",
                "DID_FAIL_TO_RENEW",
                subtype: nil,
                transaction: transaction,
                info: retrying(grace: false),
                status: 3,
                at: at,
                .billingIssue(.init(access: .suspended, retryUntil: retryEnd))
            ),
            try one(
                world,
                "did-fail-to-renew-unknown-subtype",
                "DID_FAIL_TO_RENEW",
                subtype: "CARD_EATEN",
                transaction: transaction,
                info: retrying(grace: false),
                status: 3,
                at: at,
                unmapped("DID_FAIL_TO_RENEW", "CARD_EATEN")
            ),
            try one(
                world,
                "grace-period-expired",
                "GRACE_PERIOD_EXPIRED",
                subtype: nil,
                transaction: world.renewal(at: lapsed),
                info: retrying(grace: true, at: lapsed),
                status: 3,
                at: lapsed,
                .gracePeriodExpired
            ),
        ]
    }

    // MARK: EXPIRED

    private static func expired(_ world: World) throws -> [AppleCase] {
        let at = World.end + 60_000
        func one(
            _ id: String,
            _ subtype: String?,
            _ info: JSONMembers?,
            _ reason: LifecycleEvent.Expired.Reason,
            note: String? = nil
        ) throws -> AppleCase {
            try self.one(
                world,
                "expired-\(id)",
                "EXPIRED",
                subtype: subtype,
                transaction: world.renewal(at: at),
                info: info,
                status: 2,
                at: at,
                facts: info == nil
                    ? [.period, .charge, .periodEnded, .owner]
                    : [.period, .charge, .periodEnded, .renewalIntent, .billing, .priceChange, .owner],
                note: note,
                .expired(.init(reason: reason))
            )
        }
        return [
            try one("voluntary", "VOLUNTARY", world.stopped(intent: 1, at: at), .customer),
            try one("billing-retry", "BILLING_RETRY", world.stopped(intent: 2, at: at), .billing),
            try one("price-increase", "PRICE_INCREASE", world.stopped(intent: 3, at: at), .priceIncreaseDeclined),
            try one("not-for-sale", "PRODUCT_NOT_FOR_SALE", world.stopped(intent: 4, at: at), .productUnavailable),
            try one("other", nil, world.stopped(intent: 5, at: at), .unknown),
            try one("without-subtype-customer", nil, world.stopped(intent: 1, at: at), .customer),
            try one("without-subtype-billing", nil, world.stopped(intent: 2, at: at), .billing),
            try one("without-subtype-price", nil, world.stopped(intent: 3, at: at), .priceIncreaseDeclined),
            try one("without-subtype-product", nil, world.stopped(intent: 4, at: at), .productUnavailable),
            try one("without-intent", nil, world.stopped(at: at), .unknown),
            try one("unknown-intent", nil, world.stopped(intent: 77, at: at), .unknown),
            try one(
                "unknown-subtype",
                "BY_DECREE",
                world.stopped(intent: 2, at: at),
                .billing,
                note: "an expiry takes access whatever its reason, so a new subtype is still an expiry"
            ),
            try one("without-renewal-info", "VOLUNTARY", nil, .customer),
        ]
    }

    // MARK: DID_CHANGE_RENEWAL_STATUS

    private static func intents(_ world: World) throws -> [AppleCase] {
        func one(
            _ id: String,
            subtype: String?,
            change: (inout JSONMembers) -> Void = { _ in },
            info: JSONMembers,
            status: Int64 = 1,
            note: String? = nil,
            _ event: LifecycleEvent
        ) throws -> AppleCase {
            try self.one(
                world,
                "renewal-status-\(id)",
                "DID_CHANGE_RENEWAL_STATUS",
                subtype: subtype,
                transaction: world.renewal(change),
                info: info,
                status: status,
                facts: usual,
                note: note,
                event
            )
        }
        let commitmentEnd = World.start + 365 * World.day
        return [
            try one(
                "disabled",
                subtype: "AUTO_RENEW_DISABLED",
                info: world.stopped(),
                note: "intent changes, access does not",
                .autoRenewDisabled(.init(reason: .customer, accessUntil: end))
            ),
            try one(
                "disabled-billing",
                subtype: "AUTO_RENEW_DISABLED",
                info: world.stopped(intent: 2),
                .autoRenewDisabled(.init(reason: .billing, accessUntil: end))
            ),
            try one(
                "disabled-price",
                subtype: "AUTO_RENEW_DISABLED",
                info: world.stopped(intent: 3),
                .autoRenewDisabled(.init(reason: .priceIncreaseDeclined, accessUntil: end))
            ),
            try one(
                "disabled-product",
                subtype: "AUTO_RENEW_DISABLED",
                info: world.stopped(intent: 4),
                .autoRenewDisabled(.init(reason: .store, accessUntil: end))
            ),
            try one(
                "disabled-in-grace",
                subtype: "AUTO_RENEW_DISABLED",
                info: world.stopped(intent: 2) {
                    $0["isInBillingRetryPeriod"] = true
                    $0["gracePeriodExpiresDate"] = .integer(World.graceEnd)
                },
                status: 4,
                .autoRenewDisabled(.init(reason: .billing, accessUntil: date(World.graceEnd)))
            ),
            try one(
                "disabled-commitment",
                subtype: "AUTO_RENEW_DISABLED",
                change: {
                    $0["billingPlanType"] = "MONTHLY"
                    $0["commitmentInfo"] = [
                        "billingPeriodNumber": 3, "totalBillingPeriods": 12,
                        "commitmentExpiresDate": .integer(commitmentEnd), "commitmentPrice": 119_880,
                    ]
                },
                info: world.renewalInfo {
                    $0["renewalBillingPlanType"] = "MONTHLY"
                    $0["commitmentInfo"] = [
                        "commitmentAutoRenewProductId": .string(World.product), "commitmentAutoRenewStatus": 0,
                        "commitmentRenewalBillingPlanType": "MONTHLY",
                        "commitmentRenewalDate": .integer(commitmentEnd), "commitmentRenewalPrice": 119_880,
                    ]
                },
                note: "monthly bills of a commitment go on to its end",
                .autoRenewDisabled(.init(reason: .commitment, accessUntil: date(commitmentEnd)))
            ),
            try one("enabled", subtype: "AUTO_RENEW_ENABLED", info: world.renewalInfo(), .autoRenewEnabled),
            try one("without-subtype", subtype: nil, info: world.renewalInfo(), unmapped("DID_CHANGE_RENEWAL_STATUS")),
            try one(
                "unknown-subtype",
                subtype: "AUTO_RENEW_DITHERED",
                info: world.renewalInfo(),
                unmapped("DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DITHERED")
            ),
        ]
    }

    // MARK: DID_CHANGE_RENEWAL_PREF

    private static let basic = "com.example.app.basic.monthly"

    private static var upgraded: LifecycleEvent {
        .productChanged(
            .init(
                to: World.product,
                direction: .upgrade,
                timing: .immediate,
                basis: .store,
                proration: .refund,
                period: period
            )
        )
    }

    private static func downgradeScheduled(_ date: Date) -> LifecycleEvent {
        .productChangeScheduled(
            .init(
                from: World.product,
                to: basic,
                direction: .downgrade,
                timing: .atPeriodEnd(date),
                basis: .store
            )
        )
    }

    private static func changes(_ world: World) throws -> [AppleCase] {
        let toBasic = world.renewalInfo {
            $0["autoRenewProductId"] = .string(basic)
            $0["renewalPrice"] = 4990
        }
        return [
            try one(
                world,
                "renewal-pref-upgrade",
                "DID_CHANGE_RENEWAL_PREF",
                subtype: "UPGRADE",
                transaction: world.renewal { $0["transactionReason"] = "PURCHASE" },
                info: world.renewalInfo(),
                status: 1,
                facts: usual,
                note: "carries the new transaction and its period",
                upgraded
            ),
            try one(
                world,
                "renewal-pref-downgrade",
                "DID_CHANGE_RENEWAL_PREF",
                subtype: "DOWNGRADE",
                transaction: world.renewal(),
                info: toBasic,
                status: 1,
                facts: usual,
                note: "carries the current transaction; only the next product is new",
                downgradeScheduled(end)
            ),
            try one(
                world,
                "renewal-pref-downgrade-without-date",
                "DID_CHANGE_RENEWAL_PREF",
                subtype: "DOWNGRADE",
                transaction: world.renewal(),
                info: toBasic.with { $0["renewalDate"] = nil },
                status: 1,
                downgradeScheduled(end)
            ),
            try one(
                world,
                "renewal-pref-downgrade-without-renewal-info",
                "DID_CHANGE_RENEWAL_PREF",
                subtype: "DOWNGRADE",
                transaction: world.renewal(),
                status: 1,
                unmapped("DID_CHANGE_RENEWAL_PREF", "DOWNGRADE")
            ),
            try one(
                world,
                "renewal-pref-reverted",
                "DID_CHANGE_RENEWAL_PREF",
                subtype: nil,
                transaction: world.renewal(),
                info: world.renewalInfo(),
                status: 1,
                note: "back to the current product",
                .productChangeReverted(
                    .init(to: World.product, direction: .unknown, timing: .atPeriodEnd(end), basis: .store)
                )
            ),
            try one(
                world,
                "renewal-pref-unknown-subtype",
                "DID_CHANGE_RENEWAL_PREF",
                subtype: "SIDEGRADE",
                transaction: world.renewal(),
                info: toBasic,
                status: 1,
                unmapped("DID_CHANGE_RENEWAL_PREF", "SIDEGRADE")
            ),
        ]
    }

    // MARK: OFFER_REDEEMED

    private static func offers(_ world: World) throws -> [AppleCase] {
        let code = Offer(kind: .code, id: "autumn", payment: .payAsYouGo, duration: "P1M")
        func next(_ info: inout JSONMembers) {
            info["offerType"] = 3
            info["offerIdentifier"] = "autumn"
            info["offerDiscountType"] = "PAY_AS_YOU_GO"
            info["offerPeriod"] = "P1M"
            info["renewalPrice"] = 2990
        }
        func one(
            _ id: String,
            subtype: String? = nil,
            _ transaction: JSONMembers,
            info: JSONMembers,
            note: String? = nil,
            _ event: LifecycleEvent
        ) throws -> AppleCase {
            try self.one(
                world,
                "offer-redeemed-\(id)",
                "OFFER_REDEEMED",
                subtype: subtype,
                transaction: transaction,
                info: info,
                status: 1,
                note: note,
                event
            )
        }
        return [
            try one(
                "next-period",
                world.renewal(),
                info: world.renewalInfo(next),
                .offerRedeemed(.init(offer: code))
            ),
            try one(
                "now",
                world.renewal(offer(3, "PAY_AS_YOU_GO", id: "autumn", price: 2990)),
                info: world.renewalInfo(),
                .offerRedeemed(.init(offer: code, period: period))
            ),
            try one(
                "now-and-next",
                world.renewal(offer(3, "PAY_AS_YOU_GO", id: "autumn", price: 2990)),
                info: world.renewalInfo(next),
                note: "the same offer goes on; the one that began now is meant",
                .offerRedeemed(.init(offer: code, period: period))
            ),
            try one("without-offer", world.renewal(), info: world.renewalInfo(), unmapped("OFFER_REDEEMED")),
            try one(
                "upgrade",
                subtype: "UPGRADE",
                world.renewal(offer(2, "PAY_AS_YOU_GO", id: "loyal", price: 3990)),
                info: world.renewalInfo(),
                upgraded
            ),
            try one(
                "downgrade",
                subtype: "DOWNGRADE",
                world.renewal(),
                info: world.renewalInfo {
                    next(&$0)
                    $0["autoRenewProductId"] = .string(basic)
                },
                downgradeScheduled(end)
            ),
            try one(
                "initial-buy",
                subtype: "INITIAL_BUY",
                world.transaction(offer(3, "PAY_AS_YOU_GO", id: "autumn", price: 2990)),
                info: world.renewalInfo(),
                note: "reported as SUBSCRIBED since",
                started(.new, .promotional, charged("2.99"))
            ),
            try one(
                "resubscribe",
                subtype: "RESUBSCRIBE",
                world.renewal(offer(4, "PAY_AS_YOU_GO", id: "come-back", price: 990)),
                info: world.renewalInfo(),
                started(.resubscribed, .promotional, charged("0.99"))
            ),
            try one(
                "unknown-subtype",
                subtype: "WINDFALL",
                world.renewal(),
                info: world.renewalInfo(next),
                unmapped("OFFER_REDEEMED", "WINDFALL")
            ),
        ]
    }

    // MARK: PRICE_INCREASE, PRICE_CHANGE

    private static func prices(_ world: World) throws -> [AppleCase] {
        func raised(_ status: Int64?) -> JSONMembers {
            world.renewalInfo {
                $0["renewalPrice"] = 12_990
                $0["priceIncreaseStatus"] = status.map(JSONText.integer)
            }
        }
        func items(_ statuses: [String]) -> JSONMembers {
            raised(nil).with {
                $0["advancedCommerceInfo"] = [
                    "consistencyToken": "token", "period": "P1M", "taxCode": "C003-00-1",
                    "requestReferenceId": "9a0f7d5b-2f39-4c89-9d55-0f6d13b8a8d7",
                    "descriptors": ["description": "All of it", "displayName": "Pro"],
                    "items": .array(
                        statuses.enumerated().map { index, status in
                            [
                                "SKU": .string("sku-\(index)"), "description": "A part", "displayName": "Part",
                                "price": 9990,
                                "priceIncreaseInfo": [
                                    "dependentSKUs": ["sku-9"], "price": 12_990, "status": .string(status),
                                ],
                            ]
                        }
                    ),
                ]
            }
        }
        func change(
            _ stage: LifecycleEvent.PriceChange.Stage,
            consent: Bool
        ) -> LifecycleEvent {
            .priceChange(
                .init(
                    stage: stage,
                    old: money("9.99"),
                    new: money("12.99"),
                    effectiveAt: end,
                    consentRequired: consent
                )
            )
        }
        func one(
            _ id: String,
            _ type: String,
            subtype: String? = nil,
            info: JSONMembers,
            _ event: LifecycleEvent
        ) throws -> AppleCase {
            try self.one(
                world,
                id,
                type,
                subtype: subtype,
                transaction: world.renewal(),
                info: info,
                status: 1,
                facts: usual,
                event
            )
        }
        return [
            try one(
                "price-increase-pending",
                "PRICE_INCREASE",
                subtype: "PENDING",
                info: raised(0),
                change(.pending, consent: true)
            ),
            try one(
                "price-increase-accepted",
                "PRICE_INCREASE",
                subtype: "ACCEPTED",
                info: raised(1),
                change(.accepted, consent: false)
            ),
            try one("price-increase-without-subtype", "PRICE_INCREASE", info: raised(0), unmapped("PRICE_INCREASE")),
            try one(
                "price-increase-unknown-subtype",
                "PRICE_INCREASE",
                subtype: "HAGGLED",
                info: raised(0),
                unmapped("PRICE_INCREASE", "HAGGLED")
            ),
            try one("price-change", "PRICE_CHANGE", info: raised(nil), change(.pending, consent: false)),
            try one(
                "price-change-scheduled",
                "PRICE_CHANGE",
                info: items(["SCHEDULED"]),
                change(.pending, consent: false)
            ),
            try one(
                "price-change-pending",
                "PRICE_CHANGE",
                info: items(["ACCEPTED", "PENDING"]),
                change(.pending, consent: true)
            ),
            try one(
                "price-change-accepted",
                "PRICE_CHANGE",
                info: items(["ACCEPTED", "ACCEPTED"]),
                change(.accepted, consent: false)
            ),
            try one(
                "price-change-new-status",
                "PRICE_CHANGE",
                info: items(["PONDERED"]),
                change(.pending, consent: false)
            ),
        ]
    }

    // MARK: ONE_TIME_CHARGE

    private static func oneTime(_ world: World) throws -> [AppleCase] {
        func one(
            _ id: String,
            _ transaction: JSONMembers,
            facts: [Fact.Kind] = [.purchase, .charge, .owner],
            _ purchase: LifecycleEvent.OneTimePurchase
        ) throws -> AppleCase {
            try self.one(
                world,
                "one-time-\(id)",
                "ONE_TIME_CHARGE",
                transaction: transaction,
                facts: facts,
                .oneTimePurchased(purchase)
            )
        }
        return [
            try one(
                "consumable",
                world.oneTime("Consumable", product: "com.example.app.coins") {
                    $0["quantity"] = 3
                    $0["price"] = 5970
                },
                .init(type: .consumable, quantity: 3, price: charged("5.97"))
            ),
            try one(
                "non-consumable",
                world.oneTime("Non-Consumable", product: "com.example.app.lifetime") { $0["price"] = 49_990 },
                .init(type: .nonConsumable, quantity: 1, price: charged("49.99"))
            ),
            try one(
                "non-consumable-family",
                world.oneTime("Non-Consumable", product: "com.example.app.lifetime") {
                    $0["price"] = 49_990
                    $0["inAppOwnershipType"] = "FAMILY_SHARED"
                },
                facts: [.purchase, .owner],
                .init(type: .nonConsumable, quantity: 1, price: list("49.99"), familyShared: true)
            ),
            try one(
                "non-renewing",
                world.oneTime("Non-Renewing Subscription", product: "com.example.app.season") { $0["price"] = 19_990 },
                .init(type: .nonRenewing, quantity: 1, price: charged("19.99"))
            ),
            try one(
                "unknown-product-type",
                world.oneTime("Heirloom", product: "com.example.app.heirloom"),
                .init(type: .unknown, quantity: 1, price: charged("9.99"))
            ),
            try one(
                "without-product-type",
                world.oneTime("", product: "com.example.app.coins") { $0["type"] = nil },
                .init(type: .unknown, quantity: 1, price: charged("9.99"))
            ),
            try one(
                "without-price-and-quantity",
                world.oneTime("Consumable", product: "com.example.app.coins") {
                    $0["price"] = nil
                    $0["currency"] = nil
                    $0["quantity"] = nil
                },
                facts: [.purchase, .owner],
                .init(type: .consumable, quantity: 1)
            ),
        ]
    }

    // MARK: REFUND, REFUND_DECLINED, REFUND_REVERSED, CONSUMPTION_REQUEST

    private static func refunds(_ world: World) throws -> [AppleCase] {
        let revoked = World.start + 5 * World.day
        let at = revoked + 60_000
        func refunded(
            reason: Int64? = 0,
            type: String? = "REFUND_FULL",
            percentage: Int64? = 100_000
        ) -> (inout JSONMembers) -> Void {
            {
                $0["revocationDate"] = .integer(revoked)
                $0["revocationReason"] = reason.map(JSONText.integer)
                $0["revocationType"] = type.map(JSONText.string)
                $0["revocationPercentage"] = percentage.map(JSONText.integer)
            }
        }
        func event(
            _ scope: LifecycleEvent.Refund.Scope = .full,
            _ reason: LifecycleEvent.Refund.Reason = .other,
            current: Bool?,
            transaction: String = World.renewal
        ) -> LifecycleEvent {
            .refunded(
                .init(transaction: transaction, scope: scope, reason: reason, affectsCurrentPeriod: current)
            )
        }
        func one(
            _ id: String,
            _ transaction: JSONMembers,
            info: JSONMembers? = nil,
            status: Int64? = nil,
            at date: Int64 = at,
            facts: [Fact.Kind]? = nil,
            note: String? = nil,
            _ event: LifecycleEvent
        ) throws -> AppleCase {
            try self.one(
                world,
                "refund-\(id)",
                "REFUND",
                transaction: transaction,
                info: info,
                status: status,
                at: date,
                facts: facts,
                note: note,
                event
            )
        }
        let off = world.stopped(at: at)
        let withRefund: [Fact.Kind] = [.period, .charge, .refund, .renewalIntent, .billing, .priceChange, .owner]
        let half = LifecycleEvent.Refund.Scope.fraction(ExactDecimal("0.5") ?? ExactDecimal(-1))
        let past = world.renewal(at: at) {
            $0["transactionId"] = "2000000900000005"
            $0["purchaseDate"] = .integer(World.start - 31 * World.day)
            $0["expiresDate"] = .integer(World.start)
            refunded()(&$0)
        }
        let coins = world.oneTime("Consumable", product: "com.example.app.coins", at: at)
        let reference = LifecycleEvent.TransactionReference(transaction: World.renewal)
        func request(_ id: String, _ transaction: JSONMembers, reason: String?, _ name: String) throws -> AppleCase {
            try self.one(
                world,
                "consumption-request-\(id)",
                "CONSUMPTION_REQUEST",
                transaction: transaction,
                at: at,
                data: { $0["consumptionRequestReason"] = reason.map(JSONText.string) },
                .refundRequested(
                    .init(transaction: name, reason: reason, answerBy: date(at + 12 * 3_600_000))
                )
            )
        }
        return [
            try one(
                "current",
                world.renewal(at: at, refunded()),
                info: off,
                status: 5,
                facts: withRefund,
                event(current: true)
            ),
            try one(
                "current-app-issue",
                world.renewal(at: at, refunded(reason: 1)),
                info: off,
                status: 5,
                event(.full, .appIssue, current: true)
            ),
            try one(
                "past-period",
                past,
                info: world.renewalInfo(at: at),
                status: 1,
                facts: withRefund,
                note:
                    "the subscription is active: the refund takes back money for a period that is over, and no access",
                event(current: false, transaction: "2000000900000005")
            ),
            try one(
                "past-period-in-grace",
                past,
                info: world.renewalInfo(at: at),
                status: 4,
                event(current: false, transaction: "2000000900000005")
            ),
            try one(
                "past-period-in-retry",
                past,
                info: world.renewalInfo(at: at) { $0["isInBillingRetryPeriod"] = true },
                status: 3,
                note: "the refunded period had ended by itself",
                event(current: false, transaction: "2000000900000005")
            ),
            try one(
                "past-period-expired",
                past,
                info: off,
                status: 2,
                event(current: false, transaction: "2000000900000005")
            ),
            try one(
                "without-status",
                world.renewal(at: at, refunded()),
                facts: [.period, .charge, .refund, .owner],
                note: "whether access rests on it is for the state to tell",
                event(current: nil)
            ),
            try one(
                "prorated",
                world.renewal(at: at, refunded(type: "REFUND_PRORATED", percentage: 50_000)),
                info: off,
                status: 5,
                event(half, current: true)
            ),
            try one(
                "prorated-thousandth",
                world.renewal(at: at, refunded(type: "REFUND_PRORATED", percentage: 1)),
                info: off,
                status: 5,
                event(.fraction(ExactDecimal("0.00001") ?? ExactDecimal(-1)), current: true)
            ),
            try one(
                "prorated-without-percentage",
                world.renewal(at: at, refunded(type: "REFUND_PRORATED", percentage: nil)),
                info: off,
                status: 5,
                event(current: true)
            ),
            try one(
                "older-payload",
                world.renewal(at: at, refunded(type: nil, percentage: nil)),
                info: off,
                status: 5,
                note: "before revocationType and revocationPercentage, all of it went back",
                event(current: true)
            ),
            try one(
                "unknown-reason-and-type",
                world.renewal(at: at, refunded(reason: 42, type: "REFUND_HALF", percentage: 50_000)),
                info: off,
                status: 5,
                event(half, .unknown, current: true)
            ),
            try one(
                "of-upgraded",
                world.renewal(at: at) {
                    $0["isUpgraded"] = true
                    refunded()(&$0)
                },
                info: world.renewalInfo(at: at),
                status: 1,
                facts: [.period, .charge, .periodEnded, .refund, .renewalIntent, .billing, .priceChange, .owner],
                note: "replaced by an upgrade before, and refunded now",
                event(current: false)
            ),
            try one(
                "consumable",
                coins.with(refunded()),
                facts: [.purchase, .charge, .refund, .owner],
                event(current: true, transaction: World.lineage)
            ),
            try one(
                "consumable-prorated",
                coins.with(refunded(type: "REFUND_PRORATED", percentage: 50_000)),
                event(half, current: true, transaction: World.lineage)
            ),
            try self.one(
                world,
                "refund-declined",
                "REFUND_DECLINED",
                transaction: world.renewal(at: at),
                info: world.renewalInfo(at: at),
                status: 1,
                at: at,
                .refundDeclined(reference)
            ),
            try self.one(
                world,
                "refund-declined-consumable",
                "REFUND_DECLINED",
                transaction: coins,
                at: at,
                .refundDeclined(.init(transaction: World.lineage))
            ),
            try self.one(
                world,
                "refund-reversed",
                "REFUND_REVERSED",
                transaction: world.renewal(at: at),
                info: world.renewalInfo(at: at),
                status: 1,
                at: at,
                facts: withRefund,
                note: "not a start: what was taken is due again",
                .refundReversed(reference)
            ),
            try self.one(
                world,
                "refund-reversed-consumable",
                "REFUND_REVERSED",
                transaction: coins,
                at: at,
                facts: [.purchase, .charge, .refund, .owner],
                .refundReversed(.init(transaction: World.lineage))
            ),
            try request("consumable", coins, reason: "UNINTENDED_PURCHASE", World.lineage),
            try request("subscription", world.renewal(at: at), reason: "LEGAL", World.renewal),
            try request("unknown-reason", coins, reason: "REGRET", World.lineage),
            try request("without-reason", coins, reason: nil, World.lineage),
        ]
    }

    // MARK: REVOKE

    private static func sharing(_ world: World) throws -> [AppleCase] {
        let at = World.start + 5 * World.day
        func member(_ transaction: JSONMembers) -> JSONMembers {
            transaction.with {
                $0["inAppOwnershipType"] = "FAMILY_SHARED"
                $0["revocationDate"] = .integer(at - 1000)
                $0["revocationReason"] = 0
                $0["revocationType"] = "FAMILY_REVOKE"
            }
        }
        let revoked = LifecycleEvent.revoked(.init(reason: .familySharingEnded))
        return [
            try one(
                world,
                "revoke-subscription",
                "REVOKE",
                transaction: member(world.renewal(at: at)),
                info: world.stopped(at: at),
                status: 5,
                at: at,
                facts: [.period, .periodEnded, .renewalIntent, .billing, .priceChange, .owner],
                note: "the purchaser paid; nothing is refunded to the member",
                revoked
            ),
            try one(
                world,
                "revoke-subscription-older",
                "REVOKE",
                transaction: member(world.renewal(at: at)).with { $0["revocationType"] = nil },
                status: 5,
                at: at,
                revoked
            ),
            try one(
                world,
                "revoke-without-date",
                "REVOKE",
                transaction: world.renewal(at: at) { $0["inAppOwnershipType"] = "FAMILY_SHARED" },
                status: 5,
                at: at,
                facts: [.period, .periodEnded, .owner],
                revoked
            ),
            try one(
                world,
                "revoke-non-consumable",
                "REVOKE",
                transaction: member(world.oneTime("Non-Consumable", product: "com.example.app.lifetime", at: at)),
                at: at,
                facts: [.purchase, .periodEnded, .owner],
                revoked
            ),
        ]
    }

    // MARK: RENEWAL_EXTENDED, RENEWAL_EXTENSION

    private static func extensions(_ world: World) throws -> [AppleCase] {
        func summary(_ id: String, _ subtype: String?, codes: [String]) throws -> AppleCase {
            let content = world.app {
                $0["bundleVersion"] = nil
                $0["productId"] = .string(World.product)
                $0["requestIdentifier"] = "c1a3a3a6-7a88-4e7b-8f54-8f0f0e5b7d10"
                if !codes.isEmpty { $0["storefrontCountryCodes"] = .array(codes.map(JSONText.string)) }
                $0["succeededCount"] = 1204
                $0["failedCount"] = 3
            }
            var facts = [
                "request_identifier": "c1a3a3a6-7a88-4e7b-8f54-8f0f0e5b7d10",
                "succeeded_count": "1204", "failed_count": "3",
            ]
            if !codes.isEmpty { facts["storefront_country_codes"] = codes.joined(separator: ",") }
            return try world.accepted(
                "mapping/renewal-extension-\(id)",
                world.notification("RENEWAL_EXTENSION", subtype, carrier: "summary", content),
                [.notice(.init(.extensionSummary, facts: facts))],
                facts: [],
                tags: ["mapping", "RENEWAL_EXTENSION"]
            )
        }
        return [
            try one(
                world,
                "renewal-extended",
                "RENEWAL_EXTENDED",
                transaction: world.renewal { $0["expiresDate"] = .integer(World.end + 14 * World.day) },
                info: world.renewalInfo { $0["renewalDate"] = .integer(World.end + 14 * World.day) },
                status: 1,
                facts: usual,
                .extended(.init(to: date(World.end + 14 * World.day), reason: .developer))
            ),
            try summary("summary", "SUMMARY", codes: ["USA", "DEU"]),
            try summary("summary-everywhere", "SUMMARY", codes: []),
            try summary("success", "SUCCESS", codes: ["FRA"]),
            try one(
                world,
                "renewal-extension-failure",
                "RENEWAL_EXTENSION",
                subtype: "FAILURE",
                transaction: world.renewal(),
                info: world.renewalInfo(),
                status: 1,
                facts: usual,
                .notice(.init(.extensionFailed))
            ),
            try one(
                world,
                "renewal-extension-unknown-subtype",
                "RENEWAL_EXTENSION",
                subtype: "DEFERRED",
                transaction: world.renewal(),
                info: world.renewalInfo(),
                status: 1,
                unmapped("RENEWAL_EXTENSION", "DEFERRED")
            ),
        ]
    }

    // MARK: The rest

    private static func others(_ world: World) throws -> [AppleCase] {
        let previous = "1000000900000001"
        func migrated(_ type: String, _ id: String, previous: String?) throws -> AppleCase {
            try one(
                world,
                id,
                type,
                transaction: world.renewal { $0["previousOriginalTransactionId"] = previous.map(JSONText.string) },
                info: world.renewalInfo(),
                status: 1,
                facts: previous == nil ? usual : usual + [.link],
                .notice(.init(.migration, facts: previous.map { ["previous_original_transaction_id": $0] } ?? [:]))
            )
        }
        func token(
            _ id: String,
            _ subtype: String?,
            sandbox: Bool = false,
            lasting: Bool
        ) throws -> AppleCase {
            let name = (sandbox ? "SANDBOX_" : "") + "b2158121-7af9-49d4-9561-1f588205523e"
            let content = world.app {
                $0["bundleVersion"] = nil
                $0["environment"] = nil
                if sandbox { $0["appAppleId"] = nil }
                $0["externalPurchaseId"] = .string(name)
                $0["tokenCreationDate"] = .integer(World.start)
                if lasting {
                    $0["tokenType"] = "ACQUISITION"
                    $0["tokenExpirationDate"] = .integer(World.end)
                }
            }
            var facts = ["external_purchase_id": name, "created_at": "2026-01-01T00:00:00.000Z"]
            facts["stage"] = subtype?.lowercased()
            if lasting {
                facts["token_type"] = "ACQUISITION"
                facts["expires_at"] = "2026-02-01T00:00:00.000Z"
            }
            return try world.accepted(
                "mapping/external-purchase-token-\(id)",
                world.notification("EXTERNAL_PURCHASE_TOKEN", subtype, carrier: "externalPurchaseToken", content),
                [.notice(.init(.externalPurchaseToken, facts: facts))],
                facts: [],
                config: sandbox ? world.sandboxConfig : nil,
                tags: ["mapping", "EXTERNAL_PURCHASE_TOKEN"]
            )
        }
        func rescinded(_ id: String, _ appTransaction: JSONText?) throws -> AppleCase {
            try world.accepted(
                "mapping/rescind-consent\(id)",
                world.notification(
                    "RESCIND_CONSENT",
                    carrier: "appData",
                    world.app {
                        $0["bundleVersion"] = nil
                        $0["signedAppTransactionInfo"] = appTransaction
                    }
                ),
                [.revoked(.init(reason: .consentRescinded))],
                facts: [],
                tags: ["mapping", "RESCIND_CONSENT"]
            )
        }
        return [
            try one(
                world,
                "metadata-update",
                "METADATA_UPDATE",
                transaction: world.renewal(),
                info: world.renewalInfo(),
                status: 1,
                facts: usual,
                .notice(.init(.metadata))
            ),
            try migrated("MIGRATION", "migration", previous: previous),
            try migrated("MIGRATE", "migrate", previous: previous),
            try migrated("MIGRATION", "migration-without-previous", previous: nil),
            try token("unreported", "UNREPORTED", lasting: false),
            try token("created", "CREATED", lasting: true),
            try token("active-token-reminder", "ACTIVE_TOKEN_REMINDER", lasting: true),
            try token("sandbox", "UNREPORTED", sandbox: true, lasting: false),
            try token("unknown-subtype", "MISLAID", lasting: true),
            try token("without-subtype", nil, lasting: false),
            try rescinded("", try world.signedText(world.appTransaction())),
            try rescinded("-without-app-transaction", nil),
            try world.accepted(
                "mapping/test",
                world.test(),
                [World.testEvent],
                facts: [],
                tags: ["mapping", "TEST"]
            ),
            try world.accepted(
                "mapping/test-sandbox",
                world.notification(
                    "TEST",
                    world.app {
                        $0["environment"] = "Sandbox"
                        $0["appAppleId"] = nil
                    }
                ),
                [World.testEvent],
                facts: [],
                config: world.sandboxConfig,
                tags: ["mapping", "TEST"]
            ),
            try one(
                world,
                "unknown-type",
                "TELEPORTED",
                subtype: "SIDEWAYS",
                transaction: world.renewal(),
                info: world.renewalInfo(),
                status: 1,
                facts: usual,
                note: "unknown to this version, and nothing of it is lost",
                unmapped("TELEPORTED", "SIDEWAYS")
            ),
            try one(
                world,
                "unknown-type-without-transaction",
                "TELEPORTED",
                subtype: nil,
                facts: [],
                unmapped("TELEPORTED")
            ),
        ]
    }
}
