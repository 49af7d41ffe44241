import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator
import SignatureCore
import SignatureIssuing

/// The common parts of the cases: certificates, times, and the payloads that they change.
struct AppleVectorWorld {
    /// A month, 2026-01-01 … 2026-02-01.
    static let start: Int64 = 1_767_225_600_000
    static let end: Int64 = 1_769_904_000_000
    static let signed: Int64 = start + 2000
    static let received: Int64 = signed + 1000
    static let day: Int64 = 86_400_000
    static let graceEnd: Int64 = end + 16 * day

    static let lineage = "2000000900000001"
    static let renewal = "2000000900000007"
    static let product = "com.example.app.pro.monthly"

    let production: AppleSimulator
    let sandbox: AppleSimulator
    /// The same names, from another seed.
    let impostor: AppleSimulator

    init() throws {
        production = try AppleSimulator(seed: "vectors")
        sandbox = production.simulating(.sandbox)
        impostor = try AppleSimulator(seed: "impostor")
    }

    // MARK: Configuration

    func config(_ change: (inout JSONMembers) -> Void = { _ in }) -> JSONMembers {
        var members = JSONMembers([
            ("now", .integer(Self.received)),
            ("roots", .array([.string(base64(production.rootCertificate))])),
            ("bundleId", .string(production.bundleId)),
            ("appAppleId", .integer(production.appAppleId)),
            ("environment", "Production"),
        ])
        change(&members)
        return members
    }

    var sandboxConfig: JSONMembers {
        config {
            $0["environment"] = "Sandbox"
            $0["appAppleId"] = nil
        }
    }

    // MARK: Payloads

    /// The first period of a subscription, without an offer.
    func transaction(
        at signed: Int64 = signed,
        _ change: (inout JSONMembers) -> Void = { _ in }
    ) -> JSONMembers {
        var transaction = AppleSimulator.Transaction(
            transactionId: Self.lineage,
            originalTransactionId: Self.lineage,
            productId: Self.product,
            purchaseDate: Date(millisecondsSince1970: Self.start),
            type: "Auto-Renewable Subscription"
        )
        transaction.expiresDate = Date(millisecondsSince1970: Self.end)
        transaction.webOrderLineItemId = "2000000070000001"
        transaction.subscriptionGroupIdentifier = "21500001"
        transaction.price = 9990
        transaction.currency = "USD"
        transaction.appAccountToken = "6e6b6b3c-6d42-4c0e-8f0e-2f3f0b6f7a10"
        transaction.appTransactionId = "704000000000000001"
        var members = production.payload(transaction, at: Date(millisecondsSince1970: signed))
        change(&members)
        return members
    }

    /// A later period of the same subscription.
    func renewal(at signed: Int64 = signed, _ change: (inout JSONMembers) -> Void = { _ in }) -> JSONMembers {
        transaction(at: signed) {
            $0["transactionId"] = .string(Self.renewal)
            $0["originalPurchaseDate"] = .integer(Self.start - 92 * Self.day)
            $0["transactionReason"] = "RENEWAL"
            change(&$0)
        }
    }

    func oneTime(
        _ type: String,
        product: String,
        at signed: Int64 = signed,
        _ change: (inout JSONMembers) -> Void = { _ in }
    ) -> JSONMembers {
        transaction(at: signed) {
            $0["productId"] = .string(product)
            $0["type"] = .string(type)
            $0["expiresDate"] = nil
            $0["webOrderLineItemId"] = nil
            $0["subscriptionGroupIdentifier"] = nil
            change(&$0)
        }
    }

    func renewalInfo(at signed: Int64 = signed, _ change: (inout JSONMembers) -> Void = { _ in }) -> JSONMembers {
        var info = AppleSimulator.RenewalInfo(
            originalTransactionId: Self.lineage,
            productId: Self.product,
            autoRenewProductId: Self.product
        )
        info.renewalDate = Date(millisecondsSince1970: Self.end)
        info.renewalPrice = 9990
        info.currency = "USD"
        info.recentSubscriptionStartDate = Date(millisecondsSince1970: Self.start)
        info.appTransactionId = "704000000000000001"
        var members = production.payload(info, at: Date(millisecondsSince1970: signed))
        change(&members)
        return members
    }

    /// Renewal turned off, or run out.
    func stopped(
        intent: Int64? = nil,
        at signed: Int64 = signed,
        _ change: (inout JSONMembers) -> Void = { _ in }
    ) -> JSONMembers {
        renewalInfo(at: signed) {
            $0["autoRenewStatus"] = 0
            $0["renewalDate"] = nil
            $0["renewalPrice"] = nil
            if let intent { $0["expirationIntent"] = .integer(intent) }
            change(&$0)
        }
    }

