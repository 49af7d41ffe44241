package import Normalizer

/// The cases that a provider documents, so that untried ones show.
package struct DocumentedCase: Sendable {
    package let native: NativeCase
    /// True if the subtype has to be this one; otherwise any will do.
    let isExact: Bool
    /// Why it may become `unmapped`, if it does.
    package let explanation: String?
    /// A type of the same object whose deliveries, under this name, stand in where no vector has this type.
    let template: String?
}

extension DocumentedCase {
    /// Everything that a provider documents, in the order of its documentation.
    package static func all(_ provider: Provider) -> [DocumentedCase] {
        switch provider {
        case .apple: apple
        case .google: google
        case .revenuecat: revenueCat
        case .stripe: stripe
        default: []
        }
    }

    /// "notificationType" and "subtype" (App Store Server Notifications V2).
    private static let apple: [DocumentedCase] = [
        ("SUBSCRIBED", ["INITIAL_BUY", "RESUBSCRIBE"]), ("DID_RENEW", ["", "BILLING_RECOVERY"]),
        ("DID_FAIL_TO_RENEW", ["GRACE_PERIOD", ""]), ("GRACE_PERIOD_EXPIRED", [""]),
        ("EXPIRED", ["VOLUNTARY", "BILLING_RETRY", "PRICE_INCREASE", "PRODUCT_NOT_FOR_SALE", ""]),
        ("DID_CHANGE_RENEWAL_STATUS", ["AUTO_RENEW_DISABLED", "AUTO_RENEW_ENABLED"]),
        ("DID_CHANGE_RENEWAL_PREF", ["UPGRADE", "DOWNGRADE", ""]),
        ("OFFER_REDEEMED", ["UPGRADE", "DOWNGRADE", "", "INITIAL_BUY", "RESUBSCRIBE"]),
        ("PRICE_INCREASE", ["PENDING", "ACCEPTED"]), ("PRICE_CHANGE", [""]), ("METADATA_UPDATE", [""]),
        ("MIGRATION", [""]), ("ONE_TIME_CHARGE", [""]), ("REFUND", [""]), ("REFUND_DECLINED", [""]),
        ("REFUND_REVERSED", [""]), ("CONSUMPTION_REQUEST", [""]), ("REVOKE", [""]), ("RENEWAL_EXTENDED", [""]),
        ("RENEWAL_EXTENSION", ["SUMMARY", "FAILURE"]),
        ("EXTERNAL_PURCHASE_TOKEN", ["UNREPORTED", "CREATED", "ACTIVE_TOKEN_REMINDER"]), ("RESCIND_CONSENT", [""]),
        ("TEST", [""]), ("uploaded transaction", nil), ("uploaded renewalInfo", nil), ("uploaded appTransaction", nil),
    ].flatMap { (type: String, subtypes: [String]?) in
        (subtypes ?? [""]).map { subtype in
            DocumentedCase(
                native: NativeCase(.apple, type, subtype: subtype),
                isExact: subtypes != nil,
                explanation: ["DID_CHANGE_RENEWAL_PREF", "OFFER_REDEEMED"].contains(type)
                    ? "without the renewal info, or the offer, that it is about" : nil,
                template: nil
            )
        }
    }

