import FoundationEssentials
import Normalizer
import NotificationSimulator
import WireJSON

/// The App Store Server API, which signs all that it says, and the responders for its certificates.
struct AppleLists: StoryLists {
    let server: AppStoreServerSimulator
    let notifications: [AppleSimulator.Notification]
    /// The ids of those that never reached the host.
    let lost: Set<String>

    func answer(
        _ request: StoryAPI.Request,
        after made: [SimulatedNotification],
        at now: Date
    ) throws -> StoryAPI.Answer? {
        if request.path.hasPrefix(AppleSimulator.statusPath) { return try certificateStatus(request, at: now) }
        let names = Set(made.map(\.id))
        var server = server
        server.stand(after: notifications.filter { names.contains($0.notificationUUID) }, losing: lost)
        let asked = AppStoreServerSimulator.Request(
            request.method,
            target: request.target,
            authorization: request.authorization,
            body: request.body
        )
        return StoryAPI.Answer(try server.answer(asked, at: now, arrivingAt: request.arrivedAt))
    }

    /// Asked with the certificates that sign the answers, on the host's clock.
    private func certificateStatus(_ request: StoryAPI.Request, at now: Date) throws -> StoryAPI.Answer {
        let answer = try server.apple.certificateStatus(
            answering: request.body,
            at: request.path,
            now: request.arrivedAt ?? now
        )
        guard let answer else { return refusal(404, at: now) }
        var found = StoryAPI.Answer(200, answer)
        found.headers["Content-Type"] = "application/ocsp-response"
        return found
    }

    func refusal(_ status: Int, at now: Date) -> StoryAPI.Answer {
        StoryAPI.Answer(AppStoreServerSimulator.refusal(status, at: now))
    }

    var paths: [String] { ["/inApps/", AppleSimulator.statusPath] }
    var credentials: StoryAPI.Credentials { .signedToken }
    var isSigned: Bool { true }
}

extension StoryAPI.Answer {
    fileprivate init(_ answer: AppStoreServerSimulator.Answer) {
        self.init(answer.status, answer.body)
        headers.merge(answer.headers) { _, theirs in theirs }
    }
}

/// Google Play's lists: voided purchases, and the app's products.
struct GoogleLists: StoryLists {
    func answer(
        _ request: StoryAPI.Request,
        after made: [SimulatedNotification],
        at now: Date
    ) throws -> StoryAPI.Answer? {
        if request.method == "POST", request.path.hasSuffix(":acknowledge") { return StoryAPI.Answer(204, []) }
        guard request.method == "GET" else { return nil }
        switch request.path.split(separator: "/").dropFirst(4).joined(separator: "/") {
        case "subscriptions": return StoryAPI.Answer(200, Self.subscriptions.bytes)
        case "oneTimeProducts": return StoryAPI.Answer(200, Self.oneTimeProducts.bytes)
        case "purchases/voidedpurchases": return try voidedPurchases(request, after: made, at: now)
        default: return nil
        }
    }

    private static var subscriptions: JSONText {
        var plans: [(product: String, plans: [JSONText])] = []
        for plan in CustomerStory.Plan.all {
            let kind =
                switch plan.billing {
                case .prepaid: "prepaidBasePlanType"
                case .instalments: "installmentsBasePlanType"
                default: "autoRenewingBasePlanType"
                }
            let period =
                switch plan.period {
                case .days(let days): "P\(days)D"
                case .months(let months): "P\(months)M"
                }
            let entry = JSONMembers([
                ("basePlanId", .string(plan.rhythm)), ("state", "ACTIVE"),
                (kind, ["billingPeriodDuration": .string(period)]),
            ])
            if plans.last?.product != plan.product { plans.append((plan.product, [])) }
            plans[plans.count - 1].plans.append(.object(entry))
        }
        return [
            "subscriptions": .array(plans.map { ["productId": .string($0.product), "basePlans": .array($0.plans)] })
        ]
    }

    private static var oneTimeProducts: JSONText {
        [
            "oneTimeProducts": .array(
                CustomerStory.Item.allCases.map {
                    [
                        "productId": .string($0.rawValue),
                        "purchaseOptions": [["purchaseOptionId": "buy", "buyOption": [:]]],
                    ]
                }
            )
        ]
    }

    private func voidedPurchases(
        _ request: StoryAPI.Request,
        after made: [SimulatedNotification],
        at now: Date
    ) throws -> StoryAPI.Answer {
        let from = request["startTime"].flatMap { Int64($0) } ?? 0
        let until = request["endTime"].flatMap { Int64($0) } ?? now.millisecondsSince1970
        var rows: [JSONText] = []
        for notification in made {
            let reader = try ObjectReader(parsing: notification.content)
            guard let value = reader.optionalValue("voidedPurchaseNotification") else { continue }
            let voided = try ObjectReader(value)
            let time = notification.occurredAt.millisecondsSince1970
            // Without subscriptions unless they are asked for.
            let isOneTime = try voided.int64("productType") == 2
            guard (from...max(from, until)).contains(time), isOneTime || request["type"] == "1" else { continue }
            rows.append([
                "kind": "androidpublisher#voidedPurchase",
                "purchaseToken": .string(try voided.string("purchaseToken")),
                "orderId": .string(try voided.string("orderId")),
                "purchaseTimeMillis": .string(String(time)), "voidedTimeMillis": .string(String(time)),
                "voidedSource": 0, "voidedReason": 0,
            ])
        }
        return StoryAPI.Answer(200, JSONMembers([("voidedPurchases", .array(rows))]).bytes)
    }

