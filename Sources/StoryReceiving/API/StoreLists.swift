import FoundationEssentials
import Normalizer
import NotificationSimulator
import WireJSON

/// The App Store Server API, which signs all that it says.
struct AppleLists: StoryLists {
    let server: AppStoreServerSimulator
    let notifications: [AppleSimulator.Notification]

    func answer(
        _ request: StoryAPI.Request,
        after made: [SimulatedNotification],
        at now: Date
    ) throws -> StoryAPI.Answer? {
        var server = server
        server.stand(at: now, in: notifications)
        let asked = AppStoreServerSimulator.Request(
            request.method,
            target: request.target,
            authorization: request.authorization,
            body: request.body
        )
        let answer = try server.answer(asked, at: now)
        return StoryAPI.Answer(answer.status, answer.body)
    }

    var notFound: StoryAPI.Answer { .init(404, []) }
}

/// Google Play's list of voided purchases.
struct GoogleLists: StoryLists {
    func answer(
        _ request: StoryAPI.Request,
        after made: [SimulatedNotification],
        at now: Date
    ) throws -> StoryAPI.Answer? {
        guard request.method == "GET", request.path.hasSuffix("/purchases/voidedpurchases") else { return nil }
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

    var notFound: StoryAPI.Answer {
        .init(
            404,
            Array(#"{"error":{"code":404,"message":"not found","errors":[{"reason":"purchaseTokenNotFound"}]}}"#.utf8)
        )
    }
}

/// Stripe's lists of events and of subscriptions: the newest first, by pages, in both directions from an element.
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
            guard let index = listed.firstIndex(where: { $0.id == end }) else { return notFound }
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

    var notFound: StoryAPI.Answer {
        .init(404, Array(#"{"error":{"type":"invalid_request_error","code":"resource_missing"}}"#.utf8))
    }
}
