public import FoundationEssentials
public import LifecycleEvents
import SignatureCore
import WireJSON

/// Proves Apple's signed data: notifications, and the transactions, renewal info and app transactions from a client's
/// upload or the App Store Server API.
///
/// Each goes through the same steps in the same order: size and shape, `ES256` and nothing else, exactly three
/// certificates, a path that OpenSSL builds to a configured root with CA and path constraints and both of Apple's
/// marker extensions, the signature, the date against the certificates' validity, and only then the content: app,
/// environment, and consistency between what is nested. A token of one kind is not accepted as another.
///
/// Verification is synchronous, shares no lock but a short read of the chain cache, and runs on any number of threads.
public struct AppleJWSVerifier: Sendable {
    private(set) var verification: SignedDataVerification
    let apps: [AppleAdapter.Configuration.App]
    let environments: Set<AppleEnvironment>
    private let maximumUploadAge: Int64?

    /// Prepares verification.
    ///
    /// - Throws: `ConfigurationError` for a configuration that would verify nothing, such as no app, no root, or an
    ///   app without `appAppleID` in Production.
    public init(_ configuration: AppleAdapter.Configuration) throws(ConfigurationError) {
        try configuration.validate()
        verification = try SignedDataVerification(configuration)
        apps = configuration.apps
        environments = configuration.environments
        maximumUploadAge = configuration.maximumUploadAge?.wholeMilliseconds
    }

    /// Proves a signed transaction (`signedTransactionInfo`, or StoreKit's `jwsRepresentation`).
    ///
    /// - Throws: `DeliveryError` with `malformed` for anything but three base64url segments around strict JSON of a
    ///   transaction, `unauthenticated` for another algorithm or a signature that does not hold, `untrusted` for a
    ///   chain that does not lead to a configured root, `stale` outside the time window, `misdirected` for another app
    ///   or environment.
    public func transaction(
        _ jws: some Collection<UInt8>,
        receivedAt: Date,
        channel: Origin.Channel = .clientUpload
    ) throws(DeliveryError) -> Authenticated<AppleTransaction> {
        let received = ReceivedJWS(Array(jws), at: receivedAt)
        return received.authenticated(try taking(channel).transaction(in: received), channel: channel)
    }

    /// Proves signed renewal info (`signedRenewalInfo`).
    ///
    /// It names no app, so it is worth only as much as the verified transaction of the same lineage that comes with it.
    ///
    /// - Throws: `DeliveryError` as for ``transaction(_:receivedAt:channel:)``.
    public func renewalInfo(
        _ jws: some Collection<UInt8>,
        receivedAt: Date,
        channel: Origin.Channel = .clientUpload
    ) throws(DeliveryError) -> Authenticated<AppleRenewalInfo> {
        let received = ReceivedJWS(Array(jws), at: receivedAt)
        return received.authenticated(try taking(channel).renewalInfo(in: received), channel: channel)
    }

    /// Proves a signed app transaction (`signedAppTransactionInfo`, or StoreKit's `AppTransaction`).
    ///
    /// - Throws: `DeliveryError` as for ``transaction(_:receivedAt:channel:)``.
    public func appTransaction(
        _ jws: some Collection<UInt8>,
        receivedAt: Date,
        channel: Origin.Channel = .clientUpload
    ) throws(DeliveryError) -> Authenticated<AppleAppTransaction> {
        let received = ReceivedJWS(Array(jws), at: receivedAt)
        return received.authenticated(try taking(channel).appTransaction(in: received), channel: channel)
    }

    /// Proves a signed notification (`signedPayload`) with everything signed inside it.
    ///
    /// - Throws: `DeliveryError` as for ``transaction(_:receivedAt:channel:)``.
    public func notification(
        _ jws: some Collection<UInt8>,
        receivedAt: Date,
        channel: Origin.Channel = .webhook
    ) throws(DeliveryError) -> Authenticated<AppleNotification> {
        let received = ReceivedJWS(Array(jws), at: receivedAt)
        return received.authenticated(try taking(channel).notification(in: received), channel: channel)
    }

    /// The end of the validity of the certificates that proved something last, for an alarm; nil before the first proof.
    /// Apple renews its certificates in time: an end that stays near says that your deliveries are old, or that the
    /// configured roots no longer lead to new ones.
    public var signerValidUntil: Date? {
        let ends = verification.cache.latest?.validity.map(\.upperBound)
        return ends?.max().map { Date(millisecondsSince1970: $0) }
    }

    /// The effect of revocation.
    var revocation: AppleRevocation { verification.revocation.revocation }

    /// The verifier for a channel. Apple's servers answer over TLS with data of any age, such as their record of past
    /// notifications; and a device keeps old data.
    func taking(_ channel: Origin.Channel) -> AppleJWSVerifier {
        var verifier = self
        switch channel {
        case .history, .refetch:
            verifier.verification.maximumAge = nil
            verifier.verification.revocation.acceptsExpired = true
        case .clientUpload: verifier.verification.maximumAge = maximumUploadAge
        default: break
        }
        return verifier
    }
}

extension AppleJWSVerifier {
    typealias Proven<Value> = (value: Value, evidence: Origin.Evidence)

