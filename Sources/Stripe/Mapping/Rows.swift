extension Mapping {
    /// The meanings of Stripe's types: one row for each, thin types without their `v1.`.
    enum Row: Hashable {
        case subscriptionCreated, subscriptionUpdated, subscriptionDeleted
        case subscriptionPaused, subscriptionResumed
        case trialWillEnd, pendingUpdateApplied, pendingUpdateExpired
        /// A change that a thin event names without showing the value before.
        case subscriptionStep(Step)
        case invoicePaid, invoicePayment, invoiceSettled, invoiceFailed(actionRequired: Bool), invoiceUpcoming,
            invoiceNotice
        case schedule, scheduleEnded
        case refund, refundFailed, chargeRefundUpdated, chargeRefunded
        case chargeNames, chargeCaptured, paymentCanceled
        case dispute, disputeFunds
        case checkout, checkoutFailed
        case entitlements
        case customerDeleted
        case test
        case reportedElsewhere
        case unchanged
        case unknown

        enum Step: Hashable {
            case began, pastDue, unpaid, incompleteExpired, endChanged, itemsChanged, quantityChanged, productSwapped
        }

        init(_ notification: StripeNotification) {
            self.init(type: notification.canonicalType)
            // Thin events are younger than the events of refunds.
            if self == .chargeRefundUpdated, notification.isThin { self = .reportedElsewhere }
            // They are not worth a question either: a host that can ask finds the invoice of a payment by the payment.
            switch self {
            case .invoicePayment, .chargeNames, .disputeFunds: if notification.isThin { self = .reportedElsewhere }
            default: break
            }
        }

        init(type: String) {
            switch type {
            // The status decides: a purchase, a trial, or nothing yet while the first payment is pending.
            case "customer.subscription.created": self = .subscriptionCreated
            // Everything between creation and end; the previous attributes show the change.
            case "customer.subscription.updated": self = .subscriptionUpdated
            // The end itself. A cancellation for later is an update.
            case "customer.subscription.deleted": self = .subscriptionDeleted
            // A pause of the subscription, never of collection, and the end of one.
            case "customer.subscription.paused": self = .subscriptionPaused
            case "customer.subscription.resumed": self = .subscriptionResumed
            // Three days ahead, and also when a trial ends at once: then there is nothing to announce.
            case "customer.subscription.trial_will_end": self = .trialWillEnd
            // The update that comes with it shows the change.
            case "customer.subscription.pending_update_applied": self = .pendingUpdateApplied
            // A change that awaited payment was dropped.
            case "customer.subscription.pending_update_expired": self = .pendingUpdateExpired

            // Thin only: each names one change of state.
            case "customer.subscription.active", "customer.subscription.trialing": self = .subscriptionStep(.began)
            case "customer.subscription.past_due": self = .subscriptionStep(.pastDue)
            case "customer.subscription.unpaid": self = .subscriptionStep(.unpaid)
            case "customer.subscription.incomplete": self = .subscriptionCreated
            case "customer.subscription.incomplete_expired": self = .subscriptionStep(.incompleteExpired)
            case "customer.subscription.cancel_at_changed": self = .subscriptionStep(.endChanged)
            case "customer.subscription.item_added", "customer.subscription.item_removed":
                self = .subscriptionStep(.itemsChanged)
            case "customer.subscription.item_price_changed": self = .subscriptionStep(.productSwapped)
            case "customer.subscription.item_quantity_changed": self = .subscriptionStep(.quantityChanged)

            // The truth about money, also for a total of nothing and for payments outside of Stripe.
            case "invoice.paid": self = .invoicePaid
            // Which payment is which invoice's; since basil neither of the two says so.
            case "invoice_payment.paid": self = .invoicePayment
            // The same moment and the same invoice; not sent for payments outside of Stripe.
            case "invoice.payment_succeeded": self = .invoiceSettled
            // One failed attempt. Both come for an attempt that the customer has to confirm.
            case "invoice.payment_failed": self = .invoiceFailed(actionRequired: false)
            case "invoice.payment_action_required": self = .invoiceFailed(actionRequired: true)
            // A preview, some days ahead.
            case "invoice.upcoming": self = .invoiceUpcoming
            // Worth knowing: owed, stuck, late, written off.
            case "invoice.finalized", "invoice.finalization_failed", "invoice.overdue", "invoice.overpaid",
                "invoice.payment_attempt_required", "invoice.voided", "invoice.marked_uncollectible":
                self = .invoiceNotice

            // Arrangements for later, and their withdrawal.
            case "subscription_schedule.created", "subscription_schedule.updated",
                "subscription_schedule.phase_added", "subscription_schedule.phase_removed",
                "subscription_schedule.phase_end_date_changed":
                self = .schedule
            case "subscription_schedule.released", "subscription_schedule.canceled": self = .scheduleEnded

            // Refunded money, once: policy decides which of the two events reports it.
            case "refund.created", "refund.updated": self = .refund
            case "refund.failed": self = .refundFailed
            // The only notification of a refund's failure before 2024-10-28.
            case "charge.refund.updated": self = .chargeRefundUpdated
            case "charge.refunded": self = .chargeRefunded
            // The stages of a dispute.
            case "charge.dispute.created", "charge.dispute.updated", "charge.dispute.closed": self = .dispute

            // A sale by Checkout, or the link between a customer and the host's own account.
            case "checkout.session.completed", "checkout.session.async_payment_succeeded": self = .checkout
            case "checkout.session.async_payment_failed": self = .checkoutFailed

            case "entitlements.active_entitlement_summary.updated",
                "entitlements.active_entitlement_summary.entitlement_added",
                "entitlements.active_entitlement_summary.entitlement_removed":
                self = .entitlements
            case "customer.deleted": self = .customerDeleted
            case "ping", "v2.core.event_destination.ping": self = .test

            // The charge of a payment that another notification reports, with the names of both.
            case "charge.succeeded": self = .chargeNames
            // The payment of a sale whose money was only held before. Which sale, Stripe has to be asked.
            case "charge.captured": self = .chargeCaptured
            // The end of a payment that a sale may have waited for, such as a hold that ran out. Which sale, Stripe has to be asked.
            case "payment_intent.canceled": self = .paymentCanceled
            // The dispute itself, when money of it moves; its stage is another notification's.
            case "charge.dispute.funds_withdrawn", "charge.dispute.funds_reinstated": self = .disputeFunds
            // Companions of the above: another notification carries the fact.
            case "payment_intent.succeeded", "credit_note.created", "credit_note.updated", "credit_note.voided",
                "subscription_schedule.completed",
                "subscription_schedule.aborted", "subscription_schedule.expiring":
                self = .reportedElsewhere
            // Says nothing that a backend could act on.
            case "invoice.created", "invoice.updated", "invoice.sent", "invoice.will_be_due", "invoice.deleted",
                "checkout.session.expired", "customer.created", "customer.updated",
                "customer.subscription.default_payment_method_changed",
                "customer.subscription.item_tax_rates_changed", "invoice_payment.open", "invoice_payment.canceled":
                self = .unchanged
            // Kept, under Stripe's own name.
            default: self = .unknown
            }
        }

        /// True if the object has a name. The preview of an invoice had none before clover, and the summary of a
        /// customer's entitlements has none.
        var namesObject: Bool { isAboutObject && self != .invoiceUpcoming && self != .entitlements }

        /// True if a notification of this type is about an object, even if another notification reports that.
        var isAboutObject: Bool { self != .test && self != .unknown }

        /// True if a notification of this type is of use only together with its object.
        var readsObject: Bool {
            switch self {
            case .test, .reportedElsewhere, .unchanged, .unknown: false
            default: true
            }
        }
    }
}
