import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator
import SignatureCore
import SignatureIssuing

/// Deliveries for us or for others, and nested parts that do or do not belong together.
enum AppleIdentityCases {
    typealias World = AppleVectorWorld
    typealias Mapping = AppleMappingCases

    static func all(_ world: World) throws -> [AppleCase] {
        try apps(world) + environments(world) + carriers(world) + nested(world) + receivers(world)
    }

    private static func data(
        _ world: World,
        _ id: String,
        _ code: DeliveryError.Code = .misdirected,
        _ reason: String = "app-identity",
        config: JSONMembers? = nil,
        _ change: (inout JSONMembers) -> Void
    ) throws -> AppleCase {
        world.refused(
            "identity/\(id)",
            try world.sign(world.notification("TEST", world.app(change))),
            code,
            reason,
            config: config,
            tags: ["identity"]
        )
    }

    private static func apps(_ world: World) throws -> [AppleCase] {
        var cases = try [
            ("other", "com.example.other"), ("other-case", "com.example.App"), ("suffix", "com.example.app2"),
            ("prefix", "com.example.ap"), ("longer", "com.example.app.beta"), ("space", "com.example.app "),
            ("nul", "com.example.app\u{0}"), ("homoglyph", "com.ex\u{0430}mple.app"), ("full-width", "com.example.ａpp"),
        ].map { name, value in
            try data(world, "bundle-id-\(name)") { $0["bundleId"] = .string(value) }
        }
        for (name, value): (String, JSONText?) in [
            ("absent", nil), ("null", .null), ("number", 1), ("empty", ""), ("array", ["com.example.app"]),
        ] {
            cases.append(try data(world, "bundle-id-\(name)", .malformed, "payload") { $0["bundleId"] = value })
        }
        // "é" as one scalar and as two; text that reads the same is not the same id.
        cases.append(
            try data(
                world,
                "bundle-id-other-normal-form",
                config: world.config { $0["bundleId"] = "com.exampl\u{E9}.app" }
            ) { $0["bundleId"] = "com.example\u{301}.app" }
        )
        for (name, value): (String, JSONText?) in [
            ("other", 987_654_321), ("absent", nil), ("null", .null), ("zero", 0), ("negative", -1_234_567_890),
            ("wrapped", .integer(1_234_567_890 + 4_294_967_296)),
        ] {
            cases.append(try data(world, "app-apple-id-\(name)") { $0["appAppleId"] = value })
        }
        for (name, value): (String, JSONText) in [
            ("string", "1234567890"), ("fraction", .raw("1234567890.0")),
            ("beyond-64-bits", .raw("18446744074944119506")),
        ] {
            cases.append(try data(world, "app-apple-id-\(name)", .malformed, "payload") { $0["appAppleId"] = value })
        }
        return cases
    }

    private static func environments(_ world: World) throws -> [AppleCase] {
        var cases = try ["Sandbox", "production", "PRODUCTION", "Production ", "Xcode", "LocalTesting", "Staging", ""]
            .map {
                value in
                try data(
                    world,
                    "environment-\(value.isEmpty ? "empty" : value.replacing(" ", with: "space"))",
                    .misdirected,
                    "environment"
                ) {
                    $0["environment"] = .string(value)
                }
            }
        for (name, value): (String, JSONText?) in [("absent", nil), ("null", .null), ("number", 0)] {
            cases.append(try data(world, "environment-\(name)", .malformed, "payload") { $0["environment"] = value })
        }
        cases.append(
            try data(world, "production-to-sandbox", .misdirected, "environment", config: world.sandboxConfig) { _ in }
        )
        return cases
    }

