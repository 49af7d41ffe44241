import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator

/// A client's uploads: proven by the same rules, with the identities that the webhook would give.
enum AppleUploadCases {
    typealias World = AppleVectorWorld
    typealias Mapping = AppleMappingCases

    static func all(_ world: World) throws -> [AppleCase] {
        try accepted(world) + confused(world) + foreign(world)
    }

    private static func upload(
        _ world: World,
        _ id: String,
        _ kind: String,
        _ payload: JSONMembers,
        _ expectation: AppleCase.Expectation,
        reason: String? = nil,
        config: (inout JSONMembers) -> Void = { _ in },
        note: String? = nil
    ) throws -> AppleCase {
        AppleCase(
            id: "uploads/\(id)",
            body: World.body(try world.sign(payload), under: "jws"),
            config: world.config {
                $0["kind"] = .string(kind)
                config(&$0)
            },
            expectation: expectation,
            reason: reason,
            tags: ["upload", kind],
            note: note
        )
    }

    private static func accepted(_ world: World) throws -> [AppleCase] {
        let revocation = World.start + World.day
        func refunded(_ members: inout JSONMembers) {
            members["revocationDate"] = .integer(revocation)
            members["revocationReason"] = 1
            members["revocationType"] = "REFUND_FULL"
        }
        func transaction(
            _ id: String,
            _ payload: JSONMembers,
            at received: Int64 = World.received,
            facts: [Fact.Kind]? = nil,
            note: String? = nil,
            _ events: [LifecycleEvent]
        ) throws -> AppleCase {
            try upload(
                world,
                "transaction-\(id)",
                "transaction",
                payload,
                .accept(events, facts: facts),
                config: { $0["now"] = .integer(received) },
                note: note
            )
        }
        let later = revocation + 1000
        return [
            try transaction(
                "first",
                world.transaction(),
                facts: [.period, .charge, .owner],
                [Mapping.started(.new)]
            ),
            try transaction("renewal", world.renewal(), [Mapping.renewed(.scheduled)]),
            try transaction(
                "later-purchase",
                world.renewal { $0["transactionReason"] = "PURCHASE" },
                note: "an upgrade or a new start; only the notification, or the state, tells which",
                [Mapping.renewed(.unknown)]
            ),
            try transaction(
                "family",
                world.transaction { $0["inAppOwnershipType"] = "FAMILY_SHARED" },
                [Mapping.started(.familyShared, .regular, Mapping.list("9.99"))]
            ),
            try transaction(
                "refunded",
                world.renewal(at: revocation, refunded),
                at: later,
                facts: [.period, .charge, .owner, .refund],
                [
                    Mapping.renewed(.scheduled),
                    .refunded(
                        .init(
                            transaction: World.renewal,
                            scope: .full,
                            reason: .appIssue,
                            affectsCurrentPeriod: nil
                        )
                    ),
                ]
            ),
            try transaction(
                "family-revoked",
                world.transaction(at: revocation) {
                    $0["inAppOwnershipType"] = "FAMILY_SHARED"
                    $0["revocationDate"] = .integer(revocation)
                    $0["revocationType"] = "FAMILY_REVOKE"
                },
                at: later,
                facts: [.period, .owner, .periodEnded],
                [
                    Mapping.started(.familyShared, .regular, Mapping.list("9.99")),
                    .revoked(.init(reason: .familySharingEnded)),
                ]
            ),
            try transaction(
                "upgraded",
                world.renewal { $0["isUpgraded"] = true },
                facts: [.period, .charge, .periodEnded, .owner],
                note: "replaced by another of its group: no refund",
                [Mapping.renewed(.scheduled)]
            ),
            try transaction(
                "consumable",
                world.oneTime("Consumable", product: "com.example.app.coins"),
                facts: [.purchase, .charge, .owner],
                [
                    .oneTimePurchased(
                        .init(type: .consumable, quantity: 1, price: Mapping.charged("9.99"))
                    )
                ]
            ),
            try upload(
                world,
                "renewal-info",
                "renewalInfo",
                world.renewalInfo(),
                .accept([]),
                note: "facts without an event: it names no transaction"
            ),
            try upload(world, "app-transaction", "appTransaction", world.appTransaction(), .accept([])),
            try upload(
                world,
                "app-transaction-preordered",
                "appTransaction",
                world.appTransaction { $0["preorderDate"] = .integer(World.start - World.day) },
                .accept([])
            ),
        ]
    }

