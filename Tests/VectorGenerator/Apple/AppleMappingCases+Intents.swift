import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator

extension AppleMappingCases {
    // MARK: DID_CHANGE_RENEWAL_STATUS

    static func intents(_ world: World) throws -> [AppleCase] {
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
            try one("without-subtype", subtype: nil, info: world.renewalInfo(), .autoRenewEnabled),
            try one(
                "unknown-subtype",
                subtype: "AUTO_RENEW_DITHERED",
                info: world.renewalInfo(),
                .autoRenewEnabled
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

    private static func changeScheduled(
        _ date: Date,
        direction: LifecycleEvent.ProductChange.Direction = .downgrade
    ) -> LifecycleEvent {
        .productChangeScheduled(
            .init(
                from: World.product,
                to: basic,
                direction: direction,
                timing: .atPeriodEnd(date),
                basis: .store
            )
        )
    }

    static func changes(_ world: World) throws -> [AppleCase] {
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
                facts: usual + [.transfer],
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
                changeScheduled(end)
            ),
            try one(
                world,
                "renewal-pref-downgrade-without-date",
                "DID_CHANGE_RENEWAL_PREF",
                subtype: "DOWNGRADE",
                transaction: world.renewal(),
                info: toBasic.with { $0["renewalDate"] = nil },
                status: 1,
                changeScheduled(end)
            ),
            try one(
                world,
                "renewal-pref-downgrade-without-renewal-info",
                "DID_CHANGE_RENEWAL_PREF",
                subtype: "DOWNGRADE",
                transaction: world.renewal(),
                status: 1,
                renewed(.scheduled),
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
                changeScheduled(end, direction: .unknown)
            ),
        ]
    }

    // MARK: OFFER_REDEEMED

    static func offers(_ world: World) throws -> [AppleCase] {
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
            _ events: LifecycleEvent...
        ) throws -> AppleCase {
            try world.accepted(
                "mapping/offer-redeemed-\(id)",
                world.notification(
                    "OFFER_REDEEMED",
                    subtype,
                    try world.purchase(transaction, info, status: 1) { _ in },
                    at: World.signed
                ),
                events,
                config: world.config { $0["now"] = .integer(World.signed + 1000) },
                tags: ["mapping", "OFFER_REDEEMED"],
                note: note
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
            try one(
                "without-offer",
                world.renewal(),
                info: world.renewalInfo(),
                renewed(.scheduled),
                unmapped("OFFER_REDEEMED")
            ),
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
                changeScheduled(end)
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
                .offerRedeemed(.init(offer: code))
            ),
        ]
    }
}
