package import AppleJWS
package import NotificationSimulator

extension AppleAdapter.Configuration {
    /// One that trusts a simulated App Store, for its app and environment.
    package init(trusting simulator: AppleSimulator) throws {
        self.init(
            apps: [.init(bundleID: simulator.bundleId, appAppleID: simulator.appAppleId)],
            environments: [.init(rawValue: simulator.environment.rawValue)],
            trustAnchors: try AppleTrustAnchors(der: [simulator.rootCertificate])
        )
    }
}
