import Foundation
import HTTPTransport
import NotificationSimulator
import Normalizer
import RevenueCatEvents

/// RevenueCat's API, which shows a subscription as it stands.
struct RelayedTruth: HTTPTransportProtocol {
    private let body: [UInt8]

    /// - Parameter time: in milliseconds since 1970.
    init(_ truth: Truth, at time: Int64, account: String, _ walk: RandomWalk) throws {
        // A period that is charged ahead is not shown before it begins, except for the end of the payment.
        let isAhead = truth.start > time
        let shown = isAhead ? truth.granting(at: time) : truth.spans.last
        var members: [String: Any] = [
            "object": "subscription", "id": "sub1ab2c3d4e5", "customer_id": account, "product_id": "prod1ab2c3d4e5",
            "store": walk.isOfGooglePlay ? "play_store" : "app_store", "environment": "production",
            "ownership": "purchased", "gives_access": truth.granting(at: time) != nil,
            "store_subscription_identifier": "1", "status": Self.status(truth, at: time),
            "auto_renewal_status": isAhead && truth.willRenew ? "has_already_renewed" : Self.renewal(truth),
        ]
        if let shown {
            members["starts_at"] = shown.start
            members["current_period_starts_at"] = shown.start
            members["current_period_ends_at"] = truth.standing == .grace ? truth.end : shown.end
            members["ends_at"] = isAhead ? truth.end : truth.graceEnd ?? shown.end
        }
        if let next = truth.next, Self.renewal(truth) == "will_change_product" {
            let product = next.name(at: .revenuecat, ofGooglePlay: walk.isOfGooglePlay)
            members["pending_changes"] = ["product": ["store_identifier": product.rawValue]]
        }
        let answer: [String: Any] = ["items": [members], "next_page": NSNull()]
        body = Array(try JSONSerialization.data(withJSONObject: answer))
    }

    private static func status(_ truth: Truth, at time: Int64) -> String {
        switch truth.standing {
        case .grace: "in_grace_period"
        case .hold: "in_billing_retry"
        case .paused: "paused"
        case .active where truth.granting(at: time)?.isTrial == true: "trialing"
        case .active: "active"
        default: "expired"
        }
    }

    private static func renewal(_ truth: Truth) -> String {
        // A failed charge turns renewal off, as the webhooks have it.
        guard truth.willRenew, truth.standing != .grace, truth.standing != .hold else { return "will_not_renew" }
        if truth.resumesAt != nil, truth.standing == .active { return "will_pause" }
        return truth.next == nil ? "will_renew" : "will_change_product"
    }

    func send(_ request: HTTPTransportRequest) async throws(HTTPTransportError) -> HTTPTransportResponse {
        HTTPTransportResponse(status: 200, headers: ["Content-Type": "application/json"], body: body)
    }
}
