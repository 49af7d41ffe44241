import FoundationEssentials

/// The expectation that a notification gives of the answer about its purchase.
///
/// Google's servers do not agree on an event at once. An answer that does not show it yet looks like one that
/// has moved on since, except that right after the event it is more likely the former.
enum Expectation: Hashable {
    case subscription(SubscriptionNotificationType)
    case oneTimeProduct(OneTimeProductNotificationType)
    case voidedSubscription(orderID: String)
    case voidedProduct(DeveloperNotification.RefundType?)
    case voidedOrder

    /// True if the answer shows the notification's event, or one that can only have come after it.
    ///
    /// Waiting does not change an answer that is no resource of Google's, or that cannot be read. It may change one
    /// that says that Google does not know the purchase.
    func isMet(by answer: PlayAnswer, at eventTime: Date) -> Bool {
        switch answer.outcome {
        case .found: break
        // An order is older than the refund of it.
        case .notFound: return self == .voidedOrder
        default: return true
        }
        switch self {
        case .subscription(let type):
            return (try? SubscriptionPurchase(payload: answer.body)).map { $0.shows(type, at: eventTime) } ?? true
        case .oneTimeProduct(let type):
            return (try? ProductPurchase(payload: answer.body)).map { $0.shows(type) } ?? true
        case .voidedSubscription(let orderID):
            return (try? SubscriptionPurchase(payload: answer.body)).map { purchase in
                !purchase.isRunning || !purchase.lineItems.contains { $0.latestSuccessfulOrderID == orderID }
            } ?? true
        case .voidedProduct(let type):
            return (try? ProductPurchase(payload: answer.body)).map { $0.shows(type) } ?? true
        case .voidedOrder:
            return (try? PlayOrder(payload: answer.body)).map { !$0.isPaidInFull && !$0.isRefundUnderWay } ?? true
        }
    }
}

extension SubscriptionPurchase {
    /// True if its state says that it continues, with access or without.
    fileprivate var isRunning: Bool {
        switch state {
        case .active, .canceled, .inGracePeriod, .onHold, .paused: true
        default: false
        }
    }

    private var isUnpaid: Bool { state == .pending || state == .pendingPurchaseCanceled }

    /// True if an item gives access beyond a time.
    private func isLive(at time: Date) -> Bool {
        (state == .active || state == .canceled) && lineItems.contains { $0.expiryTime.map { $0 > time } ?? false }
    }

    /// True if an item has ended by a time, next to others that have not.
    private func hasLostItem(at time: Date) -> Bool {
        isLive(at: time) && lineItems.contains { $0.expiryTime.map { $0 <= time } ?? false }
    }

    private var isCancellationPending: Bool {
        lineItems.contains { $0.autoRenewingPlan?.installments?.isCancellationPending ?? false }
    }

    fileprivate func shows(_ type: SubscriptionNotificationType, at time: Date) -> Bool {
        guard state.isKnown, type.isKnown else { return true }
        switch type {
        // It comes again when a payment that was outstanding is there, so that this answer can be from before.
        case .purchased: return state != .pending
        // A charge that went through gives time from now on.
        case .recovered, .renewed: return isLive(at: time)
        case .canceled: return state == .canceled || state == .expired || isCancellationPending || isUnpaid
        case .cancellationScheduled: return isCancellationPending || !(state == .active || isUnpaid)
        case .restarted: return state != .canceled && !isUnpaid
        // On hold by now, or given up.
        case .inGracePeriod: return state != .active && !isUnpaid
        case .onHold: return state == .onHold || state == .canceled || state == .expired
        case .paused: return state != .active && state != .inGracePeriod && !isUnpaid
        case .revoked: return state == .expired || state == .pendingPurchaseCanceled || hasLostItem(at: time)
        case .expired:
            return state == .expired || state == .pendingPurchaseCanceled || hasLostItem(at: time)
                || (state == .canceled && !isLive(at: time))
        case .pendingPurchaseCanceled: return !isRunning && state != .pending || state == .canceled
        default: return !isUnpaid
        }
    }
}

extension ProductPurchase {
    fileprivate func shows(_ type: OneTimeProductNotificationType) -> Bool {
        switch type {
        // It is sent when the money came, so that this answer is from before.
        case .purchased: state != .pending
        case .canceled: state != .purchased
        default: true
        }
    }

    /// True if the quantities show that so much went back.
    fileprivate func shows(_ type: DeveloperNotification.RefundType?) -> Bool {
        guard state == .purchased else { return true }
        return lineItems.contains { item in
            // The API leaves out zeros.
            guard let left = item.refundableQuantity else { return true }
            return type == .full ? left == 0 : left < item.quantity ?? 1
        }
    }
}

extension PlayOrder {
    /// True if the order says that nothing went back: it is older than the refund, or there was none.
    var isPaidInFull: Bool { state == .processed && refund == nil && partialRefunds.isEmpty }
}
