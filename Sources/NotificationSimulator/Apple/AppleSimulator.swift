public import FoundationEssentials
public import LifecycleEvents
import SignatureCore
import SignatureIssuing
package import WireJSON

/// Stands in for the App Store: signs notifications, transactions, renewal info and app transactions with a chain of its
/// own that has the shape of Apple's.
///
/// The same seed gives the same bytes. A receiver accepts them when its trust anchor is ``rootCertificate``, and only
/// then; a simulator with another seed makes forgeries with the same names in every certificate. Certificates are
/// valid from 2024 through 2033.
public struct AppleSimulator: Sendable {
    /// Which of Apple's worlds it stands in for.
    public enum Environment: String, Hashable, Sendable {
        /// The App Store.
        case production = "Production"
        /// Sandbox accounts, TestFlight and app review.
        case sandbox = "Sandbox"
    }

    /// The app that everything is about.
    public let bundleId: String
    /// The App Store's id of the app.
    public let appAppleId: Int64
    /// Apple's world that it stands in for.
    public let environment: Environment

    package let certificates: AppleCertificates
    /// The seed of everything.
    let seed: String
    private let header: [UInt8]

    /// Makes keys and certificates.
    ///
    /// - Throws: ``SimulatorError`` if libcrypto cannot make them.
    public init(
        seed: String,
        bundleId: String = "com.example.app",
        appAppleId: Int64 = 1_234_567_890,
        environment: Environment = .production
    ) throws(SimulatorError) {
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environment = environment
        self.seed = seed
        let certificates = try SimulatorError.wrapping { () throws(SignatureError) in
            try AppleCertificates(seed: Seed(seed))
        }
        self.certificates = certificates
        header = JWSIssuer.header(algorithm: "ES256", certificates: certificates.x5c)
    }

    private init(_ other: AppleSimulator, environment: Environment) {
        bundleId = other.bundleId
        appAppleId = other.appAppleId
        self.environment = environment
        certificates = other.certificates
        seed = other.seed
        header = other.header
    }

    /// The same app and certificates in another of Apple's worlds.
    public func simulating(_ environment: Environment) -> AppleSimulator {
        AppleSimulator(self, environment: environment)
    }

    /// The root certificate in DER, for the receiver's trust anchors.
    public var rootCertificate: [UInt8] { certificates.root.certificate }

    /// A notification as Apple posts it.
    ///
    /// - Parameters:
    ///   - notification: the notification to sign.
    ///   - receivedAt: when it arrives; by default a second after it was signed.
    /// - Throws: ``SimulatorError`` if libcrypto cannot sign.
    public func delivery(_ notification: Notification, receivedAt: Date? = nil) throws(SimulatorError) -> Delivery {
        Self.delivery(
            of: try signed(notification),
            receivedAt: receivedAt ?? notification.signedDate.addingTimeInterval(1)
        )
    }

    /// The notifications of a story, in the order of their signing.
    ///
    /// - Throws: ``SimulatorError`` for a story that makes no sense, such as a renewal of nothing.
    public func deliveries(_ story: CustomerStory, from start: Date) throws(SimulatorError) -> [Delivery] {
        var deliveries: [Delivery] = []
        for notification in try unsignedNotifications(story, from: start) {
            deliveries.append(try delivery(notification))
        }
        return deliveries
    }

    /// A notification in JWS form, with the JWS inside (`signedPayload`).
    ///
    /// - Throws: ``SimulatorError`` if libcrypto cannot sign.
    public func signed(_ notification: Notification) throws(SimulatorError) -> [UInt8] {
        try jws(try payload(notification).bytes)
    }

    /// A transaction in JWS form, as StoreKit gives it to an app.
    ///
    /// - Throws: ``SimulatorError`` if libcrypto cannot sign.
    public func signed(_ transaction: Transaction, at date: Date) throws(SimulatorError) -> [UInt8] {
        try jws(payload(transaction, at: date).bytes)
    }

