import Foundation
import Normalizer
import NotificationSimulator
import StoryReceiving
import Testing
import WireJSON

@testable import lifecycle

@Suite("Sources and lists of one provider, on the command line", .timeLimit(.minutes(5)))
struct SourceCommandTests {
    @Test("two accounts of a provider have places of their own")
    func sources() async throws {
        try await SimulatedHealingTests.withFolder { folder in
            let start = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded() - 20 * 86_400)
            let served = try ServedCommand([
                "simulate", "refund", "--provider", "stripe", "--serve", "--files", folder.path,
                "--start", start.formatted(.iso8601),
            ])
            defer { served.stop() }
            let config = try #require(
                try SimulatedHealingTests.object(try served.firstLine())["config_files"]?.object()["stripe"]?.string()
            )
            let run = try CommandLineRun(
                shell: """
                    export LIFECYCLE_DATABASE='sqlite:\(folder.path)/journal.sqlite'
                    "$0" journal init
                    for name in one two one; do
                        "$0" backfill --provider stripe --config '\(config)' --since \(start.formatted(.iso8601)) --source $name
                        "$0" import --provider stripe --config '\(config)' --source $name
                    done
                    """
            )
            #expect(run.status == 0, "\(run.errors)")
            let reports = try run.output.split(separator: "\n").map { try SimulatedHealingTests.object(String($0)) }
            let deliveries = try reports.compactMap { try $0["deliveries"]?.int64() }
            try #require(deliveries.count == 3, "\(run.output)")
            #expect(deliveries[0] > 0)
            #expect(deliveries == [deliveries[0], deliveries[0], 0])
            // An import that is at its end asks no more.
            #expect(run.errors.components(separatedBy: "stripe/subscriptions: 1 purchases").count == 3, "\(run.errors)")
        }
    }

    @Test("a corrected list is another list, and one that is imported is not read again")
    func correctedList() async throws {
        try await SimulatedHealingTests.withFolder { folder in
            let start = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded() - 20 * 86_400)
            let served = try ServedCommand([
                "simulate", "initial-purchase", "--provider", "apple", "--serve", "--files", folder.path,
                "--start", start.formatted(.iso8601),
            ])
            defer { served.stop() }
            let config = try #require(
                try SimulatedHealingTests.object(try served.firstLine())["config_files"]?.object()["apple"]?.string()
            )
            let story = try #require(CustomerStory.named("initial-purchase"))
            let events = try await StoryPlayback(story, by: try AppleSimulator(seed: "1"), from: start).events
            let purchase = try #require(events.first?.subscription?.id)
            let run = try CommandLineRun(
                shell: """
                    cd '\(folder.path)'
                    export LIFECYCLE_DATABASE=sqlite:journal.sqlite
                    "$0" journal init
                    for id in 9999999 \(purchase) \(purchase); do
                        echo $id >customers.csv
                        "$0" import --provider apple --config '\(config)' customers.csv
                        echo "{\\"status\\":$?}"
                    done
                    """
            )
            let reports = try run.output.split(separator: "\n").map { try SimulatedHealingTests.object(String($0)) }
            #expect(try reports.compactMap { try $0["status"]?.int64() } == [1, 0, 0], "\(run.errors)")
            #expect(try reports.compactMap { try $0["found"]?.int64() } == [0, 1, 1])
            #expect(run.errors.hasSuffix("was imported before: nothing was asked\n"), "\(run.errors)")
        }
    }
}
