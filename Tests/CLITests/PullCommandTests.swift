import Foundation
import HTTPTransport
import LoopbackServer
import Normalizer
import NotificationSimulator
import PubSubEmulator
import Synchronization
import Testing

@Suite("lifecycle pull", .timeLimit(.minutes(5)))
struct PullCommandTests {
    @Test("prints events, keeps what gives none, and acknowledges only then")
    func printsAndAcknowledges() throws {
        let google = try PlayedGoogle(
            [
                PlayedGoogle.message("good"), PlayedGoogle.message("broken", "{\"secret-text\""),
                PlayedGoogle.message("other", PlayedGoogle.notification(package: "com.other")),
                #"{"messageId":"unreadable","data":"*"}"#,
            ],
            play: PlayedGoogle.subscribed
        )
        defer { google.stop() }
        let run = try google.pull()
        #expect(run.status() == 0, "\(run.errors)")

        let lines = try run.text("output").split(separator: "\n")
        let events = try lines.map { try CanonicalJSON.value(NormalizedEvent.self, from: Array($0.utf8)) }
        #expect(events.map(\.kind) == [.renewed])
        #expect(events.first?.origin.channel == .refetch)

        let reported = google.log.all
        // A message about another app is left to its own receiver.
        let acknowledged = reported.filter { $0.verb == "acknowledge" }
        #expect(acknowledged.flatMap(\.ids).sorted() == ["0", "1", "3"])
        #expect(reported.contains { $0.verb == "modifyAckDeadline" && $0.ids == ["2"] })
        #expect(reported.first { $0.ids.contains("0") }?.lines == 1)

        let kept = try run.text("quarantine").split(separator: "\n")
        #expect(kept.count == 2)
        #expect(kept.count { $0.contains(#""code":"malformed""#) } == 2)
        #expect(!kept.contains { $0.contains("misdirected") })
        let attributes = try FileManager.default.attributesOfItem(atPath: google.path("quarantine"))
        #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
        let errors = try run.text("errors")
        #expect(errors.contains("broken: malformed: "))
        #expect(errors.contains("other: misdirected: "))
        #expect(!errors.contains("secret-text"))
    }

    @Test("a message that Google cannot answer about comes again later, and is not printed")
    func redelivers() throws {
        let google = try PlayedGoogle([PlayedGoogle.message("a")]) { $0.respond(400 + 4) }
        defer { google.stop() }
        let troubled = try PlayedGoogle([PlayedGoogle.message("b")]) { $0.respond(503, [("Retry-After", "0")]) }
        defer { troubled.stop() }
        // A purchase that Google does not know gives no event, and is kept.
        let unknown = try google.pull()
        #expect(unknown.status() == 0)
        #expect(try unknown.text("quarantine").contains("purchase_gone"))
        #expect(google.log.all.map(\.verb) == ["acknowledge"])

        let run = try troubled.pull()
        #expect(run.status() == 0)
        #expect(try run.text("output").isEmpty)
        #expect(try run.text("quarantine").isEmpty)
        #expect(try run.text("errors").contains("b: unavailable: "))
        #expect(troubled.log.all.map(\.verb) == ["modifyAckDeadline"])
        #expect(troubled.log.all.first?.seconds == 10)
    }

