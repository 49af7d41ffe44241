public import LifecycleEvents

/// Which of Apple's worlds signed something (App Store Server API, `environment`).
public struct AppleEnvironment: OpenValue {
    /// Apple's name for it.
    public let rawValue: String
    /// Keeps a name as it is.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The App Store.
    public static let production: AppleEnvironment = "Production"
    /// Sandbox accounts, TestFlight and app review.
    public static let sandbox: AppleEnvironment = "Sandbox"
    /// StoreKit testing in Xcode; not signed by Apple.
    public static let xcode: AppleEnvironment = "Xcode"
    /// Unit tests; not signed by Apple.
    public static let localTesting: AppleEnvironment = "LocalTesting"

    var isSigned: Bool { self == .production || self == .sandbox }

    package var canonical: StoreEnvironment {
        switch self {
        case .production: .production
        case .sandbox: .sandbox
        case .xcode: .xcode
        case .localTesting: .localTesting
        default: .unknown
        }
    }
}
