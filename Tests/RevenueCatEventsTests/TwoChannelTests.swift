import NormalizerTesting
import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import RevenueCatEvents
import SimulatedTrust
import Testing
import WireJSON

/// The same App Store story through Apple and through RevenueCat.
@Suite("One story, two channels")
struct TwoChannelTests {
    static let start = Date(timeIntervalSince1970: 1_767_225_600)
    static let stories = [
        "life", "initial-purchase", "trial-converts", "introductory-converts", "renewals", "grace-recovers",
        "grace-lapses", "hold-expires", "refund-reversed", "refund-prorated", "refund-consumable", "upgrade",
        "downgrade", "downgrade-withdrawn", "cancel-expire", "uncancel", "resubscribe", "mass-extension", "one-time",
        "family",
    ]

    static let refundSkew: TimeInterval = 900

    struct Channels {
        /// Each of Apple's notifications with the webhooks that RevenueCat makes of it.
        var steps: [(apple: [NormalizedEvent], relayed: [NormalizedEvent])] = []
        var apple: [NormalizedEvent] { steps.flatMap(\.apple) }
        var relayed: [NormalizedEvent] { steps.flatMap(\.relayed) }
    }

    static func channels(_ story: CustomerStory) throws -> Channels {
        let simulator = try AppleSimulator(seed: "two channels")
        let apple = try AppleAdapter(.init(trusting: simulator))
        let relay = try RevenueCatAdapter(.init(signingSecrets: [SecretBytes("s")]))
        let relaySimulator = RevenueCatSimulator(signingSecret: SecretBytes("s"))
        var channels = Channels()
        var previousProduct: String?
        for delivery in try simulator.deliveries(story, from: start) {
            let proven = try apple.authenticate(delivery)
            var relayed: [NormalizedEvent] = []
            for event in webhooks(for: proven.value, replacing: previousProduct) {
                let webhook = try relaySimulator.delivery(
                    event.body,
                    receivedAt: proven.value.signedDate.addingTimeInterval(20)
                )
                relayed += try relay.normalize(try relay.authenticate(webhook)).events
            }
            if case .data(let data) = proven.value.content { previousProduct = data.transaction?.productID }
            channels.steps.append((try apple.normalize(proven).events, relayed))
        }
        return channels
    }

    /// RevenueCat's webhooks for a notification of Apple's.
    static func webhooks(
        for notification: AppleNotification,
        replacing previous: String?
    ) -> [RevenueCatSimulator.Event] {
        guard case .data(let data) = notification.content, let transaction = data.transaction else { return [] }
        func milliseconds(_ date: Date?) -> JSONText {
            date.map { .integer(Int64(($0.timeIntervalSince1970 * 1000).rounded())) } ?? .null
        }
        let grace = data.renewalInfo?.gracePeriodExpiresDate
        func event(
            _ type: String,
            end: Date? = transaction.expiresDate,
            _ changes: KeyValuePairs<String, JSONText?> = [:]
        ) -> RevenueCatSimulator.Event {
            let phase =
                transaction.offerDiscountType == .freeTrial
                ? "TRIAL" : transaction.offerType == .introductory ? "INTRO" : "NORMAL"
            let price = transaction.price.map { JSONText.raw($0.amount.description) }
            return RevenueCatSimulator.Event([
                "type": .string(type), "id": .string("\(notification.notificationUUID)-\(type)"),
                "event_timestamp_ms": milliseconds(notification.signedDate.addingTimeInterval(2)),
                "app_id": "app1", "app_user_id": "u1", "aliases": ["u1"], "environment": "PRODUCTION",
                "store": "APP_STORE", "product_id": .string(transaction.productID), "period_type": .string(phase),
                "purchased_at_ms": milliseconds(transaction.purchaseDate), "expiration_at_ms": milliseconds(end),
                "transaction_id": .string(transaction.transactionID),
                "original_transaction_id": .string(transaction.originalTransactionID),
                "price_in_purchased_currency": price ?? .null,
                "currency": transaction.price.map { .string($0.currency) } ?? .null,
                "entitlement_ids": transaction.type == .consumable ? .null : ["pro"],
                "is_family_share": .bool(transaction.inAppOwnershipType == .familyShared),
            ]).with(changes)
        }
        switch (notification.type, notification.subtype) {
        case (.subscribed, .initialBuy?): return [event("INITIAL_PURCHASE")]
        case (.subscribed, _), (.didRenew, _): return [event("RENEWAL")]
        case (.didFailToRenew, _):
            let end = grace ?? transaction.expiresDate
            return [
                event("BILLING_ISSUE", end: end, ["grace_period_expiration_at_ms": milliseconds(grace)]),
                event("CANCELLATION", end: end, ["cancel_reason": "BILLING_ERROR", "price_in_purchased_currency": 0]),
            ]
        case (.expired, let subtype):
            return [
                event("EXPIRATION", ["expiration_reason": subtype == .voluntary ? "UNSUBSCRIBE" : "BILLING_ERROR"])
            ]
        case (.didChangeRenewalStatus, .autoRenewDisabled?):
            return [event("CANCELLATION", ["cancel_reason": "UNSUBSCRIBE", "price_in_purchased_currency": 0])]
        case (.didChangeRenewalStatus, _): return [event("UNCANCELLATION")]
        case (.didChangeRenewalPref, .upgrade?):
            return [
                event(
                    "PRODUCT_CHANGE",
                    [
                        "product_id": previous.map { .string($0) } ?? .null,
                        "new_product_id": .string(transaction.productID), "transaction_id": nil, "purchased_at_ms": nil,
                    ]
                ),
                event("RENEWAL"),
            ]
        case (.didChangeRenewalPref, let subtype):
            let next = subtype == .downgrade ? data.renewalInfo?.autoRenewProductID : transaction.productID
            return [event("PRODUCT_CHANGE", ["new_product_id": next.map { .string($0) } ?? .null])]
        case (.refund, _):
            return [
                event(
                    "CANCELLATION",
                    // RevenueCat's moment of a refund is not Apple's; of what has no end it states none.
                    end: transaction.expiresDate == nil
                        ? nil : transaction.revocationDate?.addingTimeInterval(-refundSkew),
                    [
                        "cancel_reason": "CUSTOMER_SUPPORT",
                        "price_in_purchased_currency": .raw("-" + (transaction.price?.amount.description ?? "0")),
                    ]
                )
            ]
        case (.revoke, _):
            // A member's loss looks like a refund of nothing.
            return [
                event(
                    "CANCELLATION",
                    end: transaction.revocationDate?.addingTimeInterval(-refundSkew),
                    ["cancel_reason": "CUSTOMER_SUPPORT", "price_in_purchased_currency": 0]
                )
            ]
        case (.refundReversed, _): return [event("REFUND_REVERSED")]
        case (.renewalExtended, _): return [event("SUBSCRIPTION_EXTENDED")]
        case (.oneTimeCharge, _): return [event("NON_RENEWING_PURCHASE")]
        default: return []
        }
    }