    func notification(in received: ReceivedJWS) throws(DeliveryError) -> Proven<AppleNotification> {
        let payload = try verification.verify(
            received,
            dateMember: "signedDate",
            role: "notification",
            recognize: recognize
        )
        let read = AppleNotification.read(payload:root:isSigned:)
        var (notification, nested) = try self.read("notification", payload, by: read)
        switch notification.content {
        case .data(let data):
            notification.content = .data(try proven(data, nested: nested, in: payload))
        case .summary(let summary):
            _ = try requireApp(of: summary)
        case .externalPurchaseToken(let token):
            _ = try requireApp(of: token)
        case .appData(let data):
            notification.content = .appData(try proven(data, nested: nested, in: payload))
        }
        return (notification, payload.evidence)
    }

    /// The data of a notification together with the signed data inside it.
    private func proven(
        _ data: AppleNotification.PurchaseData,
        nested: NestedData,
        in payload: VerifiedPayload
    ) throws(DeliveryError) -> AppleNotification.PurchaseData {
        let app = try requireApp(of: data)
        var data = data
        if let range = nested.transaction {
            let transaction: AppleTransaction = try inside { () throws(DeliveryError) in
                try self.transaction(in: payload.nested(range)).value
            }
            try requireSame(app.bundleID, transaction.bundleID, named: "bundleId of notification and transaction")
            try requireSame(
                data.environment,
                transaction.environment,
                named: "environment of notification and transaction"
            )
            data.transaction = transaction
        }
        if let range = nested.renewalInfo {
            let renewalInfo: AppleRenewalInfo = try inside { () throws(DeliveryError) in
                try self.renewalInfo(in: payload.nested(range)).value
            }
            try requireSame(data.environment, renewalInfo.environment, named: "environment of notification and renewal")
            if let transaction = data.transaction?.originalTransactionID {
                try requireSame(
                    transaction,
                    renewalInfo.originalTransactionID,
                    named: "originalTransactionId of transaction and renewal info"
                )
            }
            data.renewalInfo = renewalInfo
        }
        return data
    }

    private func proven(
        _ data: AppleNotification.AppData,
        nested: NestedData,
        in payload: VerifiedPayload
    ) throws(DeliveryError) -> AppleNotification.AppData {
        let app = try requireApp(of: data)
        var data = data
        if let range = nested.appTransaction {
            let appTransaction: AppleAppTransaction = try inside { () throws(DeliveryError) in
                try self.appTransaction(in: payload.nested(range)).value
            }
            try requireSame(
                app.bundleID,
                appTransaction.bundleID,
                named: "bundleId of notification and app transaction"
            )
            try requireSame(data.environment, appTransaction.environment, named: "environment of both")
            data.appTransaction = appTransaction
        }
        return data
    }

    /// A failure inside a verified notification was sent by Apple all the same, and is worth keeping.
    private func inside<Value>(_ verify: () throws(DeliveryError) -> Value) throws(DeliveryError) -> Value {
        do throws(DeliveryError) {
            return try verify()
        } catch {
            var error = error
            error.isAuthentic = verification.isSigned
            throw error
        }
    }

    func transaction(in received: ReceivedJWS) throws(DeliveryError) -> Proven<AppleTransaction> {
        let payload = try verified(received, dateMember: "signedDate", role: "transaction")
        let transaction = try read("transaction", payload, by: AppleTransaction.init(payload:root:isSigned:))
        _ = try requireApp(
            transaction.bundleID,
            appAppleID: nil,
            environment: transaction.environment,
            in: "transaction",
            namesApp: false
        )
        return (transaction, payload.evidence)
    }

    func renewalInfo(in received: ReceivedJWS) throws(DeliveryError) -> Proven<AppleRenewalInfo> {
        let payload = try verified(received, dateMember: "signedDate", role: "renewal info")
        let renewalInfo = try read("renewal info", payload, by: AppleRenewalInfo.init(payload:root:isSigned:))
        try requireEnvironment(renewalInfo.environment, "renewal info")
        return (renewalInfo, payload.evidence)
    }

    func appTransaction(in received: ReceivedJWS) throws(DeliveryError) -> Proven<AppleAppTransaction> {
        let payload = try verified(received, dateMember: "receiptCreationDate", role: "app transaction")
        let appTransaction = try read("app transaction", payload, by: AppleAppTransaction.init(payload:root:isSigned:))
        _ = try requireApp(
            appTransaction.bundleID,
            appAppleID: appTransaction.appAppleID,
            environment: appTransaction.environment,
            in: "app transaction"
        )
        return (appTransaction, payload.evidence)
    }

    private func verified(
        _ received: ReceivedJWS,
        dateMember: MemberName,
        role: StaticString
    ) throws(DeliveryError) -> VerifiedPayload {
        try verification.verify(
            received,
            dateMember: dateMember,
            role: role,
            recognize: { (_) throws(DeliveryError) in true }
        )
    }

    private func read<Value>(
        _ role: StaticString,
        _ payload: VerifiedPayload,
        by read: ([UInt8], JSONValue, Bool) throws(JSONError) -> Value
    ) throws(DeliveryError) -> Value {
        do throws(JSONError) {
            return try read(payload.bytes, payload.document.root, verification.isSigned)
        } catch {
            throw DeliveryError(
                .malformed,
                "\(role): \(error)",
                isAuthentic: payload.isAuthentic,
                underlying: error
            )
        }
    }
}
