import Foundation
import LifecycleJournal
import Normalizer
import NotificationSimulator
import SQLiteJournal
import Stripe
import Testing

@testable import lifecycle

@Suite("lifecycle journal quarantine", .timeLimit(.minutes(5)))
struct QuarantineCommandTests {
    private static let secret = "whsec_hunter2"
    private static let start = Date(timeIntervalSince1970: 1_750_000_000)
    /// More than one page.
    private static let unreadable = 51

    /// A journal whose quarantine has signed bodies that cannot be read, and after them events of the other mode: of an initial purchase,
    /// and those that Stripe is asked about.
    private func fill(_ path: String, unreadable: Int, asked: Int) async throws {
        let simulator = StripeSimulator(signingSecret: SecretBytes(Self.secret))
        var configuration = StripeAdapter.Configuration(signingSecrets: [simulator.signingSecret])
        configuration.mode = simulator.isLive ? .test : .live
        let adapter = try StripeAdapter(configuration)
        let journal = Journal(try await SQLiteJournalStorage(path: path, migrates: true), now: { Date() })
        let unreadable = (0..<unreadable).map { number in
            #"{"id":"evt_\#(number)","object":"event","receipt_email":"jane@example.com"}"#
        }
        let asked = (0..<asked).map { number in
            #"{"id":"evt_asked_\#(number)","object":"event","api_version":"2026-10-28.endive","created":1750000000,"#
                + #""livemode":\#(simulator.isLive),"type":"entitlements.active_entitlement_summary.updated","data":{"object":"#
                + #"{"object":"entitlements.active_entitlement_summary","customer":"cus_1","#
                + #""entitlements":{"object":"list","data":[],"has_more":true}}}}"#
        }
        for body in unreadable + asked {
            let delivery = try simulator.delivery(Array(body.utf8), receivedAt: Self.start)
            #expect(await journal.receive(delivery, with: adapter).decision == .acceptAndQuarantine)
        }
        let story = try #require(CustomerStory.named("initial-purchase"))
        let notification = try #require(
            try simulator.notifications(story, from: Self.start)
                .first { $0.type == "customer.subscription.created" }
        )
        let delivery = try simulator.delivery(of: notification, sentAt: Self.start.addingTimeInterval(60))
        #expect(await journal.receive(delivery, with: adapter).decision == .acceptAndQuarantine)
    }

    private func run(_ commands: String, unreadable: Int = 1, asked: Int = 0) async throws -> CommandLineRun {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("quarantine-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let database = folder.appendingPathComponent("journal.sqlite").path
        try await fill(database, unreadable: unreadable, asked: asked)
        return try CommandLineRun(
            shell: """
                folder='\(folder.path)'
                export LIFECYCLE_DATABASE='sqlite:\(database)'
                echo rk_test_hunter2 >"$folder/key"
                echo \(Self.secret) >"$folder/secrets"
                # Nothing answers at this port.
                common='"apiKeyFile":"'$folder'/key","emulator":1'
                echo "{$common,\\"signingSecretsFile\\":\\"$folder/secrets\\"}" >"$folder/both"
                echo "{$common,\\"signingSecretsFile\\":\\"$folder/secrets\\",\\"livemode\\":false}" >"$folder/test"
                echo "{$common}" >"$folder/asking"
                quarantine() { "$0" journal quarantine "$@"; }
                replay() { config=$1; shift; quarantine --provider stripe --config "$folder/$config" "$@"; echo "status $?"; }
                id() { quarantine --limit 1000 | sed -n "$1"'s/.*"id":"\\([^"]*\\)".*/\\1/p'; }
                \(commands)
                """
        )
    }

    /// Neither may stand in any output.
    private func expectNoSecret(_ run: CommandLineRun) {
        for text in [run.output, run.errors] {
            #expect(!text.contains("hunter2") && !text.contains("v1=") && !text.lowercased().contains("signature:"))
        }
    }

    @Test("a delivery is taken in once a configuration can take it, and leaves the quarantine")
    func replay() async throws {
        let run = try await run(
            #"""
            last=$(id '$')
            replay test --replay "$last"
            replay both --replay "$last"
            replay both --replay "$last"
            replay both --replay-all
            "$0" journal events | wc -l
            """#,
            unreadable: Self.unreadable
        )
        let lines = run.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 7 + Self.unreadable, "\(run.output)\(run.errors)")
        #expect(lines[0].hasPrefix(#"{"code":"misdirected","decision":"accept_and_quarantine","id":"stripe:"#))
        #expect(lines[1] == "status 65")
        #expect(lines[2].hasPrefix(#"{"decision":"accept","id":"stripe:"#))
        #expect(lines[2].hasSuffix(#""source":"stripe"}"#))
        #expect(Array(lines[3...4]) == ["status 0", "status 66"], "it is gone")
        let others = lines[5..<(5 + Self.unreadable)]
        #expect(others.allSatisfy { $0.hasPrefix(#"{"code":"malformed","decision":"accept_and_quarantine","#) })
        #expect(lines[5 + Self.unreadable] == "status 65")
        #expect(Int(lines[6 + Self.unreadable].trimmingCharacters(in: .whitespaces)) == 1)
        #expect(!run.output.contains("jane") && !run.errors.contains("jane"))
        expectNoSecret(run)
    }

    @Test("a provider that cannot be asked ends the replay, and the rest is left")
    func outage() async throws {
        let run = try await run(#"echo rk_live_hunter2 >"$folder/key"; replay both --replay-all"#, asked: 8)
        let lines = run.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 7, "\(run.output)\(run.errors)")
        #expect(lines[1...5].allSatisfy { $0.hasPrefix(#"{"code":"unavailable","decision":"retry_later","#) })
        #expect(lines[6] == "status 69")
        #expect(
            run.errors
                == "6 deliveries of stripe, 0 taken in\nstopped, since stripe cannot be asked: 10 deliveries are left\n"
        )
    }

    @Test("bodies are printed only when they are asked for, and credentials never")
    func bodies() async throws {
        let run = try await run("quarantine --limit 1; quarantine --limit 1 --bodies; quarantine --limit 1 --text")
        let lines = run.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 4, "\(run.output)\(run.errors)")
        #expect(lines[0].contains(#""bytes":"#) && !lines[0].contains("jane"))
        #expect(lines[1].contains(#""body":"#) && lines[1].contains("jane@example.com"))
        #expect(lines[3].hasPrefix("stripe:") && !lines[3].contains("jane"))
        expectNoSecret(run)
    }

    @Test("an id that is not there is an error, and nothing is deleted then")
    func discard() async throws {
        let run = try await run(
            #"""
            last=$(id '$')
            quarantine --discard "$last" --discard stripe:none; echo "status $?"
            quarantine --limit 1000 | grep -c "$last"
            quarantine --discard "$last"; echo "status $?"
            quarantine --limit 1000 | wc -l
            """#,
            unreadable: Self.unreadable
        )
        let words = run.output.split(whereSeparator: \.isWhitespace).map(String.init)
        #expect(words == ["status", "66", "1", "status", "0", "\(Self.unreadable)"], "\(run.output)\(run.errors)")
        #expect(run.errors == "no delivery in quarantine has the id stripe:none\n")
    }

    @Test("a replay needs a configuration that says how deliveries are proven, for the source of the delivery")
    func usage() async throws {
        let run = try await run(
            #"""
            first=$(id 1)
            quarantine --replay-all; echo "status $?"
            replay both --replay-all --discard "$first"
            replay both
            replay asking --replay-all
            replay both --source stripe-two --replay "$first"
            replay both --source stripe-two --replay-all
            """#
        )
        #expect(run.output == String(repeating: "status 64\n", count: 5) + "status 0\n", "\(run.errors)")
        #expect(run.errors.contains("how deliveries of stripe are proven"))
        #expect(run.errors.hasSuffix("0 deliveries of stripe-two, 0 taken in\n"))
    }

    @Test("a configuration takes deliveries in only if it says how they are proven")
    func proofs() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("quarantine-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        func file(_ name: String, _ content: [UInt8]) throws -> String {
            let file = folder.appendingPathComponent(name)
            try Data(content).write(to: file)
            return file.path
        }
        let relay = RevenueCatSimulator(authorization: SecretBytes("Bearer hunter2"))
        let key = try file("key", Array("hunter2\n".utf8))
        // The second one is in use.
        let authorizations = try file("authorizations", Array("Bearer hunter1\nBearer hunter2\n".utf8))
        let account = try file("account.json", try GoogleSimulator(seed: "quarantine").serviceAccountKeyFile().bytes)
        let google = #""packageNames":["com.example.app"],"serviceAccountFile":"\#(account)""#
        let audience = #""audience":"https://backend.example/hooks/google""#
        let cases: [(provider: Provider, members: String, proof: String)] = [
            (.google, google, audience + #","pushServiceAccount":"push@example.iam.gserviceaccount.com""#),
            (.revenuecat, #""apiKeyFile":"\#(key)""#, #""authorizationsFile":"\#(authorizations)""#),
        ]
        for (provider, members, proof) in cases {
            try await ProviderAccess(provider, path: file("asking", Array("{\(members)}".utf8))).use { asking in
                #expect(asking.adapter == nil, "\(provider)")
            }
            try await ProviderAccess(provider, path: file("taking", Array("{\(members),\(proof)}".utf8))).use {
                taking in
                let adapter = try #require(taking.adapter, "\(provider)")
                guard provider == relay.provider else { return }
                let story = try #require(CustomerStory.named("initial-purchase"))
                let notification = try #require(try relay.notifications(story, from: Self.start).first)
                let delivery = try relay.delivery(of: notification, sentAt: Self.start.addingTimeInterval(60))
                #expect(try await adapter.receive(delivery).events.isEmpty == false)
            }
        }
        let half = try file("half", Array("{\(google),\(audience)}".utf8))
        #expect(throws: (any Error).self) { try ProviderAccess(.google, path: half) }
        for names in ["", #""Production""#] {
            let relay = cases[1]
            let wrong = "{\(relay.members),\(relay.proof),\"environments\":[\(names)]}"
            let path = try file("wrong", Array(wrong.utf8))
            #expect(throws: (any Error).self, "\(names)") { try ProviderAccess(.revenuecat, path: path) }
        }
    }
}
