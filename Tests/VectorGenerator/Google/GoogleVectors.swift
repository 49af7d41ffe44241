import FoundationEssentials
import Normalizer

/// Notifications and purchases of Google Play as Google writes them, for tests and for the matrix.
package enum GoogleVectors {
    package static let packageName = "com.example.lingua"
    /// 2026-03-01T12:00:00Z
    package static let noon: Int64 = 1_772_366_400_000
    package static let second: Int64 = 1000
    package static let hour: Int64 = 3_600_000
    package static let day: Int64 = 86_400_000
    /// The time of the events that the notifications report.
    package static let event = noon - 90 * second
}

// MARK: JSON

extension GoogleVectors {
    /// Writes JSON: names in order, absent members left out.
    package enum JSON {
        package static func string(_ text: String) -> String {
            let bytes = (try? CanonicalJSON.bytes(text)) ?? []
            return String(decoding: bytes, as: UTF8.self)
        }

        package static func object(_ members: [String: String?]) -> String {
            let texts = members.compactMap { name, value in value.map { (name, $0) } }.sorted { $0.0 < $1.0 }
            return "{\(texts.map { "\(string($0.0)):\($0.1)" }.joined(separator: ","))}"
        }

        package static func array(_ elements: [String]) -> String { "[\(elements.joined(separator: ","))]" }

        package static func time(_ milliseconds: Int64) -> String { string(RFC3339.string(milliseconds)) }
    }
}

// MARK: Notifications

extension GoogleVectors {
    package static let token = "kpbgnfjmlaidhoecbeaghdfc.AO-J1OyT5mU2s9wq7Fh4Xc0Zb3Nv6Kd8Re1Lp5Ta2Wy7Qi9Uo4"
    package static let oldToken = "abcfhdnmkpjglioebaeghcdf.AO-J1Ox0lD7tR3pY5kN9aS2vB6mC8eF4hJ1qW3zX5uG7iK9"
    package static let olderToken = "mnoadfhkbcejgilpbeaghcfd.AO-J1Oe9V2nK4rT6yU8iO0pA1sD3fG5hJ7kL9zX2cV4bN6m"

    package static func notification(
        _ body: String,
        _ members: [String: String?],
        at time: Int64 = event,
        package name: String = packageName
    ) -> String {
        JSON.object([
            "version": "\"1.0\"",
            "packageName": JSON.string(name),
            "eventTimeMillis": JSON.string(String(time)),
            body: JSON.object(members),
        ])
    }

    package static func hint(_ number: Int, token: String = token, at time: Int64 = event) -> String {
        notification(
            "subscriptionNotification",
            [
                "version": "\"1.0\"", "notificationType": String(number), "purchaseToken": JSON.string(token),
                "subscriptionId": "\"premium\"",
            ],
            at: time
        )
    }

    package static func oneTimeHint(_ number: Int, token: String = token) -> String {
        notification(
            "oneTimeProductNotification",
            [
                "version": "\"1.0\"", "notificationType": String(number), "purchaseToken": JSON.string(token),
                "sku": "\"coins_100\"",
            ]
        )
    }

    package static func voidedHint(
        _ product: Int,
        _ refund: Int?,
        order: String,
        token: String = token,
        at time: Int64 = event
    ) -> String {
        notification(
            "voidedPurchaseNotification",
            [
                "purchaseToken": JSON.string(token), "orderId": JSON.string(order), "productType": String(product),
                "refundType": refund.map(String.init),
            ],
            at: time
        )
    }
}

// MARK: Resources

extension GoogleVectors {
    /// The order that a token begins with; `..n` behind it names a renewal.
    package static let order = "GPA.3312-4415-6677-88990"

    package static func money(_ units: Int64, nanos: Int64 = 0, currency: String = "EUR") -> String {
        JSON.object([
            "currencyCode": JSON.string(currency), "units": units == 0 ? nil : JSON.string(String(units)),
            "nanos": nanos == 0 ? nil : String(nanos),
        ])
    }

    /// A purchase: what differs is given, the rest is that of a subscriber in the middle of a month.
    package struct Purchase {
        package var state = "ACTIVE"
        package var start: Int64? = event - 60 * day
        package var acknowledgement: String? = "ACKNOWLEDGED"
        package var items: [Item] = [Item()]
        package var linked: String?
        package var isTest = false
        package var account: String? = JSON.object(["obfuscatedExternalAccountId": "\"acct-7f3a\""])
        package var extra: [String: String] = [:]

        package var json: String {
            var members: [String: String?] = [
                "kind": "\"androidpublisher#subscriptionPurchaseV2\"",
                "regionCode": "\"DE\"",
                "subscriptionState": JSON.string("SUBSCRIPTION_STATE_\(state)"),
                "startTime": start.map(JSON.time),
                "acknowledgementState": acknowledgement.map { JSON.string("ACKNOWLEDGEMENT_STATE_\($0)") },
                "linkedPurchaseToken": linked.map(JSON.string),
                "lineItems": JSON.array(items.map(\.json)),
                "externalAccountIdentifiers": account,
                "testPurchase": isTest ? "{}" : nil,
                "etag": "\"aGVsbG8\"",
            ]
            for (name, value) in extra { members[name] = value }
            return JSON.object(members)
        }

        package func with(_ change: (inout Purchase) -> Void) -> Purchase {
            var purchase = self
            change(&purchase)
            return purchase
        }
    }

