import CurlTransport
import Foundation
import HTTPTransport
@testable import LoopbackServer
import Normalizer
import NotificationSimulator
import StoryReceiving
import Synchronization
import Testing
import WireJSON

@testable import lifecycle

@Suite("A journal that heals from simulated providers", .timeLimit(.minutes(5)))
struct SimulatedHealingTests {
    /// A story that a provider tells to a journal, with losses.
    struct Case: Sendable, CustomTestStringConvertible {
        let provider: Provider
        let story: String
        /// How long ago it began.
        let days: Double
        /// How many of its first notifications arrive.
        let arriving: Int
        /// The answers before those to the first questions.
        var troubles = ""
        /// True if the provider has forgotten a part of the story.
        var hasGap = false

        var testDescription: String { "\(provider) \(story), \(arriving) arriving \(troubles)" }
    }

    private static let cases = [
        Case(provider: .apple, story: "grace-recovers", days: 100, arriving: 1),
        Case(provider: .apple, story: "grace-recovers", days: 100, arriving: 0, troubles: "429,503,drop"),
        Case(provider: .apple, story: "upgrade", days: 100, arriving: 1, troubles: "503,429"),
        Case(provider: .apple, story: "refund-reversed", days: 60, arriving: 1),
        Case(provider: .apple, story: "lifetime", days: 20, arriving: 0),
        Case(provider: .apple, story: "renewals", days: 200, arriving: 1, hasGap: true),
        Case(provider: .stripe, story: "trial-converts", days: 20, arriving: 0),
        Case(provider: .stripe, story: "trial-converts", days: 20, arriving: 1),
        // Its notification leaves the product out.
        Case(provider: .stripe, story: "lifetime", days: 20, arriving: 0),
    ]

    static func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("healing-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    static func object(_ line: String) throws -> JSONObject {
        try JSONDocument(parsing: Array(line.utf8)).root.object()
    }

    /// Puts a text to a place of the simulator's own.
    private func put(_ text: String, to path: String, of place: JSONObject, in folder: URL) async throws -> Int {
        let certificate = try Data(contentsOf: folder.appendingPathComponent("ca.pem"))
        let transport = try CurlHTTPTransport(.init(trustRoots: .pem(Array(certificate))))
        let base = try #require(try place["https"]?.string())
        let request = try HTTPTransportRequest(.put, try HTTPSURL(base + path), body: Array(text.utf8))
        let status = try await transport.send(request).status
        await transport.shutdown()
        return status
    }

