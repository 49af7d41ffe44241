/// What stores do differently where credits are concerned.
struct StoreCreditRules {
    /// The store states a period before it is paid for, so that credits wait for the charge: Stripe's subscription is `active` an hour
    /// before the invoice of a cycle is paid, and for as long as `collection_method` is `send_invoice`
    /// (https://docs.stripe.com/billing/invoices/subscription).
    var waitsForCharge = false
    /// A charge is what was left to pay once the unused part was set off (https://docs.stripe.com/billing/subscriptions/prorations). Else it is
    /// the whole price, and the unused part goes back by itself (https://developer.apple.com/app-store/subscriptions/#ranking-subscriptions).
    var chargesNet = false
    /// A product may begin anew ahead of its end, in another rhythm or quantity, and the unused part is set off
    /// (https://docs.stripe.com/billing/subscriptions/billing-cycle).
    var restartsProduct = false
    /// The product may change in the middle of a period that goes on (https://docs.stripe.com/billing/subscriptions/change-price).
    var switchesWithinPeriods = false
    /// An order names who paid, and a renewal by its number; what goes on of it under another purchase token is paid for
    /// (https://developer.android.com/google/play/billing/subscriptions).
    var namesOrders = false
}

extension Store {
    var creditRules: StoreCreditRules {
        switch self {
        case .stripe:
            StoreCreditRules(waitsForCharge: true, chargesNet: true, restartsProduct: true, switchesWithinPeriods: true)
        case .playStore: StoreCreditRules(namesOrders: true)
        default: StoreCreditRules()
        }
    }
}
