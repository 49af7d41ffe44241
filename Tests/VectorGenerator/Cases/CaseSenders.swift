import Normalizer
import NotificationSimulator
import SignatureCore
import WireJSON

/// A case's delivery.
struct CaseDelivery {
    var body: CaseBody
    var config: JSONMembers
    var now: Int64
}

/// Proves a delivery as the provider does.
protocol CaseSender {
    func send(_ delivery: CaseDelivery) throws -> (headers: JSONMembers, body: [UInt8])
}

/// RevenueCat's signature and authorization header, at the time of receipt.
struct RevenueCatCaseSender: CaseSender {
    static let authorization = "Bearer rc_vectors_authorization"
    static let secret = "rc_whsec_vectors_0123456789"

    func send(_ delivery: CaseDelivery) throws -> (headers: JSONMembers, body: [UInt8]) {
        let octets = delivery.body.octets
        let signature = try RevenueCatSimulator.signature(
            over: octets,
            timestamp: String(delivery.now / 1000),
            secrets: [Secret(Self.secret)]
        )
        let headers = JSONMembers([
            ("Content-Type", "application/json"), ("Authorization", .string(Self.authorization)),
            ("X-RevenueCat-Webhook-Signature", .string(signature)),
        ])
        return (headers, octets)
    }
}
