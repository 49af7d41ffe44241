import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator

extension AppleMappingCases {
    // MARK: ONE_TIME_CHARGE

    static func oneTime(_ world: World) throws -> [AppleCase] {
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

    static func refunds(_ world: World) throws -> [AppleCase] {
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
        /// Two items of an Advanced Commerce purchase, with what went back of each.
        func items(_ amounts: [Int64?], type: String = "PRORATED") -> JSONText {
            let prices: [Int64] = [5990, 4000]
            let items = zip(prices, amounts).enumerated().map { number, item -> JSONText in
                var members: [(String, JSONText)] = [
                    ("SKU", .string("sku-\(number)")), ("price", .integer(item.0)),
                ]
                if let amount = item.1 {
                    let refund: JSONText = [
                        "refundAmount": .integer(amount), "refundDate": .integer(revoked), "refundReason": "OTHER",
                        "refundType": .string(type),
                    ]
                    members.append(("refunds", [refund]))
                }
                return .object(JSONMembers(members))
            }
            return ["requestReferenceId": "r-1", "items": .array(items)]
        }
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
                "of-items-in-part",
                world.renewal(at: at) {
                    $0["revocationDate"] = .integer(revoked)
                    $0["advancedCommerceInfo"] = items([1000, nil])
                },
                info: off,
                status: 5,
                note: "Advanced Commerce: neither type nor percentage; the items say what went back",
                event(.fraction(ExactDecimal("0.1001") ?? ExactDecimal(-1)), .unknown, current: true)
            ),
            try one(
                "of-all-items",
                world.renewal(at: at) {
                    $0["revocationDate"] = .integer(revoked)
                    $0["advancedCommerceInfo"] = items([5990, 4000], type: "FULL")
                },
                info: off,
                status: 5,
                event(.full, .unknown, current: true)
            ),
            try one(
                "of-items-kept",
                world.renewal(at: at) { $0["advancedCommerceInfo"] = items([nil, 2000]) },
                info: world.renewalInfo(at: at),
                status: 1,
                facts: [.period] + withRefund,
                note: "money went back, and nothing was taken away; the second item runs beside the first",
                event(.fraction(ExactDecimal("0.2002") ?? ExactDecimal(-1)), .unknown, current: false)
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

    static func sharing(_ world: World) throws -> [AppleCase] {
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
}
