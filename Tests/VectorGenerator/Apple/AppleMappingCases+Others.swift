import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator

extension AppleMappingCases {
    static func others(_ world: World) throws -> [AppleCase] {
        let previous = "1000000900000001"
        func migrated(_ type: String, _ id: String, previous: String?) throws -> AppleCase {
            try one(
                world,
                id,
                type,
                transaction: world.renewal { $0["previousOriginalTransactionId"] = previous.map(JSONText.string) },
                info: world.renewalInfo(),
                status: 1,
                facts: previous == nil ? usual : usual + [.link],
                .notice(.init(.migration, facts: previous.map { ["previous_original_transaction_id": $0] } ?? [:]))
            )
        }
        func token(
            _ id: String,
            _ subtype: String?,
            sandbox: Bool = false,
            lasting: Bool
        ) throws -> AppleCase {
            let name = (sandbox ? "SANDBOX_" : "") + "b2158121-7af9-49d4-9561-1f588205523e"
            let content = world.app {
                $0["bundleVersion"] = nil
                $0["environment"] = nil
                if sandbox { $0["appAppleId"] = nil }
                $0["externalPurchaseId"] = .string(name)
                $0["tokenCreationDate"] = .integer(World.start)
                if lasting {
                    $0["tokenType"] = "ACQUISITION"
                    $0["tokenExpirationDate"] = .integer(World.end)
                }
            }
            var facts = ["external_purchase_id": name, "created_at": "2026-01-01T00:00:00.000Z"]
            facts["stage"] = subtype?.lowercased()
            if lasting {
                facts["token_type"] = "ACQUISITION"
                facts["expires_at"] = "2026-02-01T00:00:00.000Z"
            }
            return try world.accepted(
                "mapping/external-purchase-token-\(id)",
                world.notification("EXTERNAL_PURCHASE_TOKEN", subtype, carrier: "externalPurchaseToken", content),
                [.notice(.init(.externalPurchaseToken, facts: facts))],
                facts: [],
                config: sandbox ? world.sandboxConfig : nil,
                tags: ["mapping", "EXTERNAL_PURCHASE_TOKEN"]
            )
        }
        func rescinded(_ id: String, _ appTransaction: JSONText?) throws -> AppleCase {
            try world.accepted(
                "mapping/rescind-consent\(id)",
                world.notification(
                    "RESCIND_CONSENT",
                    carrier: "appData",
                    world.app {
                        $0["bundleVersion"] = nil
                        $0["signedAppTransactionInfo"] = appTransaction
                    }
                ),
                [.revoked(.init(reason: .consentRescinded))],
                facts: [],
                tags: ["mapping", "RESCIND_CONSENT"]
            )
        }
        return [
            try one(
                world,
                "metadata-update",
                "METADATA_UPDATE",
                transaction: world.renewal(),
                info: world.renewalInfo(),
                status: 1,
                facts: usual,
                .notice(.init(.metadata))
            ),
            try migrated("MIGRATION", "migration", previous: previous),
            try migrated("MIGRATE", "migrate", previous: previous),
            try migrated("MIGRATION", "migration-without-previous", previous: nil),
            try token("unreported", "UNREPORTED", lasting: false),
            try token("created", "CREATED", lasting: true),
            try token("active-token-reminder", "ACTIVE_TOKEN_REMINDER", lasting: true),
            try token("sandbox", "UNREPORTED", sandbox: true, lasting: false),
            try token("unknown-subtype", "MISLAID", lasting: true),
            try token("without-subtype", nil, lasting: false),
            try rescinded("", try world.signedText(world.appTransaction())),
            try rescinded("-without-app-transaction", nil),
            try world.accepted(
                "mapping/test",
                world.test(),
                [World.testEvent],
                facts: [],
                tags: ["mapping", "TEST"]
            ),
            try world.accepted(
                "mapping/test-sandbox",
                world.notification(
                    "TEST",
                    world.app {
                        $0["environment"] = "Sandbox"
                        $0["appAppleId"] = nil
                    }
                ),
                [World.testEvent],
                facts: [],
                config: world.sandboxConfig,
                tags: ["mapping", "TEST"]
            ),
            try one(
                world,
                "unknown-type",
                "TELEPORTED",
                subtype: "SIDEWAYS",
                transaction: world.renewal(),
                info: world.renewalInfo(),
                status: 1,
                note: "unknown to this version, and nothing of it is lost: the period in it begins",
                renewed(.scheduled),
                unmapped("TELEPORTED", "SIDEWAYS")
            ),
            try one(
                world,
                "unknown-type-without-transaction",
                "TELEPORTED",
                subtype: nil,
                facts: [],
                unmapped("TELEPORTED")
            ),
        ]
    }
}
