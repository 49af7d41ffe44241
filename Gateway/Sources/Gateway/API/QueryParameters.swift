import Foundation
import Hummingbird
import Normalizer

extension Request {
    /// The parameters of the query, read as a form (<https://url.spec.whatwg.org/#urlencoded-parsing>): a plus is a space. If a
    /// name comes twice, the first one counts.
    var parameters: [String: String] {
        var parameters: [String: String] = [:]
        for pair in (uri.query ?? "").split(separator: "&") {
            let parts = pair.replacing("+", with: "%20").split(separator: "=", maxSplits: 1)
            guard let name = parts.first?.removingPercentEncoding, parameters[name] == nil else { continue }
            parameters[name] = parts.count == 2 ? parts[1].removingPercentEncoding : ""
        }
        return parameters
    }
}

/// The account of a request, its environment, and the time.
struct Question {
    var account: Account.Identifier
    var environment: StoreEnvironment
    var time: Date

    private static let names: Set<String> = ["account", "source", "environment", "at"]

    init(_ request: Request, now: Date) throws {
        let parameters = request.parameters
        guard let id = parameters["account"], !id.isEmpty else {
            throw HTTPError(.badRequest, message: "account is missing")
        }
        // A misspelled parameter would silently ask about something else.
        guard parameters.keys.allSatisfy(Self.names.contains) else {
            throw HTTPError(
                .badRequest,
                message: "the parameters are \(Self.names.sorted().joined(separator: ", "))"
            )
        }
        account = Account.Identifier(id, try .named(parameters["source"], in: "source"))
        environment = try parameters["environment"].map(StoreEnvironment.named) ?? .production
        time = try parameters["at"].map(Self.time) ?? now
    }

    /// A date, or a date and a time in UTC.
    static func time(_ text: String) throws -> Date {
        let whole = text.utf8.count == 10 ? text + "T00:00:00Z" : text
        guard let time = try? Date(whole, strategy: .iso8601) else {
            throw HTTPError(.badRequest, message: "at must be a date, or a time such as 2026-01-31T12:00:00Z")
        }
        return time
    }
}
