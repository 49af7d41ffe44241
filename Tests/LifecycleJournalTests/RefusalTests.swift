import Foundation
import LifecycleJournal
import NormalizerTesting
import NotificationSimulator
import SQLiteJournal
import Stripe
import Testing

@Suite("A refusal says what to look at")
struct RefusalTests {
    private func observation(_ secret: SecretBytes, _ change: (inout Delivery) -> Void) async throws
        -> DeliveryObservation
    {
        let observer = RecordingObserver()
        let journal = Journal(MemoryJournal(), observer: observer, now: { StripeLife.start })
        var delivery = try #require(try StripeLife().deliveries.first)
        change(&delivery)
        _ = await journal.receive(delivery, with: try StripeAdapter(.init(signingSecrets: [secret])))
        return try #require(observer.deliveries.first)
    }

    @Test("a refusal names another endpoint's secret, or a rewritten body, as the possible cause")
    func signature() async throws {
        let expected = """
            header Stripe-Signature: none of 1 signatures was made over this body with one of 1 secrets: the secret is \
            another endpoint's, or the body is not as received
            """
        let other = try await observation(SecretBytes("whsec_other")) { _ in }
        #expect([other.error?.rawValue, other.message] == ["unauthenticated", expected])
        let edited = try await observation(StripeLife().simulator.signingSecret) { $0.body.append(10) }
        #expect([edited.error?.rawValue, edited.message] == ["unauthenticated", expected])
    }

    @Test("and an accepted delivery has none")
    func accepted() async throws {
        let observation = try await observation(StripeLife().simulator.signingSecret) { _ in }
        #expect([observation.error?.rawValue, observation.message] == [nil, nil])
    }

    @Test("an error names a missing folder of the database")
    func missingFolder() async throws {
        let error = await #expect(throws: JournalError.self) {
            _ = try await SQLiteJournalStorage(path: TemporaryFolder().path("missing/file"))
        }
        #expect(
            error?.message == """
                SQLite: unable to open database file (14): the folder must exist and be writable by this process, and the file be its own
                """
        )
    }
}
