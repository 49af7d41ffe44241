import CurlTransport
import Foundation
import GooglePubSub
import HTTPTransport
@testable import LoopbackServer
import Normalizer
import NotificationSimulator
import StoryReceiving
import Synchronization
import Testing
import WireJSON

@Suite("lifecycle simulate and chaos", .timeLimit(.minutes(5)))
struct SimulateCommandTests {
    private func withFolder(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("simulate-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try await body(folder)
    }

    private func object(_ line: some StringProtocol) throws -> JSONObject {
        try JSONDocument(parsing: Array(line.utf8)).root.object()
    }

    @Test("names every story and who has it")
    func list() throws {
        let run = try CommandLineRun(["simulate", "--list"])
        #expect(run.status == 0)
        let lines = run.output.split(separator: "\n")
        #expect(lines.count == CustomerStory.all.count + 1)
        for (story, line) in zip(CustomerStory.all, lines.dropFirst()) { #expect(line.hasPrefix("\(story.id) ")) }
    }

    @Test("writes vectors that pass, byte for byte the same")
    func out() async throws {
        try await withFolder { folder in
            var contents: [[Data]] = []
            for name in ["first", "second"] {
                let out = folder.appendingPathComponent(name)
                let run = try CommandLineRun(["simulate", "life", "--seed", "7", "--out", out.path])
                #expect(run.status == 0, "\(run.errors)")
                let files = CustomerStory.providers.map { out.appendingPathComponent("life.\($0.rawValue).jsonl") }
                contents.append(try files.map { try Data(contentsOf: $0) })
                let check = try CommandLineRun(["check"] + files.map(\.path))
                #expect(check.status == 0)
                #expect(check.errors.contains(" 0 differ, 0 without expectation, 0 not readable"))
            }
            #expect(contents[0] == contents[1])
            let other = folder.appendingPathComponent("other")
            #expect(try CommandLineRun(["simulate", "life", "--seed", "8", "--out", other.path]).status == 0)
            let apple = try Data(contentsOf: other.appendingPathComponent("life.apple.jsonl"))
            #expect(apple != contents[0][0])
        }
    }

    @Test(
        "refuses what makes no sense",
        arguments: [
            ["simulate", "family", "--provider", "stripe", "--out", "/nowhere"],
            ["simulate", "nothing", "--out", "/nowhere"], ["simulate", "life"], ["simulate", "--out", "/nowhere"],
            ["simulate", "life", "--provider", "paddle", "--out", "/nowhere"],
            ["simulate", "life", "--post", "http://127.0.0.1:1/"],
            ["simulate", "life", "--provider", "stripe", "--post", "http://example.com/hooks"],
            ["simulate", "life", "--provider", "stripe", "--post", "ftp://localhost/hooks"],
            ["simulate", "life", "--start", "yesterday", "--out", "/nowhere"],
            ["simulate", "life", "--start", "9999-12-01T00:00:00Z", "--out", "/nowhere"],
            ["chaos", "life", "--start", "9999-12-01T00:00:00Z", "--rounds", "1"],
            ["simulate", "life", "--start", "2023-12-30T00:00:00Z", "--out", "/nowhere"],
            ["chaos", "life", "--provider", "apple", "--start", "2033-12-01T00:00:00Z", "--rounds", "1"],
            ["simulate", "life", "--provider", "stripe", "--post", "https://localhost:1/", "--ca", #filePath],
            ["chaos", "nothing"], ["chaos", "family", "--provider", "stripe"], ["chaos", "life", "--rounds", "0"],
        ]
    )
    func usage(arguments: [String]) throws {
        let run = try CommandLineRun(arguments)
        #expect(run.status == 64)
        #expect(!run.errors.isEmpty)
    }

    @Test(
        "says in one sentence why a provider cannot play a story",
        arguments: [
            (["simulate", "pause", "--provider", "apple", "--out", "/nowhere"], "apple"),
            (["chaos", "pause", "--provider", "apple"], "apple"),
            (["chaos", "pause", "--provider", "revenuecat", "--store", "app_store"], "revenuecat"),
        ]
    )
    func absence(arguments: [String], at provider: String) throws {
        let errors = try CommandLineRun(arguments).errors
        #expect(errors.hasPrefix("Error: \(provider) cannot play pause: subscriptions cannot be paused\n"), "\(errors)")
    }

    /// The received requests, with their answers.
    private final class Inbox: Sendable {
        private let requests = Mutex([LoopbackServer.Request]())
        private let refusals: Int
        private let status: Int

        init(refusing refusals: Int, then status: Int = 200) {
            self.refusals = refusals
            self.status = status
        }

        var all: [LoopbackServer.Request] { requests.withLock { $0 } }

        func answer(_ exchange: inout LoopbackServer.Exchange) {
            let request = exchange.request
            let count = requests.withLock { requests in
                requests.append(request)
                return requests.count
            }
            exchange.respond(count <= refusals ? 503 : status)
        }
    }

    @Test("delivers again until the backend takes it", arguments: CustomerStory.providers)
    func post(provider: Provider) async throws {
        let inbox = Inbox(refusing: 2)
        let server = try LoopbackServer(nil) { inbox.answer(&$0) }
        defer { server.stop() }
        let url = "http://127.0.0.1:\(server.port)/hooks/\(provider.rawValue)"
        let run = try CommandLineRun(
            ["simulate", "trial-converts", "--provider", provider.rawValue, "--post", url, "--compress", "100000000"]
        )
        #expect(run.status == 0, "\(run.errors)")
        let reports = try run.output.split(separator: "\n").map { try object($0) }
        let simulator: any StorySimulator =
            switch provider {
            case .google: try GoogleSimulator(seed: "1").pushing(to: url)
            default: try #require(try provider.simulator(seed: "1"))
            }
        let notifications = try simulator.notifications(
            try #require(CustomerStory.named("trial-converts")),
            from: Date(timeIntervalSince1970: 1_767_607_200)
        )
        #expect(reports.count == notifications.count + 2)
        #expect(inbox.all.count == reports.count)
        let outcomes = try reports.map { try $0["outcome"]?.string() }
        #expect(outcomes.filter { $0 == "retry" }.count == 2)
        #expect(outcomes.filter { $0 == "accepted" }.count == notifications.count)
        // Everything that came is what the provider's adapter takes, at the present time.
        let receiver = try StoryReceiver(notifications, by: simulator)
        for request in inbox.all {
            #expect(request.method == "POST")
            #expect(request.target == "/hooks/\(provider.rawValue)")
            let delivery = Delivery(
                headers: Delivery.Headers(request.headers),
                body: request.body,
                receivedAt: Date()
            )
            _ = try await receiver.take(delivery)
        }
    }

    @Test("gives up as the provider does, and takes 200 alone for RevenueCat")
    func givenUp() throws {
        let inbox = Inbox(refusing: 0, then: 201)
        let server = try LoopbackServer(nil) { inbox.answer(&$0) }
        defer { server.stop() }
        let url = "http://127.0.0.1:\(server.port)/"
        func run(_ provider: String) throws -> CommandLineRun {
            try CommandLineRun(
                ["simulate", "initial-purchase", "--provider", provider, "--post", url, "--compress", "100000000"]
            )
        }
        let refused = try run("revenuecat")
        #expect(refused.status == 69)
        let reports = try refused.output.split(separator: "\n").map { try object($0) }
        #expect(try reports.map { try $0["outcome"]?.string() } == Array(repeating: "retry", count: 5) + ["given_up"])
        #expect(
            try reports.compactMap { try $0["next_attempt_after_seconds"]?.int64() } == [300, 600, 1200, 2400, 4800]
        )
        #expect(try run("stripe").status == 0)
    }

    @Test("delivers over TLS to a chain that it was given, and to no other")
    func tls() async throws {
        try await withFolder { folder in
            let authority = try TestAuthority()
            let inbox = Inbox(refusing: 0)
            let server = try LoopbackServer(LoopbackServer.TLS(authority.issue())) { inbox.answer(&$0) }
            defer { server.stop() }
            let certificates = folder.appendingPathComponent("ca.pem")
            try Data(authority.certificate).write(to: certificates)
            let arguments = [
                "simulate", "initial-purchase", "--provider", "apple", "--post", "https://localhost:\(server.port)/",
                "--compress", "100000000",
            ]
            #expect(try CommandLineRun(arguments + ["--ca", certificates.path]).status == 0)
            #expect(inbox.all.count == 1)
            let untrusted = try CommandLineRun(arguments + ["--attempts", "1"])
            #expect(untrusted.status == 69)
            #expect(untrusted.output.contains(#""error":"tls""#))
            #expect(inbox.all.count == 1)
        }
    }

    @Test("serves the Play API, the keys and the token endpoint")
    func serve() async throws {
        try await withFolder { folder in
            let arguments = ["simulate", "life", "--provider", "google", "--serve", "--files", folder.path]
            let served = try ServedCommand(arguments)
            defer { served.stop() }
            let place = try object(try served.firstLine())
            let base = try #require(try place["https"]?.string())
            let certificates = try Data(contentsOf: folder.appendingPathComponent("ca.pem"))
            let transport = try CurlHTTPTransport(.init(trustRoots: .pem(Array(certificates))))
            func get(_ path: String, token: String? = nil) async throws -> HTTPTransportResponse {
                var headers = HTTPTransportHeaders()
                if let token { headers.add("Authorization", "Bearer \(token)") }
                return try await transport.send(
                    try HTTPTransportRequest(.get, try HTTPSURL(base + path), headers: headers)
                )
            }
            let simulator = try GoogleSimulator(seed: "1")
            let keys = try await get("/oauth2/v3/certs")
            #expect(keys.status == 200)
            #expect(keys.body == simulator.keySet)

            let grant = "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c"
            let url = try HTTPSURL(base + "/token")
            let form: HTTPTransportHeaders = ["Content-Type": "application/x-www-form-urlencoded"]
            let refused = try await transport.send(
                try HTTPTransportRequest(.post, url, headers: form, body: Array("grant_type=none".utf8))
            )
            #expect(refused.status == 400)
            let granted = try await transport.send(
                try HTTPTransportRequest(.post, url, headers: form, body: Array(grant.utf8))
            )
            #expect(granted.status == 200)
            let token = try #require(
                try object(String(decoding: granted.body, as: UTF8.self))["access_token"]?.string()
            )

            let notifications = try simulator.notifications(.life, from: Date(timeIntervalSince1970: 1_767_607_200))
            let resource = try #require(notifications.first?.resources.first)
            #expect(try await get(resource.path).status == 401)
            #expect(try await get(resource.path, token: "wrong").status == 401)
            #expect(try await get(resource.path + "x", token: token).status == 404)
            // At the end of the story, the first token has been replaced.
            let last = try await get(resource.path, token: token)
            #expect(last.status == 200)
            #expect(String(decoding: last.body, as: UTF8.self).contains("SUBSCRIPTION_STATE_EXPIRED"))
            let moved = try await transport.send(
                try HTTPTransportRequest(.put, try HTTPSURL(base + "/simulator/position"), body: Array("1".utf8))
            )
            #expect(moved.status == 204)
            // The address that is printed is the one that a client of the API is made with.
            let api = try PlayDeveloperAPI(
                transport: transport,
                tokens: FixedAccessToken(SecretBytes(token)),
                base: HTTPSURL(try #require(try place["google"]?.object()["play_api"]?.string()))
            )
            let purchase = try #require(resource.path.split(separator: "/").last.map(String.init))
            let asked = await api.subscription(purchaseToken: purchase, packageName: simulator.packageName)
            #expect(asked.body == resource.body)
            let first = try await get(resource.path, token: token)
            #expect(first.body == resource.body)
            #expect(first.headers["Date"] == "Mon, 05 Jan 2026 10:00:02 GMT")
            await transport.shutdown()
        }
    }

    @Test("a request with a length that no body has ends its connection, and nothing else", .timeLimit(.minutes(5)))
    func impossibleLength() async throws {
        try await withFolder { folder in
            let served = try ServedCommand([
                "simulate", "test", "--provider", "google", "--serve", "--files", folder.path,
            ])
            defer { served.stop() }
            let base = try #require(try object(try served.firstLine())["http"]?.string())
            let port = try #require(base.split(separator: ":").last.flatMap { UInt16($0) })
            for length in ["-1", "\(Int.min)", "\(Int.max)", "99999999999999999999", "x"] {
                let descriptor = try #require(Sockets.connect(port: port))
                let socket = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
                try socket.write(contentsOf: Data("POST /token HTTP/1.1\r\nContent-Length: \(length)\r\n\r\n".utf8))
                #expect(try socket.readToEnd() ?? Data() == Data(), "\(length)")
            }
            let transport = try CurlHTTPTransport()
            let keys = try HTTPSURL.emulator(
                host: "127.0.0.1",
                port: Int(port),
                path: ["oauth2", "v3", "certs"].map { HTTPSURL.PathSegment($0) }
            )
            #expect(try await transport.send(try HTTPTransportRequest(.get, keys)).status == 200)
            await transport.shutdown()
        }
    }

    @Test("answers as of each notification while it is delivered")
    func serveAndPost() throws {
        let seen = Mutex([String]())
        let server = try LoopbackServer(nil) { exchange in
            seen.withLock { $0.append(exchange.request.method) }
            exchange.respond(204)
        }
        defer { server.stop() }
        let run = try CommandLineRun([
            "simulate", "cancel-expire", "--provider", "google", "--serve", "--post",
            "http://127.0.0.1:\(server.port)/", "--compress", "100000000",
        ])
        #expect(run.status == 0, "\(run.errors)")
        let lines = run.output.split(separator: "\n")
        #expect(try object(try #require(lines.first))["receivers"] != nil)
        #expect(lines.count == 4)
        #expect(seen.withLock { $0 } == ["POST", "POST", "POST"])
    }

    @Test("chaos finds one state in every order")
    func chaos() throws {
        let run = try CommandLineRun(["chaos", "trial-converts", "--rounds", "5", "--seed", "text"])
        #expect(run.status == 0, "\(run.errors)")
        let lines = run.output.split(separator: "\n")
        let story = try #require(CustomerStory.named("trial-converts"))
        #expect(lines.count == CustomerStory.providers.count { story.absence(at: $0) == nil })
        #expect(lines.allSatisfy { $0.hasSuffix("one state") })
    }

    @Test("the demo shows every provider, and a forgery of each refused")
    func demo() async throws {
        try await withFolder { folder in
            let events = folder.appendingPathComponent("events.jsonl")
            let run = try CommandLineRun(["demo", "--out", events.path])
            #expect(run.status == 0, "\(run.errors)")
            let providers = CustomerStory.providers
            #expect(run.output.components(separatedBy: "HTTP 40").count == providers.count + 1)
            for provider in providers { #expect(run.output.contains(provider.storyTitle)) }
            #expect(run.output.split(separator: "\n").count <= 30)
            let state = try CommandLineRun(["state", events.path, "--at", "2026-03-01T00:00:00Z"])
            #expect(state.status == 0)
            // RevenueCat relays what the App Store tells: of the same purchase, by the same name.
            #expect(state.output.split(separator: "\n").count == providers.count - 1)
        }
    }
}
