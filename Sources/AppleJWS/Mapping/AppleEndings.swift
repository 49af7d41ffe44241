import FoundationEssentials
import LifecycleEvents

extension AppleSnapshot {
    /// True if a renewal failed, and the App Store does not try again: the subscription is over, whatever the notification is
    /// called.
    var isGivenUp: Bool {
        notification?.type == .didFailToRenew && (renewal?.isOver ?? (status == .expired))
    }

    /// The last moment of access that the store stated.
    var accessEnd: Date? {
        guard let expires = transaction.expiresDate else { return nil }
        let paid = max(expires, graceUntil ?? expires)
        return revokedAt.map { min($0, paid) } ?? paid
    }

    /// When an expired subscription ended. Its expiry takes back the rest of a grace period.
    var expiredAt: Date? {
        guard let expires = transaction.expiresDate, let accessEnd else { return nil }
        return min(accessEnd, max(expires, assertedAt))
    }

    private var isStatedRefund: Bool {
        transaction.revocationType == .refundFull || transaction.revocationType == .refundProrated
    }

    /// When money went back or sharing ended, where either did; a replacement by an upgrade is neither.
    var revokedAt: Date? { transaction.isUpgraded && !isStatedRefund ? nil : transaction.revocationDate }

    var refundScope: LifecycleEvent.Refund.Scope {
        guard let thousandths = transaction.revocationPercentage ?? refundedItems,
            transaction.revocationType != .refundFull, thousandths < 100_000,
            let fraction = ExactDecimal(coefficient: Int128(thousandths), scale: 5)
        else { return .full }
        return .fraction(fraction)
    }

    /// The name of the refund. Further items, or more of a quantity, can be refunded later, and that is another refund.
    /// https://developer.apple.com/documentation/storekit/transaction/revocationpercentage
    var refundName: String {
        guard transaction.revocationPercentage == nil || (transaction.quantity ?? 1) > 1,
            case .fraction(let fraction) = refundScope
        else { return purchaseID.rawValue }
        return "\(purchaseID)*\(fraction)"
    }

    /// True if a refunded purchase is not taken away: items can be refunded and left to the customer.
    var isKept: Bool {
        guard transaction.revocationDate == nil, let items = transaction.advancedCommerce?.items else { return false }
        return items.contains { $0.revocationDate == nil }
    }

    /// How much of an Advanced Commerce purchase went back, in thousandths of a percent; nil if that is all, or is not stated.
    /// Such transactions have neither type nor percentage, and list refunds by item (StoreKit, `Transaction.revocationType`).
    private var refundedItems: Int64? {
        guard let items = transaction.advancedCommerce?.items,
            let price = transaction.price?.milliunits, price > 0,
            !items.allSatisfy({ $0.refunds.contains { $0.type == "FULL" } })
        else { return nil }
        var refunded: Int128 = 0
        for item in items {
            for refund in item.refunds {
                guard let amount = (refund.amount ?? (refund.type == "FULL" ? item.price : nil))?.milliunits else {
                    return nil
                }
                refunded += amount
            }
        }
        return refunded > 0 && refunded < price ? Int64(refunded * 100_000 / price) : nil
    }

    var endings: [Fact] {
        let type = notification?.type
        // Replaced by an upgrade, or by a crossgrade of the same duration: the unused part went back, yet it is no
        // refund, and Apple states its moment only sometimes. A refund may follow all the same.
        if transaction.isUpgraded {
            let end = Fact.periodEnded(end(at: transaction.revocationDate ?? assertedAt, reason: .replaced))
            if type == .refundReversed { return [end, refund(nil, at: assertedAt)] }
            guard let revoked = transaction.revocationDate, type == .refund || isStatedRefund else { return [end] }
            return [end, refund(refundScope, at: revoked)]
        }
        if let revoked = transaction.revocationDate {
            if isFamilyShared || transaction.revocationType == .familyRevoke {
                return [.periodEnded(end(at: revoked, reason: .unknown))]
            }
            return [refund(refundScope, at: revoked)]
        }
        switch type {
        case .refundReversed?:
            return [refund(nil, at: assertedAt)]
        case .expired?,
            .didFailToRenew? where isGivenUp:
            let ended = expiredAt.map { Fact.periodEnded(end(at: $0, reason: expiryReason(subtype: nil))) }
            return [ended, refundOfItems].compactMap(\.self)
        case .revoke?:
            return [.periodEnded(end(at: assertedAt, reason: .unknown))]
        case .refund?:
            // That the notification says so counts where the transaction does not say when.
            return [refundOfItems ?? refund(refundScope, at: assertedAt, endsAccess: !isKept)]
        default:
            return [refundOfItems].compactMap(\.self)
        }
    }

    /// The refunds of the items of an Advanced Commerce purchase, which has no revocation of its own then.
    var refundOfItems: Fact? {
        let items = transaction.advancedCommerce?.items ?? []
        // An active subscription is not taken away, whatever was refunded. A refund may be of another period than the active.
        let isActive = notification?.type != .refund && status?.givesAccess == true
        return items.flatMap(\.refunds).compactMap(\.date).max().map {
            refund(refundScope, at: $0, endsAccess: !isKept && !isActive)
        }
    }

    func end(at date: Date, reason: LifecycleEvent.Expired.Reason, item: ProductID? = nil) -> Fact.PeriodEnd {
        Fact.PeriodEnd(start: beganAt, transaction: purchaseID, at: date, reason: reason, item: item)
    }

    private func refund(
        _ scope: LifecycleEvent.Refund.Scope?,
        at date: Date,
        endsAccess: Bool = true
    ) -> Fact {
        .refund(
            Fact.RefundState(
                transaction: purchaseID,
                scope: scope,
                at: date,
                periodStart: isSubscription ? beganAt : nil,
                endsAccess: endsAccess && scope != nil,
                items: scope == nil || scope == .full ? nil : transaction.advancedCommerce?.refundsOfItems
            )
        )
    }

    func expiryReason(subtype: AppleNotification.Subtype?) -> LifecycleEvent.Expired.Reason {
        switch subtype {
        case .voluntary?: return .customer
        case .billingRetry?: return .billing
        case .priceIncrease?: return .priceIncreaseDeclined
        case .productNotForSale?: return .productUnavailable
        default: break
        }
        switch renewalInfo?.expirationIntent {
        case .customerCanceled?: return .customer
        case .billingError?: return .billing
        case .priceIncreaseDeclined?: return .priceIncreaseDeclined
        case .productUnavailable?: return .productUnavailable
        default: return .unknown
        }
    }
}
