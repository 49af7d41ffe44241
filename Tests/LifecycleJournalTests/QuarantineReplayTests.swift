import Foundation
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import Stripe
import Synchronization
import Testing

@Suite("A replay of the quarantine", .timeLimit(.minutes(5)))
struct QuarantineReplayTests {
    /// Believes its deliveries, except those that its provider fails at, and counts them.
    private final class Failing: ProviderAdapter {
        let adapter: StripeAdapter
        let error: DeliveryError
        let tried = Mutex(0)
        let fails: @Sendable (_ number: Int, _ id: String) -> Bool
        var provider: Provider { adapter.provider }

        init(
            _ adapter: StripeAdapter,
            _ code: DeliveryError.Code = .unavailable,
            fails: @escaping @Sendable (_ number: Int, _ id: String) -> Bool = { _, _ in true }
        ) {
            self.adapter = adapter
            error = DeliveryError(code, "no answer", isAuthentic: true)
            self.fails = fails
        }

        func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<StripeNotification> {
            try adapter.authenticate(delivery)
        }

        func resolve(
            _ notification: Authenticated<StripeNotification>
        ) async throws(DeliveryError) -> Authenticated<StripeNotification> {
            let number = tried.withLock { tried in
                tried += 1
                return tried
            }
            if fails(number, notification.value.id) { throw error }
            return notification
        }

        func normalize(_ resolved: Authenticated<StripeNotification>) throws(DeliveryError) -> Normalization {
            try adapter.normalize(resolved)
        }
    }

    private let life: StripeLife
    private let time = ManualTime(StripeLife.start)

    init() throws { life = try StripeLife() }

    private func empty() -> Journal {
        let time = time
        var options = Journal.Options()
        options.maximumAttempts = 1
        return Journal(MemoryJournal(), options: options, now: { time.now })
    }

    /// A journal whose quarantine has every delivery, once for each source.
    private func journal(_ sources: [String]) async throws -> Journal {
        let journal = empty()
        let dead = UnreachableAdapter(adapter: life.adapter)
        for source in sources {
            for delivery in life.deliveries { _ = await journal.accept(delivery, with: dead, as: source) }
            while try await journal.work(with: [source: dead]) > 0 {}
        }
        return journal
    }

    /// Another version of an adapter: it cannot read the proof of this one, and the keys to prove a delivery with cannot be reached.
    private struct Keyless: ProviderAdapter {
        var provider: Provider { .stripe }

        func authenticate(_ delivery: Delivery) async throws(DeliveryError) -> Authenticated<Int> {
            throw DeliveryError(.unavailable, "the keys cannot be fetched")
        }

        func normalize(_ resolved: Authenticated<Int>) throws(DeliveryError) -> Normalization { Normalization([]) }
    }

    @Test("finds the proof of a delivery that another version could not read while the keys were away")
    func proof() async throws {
        let journal = empty()
        #expect(await journal.accept(life.deliveries[0], with: life.adapter).status == 200)
        #expect(try await journal.work(with: ["stripe": Keyless()]) == 1)
        for _ in 0..<2 {
            let entry = try #require(try await journal.quarantine.list().first)
            #expect(entry.reason.hasPrefix("unavailable"))
            #expect(await journal.quarantine.replay(entry, with: Keyless()).decision == .retryLater)
        }
        // The secret of then is not known any more.
        let rotated = try StripeLife(seed: "rotated").adapter
        let entry = try #require(try await journal.quarantine.list().first)
        #expect(await journal.quarantine.replay(entry, with: rotated).decision == .accept)
        #expect(try await journal.events().count == 1)
    }

    @Test("stops where the provider cannot be asked, and goes on with the other sources")
    func stops() async throws {
        let count = life.deliveries.count
        try #require(count > 5)
        let journal = try await journal(["down", "up"])
        let (down, up) = (Failing(life.adapter) { _, _ in true }, Failing(life.adapter) { _, _ in false })
        let counts = try await replay(journal, with: ["down": down, "up": up])
        #expect(counts.tried == ["down": 5, "up": count])
        #expect(counts.accepted == count)
        #expect(counts.stopped == ["down"])
        #expect(down.tried.withLock { $0 } == 5)
        #expect(try await journal.quarantine.sizes()["down"]?.deliveries == count)
    }

    @Test("goes on after deliveries that the provider fails at")
    func goesOn() async throws {
        let journal = try await journal(["stripe"])
        let adapter = Failing(life.adapter) { number, _ in !number.isMultiple(of: 3) }
        let count = life.deliveries.count
        let counts = try await replay(journal, with: ["stripe": adapter, "other": adapter])
        #expect(counts.tried == ["stripe": count])
        #expect(counts.accepted == count / 3)
        #expect(counts.stopped.isEmpty)
    }

    @Test("tries those first whose last attempt is longest ago", arguments: [DeliveryError.Code.unavailable, .denied])
    func order(code: DeliveryError.Code) async throws {
        let journal = try await journal(["stripe"])
        let listed = try await journal.quarantine.list().map(\.id)
        // The history of the customer is over.
        time.advance(400 * 86_400)
        let failing = Set(try life.deliveries.prefix(5).map { try life.adapter.authenticate($0).value.id })
        let adapter = Failing(life.adapter, code) { _, id in failing.contains(id) }
        #expect(try await replay(journal, with: ["stripe": adapter]).tried == ["stripe": 5])
        #expect(try await journal.quarantine.list().map(\.id) == Array(listed.dropFirst(5) + listed.prefix(5)))
        time.advance(3600)
        let second = try await replay(journal, with: ["stripe": adapter])
        #expect(second.tried == ["stripe": life.deliveries.count])
        #expect(second.accepted == life.deliveries.count - 5)
        #expect(try await journal.quarantine.list().map(\.id) == Array(listed.prefix(5)))
    }

