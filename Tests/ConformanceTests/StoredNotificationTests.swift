import AppleJWS
import Foundation
import GooglePubSub
import RevenueCatEvents
import Stripe
import Testing

/// Values that a queue or a database gives back damaged.
@Suite("Stored notifications")
struct StoredNotificationTests {
    struct Damaged: Sendable, CustomTestStringConvertible {
        let type: any (Decodable & Sendable).Type
        let stored: String

        var testDescription: String { "\(type): \(stored)" }
    }

    static let damaged: [Damaged] = {
        var damaged: [Damaged] = []
        func add(_ stored: String, as types: any (Decodable & Sendable).Type...) {
            for type in types { damaged.append(Damaged(type: type, stored: stored)) }
        }
        // `{}`, `[`, and a body with an octet that is no UTF-8.
        for payload in ["e30=", "Ww==", "eyJpZCI6Iv8ifQ=="] {
            add(#"{"body":"\#(payload)"}"#, as: StripeNotification.self)
            add(#"{"payload":"\#(payload)"}"#, as: RevenueCatNotification.self)
            add(#"{"data":"\#(payload)"}"#, as: GoogleNotification.self)
            add(#""\#(payload)""#, as: DeveloperNotification.self, PlayOrder.self)
            add(#""\#(payload)""#, as: SubscriptionPurchase.self, ProductPurchase.self)
            let signed = #"{"is_signed":true,"payload":"\#(payload)"}"#
            add(signed, as: AppleNotification.self, AppleTransaction.self)
            add(signed, as: AppleRenewalInfo.self, AppleAppTransaction.self)
        }
        add(#"{"body":"e30"}"#, as: StripeNotification.self)
        let event = Data(
            #"{"id":"evt_1","object":"event","type":"ping","created":1772300000}"#.utf8
        ).base64EncodedString()
        let answer = #"{"status":200,"body":"e30"}"#
        add(#"{"body":"\#(event)","answers":{"object":\#(answer)}}"#, as: StripeNotification.self)
        return damaged
    }()

    @Test("Damaged: a decoding error, as of any other type", arguments: damaged)
    func decodingErrors(damaged: Damaged) {
        #expect(throws: DecodingError.self) {
            _ = try JSONDecoder().decode(damaged.type, from: Data(damaged.stored.utf8))
        }
    }
}
