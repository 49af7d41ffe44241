import ConformanceVectors
import FoundationEssentials
import GooglePubSub
import Normalizer
import SignatureCore
import SignatureIssuing
import WireJSON

/// Our test vectors for Google Play: the same bytes each time.
///
/// The expectation of a case, kinds and details, is written next to it by hand. The whole events come from the mapping,
/// and a case whose mapping gives anything else is an error rather than a new expectation.
package enum GoogleVectors {
    /// One file of `TestVectors/google`.
    package struct File: Sendable {
        package let name: String
        package let lines: [String]

        package var text: String { lines.map { $0 + "\n" }.joined() }
    }

    /// The names of the files.
    package static let names = [
        "oidc", "envelope", "matrix", "purchase", "subscription", "one-time", "voided", "lookup", "settling", "upload",
    ]

    /// Every file.
    ///
    /// - Throws: `VectorError` where the adapter does not do what a case says.
    package static func files() async throws -> [File] {
        let issuer = try Issuer()
        let cases: [[Case]] = [
            try oidcCases(issuer), try envelopeCases(issuer), matrixCases(), purchaseCases(), subscriptionCases(),
            oneTimeCases(), voidedCases(), lookupCases(), settlingCases(),
            uploadCases(),
        ]
        var files: [File] = []
        var failures: [String] = []
        for (name, cases) in zip(names, cases) {
            var lines: [String] = []
            for item in cases {
                do { lines.append(try await item.line(issuer, file: name)) } catch { failures.append("\(error)") }
            }
            files.append(File(name: name, lines: lines))
        }
        guard failures.isEmpty else { throw VectorError(failures.joined(separator: "\n")) }
        return files
    }
}

// MARK: Cases

extension GoogleVectors {
    /// The outcome of a case.
    enum Expectation {
        /// Accepted, with these events in this order, each with at least these members of its detail.
        case events([Expected])
        /// Accepted without an event, for this reason.
        case nothing(String)
        case reject(DeliveryError.Code)
    }

    /// A kind of event, and what its detail has to say.
    struct Expected {
        var kind: String
        var detail: String?

        init(_ kind: String, _ detail: String? = nil) {
            self.kind = kind
            self.detail = detail
        }

        var json: String { JSON.object(["kind": JSON.string(kind), "detail": detail]) }
    }

    /// One case.
    struct Case {
        var id: String
        var why: String
        /// The content of the message.
        var notification: String = ""
        /// Recorded answers; nil without a look-up.
        var http: [String]?
        var config: [String: String] = [:]
        var expect: Expectation
        /// In place of a push of the notification that is in order.
        var delivery: Delivery?
    }

    /// A delivery that differs from the usual one.
    struct Delivery {
        /// Header names and JSON values.
        var headers: [String: String]
        var body: [UInt8]
    }

    package static let packageName = "com.example.lingua"
    static let subscriptionName = "projects/example/subscriptions/play-rtdn"
    static let audience = "https://hooks.example.com/google?source=play"
    static let email = "rtdn-push@example.iam.gserviceaccount.com"
    /// 2026-03-01T12:00:00Z
    package static let noon: Int64 = 1_772_366_400_000
    package static let second: Int64 = 1000
    package static let hour: Int64 = 3_600_000
    package static let day: Int64 = 86_400_000
    /// When what the notifications tell of happened.
    package static let event = noon - 90 * second
}

