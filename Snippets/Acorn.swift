// An adapter for a provider that this package does not know.

import Foundation
import LifecycleEvents
import NormalizerTesting

// snippet.show
extension Provider { static let acorn: Provider = "acorn" }
extension PurchaseStore { static let acorn: PurchaseStore = "acorn" }

struct AcornNotification: Codable, Sendable {
    var id: String
    var type: String
    var subscription: String
    var invoice: TransactionID
    var start: Date
    var end: Date
    var created: Date
}

struct AcornAdapter: ProviderAdapter {
    let provider: Provider = .acorn
    let secret: SecretBytes

    func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<AcornNotification> {
        let signatures = delivery.headers.values("Acorn-Signature")
        guard signatures.count == 1, let code = Data(base64Encoded: signatures[0]),
            try secret.isAuthenticationCode(Array(code), over: delivery.body)
        else {
            throw DeliveryError(.unauthenticated, "header Acorn-Signature is absent or wrong")
        }
        guard let notification = try? JSONDecoder().decode(AcornNotification.self, from: Data(delivery.body)) else {
            throw DeliveryError(.malformed, "body is not a notification", isAuthentic: true)
        }
        return Authenticated(
            unchecked: notification,
            receivedAt: delivery.receivedAt,
            channel: .webhook,
            evidence: Origin.Evidence("hmac_sha256"),
            digest: delivery.digest
        )
    }

    func normalize(_ resolved: Authenticated<AcornNotification>) throws(DeliveryError) -> Normalization {
        let value = resolved.value
        let lineage = SubscriptionID(store: .acorn, environment: .production, id: value.subscription)
        let period = ServicePeriod(start: value.start, end: value.end)
        var (id, event) = (
            EventID.notified(lineage, by: .acorn, notification: value.id),
            LifecycleEvent.unmapped(.init(type: value.type))
        )
        var facts: [Fact] = []
        if value.type == "subscription.began" {
            id = .periodBegan(lineage, transaction: value.invoice, product: "acorns")
            event = .started(.init(origin: .new, phase: .regular, period: period))
            facts = [.period(.init(period, product: "acorns", phase: .regular, transaction: value.invoice))]
        }
        return Normalization([
            NormalizedEvent(
                id: id,
                event: event,
                provider: .acorn,
                store: .acorn,
                environment: .production,
                subscription: lineage,
                occurredAt: value.created,
                effectiveAt: value.start,
                assertedAt: value.created,
                receivedAt: resolved.receivedAt,
                facts: facts,
                origin: Origin(
                    type: value.type,
                    notificationID: value.id,
                    channel: resolved.channel,
                    evidence: resolved.evidence,
                    digest: resolved.digest,
                    mapper: "acorn/1"
                )
            )
        ])
    }
}
// snippet.hide

func findings(
    _ adapter: AcornAdapter,
    purchase: Delivery,
    renewal: Delivery,
    forged: Delivery,
    unsigned: Delivery,
    unheardOf: Delivery
) async -> [String] {
    // snippet.show
    let conformance = AdapterConformance(
        adapter,
        proof: .body,  // or .header("Authorization"), for a token that does not cover the body
        genuine: [.init("purchase", purchase), .init("renewal", renewal)],
        forged: [.init("another's secret", forged), .init("no signature", unsigned)],
        unknown: [.init("a type of next year", unheardOf)]
    )
    let findings = await conformance.findings()  // your test expects none
    // snippet.hide
    return findings.map { "\($0)" }
}
