import Foundation
import Normalizer
import NotificationSimulator
import StoryReceiving
import Testing

/// The word for a day that is past, once everything has arrived.
@Suite("Status asked for the past")
struct StatusInHindsightTests {
    private static let day: Int64 = 86_400_000

    /// The words of a story's purchases on each of its days: as they were read then, and as they are read afterwards.
    private struct Days {
        /// Once everything has arrived.
        var states: [SubscriptionState]
        var read: [(time: Int64, then: SubscriptionSnapshot, now: SubscriptionSnapshot)] = []

        init(_ story: CustomerStory, by simulator: any StorySimulator) async throws {
            let start = Simulators.start.millisecondsSince1970
            let playback = try await StoryPlayback(story, by: simulator, from: Simulators.start)
            var arriving = playback.taken[...]
            var (then, now) = (AccountLedger(), AccountLedger())
            for taken in arriving { _ = now.apply(taken.result) }
            states = now.states
            let last = arriving.last?.delivery.receivedAt.millisecondsSince1970 ?? start
            // Each day until the last delivery, and then each fourth.
            let length = (last - start) / day
            let counts = Array(0...length) + stride(from: 4, through: 40, by: 4).map { length + $0 }
            for time in counts.map({ start + day / 12 + $0 * day }) {
                while let next = arriving.first, next.delivery.receivedAt.millisecondsSince1970 <= time {
                    _ = then.apply(next.result)
                    arriving.removeFirst()
                }
                let date = Date(millisecondsSince1970: time)
                for state in then.states {
                    guard let past = now[state.subscription] else { continue }
                    read.append((time, state.snapshot(at: date), past.snapshot(at: date)))
                }
            }
        }
    }

    @Test(
        "the word is the one that was read on that day, and follows from the decision on access",
        arguments: CustomerStory.providers
    )
    func words(provider: Provider) async throws {
        let simulator = try #require(try Simulators.all.get().first { $0.provider == provider })
        for story in CustomerStory.all where story.absence(at: provider) == nil {
            for (time, then, now) in try await Days(story, by: simulator).read {
                let day = "\(provider.rawValue), \(story.id), \(RFC3339.string(time))"
                #expect(Self.words(of: now.access).contains(now.status), "\(day)")
                if then.status == now.status { continue }
                switch (then.status, now.status) {
                // A month that is paid for in the end has been active.
                case (.grace, .active): #expect(then.access.isGranted && now.access.isGranted, "\(day)")
                // Until the payment came, nothing was known to begin.
                case (.none, .notBegun): #expect(story.id == "pending-completed", "\(day)")
                default: Issue.record("\(day): \(then.status), and \(now.status) afterwards")
                }
            }
        }
    }

    /// The App Store reports no renewal of a shared purchase, so that its period has run out when the sharing is stopped.
    @Test("an end that is dated later than access ended is no reason before its time")
    func laterEnd() async throws {
        let simulator = try #require(try Simulators.all.get().first { $0.provider == .apple })
        let story = CustomerStory(
            "shared-month",
            "A shared month renews, and the sharing is stopped.",
            steps: [
                .init(.after(.zero), .subscribe(.proMonthly)), .init(.after(.seconds(86_400)), .shareWithFamily),
                .init(.atPeriodEnd, .renew), .init(.after(.seconds(864_000)), .stopSharing),
            ]
        )
        let days = try await Days(story, by: simulator)
        let read = days.read
        #expect(read.allSatisfy { $0.then.status == $0.now.status })
        #expect(read.contains { $0.now.status == .renewalDue } && read.contains { $0.now.status == .expired })
        // Of the shared one the store need not be asked any more.
        #expect(days.states.contains { $0.openQuestions.isEmpty })
    }

    private static func words(of decision: AccessDecision) -> Set<SubscriptionSnapshot.Status> {
        switch decision {
        case .granted(_, let grant): grant.basis == .grace ? [.grace] : [.active, .trial, .grace]
        case .denied(_, let denial):
            switch denial.reason {
            case .never: [.none]
            case .notBegun: [.notBegun]
            case .renewalDue: [.renewalDue]
            case .paused: [.paused]
            case .refunded: [.refunded]
            case .billing: [.billingRetry, .expired]
            default: [.expired]
            }
        @unknown default: []
        }
    }

    /// The changes of the word in a story, on the days of the year.
    private func changes(_ story: CustomerStory, _ provider: Provider) async throws -> [String] {
        let simulator = try #require(try Simulators.all.get().first { $0.provider == provider })
        var words: [String] = []
        for (time, _, now) in try await Days(story, by: simulator).read {
            let word = now.status.rawValue
            guard words.last?.hasSuffix(" \(word)") != true else { continue }
            words.append("\(RFC3339.string(time).prefix(10).suffix(5)) \(word)")
        }
        return words
    }

    /// Stripe's `unpaid` is no charge that is tried: the customer may pay the open invoice.
    @Test(
        "a charge that is tried without access is tried also once it was paid",
        arguments: [(.apple, "billing_retry"), (.google, "billing_retry"), (.stripe, "expired")] as [(Provider, String)]
    )
    func lapsed(provider: Provider, word: String) async throws {
        let story = try #require(CustomerStory.named("grace-lapses"))
        let grace = provider == .stripe ? [] : ["02-05 grace"]
        let end = provider == .stripe ? "03-05" : "03-21"
        #expect(
            try await changes(story, provider)
                == ["01-05 active"] + grace + ["02-12 \(word)", "02-21 active", "\(end) renewal_due"]
        )
    }
}
