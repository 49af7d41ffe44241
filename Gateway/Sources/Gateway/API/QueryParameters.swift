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
        time =
            try parameters["at"].map { text in
                guard let time = Self.time(text) else {
                    throw HTTPError(.badRequest, message: "at must be a date, or a time such as 2026-01-31T12:00:00Z")
                }
                return time
            } ?? now
    }

    /// A date, or a date and a time, which is in UTC if it names no offset; nil for another text.
    static func time(_ text: String) -> Date? {
        let text = text.trimmingCharacters(in: .whitespaces)
        let form =
            /(\d{4}-\d{2}-\d{2})(?:[T ]((?:[01]\d|2[0-3]):[0-5]\d)(:[0-5]\d(?:\.\d{1,3})?)?)?(Z|[+-]\d{2}:\d{2})?/
        guard let match = text.wholeMatch(of: form) else { return nil }
        let (_, date, clock, seconds, offset) = match.output
        let whole = "\(date)T\(clock ?? "00:00")\(seconds ?? ":00")\(offset ?? "Z")"
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: seconds?.contains(".") == true)
        return try? Date(whole, strategy: style)
    }
}