    @Test("has in the end what one without losses has", arguments: Self.cases)
    func losses(test: Case) async throws {
        try await Self.withFolder { folder in
            let story = try #require(CustomerStory.named(test.story))
            let now = Date().timeIntervalSince1970.rounded()
            let start = Date(timeIntervalSince1970: now - test.days * 86_400)
            let simulator = try #require(try test.provider.simulator(seed: "1"))
            let playback = try await StoryPlayback(story, by: simulator, from: start)
            for (name, taken) in [("whole", playback.taken), ("lossy", Array(playback.taken.prefix(test.arriving)))] {
                var lines: [UInt8] = []
                for line in taken.flatMap(\.result.logLines) { lines += try CanonicalJSON.bytes(line) + [0x0A] }
                try Data(lines).write(to: folder.appendingPathComponent(name))
            }
            let account = try #require(playback.events.lazy.compactMap(\.account).first)
            let served = try ServedCommand([
                "simulate", test.story, "--provider", test.provider.rawValue, "--start", start.formatted(.iso8601),
                "--serve", "--lose", "\(test.arriving + 1)-1000", "--files", folder.path,
            ])
            defer { served.stop() }
            let place = try Self.object(try served.firstLine())
            #expect(try await put(test.troubles, to: "/simulator/trouble", of: place, in: folder) == 204)
            let config = try #require(try place["config_files"]?.object()[MemberName(test.provider.rawValue)]?.string())
            let times = playback.taken.map(\.notification.receivedAt) + [Date()]
            // Whatever is bought once lasts.
            let catalog = ProductCatalog([], oneTimeProducts: [.init(id: "prod_lifetime", type: .nonConsumable)])
            try Data(CanonicalJSON.bytes(catalog)).write(to: folder.appendingPathComponent("catalog.json"))
            let run = try CommandLineRun(
                shell: """
                    cd '\(folder.path)'
                    export LIFECYCLE_CATALOG=catalog.json
                    for name in whole lossy; do
                        export LIFECYCLE_DATABASE="sqlite:$name.sqlite"
                        "$0" journal init && "$0" journal ingest $name >/dev/null || exit 2
                    done
                    "$0" backfill --provider \(test.provider) --config '\(config)' \
                    --since \(start.addingTimeInterval(-60).formatted(.iso8601)) >report
                    [ $? = \(test.hasGap ? 1 : 0) ] || exit 3
                    "$0" reconcile --all --provider \(test.provider) --config '\(config)' >>report || exit 4
                    for name in whole lossy; do
                        export LIFECYCLE_DATABASE="sqlite:$name.sqlite"
                        for time in \(times.map { $0.formatted(.iso8601) }.joined(separator: " ")); do
                            "$0" journal state '\(account.id)' --source \(account.source) --at $time
                        done
                    done
                    cat report >&2
                    """
            )
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.errors.contains(#""gap":{"#) == test.hasGap)
            let access = run.output.split(separator: "\n").map(String.init)
            try #require(access.count == 2 * times.count, "\(run.output) \(run.errors)")
            for (index, time) in times.enumerated() {
                #expect(try decision(access[index]) == decision(access[times.count + index]), "\(time)")
            }
        }
    }

    /// The decision, without the statements that it rests on: those of a journal that healed are other ones.
    private func decision(_ line: String) throws -> [String] {
        let decision = try #require(try Self.object(line)["decision"]?.object())
        let because = try #require(try decision["because"]?.object())
        return try ["access", "until", "since"].map { try decision[$0]?.string() ?? "-" }
            + ["product", "subscription", "phase", "reason"].map { try because[$0]?.string() ?? "-" }
    }

    @Test("asks each provider with the file that the simulator writes", arguments: ProviderAccess.providers)
    func files(provider: Provider) async throws {
        let start = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded() - 20 * 86_400)
        try await Self.withFolder { folder in
            let served = try ServedCommand([
                "simulate", "refund", "--provider", provider.rawValue, "--serve", "--files", folder.path,
                "--start", start.formatted(.iso8601),
            ])
            defer { served.stop() }
            let place = try Self.object(try served.firstLine())
            let config = try #require(try place["config_files"]?.object()[MemberName(provider.rawValue)]?.string())
            let run = try CommandLineRun(
                shell: """
                    cd '\(folder.path)'
                    export LIFECYCLE_DATABASE=sqlite:journal.sqlite
                    "$0" journal init || exit 2
                    "$0" preflight --provider \(provider) --config '\(config)' || exit 3
                    "$0" backfill --provider \(provider) --config '\(config)' || exit 4
                    """
            )
            #expect(run.status == 0, "\(run.output) \(run.errors)")
            #expect(run.output.contains(#""is_passed":true"#))
            try await ProviderAccess(provider, path: config).use { access in
                let adapter = try #require(access.adapter, "a delivery in quarantine can be taken in again")
                let simulator = try #require(try provider.simulator(seed: "1"))
                let story = try #require(CustomerStory.named("refund"))
                let notification = try #require(try simulator.notifications(story, from: start).first)
                let delivery = try simulator.delivery(of: notification, sentAt: Date())
                #expect(try await adapter.receive(delivery).events.isEmpty == false)
            }
            // Google is asked once more, with a new token.
            #expect(try await put("401,401", to: "/simulator/trouble", of: place, in: folder) == 204)
            let refused = try CommandLineRun(["preflight", "--provider", provider.rawValue, "--config", config])
            #expect(refused.status == 69, "\(refused.output)")
            for text in ["200", "x", "429,", "600"] {
                #expect(try await put(text, to: "/simulator/trouble", of: place, in: folder) == 400, "\(text)")
            }
        }
    }

