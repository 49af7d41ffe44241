import LifecycleEvents

extension AppleSimulator {
    /// Every story that the App Store can play: those of all providers, and those of acts that it alone has.
    public static let stories: [CustomerStory] = CustomerStory.all.filter { $0.absence(at: .apple) == nil } + ownStories

    private static let ownStories: [CustomerStory] = [
        CustomerStory(
            "win-back",
            "The customer leaves, and a win-back offer brings them back.",
            steps: [
                .init(.after(.zero), .subscribe(.proMonthly)),
                .init(.after(.days(3)), .cancel),
                .init(.atPeriodEnd, .expire(.customer)),
                .init(.after(.days(90)), .appStore(.subscribe(.proMonthly, offer: .winBack))),
            ]
        ),
        CustomerStory(
            "not-for-sale",
            "The product is withdrawn from sale.",
            steps: [
                .init(.after(.zero), .subscribe(.basicMonthly)),
                .init(.atPeriodEnd, .appStore(.expireNotForSale)),
            ]
        ),
        CustomerStory(
            "refund-requested",
            "The current period is refunded at the customer's request, and the refund undone.",
            steps: [
                .init(.after(.zero), .subscribe(.proMonthly)),
                .init(.after(.days(2)), .appStore(.requestRefund(reason: "UNSATISFIED_WITH_PURCHASE"))),
                .init(.after(.days(1)), .refund(.latest)),
                .init(.after(.days(10)), .reverseRefund),
            ]
        ),
        CustomerStory(
            "refund-prorated",
            "Half of the current period is refunded.",
            steps: [
                .init(.after(.zero), .subscribe(.proYearly)),
                .init(.after(.days(180)), .appStore(.refund(.latest, percentage: 50_685))),
            ]
        ),
        CustomerStory(
            "refund-consumable",
            "Coins are bought, and refunded at the customer's request.",
            steps: [
                .init(.after(.zero), .buy(.coins, quantity: 3)),
                .init(.after(.hours(3)), .appStore(.requestRefund(reason: "FULFILLMENT_ISSUE"))),
                .init(.after(.days(1)), .refund(.latest)),
            ]
        ),
        CustomerStory(
            "mass-extension",
            "The developer gives a fortnight, and a mass extension ends.",
            steps: [
                .init(.after(.zero), .subscribe(.basicMonthly)),
                .init(.after(.days(10)), .extend(days: 14)),
                .init(.after(.days(1)), .appStore(.failToExtend)),
                .init(.after(.hours(2)), .appStore(.finishMassExtension(succeeded: 1204, failed: 3))),
                .init(.atPeriodEnd, .renew),
            ]
        ),
        CustomerStory(
            "one-time",
            "Coins, something to keep, and a season.",
            steps: [
                .init(.after(.zero), .buy(.coins)),
                .init(.after(.days(1)), .buy(.lifetime)),
                .init(.after(.days(1)), .appStore(.buySeason)),
            ]
        ),
        CustomerStory(
            "offer-redeemed",
            "A subscriber redeems a code for the next period.",
            steps: [
                .init(.after(.zero), .subscribe(.proMonthly)),
                .init(.after(.days(8)), .appStore(.redeem(.code))),
                .init(.atPeriodEnd, .renew),
                .init(.atPeriodEnd, .renew),
            ]
        ),
        CustomerStory(
            "advanced-commerce",
            "Migration, new descriptions and a new price through the Advanced Commerce API.",
            steps: [
                .init(.after(.zero), .subscribe(.proMonthly)),
                .init(.after(.days(3)), .appStore(.migrate)),
                .init(.after(.days(1)), .appStore(.updateMetadata)),
                .init(.after(.days(1)), .appStore(.changePrice(to: 11_990))),
                .init(.atPeriodEnd, .renew),
            ]
        ),
        CustomerStory(
            "external-purchase",
            "A token for purchases outside the App Store is made, remembered and asked for.",
            steps: [
                .init(.after(.zero), .appStore(.externalPurchaseToken(.created))),
                .init(.after(.days(30)), .appStore(.externalPurchaseToken(.activeTokenReminder))),
                .init(.after(.days(10)), .appStore(.externalPurchaseToken(.unreported))),
            ]
        ),
        CustomerStory(
            "consent-rescinded",
            "A parent withdraws consent for a child's use of the app.",
            steps: [.init(.after(.zero), .appStore(.rescindConsent))]
        ),
    ]
}