    /// Renewal info in JWS form.
    ///
    /// - Throws: ``SimulatorError`` if libcrypto cannot sign.
    public func signed(_ renewalInfo: RenewalInfo, at date: Date) throws(SimulatorError) -> [UInt8] {
        try jws(payload(renewalInfo, at: date).bytes)
    }

    /// An app transaction in JWS form.
    ///
    /// - Throws: ``SimulatorError`` if libcrypto cannot sign.
    public func signed(_ appTransaction: AppTransaction, at date: Date) throws(SimulatorError) -> [UInt8] {
        try jws(payload(appTransaction, at: date).bytes)
    }
}

extension AppleSimulator {
    /// Any payload, signed by the leaf.
    package func jws(_ payload: [UInt8]) throws(SimulatorError) -> [UInt8] {
        try SimulatorError.wrapping { () throws(SignatureError) in
            try JWSIssuer.es256(header: header, payload: payload, key: certificates.leafKey)
        }
    }

    package static func delivery(of signedPayload: [UInt8], receivedAt: Date) -> Delivery {
        Delivery(
            headers: ["Content-Type": "application/json"],
            body: body(of: signedPayload),
            receivedAt: receivedAt
        )
    }

    static func body(of signedPayload: [UInt8]) -> [UInt8] {
        Array(#"{"signedPayload":""#.utf8) + signedPayload + Array(#""}"#.utf8)
    }

    package func payload(_ notification: Notification) throws(SimulatorError) -> JSONMembers {
        var members = JSONMembers()
        members.add("notificationType", notification.notificationType)
        members.add("subtype", notification.subtype)
        members.add("notificationUUID", notification.notificationUUID)
        let (name, content) = try content(of: notification)
        members.append(name, .object(content))
        members.add("version", notification.version)
        members.add("signedDate", notification.signedDate.millisecondsSince1970)
        return members
    }

    private func content(of notification: Notification) throws(SimulatorError) -> (String, JSONMembers) {
        let date = notification.signedDate
        var members = JSONMembers()
        if environment == .production { members.add("appAppleId", appAppleId) }
        members.add("bundleId", bundleId)
        switch notification.content {
        case .data(let data):
            members.add("bundleVersion", data.bundleVersion)
            members.add("environment", environment.rawValue)
            if let transaction = data.transactionInfo {
                members.append("signedTransactionInfo", try text(signed(transaction, at: date)))
            }
            if let renewalInfo = data.renewalInfo {
                members.append("signedRenewalInfo", try text(signed(renewalInfo, at: date)))
            }
            members.add("status", data.status)
            members.add("consumptionRequestReason", data.consumptionRequestReason)
            return ("data", members)
        case .summary(let summary):
            members.add("environment", environment.rawValue)
            members.add("productId", summary.productId)
            members.add("requestIdentifier", summary.requestIdentifier)
            if !summary.storefrontCountryCodes.isEmpty {
                members.append("storefrontCountryCodes", .array(summary.storefrontCountryCodes.map(JSONText.string)))
            }
            members.add("succeededCount", summary.succeededCount)
            members.add("failedCount", summary.failedCount)
            return ("summary", members)
        case .externalPurchaseToken(let token):
            members.add(
                "externalPurchaseId",
                environment == .sandbox ? "SANDBOX_\(token.externalPurchaseId)" : token.externalPurchaseId
            )
            members.add("tokenCreationDate", token.tokenCreationDate.millisecondsSince1970)
            members.add("tokenType", token.tokenType)
            members.add("tokenExpirationDate", token.tokenExpirationDate?.millisecondsSince1970)
            return ("externalPurchaseToken", members)
        case .appData(let appTransaction):
            members.add("environment", environment.rawValue)
            members.append("signedAppTransactionInfo", try text(signed(appTransaction, at: date)))
            return ("appData", members)
        }
    }

    private func text(_ jws: [UInt8]) -> JSONText { .string(String(decoding: jws, as: UTF8.self)) }
}
