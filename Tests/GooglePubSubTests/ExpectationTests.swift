import Foundation
import Normalizer
import Testing

@testable import GooglePubSub

/// Taken for shown, an answer from before the event is mapped in place of it; taken for one that lags behind, a good one
/// is waited for.
@Suite("Whether an answer shows what a notification says")
struct ExpectationTests {
    typealias Expectation = GooglePubSub.Expectation
    static let time = Google.receivedAt
    static let past = #"{"productId":"p","expiryTime":"2026-05-28T20:26:40Z"}"#
    static let future = #"{"productId":"q","expiryTime":"2026-05-28T20:26:40.001Z"}"#
    static let states = [
        "ACTIVE", "CANCELED", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "EXPIRED", "PENDING", "PENDING_PURCHASE_CANCELED",
    ]

    func found(_ body: String) -> PlayAnswer { PlayAnswer(.found, status: 200, body: Array(body.utf8)) }

    func subscription(_ state: String, _ items: String = future) -> PlayAnswer {
        found(#"{"subscriptionState":"SUBSCRIPTION_STATE_\#(state)","lineItems":[\#(items)]}"#)
    }

    func product(_ state: String, _ offers: String...) -> PlayAnswer {
        let items = offers.map { #"{"productId":"p","productOfferDetails":{\#($0)}}"# }.joined(separator: ",")
        return found(#"{"purchaseStateContext":{"purchaseState":"\#(state)"},"productLineItem":[\#(items)]}"#)
    }

    /// With time left, in each state. Named are the states from before the event.
    @Test(
        arguments: [
            (.recovered, ["IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "EXPIRED", "PENDING", "PENDING_PURCHASE_CANCELED"]),
            (.renewed, ["IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "EXPIRED", "PENDING", "PENDING_PURCHASE_CANCELED"]),
            (.canceled, ["ACTIVE", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED"]), (.purchased, ["PENDING"]),
            (.onHold, ["ACTIVE", "IN_GRACE_PERIOD", "PAUSED", "PENDING", "PENDING_PURCHASE_CANCELED"]),
            (.inGracePeriod, ["ACTIVE", "PENDING", "PENDING_PURCHASE_CANCELED"]),
            (.restarted, ["CANCELED", "PENDING", "PENDING_PURCHASE_CANCELED"]),
            (.paused, ["ACTIVE", "IN_GRACE_PERIOD", "PENDING", "PENDING_PURCHASE_CANCELED"]),
            (.revoked, ["ACTIVE", "CANCELED", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "PENDING"]),
            (.expired, ["ACTIVE", "CANCELED", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "PENDING"]),
            (.cancellationScheduled, ["ACTIVE", "PENDING", "PENDING_PURCHASE_CANCELED"]),
            (.pendingPurchaseCanceled, ["ACTIVE", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "PENDING"]),
            (.deferred, ["PENDING", "PENDING_PURCHASE_CANCELED"]),
            (.itemsChanged, ["PENDING", "PENDING_PURCHASE_CANCELED"]), (99, []),
        ] as [(SubscriptionNotificationType, Set<String>)]
    )
    func states(type: SubscriptionNotificationType, before: Set<String>) {
        for state in Self.states {
            let isMet = Expectation.subscription(type).isMet(by: subscription(state), at: Self.time)
            #expect(isMet == !before.contains(state), "\(state)")
        }
        #expect(Expectation.subscription(type).isMet(by: subscription("WORMHOLE"), at: Self.time))
    }

    static let ending = #"{"productId":"p","autoRenewingPlan":{"installmentDetails":{"pendingCancellation":{}}}}"#

    /// One millisecond of access beyond the event is some.
    @Test(
        arguments: [
            (.renewed, "ACTIVE", past, false), (.recovered, "CANCELED", past, false),
            (.renewed, "CANCELED", future, true),
            (.expired, "CANCELED", past, true), (.expired, "ACTIVE", past, false),
            (.expired, "ACTIVE", "\(past),\(future)", true), (.revoked, "ACTIVE", "\(past),\(future)", true),
            (.revoked, "ACTIVE", "\(future),\(future)", false), (.canceled, "ACTIVE", ending, true),
            (.cancellationScheduled, "ACTIVE", ending, true),
        ] as [(SubscriptionNotificationType, String, String, Bool)]
    )
    func items(type: SubscriptionNotificationType, state: String, items: String, isShown: Bool) {
        #expect(Expectation.subscription(type).isMet(by: subscription(state, items), at: Self.time) == isShown)
    }

    @Test func voidedSubscription() {
        let expectation = Expectation.voidedSubscription(orderID: "GPA.1")
        for state in Self.states {
            let ran = ["ACTIVE", "CANCELED", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED"].contains(state)
            for (order, isShown) in [("GPA.1", !ran), ("GPA.1..0", true)] {
                let item = #"{"productId":"p","latestSuccessfulOrderId":"\#(order)"}"#
                #expect(expectation.isMet(by: subscription(state, item), at: Self.time) == isShown, "\(state) \(order)")
            }
        }
    }

    @Test(
        arguments: [
            (.purchased, ["PENDING"]), (.canceled, ["PURCHASED"]), (3, []),
        ] as [(OneTimeProductNotificationType, Set<String>)]
    )
    func product(type: OneTimeProductNotificationType, before: Set<String>) {
        for state in ["PURCHASED", "CANCELLED", "PENDING"] {
            let isMet = Expectation.oneTimeProduct(type).isMet(by: product(state, ""), at: Self.time)
            #expect(isMet == !before.contains(state), "\(state)")
        }
    }

    @Test(arguments: [
        (#""quantity":3,"refundableQuantity":3"#, false, false), (#""quantity":3,"refundableQuantity":1"#, false, true),
        (#""quantity":3,"refundableQuantity":0"#, true, true), (#""quantity":3"#, true, true),
        (#""refundableQuantity":1"#, false, false), (#""refundableQuantity":0"#, true, true),
    ])
    func voidedProduct(offer: String, showsAll: Bool, showsSome: Bool) {
        for (type, isShown) in [(.full, showsAll), (.quantityBasedPartial, showsSome), (nil, showsSome)]
            as [(DeveloperNotification.RefundType?, Bool)]
        {
            let expectation = Expectation.voidedProduct(type)
            #expect(expectation.isMet(by: product("PURCHASED", offer), at: Self.time) == isShown)
            let untouched = #""quantity":2,"refundableQuantity":2"#
            #expect(expectation.isMet(by: product("PURCHASED", untouched, offer), at: Self.time) == isShown)
            #expect(expectation.isMet(by: product("CANCELLED", offer), at: Self.time))
        }
    }

    @Test(arguments: [
        (#""state":"PROCESSED""#, false), (#""state":"PROCESSED","orderHistory":{"processedEvent":{}}"#, false),
        (#""state":"PROCESSED","orderHistory":{"refundEvent":{}}"#, true),
        (#""state":"PROCESSED","orderHistory":{"partialRefundEvents":[{}]}"#, false), (#""state":"REFUNDED""#, true),
        (#""state":"PARTIALLY_REFUNDED","orderHistory":{"partialRefundEvents":[{"state":"PENDING"}]}"#, false),
        (
            #""state":"PARTIALLY_REFUNDED","orderHistory":{"partialRefundEvents":[{"state":"PROCESSED_SUCCESSFULLY","#
                + #""refundDetails":{"total":{"currencyCode":"EUR","units":"2"}}}]}"#,
            true
        ),
    ])
    func voidedOrder(members: String, isShown: Bool) {
        #expect(Expectation.voidedOrder.isMet(by: found(#"{"orderId":"GPA.1",\#(members)}"#), at: Self.time) == isShown)
    }

    static let all: [Expectation] = [
        .subscription(.renewed), .oneTimeProduct(.purchased), .voidedSubscription(orderID: "GPA.1"),
        .voidedProduct(.full),
        .voidedOrder,
    ]

    /// An order is older than its refund; a purchase may be newer than what a server knows.
    @Test(arguments: all)
    func whatWaitingDoesNotChangeCounts(expectation: Expectation) {
        for outcome in [PlayAnswer.Outcome.gone, .invalid, .denied, .unavailable] {
            #expect(expectation.isMet(by: PlayAnswer(outcome, status: 0), at: Self.time))
        }
        #expect(expectation.isMet(by: found("{}"), at: Self.time))
        #expect(
            expectation.isMet(by: PlayAnswer(.notFound, status: 404), at: Self.time) == (expectation == .voidedOrder)
        )
    }
}