    @Test("takes in what was proven when it came, although the secret is another one by now", arguments: [true, false])
    func proven(inTwoSteps: Bool) async throws {
        let journal = empty()
        let delivery = life.deliveries[0]
        let failing = Failing(life.adapter, inTwoSteps ? .unavailable : .denied)
        if inTwoSteps {
            _ = await journal.accept(delivery, with: failing)
            #expect(try await journal.work(with: ["stripe": failing]) == 1)
        } else {
            #expect(await journal.receive(delivery, with: failing).decision == .acceptAndQuarantine)
        }
        let rotated = try StripeAdapter(.init(signingSecrets: [StripeSimulator(seed: "rotated").signingSecret]))
        let entry = try #require(try await journal.quarantine.list().first)
        #expect(await journal.quarantine.replay(entry, with: Failing(rotated, .unavailable)).decision == .retryLater)
        let kept = try #require(try await journal.quarantine.list().first)
        #expect(await journal.quarantine.replay(kept, with: rotated).decision == .accept)
        #expect(try await journal.quarantine.list().isEmpty)
        #expect(try await !journal.events().isEmpty)
    }

    @Test("notes why a delivery could not be taken in at last, and what was proven by then")
    func reason() async throws {
        var configuration = StripeAdapter.Configuration(signingSecrets: [life.simulator.signingSecret])
        configuration.mode = .test
        let journal = empty()
        #expect(await journal.receive(life.deliveries[0], with: try StripeAdapter(configuration)).status == 200)
        let rotated = try StripeAdapter(.init(signingSecrets: [StripeSimulator(seed: "rotated").signingSecret]))
        var reasons: [String] = []
        for adapter in [rotated, Failing(life.adapter), Failing(rotated, .denied)] as [any ProviderAdapter] {
            let entry = try #require(try await journal.quarantine.list().first)
            _ = await journal.quarantine.replay(entry, with: adapter)
            reasons.append(try #require(try await journal.quarantine.list().first).reason)
        }
        #expect(reasons.map { $0.prefix { $0 != ":" } } == ["unauthenticated", "unavailable", "denied"])
        #expect(try await journal.reconcile(with: [], replaying: ["stripe": rotated]).replayed == 1)
    }

    @Test("leaves an entry as it is known: it can be tried again, or dropped")
    func knownEntry() async throws {
        let journal = try await journal(["stripe"])
        let entries = try await journal.quarantine.list()
        let entry = try #require(entries.first)
        for code in [DeliveryError.Code.unavailable, .denied] {
            _ = await journal.quarantine.replay(entry, with: Failing(life.adapter, code))
            #expect(try await journal.quarantine.entry(entry.id)?.reason.hasPrefix("\(code):") == true)
        }
        #expect(try await journal.quarantine.discard(entry))
        #expect(try await !journal.quarantine.discard(entry))
        #expect(try await journal.quarantine.list().map(\.id) == entries.dropFirst().map(\.id))
        #expect(try await journal.quarantine.sizes()["stripe"]?.deliveries == entries.count - 1)
    }

    @Test("counts all that the rows hold: also the header fields, what was proven, and why it could not be taken in")
    func size() async throws {
        let (storage, time) = (MemoryJournal(), time)
        let journal = Journal(storage, now: { time.now })
        func expectSize() async throws {
            let rows = try await storage.read { try await $0.records(JournalSelection(limit: 99), in: .delivery) }
            let size = rows.reduce(into: Quarantine.Size(deliveries: 0, bytes: 0)) { size, row in
                size.deliveries += 1
                size.bytes += row.body.count + row.detail.count
            }
            #expect(try await journal.quarantine.sizes() == ["stripe": size])
        }
        var configuration = StripeAdapter.Configuration(signingSecrets: [life.simulator.signingSecret])
        configuration.mode = .test
        let strict = try StripeAdapter(configuration)
        for delivery in life.deliveries.prefix(3) {
            #expect(await journal.receive(delivery, with: strict).status == 200)
        }
        try await expectSize()
        for adapter in [Failing(life.adapter), Failing(life.adapter, .denied)] {
            _ = try await replay(journal, with: ["stripe": adapter])
            try await expectSize()
        }
        #expect(try await journal.quarantine.discard(try #require(try await journal.quarantine.list().first)))
        try await expectSize()
        #expect(try await replay(journal, with: ["stripe": life.adapter]).accepted == 2)
        try await expectSize()
    }

    private func replay(
        _ journal: Journal,
        with adapters: [String: any ProviderAdapter]
    ) async throws -> (tried: [String: Int], accepted: Int, stopped: Set<String>) {
        var replay = journal.quarantine.replay(with: adapters)
        var (tried, accepted) = ([String: Int](), 0)
        while let (entry, answer) = try await replay.next() {
            tried[entry.source, default: 0] += 1
            accepted += answer.decision == .accept ? 1 : 0
        }
        return (tried, accepted, replay.stopped)
    }
}
