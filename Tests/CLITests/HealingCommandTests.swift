import Foundation
import HTTPTransport
import LoopbackServer
import Normalizer
import NotificationSimulator
import Testing

@Suite("lifecycle backfill, reconcile, refetch and preflight", .timeLimit(.minutes(5)))
struct HealingCommandTests {
    /// Stripe's list of events, over TLS, for a key.
    private struct Stripe {
        let server: LoopbackServer
        let authority: TestAuthority
        static let key = "rk_test_hunter2"

        init(_ notifications: [SimulatedNotification]) throws {
            authority = try TestAuthority()
            let events = notifications.reversed().map { String(decoding: $0.content, as: UTF8.self) }
            let resources = notifications.resources(upTo: notifications.count - 1)
            let formatter = DateFormatter()
            formatter.locale = Locale(identifier: "en_US_POSIX")
            formatter.timeZone = TimeZone(secondsFromGMT: 0)
            formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
            let date = formatter.string(from: Date())
            server = try LoopbackServer(LoopbackServer.TLS(authority.issue())) { exchange in
                let headers = [("Content-Type", "application/json"), ("Date", date)]
                guard exchange.request.values("authorization") == ["Bearer \(Self.key)"] else {
                    return exchange.respond(401, headers, body: Array("{}".utf8))
                }
                if exchange.request.target.hasPrefix("/v1/events?") {
                    let list = #"{"object":"list","has_more":false,"data":[\#(events.joined(separator: ","))]}"#
                    return exchange.respond(200, headers, body: Array(list.utf8))
                }
                let found = resources.first { $0.path == exchange.request.target }
                exchange.respond(found?.status ?? 404, headers, body: found?.body ?? Array("{}".utf8))
            }
        }
    }

    private static let start = Date().addingTimeInterval(-10 * 86_400)

    /// - Parameter members: further members of the configuration.
    private func run(
        _ commands: String,
        key: String = Stripe.key,
        story name: String = "initial-purchase",
        from start: Date = Self.start,
        members: String = ""
    ) throws -> CommandLineRun {
        let story = try #require(CustomerStory.named(name))
        let notifications = try StripeSimulator(seed: "healing").notifications(story, from: start)
        let stripe = try Stripe(notifications)
        defer { stripe.server.stop() }
        return try CommandLineRun(
            shell: """
                folder=$(mktemp -d)
                trap 'rm -rf "$folder"' EXIT
                export LIFECYCLE_DATABASE="sqlite:$folder/journal.sqlite"
                cat >"$folder/ca.pem"
                echo '\(key)' >"$folder/key"
                echo '{"apiKeyFile":"'$folder'/key","trustRootsFile":"'$folder'/ca.pem","emulator":\(stripe.server.port)\(members)}' \
                >"$folder/config"
                ask() { command=$1; shift; "$0" $command --provider stripe --config "$folder/config" "$@"; }
                "$0" journal init
                \(commands)
                """,
            input: Data(stripe.authority.certificate)
        )
    }

    @Test("three days of silence, one command: what was sent is taken in, once, and what is open is asked")
    func outage() throws {
        let run = try run(
            """
            ask preflight || exit 1
            ask backfill --since \(Self.start.addingTimeInterval(-60).formatted(.iso8601)) || exit 2
            ask backfill || exit 3
            "$0" journal events | wc -l
            ask reconcile --all || exit 4
            """
        )
        #expect(run.status == 0, "\(run.errors)")
        let lines = run.output.split(separator: "\n").map(String.init)
        try #require(lines.count == 7, "\(run.output)")
        #expect(lines.first == #"{"advice":"nothing to do","is_passed":true,"name":"stripe"}"#)
        let news = try lines.indices.filter { [1, 3].contains($0) }.map { index in
            let report = try JSONSerialization.jsonObject(with: Data(lines[index].utf8)) as? [String: Any]
            return try #require(report?["newEvents"] as? Int)
        }
        let first = try #require(news.first)
        #expect(first > 0)
        #expect(news.last == 0)
        let known = Int(lines[5].trimmingCharacters(in: .whitespaces))
        #expect(known == first)
        #expect(lines.last?.contains(#""asked":1"#) == true)
        #expect(lines.last?.contains(#""settled":1"#) == true)
    }