    @Test("asks about one purchase, and says that a purchase is unknown")
    func refetch() async throws {
        try await Self.withFolder { folder in
            let start = Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded() - 20 * 86_400)
            let served = try ServedCommand([
                "simulate", "cancel-expire", "--provider", "apple", "--serve", "--files", folder.path,
                "--start", start.formatted(.iso8601),
            ])
            defer { served.stop() }
            let place = try Self.object(try served.firstLine())
            // The purchase alone; renewal is turned off later.
            #expect(try await put("1", to: "/simulator/position", of: place, in: folder) == 204)
            let config = try #require(try place["config_files"]?.object()["apple"]?.string())
            let story = try #require(CustomerStory.named("cancel-expire"))
            let simulator = try AppleSimulator(seed: "1")
            let events = try await StoryPlayback(story, by: simulator, from: start).events
            let purchase = try #require(events.first?.subscription)
            func ask(_ purchase: String) throws -> CommandLineRun {
                try CommandLineRun(
                    shell: """
                        export LIFECYCLE_DATABASE='sqlite:\(folder.path)/journal.sqlite'
                        [ -e '\(folder.path)/journal.sqlite' ] || "$0" journal init
                        "$0" refetch --provider apple --config '\(config)' \(purchase)
                        """
                )
            }
            let first = try ask(purchase.description)
            #expect(first.status == 0, "\(first.errors)")
            #expect(first.output.contains(#""kind":"started""#))
            #expect(!first.output.contains(#""kind":"auto_renew_disabled""#))
            #expect(try ask(purchase.description).output == "")
            #expect(try await put("2", to: "/simulator/position", of: place, in: folder) == 204)
            #expect(try ask(purchase.description).output.contains(#""kind":"auto_renew_disabled""#))
            #expect(try ask("app_store/production/1").status == 66)
        }
    }

    @Test("checks the certificates as the configuration says", arguments: ["off", "soft", "hard", "never"])
    func revocation(policy: String) async throws {
        try await Self.withFolder { folder in
            let served = try ServedCommand([
                "simulate", "initial-purchase", "--provider", "apple", "--serve", "--files", folder.path,
            ])
            defer { served.stop() }
            let place = try Self.object(try served.firstLine())
            let config = try #require(try place["config_files"]?.object()["apple"]?.string())
            let start = Date(timeIntervalSince1970: 1_767_607_200)
            let simulator = try AppleSimulator(seed: "1")
            let story = try #require(CustomerStory.named("initial-purchase"))
            let purchase = try #require(
                try await StoryPlayback(story, by: simulator, from: start).events.first?.subscription
            )
            func refetch() throws -> CommandLineRun {
                try CommandLineRun(
                    shell: """
                        cd '\(folder.path)'
                        export LIFECYCLE_DATABASE=sqlite:journal.sqlite
                        [ -e journal.sqlite ] || "$0" journal init
                        sed 's/^{/{"revocation":"\(policy)",/' '\(config)' >checked.json
                        "$0" refetch --provider apple --config checked.json \(purchase)
                        """
                )
            }
            let run = try refetch()
            guard policy != "never" else {
                #expect(run.status == 64)
                #expect(run.errors.contains("revocation must be off, soft or hard"))
                return
            }
            #expect(run.status == 0, "\(run.errors)")
            #expect(run.output.contains(#""kind":"started""#))
        }
    }

    @Test("reads Google's products into a catalogue, and keeps what only the host knows")
    func catalogue() async throws {
        try await Self.withFolder { folder in
            let served = try ServedCommand([
                "simulate", "test", "--provider", "google", "--serve", "--files", folder.path,
            ])
            defer { served.stop() }
            let place = try Self.object(try served.firstLine())
            let config = try #require(try place["config_files"]?.object()["google"]?.string())
            func read(_ arguments: String...) throws -> CommandLineRun {
                try CommandLineRun(["catalog", "--provider", "google", "--config", config] + arguments)
            }
            let first = try read()
            #expect(first.status == 0, "\(first.errors)")
            let imported: ProductCatalog = try CanonicalJSON.value(from: Array(first.output.utf8))
            #expect(imported.products.count == 5)
            #expect(imported["pro:yearly"] == .init(id: "pro:yearly", group: "pro", level: 1, duration: .year))
            let known = ProductCatalog(
                [
                    .init(id: "pro:monthly", group: "plans", level: 1, duration: .month),
                    .init(id: "basic:monthly", group: "plans", level: 2, duration: .month),
                ],
                oneTimeProducts: [.init(id: "coins", type: .consumable)]
            )
            let file = folder.appendingPathComponent("catalog.json")
            try Data(CanonicalJSON.bytes(known)).write(to: file)
            let second = try read(file.path)
            let updated: ProductCatalog = try CanonicalJSON.value(from: Array(second.output.utf8))
            #expect(updated["basic:prepaid"]?.level == 2)
            #expect(updated["pro:yearly"]?.group == "plans")
            #expect(updated.oneTimeProducts["coins"]?.type == .consumable)
            try Data("{\"products\":7}".utf8).write(to: file)
            #expect(try read(file.path).status == 64)
            // A database whose catalogue cannot be read takes nothing in.
            let ingest = try CommandLineRun(
                shell:
                    "LIFECYCLE_CATALOG='\(file.path)' \"$0\" journal init --database 'sqlite:\(folder.path)/j.sqlite'"
            )
            #expect(ingest.status == 64)
            #expect(ingest.errors.contains("is not a catalogue of products"))
            #expect(try await put("403,403", to: "/simulator/trouble", of: place, in: folder) == 204)
            #expect(try read().status == 69)
        }
    }

    @Test("reads no catalogue where there is none")
    func noCatalogue() async throws {
        try await Self.withFolder { folder in
            let served = try ServedCommand([
                "simulate", "test", "--provider", "stripe", "--serve", "--files", folder.path,
            ])
            defer { served.stop() }
            let place = try Self.object(try served.firstLine())
            let config = try #require(try place["config_files"]?.object()["stripe"]?.string())
            let run = try CommandLineRun(["catalog", "--provider", "stripe", "--config", config])
            #expect(run.status == 64)
        }
    }

    @Test("leaves the lost deliveries out, and says so", arguments: CustomerStory.providers)
    func lost(provider: Provider) throws {
        let arrived = Mutex(0)
        let server = try LoopbackServer(nil) { exchange in
            arrived.withLock { $0 += 1 }
            exchange.respond(200)
        }
        defer { server.stop() }
        let run = try CommandLineRun([
            "simulate", "trial-converts", "--provider", provider.rawValue, "--lose", "1,3-1000", "--post",
            "http://127.0.0.1:\(server.port)/", "--compress", "100000000",
        ])
        #expect(run.status == 0, "\(run.errors)")
        let outcomes = try run.output.split(separator: "\n").map { try Self.object(String($0))["outcome"]?.string() }
        #expect(
            outcomes.enumerated().allSatisfy { $0.element == ($0.offset == 1 ? "accepted" : "lost") },
            "\(outcomes)"
        )
        #expect(arrived.withLock { $0 } == 1)
    }

    @Test(
        "refuses numbers of notifications that are none",
        arguments: ["", "0", "3-2", "x", "1,", "-", "1-2-3", "99999999999"]
    )
    func numbers(text: String) throws {
        let run = try CommandLineRun(["simulate", "life", "--provider", "apple", "--serve", "--lose", text])
        #expect(run.status == 64)
        #expect(run.errors.contains("--lose"))
    }
}
