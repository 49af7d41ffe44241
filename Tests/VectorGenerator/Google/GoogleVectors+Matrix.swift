import NotificationSimulator
import WireJSON

// Every number with every state that the purchase may be in by the time that we ask.
extension GoogleVectors {
    private static let states = [
        "ACTIVE", "CANCELED", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "EXPIRED", "PENDING",
        "PENDING_PURCHASE_CANCELED", "UNSPECIFIED",
    ]

    /// The outcome of each number in the first six states; in the others no number matters.
    private static let table: [(number: Int, cells: [String])] = [
        (1, ["recovered", "recovered off", "grace", "hold", "paused", "expired"]),
        (2, ["renewed", "renewed off", "grace", "hold", "paused", "renewed? expired"]),
        (3, ["-", "off", "grace", "hold", "paused", "expired"]),
        (
            4,
            [
                "started ack", "started off ack", "started grace ack", "started hold", "started paused",
                "started expired",
            ]
        ),
        (5, ["recovered:hold", "off", "grace", "hold", "paused", "expired"]),
        (6, ["recovered:grace", "off", "grace", "hold", "paused", "expired"]),
        (7, ["on", "off", "grace", "hold", "paused", "expired"]),
        (8, ["price", "off", "grace", "hold", "paused", "expired"]),
        (9, ["extended", "extended off", "grace", "hold", "paused", "expired"]),
        (10, ["resumed", "off", "grace", "hold", "paused", "expired"]),
        (11, ["pause planned", "off", "grace", "hold", "paused", "expired"]),
        (12, ["-", "off", "grace", "hold", "paused", "revoked"]),
        (13, ["-", "off", "grace", "hold", "paused", "expired"]),
        (14, ["unmapped", "unmapped off", "unmapped grace", "unmapped hold", "unmapped paused", "unmapped expired"]),
        (15, ["unmapped", "unmapped off", "unmapped grace", "unmapped hold", "unmapped paused", "unmapped expired"]),
        (16, ["unmapped", "unmapped off", "unmapped grace", "unmapped hold", "unmapped paused", "unmapped expired"]),
        (17, ["items", "items off", "grace", "hold", "paused", "expired"]),
        (18, ["commitment", "off", "grace", "hold", "paused", "expired"]),
        (19, ["price", "off", "grace", "hold", "paused", "expired"]),
        (20, ["-", "off", "grace", "hold", "paused", "expired"]),
        (21, ["unmapped", "unmapped off", "unmapped grace", "unmapped hold", "unmapped paused", "unmapped expired"]),
        (22, ["consent", "off", "grace", "hold", "paused", "expired"]),
        (23, ["unmapped", "unmapped off", "unmapped grace", "unmapped hold", "unmapped paused", "unmapped expired"]),
    ]

    /// The matrix as a file of `Tests/Vectors/`.
    static var matrix: JSONMembers {
        var cases: [JSONText] = []
        for (number, cells) in table {
            for (index, state) in states.enumerated() {
                let isKnown = cells[0] != "unmapped"
                let cell: String
                switch state {
                case "PENDING": cell = isKnown ? "pending" : "unmapped pending"
                case "PENDING_PURCHASE_CANCELED": cell = isKnown ? "unpaid" : "unmapped unpaid"
                case "UNSPECIFIED": cell = "state"
                default: cell = cells[index]
                }
                cases.append([
                    "id": .string("matrix/\(number)-\(state)"),
                    "why": .string("number \(number), and the purchase is \(state) when asked for"),
                    "body": .raw(hint(number)),
                    "answers": [["url": .string(url), "body": .raw(matrixPurchase(number, state).json)]],
                    "expect": expectation(cell, type: number, in: state),
                ])
            }
        }
        return JSONMembers([
            ("provider", "google"), ("now", .integer(noon)), ("sorted", true),
            (
                "config",
                [
                    "audience": "https://hooks.example.com/google?source=play", "jwks": "{jwks}",
                    "packageName": .string(packageName),
                    "serviceAccountEmail": "rtdn-push@example.iam.gserviceaccount.com",
                    "subscription": "projects/example/subscriptions/play-rtdn",
                ]
            ), ("answer_headers", ["Content-Type": "application/json; charset=UTF-8"]), ("cases", .array(cases)),
        ])
    }

    private static let url =
        "https://androidpublisher.googleapis.com/androidpublisher/v3/applications/\(packageName)"
        + "/purchases/subscriptionsv2/tokens/\(token)"

