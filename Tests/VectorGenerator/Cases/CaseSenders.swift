import ConformanceVectors
import Normalizer
import NotificationSimulator
import SignatureCore
import WireJSON

/// A case's delivery.
struct CaseDelivery {
    var id: String
    var body: CaseBody
    var config: JSONMembers
    /// How it is sent, in the words of the provider's sender.
    var manner: JSONMembers

    /// A text of the manner.
    func manner(_ name: String) throws -> String? { try manner[name]?.string() }

    /// True if nothing is put around the body.
    var isBare: Bool {
        if case .raw("false")? = manner["wrap"] { true } else { false }
    }

    /// The time of receipt, in milliseconds since 1970.
    var now: Int64 {
        if case .integer(let now)? = config["now"] { now } else { 0 }
    }
}

/// Proves a delivery as the provider does.
protocol CaseSender {
    /// The members that `send` may have.
    var manners: Set<String> { get }
    func send(_ delivery: CaseDelivery) throws -> (headers: JSONMembers, body: [UInt8])
    /// The replacement of `{name}` in a header field, the configuration or a URL; nil if the sender has no such word.
    func word(_ name: String, in text: String, of delivery: CaseDelivery) throws -> JSONText?
}

extension CaseSender {
    var manners: Set<String> { [] }
    func word(_ name: String, in text: String, of delivery: CaseDelivery) -> JSONText? { nil }
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
            secrets: [SecretBytes(Self.secret)]
        )
        let headers = JSONMembers([
            ("Content-Type", "application/json"), ("Authorization", .string(Self.authorization)),
            ("X-RevenueCat-Webhook-Signature", .string(signature)),
        ])
        return (headers, octets)
    }
}

/// Stripe's signature, a second before receipt.
struct StripeCaseSender: CaseSender {
    static let secret = "whsec_vectors_0123456789abcdef"
    static let otherSecret = "whsec_vectors_rolled_fedcba9876"

    func send(_ delivery: CaseDelivery) throws -> (headers: JSONMembers, body: [UInt8]) {
        let octets = delivery.body.octets
        let header = try StripeSimulator.header(
            octets,
            timestamp: String(delivery.now / 1000 - 1),
            secrets: [SecretBytes(Self.secret)]
        )
        return (JSONMembers([("Stripe-Signature", .string(header))]), octets)
    }

    /// `{code}` and `{other}`: the codes over the timestamp of the header field and the body, with either secret.
    func word(_ name: String, in text: String, of delivery: CaseDelivery) throws -> JSONText? {
        let secrets = ["code": Self.secret, "other": Self.otherSecret]
        guard let secret = secrets[name],
            let timestamp = text.split(separator: ",").last(where: { $0.hasPrefix("t=") })?.dropFirst(2)
        else { return nil }
        return .string(
            try StripeSimulator.code(
                delivery.body.octets,
                timestamp: String(timestamp.hasSuffix(" ") ? timestamp.dropLast() : timestamp),
                secret: SecretBytes(secret)
            )
        )
    }
}
