import Foundation
import Hummingbird

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
