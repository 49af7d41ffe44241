import Foundation
import Normalizer

extension Provider {
    /// A shop that does not exist.
    static let acorn: Provider = "acorn"
}

extension PurchaseStore {
    static let acorn: PurchaseStore = "acorn"
}

/// An unknown provider, made with public means: it imports `Normalizer` and nothing else of ours.
///
/// Its deliveries carry a checksum over secret and body. That stands for a signature and is none; a real adapter checks a
/// code of HMAC with `SecretBytes.isAuthenticationCode(_:over:)`.
struct AcornAdapter: ProviderAdapter {
    struct Notification: Codable, Sendable {
        var id: String
        var type: String
        var subscription: String
        var invoice: TransactionID
        var start: Double
        var end: Double
        var at: Double
        /// True if its end is lost when it is written, which is one of the mistakes, or its moment, which is another.
        var isLossy: Bool?
        var isUndated: Bool?

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(id, forKey: .id)
            try container.encode(type, forKey: .type)
            try container.encode(subscription, forKey: .subscription)
            try container.encode(invoice, forKey: .invoice)
            try container.encode(start, forKey: .start)
            try container.encode(isLossy == true ? start : end, forKey: .end)
            try container.encode(isUndated == true ? start : at, forKey: .at)
        }
    }

    /// Possible mistakes of an adapter.
    enum Mistake: CaseIterable {
        case none, trustsAnybody, readsAnything, callsForgeriesAuthentic, leaksBody, forgetsEvidence, numbersEvents
        case refusesUnknown, guessesType, losesType, losesTimes, givesUp, changesEventsUnreachable
        case losesMoment, assertsAtReceipt
    }

    let secret: String
    var mistake = Mistake.none
    var isReachable = true
    let provider: Provider = .acorn

    static func checksum(_ secret: String, _ body: [UInt8]) -> String {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for octet in Array(secret.utf8) + body {
            hash = (hash ^ UInt64(octet)) &* 0x0000_0100_0000_01B3
        }
        return String(hash, radix: 16)
    }

    func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<Notification> {
        guard delivery.body.count <= 1 << 20 else {
            throw DeliveryError(.malformed, "body of \(delivery.body.count) bytes")
        }
        let isProven = delivery.headers.values("Acorn-Checksum") == [Self.checksum(secret, delivery.body)]
        guard isProven || mistake == .trustsAnybody || mistake == .readsAnything else {
            throw DeliveryError(
                .unauthenticated,
                mistake == .leaksBody ? String(decoding: delivery.body, as: UTF8.self) : "checksum does not match",
                isAuthentic: mistake == .callsForgeriesAuthentic
            )
        }
        var decoded = try? JSONDecoder().decode(Notification.self, from: Data(delivery.body))
        if decoded == nil, mistake == .readsAnything {
            decoded = Notification(id: "", type: "began", subscription: "", invoice: "", start: 0, end: 0, at: 0)
        }
        decoded?.isLossy = mistake == .losesTimes
        decoded?.isUndated = mistake == .losesMoment
        guard let notification = decoded else {
            throw DeliveryError(.malformed, "body is not a notification", isAuthentic: isProven)
        }
        return Authenticated(
            unchecked: notification,
            receivedAt: delivery.receivedAt,
            channel: .webhook,
            evidence: Origin.Evidence(mistake == .forgetsEvidence ? .unchecked : "checksum"),
            digest: delivery.digest
        )
    }

    func resolve(_ notification: Authenticated<Notification>) async throws(DeliveryError) -> Authenticated<Notification>
    {
        guard !isReachable, notification.value.type == "ended" else { return notification }
        switch mistake {
        case .givesUp: throw DeliveryError(.malformed, "nobody answered", isAuthentic: true)
        case .changesEventsUnreachable:
            var value = notification.value
            value.type = "began"
            return Authenticated(
                unchecked: value,
                receivedAt: notification.receivedAt,
                channel: notification.channel,
                evidence: notification.evidence,
                digest: notification.digest
            )
        default: throw DeliveryError(.unavailable, "nobody answered", isAuthentic: true)
        }
    }

    func normalize(_ resolved: Authenticated<Notification>) throws(DeliveryError) -> Normalization {
        let value = resolved.value
        let lineage = SubscriptionID(store: .acorn, environment: .production, id: value.subscription)
        let period = ServicePeriod(
            start: Date(timeIntervalSince1970: value.start),
            end: Date(timeIntervalSince1970: value.end)
        )
        let event: LifecycleEvent
        var id: EventID
        var facts: [Fact] = []
        switch value.type {
        case "began":
            event = .started(.init(origin: .new, phase: .regular, period: period))
            id = .periodBegan(lineage, transaction: value.invoice, product: "acorns")
            facts = [.period(.init(period, product: "acorns", phase: .regular, transaction: value.invoice))]
        case "ended":
            event = .expired(.init(reason: .customer))
            id = .ended(lineage, transaction: value.invoice, product: "acorns", periodStart: period.start)
            facts = [
                .periodEnded(
                    .init(start: period.start, transaction: value.invoice, at: period.start, reason: .customer)
                )
            ]
        default:
            if mistake == .refusesUnknown { throw DeliveryError(.malformed, "type is not known", isAuthentic: true) }
            event =
                mistake == .guessesType
                ? .expired(.init(reason: .unknown))
                : .unmapped(.init(type: mistake == .losesType ? "other" : value.type))
            id = .notified(lineage, by: .acorn, notification: value.id)
        }
        if mistake == .numbersEvents {
            id = .notified(lineage, by: .acorn, notification: "\(resolved.receivedAt.timeIntervalSince1970)")
        }
        let at = Date(timeIntervalSince1970: value.at)
        return Normalization([
            NormalizedEvent(
                id: id,
                event: event,
                provider: .acorn,
                store: .acorn,
                environment: .production,
                subscription: lineage,
                transaction: value.invoice,
                period: period,
                occurredAt: at,
                effectiveAt: period.start,
                assertedAt: mistake == .assertsAtReceipt ? resolved.receivedAt : at,
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
