import Configuration
import Foundation
@testable import Gateway
import HTTPTypes
import Hummingbird
import LifecycleJournal
import Normalizer
import NotificationSimulator
import Testing

@Suite("The description of the API") struct OpenAPITests {
    private let bench: Bench
    private let revenueCat = RevenueCatSimulator(seed: "gateway")
    private let document: JSON
    private let schemas: JSONSchema

    init() throws {
        bench = try Bench()
        document = try JSON(OpenAPI.document.get())
        schemas = try JSONSchema(document: document)
    }

    /// The operations, such as `GET /v1/access`.
    private var operations: [String: JSON] {
        var operations: [String: JSON] = [:]
        for (path, methods) in document["paths"]?.object ?? [:] {
            for (method, operation) in methods.object ?? [:] {
                operations["\(method.uppercased()) \(path)"] = operation
            }
        }
        return operations
    }

    @Test("names every route, and no other")
    func routes() async throws {
        let routes = try await bench.gateway().router.routes.map { route in
            let path = "\(route.path)".split(separator: "/").map { $0.hasPrefix(":") ? "{\($0.dropFirst())}" : "\($0)" }
            return "\(route.method) /\(path.joined(separator: "/"))"
        }
        #expect(routes.sorted() == operations.keys.sorted())
    }

    @Test("has what it refers to, and the parameters of each path")
    func references() throws {
        for reference in Set(document.values(named: "$ref")) {
            #expect(document[reference: reference.string ?? ""] != nil, "\(reference)")
        }
        for (name, operation) in operations {
            let parameters = (operation["parameters"]?.array ?? []).map(resolved)
            let inPath = parameters.filter { $0["in"]?.string == "path" }.compactMap { $0["name"]?.string }
            #expect(name.matches(of: /\{(\w+)\}/).map { String($0.1) } == inPath, "\(name)")
        }
    }