    private static func carriers(_ world: World) throws -> [AppleCase] {
        func refused(
            _ id: String,
            _ code: DeliveryError.Code,
            _ reason: String,
            config: JSONMembers? = nil,
            _ payload: JSONMembers
        ) throws -> AppleCase {
            world.refused("identity/\(id)", try world.sign(payload), code, reason, config: config, tags: ["carrier"])
        }
        let other = world.app { $0["bundleId"] = "com.example.other" }
        let token = other.with {
            $0["environment"] = nil
            $0["externalPurchaseId"] = "b2158121-7af9-49d4-9561-1f588205523e"
        }
        let appData = world.app {
            $0["signedAppTransactionInfo"] = nil
        }
        let foreignAppTransaction = try world.signedText(world.appTransaction { $0["bundleId"] = "com.example.other" })
        let sandboxAppTransaction = try world.signedText(world.appTransaction { $0["receiptType"] = "Sandbox" })
        return [
            try refused("carrier-none", .malformed, "app-identity", world.test { $0["data"] = nil }),
            try refused("carrier-null", .malformed, "app-identity", world.test { $0["data"] = .null }),
            try refused("carrier-array", .malformed, "payload", world.test { $0["data"] = [] }),
            try refused("carrier-two", .malformed, "app-identity", world.test { $0["summary"] = .object(world.app()) }),
            try refused(
                "carrier-two-of-two-apps",
                .malformed,
                "app-identity",
                world.test { $0["appData"] = .object(other) }
            ),
            try refused(
                "summary-of-another-app",
                .misdirected,
                "app-identity",
                world.notification("RENEWAL_EXTENSION", "SUMMARY", carrier: "summary", other)
            ),
            try refused(
                "token-of-another-app",
                .misdirected,
                "app-identity",
                world.notification("EXTERNAL_PURCHASE_TOKEN", "CREATED", carrier: "externalPurchaseToken", token)
            ),
            try refused(
                "token-of-sandbox",
                .misdirected,
                "environment",
                world.notification(
                    "EXTERNAL_PURCHASE_TOKEN",
                    "CREATED",
                    carrier: "externalPurchaseToken",
                    token.with {
                        $0["bundleId"] = "com.example.app"
                        $0["externalPurchaseId"] = "SANDBOX_b2158121"
                    }
                )
            ),
            try refused(
                "app-data-of-another-app",
                .misdirected,
                "app-identity",
                world.notification("RESCIND_CONSENT", carrier: "appData", other)
            ),
            try refused(
                "app-data-with-foreign-app-transaction",
                .misdirected,
                "app-identity",
                world.notification(
                    "RESCIND_CONSENT",
                    carrier: "appData",
                    appData.with { $0["signedAppTransactionInfo"] = foreignAppTransaction }
                )
            ),
            try refused(
                "app-data-with-sandbox-app-transaction",
                .misdirected,
                "environment",
                world.notification(
                    "RESCIND_CONSENT",
                    carrier: "appData",
                    appData.with { $0["signedAppTransactionInfo"] = sandboxAppTransaction }
                )
            ),
            try refused(
                "app-data-with-a-transaction",
                .malformed,
                "payload",
                world.notification(
                    "RESCIND_CONSENT",
                    carrier: "appData",
                    appData.with { $0["signedAppTransactionInfo"] = try? world.signedText(world.renewal()) }
                )
            ),
        ]
    }