    @Test(
        "what was sent is read under the policy of the webhook",
        arguments: [
            ("", "grace"), (#""pastDue":"suspends""#, "suspended"),
            (#""pastDue":"grace","graceSeconds":86400"#, "grace"),
        ]
    )
    func policy(members: String, access: String) throws {
        let run = try run(
            """
            ask backfill --since \(Date().addingTimeInterval(-20 * 86_400).formatted(.iso8601)) >/dev/null
            "$0" journal events | grep -o '"access":"[a-z]*"' | sort -u
            """,
            story: "hold-expires",
            from: Date().addingTimeInterval(-60 * 86_400),
            members: #","policy":{\#(members)}"#
        )
        #expect(run.output == "\"access\":\"\(access)\"\n", "\(run.errors)")
    }

    @Test(
        "a policy that is misspelled has no silent effect on access",
        arguments: [
            #""pastdue":"suspends""#, #""pastDue":"suspend""#, #""pastDue":"grace""#,
            #""pastDue":"keeps","graceSeconds":1"#, #""oneTimeProducts":{"hunter2":"coins"}"#, #""addOnProducts":"a""#,
        ]
    )
    func misspelledPolicy(members: String) throws {
        let run = try run("ask preflight; echo $?", members: #","policy":{\#(members)}"#)
        #expect(run.output == "64\n")
        #expect(run.errors.contains("policy") && !run.errors.contains("hunter2"), "\(run.errors)")
    }

    @Test("a gap that the provider can no longer fill is said, and the exit status tells")
    func gap() throws {
        let run = try run(
            "ask backfill --since \(Date().addingTimeInterval(-40 * 86_400).formatted(.iso8601)); echo $?"
        )
        #expect(run.output.contains(#""gap":{"#))
        #expect(run.output.hasSuffix("\n1\n"))
        #expect(run.errors.contains("has forgotten"))
        #expect(run.output.contains(#""asked":1"#), "every purchase is asked about")
    }

    @Test("an import from several apps needs to know the app of each purchase, and shows no token")
    func apps() throws {
        let account = try GoogleSimulator(seed: "import").serviceAccountKeyFile().bytes
        let run = try CommandLineRun(
            shell: """
                folder=$(mktemp -d)
                trap 'rm -rf "$folder"' EXIT
                export LIFECYCLE_DATABASE="sqlite:$folder/journal.sqlite"
                cat >"$folder/account"
                echo '{"packageNames":["com.example.a","com.example.b"],"serviceAccountFile":"'$folder'/account","emulator":1}' \
                >"$folder/config"
                echo 'hunter2,subscription' >"$folder/list"
                "$0" journal init
                "$0" import --provider google --config "$folder/config" "$folder/list"
                """,
            input: Data(account)
        )
        #expect(run.status == 64, "\(run.errors)")
        #expect(run.errors.contains("line 1 is no purchase of google"))
        #expect(!run.errors.contains("hunter2"))
    }

    @Test("a refused key is named, and not shown", arguments: ["preflight", "backfill --since 2026-01-01T00:00:00Z"])
    func refused(command: String) throws {
        let run = try run("ask \(command); echo $?", key: "rk_test_wrong")
        #expect(run.output.hasSuffix("69\n"), "\(run.errors)")
        #expect(run.output.contains("give the key the right") || run.errors.contains("denied"))
        #expect(!run.output.contains("wrong") && !run.errors.contains("wrong"))
    }

    @Test("a purchase is asked about by its name")
    func refetch() throws {
        let run = try run(
            """
            ask refetch stripe/test/sub_none; echo $?
            ask refetch nothing; echo $?
            """
        )
        #expect(run.output == "66\n64\n")
    }
}
