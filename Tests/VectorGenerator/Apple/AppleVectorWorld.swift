import Normalizer
import NotificationSimulator
import WireJSON

/// The common parts of the cases made by code: certificates, times, and the notification that they attack.
struct AppleVectorWorld {
    /// 2026-01-01, when the notification was signed, and when it was received.
    static let start: Int64 = 1_767_225_600_000
    static let signed: Int64 = start + 2000
    static let received: Int64 = signed + 1000
    static let day: Int64 = 86_400_000

    let production: AppleSimulator
    /// The same names, from another seed.
    let impostor: AppleSimulator

    init() throws {
        production = try AppleSimulator(seed: "vectors")
        impostor = try AppleSimulator(seed: "impostor")
    }

    func config(_ change: (inout JSONMembers) -> Void = { _ in }) -> JSONMembers {
        var members = JSONMembers([
            ("roots", .array([.string(base64(production.rootCertificate))])),
            ("bundleId", .string(production.bundleId)), ("appAppleId", .integer(production.appAppleId)),
            ("environment", "Production"),
        ])
        change(&members)
        return members
    }

    /// The smallest notification there is.
    func test() -> JSONMembers {
        JSONMembers([
            ("notificationType", "TEST"), ("notificationUUID", "2f1d6c1e-8f0b-4b51-9d0f-6a1f6b0c9d11"),
            (
                "data",
                .object(
                    JSONMembers([
                        ("appAppleId", .integer(production.appAppleId)), ("bundleId", .string(production.bundleId)),
                        ("bundleVersion", "42"), ("environment", "Production"),
                    ])
                )
            ), ("version", "2.0"), ("signedDate", .integer(Self.signed)),
        ])
    }

    static func body(_ jws: [UInt8]) -> [UInt8] { Array("{\"signedPayload\":\"".utf8) + jws + Array("\"}".utf8) }

    // MARK: Cases

    func accepted(
        _ id: String,
        _ jws: [UInt8],
        config: JSONMembers? = nil,
        tags: [String],
        note: String? = nil
    ) -> AppleCase {
        AppleCase(id: id, body: Self.body(jws), config: config ?? self.config(), tags: tags, note: note)
    }

    func refused(
        _ id: String,
        _ jws: [UInt8],
        code: DeliveryError.Code,
        reason: String,
        config: JSONMembers? = nil,
        tier: String = "must",
        tags: [String],
        note: String? = nil
    ) -> AppleCase {
        AppleCase(
            id: id,
            body: Self.body(jws),
            config: config ?? self.config(),
            code: code.rawValue,
            reason: reason,
            tier: tier,
            tags: tags,
            note: note
        )
    }
}