    package struct Item {
        package var product = "premium"
        package var expiry: Int64? = event + 30 * day
        package var order: String? = "\(GoogleVectors.order)..1"
        package var basePlan: String? = "monthly"
        package var offer: String?
        package var phase: String? = "basePrice"
        package var isRenewing = true
        package var isPrepaid = false
        package var price: String? = money(9, nanos: 990_000_000)
        /// Members of the plan.
        package var plan: [String: String] = [:]
        package var extra: [String: String] = [:]

        package var json: String {
            var renewing: [String: String?] = [
                "autoRenewEnabled": isRenewing ? "true" : nil, "recurringPrice": price,
            ]
            for (name, value) in plan { renewing[name] = value }
            var members: [String: String?] = [
                "productId": JSON.string(product),
                "expiryTime": expiry.map(JSON.time),
                "latestSuccessfulOrderId": order.map(JSON.string),
                "autoRenewingPlan": isPrepaid ? nil : JSON.object(renewing),
                "prepaidPlan": isPrepaid ? "{}" : nil,
                "offerDetails": JSON.object([
                    "basePlanId": basePlan.map(JSON.string), "offerId": offer.map(JSON.string),
                ]),
                "offerPhase": phase.map { JSON.object([$0: "{}"]) },
            ]
            for (name, value) in extra { members[name] = value }
            return JSON.object(members)
        }

        package func with(_ change: (inout Item) -> Void) -> Item {
            var item = self
            change(&item)
            return item
        }
    }

    /// A purchase in one of Google's states, as it is then.
    package static func purchase(_ state: String, _ item: Item = Item()) -> Purchase {
        var purchase = Purchase(state: state, items: [item])
        switch state {
        case "CANCELED":
            purchase.items = [
                item.with {
                    $0.isRenewing = false; $0.expiry = event + 20 * day
                }
            ]
            purchase.extra["canceledStateContext"] = canceledByUser
        case "IN_GRACE_PERIOD":
            purchase.items = [item.with { $0.expiry = event + 3 * day }]
            purchase.extra["inGracePeriodStateContext"] = declined(2)
        case "ON_HOLD":
            purchase.items = [item.with { $0.expiry = event - day }]
            purchase.extra["onHoldStateContext"] = declined(2)
        case "PAUSED":
            purchase.items = [item.with { $0.expiry = event - 5 * second }]
            purchase.extra["pausedStateContext"] = JSON.object(["autoResumeTime": JSON.time(event + 30 * day)])
        case "EXPIRED":
            purchase.items = [
                item.with {
                    $0.isRenewing = false; $0.expiry = event - 5 * second
                }
            ]
            purchase.extra["canceledStateContext"] = canceledByUser
        case "PENDING", "PENDING_PURCHASE_CANCELED":
            purchase.start = nil
            purchase.acknowledgement = "PENDING"
            purchase.items = [
                item.with {
                    $0.expiry = nil; $0.order = nil; $0.phase = nil
                }
            ]
        default: break
        }
        return purchase
    }

    package static let canceledByUser = JSON.object([
        "userInitiatedCancellation": JSON.object([
            "cancelTime": JSON.time(event - second),
            "cancelSurveyResult": JSON.object(["reason": "\"CANCEL_SURVEY_REASON_COST_RELATED\""]),
        ])
    ])

    package static func canceled(_ by: String) -> String { JSON.object(["\(by)Cancellation": "{}"]) }

    package static func declined(_ renewal: Int) -> String {
        JSON.object(["renewalDeclined": JSON.object(["pendingOrderId": JSON.string("\(order)..\(renewal)")])])
    }
}

// MARK: One-time products

extension GoogleVectors {
    package static let productOrder = "GPA.3377-2001-4002-80031"

    /// A purchase of one product, paid and acknowledged.
    package struct Product {
        package var state = "PURCHASED"
        package var order: String?
        package var completion: Int64?
        package var acknowledgement: String?
        package var isTest = false
        package var product = "coins_100"
        package var details: [String: String]
        package var otherItems: [String]

        package init(
            state: String = "PURCHASED",
            order: String? = productOrder,
            completion: Int64? = event - 2 * second,
            acknowledgement: String? = "ACKNOWLEDGED",
            isTest: Bool = false,
            details: [String: String] = [:],
            otherItems: [String] = []
        ) {
            self.state = state
            self.order = order
            self.completion = completion
            self.acknowledgement = acknowledgement
            self.isTest = isTest
            self.details = details
            self.otherItems = otherItems
        }

        package var json: String {
            JSON.object([
                "kind": "\"androidpublisher#productPurchaseV2\"",
                "orderId": order.map(JSON.string),
                "regionCode": "\"DE\"",
                "purchaseCompletionTime": completion.map(JSON.time),
                "purchaseStateContext": JSON.object(["purchaseState": JSON.string(state)]),
                "acknowledgementState": acknowledgement.map { JSON.string("ACKNOWLEDGEMENT_STATE_\($0)") },
                "obfuscatedExternalAccountId": "\"acct-7f3a\"",
                "testPurchaseContext": isTest ? #"{"fopType":"TEST"}"# : nil,
                "productLineItem": JSON.array(
                    [
                        JSON.object([
                            "productId": JSON.string(product), "productOfferDetails": JSON.object(details),
                        ])
                    ] + otherItems
                ),
            ])
        }
    }
}
