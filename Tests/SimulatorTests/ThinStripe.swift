import Foundation
import NotificationSimulator
import Normalizer

/// Stripe that notifies by thin events alone, each of which names its object: as it is when it is asked for.
struct ThinStripe: StorySimulator {
    private let stripe: any StorySimulator

    init(_ stripe: any StorySimulator) { self.stripe = stripe }

    var provider: Provider { .stripe }

    var receiverConfiguration: [UInt8] { stripe.receiverConfiguration }

    func delivery(of notification: SimulatedNotification, sentAt: Date) throws(SimulatorError) -> Delivery {
        try stripe.delivery(of: notification, sentAt: sentAt)
    }

    func notifications(_ story: CustomerStory, from start: Date) throws(SimulatorError) -> [SimulatedNotification] {
        try stripe.notifications(story, from: start).map(thin)
    }

    private func thin(_ notification: SimulatedNotification) -> SimulatedNotification {
        guard let event = try? JSONSerialization.jsonObject(with: Data(notification.content)) as? [String: Any],
            let data = event["data"] as? [String: Any], let object = data["object"] as? [String: Any],
            let id = object["id"] as? String, let type = object["object"] as? String,
            let (path, query) = Self.address(of: type)
        else { return notification }
        let url = "\(path)/\(id)"
        let content: [String: Any] = [
            "id": notification.id, "object": "v2.core.event", "type": "v1.\(notification.type)",
            "created": RFC3339.string(notification.occurredAt.millisecondsSince1970), "livemode": true,
            "related_object": ["id": id, "type": type, "url": url],
        ]
        var notification = notification
        notification.content = (try? JSONSerialization.data(withJSONObject: content)).map(Array.init) ?? []
        // The simulator's own resources are as new, and have the expanded members.
        if !notification.resources.contains(where: { $0.path == url + query }),
            var resource = notification.resources.first
        {
            resource.path = url + query
            resource.body = (try? JSONSerialization.data(withJSONObject: object)).map(Array.init) ?? []
            notification.resources.append(resource)
        }
        return notification
    }

    /// Where objects of a type are, and what the adapter has expanded.
    private static func address(of type: String) -> (path: String, query: String)? {
        switch type {
        case "subscription": ("/v1/subscriptions", "")
        case "invoice": ("/v1/invoices", "")
        case "charge": ("/v1/charges", "?expand%5B%5D=refunds")
        case "refund": ("/v1/refunds", "")
        case "dispute": ("/v1/disputes", "")
        case "subscription_schedule": ("/v1/subscription_schedules", "?expand%5B%5D=phases.items.price")
        case "checkout.session": ("/v1/checkout/sessions", "?expand%5B%5D=line_items")
        default: nil
        }
    }
}
