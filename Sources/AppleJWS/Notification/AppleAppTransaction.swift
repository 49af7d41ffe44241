public import FoundationEssentials
import LifecycleEvents
package import WireJSON

/// The purchase of the app itself as Apple signs it (StoreKit, `AppTransaction`).
public struct AppleAppTransaction: Sendable, Hashable {
    /// The decoded JWS payload, byte for byte as signed.
    public let payload: [UInt8]
    let isSigned: Bool
    let anomalies: [String]

    /// Apple's world that it lives in (`receiptType`).
    public let environment: AppleEnvironment
    /// The App Store's id of the app.
    public let appAppleID: Int64?
    /// The app.
    public let bundleID: String
    /// The version of the app that asked for it.
    public let applicationVersion: String?
    /// The App Store's id of that version.
    public let versionExternalIdentifier: Int64?
    /// When Apple signed this.
    public let receiptCreationDate: Date
    /// When the customer first got the app.
    public let originalPurchaseDate: Date?
    /// The version that the customer first got.
    public let originalApplicationVersion: String?
    /// When the customer ordered the app ahead.
    public let preorderDate: Date?
    /// Identifies the Apple Account in this app.
    public let appTransactionID: String?
    /// The platform that the customer first got the app on: `iOS`, `macOS`, `tvOS`, `visionOS`, or a value that Apple
    /// adds.
    public let originalPlatform: String?
}

extension AppleAppTransaction {
    package init(payload: [UInt8], root: JSONValue, isSigned: Bool) throws(JSONError) {
        var reader = try ObjectReader(root)
        environment = AppleEnvironment(rawValue: try reader.string("receiptType"))
        appAppleID = try reader.optionalInt64("appAppleId")
        bundleID = try reader.identifier("bundleId")
        applicationVersion = reader.descriptiveString("applicationVersion")
        versionExternalIdentifier = reader.descriptiveInt64("versionExternalIdentifier")
        receiptCreationDate = Date(millisecondsSince1970: try reader.date("receiptCreationDate", isSigned: isSigned))
        originalPurchaseDate = try reader.optionalDate("originalPurchaseDate", isSigned: isSigned)
        originalApplicationVersion = reader.descriptiveString("originalApplicationVersion")
        preorderDate = try reader.optionalDate("preorderDate", isSigned: isSigned)
        appTransactionID = try reader.optionalString("appTransactionId")
        originalPlatform = reader.descriptiveString("originalPlatform")
        self.payload = payload
        self.isSigned = isSigned
        anomalies = reader.anomalies
    }
}
