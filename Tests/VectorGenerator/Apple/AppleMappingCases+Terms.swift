import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator

extension AppleMappingCases {
    // MARK: PRICE_INCREASE, PRICE_CHANGE

    static func prices(_ world: World) throws -> [AppleCase] {
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
            try one(
                "price-increase-without-subtype",
                "PRICE_INCREASE",
                info: raised(0),
                change(.pending, consent: true)
            ),
            try one(
                "price-increase-unknown-subtype",
                "PRICE_INCREASE",
                subtype: "HAGGLED",
                info: raised(0),
                change(.pending, consent: true)
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

    // MARK: RENEWAL_EXTENDED, RENEWAL_EXTENSION

    static func extensions(_ world: World) throws -> [AppleCase] {
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
                renewed(.scheduled),
                unmapped("RENEWAL_EXTENSION", "DEFERRED")
            ),
        ]
    }
}
