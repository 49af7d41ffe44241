import Foundation
import Hummingbird
import Normalizer

/// The parameters of a query, read as a form (<https://url.spec.whatwg.org/#urlencoded-parsing>): a plus is a space.
///
/// A route reads no other than those that it names, and each once. A parameter that is misspelled, or that a call does not
/// have, would silently ask about something else.
struct QueryParameters {
    private var values: [String: String] = [:]

    /// - Throws: `HTTPError` with 400 for a name that is not one of these or comes twice, and for text that is no UTF-8.
    init(_ request: Request, of names: [String]) throws(HTTPError) {
        for pair in (request.uri.query ?? "").split(separator: "&") {
            let parts = pair.replacing("+", with: "%20").split(
                separator: "=",
                maxSplits: 1,
                omittingEmptySubsequences: false
            )
            let texts = parts.compactMap(\.removingPercentEncoding)
            guard texts.count == parts.count, let name = texts.first else {
                throw HTTPError(.badRequest, message: "the query has a wrong percent-encoding")
            }
            guard names.contains(name) else {
                let known = names.sorted().joined(separator: ", ")
                throw HTTPError(
                    .badRequest,
                    message: names.isEmpty ? "this call has no parameters" : "the parameters are \(known)"
                )
            }
            guard values.updateValue(texts.count == 2 ? texts[1] : "", forKey: name) == nil else {
                throw HTTPError(.badRequest, message: "\(name) comes twice")
            }
        }
    }

    subscript(_ name: String) -> String? { values[name] }

    /// A whole number of a range.
    func number(_ name: String, default value: Int64, _ range: ClosedRange<Int64>) throws(HTTPError) -> Int64 {
        guard let text = self[name] else { return value }
        guard let number = Int64(text), range.contains(number) else {
            throw HTTPError(.badRequest, message: "\(name) must be \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    /// How many entries a page of a list has at most.
    var limit: Int {
        get throws(HTTPError) { Int(try number("limit", default: 100, 1...1000)) }
    }

    /// The account that the request is about.
    var account: Account.Identifier {
        get throws(HTTPError) {
            guard let id = self["account"], !id.isEmpty else {
                throw HTTPError(.badRequest, message: "account is missing")
            }
            return Account.Identifier(id, try .named(self["source"], in: "source"))
        }
    }
}

/// The account of a request, its environment, and the time.
struct Question {
    static let names = ["account", "source", "environment", "at"]

    var account: Account.Identifier
    var environment: StoreEnvironment
    var time: Date

    init(_ parameters: QueryParameters, now: Date) throws(HTTPError) {
        account = try parameters.account
        environment = .production
        if let name = parameters["environment"] { environment = try .named(name) }
        time = now
        if let text = parameters["at"] {
            guard let asked = Self.time(text) else {
                throw HTTPError(.badRequest, message: "at must be a date, or a time such as 2026-01-31T12:00:00Z")
            }
            time = asked
        }
    }

    /// A date, or a date and a time, which is in UTC if it names no offset; nil for another text, and for a day that no
    /// calendar has.
    static func time(_ text: String) -> Date? {
        let text = text.trimmingCharacters(in: .whitespaces)
        let form =
            /(\d{4}-\d{2}-\d{2})(?:[T ]((?:[01]\d|2[0-3]):[0-5]\d)(:[0-5]\d(?:\.\d{1,3})?)?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?/
            .asciiOnlyDigits()
        guard let match = text.wholeMatch(of: form) else { return nil }
        let (_, date, clock, seconds, offset) = match.output
        // Foundation takes 31 February for 3 March.
        guard let day = try? Date("\(date)T00:00:00Z", strategy: .iso8601),
            day.formatted(.iso8601).hasPrefix("\(date)T")
        else { return nil }
        let whole = "\(date)T\(clock ?? "00:00")\(seconds ?? ":00")\(offset ?? "Z")"
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: seconds?.contains(".") == true)
        return try? Date(whole, strategy: style)
    }
}
