import LifecycleEvents

/// A provider in stories: the acts that it lacks, the events that it reports in another way, and when it sends again.
///
/// Its simulator conforms, in the simulator's own folder.
protocol StoryProvider: StorySimulator {
    /// The provider's name for people, such as `App Store`.
    static var title: String { get }
    /// The answers that it accepts, and the times at which it tries again.
    static var redelivery: RedeliverySchedule { get }
    /// How it moves periods; as most do unless it says otherwise.
    static var habits: Plot.Habits { get }

    /// Makes its simulator: the same seed gives the same bytes.
    static func simulator(seed: String) throws(SimulatorError) -> any StorySimulator

    /// The reason that the provider lacks, or does not report, an act; nil if it does.
    static func absence(of act: CustomerStory.Act) -> String?

    /// The events of a scene if they differ from its act's, with the reason.
    static func wording(of scene: Plot.Scene) -> Plot.Scene.Wording?
}

extension StoryProvider {
    static var habits: Plot.Habits { Plot.Habits() }
    static func wording(of scene: Plot.Scene) -> Plot.Scene.Wording? { nil }
}

/// The providers that stories are played on.
enum StoryProviders {
    /// A provider's part: the one place of this module where a provider is registered.
    static func kind(of provider: Provider) -> (any StoryProvider.Type)? {
        switch provider {
        case .apple: AppleSimulator.self
        case .google: GoogleSimulator.self
        case .revenuecat: RevenueCatSimulator.self
        case .stripe: StripeSimulator.self
        default: nil
        }
    }
}

extension Provider {
    /// The provider's name for people, such as `App Store`; its own name if no simulator plays it.
    package var storyTitle: String { StoryProviders.kind(of: self)?.title ?? rawValue }

    /// Makes the provider's simulator; nil if there is none.
    package func simulator(seed: String) throws(SimulatorError) -> (any StorySimulator)? {
        try StoryProviders.kind(of: self)?.simulator(seed: seed)
    }
}
