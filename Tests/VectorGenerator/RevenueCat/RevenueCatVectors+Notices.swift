import ConformanceVectors
import Normalizer
import NotificationSimulator

extension RevenueCatVectors {
    static func notices() throws -> [Case] {
        func ids(_ ids: String...) -> [Account.Identifier] { ids.map { Account.Identifier($0, .appUserID) } }
        let transfer = Event([
            "type": "TRANSFER", "id": "E-100", "event_timestamp_ms": .integer(t0 + 9 * day), "app_id": "app0123456789",
            "environment": "PRODUCTION", "store": "APP_STORE", "transferred_from": ["u1", "$RCAnonymousID:a"],
            "transferred_to": ["u2"],
        ])
        let moved = LifecycleEvent.transferred(.init(from: ids("u1", "$RCAnonymousID:a"), to: ids("u2")))
        let redeemed = Event([
            "type": "PURCHASE_REDEEMED", "id": "E-103", "event_timestamp_ms": .integer(t0), "environment": "PRODUCTION",
            "store": "RC_BILLING", "redeemed_from": ["web"], "redeemed_by": ["u1"], "redemption_outcome": "alias",
            "redemption_platform": "ios", "product_id": "pro_m",
        ])
        let currency = Event([
            "type": "VIRTUAL_CURRENCY_TRANSACTION", "id": "E-106", "event_timestamp_ms": .integer(t0),
            "app_user_id": "u1", "purchase_environment": "SANDBOX", "source": "in_app_purchase",
            "virtual_currency_transaction_id": "vc1", "transaction_id": "T9", "product_id": "coins",
            "adjustments": [
                ["amount": 100, "currency": ["code": "GLD", "name": "Gold", "description": ""]],
                ["amount": -5, "currency": ["code": "SLV", "name": "Silver", "description": ""]],
            ],
        ])
        func adjusted(_ code: String, _ amount: String) -> LifecycleEvent {
            .notice(
                .init(
                    .virtualCurrency,
                    facts: [
                        "source": "in_app_purchase", "virtual_currency_transaction_id": "vc1", "currency": code,
                        "amount": amount, "transaction": "T9", "product": "coins",
                    ]
                )
            )
        }
        return [
            try proven(
                "transfer",
                "sent once, for the destination, without a product",
                transfer,
                .event(moved, [.transfer])
            ),
            try proven(
                "transfer/no-environment",
                "an old shape names no environment",
                transfer.with(["id": "E-101", "environment": nil]),
                .event(moved, [.transfer])
            ),
            try proven(
                "transfer/nowhere",
                "a move to nobody",
                transfer.with(["id": "E-102", "transferred_to": nil]),
                anomalies: ["event.transferred_to"],
                .event(.unmapped(.init(type: "TRANSFER")), [])
            ),
            try proven(
                "redeemed/alias",
                "two ids turn out to be one customer",
                redeemed,
                .event(
                    .notice(
                        .init(.accountsLinked, facts: ["redemption_outcome": "alias", "redemption_platform": "ios"])
                    ),
                    []
                )
            ),
            try proven(
                "redeemed/transfer",
                "the move comes in a webhook of its own",
                redeemed.with(["id": "E-104", "redemption_outcome": "transfer", "redeemed_from": .some(.null)]),
                .event(
                    .notice(
                        .init(.accountsLinked, facts: ["redemption_outcome": "transfer", "redemption_platform": "ios"])
                    ),
                    []
                )
            ),
            try proven(
                "alias",
                "deprecated, and still accepted",
                Event("SUBSCRIBER_ALIAS", id: "E-105", at: t0),
                .event(.notice(.init(.accountsLinked)), [])
            ),
            try proven(
                "virtual-currency",
                "one event for each currency",
                currency,
                .events([adjusted("GLD", "100"), adjusted("SLV", "-5")], facts: [])
            ),
            try proven(
                "virtual-currency/shape",
                "adjustments of another shape",
                currency.with(["id": "E-107", "adjustments": ["GLD"]]),
                anomalies: ["event.adjustments"],
                .event(
                    .notice(
                        .init(
                            .virtualCurrency,
                            facts: ["source": "in_app_purchase", "virtual_currency_transaction_id": "vc1"]
                        )
                    ),
                    []
                )
            ),
            try proven(
                "invoice",
                "an invoice that is not paid",
                Event(
                    "INVOICE_ISSUANCE",
                    id: "E-108",
                    at: t0,
                    .first,
                    ["store": "RC_BILLING", "period_type": .some(.null)]
                ),
                .event(.notice(.init(.invoiceIssued)), [])
            ),
            try proven(
                "experiment",
                "without store and environment",
                Event([
                    "type": "EXPERIMENT_ENROLLMENT", "id": "E-109", "event_timestamp_ms": .integer(t0),
                    "app_user_id": "u1",
                    "experiment_id": "exp1", "experiment_variant": "b", "offering_id": "sale",
                    "experiment_enrolled_at_ms": .integer(t0),
                ]),
                .event(
                    .notice(
                        .init(
                            .experiment,
                            facts: [
                                "experiment_id": "exp1", "experiment_variant": "b", "offering_id": "sale",
                                "enrolled_at": "2026-01-01T00:00:00.000Z",
                            ]
                        )
                    ),
                    []
                )
            ),
            try proven(
                "experiment/other-name",
                "the table calls the time by another name",
                Event([
                    "type": "EXPERIMENT_ENROLLMENT", "id": "E-110", "event_timestamp_ms": .integer(t0),
                    "enrolled_at_ms": .integer(t0),
                ]),
                .event(.notice(.init(.experiment, facts: ["enrolled_at": "2026-01-01T00:00:00.000Z"])), [])
            ),
            try proven(
                "test",
                "it looks like a purchase and is none",
                Event("TEST", id: "E-111", at: t0).priced("9.99"),
                .event(.notice(.init(.test)), [])
            ),
            try proven(
                "test/odd",
                "fields of other types do not matter in a test",
                Event("TEST", id: "E-112", at: t0, .first, ["purchased_at_ms": "soon", "aliases": "u1"]),
                anomalies: ["event.aliases", "event.purchased_at_ms"],
                .event(.notice(.init(.test)), [])
            ),
            try proven(
                "paywall",
                "a paywall was shown",
                Event([
                    "type": "PAYWALL_IMPRESSION", "id": "E-113", "event_timestamp_ms": .integer(t0),
                    "app_user_id": "u1",
                    "paywall_id": "pw1", "session_id": "s1", "offering_id": "sale",
                ]),
                .event(.notice(.init(.paywall, facts: ["paywall_id": "pw1", "offering_id": "sale"])), [])
            ),
            try proven(
                "paywall/renamed",
                "renamed in the dashboard to the name of a lifecycle type",
                Event("RENEWAL", id: "E-114", at: t0, .second, ["paywall_id": "pw1", "price": "free"]),
                anomalies: ["event.price"],
                .event(.notice(.init(.paywall, facts: ["paywall_id": "pw1"])), [])
            ),
            try proven(
                "paywall/session",
                "a session is a paywall's, too",
                Event("TRANSFER", id: "E-115", at: t0, .first, ["session_id": "s1"]),
                .event(.notice(.init(.paywall)), [])
            ),
            try proven(
                "unknown",
                "a type that RevenueCat introduced yesterday",
                Event("GIFT_RECEIVED", id: "E-116", at: t0),
                .event(.unmapped(.init(type: "GIFT_RECEIVED")), [])
            ),
            try proven(
                "unknown/odd",
                "of an unknown type nothing is promised",
                Event("GIFT_RECEIVED", id: "E-117", at: t0, .first, ["price": "free", "purchased_at_ms": true]),
                anomalies: ["event.purchased_at_ms", "event.price"],
                .event(.unmapped(.init(type: "GIFT_RECEIVED")), [])
            ),
        ]
    }
}