    private static func nested(_ world: World) throws -> [AppleCase] {
        func refused(
            _ id: String,
            _ code: DeliveryError.Code,
            _ reason: String,
            tier: String = "must",
            transaction: JSONText,
            renewalInfo: JSONText?,
            note: String? = nil
        ) throws -> AppleCase {
            world.refused(
                "identity/nested-\(id)",
                try world.sign(
                    world.notification(
                        "DID_RENEW",
                        world.app {
                            $0["signedTransactionInfo"] = transaction
                            $0["signedRenewalInfo"] = renewalInfo
                            $0["status"] = 1
                        }
                    )
                ),
                code,
                reason,
                tier: tier,
                tags: ["nested"],
                note: note
            )
        }
        let transaction = try world.signedText(world.renewal())
        let info = try world.signedText(world.renewalInfo())
        func forged(_ payload: JSONMembers) throws -> JSONText {
            .string(String(decoding: try world.impostor.jws(payload.bytes), as: UTF8.self))
        }
        func unsigned(_ payload: JSONMembers) -> JSONText {
            let header = String(decoding: Base64URL.encode(#"{"alg":"none"}"#.utf8.span), as: UTF8.self)
            return .string("\(header).\(String(decoding: Base64URL.encode(payload.bytes.span), as: UTF8.self)).AA")
        }
        func tampered(_ text: JSONText, _ payload: JSONMembers) -> JSONText {
            guard case .string(let jws) = text else { return .null }
            let parts = jws.split(separator: ".")
            let body = String(decoding: Base64URL.encode(payload.bytes.span), as: UTF8.self)
            return .string("\(parts[0]).\(body).\(parts[2])")
        }
        let rich = world.renewal { $0["expiresDate"] = .integer(World.end + 3650 * World.day) }
        return [
            try refused(
                "transaction-unsigned",
                .unauthenticated,
                "algorithm",
                transaction: unsigned(rich),
                renewalInfo: nil
            ),
            try refused("transaction-forged", .untrusted, "chain", transaction: forged(rich), renewalInfo: nil),
            try refused(
                "transaction-tampered",
                .unauthenticated,
                "signature",
                transaction: tampered(transaction, rich),
                renewalInfo: nil
            ),
            try refused("transaction-decoded", .malformed, "payload", transaction: .object(rich), renewalInfo: nil),
            try refused("transaction-number", .malformed, "payload", transaction: 1, renewalInfo: nil),
            try refused("transaction-empty", .malformed, "malformed", transaction: "", renewalInfo: nil),
            try refused("transaction-word", .malformed, "malformed", transaction: "transaction", renewalInfo: nil),
            try refused(
                "transaction-of-another-app",
                .misdirected,
                "app-identity",
                transaction: world.signedText(world.renewal { $0["bundleId"] = "com.example.other" }),
                renewalInfo: nil
            ),
            try refused(
                "transaction-of-sandbox",
                .misdirected,
                "environment",
                transaction: world.signedText(world.renewal { $0["environment"] = "Sandbox" }),
                renewalInfo: nil
            ),
            try refused("transaction-is-renewal-info", .malformed, "payload", transaction: info, renewalInfo: info),
            try refused(
                "transaction-is-a-notification",
                .malformed,
                "payload",
                transaction: world.signedText(world.test()),
                renewalInfo: nil
            ),
            try refused(
                "renewal-unsigned",
                .unauthenticated,
                "algorithm",
                transaction: transaction,
                renewalInfo: unsigned(world.renewalInfo())
            ),
            try refused(
                "renewal-forged",
                .untrusted,
                "chain",
                transaction: transaction,
                renewalInfo: forged(world.renewalInfo())
            ),
            try refused(
                "renewal-of-sandbox",
                .misdirected,
                "environment",
                transaction: transaction,
                renewalInfo: world.signedText(world.renewalInfo { $0["environment"] = "Sandbox" })
            ),
            try refused(
                "renewal-of-another-customer",
                .misdirected,
                "consistency",
                tier: "should",
                transaction: transaction,
                renewalInfo: world.signedText(world.renewalInfo { $0["originalTransactionId"] = "2000000900000099" }),
                note: "renewal info names no app and no transaction; its lineage ties it to the notification"
            ),
            try refused(
                "renewal-is-a-transaction",
                .malformed,
                "payload",
                transaction: transaction,
                renewalInfo: transaction
            ),
            try refused(
                "renewal-signed-in-the-future",
                .stale,
                "time",
                transaction: transaction,
                renewalInfo: world.signedText(world.renewalInfo(at: World.received + 300_001))
            ),
            try refused(
                "transaction-identifier-is-a-number",
                .malformed,
                "payload",
                transaction: world.signedText(world.renewal { $0["transactionId"] = 2_000_000_900_000_007 }),
                renewalInfo: nil
            ),
            try refused(
                "transaction-without-identifier",
                .malformed,
                "payload",
                transaction: world.signedText(world.renewal { $0["transactionId"] = nil }),
                renewalInfo: nil
            ),
            try refused(
                "transaction-with-empty-lineage",
                .malformed,
                "payload",
                transaction: world.signedText(world.renewal { $0["originalTransactionId"] = "" }),
                renewalInfo: nil
            ),
            try refused(
                "transaction-without-product",
                .malformed,
                "payload",
                transaction: world.signedText(world.renewal { $0["productId"] = nil }),
                renewalInfo: nil
            ),
        ]
    }

    private static func receivers(_ world: World) throws -> [AppleCase] {
        func accepted(
            _ id: String,
            _ content: JSONMembers,
            _ config: (inout JSONMembers) -> Void
        ) throws -> AppleCase {
            try world.accepted(
                "identity/\(id)",
                world.notification("TEST", content),
                [World.testEvent],
                config: world.config(config),
                tags: ["identity"]
            )
        }
        let both: (inout JSONMembers) -> Void = {
            $0["environment"] = nil
            $0["environments"] = ["Production", "Sandbox"]
        }
        let sandbox = world.app {
            $0["environment"] = "Sandbox"
            $0["appAppleId"] = nil
        }
        func xcode(_ environment: String) -> JSONMembers {
            world.config {
                $0["environment"] = .string(environment)
                $0["appAppleId"] = nil
            }
        }
        func unsigned(_ payload: JSONMembers) -> [UInt8] {
            let header = #"{"alg":"ES256","kid":"Apple_Xcode_Key","typ":"JWT","x5c":["AAAA"]}"#
            let parts = [Array(header.utf8), payload.bytes, [0x01]].map {
                String(decoding: Base64URL.encode($0.span), as: UTF8.self)
            }
            return Array(parts.joined(separator: ".").utf8)
        }
        func xcodeTest(_ environment: String, _ change: (inout JSONMembers) -> Void = { _ in }) -> JSONMembers {
            world.notification(
                "TEST",
                world.app {
                    $0["environment"] = .string(environment)
                    $0["appAppleId"] = nil
                },
                change
            )
        }
        func local(_ id: String, _ environment: String, _ change: (inout JSONMembers) -> Void = { _ in }) -> AppleCase {
            AppleCase(
                id: "identity/\(id)",
                body: World.body(unsigned(xcodeTest(environment, change))),
                config: xcode(environment),
                expectation: .accept([World.testEvent]),
                tags: ["identity", "unsigned"]
            )
        }
        return [
            try accepted("several-apps", world.app()) {
                $0["bundleId"] = nil
                $0["bundleIds"] = ["com.example.other", "com.example.app"]
            },
            try accepted("several-environments-production", world.app(), both),
            try accepted("several-environments-sandbox", sandbox, both),
            try world.accepted(
                "identity/sandbox-with-an-app-apple-id",
                world.notification("TEST", world.app { $0["environment"] = "Sandbox" }),
                [World.testEvent],
                config: world.sandboxConfig,
                tags: ["identity"]
            ),
            local("xcode-by-configuration", "Xcode"),
            local("xcode-with-fractional-date", "Xcode") { $0["signedDate"] = .raw("\(World.signed).7297") },
            local("local-testing-by-configuration", "LocalTesting"),
            world.refused(
                "identity/xcode-to-a-real-receiver",
                unsigned(xcodeTest("Xcode")),
                .untrusted,
                "certificate",
                tags: ["identity", "unsigned"],
                note: "what a payload claims switches nothing off"
            ),
            world.refused(
                "identity/production-claimed-without-signature",
                unsigned(world.test()),
                .untrusted,
                "certificate",
                tags: ["identity", "unsigned"]
            ),
            world.refused(
                "identity/production-claimed-to-xcode-receiver",
                unsigned(world.test()),
                .misdirected,
                "environment",
                config: xcode("Xcode"),
                tags: ["identity", "unsigned"],
                note: "a receiver of unsigned data takes none that claims to be signed"
            ),
            world.refused(
                "identity/local-testing-to-xcode-receiver",
                unsigned(xcodeTest("LocalTesting")),
                .misdirected,
                "environment",
                config: xcode("Xcode"),
                tags: ["identity", "unsigned"]
            ),
        ]
    }
}
