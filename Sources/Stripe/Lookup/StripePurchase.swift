import FoundationEssentials
import LifecycleEvents

/// A subscription or a checkout session that the host asked about by its id, with everything that Stripe answered, so that
/// mapping needs no network.
public struct StripePurchase: Sendable, Codable {
    /// What is asked about.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable, Codable {
        /// A subscription, `sub_…`.
        case subscription
        /// A session of Checkout, `cs_…`: what was sold once, or the subscription that it began.
        case checkoutSession = "checkout.session"
    }

    /// What is asked about.
    public let kind: Kind
    /// Stripe's id of it.
    public let id: String
    /// The connected account that it belongs to; nil for our own.
    public let account: String?
    /// What Stripe answered, by the name of the look-up.
    var answers: [String: StripeNotification.Answer] = [:]

    private enum CodingKeys: String, CodingKey { case kind, id, account, answers }

    /// - Throws: `malformed` for an id that no object has, for which no request is made.
    init(_ kind: Kind, _ id: String, account: String?) throws(DeliveryError) {
        for (name, value) in [("id", id), ("account", account ?? "_")] {
            let isPlain = value.utf8.allSatisfy { octet in
                switch octet {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"): true
                default: false
                }
            }
            guard isPlain, (1...255).contains(value.utf8.count) else {
                throw DeliveryError(.malformed, "\(name) of \(value.utf8.count) bytes is none that Stripe gives")
            }
        }
        self.kind = kind
        self.id = id
        self.account = account
    }

    var path: String {
        switch kind {
        case .subscription: "/v1/subscriptions/\(id)"
        case .checkoutSession: "/v1/checkout/sessions/\(id)"
        }
    }
}

extension StripePurchase: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The kind, and how many answers there are.
    public var description: String { "\(kind.rawValue), \(answers.count) answers" }

    /// The same as the description.
    public var debugDescription: String { description }

    /// Shows nothing.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
