import AppleJWS
package import FoundationEssentials
package import HTTPTransport
import JSONWebSignature
package import Normalizer
import SignatureCore
package import WireJSON

/// Apple's adapter as a configuration in JSON sets it up.
package struct AppleReceiver: ConfiguredReceiver {
    package static let memberNames: Set = [
        "roots", "bundleId", "bundleIds", "appAppleId", "environment", "environments", "certTime",
        "maxFutureSkewMs", "maxSignedAgeMs", "kind",
    ]

    /// The content of a body: a notification, or an upload of a client.
    private enum Kind: String {
        case notification, transaction, renewalInfo, appTransaction
    }

    private let adapter: AppleAdapter
    private let kind: Kind
    private let maximumBodyBytes: Int

    /// Asks for nothing: Apple's notifications are whole.
    package init(config: JSONValue, answers: (any HTTPTransportProtocol)? = nil) throws(ConfigurationError) {
        let members: Members
        do throws(JSONError) {
            members = try Members(try ObjectReader(config))
        } catch {
            throw ConfigurationError("config: \(error)")
        }
        let configuration = try members.configuration()
        guard let kind = Kind(rawValue: members.kind) else {
            throw ConfigurationError("config: kind must be notification, transaction, renewalInfo or appTransaction")
        }
        self.kind = kind
        maximumBodyBytes = configuration.maximumBodyBytes
        adapter = try AppleAdapter(configuration)
    }

    package func receive(_ delivery: Delivery) async throws(DeliveryError) -> Normalization {
        switch kind {
        case .notification:
            return try adapter.normalize(try adapter.authenticate(delivery))
        case .transaction:
            return try adapter.receive(signedTransaction: try upload(delivery), receivedAt: delivery.receivedAt)
        case .renewalInfo:
            let proven = try adapter.verifier.renewalInfo(try upload(delivery), receivedAt: delivery.receivedAt)
            return adapter.normalize(proven)
        case .appTransaction:
            _ = try adapter.verifier.appTransaction(try upload(delivery), receivedAt: delivery.receivedAt)
            return Normalization(noChange: .init(.unchanged))
        }
    }

    /// The upload of a device that has the transaction of a notification, and perhaps the renewal info which
    /// stands in one; nil if there is no transaction.
    package func upload(
        transactionOf notification: Delivery,
        renewalInfoOf other: Delivery?,
        receivedAt: Date
    ) throws -> Normalization? {
        guard let transaction = try signed("signedTransactionInfo", in: notification) else { return nil }
        return try adapter.receive(
            signedTransaction: transaction,
            signedRenewalInfo: try other.flatMap { try signed("signedRenewalInfo", in: $0) },
            receivedAt: receivedAt
        )
    }

    private func signed(_ member: MemberName, in notification: Delivery) throws -> [UInt8]? {
        let payload = Array(try ObjectReader(parsing: notification.body).utf8Slice("signedPayload"))
        let content = try ObjectReader(parsing: try Base64URL.decode(payload, try CompactJWS(payload).payloadRange))
        return try content.optionalValue("data").map(ObjectReader.init)?.optionalString(member).map { Array($0.utf8) }
    }

    /// The JWS of a body `{"jws":"…"}`.
    private func upload(_ delivery: Delivery) throws(DeliveryError) -> [UInt8] {
        try Limits.check(delivery.body, atMost: maximumBodyBytes)
        do throws(JSONError) {
            return Array(try ObjectReader(JSONDocument(parsing: delivery.body).root).utf8Slice("jws"))
        } catch {
            throw DeliveryError(.malformed, "body: \(error)", underlying: error)
        }
    }
}

/// The members of a configuration, as `TestVectors/README.md` lists them.
private struct Members {
    var kind: String
    var roots: [String]
    var bundleIDs: [String]
    var appAppleID: Int64?
    var environments: [String]
    var certificateTime: String?
    var maximumFutureSkew: Int64?
    var maximumAge: Int64?
    var maximumBodyBytes: Int64?

    init(_ reader: ObjectReader) throws(JSONError) {
        kind = try reader.optionalString("kind") ?? "notification"
        roots = try reader.optionalStrings("roots") ?? []
        bundleIDs = try reader.optionalStrings("bundleIds") ?? []
        if let bundleID = try reader.optionalString("bundleId") { bundleIDs.append(bundleID) }
        appAppleID = try reader.optionalInt64("appAppleId")
        environments = try reader.optionalStrings("environments") ?? []
        if let environment = try reader.optionalString("environment") { environments.append(environment) }
        certificateTime = try reader.optionalString("certTime")
        maximumFutureSkew = try reader.optionalInt64("maxFutureSkewMs")
        maximumAge = try reader.optionalInt64("maxSignedAgeMs")
        maximumBodyBytes = try reader.optionalInt64("maxBodyBytes")
    }

    func configuration() throws(ConfigurationError) -> AppleAdapter.Configuration {
        var certificates: [[UInt8]] = []
        for root in roots {
            guard let certificate = try? Base64.decode(Array(root.utf8).span) else {
                throw ConfigurationError("config: roots must be certificates in base64")
            }
            certificates.append(certificate)
        }
        var configuration = AppleAdapter.Configuration(
            apps: bundleIDs.map { AppleAdapter.Configuration.App(bundleID: $0, appAppleID: appAppleID) },
            environments: Set(environments.map(AppleEnvironment.init(rawValue:))),
            trustAnchors: try AppleTrustAnchors(der: certificates)
        )
        switch certificateTime {
        case nil, "signedDate": configuration.certificateTime = .signedDate
        case "now": configuration.certificateTime = .receipt
        default: throw ConfigurationError("config: certTime must be signedDate or now")
        }
        if let maximumFutureSkew { configuration.maximumFutureSkew = .milliseconds(maximumFutureSkew) }
        // Bodies that were kept are of any age, unless the configuration says otherwise.
        configuration.maximumAge = maximumAge.map { .milliseconds($0) }
        if let maximumBodyBytes {
            configuration.maximumBodyBytes = Int(exactly: maximumBodyBytes) ?? configuration.maximumBodyBytes
        }
        return configuration
    }
}
