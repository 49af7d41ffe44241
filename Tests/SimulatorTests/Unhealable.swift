import Normalizer
import NotificationSimulator

/// A difference that a loss may leave, with the provider's reason. This is the one list of them; the page on healing has it for users.
struct Unhealable: Sendable {
    /// The providers that it is about.
    var providers: [Provider]
    /// The reason.
    var reason: String
    /// The differences, as `LossyHost.Outcome` words them. With `…` at an end, one stands for several.
    var differences: [String]

    func covers(_ difference: String, at provider: Provider) -> Bool {
        providers.contains(provider) && differences.contains { Self.matches($0, difference) }
    }

    static func matches(_ pattern: String, _ difference: String) -> Bool {
        if pattern.hasSuffix("…") { return difference.hasPrefix(pattern.dropLast()) }
        return pattern.hasPrefix("…") ? difference.hasSuffix(pattern.dropFirst()) : pattern == difference
    }

    private static let all = CustomerStory.providers
    private static let forgetful: [Provider] = [.google, .revenuecat]

    static let rows: [Unhealable] = [
        Unhealable(
            providers: all,
            reason: "A later notification came first, and has overtaken it: it is stored as superseded.",
            differences: ["late …"]
        ),
        Unhealable(
            providers: [.google, .revenuecat, .stripe],
            reason: "A test notification is about no purchase, and a history is read for purchases.",
            differences: ["no notice"]
        ),
        Unhealable(
            providers: forgetful,
            reason: "No notification has named the purchase, so there is no name to ask with.",
            differences: ["… of an unknown purchase"]
        ),
        Unhealable(
            providers: forgetful,
            reason: "An answer shows the present period and none before it.",
            differences: ["access in the past", "credits", "no started", "no renewed", "no product_changed"]
        ),
        Unhealable(
            providers: forgetful,
            reason: "A setting went back, took effect or ended with the purchase before anyone asked.",
            differences: [
                "no auto_renew_disabled", "no auto_renew_enabled", "no billing_issue", "no extended", "no paused",
                "no pause_scheduled", "no product_change_scheduled",
            ]
        ),
        Unhealable(
            providers: forgetful,
            reason: "The successor or the refund behind an end is not known, so that it is reported as an end.",
            differences: ["another expired"]
        ),
        Unhealable(
            providers: [.google],
            reason: "The purchase was paid for, or acknowledged, before anyone asked.",
            differences: ["no acknowledgement_required", "no purchase_pending"]
        ),
        Unhealable(
            providers: [.google],
            reason: "The customer had agreed to the price before anyone asked.",
            differences: ["no price_change"]
        ),
        Unhealable(
            providers: [.google],
            reason: "Only the notification has the token that answers a refund review.",
            differences: ["no refund_requested"]
        ),
        Unhealable(
            providers: [.google],
            reason: "The end of a refunded period came before its refund, which the list of voided purchases brought.",
            differences: ["another revoked"]
        ),
        Unhealable(
            providers: [.revenuecat],
            reason: "The API states no refund, no transfer, and no change that was taken back.",
            differences: [
                "no refunded", "no refund_reversed", "no transferred", "no product_change_reverted",
                "no one_time_purchased",
            ]
        ),
        Unhealable(
            providers: [.revenuecat],
            reason: "An answer names no transaction, so it cannot take the refund of one back.",
            differences: ["access after healing"]
        ),
        Unhealable(
            providers: [.revenuecat],
            reason: "The end of access in a failed charge was over before anyone asked.",
            differences: ["no expired"]
        ),
    ]
}