    /// The purchase as it is after such a notification.
    private static func matrixPurchase(_ number: Int, _ state: String) -> Purchase {
        var item = Item()
        switch number {
        case 4: item.order = order
        case 8, 19:
            item.plan["priceChangeDetails"] = JSON.object([
                "newPrice": money(11, nanos: 990_000_000), "priceChangeMode": "\"PRICE_INCREASE\"",
                "priceChangeState": "\"CONFIRMED\"", "expectedNewPriceChargeTime": JSON.time(event + 30 * day),
            ])
        case 18:
            item.plan["installmentDetails"] = JSON.object([
                "initialCommittedPaymentsCount": "12", "remainingCommittedPaymentsCount": "7",
                "pendingCancellation": "{}",
            ])
        case 22:
            item.plan["priceStepUpConsentDetails"] = JSON.object([
                "state": "\"PENDING\"", "consentDeadlineTime": JSON.time(event + 25 * day),
                "newPrice": money(9900, nanos: 0, currency: "KRW"),
            ])
        default: break
        }
        var purchase = purchase(state, item)
        if number == 4 {
            if purchase.start != nil { purchase.start = event - second }
            purchase.acknowledgement = "PENDING"
        }
        return purchase
    }

    private static func expectation(_ cell: String, type number: Int, in state: String) -> JSONText {
        if cell == "-" { return ["nothing": "stale"] }
        return ["events": .array(words(cell).map { expected($0, type: number, in: state) })]
    }

    private static func outcome(_ kind: String, _ detail: String? = nil) -> JSONText {
        detail.map { ["kind": .string(kind), "detail": .raw($0)] } ?? ["kind": .string(kind)]
    }

    private static func words(_ cell: String) -> [String] {
        cell == "pause planned" ? [cell] : cell.split(separator: " ").map(String.init)
    }

    private static func expected(_ word: String, type number: Int, in state: String) -> JSONText {
        switch word {
        case "renewed": outcome("renewed", #"{"cause":"scheduled","phase":"regular"}"#)
        // Paid for another period, and ended before we asked: its cause is unknown by then.
        case "renewed?": outcome("renewed", #"{"cause":"unknown","phase":"regular"}"#)
        case "recovered": outcome("renewed", #"{"cause":"recovery","phase":"regular"}"#)
        case "recovered:hold": outcome("renewed", #"{"cause":"recovery_from_hold"}"#)
        case "recovered:grace": outcome("renewed", #"{"cause":"recovery_from_grace"}"#)
        case "resumed": outcome("renewed", #"{"cause":"resumption"}"#)
        case "started":
            outcome(
                "started",
                #"{"origin":"new","phase":"regular","price":{"amount":"9.99","currency":"EUR","role":"list"}}"#
            )
        case "ack":
            outcome(
                "acknowledgement_required",
                JSON.object(["deadline": JSON.time(event - second + 3 * day)])
            )
        case "off":
            outcome(
                "auto_renew_disabled",
                JSON.object(["reason": "\"customer\"", "access_until": JSON.time(event + 20 * day)])
            )
        case "commitment": outcome("auto_renew_disabled", #"{"reason":"commitment"}"#)
        case "on": outcome("auto_renew_enabled")
        case "grace":
            outcome(
                "billing_issue",
                JSON.object(["access": "\"grace\"", "grace_until": JSON.time(event + 3 * day)])
            )
        case "hold": outcome("billing_issue", #"{"access":"suspended"}"#)
        case "paused": outcome("paused", JSON.object(["resumes_at": JSON.time(event + 30 * day)]))
        case "pause planned": outcome("pause_scheduled", "{}")
        case "expired": outcome("expired", #"{"reason":"customer"}"#)
        case "revoked": outcome("revoked", #"{"reason":"unknown"}"#)
        case "extended":
            outcome(
                "extended",
                JSON.object([
                    "reason": "\"deferral\"",
                    "to": JSON.time(event + (state == "CANCELED" ? 20 : 30) * day),
                ])
            )
        case "items":
            outcome("product_changed", #"{"direction":"add_ons","to":"premium:monthly","timing":"immediate"}"#)
        case "price":
            outcome(
                "price_change",
                #"{"stage":"accepted","consent_required":false,"new":{"amount":"11.99","currency":"EUR"}}"#
            )
        case "consent":
            outcome(
                "price_change",
                #"{"stage":"pending","consent_required":true,"new":{"amount":"9900","currency":"KRW"}}"#
            )
        case "pending": outcome("purchase_pending", #"{"product":"premium"}"#)
        case "unpaid": outcome("purchase_pending_canceled", #"{"product":"premium"}"#)
        case "unmapped": outcome("unmapped", #"{"type":"subscriptionNotification","subtype":"\#(number)"}"#)
        case "state": outcome("unmapped", #"{"type":"SUBSCRIPTION_STATE_UNSPECIFIED","subtype":"\#(number)"}"#)
        default: outcome("no such word: \(word)")
        }
    }
}