    /// A token of one kind offered as another.
    private static func confused(_ world: World) throws -> [AppleCase] {
        let payloads: [(kind: String, payload: JSONMembers)] = [
            ("notification", try world.notification("DID_RENEW", world.purchase(world.renewal(), world.renewalInfo()))),
            ("transaction", world.renewal()),
            ("renewalInfo", world.renewalInfo()),
            ("appTransaction", world.appTransaction()),
        ]
        var cases: [AppleCase] = []
        for offered in payloads {
            for expected in payloads where expected.kind != offered.kind {
                cases.append(
                    AppleCase(
                        id: "uploads/\(offered.kind)-as-\(expected.kind)",
                        body: World.body(
                            try world.sign(offered.payload),
                            under: expected.kind == "notification" ? "signedPayload" : "jws"
                        ),
                        config: world.config { $0["kind"] = .string(expected.kind) },
                        expectation: .reject(expected.kind == "notification" ? .misdirected : .malformed),
                        reason: "payload",
                        tags: ["upload", "confusion"]
                    )
                )
            }
        }
        // Members of both kinds at once.
        for (kind, payload) in [
            ("transaction", world.renewal { $0["autoRenewStatus"] = 1 }),
            ("renewalInfo", world.renewalInfo { $0["transactionId"] = .string(World.renewal) }),
        ] {
            cases.append(
                try upload(
                    world,
                    "\(kind)-with-members-of-another",
                    kind,
                    payload,
                    .reject(.malformed),
                    reason: "payload"
                )
            )
        }
        return cases
    }

    private static func foreign(_ world: World) throws -> [AppleCase] {
        func case_(
            _ id: String,
            _ kind: String,
            _ payload: JSONMembers,
            _ reason: String
        ) throws -> AppleCase {
            try upload(world, id, kind, payload, .reject(.misdirected), reason: reason)
        }
        func named(_ bundleID: String) -> (inout JSONMembers) -> Void { { $0["bundleId"] = .string(bundleID) } }
        return [
            try case_(
                "transaction-of-another-app",
                "transaction",
                world.renewal(named("com.example.other")),
                "app-identity"
            ),
            try case_(
                "transaction-of-sandbox",
                "transaction",
                world.renewal { $0["environment"] = "Sandbox" },
                "environment"
            ),
            try case_(
                "transaction-of-xcode",
                "transaction",
                world.renewal { $0["environment"] = "Xcode" },
                "environment"
            ),
            try case_(
                "renewal-info-of-sandbox",
                "renewalInfo",
                world.renewalInfo { $0["environment"] = "Sandbox" },
                "environment"
            ),
            try case_(
                "app-transaction-of-another-app",
                "appTransaction",
                world.appTransaction(named("com.example.other")),
                "app-identity"
            ),
            try case_(
                "app-transaction-of-sandbox",
                "appTransaction",
                world.appTransaction { $0["receiptType"] = "Sandbox" },
                "environment"
            ),
            try case_(
                "app-transaction-with-another-id",
                "appTransaction",
                world.appTransaction { $0["appAppleId"] = 1 },
                "app-identity"
            ),
            try case_(
                "app-transaction-without-id",
                "appTransaction",
                world.appTransaction { $0["appAppleId"] = nil },
                "app-identity"
            ),
            AppleCase(
                id: "uploads/transaction-forged",
                body: World.body(try world.impostor.jws(world.renewal().bytes), under: "jws"),
                config: world.config { $0["kind"] = "transaction" },
                expectation: .reject(.untrusted),
                reason: "chain",
                tags: ["upload", "transaction"]
            ),
            AppleCase(
                id: "uploads/body-of-a-notification",
                body: World.body(try world.sign(world.renewal())),
                config: world.config { $0["kind"] = "transaction" },
                expectation: .reject(.malformed),
                reason: "malformed",
                tags: ["upload", "transaction"]
            ),
        ]
    }
}
