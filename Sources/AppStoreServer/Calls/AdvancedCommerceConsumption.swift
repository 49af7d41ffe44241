public import AppleJWS
public import FoundationEssentials
import HTTPTransport
import LifecycleEvents

/// Your answer to Apple's question about a refund of an Advanced Commerce purchase, which Apple takes only in the form of
/// version 1 (<https://developer.apple.com/documentation/appstoreserverapi/send-consumption-information-v1>).
///
/// Every number is from an open set. What you do not state is sent as undeclared.
public struct AdvancedCommerceConsumption: Hashable, Sendable {
    /// The delivery of the purchase by your app.
    public struct Delivery: OpenCode {
        /// Apple's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// It works.
        public static let delivered: Delivery = 0
        /// It was not delivered because of a quality issue.
        public static let qualityIssue: Delivery = 1
        /// Something else was delivered.
        public static let wrongItem: Delivery = 2
        /// A server was out of order.
        public static let serverOutage: Delivery = 3
        /// It was not delivered because the app's currency changed.
        public static let currencyChange: Delivery = 4
        /// It was not delivered for another reason.
        public static let other: Delivery = 5
    }

    /// How much of the purchase was used.
    public struct Consumption: OpenCode {
        /// Apple's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Not stated.
        public static let undeclared: Consumption = 0
        /// Nothing.
        public static let none: Consumption = 1
        /// A part.
        public static let partial: Consumption = 2
        /// Everything.
        public static let full: Consumption = 3
    }

    /// Your wish to Apple.
    public struct RefundPreference: OpenCode {
        /// Apple's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Not stated.
        public static let undeclared: RefundPreference = 0
        /// Refund it.
        public static let grant: RefundPreference = 1
        /// Refuse.
        public static let decline: RefundPreference = 2
        /// You have no preference.
        public static let noPreference: RefundPreference = 3
    }

    /// The customer's account with you.
    public struct AccountStatus: OpenCode {
        /// Apple's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Not stated.
        public static let undeclared: AccountStatus = 0
        /// Active.
        public static let active: AccountStatus = 1
        /// Suspended.
        public static let suspended: AccountStatus = 2
        /// Terminated.
        public static let terminated: AccountStatus = 3
        /// With limited access.
        public static let limited: AccountStatus = 4
    }

    /// Where the purchase was used.
    public struct Platform: OpenCode {
        /// Apple's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Not stated.
        public static let undeclared: Platform = 0
        /// An Apple platform.
        public static let apple: Platform = 1
        /// Another platform.
        public static let other: Platform = 2
    }

    /// A step of one of Apple's scales: 0 is undeclared, 1 the lowest and 7 the highest.
    public struct Step: OpenCode {
        /// Apple's number.
        public let rawValue: Int64
        /// Keeps a number as it is.
        public init(rawValue: Int64) { self.rawValue = rawValue }

        /// Not stated.
        public static let undeclared: Step = 0

        /// The step of an amount in US dollars: nothing, then below 50, 100, 500, 1000, 2000, and more.
        public static func dollars(_ amount: Int) -> Step {
            amount <= 0 ? 1 : step(amount, between: [50, 100, 500, 1000, 2000], from: 2)
        }

        /// The step of an account's age in days: below 3, 10, 30, 90, 180, 365, and more.
        public static func accountAge(days: Int) -> Step { step(days, between: [3, 10, 30, 90, 180, 365], from: 1) }

        /// The step of the time that the customer used the app, in minutes: below 5 minutes, an hour, 6 hours, a day, 4
        /// days, 16 days, and more.
        public static func usage(minutes: Int) -> Step {
            step(minutes, between: [5, 60, 360, 1440, 5760, 23_040], from: 1)
        }

        private static func step(_ value: Int, between bounds: [Int], from first: Int) -> Step {
            Step(rawValue: Int64(bounds.prefix { $0 <= value }.count + first))
        }
    }

