public import LifecycleEvents
import SignatureCore

/// A notification with everything that Google Play answered about it, so that mapping needs no network.
public struct GoogleResolution: Sendable, Hashable, Codable {
    /// One look-up: the question, and the answer.
    public struct Lookup: Sendable, Hashable, Codable {
        /// A resource of the Play Developer API.
        @nonexhaustive
        public enum Resource: String, Sendable, Hashable, Codable {
            /// `purchases.subscriptionsv2`, by purchase token.
            case subscription
            /// `purchases.productsv2`, by purchase token.
            case product
            /// `orders`, by order id.
            case order
            /// The row of `purchases.voidedpurchases` about an order, by order id.
            case voidedPurchase = "voided_purchase"
        }

        /// The resource of the look-up.
        public var resource: Resource
        /// The purchase token or order id by which it was asked for.
        public var key: String
        /// The answer.
        public var answer: PlayAnswer

        /// Keeps a look-up.
        public init(_ resource: Resource, about key: String, _ answer: PlayAnswer) {
            self.resource = resource
            self.key = key
            self.answer = answer
        }
    }

    /// The notification.
    public let notification: GoogleNotification
    /// The look-ups in the order in which they were made; none if nothing had to be asked, or nothing could be.
    ///
    /// For a subscription the first is the notified token and those behind it its predecessors, newest first. None of
    /// them is `unavailable`: then there is no resolution.
    public let lookups: [Lookup]

    package init(notification: GoogleNotification, lookups: [Lookup]) {
        self.notification = notification
        self.lookups = lookups
    }

    /// The answer about a subscription's token; by default the notified one.
    public func subscription(_ purchaseToken: String? = nil) -> PlayAnswer? {
        lookups.answer(.subscription, purchaseToken ?? notification.content.purchaseToken?.value)
    }

    /// The answer about the notified one-time purchase.
    public var product: PlayAnswer? {
        lookups.answer(.product, notification.content.purchaseToken?.value)
    }

    /// The answer about an order.
    public func order(_ orderID: String) -> PlayAnswer? {
        lookups.answer(.order, orderID)
    }

    /// The answer of the list of voided purchases about an order.
    public func voidedPurchase(_ orderID: String) -> PlayAnswer? {
        lookups.answer(.voidedPurchase, orderID)
    }

    /// The predecessors of the notified subscription token that were asked for, newest first.
    public var predecessors: [Lookup] { lookups.predecessors }
}

extension [GoogleResolution.Lookup] {
    func answer(_ resource: GoogleResolution.Lookup.Resource, _ key: String?) -> PlayAnswer? {
        guard let key else { return nil }
        return first { $0.resource == resource && $0.key.hasOctets(of: key) }?.answer
    }

    /// The purchases before the one that was asked about, newest first.
    var predecessors: [GoogleResolution.Lookup] { Array(filter { $0.resource == .subscription }.dropFirst()) }
}

extension GoogleResolution: Redacted {
    /// How many look-ups there are.
    public var description: String { "\(notification), \(lookups.count) look-ups" }
}

extension GoogleResolution.Lookup: Redacted {
    /// The resource and the answer's description; never the key.
    public var description: String { "\(resource): \(answer)" }
}
