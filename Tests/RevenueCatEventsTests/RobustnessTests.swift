import NormalizerTesting
import ConformanceVectors
import Normalizer
import NotificationSimulator
import RevenueCatEvents
import Testing
import WireJSON

@Suite("Bodies that RevenueCat does not document")
struct RobustnessTests {
    static let lineage = SubscriptionID(store: .appStore, environment: .production, id: "O1")

    static func outcome(_ body: [UInt8], _ adapter: RevenueCatAdapter) -> Result<Normalization, DeliveryError> {
        let delivery = Delivery(headers: ["Authorization": "a"], body: body, receivedAt: date(t1))
        do throws(DeliveryError) {
            return .success(try adapter.normalize(try adapter.authenticate(delivery)))
        } catch { return .failure(error) }
    }

    @Test("a proven body is accepted or kept, whatever is in it", .timeLimit(.minutes(5)))
    func mutations() throws {
        let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")]))
        let bodies = try CommittedStory.all().prefix(30).flatMap { $0.webhooks.map(\.body) }
        let pieces = [
            "null", "0", "-1", "1e400", "\"\"", "\"\\u0000\"", "[]", "{}", "true", "9223372036854775808", ",",
        ]
        .map { Array($0.utf8) }
        var generator = SeededGenerator(seed: 5)
        for round in 0..<4000 {
            var body = bodies[round % bodies.count]
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                let index = Int.random(in: body.indices, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: body[index] = UInt8.random(in: .min ... .max, using: &generator)
                case 1: body.remove(at: index)
                case 2: body.insert(UInt8.random(in: 0x20...0x7E, using: &generator), at: index)
                default:
                    let piece = pieces[Int.random(in: pieces.indices, using: &generator)]
                    body.replaceSubrange(index..<min(index + piece.count, body.endIndex), with: piece)
                }
            }
            switch Self.outcome(body, adapter) {
            case .success(let normalization):
                #expect(!normalization.events.isEmpty || normalization.noChange != nil)
                for event in normalization.events {
                    #expect(try CanonicalJSON.value(NormalizedEvent.self, from: CanonicalJSON.bytes(event)) == event)
                }
            case .failure(let error):
                #expect(error.isAuthentic)
                #expect(error.code == .malformed)
            }
        }
    }

    @Test("every field may be absent or null", arguments: try CommittedStory.all())
    func absentFields(story: CommittedStory) throws {
        let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")]))
        let names = [
            "event_timestamp_ms", "app_id", "app_user_id", "aliases", "environment", "store", "product_id",
            "new_product_id", "entitlement_ids", "period_type", "purchased_at_ms", "expiration_at_ms", "transaction_id",
            "original_transaction_id", "is_family_share", "cancel_reason", "expiration_reason", "price", "currency",
            "price_in_purchased_currency", "transferred_from", "transferred_to", "auto_resume_at_ms",
        ]
        for webhook in story.webhooks {
            for name in names {
                for value in [JSONText?.none, .some(.null)] {
                    var event = try RevenueCatSimulator.Event(of: webhook)
                    event.members[name] = value
                    guard case .success(let normalization) = Self.outcome(event.body, adapter) else {
                        Issue.record("\(story.name) without \(name) is refused")
                        continue
                    }
                    #expect(!normalization.events.isEmpty || normalization.noChange != nil)
                    if let event = normalization.events.first, event.kind == .unmapped {
                        #expect(!normalization.anomalies.isEmpty, "kept, and not reported: \(name)")
                        #expect(event.facts.isEmpty)
                    }
                }
            }
        }
    }

    @Test(
        "a webhook about a period never seen creates it, until its own statement comes",
        arguments: ["CANCELLATION", "BILLING_ISSUE", "UNCANCELLATION", "SUBSCRIPTION_PAUSED"]
    )
    func provisional(type: String) throws {
        let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")]))
        let first = RevenueCatSimulator.Event(
            type,
            id: "1",
            at: t0 + 10 * day,
            .first,
            changing: ["cancel_reason": "UNSUBSCRIBE", "product_id": "old_name"]
        )
        let purchase = RevenueCatSimulator.Event("INITIAL_PURCHASE", id: "2", at: t0 + 5000)
        var state = SubscriptionState(Self.lineage)
        for event in try Self.outcome(first.body, adapter).get().events { _ = state.apply(event) }
        #expect(state.access(at: date(t0 + 11 * day)).isGranted)
        #expect(!state.access(at: date(t1 + day)).isGranted)
        for event in try Self.outcome(purchase.body, adapter).get().events { _ = state.apply(event) }
        #expect(state.snapshot(at: date(t0 + 11 * day)).product == "pro_m")
    }

    @Test("a Play order has one identity, whatever its purchase is called")
    func playOrders() throws {
        let adapter = try RevenueCatAdapter(.init(authorizations: [SecretBytes("a")]))
        let byToken = SubscriptionID(store: .playStore, environment: .production, id: "purchase-token")
        let order = "GPA.1234-5678-9012-34567..0"
        func id(_ type: String) throws -> EventID? {
            let event = RevenueCatSimulator.Event(
                type,
                id: "1",
                at: t1 + 5000,
                .second,
                changing: [
                    "store": "PLAY_STORE", "transaction_id": .string(order),
                    "original_transaction_id": "GPA.1234-5678-9012-34567",
                ]
            )
            return try Self.outcome(event.body, adapter).get().events.first?.id
        }
        #expect(try id("RENEWAL") == .periodBegan(byToken, transaction: TransactionID(order), product: "pro_m"))
        #expect(
            try id("EXPIRATION")
                == .ended(byToken, transaction: TransactionID(order), product: "pro_m", periodStart: nil)
        )
    }
}
