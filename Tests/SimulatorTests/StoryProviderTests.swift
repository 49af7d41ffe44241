import NotificationSimulator
import Normalizer
import StoryReceiving
import Testing

@Suite("A provider of stories")
struct StoryProviderTests {
    @Test("without a simulator has no story, and sends a notification once")
    func unregistered() throws {
        let other: Provider = "other"
        #expect(try other.simulator(seed: "1") == nil)
        #expect(other.storyTitle == "other")
        #expect(CustomerStory.all.filter { $0.absence(at: other) == nil } == [])
        #expect(RedeliverySchedule(other).waits == [])
        #expect(RedeliverySchedule(other).accepts(status: 204))
    }

    @Test(
        "is registered with a simulator, an adapter and a name",
        arguments: CustomerStory.providers
    )
    func registered(provider: Provider) async throws {
        let simulator = try #require(try provider.simulator(seed: "1"))
        #expect(simulator.provider == provider)
        #expect(provider.storyTitle != provider.rawValue)
        let story = try #require(CustomerStory.named("initial-purchase"))
        let playback = try await StoryPlayback(story, by: simulator, from: Simulators.start)
        #expect(playback.events.first?.kind == .started)
        #expect(playback.events.allSatisfy { $0.provider == provider })
    }
}
