import ConformanceVectors
import FoundationEssentials
import Normalizer
import NotificationSimulator
import StoryReceiving
import Testing

@Suite("Stories as test vectors")
struct StoryVectorTests {
    @Test("pass the runner that reads them", arguments: CustomerStory.all)
    func vectors(story: CustomerStory) async throws {
        for simulator in try Simulators.all.get() where story.absence(at: simulator.provider) == nil {
            let lines = try await StoryVectors.lines(story, by: simulator, from: Simulators.start)
            #expect(!lines.isEmpty)
            for line in lines {
                let vector = try Vector(line: Array(line.utf8)[...])
                let outcome = await VectorRunner.run(vector)
                #expect(outcome.matched == true, "\(outcome.id): \(outcome.difference ?? "")")
            }
        }
    }

    @Test("are the same each time")
    func deterministic() async throws {
        for simulator in try Simulators.all.get() {
            let first = try await StoryVectors.lines(.life, by: simulator, from: Simulators.start)
            let second = try await StoryVectors.lines(.life, by: simulator, from: Simulators.start)
            #expect(first == second)
        }
    }

    @Test("name the answer that a look-up misses")
    func lookups() async throws {
        let google = try #require(try Simulators.all.get().first { $0.provider == .google })
        let line = try #require(try await StoryVectors.lines(.life, by: google, from: Simulators.start).first)
        let without = line.replacing("subscriptionsv2/tokens/", with: "subscriptionsv2/others/")
        let outcome = await VectorRunner.run(try Vector(line: Array(without.utf8)[...]))
        #expect(outcome.matched == false)
        #expect(outcome.answer == 503)
    }

    @Test("come unwrapped, too")
    func unwrapped() async throws {
        let pushed = try GoogleSimulator(seed: "unwrapped")
        let plain = try await StoryPlayback(.life, by: pushed, from: Simulators.start)
        let bare = try await StoryPlayback(
            .life,
            by: pushed.pushing(to: "https://backend.example/other", .unwrapped),
            from: Simulators.start
        )
        #expect(bare.events.map(\.id) == plain.events.map(\.id))
        #expect(bare.events.map(\.event) == plain.events.map(\.event))
        #expect(bare.taken[0].delivery.headers.values("x-goog-pubsub-message-id").count == 1)
        #expect(bare.taken[0].delivery.body == bare.taken[0].notification.content)
    }
}
