import Foundation
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import Stripe
import Testing

/// Another version of an adapter, which changes events. It signs what it is given anew, since a kept delivery has no signature.
private struct OtherVersion: ProviderAdapter {
    typealias Notification = StripeNotification
    typealias Resolved = StripeNotification
    let life: StripeLife
    let change: @Sendable (inout NormalizedEvent) -> Void
    var provider: Provider { .stripe }

    func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<Notification> {
        guard let signed = try? life.simulator.delivery(delivery.body, receivedAt: delivery.receivedAt) else {
            throw DeliveryError(.malformed, "not a body to sign")
        }
        return try life.adapter.authenticate(signed)
    }

    func normalize(_ resolved: Authenticated<Resolved>) throws(DeliveryError) -> Normalization {
        var result = try life.adapter.normalize(resolved)
        for index in result.events.indices { change(&result.events[index]) }
        return result
    }
}

@Suite("Kept deliveries are compared with the log")
struct KeptDeliveryTests {
    private let life: StripeLife
    private let journal: Journal
    private let events: [NormalizedEvent]

    init() async throws {
        life = try StripeLife()
        var options = Journal.Options()
        options.deliveryRetention = .seconds(86_400)
        journal = Journal(MemoryJournal(), options: options, clock: TestClock(jumping: true), now: { StripeLife.start })
        for delivery in life.deliveries { _ = await journal.receive(delivery, with: life.adapter) }
        events = try await journal.events(after: 0, limit: 1000).map(\.event.event)
    }

    private func difference(
        _ change: @escaping @Sendable (inout NormalizedEvent) -> Void = { _ in }
    ) async throws -> Journal.Difference {
        try await journal.diff(against: ["stripe": OtherVersion(life: life, change: change)])
    }

    @Test("The same version gives the same events")
    func sameVersion() async throws {
        let same = try await difference()
        #expect(same.deliveries > 10)
        #expect(same.refused.isEmpty && same.newEvents.isEmpty && same.changedEvents.isEmpty)
    }

    @Test("An event that has another price is listed as changed, and nothing is written")
    func changedEvents() async throws {
        let end = try await journal.verify()
        let priced = Set(events.filter { $0.price != nil }.map(\.id))
        let changed = try await difference { if $0.price != nil { $0.price = nil } }
        #expect(Set(changed.changedEvents.map(\.id)) == priced)
        #expect(!priced.isEmpty && changed.newEvents.isEmpty && changed.refused.isEmpty)
        #expect(try await journal.verify() == end)
    }

    @Test("An event that the log has not is listed as new")
    func newEvents() async throws {
        let refunds = events.filter { $0.event.kind == .refunded }
        let other = EventID(.refunded, in: try #require(refunds.first?.subscription), "another refund")
        let found = try await difference { if $0.event.kind == .refunded { $0.id = other } }
        #expect(found.newEvents.map(\.id) == refunds.map { _ in other })
        #expect(!refunds.isEmpty && found.changedEvents.isEmpty)
    }

    @Test("A delivery that the other version refuses is listed, and one of another source is left out")
    func refusals() async throws {
        // A Stripe signature is a header field, which is not kept.
        let refused = try await journal.diff(against: ["stripe": life.adapter])
        #expect(refused.refused.count == refused.deliveries && refused.deliveries > 10)
        #expect(try await journal.diff(against: ["apple": life.adapter]).deliveries == 0)
    }
}