extension GoogleVectors.Case {
    func line(_ issuer: GoogleVectors.Issuer, file: String) async throws -> String {
        let usual = try GoogleVectors.push(notification, id: id, issuer)
        let delivery = delivery ?? usual
        var configuration = GoogleVectors.config(issuer)
        for (name, value) in config { configuration[name] = value.isEmpty ? nil : value }
        var members: [String: String?] = [
            "id": GoogleVectors.JSON.string("google/\(file)/\(id)"),
            "provider": GoogleVectors.JSON.string("google"),
            "headers": GoogleVectors.JSON.object(delivery.headers),
            "body_base64": GoogleVectors.JSON.string(
                String(decoding: Base64.encode(delivery.body.span), as: UTF8.self)
            ),
            "config": GoogleVectors.JSON.object(configuration),
            "http": http.map(GoogleVectors.JSON.array),
            "reason": GoogleVectors.JSON.string(why),
        ]
        let vector = try Vector(line: Array(GoogleVectors.JSON.object(members).utf8)[...])
        let outcome = await VectorRunner.run(vector)
        switch (expect, outcome.result) {
        case (.events(let expected), .success(let normalization)):
            try check(normalization, expected)
            members["expect"] = "\"accept\""
            members["events"] = GoogleVectors.JSON.array(
                try normalization.events.map { String(decoding: try CanonicalJSON.bytes($0), as: UTF8.self) }
            )
        case (.nothing(let reason), .success(let normalization)):
            guard normalization.events.isEmpty, normalization.noChange?.reason.rawValue == reason else {
                throw failure("expected \(reason), got \(summary(normalization))")
            }
            members["expect"] = "\"accept\""
            members["events"] = "[]"
        case (.reject(let code), .failure(let error)):
            guard error.code == code else { throw failure("expected \(code), got \(error)") }
            members["expect"] = "\"reject\""
            members["code"] = GoogleVectors.JSON.string(code.rawValue)
        case (.reject, .success(let normalization)):
            throw failure("accepted: \(summary(normalization))")
        case (_, .failure(let error)):
            throw failure("\(error)")
        }
        return GoogleVectors.JSON.object(members)
    }

    private func check(_ normalization: Normalization, _ expected: [GoogleVectors.Expected]) throws {
        let wanted = GoogleVectors.JSON.array(expected.map(\.json))
        let values = Array(try JSONDocument(parsing: Array(wanted.utf8)).root.array())
        if let difference = EventComparison(allowsMore: true).difference(values, normalization.events) {
            throw failure("\(difference): \(summary(normalization))")
        }
    }

    private func summary(_ normalization: Normalization) -> String {
        let events = normalization.events.map { event in
            let bytes = (try? CanonicalJSON.bytes(event.event)) ?? []
            return String(decoding: bytes, as: UTF8.self)
        }
        return "\(normalization.noChange?.reason.rawValue ?? "") \(events)"
    }

    private func failure(_ message: String) -> VectorError { VectorError("\(id): \(message)") }
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

// MARK: Deliveries

extension GoogleVectors {
    /// Signs tokens as Google would.
    struct Issuer {
        static let keyID = "5a1b0c7e2f9d4c3a8b6e7d5f4a3b2c1d0e9f8a7b"
        static let otherKeyID = "0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c"

        let key: SigningKey
        let otherKey: SigningKey
        let attacker: SigningKey
        let jwks: String
        /// The token of most deliveries.
        let token: String

        init() throws {
            let seed = Seed("google play test vectors")
            key = try SigningKey(.rsa2048, seed: seed, label: "oidc")
            otherKey = try SigningKey(.rsa2048, seed: seed, label: "oidc next")
            attacker = try SigningKey(.rsa2048, seed: seed, label: "attacker")
            jwks = Self.keySet([
                try Self.jwk(key, Self.keyID), try Self.jwk(otherKey, Self.otherKeyID),
            ])
            token = try Self.token(claims: Self.claims(), key: key)
        }

        static func keySet(_ keys: [String]) -> String { JSON.object(["keys": JSON.array(keys)]) }

        static func jwk(_ key: SigningKey, _ id: String, _ changes: [String: String?] = [:]) throws -> String {
            let (modulus, exponent) = try key.modulusAndExponent()
            var members: [String: String?] = [
                "kty": "\"RSA\"", "alg": "\"RS256\"", "use": "\"sig\"", "kid": JSON.string(id),
                "n": JSON.string(String(decoding: Base64URL.encode(modulus.span), as: UTF8.self)),
                "e": JSON.string(String(decoding: Base64URL.encode(exponent.span), as: UTF8.self)),
            ]
            for (name, value) in changes { members[name] = value }
            return JSON.object(members)
        }

        static func claims(_ changes: [String: String?] = [:]) -> [String: String?] {
            var claims: [String: String?] = [
                "iss": "\"https://accounts.google.com\"",
                "aud": JSON.string(audience),
                "azp": "\"113774264463038321964\"",
                "sub": "\"113774264463038321964\"",
                "email": JSON.string(email),
                "email_verified": "true",
                "iat": String(noon / 1000 - 600),
                "exp": String(noon / 1000 + 3000),
            ]
            for (name, value) in changes { claims[name] = value }
            return claims
        }

