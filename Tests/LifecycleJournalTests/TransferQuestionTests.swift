import Foundation
import LifecycleJournal
import Normalizer
import NormalizerTesting
import Synchronization
import Testing

/// A transfer names accounts, and the one purchase of several that it moved is for the provider to say.
@Suite("A journal asks which purchase a transfer moved", .timeLimit(.minutes(5)))
struct TransferQuestionTests {
    let folder = TemporaryFolder()

    /// A provider that knows no purchase.
    private struct Ignorant: LineageQuestions {
        let provider: Provider = .revenuecat
        let pace: Duration = .zero

        func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer { .unknown }
    }

    /// A provider that keeps the questions, and knows no purchase.
    private final class Recorder: LineageQuestions {
        let provider: Provider = .revenuecat
        let pace: Duration = .zero
        private let questions = Mutex<[LineageQuestion]>([])

        func ask(_ question: LineageQuestion) async throws(DeliveryError) -> LineageAnswer {
            questions.withLock { $0.append(question) }
            return .unknown
        }

        /// The purchases of the questions, with their accounts and the account's other purchases.
        var asked: [String: [String]] {
            let all = questions.withLock(\.self).map { question in
                (question.names[0].id, question.accounts.map(\.id) + question.others.map(\.names[0].id))
            }
            return Dictionary(all) { $1 }
        }
    }

    /// A relay's event about accounts, or about the purchase of one of them.
    private static func relayed(
        _ event: LifecycleEvent,
        of lineage: SubscriptionID? = nil,
        at seconds: TimeInterval,
        facts: [Fact]
    ) -> Normalization {
        let name = "\(lineage?.id ?? "accounts") \(seconds)"
        return Normalization([
            NormalizedEvent(
                id: EventID(provider: .revenuecat, environment: .production, notification: name),
                event: event,
                provider: .revenuecat,
                store: .appStore,
                environment: .production,
                subscription: lineage,
                occurredAt: ReconcileTests.start + seconds,
                effectiveAt: ReconcileTests.start + seconds,
                assertedAt: ReconcileTests.start + seconds,
                receivedAt: ReconcileTests.start + seconds,
                facts: facts,
                origin: .madeUp(digest: name)
            )
        ])
    }

    /// A statement of a relay about a year, or about access for a day that it infers.
    private static func year(
        _ id: String,
        of account: String,
        at seconds: TimeInterval,
        isInferred: Bool = false
    ) -> Normalization {
        let period = ServicePeriod(
            start: ReconcileTests.start,
            end: ReconcileTests.start + (isInferred ? ReconcileTests.day : 365 * ReconcileTests.day)
        )
        return relayed(
            .started(.init(origin: isInferred ? .temporary : .new, phase: .regular, period: period)),
            of: SubscriptionID(store: .appStore, environment: .production, id: id),
            at: seconds,
            facts: [
                .period(
                    .init(
                        period,
                        product: "pro",
                        phase: .regular,
                        transaction: TransactionID(id),
                        isProvisional: isInferred
                    )
                ), .owner(Account(account, .appUserID)),
            ]
        )
    }

    @Test(
        "about each purchase that a transfer between accounts may have moved",
        arguments: TestedStorage.available,
        [[0, 1, 2], [2, 1, 0], [0, 2, 1]]
    )
    func undecidedTransfer(storage: TestedStorage, order: [Int]) async throws {
        let transfer = LifecycleEvent.Transfer(from: [.init("u1", .appUserID)], to: [.init("u2", .appUserID)])
        let story = [
            Self.year("1", of: "u1", at: 0), Self.year("2", of: "u1", at: 1),
            Self.relayed(.transferred(transfer), at: 10, facts: [.transfer(transfer)]),
        ]
        let journal = Journal(try await storage.open(in: folder)[0], now: { ReconcileTests.start })
        for index in order { try await journal.apply(story[index]) }
        func asked(after seconds: TimeInterval) async throws -> [String] {
            try await journal.questions(at: ReconcileTests.start + seconds).compactMap(\.subscription?.id).sorted()
        }
        #expect(try await asked(after: 3609) == [])
        #expect(try await asked(after: 3610) == ["1", "2"])
        // A question of another kind that is answered leaves it open.
        #expect(try await journal.askAgain(about: .revenuecat) == 2)
        #expect(try await journal.reconcile(with: [Ignorant()]).asked == 2)
        #expect(try await asked(after: 3610) == ["1", "2"])
        // A statement that names no one settles nothing, and one that names an account settles it for its purchase.
        let first = SubscriptionID(store: .appStore, environment: .production, id: "1")
        let nameless = ReconcileTests.statement(
            of: first,
            at: 20,
            from: 0,
            until: 365 * ReconcileTests.day,
            transaction: "1"
        )
        try await journal.apply(nameless)
        #expect(try await asked(after: 3610) == ["1", "2"])
        try await journal.apply(Self.year("1", of: "u2", at: 30))
        #expect(try await asked(after: 3610) == ["2"])
    }

    @Test("about no purchase if all but one that a transfer may have moved were access for a day")
    func transferOfOne() async throws {
        let transfer = LifecycleEvent.Transfer(from: [.init("u1", .appUserID)], to: [.init("u2", .appUserID)])
        let journal = Journal(MemoryJournal(), now: { ReconcileTests.start })
        for result in [
            Self.year("grant", of: "u1", at: 0, isInferred: true), Self.year("1", of: "u1", at: 1),
            Self.relayed(.transferred(transfer), at: 10, facts: [.transfer(transfer)]),
        ] { try await journal.apply(result) }
        #expect(try await journal.questions(at: ReconcileTests.start + 3610) == [])
        for (name, lineages) in [("u1", []), ("u2", ["1", "grant"])] {
            let access = try await journal.access(of: [.init(name, .appUserID)], at: ReconcileTests.start + 3600)
            #expect(access.grantors.map(\.subscription.id).sorted() == lineages)
        }
    }

    @Test(
        "of the account that has the purchase now, or of both that may have it",
        arguments: [
            (["1"], ["1": ["u2"]]), (["1", "3"], ["1": ["u2", "3"], "3": ["u2", "1"]]),
            (["1", "2", "3"], ["1": ["u1", "u2", "2", "3"], "2": ["u1", "u2", "1", "3"], "3": ["u2", "1", "2"]]),
        ] as [([String], [String: [String]])],
        [false, true]
    )
    func accounts(story: (purchases: [String], asked: [String: [String]]), isReversed: Bool) async throws {
        let transfer = LifecycleEvent.Transfer(from: [.init("u1", .appUserID)], to: [.init("u2", .appUserID)])
        var results = story.purchases.map { Self.year($0, of: $0 == "3" ? "u2" : "u1", at: 0) }
        results.append(Self.relayed(.transferred(transfer), at: 10, facts: [.transfer(transfer)]))
        let journal = Journal(MemoryJournal(), now: { ReconcileTests.start + 20 })
        for result in isReversed ? results.reversed() : results { try await journal.apply(result) }
        // The customer names themselves, which is no reason to ask a relay about that name.
        let first = SubscriptionID(store: .appStore, environment: .production, id: "1")
        try await journal.claim(first, by: Account("u9", .appUserID))
        let recorder = Recorder()
        try await journal.askAgain(about: .revenuecat)
        try await journal.reconcile(with: [recorder])
        #expect(recorder.asked == story.asked)
    }
}
