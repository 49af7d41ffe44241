#if CommandLineTool
import ArgumentParser
import Foundation
import NotificationSimulator
import Normalizer

/// Which story is played, and by whom.
struct StoryOptions: ParsableArguments {
    @Option(help: "apple, google, revenuecat or stripe; every provider that has the story unless given.")
    var provider: String?

    @Option(help: "What keys, secrets and names are made from: the same seed gives the same bytes.")
    var seed: String = "1"

    @Option(help: ArgumentHelp("When the story begins, RFC 3339.", valueName: "date"))
    var start: String = "2026-01-05T10:00:00Z"

    var startDate: Date {
        get throws {
            guard let milliseconds = RFC3339.milliseconds(start) else {
                throw ValidationError("--start is not an RFC 3339 time such as 2026-01-31T09:30:00Z")
            }
            return Date(millisecondsSince1970: milliseconds)
        }
    }

    /// The simulators of the providers that were asked for.
    ///
    /// - Parameter audience: of Google's tokens; the simulator's own unless given.
    func simulators(audience: String? = nil) throws -> [any StorySimulator] {
        try providers.map { try Self.simulator($0, seed: seed, audience: audience) }
    }

    var providers: [Provider] {
        get throws {
            guard let provider else { return Story.providers }
            guard let known = Story.providers.first(where: { $0.rawValue == provider }) else {
                throw ValidationError("--provider is none of apple, google, revenuecat, stripe")
            }
            return [known]
        }
    }

    static func simulator(
        _ provider: Provider,
        seed: String,
        audience: String? = nil
    ) throws -> any StorySimulator {
        switch provider {
        case .apple: return try AppleSimulator(seed: seed)
        case .google:
            let google = try GoogleSimulator(seed: seed)
            return audience.map { google.pushing(to: $0) } ?? google
        case .revenuecat: return RevenueCatSimulator(seed: seed)
        default: return StripeSimulator(seed: seed)
        }
    }

    /// A story that cannot be told as was asked, such as one that begins too late to end in our time, is wrong usage.
    static func telling(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as SimulatorError where error.reason == .nonsense {
            throw ValidationError(error.message)
        }
    }

    static func story(_ id: String) throws -> Story {
        guard let story = Story.named(id) else {
            throw ValidationError("no story is called \(id); `lifecycle simulate --list` names them")
        }
        return story
    }
}
#endif