    @Test("defines each name once, as docs/ does, and no answer with members that it does not name")
    func definitions() throws {
        let parts = try [OpenAPI.event, OpenAPI.state, OpenAPI.answers].map { JSON($0)["$defs"]?.object ?? [:] }
        let components = try #require(document[reference: "#/components/schemas"])
        for (name, definition) in parts.joined() { #expect(components[name] == definition, "\(name)") }
        for (name, schema) in parts[2] {
            let objects = [schema] + schema.members.map(\.value)
            let open = objects.filter { $0["type"]?.string == "object" && $0["additionalProperties"] != .bool(false) }
            #expect(open.isEmpty, "\(name)")
        }
        let sources = components["account_source"]?["enum"]?.array?.compactMap(\.string)
        #expect(sources == Account.Source.known.map(\.rawValue))
    }

    @Test("holds for the answer to a request without a body, or with an empty object")
    func refusals() async throws {
        let gateway = try await bench.gateway()
        try await RouterClient.with(gateway.router) { client in
            for call in operations.keys {
                let address = call.replacing("{source}", with: "apple").replacing("{id}", with: "unknown")
                    .replacing("{kind}", with: "refund_review").replacing("{action}", with: "replay")
                try await check(call, at: address + "?account=42&source=app_user_id", "{}", with: client)
                try await check(call, at: address, token: "", with: client)
            }
        }
    }

    /// Members that no story here brings about.
    private static let rare: Set = [
        "commitment", "follows_reversal", "next_check_at", "number", "other_products", "use",
    ]

    @Test("holds for the answers about customers, which together have every member of every answer")
    func answers() async throws {
        let gateway = try await gateway()
        var answers: [String: [JSON]] = [:]
        try await RouterClient.with(gateway.router) { client in
            func ask(_ call: String, _ address: String? = nil, body: String = "") async throws -> [JSON] {
                let values = try await check(call, at: address ?? call, body, with: client)
                answers[call, default: []] += values
                return values
            }
            func each(_ call: String, _ values: [JSON]?) async throws {
                let id = try #require(values?.first?["id"]?.string)
                let escaped = id.replacing("/", with: call.contains("{kind}") ? "/" : "%2F")
                _ = try await ask(call, call.replacing("{kind}/", with: "").replacing("{id}", with: escaped))
            }
            try await play(with: client)
            let events = try await ask("GET /v1/events", "GET /v1/events?limit=1000").compactMap {
                $0["event"]?["event"]
            }
            let lineages = events.compactMap { $0["subscription"]?.string }
            let lineage = try #require(lineages.first)
            let claim = #"{"subscription":"\#(lineage)","account":"42","account_source":"app_account_token"}"#
            _ = try await ask("POST /v1/claims", body: claim)
            _ = try await ask("POST /v1/uploads/{source}", "POST /v1/uploads/apple", body: try upload)
            _ = try await ask(
                "POST /v1/credits/uses",
                body: #"{"id":"job","credits":30,"account":"43","account_source":"app_user_id"}"#
            )
            let names = Set(events.compactMap { $0["account"] }).map {
                ($0["id"]?.string ?? "", $0["source"]?.string ?? "")
            }
            for (account, source) in names + [("42", "app_account_token"), ("43", "app_user_id")] {
                let question = "?account=\(account)&source=\(source)"
                for days in [110.0, 83, 0] {
                    let time = Bench.now.addingTimeInterval(days * -86_400).formatted(.iso8601)
                    for call in ["GET /v1/access", "GET /v1/subscriptions", "GET /v1/explain", "GET /v1/credits"] {
                        _ = try await ask(call, "\(call)\(question)&at=\(time)")
                    }
                }
                _ = try await ask("GET /v1/accounts/export", "GET /v1/accounts/export\(question)")
            }
            _ = try await ask("DELETE /v1/accounts", "DELETE /v1/accounts?account=43&source=app_user_id")

            try await leaveWork()
            let quarantined = try await ask("GET /v1/quarantine").first?.array
            try await each("POST /v1/quarantine/{id}/replay", quarantined)
            _ = try await ask("POST /v1/quarantine/replay")
            try await each("POST /v1/dead-letters/{id}/retry", try await ask("GET /v1/dead-letters").first?.array)
            _ = try await ask("POST /v1/dead-letters/retry")
            _ = try await ask("GET /v1/due/dismissed")
            try await each("POST /v1/due/{kind}/{id}/done", try await ask("GET /v1/due").first?.array)
            _ = try await ask("GET /v1/access")
        }
        for (call, operation) in operations where operation["responses"]?["200"]?["content"]?["application/json"] != nil
        {
            let isFilled = answers[call]?.contains { $0 != .array([]) } ?? (call == "GET /openapi.json")
            #expect(isFilled, "\(call)")
        }
        let seen = Set(answers.values.joined().flatMap(\.members).map(\.name))
        let named = Set(
            JSON(try OpenAPI.answers).values(named: "properties").flatMap { $0.object?.keys.map { $0 } ?? [] }
        )
        #expect(named.subtracting(seen) == Self.rare)
    }

    /// A gateway with three providers and a policy for credits.
    private func gateway() async throws -> Gateway {
        let policy = bench.folder.appending(path: "policy.json")
        let products = ["prod_pro", "pro.monthly", "com.example.app.basic.monthly"]
        let allowances = products.map { #""\#($0)":{"credits":100}"# }.joined(separator: ",")
        try Data(#"{"allowances":{\#(allowances)}}"#.utf8).write(to: policy)
        struct Secrets: Decodable {
            var authorization: String
            var hmacSecrets: [String]
        }
        let secrets = try JSONDecoder().decode(Secrets.self, from: Data(revenueCat.receiverConfiguration))
        return try await bench.gateway([
            "sources": .init(.stringArray(["apple", "shop", "revenuecat"]), isSecret: false),
            "source.apple.maximum_age_days": 0,
            "source.revenuecat.provider": "revenuecat",
            "source.revenuecat.authorizations": .init(.stringArray([secrets.authorization]), isSecret: true),
            "source.revenuecat.signing_secrets": .init(.stringArray(secrets.hmacSecrets), isSecret: true),
            "credits.policy_file": .init(.string(policy.path), isSecret: false),
            "news.url": "https://backend.example.com/news",
            "news.secret": .init(.string(NewsTests.secret), isSecret: true),
        ])
    }

    /// Customers of the last months.
    private func play(with client: RouterClient) async throws {
        let stories = ["life", "transfer", "price-raised", "pause", "downgrade"]
        let simulators: [(any StorySimulator, String)] = [
            (bench.apple, "apple"), (bench.stripe, "shop"), (revenueCat, "revenuecat"),
        ]
        for story in stories.compactMap(CustomerStory.named) {
            for (simulator, source) in simulators where simulator.absence(of: story) == nil {
                let start = Bench.now.addingTimeInterval(-120 * 86_400)
                for notification in try simulator.notifications(story, from: start) {
                    let delivery = try simulator.delivery(of: notification, sentAt: Bench.now)
                    #expect(try await client.deliver(delivery, to: source).status == .ok)
                }
            }
        }
    }

    private var upload: String {
        get throws {
            let transaction = try bench.transaction(account: nil)
            let signed = String(decoding: try bench.apple.signed(transaction, at: Bench.now), as: UTF8.self)
            return #"{"account":"43","account_source":"app_user_id","signed_transaction":"\#(signed)"}"#
        }
    }

    /// Two deliveries in quarantine, news that was given up, a duty that is open, and one whose time has passed.
    private func leaveWork() async throws {
        var options = Journal.Options()
        options.maximumAttempts = 1
        let journal = Journal(try await bench.storage(), options: options, now: { Bench.now })
        let adapter = try #require(try GatewayConfiguration(bench.settings()).sources.first).adapter
        let broken = Unreachable(adapter: adapter)
        for number in 2...3 { _ = await journal.accept(try bench.purchase(number: number), with: broken, as: "apple") }
        try await journal.work(with: ["apple": broken])
        for item in try await journal.outbox.next(100, lease: .seconds(60)) {
            try await journal.outbox.failed(item, because: "status 500")
        }
        for order in ["GPA.1", "GPA.2"] as [TransactionID] { try await journal.apply(AnswerTests.review(of: order)) }
        let late = try #require(try await journal.due(at: Bench.now).first)
        let item = try #require(try await journal.duties.take(id: late.id))
        try await journal.duties.failed(item, because: "the deadline has passed")
    }

    /// The first difference of what the gateway posts from the description of the post; nil where there is none.
    static func violation(ofPost name: String, _ body: [UInt8]) throws -> String? {
        let document = try JSON(OpenAPI.document.get())
        let content = document["webhooks"]?[name]?["post"]?["requestBody"]?["content"]
        let schema = try #require(content?["application/cloudevents+json"]?["schema"])
        return try JSONSchema(document: document).violation(try JSON(body), schema)
    }

    private func resolved(_ value: JSON) -> JSON {
        value["$ref"]?.string.flatMap { document[reference: $0] } ?? value
    }

    /// Sends a request, and holds the answer against the description.
    @discardableResult
    private func check(
        _ call: String,
        at address: String,
        _ body: String = "",
        token: String = Bench.adminToken,
        with client: RouterClient
    ) async throws -> [JSON] {
        let parts = address.split(separator: " ")
        let answer = try await client.executeRequest(
            uri: String(parts[1]),
            method: try #require(HTTPRequest.Method(String(parts[0]))),
            headers: token.isEmpty ? [:] : [.authorization: "Bearer \(token)"],
            body: parts[0] == "POST" ? ByteBuffer(string: body) : nil
        )
        let status = answer.status.code
        let responses = operations[call]?["responses"]
        let response = responses?["\(status)"] ?? (status >= 500 ? responses?["5XX"] : nil)
        let described = try #require(response.map(resolved), "\(address): \(status)")
        guard let content = described["content"]?.object else {
            #expect(answer.body.readableBytes == 0, "\(address): \(status)")
            return []
        }
        let stated = answer.headers[.contentType] ?? ""
        let (type, media) = try #require(content.first { stated.hasPrefix($0.key) }, "\(address): \(status)")
        guard !type.hasPrefix("text/") else { return [] }
        let bodies = type == "application/jsonl" ? answer.text.split(separator: "\n").map { String($0) } : [answer.text]
        let values = try bodies.map { try JSON($0.utf8) }
        let schema = try #require(media["schema"])
        for value in values {
            let violation = try schemas.violation(value, schema)
            #expect(violation == nil, "\(address): \(status)")
        }
        return values
    }
}
