import CustomerReport
import Foundation
import HTTPTypes
import Hummingbird
import LifecycleJournal
import Normalizer

/// `/`: the page that explains a customer, for people with a browser.
struct PageRoutes: Sendable {
    private static let policy = HTTPField.Name("Content-Security-Policy")
    private static let options = HTTPField.Name("X-Content-Type-Options")
    private static let referrer = HTTPField.Name("Referrer-Policy")

    let journal: Journal
    let tokens: AccessTokens
    let policy: CreditPolicy?
    let now: @Sendable () -> Date

    func add(to router: Router<BasicRequestContext>) {
        router.get("/") { request, _ in
            let parameters = try tokens.admit(request, for: .read, ["q", "at"])
            let query = (parameters["q"] ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
            let asked = parameters["at"] ?? ""
            guard let time = asked.isEmpty ? now() : Question.time(asked) else {
                var answer = page(
                    "Customers",
                    query: query,
                    at: now(),
                    asked: asked,
                    notice:
                        "This is no time: \(asked). Write a date, or a date and a time in UTC, such as 2026-01-31 12:00."
                )
                answer.status = .badRequest
                return answer
            }
            guard !query.isEmpty else {
                return page(
                    "Customers",
                    query: query,
                    at: time,
                    asked: asked,
                    notice: "Search for an account, a transaction, a subscription or an order."
                )
            }
            let names = try await names(query)
            let lines = try await lines(about: query, names)
            return page(
                query,
                lines: lines,
                query: query,
                at: time,
                asked: asked,
                notice: lines.isEmpty ? "Nothing is known under this name." : nil,
                credits: try await credits(of: names, at: time),
                deliveries: try await deliveries(about: lines)
            )
        }
    }

    private func page(
        _ title: String,
        lines: [LogLine] = [],
        query: String,
        at time: Date,
        asked: String,
        notice: String?,
        credits: CreditStatement? = nil,
        deliveries: ReportTable? = nil
    ) -> Response {
        Self.page(
            CustomerReportPage(lines, at: time).html(
                title: title,
                search: .init(action: "/", query: query, time: asked),
                notice: notice,
                credits: credits,
                deliveries: deliveries
            )
        )
    }

    /// The accounts with this name, of any source.
    private func names(_ query: String) async throws -> [Account.Identifier] {
        let account = Account.Identifier(query, .appUserID)
        return try await journal.ledger(of: [account]).accounts.filter {
            $0.lookupKey.utf8.elementsEqual(account.lookupKey.utf8)
        }
    }

    /// Everything about these accounts; without any, everything about the store's transaction, subscription or order of this name.
    private func lines(about query: String, _ names: [Account.Identifier]) async throws -> [LogLine] {
        var lines: [LogLine] = []
        for name in names { lines += try await journal.export(name).lines.filter { !lines.contains($0) } }
        return lines.isEmpty ? try await journal.lines(of: try await journal.lineages(named: query)) : lines
    }

    /// The deliveries about purchases, with the gateway's answers.
    private func deliveries(about lines: [LogLine]) async throws -> ReportTable? {
        guard !lines.isEmpty, journal.options.deliveryRetention != nil else { return nil }
        var table = ReportTable(columns: ["Received", "Source", "Answer", "Came to", "Bytes"])
        for delivery in try await journal.deliveries(of: Array(Set(lines.compactMap(\.subscription)))) {
            let cells = [
                delivery.receivedAt.formatted(.iso8601), delivery.source, "\(delivery.status)",
                delivery.reason ?? "taken in", "\(delivery.bytes)",
            ]
            table.rows.append((cells: cells, actions: []))
        }
        return table
    }

    /// The credits of the first of these accounts that has had any in production; nil without a policy.
    private func credits(of names: [Account.Identifier], at time: Date) async throws -> CreditStatement? {
        guard let policy else { return nil }
        for name in names {
            let statement = try await journal.credits(of: [name], under: policy, at: time)
            if !statement.grants.isEmpty { return statement }
        }
        return nil
    }

    static func page(_ text: String) -> Response {
        var headers: HTTPFields = [.contentType: "text/html; charset=utf-8", .cacheControl: "no-store"]
        if let policy { headers[policy] = CustomerReportPage.contentSecurityPolicy }
        if let options { headers[options] = "nosniff" }
        if let referrer { headers[referrer] = "no-referrer" }
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
