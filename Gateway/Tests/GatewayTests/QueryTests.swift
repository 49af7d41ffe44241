import Foundation
@testable import Gateway
import HTTPTypes
import Hummingbird
import LifecycleJournal
import Logging
import Normalizer
import ServiceLifecycle
import Testing

@Suite("Parameters of a query") struct QueryTests {
    private let bench: Bench
    private let document: JSON

    init() throws {
        bench = try Bench()
        document = try JSON(OpenAPI.document.get())
    }

    /// The calls that need a token, with the parameters that the description names.
    private var calls: [(method: HTTPRequest.Method, path: String, names: [String])] {
        get throws {
            var calls: [(method: HTTPRequest.Method, path: String, names: [String])] = []
            for (path, methods) in document["paths"]?.object ?? [:] {
                for (method, operation) in methods.object ?? [:] where operation["security"] != .array([]) {
                    let parameters = (operation["parameters"]?.array ?? []).map { parameter in
                        parameter["$ref"]?.string.flatMap { document[reference: $0] } ?? parameter
                    }
                    let names = parameters.filter { $0["in"]?.string == "query" }.compactMap { $0["name"]?.string }
                    calls.append((try #require(HTTPRequest.Method(method.uppercased())), path, names))
                }
            }
            return calls
        }
    }

    @Test("that a call does not have, that is malformed or comes twice is refused by every call with a token")
    func strict() async throws {
        let gateway = try await bench.gateway()
        let calls = try calls
        #expect(calls.contains { $0.path == "/v1/accounts" && $0.names.sorted() == ["account", "source"] })
        try await RouterClient.with(gateway.router) { client in
            for call in calls {
                let path = call.path.replacing(/\{\w+\}/, with: "x")
                let good = call.names.contains("account") ? "account=42&source=app_user_id&" : ""
                var queries = ["unknown=1", "%ff=1", "=1", "=", "unknown"]
                for name in Set(["account", "source", "environment", "at", "after", "limit", "position"]) {
                    if !call.names.contains(name) { queries.append("\(name)=1") }
                }
                for name in call.names {
                    if !["account", "source"].contains(name) { queries.append("\(name)=%ff") }
                    queries.append("\(name)=1&\(name)=1")
                }
                for query in queries {
                    let answer = try await client.executeRequest(
                        uri: "\(path)?\(good)\(query)",
                        method: call.method,
                        headers: [.authorization: "Bearer \(Bench.adminToken)"],
                        body: call.method == .post ? ByteBuffer(string: "{}") : nil
                    )
                    #expect(answer.status == .badRequest, "\(call.method) \(path)?\(query)")
                }
            }
        }
    }

    @Test("an erasure for one environment erases nothing")
    func erasure() async throws {
        let gateway = try await bench.gateway()
        let delivery = try bench.purchase()
        try await RouterClient.with(gateway.router) { client in
            try await client.deliver(delivery)
            let account = "account=\(GatewayTests.account)&source=app_account_token"
            let answer = try await client.executeRequest(
                uri: "/v1/accounts?\(account)&environment=sandbox",
                method: .delete,
                headers: [.authorization: "Bearer \(Bench.adminToken)"],
                body: nil
            )
            #expect(answer.status == .badRequest)
            #expect(answer.text.contains("the parameters are account, source"))
            #expect(try await client.get("/v1/access?\(account)").text.contains(#""access":"granted""#))
        }
    }

    @Test(
        "a day that no calendar has is no time",
        arguments: [
            "2026-02-31", "2026-02-29", "2026-02-30T10:00:00Z", "2026-04-31 10:00", "2026-00-10", "2026-13-01",
            "2026-01-00", "2026-01-31T10:00:00+99:00", "٢٠٢٦-03-01",
        ]
    )
    func day(text: String) { #expect(Question.time(text) == nil) }

    @Test(
        "a claim names a purchase of a store and an environment that there are",
        arguments: [
            "foo/bar/baz", "stripe/prod/sub_1", "stripe/production/", "stripe/production", "",
            "appstore/production/200", "/production/1", "a b/production/1",
        ]
    )
    func claim(subscription: String) async throws {
        let gateway = try await bench.gateway()
        try await RouterClient.with(gateway.router) { client in
            let body = #"{"subscription":"\#(subscription)","account":"42","account_source":"app_user_id"}"#
            let answer = try await client.post("/v1/claims", body)
            #expect(answer.status == .badRequest)
        }
    }

    @Test("a claim may name a purchase that the journal knows of a store that this version does not know")
    func claimOfAnotherStore() async throws {
        let gateway = try await bench.gateway()
        let journal = Journal(try await bench.storage(), now: { Bench.now })
        let lineage = SubscriptionID(store: "galaxy", environment: .production, id: "1")
        try await journal.claim(lineage, by: Account("43", .appUserID))
        try await RouterClient.with(gateway.router) { client in
            let body = #"{"subscription":"\#(lineage)","account":"42","account_source":"app_user_id"}"#
            let answer = try await client.post("/v1/claims", body)
            #expect(answer.status == .noContent)
        }
    }

    @Test("the page shows a name's purchases, and not those of a name that only looks like it")
    func lookalike() async throws {
        let gateway = try await bench.gateway()
        let journal = Journal(try await bench.storage(), now: { Bench.now })
        let lineage = SubscriptionID(store: .appStore, environment: .production, id: "2000000000000001")
        try await journal.claim(lineage, by: Account("caf\u{E9}", .appUserID))
        let handover = StoreStatement.handover(of: lineage, to: Account("cafe\u{301}", .appUserID), at: Bench.now)
        try await journal.apply(Normalization(noChange: .init(.unchanged, statement: handover)))
        try await RouterClient.with(gateway.router) { client in
            let (own, other) = try await (client.get("/?q=cafe%CC%81"), client.get("/?q=caf%C3%A9"))
            #expect(own.text.contains(lineage.id))
            #expect(!other.text.contains(lineage.id))
        }
    }

    @Test("a reader who waits for events is answered when the process stops")
    func stopping() async throws {
        let gateway = try await bench.gateway()
        let reader = WaitingReader(gateway: gateway)
        var configuration = ServiceGroupConfiguration(
            services: [.init(service: reader, successTerminationBehavior: .gracefullyShutdownGroup)],
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        )
        configuration.maximumGracefulShutdownDuration = .seconds(300)
        let group = ServiceGroup(configuration: configuration)
        let start = ContinuousClock.now
        async let run: Void = group.run()
        try await Task.sleep(for: .milliseconds(300))
        await group.triggerGracefulShutdown()
        try await run
        #expect(ContinuousClock.now - start < .seconds(50))
    }

    /// Asks for events that do not come within a minute.
    private struct WaitingReader: Service {
        let gateway: Gateway

        func run() async throws {
            try await RouterClient.with(gateway.router) { client in
                let answer = try await client.get("/v1/events?wait=60")
                #expect(answer.status == .ok)
                #expect(answer.body.readableBytes == 0)
            }
        }
    }

    @Test("a reader beyond the end of the feed, and an id that is not UTF-8, get an error in words")
    func beyond() async throws {
        let gateway = try await bench.gateway()
        try await RouterClient.with(gateway.router) { client in
            try await client.deliver(bench.purchase())
            #expect(try await client.get("/v1/events?after=1").status == .ok)
            let ahead = try await client.get("/v1/events?after=7&wait=60")
            #expect(ahead.status == .conflict)
            #expect(ahead.text.contains("the log has no position 7"))
            for path in ["quarantine/%ff/replay", "dead-letters/%ff/retry", "due/acknowledgement/%ff/done"] {
                let answer = try await client.post("/v1/\(path)")
                #expect(answer.status == .badRequest)
                #expect(answer.text == #"{"error":{"message":"the id in the path is not UTF-8"}}"#)
            }
        }
    }

    @Test("the page asks for the time that was asked for, and for no other")
    func time() async throws {
        let gateway = try await bench.gateway()
        try await RouterClient.with(gateway.router) { client in
            let forms = [("/?q=x", ""), ("/?q=x&at=2026-01-31", "2026-01-31"), ("/?at=soon", "soon")]
            for (path, time) in forms {
                let page = try await client.get(path).text
                #expect(page.contains(#"name="at" value="\#(time)" size"#), "\(path)")
            }
        }
    }

    @Test("pages of a list have every entry once, and a kind of duty is found behind many of another")
    func pages() async throws {
        let gateway = try await bench.gateway()
        let journal = Journal(try await bench.storage(), now: { Bench.now })
        for number in 0..<130 {
            let isLast = number == 129
            let item = DueItem(
                isLast ? .refundReview : .acknowledgement,
                id: "\(isLast ? "refund_review" : "acknowledgement")/\(number)",
                dueAt: Bench.now.addingTimeInterval(-600 + Double(number / 10))
            )
            #expect(try await journal.schedule(item))
        }
        try await RouterClient.with(gateway.router) { client in
            func list(_ path: String) async throws -> [JSON] {
                let answer = try await client.get(path, Bench.adminToken)
                #expect(answer.status == .ok, "\(path)")
                return try JSON(answer.text.utf8).array ?? []
            }
            func all(_ path: String, _ id: (JSON) -> String?) async throws -> [String] {
                var ids: [String] = []
                while true {
                    let after = ids.last.map { "&after=\($0.replacing("/", with: "%2F"))" } ?? ""
                    let page = try await list("\(path)?limit=50\(after)").compactMap(id)
                    ids += page
                    if page.count < 50 { return ids }
                }
            }
            #expect(try await list("/v1/due").count == 100)
            #expect(try await list("/v1/due?limit=1000").count == 130)
            let ids = try await all("/v1/due") { $0["id"]?.string }
            #expect(ids.count == 130)
            #expect(Set(ids).count == 130)
            let reviews = try await list("/v1/due?kind=refund_review&limit=1")
            #expect(reviews.map { $0["id"]?.string } == ["refund_review/129"])
            #expect(try await list("/v1/due?kind=refund_review&after=refund_review/129").isEmpty)

            let item = try #require(try await journal.duties.take(id: "acknowledgement/7"))
            try await journal.duties.done(item)
            for query in ["limit=0", "limit=1001", "limit=x", "kind=refund", "after=acknowledgement/7", "after=%00"] {
                #expect(try await client.get("/v1/due?\(query)").status == .badRequest, "\(query)")
            }

            var options = Journal.Options()
            options.maximumAttempts = 1
            let strict = Journal(try await bench.storage(), options: options, now: { Bench.now })
            for item in try await strict.duties.next(60, lease: .seconds(60)) {
                try await strict.duties.failed(item, because: "too late")
            }
            let dismissed = try await all("/v1/due/dismissed") { $0["duty"]?["id"]?.string }
            #expect(Set(dismissed).count == 60)
            for path in ["/v1/due/dismissed", "/v1/dead-letters", "/v1/quarantine"] {
                #expect(try await list("\(path)?limit=1").count <= 1)
                #expect(try await client.get("\(path)?after=unknown", Bench.adminToken).status == .badRequest)
                #expect(try await client.get("\(path)?after=%00", Bench.adminToken).status == .badRequest)
            }
        }
    }
}