        static func token(
            header: String = JSON.object([
                "alg": "\"RS256\"", "kid": JSON.string(keyID), "typ": "\"JWT\"",
            ]),
            claims: [String: String?],
            key: SigningKey
        ) throws -> String {
            let token = try JWSIssuer.rs256(
                header: Array(header.utf8),
                payload: Array(JSON.object(claims).utf8),
                key: key
            )
            return String(decoding: token, as: UTF8.self)
        }
    }

    static func config(_ issuer: Issuer) -> [String: String?] {
        [
            "now": String(noon),
            "jwks": issuer.jwks,
            "audience": JSON.string(audience),
            "serviceAccountEmail": JSON.string(email),
            "packageName": JSON.string(packageName),
            "subscription": JSON.string(subscriptionName),
        ]
    }

    /// A wrapped push as Pub/Sub makes it, with both spellings of id and time.
    static func push(_ notification: String, id: String, _ issuer: Issuer) throws -> Delivery {
        Delivery(
            headers: [
                "Authorization": JSON.string("Bearer \(issuer.token)"), "Content-Type": "\"application/json\"",
            ],
            body: wrapped(Array(notification.utf8), id: id)
        )
    }

    static func wrapped(_ data: [UInt8], id: String) -> [UInt8] {
        let number = JSON.string(messageID(id))
        let time = JSON.time(noon - 400)
        return Array(
            JSON.object([
                "message": JSON.object([
                    "data": JSON.string(String(decoding: Base64.encode(data.span), as: UTF8.self)),
                    "messageId": number, "message_id": number,
                    "publishTime": time, "publish_time": time,
                ]),
                "subscription": JSON.string(subscriptionName),
            ]).utf8
        )
    }

    /// Sixteen digits, as Pub/Sub's ids have.
    static func messageID(_ id: String) -> String {
        let digest = SHA256.hash(Array(id.utf8).span).bytes
        return "1" + digest.prefix(15).map { String($0 % 10) }.joined()
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

    package static func voidedHint(_ product: Int, _ refund: Int?, order: String, token: String = token) -> String {
        notification(
            "voidedPurchaseNotification",
            [
                "purchaseToken": JSON.string(token), "orderId": JSON.string(order), "productType": String(product),
                "refundType": refund.map(String.init),
            ]
        )
    }
}

// MARK: Answers

extension GoogleVectors {
    private static let base =
        "https://androidpublisher.googleapis.com/androidpublisher/v3/applications/\(packageName)"

    static func answer(
        _ path: String,
        _ status: Int = 200,
        _ body: String,
        headers: [String: String] = ["Content-Type": "\"application/json; charset=UTF-8\""]
    ) -> String {
        JSON.object([
            "method": "\"GET\"", "url": JSON.string(base + path), "status": String(status),
            "headers": JSON.object(headers), "body": JSON.string(body),
        ])
    }

    static func subscriptionAnswer(_ body: String, token: String = token, status: Int = 200) -> String {
        answer("/purchases/subscriptionsv2/tokens/\(token)", status, body)
    }

    static func productAnswer(_ body: String, token: String = token, status: Int = 200) -> String {
        answer("/purchases/productsv2/tokens/\(token)", status, body)
    }

    static func orderAnswer(_ body: String, order: String, status: Int = 200) -> String {
        answer("/orders/\(order)", status, body)
    }

    static func error(_ status: Int, _ reason: String, domain: String = "androidpublisher") -> String {
        JSON.object([
            "error": JSON.object([
                "code": String(status), "message": "\"refused\"",
                "errors": JSON.array([
                    JSON.object([
                        "domain": JSON.string(domain), "reason": JSON.string(reason), "message": "\"refused\"",
                    ])
                ]),
            ])
        ])
    }
}

// MARK: Resources

extension GoogleVectors {
    /// The order that a token begins with; `..n` behind it names a renewal.
    package static let order = "GPA.3312-4415-6677-88990"

    package static func money(_ units: Int64, _ nanos: Int64 = 0, _ currency: String = "EUR") -> String {
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
        package var price: String? = money(9, 990_000_000)
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
