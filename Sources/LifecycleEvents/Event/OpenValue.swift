import SignatureCore

/// A value from an open set: the documented ones are static members, any other is kept verbatim.
///
/// Add a value of your own, or one that a provider introduced yesterday, in an extension:
///
/// ```swift
/// extension Provider { static let paddle: Provider = "paddle" }
/// ```
///
/// Two values are equal if they are the same octets. Swift also equates strings that only look alike, which are two names to a store and
/// to a database.
public protocol OpenValue: RawRepresentable, Hashable, Sendable, Codable, ExpressibleByStringInterpolation,
    CustomStringConvertible
where RawValue == String {
    /// Keeps the value as it is.
    init(rawValue: String)
}

extension OpenValue {
    /// Keeps a value as it is.
    public init(_ value: String) { self.init(rawValue: value) }

    /// Keeps the literal as it is.
    public init(stringLiteral value: String) {
        self.init(rawValue: value)
    }

    /// The value itself.
    public var description: String { rawValue }

    /// True if both are the same octets.
    @inlinable
    public static func == (one: Self, other: Self) -> Bool {
        // An adapter compares dozens of values for each event, and most differ, which Swift's own comparison finds sooner.
        one.rawValue == other.rawValue && one.hasOctets(of: other)
    }

    // Else that of `RawRepresentable` is chosen, which compares strings.
    /// False if both are the same octets.
    @inlinable
    public static func != (one: Self, other: Self) -> Bool { !(one == other) }

    @usableFromInline
    func hasOctets(of other: Self) -> Bool { rawValue.hasOctets(of: other.rawValue) }

    /// True for a value that was left blank.
    package var isEmpty: Bool { rawValue.isEmpty }
}

extension OpenValue where Self: Comparable {
    /// By the values, in the order of `String`, and of the octets between values that only look alike.
    public static func < (one: Self, other: Self) -> Bool { one.rawValue.precedes(other.rawValue) }
}

/// The service whose notification or answer an event was made from.
public struct Provider: OpenValue {
    /// The name used in JSON and metrics.
    public let rawValue: String
    /// Keeps a name as it is.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// App Store Server Notifications and the App Store Server API.
    public static let apple: Provider = "apple"
    /// Real-time developer notifications and the Play Developer API.
    public static let google: Provider = "google"
    /// RevenueCat webhooks and REST API.
    public static let revenuecat: Provider = "revenuecat"
    /// Stripe webhooks, event destinations and API.
    public static let stripe: Provider = "stripe"
    /// The backend itself, which knows its signed-in users: ``StoreStatement/claim(of:by:at:)``.
    public static let host: Provider = "host"
}

extension Provider {
    /// The providers that this package has adapters and simulators for, in the order in which pages list them.
    package static let adapted: [Provider] = [.apple, .google, .revenuecat, .stripe]

    /// Their names, as help and errors give the choice: `apple, google, revenuecat or stripe`.
    package static var choice: String { choice(of: adapted) }

    /// The names of some of them, in the same form.
    package static func choice(of providers: [Provider]) -> String {
        let names = providers.map(\.rawValue)
        return names.dropLast().joined(separator: ", ") + names.suffix(1).map { " or \($0)" }.joined()
    }
}

/// The store that a purchase lives in, whatever service reports it.
public struct PurchaseStore: OpenValue {
    /// The name used in JSON and in event identities.
    public let rawValue: String
    /// Keeps a name as it is.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Apple's App Store.
    public static let appStore: PurchaseStore = "app_store"
    /// Apple's Mac App Store, if a provider distinguishes the two.
    public static let macAppStore: PurchaseStore = "mac_app_store"
    /// Google Play.
    public static let playStore: PurchaseStore = "play_store"
    /// Stripe Billing and Checkout.
    public static let stripe: PurchaseStore = "stripe"
    /// Amazon Appstore.
    public static let amazon: PurchaseStore = "amazon"
    /// Roku Channel Store.
    public static let roku: PurchaseStore = "roku"
    /// Paddle Billing.
    public static let paddle: PurchaseStore = "paddle"
    /// RevenueCat Web Billing.
    public static let rcBilling: PurchaseStore = "rc_billing"
    /// RevenueCat's Test Store.
    public static let testStore: PurchaseStore = "test_store"
    /// Access that was granted without a store.
    public static let promotional: PurchaseStore = "promotional"
    /// The provider did not say.
    public static let unknown: PurchaseStore = "unknown"
}

/// Which of a store's worlds a purchase belongs to. An absent statement is ``unknown``, never production.
public struct StoreEnvironment: OpenValue {
    /// The name used in JSON and in event identities.
    public let rawValue: String
    /// Keeps a name as it is.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Real money.
    public static let production: StoreEnvironment = "production"
    /// The store's test world: Apple's Sandbox and TestFlight, Play licence testers, Stripe test mode.
    public static let sandbox: StoreEnvironment = "sandbox"
    /// Unsigned data from StoreKit testing in Xcode.
    public static let xcode: StoreEnvironment = "xcode"
    /// Unsigned data made for unit tests.
    public static let localTesting: StoreEnvironment = "local_testing"
    /// Not stated.
    public static let unknown: StoreEnvironment = "unknown"
}
