import LifecycleEvents

extension AppleAdapter {
    /// The expectations of a receiver of Apple's signed data. Nothing in a payload switches any of them off.
    public struct Configuration: Sendable {
        /// An app whose data is expected.
        public struct App: Hashable, Sendable {
            /// The bundle id.
            public var bundleID: String
            /// The App Store's numeric id of the app. Production data has to carry it.
            public var appAppleID: Int64?

            /// Names an app.
            public init(bundleID: String, appAppleID: Int64? = nil) {
                self.bundleID = bundleID
                self.appAppleID = appAppleID
            }
        }

        /// When the certificates of a chain have to be valid.
        @nonexhaustive
        public enum CertificateTime: Hashable, Sendable {
            /// When Apple signed (`signedDate`). Old data can be verified again forever; set a maximum age if a leaked
            /// and expired signing key worries you.
            case signedDate
            /// When the data was received.
            case receipt
        }

        /// The apps whose data is expected.
        public var apps: [App]
        /// The environments whose data is expected. Signed and unsigned ones cannot be mixed.
        public var environments: Set<AppleEnvironment>
        /// The roots that a chain has to end in.
        public var trustAnchors: AppleTrustAnchors
        /// When the certificates have to be valid.
        public var certificateTime: CertificateTime = .signedDate
        /// How far `signedDate` may lie after the time of receipt.
        public var maximumFutureSkew: Duration = .seconds(300)
        /// How far `signedDate` may lie before the time of receipt; nil for any age. Apple repeats a notification for
        /// about a week with its first signature, so a shorter age loses events. Without a limit, a thief of a signing
        /// key that has since expired could continue to sign with an old date. Answers of Apple's servers (the channels
        /// `history` and `refetch`) may be of any age, and uploads of clients have ``maximumUploadAge`` instead.
        public var maximumAge: Duration? = .seconds(14 * 86_400)
        /// How far the `signedDate` of a client's upload may lie before the time of receipt; nil for any age. A device
        /// uploads data as signed at its last contact with the App Store, which may be years ago for a lifetime
        /// purchase.
        public var maximumUploadAge: Duration?
        /// The effect of revoked certificates. Unless you set it, revocation is not checked.
        public var revocation: AppleRevocation = .off
        /// The longest body that is read, in bytes.
        public var maximumBodyBytes: Int = Limits.bodyBytes
        /// How many certificate chains are remembered as valid. Apple uses very few at a time.
        public var chainCacheCapacity: Int = 32

        /// Describes the expected deliveries.
        public init(apps: [App], environments: Set<AppleEnvironment>, trustAnchors: AppleTrustAnchors) {
            self.apps = apps
            self.environments = environments
            self.trustAnchors = trustAnchors
        }

        func validate() throws(ConfigurationError) {
            guard !apps.isEmpty else { throw ConfigurationError("configure at least one app") }
            guard !environments.isEmpty else { throw ConfigurationError("configure at least one environment") }
            for app in apps {
                guard !app.bundleID.utf8.allSatisfy({ $0 <= 0x20 }) else {
                    throw ConfigurationError("an app's bundleID must not be blank")
                }
                guard !environments.contains(.production) || app.appAppleID != nil else {
                    throw ConfigurationError("app \(app.bundleID) needs its appAppleID, which Production requires")
                }
            }
            guard environments.allSatisfy(\.isSigned) || !environments.contains(where: \.isSigned) else {
                throw ConfigurationError(
                    "Xcode and LocalTesting are unsigned and cannot be combined with Production or Sandbox"
                )
            }
            for environment in environments
            where ![.production, .sandbox, .xcode, .localTesting].contains(environment) {
                throw ConfigurationError(
                    "environment \(environment) must be Production, Sandbox, Xcode or LocalTesting"
                )
            }
            guard [maximumFutureSkew, maximumAge, maximumUploadAge].allSatisfy({ $0.map { $0 >= .zero } ?? true })
            else {
                throw ConfigurationError("maximumFutureSkew, maximumAge and maximumUploadAge must not be negative")
            }
            guard maximumBodyBytes > 0, chainCacheCapacity > 0 else {
                throw ConfigurationError("maximumBodyBytes and chainCacheCapacity must be positive")
            }
        }
    }
}
