import LifecycleEvents
import SignatureCore

extension StripeAdapter {
    func checkAddressee(of notification: StripeNotification) throws(DeliveryError) {
        let expected: Bool? =
            switch configuration.mode {
            case .any: nil
            case .live: true
            case .test: false
            }
        if let expected, notification.isLive != expected {
            throw DeliveryError(
                .misdirected,
                "livemode is \(notification.isLive.map(String.init) ?? "absent"), expected \(expected)",
                isAuthentic: true
            )
        }
        try checkAccount(of: notification)
    }

    func checkAccount(of notification: StripeNotification) throws(DeliveryError) {
        if let accounts = configuration.accounts, let account = notification.account,
            account != configuration.ownAccount, !accounts.contains(account)
        {
            throw DeliveryError(
                .misdirected,
                "connected account is not one of the \(accounts.count) configured",
                isAuthentic: true
            )
        }
    }
}
