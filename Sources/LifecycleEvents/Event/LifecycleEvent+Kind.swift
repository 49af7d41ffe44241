extension LifecycleEvent {
    /// The name of an event's case: stable, for JSON, metrics and switches over kinds without details.
    public struct Kind: OpenValue {
        /// The name, in snake case.
        public let rawValue: String
        /// Keeps a name as it is.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// ``LifecycleEvent/purchasePending(_:)``
        public static let purchasePending: Kind = "purchase_pending"
        /// ``LifecycleEvent/purchasePendingCanceled(_:)``
        public static let purchasePendingCanceled: Kind = "purchase_pending_canceled"
        /// ``LifecycleEvent/started(_:)``
        public static let started: Kind = "started"
        /// ``LifecycleEvent/renewed(_:)``
        public static let renewed: Kind = "renewed"
        /// ``LifecycleEvent/billingIssue(_:)``
        public static let billingIssue: Kind = "billing_issue"
        /// ``LifecycleEvent/gracePeriodExpired``
        public static let gracePeriodExpired: Kind = "grace_period_expired"
        /// ``LifecycleEvent/autoRenewDisabled(_:)``
        public static let autoRenewDisabled: Kind = "auto_renew_disabled"
        /// ``LifecycleEvent/autoRenewEnabled``
        public static let autoRenewEnabled: Kind = "auto_renew_enabled"
        /// ``LifecycleEvent/expired(_:)``
        public static let expired: Kind = "expired"
        /// ``LifecycleEvent/productChangeScheduled(_:)``
        public static let productChangeScheduled: Kind = "product_change_scheduled"
        /// ``LifecycleEvent/productChangeReverted(_:)``
        public static let productChangeReverted: Kind = "product_change_reverted"
        /// ``LifecycleEvent/productChanged(_:)``
        public static let productChanged: Kind = "product_changed"
        /// ``LifecycleEvent/pauseScheduled(_:)``
        public static let pauseScheduled: Kind = "pause_scheduled"
        /// ``LifecycleEvent/paused(_:)``
        public static let paused: Kind = "paused"
        /// ``LifecycleEvent/extended(_:)``
        public static let extended: Kind = "extended"
        /// ``LifecycleEvent/priceChange(_:)``
        public static let priceChange: Kind = "price_change"
        /// ``LifecycleEvent/offerRedeemed(_:)``
        public static let offerRedeemed: Kind = "offer_redeemed"
        /// ``LifecycleEvent/oneTimePurchased(_:)``
        public static let oneTimePurchased: Kind = "one_time_purchased"
        /// ``LifecycleEvent/refundRequested(_:)``
        public static let refundRequested: Kind = "refund_requested"
        /// ``LifecycleEvent/refunded(_:)``
        public static let refunded: Kind = "refunded"
        /// ``LifecycleEvent/refundDeclined(_:)``
        public static let refundDeclined: Kind = "refund_declined"
        /// ``LifecycleEvent/refundReversed(_:)``
        public static let refundReversed: Kind = "refund_reversed"
        /// ``LifecycleEvent/chargeback(_:)``
        public static let chargeback: Kind = "chargeback"
        /// ``LifecycleEvent/revoked(_:)``
        public static let revoked: Kind = "revoked"
        /// ``LifecycleEvent/transferred(_:)``
        public static let transferred: Kind = "transferred"
        /// ``LifecycleEvent/acknowledgementRequired(_:)``
        public static let acknowledgementRequired: Kind = "acknowledgement_required"
        /// ``LifecycleEvent/notice(_:)``
        public static let notice: Kind = "notice"
        /// ``LifecycleEvent/unmapped(_:)``
        public static let unmapped: Kind = "unmapped"
    }

    /// The name of this event's case.
    public var kind: Kind {
        switch self {
        case .purchasePending: .purchasePending
        case .purchasePendingCanceled: .purchasePendingCanceled
        case .started: .started
        case .renewed: .renewed
        case .billingIssue: .billingIssue
        case .gracePeriodExpired: .gracePeriodExpired
        case .autoRenewDisabled: .autoRenewDisabled
        case .autoRenewEnabled: .autoRenewEnabled
        case .expired: .expired
        case .productChangeScheduled: .productChangeScheduled
        case .productChangeReverted: .productChangeReverted
        case .productChanged: .productChanged
        case .pauseScheduled: .pauseScheduled
        case .paused: .paused
        case .extended: .extended
        case .priceChange: .priceChange
        case .offerRedeemed: .offerRedeemed
        case .oneTimePurchased: .oneTimePurchased
        case .refundRequested: .refundRequested
        case .refunded: .refunded
        case .refundDeclined: .refundDeclined
        case .refundReversed: .refundReversed
        case .chargeback: .chargeback
        case .revoked: .revoked
        case .transferred: .transferred
        case .acknowledgementRequired: .acknowledgementRequired
        case .notice: .notice
        case .unmapped: .unmapped
        }
    }
}
