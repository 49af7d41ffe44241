import LifecycleEvents
import SignatureCore
import WireJSON

// Strings that decide something are compared octet for octet: `==` on `String` follows canonical equivalence.
extension AppleJWSVerifier {
    func requireApp(of content: some NamingApp) throws(DeliveryError) -> AppleAdapter.Configuration.App {
        try requireApp(
            content.bundleID,
            appAppleID: content.appAppleID,
            environment: content.environment,
            in: "notification"
        )
    }

    /// - Parameter namesApp: true if this kind of data carries `appAppleId` in Production.
    func requireApp(
        _ bundleID: String,
        appAppleID: Int64?,
        environment: AppleEnvironment,
        in role: StaticString,
        namesApp: Bool = true
    ) throws(DeliveryError) -> AppleAdapter.Configuration.App {
        let named = apps.filter { $0.bundleID.hasOctets(of: bundleID) }
        guard !named.isEmpty else {
            throw misdirected("\(role): bundleId is not that of a configured app")
        }
        try requireEnvironment(environment, role)
        guard namesApp, environment == .production else { return named[0] }
        guard let app = named.first(where: { $0.appAppleID == appAppleID }), appAppleID != nil else {
            throw misdirected("\(role): appAppleId is not that of the configured app")
        }
        return app
    }

    func requireEnvironment(_ environment: AppleEnvironment, _ role: StaticString) throws(DeliveryError) {
        guard environments.contains(where: { $0.rawValue.hasOctets(of: environment.rawValue) }) else {
            throw misdirected("\(role): environment is not a configured one")
        }
    }

    func requireSame(
        _ lhs: AppleEnvironment,
        _ rhs: AppleEnvironment,
        named what: StaticString
    ) throws(DeliveryError) {
        try requireSame(lhs.rawValue, rhs.rawValue, named: what)
    }

    func requireSame(_ lhs: String, _ rhs: String, named what: StaticString) throws(DeliveryError) {
        guard lhs.hasOctets(of: rhs) else {
            throw DeliveryError(
                .misdirected,
                "\(what) must be the same, and differ",
                isAuthentic: verification.isSigned
            )
        }
    }

    /// True if a payload is a notification of a configured app and environment. One that names neither is no one's to keep.
    func recognize(_ payload: JSONValue) throws(DeliveryError) -> Bool {
        guard !AppleNotification.isOfAnotherKind(payload) else {
            throw misdirected("notification: the signed data is of another kind")
        }
        guard let app = AppleNotification.app(in: payload) else { return false }
        return apps.contains { $0.bundleID.hasOctets(of: app.bundleID) }
            && environments.contains { $0.rawValue.hasOctets(of: app.environment) }
    }

    // Apple's signature alone is not enough: any customer of any app has data that Apple signed.
    private func misdirected(_ message: String) -> DeliveryError { DeliveryError(.misdirected, message) }
}