    /// "Real-time developer notifications reference guide", with every state of a subscription
    /// (`SubscriptionState` of `purchases.subscriptionsv2`).
    private static let google: [DocumentedCase] = {
        func documented(_ type: String, _ subtype: String, in state: String = "", why: String? = nil) -> DocumentedCase
        {
            DocumentedCase(
                native: NativeCase(.google, type, subtype: subtype, state: state),
                isExact: true,
                explanation: why,
                template: nil
            )
        }
        let states = [
            "ACTIVE", "CANCELED", "IN_GRACE_PERIOD", "ON_HOLD", "PAUSED", "EXPIRED", "PENDING",
            "PENDING_PURCHASE_CANCELED", "UNSPECIFIED",
        ]
        func explanation(ofState state: String) -> String? {
            state == "UNSPECIFIED" ? "a state without meaning; the answer is kept" : nil
        }
        let unpublished = [14, 15, 16, 21, 23]
        var cases: [DocumentedCase] = []
        for number in 1...23 {
            for state in states {
                let explanation =
                    unpublished.contains(number) ? "Google publishes no such number" : explanation(ofState: state)
                cases.append(documented("subscriptionNotification", String(number), in: state, why: explanation))
            }
        }
        for number in ["1", "2"] {
            for state in ["PURCHASED", "CANCELLED", "PENDING"] {
                cases.append(documented("oneTimeProductNotification", number, in: state))
            }
        }
        for state in states {
            cases.append(documented("uploaded token", "subscription", in: state, why: explanation(ofState: state)))
        }
        for state in ["PURCHASED", "CANCELLED", "PENDING"] {
            cases.append(documented("uploaded token", "product", in: state))
        }
        return cases + [
            documented("voidedPurchaseNotification", "product 1, refund 1", in: "ACTIVE"),
            documented("voidedPurchaseNotification", "product 1, refund 1", in: "EXPIRED"),
            documented("voidedPurchaseNotification", "product 2, refund 1", in: "CANCELLED"),
            documented("voidedPurchaseNotification", "product 2, refund 1", in: "PURCHASED"),
            documented(
                "voidedPurchaseNotification",
                "product 2, refund 2",
                in: "PURCHASED",
                why: "a partial refund whose amount is not stated"
            ),
            documented("pendingRefundReviewNotification", "", in: "not asked"),
            documented("testNotification", "", in: "not asked"),
        ]
    }()

    /// "Event Types and Fields".
    private static let revenueCat: [DocumentedCase] = {
        func documented(_ type: String, _ subtype: String? = nil, like template: String? = nil) -> DocumentedCase {
            DocumentedCase(
                native: NativeCase(.revenuecat, type, subtype: subtype ?? ""),
                isExact: subtype != nil,
                explanation: "without the fields that make up this type",
                template: template
            )
        }
        let reasons = [
            "UNSUBSCRIBE", "BILLING_ERROR", "DEVELOPER_INITIATED", "PRICE_INCREASE", "CUSTOMER_SUPPORT", "UNKNOWN",
        ]
        var cases = ["TRIAL", "INTRO", "NORMAL", "PROMOTIONAL", "PREPAID"].map { documented("INITIAL_PURCHASE", $0) }
        cases += reasons.map { documented("CANCELLATION", $0) }
        cases += (reasons + ["SUBSCRIPTION_PAUSED"]).map { documented("EXPIRATION", $0) }
        cases += [
            "RENEWAL", "UNCANCELLATION", "NON_RENEWING_PURCHASE", "SUBSCRIPTION_PAUSED", "BILLING_ISSUE",
            "PRODUCT_CHANGE", "TRANSFER", "SUBSCRIPTION_EXTENDED", "TEMPORARY_ENTITLEMENT_GRANT", "REFUND_REVERSED",
            "INVOICE_ISSUANCE", "VIRTUAL_CURRENCY_TRANSACTION", "EXPERIMENT_ENROLLMENT", "SUBSCRIBER_ALIAS",
            "PURCHASE_REDEEMED", "PRICE_INCREASE_CONSENT_REQUIRED", "PRICE_INCREASE_CONSENT_APPROVED", "TEST",
            "PAYWALL_IMPRESSION",
        ].map { documented($0) }
        cases += ["PAYWALL_CLOSE", "PAYWALL_CANCEL", "PAYWALL_EXIT_OFFER", "PAYWALL_COMPONENT_INTERACTED"].map {
            documented($0, like: "PAYWALL_IMPRESSION")
        }
        return cases
    }()

