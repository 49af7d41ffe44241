import LifecycleEvents
import SignatureCore

extension StripeAdapter {
    func checkAddressee(of occasion: StripeOccasion) throws(DeliveryError) {
        let expected: Bool? =
            switch configuration.mode {
            case .any: nil
            case .live: true
            case .test: false
            }
        let isLive = occasion.isLive
        if let expected, isLive != expected {
            throw occasion.error(
                .misdirected,
                "livemode is \(isLive.map(String.init) ?? "absent"), expected \(expected)"
            )
        }
        try checkAccount(of: occasion)
    }

    func checkAccount(of occasion: StripeOccasion) throws(DeliveryError) {
        if let accounts = configuration.accounts, let account = occasion.account,
            account != configuration.ownAccount, !accounts.contains(account)
        {
            throw occasion.error(.misdirected, "connected account is not one of the \(accounts.count) configured")
        }
    }
}
