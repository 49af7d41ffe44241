import LifecycleEvents
import WireJSON

/// Stripe's event, or the host's question, each with the answers that were fetched for it.
typealias StripeOccasion = Occasion<StripeNotification, StripePurchase>

extension StripeOccasion {
    var notification: StripeNotification? {
        if case .notification(let notification) = self { notification } else { nil }
    }

    /// The fetched objects.
    var answers: StripeNotification.Answers {
        get {
            switch self {
            case .notification(let notification): notification.answers
            case .question(let purchase): purchase.answers
            }
        }
        set {
            switch self {
            case .notification(var notification):
                notification.answers = newValue
                self = .notification(notification)
            case .question(var purchase):
                purchase.answers = newValue
                self = .question(purchase)
            }
        }
    }

    /// The names of the look-ups that the key has no right to.
    var refused: [String] { answers.filter { $0.value.status == 403 }.keys.sorted() }

    /// The event's type, or the type of the object that was asked about.
    var type: String {
        switch self {
        case .notification(let notification): notification.type
        case .question(let purchase): purchase.kind.rawValue
        }
    }

    /// The connected account that it is about; nil for our own.
    var account: String? {
        switch self {
        case .notification(let notification): notification.account
        case .question(let purchase): purchase.account
        }
    }

    /// True if it is about real money; nil if that is not stated. Of a question, only the answer says so.
    var isLive: Bool? {
        switch self {
        case .notification(let notification): notification.isLive
        case .question: subject.flatMap { try? ObjectReader($0).optionalBool(.livemode) } ?? nil
        }
    }

    /// The subject: the object that an event contains, or the one that was fetched.
    var subject: JSONValue? {
        switch self {
        case .notification(let notification): notification.subject
        case .question(let purchase): purchase.answers[LookupRequest.object]?.document?.root
        }
    }

    /// True if the subject was fetched, so that it is as new as its answer.
    var isFetched: Bool {
        switch self {
        case .notification(let notification): notification.isThin && !notification.answers.isEmpty
        case .question(let purchase): !purchase.answers.isEmpty
        }
    }

    /// An error about it. Only an event is proven to be Stripe's.
    func error(
        _ code: DeliveryError.Code,
        _ message: String,
        underlying: (any Error)? = nil,
        file: String = #fileID,
        line: Int = #line
    ) -> DeliveryError {
        DeliveryError(code, message, isAuthentic: notification != nil, underlying: underlying, file: file, line: line)
    }
}