    /// Kinds that both channels report, with what a period's beginning is called left aside.
    static func facts(_ events: [NormalizedEvent]) -> [String: Int] {
        var counts: [String: Int] = [:]
        for event in events {
            switch event.kind {
            case .started, .renewed, .productChanged: counts["began", default: 0] += 1
            case .expired, .revoked, .refunded, .refundReversed, .oneTimePurchased, .extended, .billingIssue,
                .autoRenewEnabled, .productChangeReverted:
                counts[event.kind.rawValue, default: 0] += 1
            case .autoRenewDisabled:
                // RevenueCat words a failed charge as an end of renewal, too; Apple does not.
                if case .autoRenewDisabled(let detail) = event.event, detail.reason != .billing {
                    counts["autoRenewDisabled", default: 0] += 1
                }
            default: break
            }
        }
        return counts
    }

    static func story(_ name: String) throws -> CustomerStory {
        try #require(AppleSimulator.stories.first { $0.id == name }, "\(name)")
    }

    @Test("a purchase that both channels report has one identity, one lineage and one transaction", arguments: stories)
    func identities(name: String) throws {
        let channels = try Self.channels(try Self.story(name))
        let shared: Set<LifecycleEvent.Kind> = [
            .started, .renewed, .productChanged, .expired, .revoked, .refunded, .refundReversed, .oneTimePurchased,
            .extended,
        ]
        for step in channels.steps {
            for relayed in step.relayed
            where shared.contains(relayed.kind)
                || (relayed.kind == .productChangeScheduled && step.apple.first?.kind == relayed.kind)
            {
                let apple = try #require(step.apple.first)
                #expect(relayed.id == apple.id, "\(relayed.kind)")
                #expect(relayed.transaction == apple.transaction)
            }
        }
        #expect(
            Set(channels.relayed.compactMap(\.subscription)) == Set(channels.apple.compactMap(\.subscription))
        )
    }

    @Test("interleaved, every fact acts once, whichever channel is first", arguments: stories)
    func interleaved(name: String) throws {
        let channels = try Self.channels(try Self.story(name))
        let expected = Self.facts(Backend(channels.apple).acts)
        #expect(!expected.isEmpty)
        #expect(Self.facts(channels.relayed) == Self.facts(channels.apple))
        let orders: [[NormalizedEvent]] = [
            channels.steps.flatMap { step in step.apple + step.relayed },
            channels.steps.flatMap { step in step.relayed + step.apple },
            channels.steps.flatMap { step in [step.apple, step.relayed, step.apple, step.relayed].flatMap(\.self) },
        ]
        for order in orders {
            #expect(Self.facts(Backend(order).acts) == expected)
        }
    }

    @Test("in any order nothing acts twice, and one state comes of it", arguments: stories)
    func shuffled(name: String) throws {
        let channels = try Self.channels(try Self.story(name))
        let all = channels.apple + channels.relayed
        let expected = Backend(all).ledger
        let once = Self.facts(channels.apple)
        var generator = SeededGenerator(seed: 17)
        for _ in 0..<(ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] == "1" ? 50 : 20) {
            let backend = Backend(all.shuffled(using: &generator))
            #expect(backend.ledger == expected)
            for (kind, count) in Self.facts(backend.acts) { #expect(count <= once[kind] ?? 0, "\(kind)") }
        }
    }

    @Test("both channels decide alike on access", arguments: stories)
    func access(name: String) throws {
        let channels = try Self.channels(try Self.story(name))
        let lineage = try #require(channels.apple.first?.subscription)
        let apple = try #require(Backend(channels.apple).ledger[lineage])
        let relayed = try #require(Backend(channels.relayed).ledger[lineage])
        let both = try #require(Backend(channels.apple + channels.relayed).ledger[lineage])
        // Another hour of the day each time.
        for hour in stride(from: 0, to: 24 * 300, by: 23) {
            let time = Self.start.addingTimeInterval(Double(hour) * 3600 + 60)
            #expect(relayed.access(at: time).isGranted == apple.access(at: time).isGranted, "hour \(hour)")
            #expect(both.access(at: time).isGranted == apple.access(at: time).isGranted, "hour \(hour), both")
        }
    }
}
