import FoundationEssentials
import LifecycleEvents
import WireJSON

// Notifications, each with the resources that Google Play answers with from then on.

extension GoogleStoryteller {
    func token(_ number: Int) -> String {
        let letters = identity.letters("token \(number)", 24, of: "abcdefghijklmnop")
        let rest = identity.letters("signature \(number)", 30) + identity.letters("more \(number)", 20)
        return "\(letters).AO-J1O\(rest)"
    }

    func order(_ number: Int) -> String {
        let digits = identity.decimal("order \(number)", 16)
        let (first, rest) = (digits.prefix(4), digits.dropFirst(4))
        return "GPA.3\(first.dropFirst())-\(rest.prefix(4))-\(rest.dropFirst(4).prefix(4))-\(rest.dropFirst(8))0"
    }

    func resource(_ purchase: PlaySubscription) -> SimulatedResource {
        resource("purchases/subscriptionsv2/tokens/\(purchase.token)", purchase.json)
    }

    func resource(_ product: PlayProduct) -> SimulatedResource {
        resource("purchases/productsv2/tokens/\(product.token)", product.json)
    }

    func resource(_ order: PlayOrderResource) -> SimulatedResource {
        resource("orders/\(order.order)", order.json)
    }

    func resource(_ path: String, _ body: JSONText) -> SimulatedResource {
        SimulatedResource(
            host: PlayResources.host,
            path: "/androidpublisher/v3/applications/\(packageName)/\(path)",
            body: body
        )
    }

    /// Publishes a notification about a subscription, with it and its orders as they are now.
    mutating func publish(
        _ number: Int64,
        _ purchase: PlaySubscription,
        and others: [PlaySubscription] = [],
        late: Int64 = 0
    ) {
        publish(
            "subscriptionNotification",
            [
                "version": "1.0", "notificationType": .integer(number), "purchaseToken": .string(purchase.token),
                "subscriptionId": .string(purchase.items[0].plan.product),
            ],
            type: "\(number) \(Self.names[number] ?? "")",
            resources: ([purchase] + others).map { resource($0) }
                + orders.filter { $0.token == purchase.token }.suffix(1).map { resource($0) },
            late: late
        )
    }

    mutating func publish(
        _ body: String,
        _ members: JSONText,
        type: String,
        resources: [SimulatedResource] = [],
        late: Int64 = 0
    ) {
        published += 1
        let eventTime = scene.time + late + Self.lag
        notifications.append(
            SimulatedNotification(
                provider: .google,
                step: scene.step,
                occurredAt: Date(millisecondsSince1970: eventTime),
                type: type,
                id: "1\(identity.decimal("message \(published)", 15))",
                content: JSONMembers([
                    ("version", "1.0"), ("packageName", .string(packageName)),
                    ("eventTimeMillis", .string(String(eventTime))), (body, members),
                ]).bytes,
                resources: resources
            )
        )
    }

    static let names: [Int64: String] = [
        1: "SUBSCRIPTION_RECOVERED", 2: "SUBSCRIPTION_RENEWED", 3: "SUBSCRIPTION_CANCELED",
        4: "SUBSCRIPTION_PURCHASED", 5: "SUBSCRIPTION_ON_HOLD", 6: "SUBSCRIPTION_IN_GRACE_PERIOD",
        7: "SUBSCRIPTION_RESTARTED", 9: "SUBSCRIPTION_DEFERRED", 10: "SUBSCRIPTION_PAUSED",
        11: "SUBSCRIPTION_PAUSE_SCHEDULE_CHANGED", 12: "SUBSCRIPTION_REVOKED", 13: "SUBSCRIPTION_EXPIRED",
        18: "SUBSCRIPTION_CANCELLATION_SCHEDULED", 19: "SUBSCRIPTION_PRICE_CHANGE_UPDATED",
        20: "SUBSCRIPTION_PENDING_PURCHASE_CANCELED",
    ]
}
