import Foundation
@testable import Gateway
import HTTPTypes
import Hummingbird
import LifecycleJournal
import Normalizer
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
        "a claim names a purchase of an environment that there is",
        arguments: ["foo/bar/baz", "stripe/prod/sub_1", "stripe/production/", "stripe/production", ""]
    )
    func claim(subscription: String) async throws {
        let gateway = try await bench.gateway()
        try await RouterClient.with(gateway.router) { client in
            let body = #"{"subscription":"\#(subscription)","account":"42","account_source":"app_user_id"}"#
            let answer = try await client.post("/v1/claims", body)
            #expect(answer.status == .badRequest)
        }
    }
}
