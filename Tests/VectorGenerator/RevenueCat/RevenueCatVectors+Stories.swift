import ConformanceVectors
import Normalizer

extension RevenueCatVectors {
    /// The webhooks of the stories, one after another.
    static func storyCases() throws -> [Case] {
        var cases: [Case] = []
        for story in RevenueCatStory.all {
            for (index, moment) in story.moments.enumerated() {
                cases.append(
                    try proven(
                        "story/\(story.name)/\(index + 1)",
                        story.summary,
                        moment.event,
                        moment.kind.map { .kinds([$0]) } ?? .noChange(.reportedElsewhere)
                    )
                )
            }
        }
        return cases
    }
}
