import LifecycleEvents
import SignatureCore

extension GooglePlayAdapter {
    func checkAddressee(of packageName: String) throws(DeliveryError) {
        guard configuration.packageNames.contains(where: { $0.hasOctets(of: packageName) }) else {
            throw DeliveryError(.misdirected, "packageName is not one of Configuration.packageNames")
        }
    }

    /// - Parameter name: of the Pub/Sub subscription that a message came through.
    func checkSubscription(_ name: String) throws(DeliveryError) {
        let expected = configuration.subscriptions
        guard expected.isEmpty || expected.contains(where: { $0.hasOctets(of: name) }) else {
            throw DeliveryError(
                .misdirected,
                "message came through a subscription that Configuration.subscriptions does not name"
            )
        }
    }
}
