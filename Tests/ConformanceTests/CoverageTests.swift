import FuzzTargets
import Normalizer
import NotificationCoverage
import Testing

@Suite struct CoverageTests {
    @Test(arguments: Provider.adapted)
    func nothingIsUnexplainedAndThePageIsCurrent(provider: Provider) async throws {
        let coverage = try await Coverage(provider, vectors: Corpus.vectors)
        #expect(coverage.unexplained == [])
        let page = try Repository.text("docs/coverage.md")
        let current = try #require(coverage.inserted(into: page))
        // Compared without showing two whole pages.
        let isCurrent = current == page
        #expect(isCurrent, "Scripts/lifecycle coverage --write docs/coverage.md")
    }

    @Test func whatNobodyTriedIsNamed() async throws {
        let some = Corpus.vectors.filter { NativeCase($0)?.type != "REFUND" }
        let coverage = try await Coverage(.apple, vectors: some)
        #expect(coverage.unexplained == ["REFUND: documented, and no vector has it"])
    }

    /// A type that an adapter knows by name has to be in the list of what is tried.
    @Test(
        arguments: [
            (
                Provider.apple, "Sources/AppleJWS/Notification/AppleNotification.swift",
                #"NotificationType = "([A-Z_]+)""#
            ),
            (
                .google, "Sources/GooglePubSub/Notification/DeveloperNotification.swift",
                #"SubscriptionNotificationType = ([0-9]+)"#
            ),
            (.revenuecat, "Sources/RevenueCatEvents/Notification/RevenueCatValues.swift", #"EventType = "([A-Z_]+)""#),
            (.stripe, "Sources/Stripe/Mapping/Rows.swift", #""((?:[a-z0-9_]+\.)+[a-z_]+|ping)""#),
        ] as [(Provider, String, String)]
    )
    func everyKnownTypeIsListed(provider: Provider, path: String, pattern: String) throws {
        let listed = Set(
            DocumentedCase.all(provider).flatMap { documented -> [String] in
                let type = documented.native.type
                let subtype = type == "subscriptionNotification" ? [documented.native.subtype] : []
                return [type, type.hasPrefix("v1.") ? String(type.dropFirst(3)) : type] + subtype
            }
        )
        let expression = try Regex(pattern, as: (Substring, Substring).self)
        let known = try Repository.text(path).matches(of: expression).map { String($0.output.1) }
        #expect(!known.isEmpty, "the expression finds nothing")
        #expect(Set(known).subtracting(listed) == [])
    }
}