    func refusal(_ status: Int, at now: Date) -> StoryAPI.Answer {
        let reason: JSONText =
            switch status {
            case 401: "authError"
            case 404: "purchaseTokenNotFound"
            case 429: "rateLimitExceeded"
            default: "backendError"
            }
        let error: JSONText = [
            "code": .integer(Int64(status)), "message": "refused",
            "errors": [["domain": "global", "reason": reason, "message": "refused"]],
        ]
        return StoryAPI.Answer(status, JSONMembers([("error", error)]).bytes)
    }

    var paths: [String] { ["/androidpublisher/"] }
    var credentials: StoryAPI.Credentials { .accessToken }
}

/// Stripe's lists of events, of subscriptions and of their paid invoices: the newest first, by pages, in both directions from an element.
struct StripeLists: StoryLists {
    private struct Element {
        var id: String
        var created: Int64
        var text: String
    }

    func answer(
        _ request: StoryAPI.Request,
        after made: [SimulatedNotification],
        at now: Date
    ) throws -> StoryAPI.Answer? {
        guard request.method == "GET" else { return nil }
        switch request.path {
        case "/v1/events":
            let month: Int64 = 30 * 86_400
            let from = max(
                request["created[gte]"].flatMap { Int64($0) } ?? 0,
                now.millisecondsSince1970 / 1000 - month
            )
            let until = request["created[lte]"].flatMap { Int64($0) } ?? .max
            return page(
                try made.map { notification in
                    let created = try ObjectReader(parsing: notification.content).int64("created")
                    let text = String(decoding: notification.content, as: UTF8.self)
                    return Element(id: notification.id, created: created, text: text)
                }
                .filter { (from...max(from, until)).contains($0.created) },
                request
            )
        case "/v1/invoices":
            let from = request["created[gte]"].flatMap { Int64($0) } ?? 0
            let paid = try made.filter { $0.type == "invoice.paid" }.compactMap { notification -> Element? in
                let event = try ObjectReader(parsing: notification.content)
                let data = try event.optionalValue("data").map { try ObjectReader($0) }
                guard let object = data?.optionalValue("object") else { return nil }
                let invoice = try ObjectReader(object)
                let parent = try invoice.optionalValue("parent").map { try ObjectReader($0) } ?? invoice
                let details = try parent.optionalValue("subscription_details").map { try ObjectReader($0) }
                let subscription = try invoice.optionalString("subscription") ?? details?.optionalString("subscription")
                guard subscription == request["subscription"] else { return nil }
                return Element(
                    id: try invoice.string("id"),
                    created: try invoice.int64("created"),
                    text: String(decoding: object.rawBytes, as: UTF8.self)
                )
            }
            return page(paid.filter { $0.created >= from }, request)
        case "/v1/subscriptions":
            let prefix = "/v1/subscriptions/"
            let resources = made.isEmpty ? [] : made.resources(upTo: made.count - 1)
            return page(
                resources.filter { $0.path.hasPrefix(prefix) && !$0.path.contains("?") }.map { resource in
                    Element(
                        id: String(resource.path.dropFirst(prefix.count)),
                        created: 0,
                        text: String(decoding: resource.body, as: UTF8.self)
                    )
                },
                request
            )
        default: return nil
        }
    }

    /// - Parameter elements: the oldest first.
    private func page(_ elements: [Element], _ request: StoryAPI.Request) -> StoryAPI.Answer {
        let listed = Array(elements.reversed())
        let limit = request["limit"].flatMap { Int($0) } ?? 10
        let page: ArraySlice<Element>
        let hasMore: Bool
        if let end = request["ending_before"] {
            guard let index = listed.firstIndex(where: { $0.id == end }) else { return Self.refusal(404) }
            page = listed[..<index].suffix(limit)
            hasMore = page.startIndex > 0
        } else {
            let after = request["starting_after"].flatMap { id in listed.firstIndex { $0.id == id } }
            page = listed[(after.map { $0 + 1 } ?? 0)...].prefix(limit)
            hasMore = page.endIndex < listed.count
        }
        let members = JSONMembers([
            ("object", "list"), ("has_more", .bool(hasMore)), ("data", .array(page.map { .raw($0.text) })),
        ])
        return StoryAPI.Answer(200, members.bytes)
    }

    func refusal(_ status: Int, at now: Date) -> StoryAPI.Answer { Self.refusal(status) }

    private static func refusal(_ status: Int) -> StoryAPI.Answer {
        var error = JSONMembers([("type", status < 500 ? "invalid_request_error" : "api_error")])
        switch status {
        case 404: error.append("code", "resource_missing")
        case 429: error.append("code", "rate_limit")
        default: break
        }
        return StoryAPI.Answer(status, JSONMembers([("error", .object(error))]).bytes)
    }

    var paths: [String] { ["/v1/"] }
    var credentials: StoryAPI.Credentials { .secretKey(["sk_", "rk_"]) }
}
