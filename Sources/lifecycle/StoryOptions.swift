#if CommandLineTool
import ArgumentParser
import Foundation
import NotificationSimulator
import Normalizer

/// The providers that play a story, and the seed and time of it.
struct StoryOptions: ParsableArguments {
    @Option(help: "\(Provider.choice); every provider that has the story by default.")
    var provider: String?

    @Option(
        help: """
            The store whose purchases RevenueCat tells of: \(Self.stores.map(\.rawValue).joined(separator: ", ")); \
            the App Store by default, or Google Play for what only that has.
            """
    )
    var store: String?

    private static let stores = RevenueCatSimulator.stores

    @Option(help: "Keys, secrets and names are made from it: the same seed gives the same bytes.")
    var seed: String = "1"

    @Option(
        help: ArgumentHelp(
            "When the story begins, \(Moment.form); 2026-01-05T10:00:00Z by default.",
            valueName: "time"
        ),
        transform: Moment.init
    )
    var start = Moment(Date(timeIntervalSince1970: 1_767_607_200))

    /// The simulators of the providers that were asked for.
    ///
    /// - Parameter audience: of Google's tokens; the simulator's own unless given.
    func simulators(audience: String? = nil) throws -> [any StorySimulator] {
        try providers.map { try Self.simulator($0, seed: seed, audience: audience, store: relayedStore) }
    }

    private var relayedStore: PurchaseStore? {
        get throws {
            guard let store else { return nil }
            guard let known = Self.stores.first(where: { $0.rawValue == store }) else {
                throw ValidationError("--store must be one of \(Self.stores.map(\.rawValue).joined(separator: ", "))")
            }
            guard provider == Provider.revenuecat.rawValue else {
                throw ValidationError("--store needs --provider revenuecat, which tells of several stores")
            }
            return known
        }
    }

    var providers: [Provider] {
        get throws {
            guard let provider else { return CustomerStory.providers }
            guard let known = CustomerStory.providers.first(where: { $0.rawValue == provider }) else {
                throw ValidationError("--provider must be \(Provider.choice)")
            }
            return [known]
        }
    }

    static func simulator(
        _ provider: Provider,
        seed: String,
        audience: String? = nil,
        store: PurchaseStore? = nil
    ) throws -> any StorySimulator {
        switch provider {
        case .google:
            let google = try GoogleSimulator(seed: seed)
            return audience.map { google.pushing(to: $0) } ?? google
        case .revenuecat: return RevenueCatSimulator(seed: seed, store: store)
        default:
            guard let simulator = try provider.simulator(seed: seed) else {
                throw ValidationError("--provider must be \(Provider.choice)")
            }
            return simulator
        }
    }

    /// A story that cannot be played with these options, such as one that would end after the year 9999, is wrong usage.
    static func telling(_ body: () async throws -> Void) async throws {
        do {
            try await body()
        } catch let error as SimulatorError where error.reason == .nonsense {
            throw ValidationError(error.message)
        }
    }

    static func story(_ id: String) throws -> CustomerStory {
        guard let story = CustomerStory.named(id) else {
            throw ValidationError("there is no story \(id); `lifecycle simulate --list` lists them")
        }
        return story
    }
}

extension StorySimulator {
    /// Why it cannot play a story, in a sentence; nil if it can.
    func refusal(of story: CustomerStory) -> String? {
        absence(of: story).map { "\(provider.rawValue) cannot play \(story.id): \($0)" }
    }
}
#endif