    /// "Types of events", as far as they are about subscriptions and what is sold once.
    private static let stripe: [DocumentedCase] = {
        func documented(_ types: [String], like template: String? = nil) -> [DocumentedCase] {
            types.map {
                DocumentedCase(
                    native: NativeCase(.stripe, $0),
                    isExact: false,
                    explanation: "a status, or an object, that Stripe does not document",
                    template: template
                )
            }
        }
        let subscription = ["created", "updated", "deleted", "paused", "resumed", "trial_will_end"]
        let thin = ["active", "trialing", "incomplete", "incomplete_expired"]
        let unchangedThin = ["default_payment_method_changed", "item_tax_rates_changed"]
        let invoice = ["overpaid", "payment_attempt_required", "sent", "updated", "will_be_due", "deleted"]
        let schedule = ["aborted", "expiring"]
        let dispute = ["created", "updated", "closed"]
        return documented(subscription.map { "customer.subscription.\($0)" })
            + documented(["pending_update_applied", "pending_update_expired"].map { "customer.subscription.\($0)" })
            + documented(["past_due", "unpaid", "cancel_at_changed"].map { "v1.customer.subscription.\($0)" })
            + documented(["item_price_changed", "item_quantity_changed"].map { "v1.customer.subscription.\($0)" })
            + documented(
                ["item_added", "item_removed"].map { "v1.customer.subscription.\($0)" },
                like: "v1.customer.subscription.item_price_changed"
            )
            + documented(thin.map { "v1.customer.subscription.\($0)" }, like: "v1.customer.subscription.created")
            + documented(
                unchangedThin.map { "v1.customer.subscription.\($0)" },
                like: "v1.customer.subscription.created"
            )
            + documented(
                ["paid", "payment_succeeded", "payment_failed", "payment_action_required"].map { "invoice.\($0)" }
            )
            + documented(["created", "upcoming", "finalized", "finalization_failed"].map { "invoice.\($0)" })
            + documented(["overdue", "voided", "marked_uncollectible"].map { "invoice.\($0)" })
            + documented(invoice.map { "invoice.\($0)" }, like: "invoice.overdue")
            + documented(
                ["created", "updated", "released", "canceled", "completed"].map { "subscription_schedule.\($0)" }
            )
            + documented(schedule.map { "subscription_schedule.\($0)" }, like: "subscription_schedule.completed")
            + documented(
                ["phase_added", "phase_removed", "phase_end_date_changed"].map { "v1.subscription_schedule.\($0)" },
                like: "v1.customer.subscription.created"
            )
            + documented(["refund.created", "refund.updated", "refund.failed", "charge.refunded"])
            + documented(["charge.refund.updated"], like: "charge.succeeded")
            + documented(dispute.map { "charge.dispute.\($0)" } + ["charge.dispute.funds_withdrawn"])
            + documented(["charge.dispute.funds_reinstated"], like: "charge.dispute.funds_withdrawn")
            + documented(
                ["completed", "async_payment_succeeded", "async_payment_failed"].map { "checkout.session.\($0)" }
            )
            + documented(["checkout.session.expired"], like: "checkout.session.completed")
            + documented(["entitlements.active_entitlement_summary.updated"])
            + documented(
                ["entitlement_added", "entitlement_removed"].map { "v1.entitlements.active_entitlement_summary.\($0)" },
                like: "v1.customer.subscription.created"
            )
            + documented(["customer.created", "customer.deleted"])
            + documented(["customer.updated"], like: "customer.created")
            + documented(["charge.succeeded", "charge.captured", "invoice_payment.paid"])
            + documented(["payment_intent.succeeded", "payment_intent.canceled"], like: "charge.succeeded")
            + documented(["invoice_payment.open", "invoice_payment.canceled"], like: "invoice_payment.paid")
            + documented(["created", "updated", "voided"].map { "credit_note.\($0)" }, like: "charge.succeeded")
            + documented(["ping", "v2.core.event_destination.ping"])
            + documented(["asked subscription", "asked checkout.session"])
    }()
}
