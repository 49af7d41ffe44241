import LifecycleEvents
import SignatureCore

extension RevenueCatAdapter {
    func checkAddressee(of webhook: RevenueCatNotification.Webhook) throws(DeliveryError) {
        let isAboutPurchase = webhook.row.isAboutPurchase
        if let expected = setup.configuration.environments {
            if let environment = webhook.event.environment {
                // Open values compare as text; octets decide here.
                let stated = environment.canonical.rawValue
                // Another text is the payload's own, which no message shows.
                let name = [.production, .sandbox].contains(environment) ? stated : "of another name"
                guard expected.contains(where: { $0.rawValue.hasOctets(of: stated) }) else {
                    throw DeliveryError(
                        .misdirected,
                        "webhook is of an environment that is not configured: \(name)",
                        isAuthentic: true
                    )
                }
            } else if isAboutPurchase {
                throw DeliveryError(.misdirected, "webhook about a purchase names no environment", isAuthentic: true)
            }
        }
        if let expected = setup.configuration.appIDs {
            if let app = webhook.event.appID {
                guard expected.contains(where: { app.hasOctets(of: $0) }) else {
                    throw DeliveryError(
                        .misdirected,
                        "webhook is about an app that Configuration.appIDs does not name",
                        isAuthentic: true
                    )
                }
            } else if isAboutPurchase, webhook.event.store != .promotional {
                throw DeliveryError(.misdirected, "webhook about a purchase names no app", isAuthentic: true)
            }
        }
    }
}
