import Foundation
import Hummingbird

extension Request {
    /// The parameters of the query, as browsers write a form (<https://url.spec.whatwg.org/#urlencoded-parsing>), and most
    /// languages' libraries with them: a plus is a space. Of a name that comes twice the first counts.
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
