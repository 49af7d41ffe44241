import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator

extension AppleMappingCases {
    // MARK: SUBSCRIBED

    static func subscribed(_ world: World) throws -> [AppleCase] {
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
            try one("without-subtype", subtype: nil, started(.new)),
            try one("unknown-subtype", subtype: "GIFTED", started(.new)),
        ]
    }

    // MARK: DID_RENEW

    static func renewed(_ world: World) throws -> [AppleCase] {
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
            try one("unknown-subtype", subtype: "BY_MAGIC", renewed(.unknown)),
        ]
    }

    // MARK: DID_FAIL_TO_RENEW, GRACE_PERIOD_EXPIRED

    static func failed(_ world: World) throws -> [AppleCase] {
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
                note: "that grace runs is stated twice, and its end not at all: 28 days are the most that Apple gives",
                .billingIssue(.init(access: .grace(until: end.addingTimeInterval(28 * 86_400)), retryUntil: retryEnd))
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
                .billingIssue(.init(access: .suspended, retryUntil: retryEnd))
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

    static func expired(_ world: World) throws -> [AppleCase] {
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
}
