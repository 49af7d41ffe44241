import NormalizerTesting
import AppleJWS
import FoundationEssentials
import NotificationSimulator
import Normalizer
import SimulatedTrust
import Testing

/// The same App Store transaction through Apple's webhook, Apple's notification history, and a client's upload.
@Suite("One App Store transaction, three channels")
struct AppleIdentityTests {
    static let start = Date(timeIntervalSince1970: 1_767_225_600)
    static let names = AppleSimulator.stories.map(\.id)

    let simulator: AppleSimulator
    let adapter: AppleAdapter

    init() throws {
        simulator = try AppleSimulator(seed: "channels")
        adapter = try AppleAdapter(.init(trusting: simulator))
    }

    private func notifications(_ name: String) throws -> [AppleSimulator.Notification] {
        try simulator.unsignedNotifications(
            #require(AppleSimulator.stories.first { $0.id == name }),
            from: Self.start
        )
    }

    private func webhook(_ notification: AppleSimulator.Notification) throws -> [NormalizedEvent] {
        try adapter.normalize(try adapter.authenticate(try simulator.delivery(notification))).events
    }

    private func history(_ notification: AppleSimulator.Notification) throws -> [NormalizedEvent] {
        // Fetched weeks later.
        let receivedAt = notification.signedDate.addingTimeInterval(20 * 86_400)
        let delivery = try simulator.delivery(notification, receivedAt: receivedAt)
        return try adapter.normalize(try adapter.authenticate(delivery, channel: .history)).events
    }

    private func upload(_ notification: AppleSimulator.Notification) throws -> [NormalizedEvent] {
        guard case .data(let data) = notification.content, let transaction = data.transactionInfo else { return [] }
        let date = notification.signedDate
        return try adapter.receive(
            signedTransaction: try simulator.signed(transaction, at: date),
            signedRenewalInfo: try data.renewalInfo.map { try simulator.signed($0, at: date) },
            receivedAt: date.addingTimeInterval(30)
        ).events
    }

    @Test("history says what the webhook said, in everything but the way it came", arguments: names)
    func history(name: String) throws {
        for notification in try notifications(name) {
            var fetched = try history(notification)
            let posted = try webhook(notification)
            for index in fetched.indices where posted.indices.contains(index) {
                #expect(fetched[index].origin.channel == .history)
                fetched[index].origin.channel = .webhook
                fetched[index].receivedAt = posted[index].receivedAt
            }
            #expect(fetched == posted)
        }
    }

    @Test("an upload gives the webhook's identity, lineage, transaction and period", arguments: names)
    func upload(name: String) throws {
        let notifications = try notifications(name)
        let posted = try notifications.flatMap(webhook)
        let known = Set(posted.map(\.id))
        for notification in notifications {
            for event in try upload(notification) {
                #expect(event.origin.channel == .clientUpload)
                guard known.contains(event.id) else {
                    // Its notification reported something else, such as a migration, and carried the same facts.
                    #expect(posted.contains { $0.kind == .notice && $0.transaction == event.transaction })
                    continue
                }
                let twin = try #require(posted.first { $0.id == event.id })
                #expect(event.subscription == twin.subscription)
                #expect(event.transaction == twin.transaction)
                #expect(event.product?.id == twin.product?.id)
            }
        }
    }

    @Test("an upload beside its notification adds no fact of another value", arguments: names)
    func facts(name: String) throws {
        for notification in try notifications(name) {
            guard let event = try upload(notification).first, let posted = try webhook(notification).first else {
                continue
            }
            let shared: Set<Fact.Kind> = [.period, .charge, .owner, .purchase, .renewalIntent, .link, .refund]
            for fact in event.facts where shared.contains(fact.kind) {
                // That a refund was undone the notification alone tells, so that the transaction says less, never more.
                #expect(posted.facts.contains(fact), "\(notification.notificationType): \(fact.kind)")
            }
        }
    }

    @Test("in any order, every fact acts once, and one state comes of it", arguments: names)
    func shuffled(name: String) throws {
        let notifications = try notifications(name)
        let posted = try notifications.flatMap(webhook)
        let uploaded = try notifications.flatMap(upload)
        let all = posted + (try notifications.flatMap(history)) + uploaded
        let expected = Backend(all)
        let alone = Backend(posted)
        #expect(Set(expected.acts.map(\.id)) == Set(alone.acts.map(\.id)))
        #expect(expected.acts.count == alone.acts.count)
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<20 {
            let backend = Backend(all.shuffled(using: &generator))
            #expect(backend.ledger == expected.ledger)
            #expect(Set(backend.acts.map(\.id)).count == backend.acts.count)
            #expect(Set(backend.acts.map(\.id)).isSubset(of: Set((posted + uploaded).map(\.id))))
        }
    }

    @Test("in order, the second channel's statement is known already", arguments: names)
    func duplicates(name: String) throws {
        var ledger = AccountLedger()
        for notification in try notifications(name) {
            for event in try webhook(notification) { _ = ledger.apply(event) }
            for event in try history(notification) where event.isShared {
                #expect(ledger.apply(event).disposition != .applied, "\(event.kind)")
            }
            for event in try upload(notification) {
                #expect(ledger.apply(event).disposition != .applied, "\(event.kind)")
            }
        }
    }
}