    func appTransaction(_ change: (inout JSONMembers) -> Void = { _ in }) -> JSONMembers {
        var members = production.payload(
            AppleSimulator.AppTransaction(
                appTransactionId: "704000000000000001",
                originalPurchaseDate: Date(millisecondsSince1970: Self.start)
            ),
            at: Date(millisecondsSince1970: Self.signed)
        )
        change(&members)
        return members
    }

    /// The app's identity, as `data` and its siblings have it.
    func app(_ change: (inout JSONMembers) -> Void = { _ in }) -> JSONMembers {
        var members = JSONMembers([
            ("appAppleId", .integer(production.appAppleId)),
            ("bundleId", .string(production.bundleId)),
            ("bundleVersion", "42"),
            ("environment", "Production"),
        ])
        change(&members)
        return members
    }

    /// An outer payload around one carrier object.
    func notification(
        _ type: String,
        _ subtype: String?,
        carrier: String = "data",
        _ content: JSONMembers,
        at signed: Int64 = signed,
        _ change: (inout JSONMembers) -> Void = { _ in }
    ) -> JSONMembers {
        var members = JSONMembers()
        members.append("notificationType", .string(type))
        if let subtype { members.append("subtype", .string(subtype)) }
        members.append("notificationUUID", "2f1d6c1e-8f0b-4b51-9d0f-6a1f6b0c9d11")
        members.append(carrier, .object(content))
        members.append("version", "2.0")
        members.append("signedDate", .integer(signed))
        change(&members)
        return members
    }

    /// One without a subtype.
    func notification(
        _ type: String,
        carrier: String = "data",
        _ content: JSONMembers,
        at signed: Int64 = signed,
        _ change: (inout JSONMembers) -> Void = { _ in }
    ) -> JSONMembers {
        notification(type, nil, carrier: carrier, content, at: signed, change)
    }

    /// The smallest notification there is.
    func test(at signed: Int64 = signed, _ change: (inout JSONMembers) -> Void = { _ in }) -> JSONMembers {
        notification("TEST", app(), at: signed, change)
    }

    static let testEvent = LifecycleEvent.notice(.init(.test))

    // MARK: Signing

    func sign(_ payload: JSONMembers) throws -> [UInt8] { try production.jws(payload.bytes) }

    func signedText(_ payload: JSONMembers) throws -> JSONText {
        .string(String(decoding: try sign(payload), as: UTF8.self))
    }

    /// `data` with a signed transaction and, where given, signed renewal info.
    func purchase(
        _ transaction: JSONMembers?,
        _ renewalInfo: JSONMembers? = nil,
        status: Int64? = nil,
        _ change: (inout JSONMembers) -> Void = { _ in }
    ) throws -> JSONMembers {
        let transaction = try transaction.map(signedText)
        let renewalInfo = try renewalInfo.map(signedText)
        return app {
            $0["signedTransactionInfo"] = transaction
            $0["signedRenewalInfo"] = renewalInfo
            $0["status"] = status.map(JSONText.integer)
            change(&$0)
        }
    }

    static func body(_ jws: [UInt8], under name: String = "signedPayload") -> [UInt8] {
        Array("{\"\(name)\":\"".utf8) + jws + Array("\"}".utf8)
    }

    // MARK: Cases

    func accepted(
        _ id: String,
        _ payload: JSONMembers,
        _ events: [LifecycleEvent],
        facts: [Fact.Kind]? = nil,
        config: JSONMembers? = nil,
        tags: [String],
        note: String? = nil
    ) throws -> AppleCase {
        AppleCase(
            id: id,
            body: Self.body(try sign(payload)),
            config: config ?? self.config(),
            expectation: .accept(events, facts: facts),
            tags: tags,
            note: note
        )
    }

    func refused(
        _ id: String,
        _ jws: [UInt8],
        _ code: DeliveryError.Code,
        _ reason: String,
        config: JSONMembers? = nil,
        tier: String = "must",
        tags: [String],
        note: String? = nil
    ) -> AppleCase {
        refused(id, body: Self.body(jws), code, reason, config: config, tier: tier, tags: tags, note: note)
    }

    func refused(
        _ id: String,
        body: [UInt8],
        _ code: DeliveryError.Code,
        _ reason: String,
        config: JSONMembers? = nil,
        tier: String = "must",
        tags: [String],
        note: String? = nil
    ) -> AppleCase {
        AppleCase(
            id: id,
            body: body,
            config: config ?? self.config(),
            expectation: .reject(code),
            reason: reason,
            tier: tier,
            tags: tags,
            note: note
        )
    }
}

extension JSONMembers {
    func with(_ change: (inout JSONMembers) -> Void) -> JSONMembers {
        var members = self
        change(&members)
        return members
    }
}
