import FoundationEssentials
import NotificationSimulator
import Normalizer
import Testing

@Suite("Comparison of two channels")
struct ComparisonTests {
    static func channels() throws -> TwoChannelTests.Channels {
        try TwoChannelTests.channels(try TwoChannelTests.story("demo"))
    }

    @Test(
        "two channels of one story agree in everything",
        arguments: TwoChannelTests.stories.filter { !$0.hasPrefix("refund") }
    )
    func agreement(_ name: String) throws {
        let channels = try TwoChannelTests.channels(try TwoChannelTests.story(name))
        var apple = channels.apple
        // RevenueCat has no word for the end of a grace period; the expiration follows when Apple gives up.
        apple.removeAll { $0.kind == .gracePeriodExpired }
        for (first, second) in [(channels.relayed, apple), (apple, channels.relayed)] {
            let comparison = ChannelComparison(first, second)
            #expect(comparison.isAgreement, "\(comparison)")
            #expect(comparison.agreeing.count == apple.count)
        }
    }

    @Test("the order and the number of deliveries do not matter")
    func order() throws {
        let channels = try Self.channels()
        let comparison = ChannelComparison(channels.relayed, channels.apple)
        #expect(
            ChannelComparison(channels.relayed.reversed() + channels.relayed, channels.apple.reversed()) == comparison
        )
    }

    @Test("what one side missed is named, and what follows for access")
    func missed() throws {
        let channels = try Self.channels()
        let missing = try #require(channels.apple[2].transaction)
        let relayed = channels.relayed.filter { $0.transaction != missing }
        let comparison = ChannelComparison(relayed, channels.apple)
        #expect(comparison.onlyFirst.isEmpty)
        #expect(Set(comparison.onlySecond.map(\.transaction)) == [missing])
        #expect(comparison.onlySecond.map(\.kind) == [.renewed, .billingIssue])
        #expect(comparison.access.count == 1)
        #expect(comparison.access.first?.isFirstGranting == false)
        #expect(comparison.access.first?.from == channels.apple[2].period?.start)
        #expect(!comparison.isAgreement)
    }

    @Test("what differs is named by its member")
    func differences() throws {
        let channels = try Self.channels()
        var relayed = channels.relayed
        relayed[1].period = relayed[1].period.map {
            ServicePeriod(start: $0.start, end: $0.end?.addingTimeInterval(60))
        }
        relayed[1].product?.id = "another"
        let comparison = ChannelComparison(relayed, channels.apple)
        #expect(comparison.differing.count == 1)
        #expect(comparison.differing.first?.differences.map(\.member) == ["product.id", "period.end"])
    }

    @Test("sandbox and production are never one")
    func environments() throws {
        let channels = try Self.channels()
        let event = try #require(channels.apple.first)
        var other = event
        other.environment = .sandbox
        other.subscription = event.subscription.map {
            SubscriptionID(store: $0.store, environment: .sandbox, id: $0.id)
        }
        other.id = EventID(provider: .apple, environment: .sandbox, notification: "1")
        let comparison = ChannelComparison([event], [other])
        #expect(comparison.onlyFirst.count == 1)
        #expect(comparison.onlySecond.count == 1)
    }

    @Test("no report names a customer")
    func quiet() throws {
        let channels = try Self.channels()
        let text = String(decoding: try CanonicalJSON.bytes(ChannelComparison(channels.relayed, [])), as: UTF8.self)
        #expect(!text.contains("\"u1\""))
        #expect(ChannelComparison([], []).isAgreement)
    }
}