    @Test("a network that drops everything is no empty subscription")
    func dropped() async throws {
        let google = try PlayedGoogle([], play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let hole = try FullListener()
        // One that would end by itself could be faster than this test.
        let run = try google.pull([], config: google.configuration(pubsub: hole.port))
        while run.isRunning, run.errors.isEmpty { try await Task.sleep(for: .milliseconds(50)) }
        #expect(run.errors.contains("pull: connectionFailed"))
        run.end(SIGTERM)
        #expect(run.status() == 0)
    }

    @Test("a network that is dead ends what has an end of its own")
    func dead() throws {
        let google = try PlayedGoogle([], play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let hole = try FullListener()
        let start = ContinuousClock.now
        let run = try google.pull(config: google.configuration(pubsub: hole.port))
        #expect(run.status() == 69)
        withExtendedLifetime(hole) {}
        #expect(start.duration(to: .now) < .seconds(180))
        #expect(run.errors.hasSuffix("Pub/Sub cannot be pulled from: connectionFailed\n"))
    }

    @Test("a signal ends it in an orderly way", arguments: [SIGINT, SIGTERM])
    func signals(signal: Int32) async throws {
        let google = try PlayedGoogle([PlayedGoogle.message("a")], holds: true, play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let run = try google.pull([])
        await google.idle.wait()
        run.end(signal)
        #expect(run.status() == 0, "\(run.errors)")
        #expect(try run.text("output").contains(#""kind":"renewed""#))
        #expect(google.log.all.flatMap(\.ids) == ["0"])
    }

    @Test("stops after so many messages")
    func limit() throws {
        let messages = (0..<5).map { PlayedGoogle.message("m\($0)", PlayedGoogle.notification(of: "t\($0)")) }
        let google = try PlayedGoogle(messages, holds: true, play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let run = try google.pull(["--max-messages", "5"])
        #expect(run.status() == 0, "\(run.errors)")
        #expect(try run.text("output").split(separator: "\n").count == 5)
    }

    @Test("acknowledges nothing that it could not write")
    func fullDisk() throws {
        let google = try PlayedGoogle([PlayedGoogle.message("a")], holds: true, play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let run = try google.pull([], output: "/dev/full")
        #expect(run.status() == 74)
        #expect(google.log.all.map(\.verb) == ["modifyAckDeadline"])
    }

    /// A line that was being written when the machine went down was not acknowledged, and comes again.
    @Test("goes on behind a line that was torn off, and not within it", arguments: ["{\"torn", "{}\n", ""])
    func tornLines(written: String) throws {
        let google = try PlayedGoogle(
            [PlayedGoogle.message("good"), PlayedGoogle.message("broken", "{")],
            play: PlayedGoogle.subscribed
        )
        defer { google.stop() }
        try Data(written.utf8).write(to: URL(fileURLWithPath: google.path("quarantine")))
        let run = try google.pull(behind: written)
        #expect(run.status() == 0, "\(run.errors)")
        let isTorn = !written.isEmpty && !written.hasSuffix("\n")
        for (name, key) in [("output", #""kind":"renewed""#), ("quarantine", #""message_id":"broken""#)] {
            let text = try run.text(name)
            let added = written + (isTorn ? "\n" : "")
            #expect(text.hasPrefix(added + "{"))
            let line = text.dropFirst(added.count)
            #expect(line.contains(key))
            #expect(line.hasSuffix("}\n") && line.count { $0 == "\n" } == 1)
        }
        #expect(run.errors.contains("standard output ends within a line") == isTorn)
        #expect(run.errors.contains("quarantine ends within a line") == isTorn)
    }

    /// A part of a line can get onto a disk that is full, and what comes behind it would be within that line.
    @Test("writes and acknowledges nothing more once something could not be written")
    func nothingBehindATornLine() throws {
        let errors = Mutex<URL?>(nil)
        let messages = ["torn", "later"].map { PlayedGoogle.message($0, PlayedGoogle.notification(of: $0)) }
        let google = try PlayedGoogle(messages, holds: true) { exchange in
            guard exchange.request.target.hasSuffix("/later") else { return PlayedGoogle.subscribed(&exchange) }
            let file = errors.withLock { $0 }
            while let file, (try? Data(contentsOf: file).isEmpty) == true { usleep(10_000) }
            exchange.respond(404)
        }
        defer { google.stop() }
        errors.withLock { $0 = google.folder.appendingPathComponent("errors") }
        let run = try google.pull([], output: "/dev/full")
        #expect(run.status() == 74)
        #expect(run.errors.contains("torn: its lines could not be written"))
        #expect(try run.text("quarantine").isEmpty)
        #expect(Set(google.log.all.map(\.verb)) == ["modifyAckDeadline"])
        #expect(google.log.all.flatMap(\.ids).sorted() == ["0", "1"])
    }

    @Test("a subscription that does not exist ends it")
    func noSubscription() throws {
        let google = try PlayedGoogle([], play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let config = try google.configuration { $0["subscription"] = #""projects/project-one/subscriptions/other""# }
        let run = try google.pull([], config: config)
        #expect(run.status() == 69)
        #expect(try run.text("errors").contains("not_found: "))
    }

    static let broken: [(String, String?)] = [
        ("subscription", nil), ("subscription", #""play-events""#), ("packageName", nil), ("packageName", #""..""#),
        ("serviceAccountFile", nil), ("serviceAccountFile", #""/nowhere""#), ("orderLookup", #""always""#),
        ("packagename", #""com.example.app""#), ("trustRootsFile", #""""#),
        ("trustRootsFile", #""/nowhere""#), ("trustRootsFile", #""/""#),
        ("emulator", #"{"pubsub":"pubsub.example.com:80"}"#), ("emulator", #"{"play":"10.0.0.1:443"}"#),
        ("emulator", #"{"token":"evil.example:443"}"#), ("emulator", #"{"pubsub":"localhost"}"#),
        ("emulator", #"{"other":"localhost:1"}"#), ("maximumOutstandingMessages", "0"),
    ]

    @Test("an invalid configuration sends no request", arguments: broken)
    func refusesConfigurations(name: String, value: String?) throws {
        let google = try PlayedGoogle([], play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let run = try google.pull(config: google.configuration { $0[name] = value })
        #expect(run.status() == 64)
        #expect(google.play.requestCount + google.pubsub.requestCount == 0)
        let errors = try run.text("errors")
        #expect(!errors.contains("PRIVATE KEY") && !errors.contains("evil.example"))
    }

    @Test("a key file whose token_uri leads elsewhere is refused")
    func tokenURI() throws {
        let google = try PlayedGoogle([], play: PlayedGoogle.subscribed)
        defer { google.stop() }
        let simulator = try PlayedGoogle.simulator.get()
        try google.writeKeyFile(simulator.serviceAccountKeyFile(tokenURI: "https://evil.example/token"))
        let run = try google.pull()
        #expect(run.status() == 64)
        #expect(google.play.requestCount == 0)
    }

    @Test(
        "pulls from Google's own emulator",
        .enabled(if: Emulator.isInstalled, "\(Emulator.absence)")
    )
    func emulator() async throws {
        let google = try PlayedGoogle([], play: PlayedGoogle.subscribed)
        defer { google.stop() }
        try await Emulator.run { emulator in
            try await emulator.createTopic()
            try await emulator.createSubscription()
            try await emulator.publish((0..<100).map { PlayedGoogle.notification(of: "token-\($0)") })
            let run = try google.pull(["--max-messages", "100"], config: google.configuration(pubsub: emulator.port))
            #expect(run.status() == 0, "\(run.errors)")
            let lineages = try run.text("output").split(separator: "\n").map { line in
                try CanonicalJSON.value(NormalizedEvent.self, from: Array(line.utf8)).subscription?.id
            }
            #expect(Set(lineages).count == 100)
            #expect(try run.text("quarantine").isEmpty)
            // All were acknowledged: there is nothing left.
            let again = try google.pull(config: google.configuration(pubsub: emulator.port))
            #expect(again.status() == 0)
            #expect(try again.text("output").isEmpty)
        }
    }
}
