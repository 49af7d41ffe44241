import FoundationEssentials
public import LifecycleEvents

/// A subscription or a checkout session that the host asked about by its id, with everything that Stripe answered, so that
/// mapping needs no network.
public struct StripePurchase: Sendable, Codable {
    /// The subject of the question.
    @nonexhaustive
    public enum Kind: String, Sendable, Hashable, Codable {
        /// A subscription, `sub_…`.
        case subscription
        /// A session of Checkout, `cs_…`: a one-time sale, or the subscription that it began.
        case checkoutSession = "checkout.session"
    }

    /// The subject of the question.
    public let kind: Kind
    /// Stripe's id of it.
    public let id: String
    /// The connected account that it belongs to; nil for our own.
    public let account: String?
    /// Stripe's answers.
    var answers: StripeNotification.Answers = [:]

    private enum CodingKeys: String, CodingKey { case kind, id, account, answers }

    /// - Throws: `malformed` for an id that no object has, for which no request is made.
    init(_ kind: Kind, _ id: String, account: String?) throws(DeliveryError) {
        for (name, value) in [("id", id), ("account", account ?? "_")] {
            guard value.utf8.allSatisfy(\.isOfName), (1...255).contains(value.utf8.count) else {
                throw DeliveryError(.malformed, "\(name) of \(value.utf8.count) bytes is not an id of Stripe's")
            }
        }
        self.kind = kind
        self.id = id
        self.account = account
    }

    var path: [String] {
        switch kind {
        case .subscription: ["v1", "subscriptions", id]
        case .checkoutSession: ["v1", "checkout", "sessions", id]
        }
    }
}

extension StripePurchase.Kind {
    /// The members that show if it is paid for, and what comes next.
    var expansions: [String] {
        switch self {
        case .subscription: ["latest_invoice", "schedule.phases.items.price"]
        case .checkoutSession: ["line_items", "payment_intent.latest_charge", "subscription.latest_invoice"]
        }
    }
}

extension StripePurchase: Redacted {
    /// The kind, and how many answers there are.
    public var description: String { "\(kind.rawValue), \(answers.count) answers" }
}
