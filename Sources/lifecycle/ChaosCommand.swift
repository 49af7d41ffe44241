#if CommandLineTool
import ArgumentParser
import Foundation
import Normalizer
import NotificationSimulator
import StoryReceiving

/// `lifecycle chaos`
struct ChaosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chaos",
        abstract: "Delivers a story in other orders, repeatedly, late and after a loss, and compares the outcomes.",
        discussion: """
            Every order must give the state and the event ids of the undisturbed one. Google Play is also asked late, when \
            the answer is about a later state: then no event may be new, and access must be the same.

            Exit status: 1 at the first difference, which is printed with the order that led to it.
            """
    )

    @Argument(help: ArgumentHelp("The story, or `all`.", valueName: "story"))
    var story: String

    @OptionGroup var options: StoryOptions

    @Option(help: "How many orders to try.")
    var rounds: Int = 50

    func validate() throws {
        guard rounds >= 1 else { throw ValidationError("--rounds must be at least 1") }
    }

    func run() async throws {
        try await StoryOptions.telling { try await play() }
    }

    private func play() async throws {
        let stories = story == "all" ? CustomerStory.all : [try StoryOptions.story(story)]
        let simulators = try options.simulators()
        var played = 0
        for story in stories {
            for simulator in simulators where simulator.absence(of: story) == nil {
                let chaos = try await Chaos(story, by: simulator, from: options.start.date)
                let name = "\(story.id) at \(simulator.provider.rawValue)"
                do {
                    try await Progress.during(name) {
                        try await chaos.run(rounds: rounds, seed: Self.number(options.seed))
                    }
                } catch let difference as Chaos.Difference {
                    StandardError.write("\(name): \(difference)")
                    throw ExitCode.differs
                }
                played += 1
                try StandardOutput.write(
                    "\(name): \(chaos.count) notifications in \(rounds) orders, \(chaos.eventCount) events, one state"
                )
            }
        }
        guard played > 0 else {
            throw ValidationError(
                stories.flatMap { story in simulators.compactMap { $0.refusal(of: story) } }.joined(separator: "\n")
            )
        }
    }

    /// The seed as a number: its own where it is one, else one made from its text (FNV-1a).
    private static func number(_ seed: String) -> UInt64 {
        UInt64(seed) ?? seed.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01B3 }
    }
}
#endif