    /// The delivery by your app.
    public var delivery: Delivery
    /// True if the customer could try a sample before buying.
    public var sampleContentProvided: Bool
    /// How much was used.
    public var consumption: Consumption = .undeclared
    /// Your wish to Apple.
    public var refundPreference: RefundPreference = .undeclared
    /// The `appAccountToken` of the purchase.
    public var appAccountToken: UUID?
    /// The customer's account with you.
    public var accountStatus: AccountStatus = .undeclared
    /// Where the purchase was used.
    public var platform: Platform = .undeclared
    /// The age of the customer's account.
    public var accountTenure: Step = .undeclared
    /// How long the customer used the app.
    public var playTime: Step = .undeclared
    /// How much the customer has spent in your apps, on all platforms.
    public var lifetimePurchased: Step = .undeclared
    /// How much the customer got back, on all platforms.
    public var lifetimeRefunded: Step = .undeclared

    /// Describes the use of a purchase.
    public init(_ delivery: Delivery, sampleContentProvided: Bool) {
        self.delivery = delivery
        self.sampleContentProvided = sampleContentProvided
    }
}

extension AdvancedCommerceConsumption {
    /// States the same as an answer of version 2. A name or a share that version 1 has no number for is undeclared, and such a
    /// delivery counts as failed for another reason.
    public init(_ information: ConsumptionInformation) {
        let delivery: Delivery =
            switch information.delivery {
            case .delivered: .delivered
            case .qualityIssue: .qualityIssue
            case .wrongItem: .wrongItem
            case .serverOutage: .serverOutage
            default: .other
            }
        self.init(delivery, sampleContentProvided: information.sampleContentProvided)
        consumption =
            switch information.consumptionMillipercent {
            case 0?: .none
            case (1..<100_000)?: .partial
            case 100_000?: .full
            default: .undeclared
            }
        refundPreference =
            switch information.refundPreference {
            case .decline?: .decline
            case .grantFull?, .grantProrated?: .grant
            default: .undeclared
            }
    }
}

extension AppStoreServerClient {
    /// Answers a `CONSUMPTION_REQUEST` about an Advanced Commerce purchase, by version 1. Apple waits twelve hours for it.
    ///
    /// - Parameters:
    ///   - information: the answers to Apple's questions.
    ///   - transaction: the transaction that the request names.
    ///   - customerConsented: that the customer agreed to sharing this with Apple. Without consent nothing is sent.
    ///   - environment: the server that sent the request.
    /// - Throws: ``AppStoreServerError``; `invalidRequest` without consent, and for a purchase by Family Sharing.
    public func sendConsumption(
        _ information: AdvancedCommerceConsumption,
        ofTransaction transaction: String,
        customerConsented: Bool,
        in environment: Environment
    ) async throws(AppStoreServerError) {
        guard customerConsented else {
            throw AppStoreServerError(.invalidRequest, "consumption information needs the customer's consent")
        }
        let call = Call(
            endpoint: .consumption,
            method: .put,
            path: ["v1", "transactions", "consumption", try Self.identifier(transaction)],
            body: try Self.body(ConsumptionBody(information))
        )
        _ = try await ask(call, in: environment)
    }
}

/// `ConsumptionRequestV1`: Apple refuses a body that lacks one of these, the preference excepted
/// (<https://developer.apple.com/documentation/appstoreserverapi/consumptionrequestv1>).
private struct ConsumptionBody: Encodable {
    var customerConsented = true
    var appAccountToken: String
    var accountTenure: Int64
    var consumptionStatus: Int64
    var deliveryStatus: Int64
    var lifetimeDollarsPurchased: Int64
    var lifetimeDollarsRefunded: Int64
    var platform: Int64
    var playTime: Int64
    var refundPreference: Int64
    var sampleContentProvided: Bool
    var userStatus: Int64

    init(_ information: AdvancedCommerceConsumption) {
        // Empty if it is not stated.
        appAccountToken = information.appAccountToken?.uuidString.lowercased() ?? ""
        accountTenure = information.accountTenure.rawValue
        consumptionStatus = information.consumption.rawValue
        deliveryStatus = information.delivery.rawValue
        lifetimeDollarsPurchased = information.lifetimePurchased.rawValue
        lifetimeDollarsRefunded = information.lifetimeRefunded.rawValue
        platform = information.platform.rawValue
        playTime = information.playTime.rawValue
        refundPreference = information.refundPreference.rawValue
        sampleContentProvided = information.sampleContentProvided
        userStatus = information.accountStatus.rawValue
    }
}
