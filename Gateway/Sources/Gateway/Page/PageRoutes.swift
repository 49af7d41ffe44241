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
            try tokens.check(request, for: .read)
            let query = request.uri.queryParameters["q"].map(String.init) ?? ""
            let time = try request.uri.queryParameters["at"].map { try Question.time(String($0)) } ?? now()
            let names = query.isEmpty ? [] : try await names(query)
            let lines = query.isEmpty ? [] : try await lines(about: query, names)
            let report = CustomerReport(lines, at: time)
            let notice =
                query.isEmpty
                ? "Search for an account, a transaction, a subscription or an order."
                : lines.isEmpty ? "Nothing is known under this name." : nil
            return Self.page(
                report.html(
                    title: query.isEmpty ? "Customers" : query,
                    search: .init(action: "/", query: query),
                    notice: notice,
                    credits: try await credits(of: names, at: time)
                )
            )
        }
    }

    /// The accounts that are called so, by whichever source.
    private func names(_ query: String) async throws -> [Account.Identifier] {
        let account = Account.Identifier(query, .appUserID)
        return try await journal.ledger(of: [account]).accounts.filter { $0.lookupKey == account.lookupKey }
    }

    /// Everything about these accounts; without any, about what a store calls so.
    private func lines(about query: String, _ names: [Account.Identifier]) async throws -> [LogLine] {
        var lines: [LogLine] = []
        for name in names { lines += try await journal.export(name).lines.filter { !lines.contains($0) } }
        return lines.isEmpty ? try await journal.lines(about: query) : lines
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
        if let policy { headers[policy] = CustomerReport.contentSecurityPolicy }
        if let options { headers[options] = "nosniff" }
        if let referrer { headers[referrer] = "no-referrer" }
        return Response(status: .ok, headers: headers, body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}

extension Journal {
    /// Lines of purchases that have a lineage, a transaction or an order of this name.
    ///
    /// The whole log is read for it: an account is found by its index, and faster.
    func lines(about name: String) async throws(JournalError) -> [LogLine] {
        let found = Set(try await lines { $0.isNamed(name) }.compactMap(\.subscription))
        guard !found.isEmpty else { return [] }
        return try await lines { $0.subscription.map(found.contains) ?? false }
    }

    private func lines(where isWanted: (LogLine) -> Bool) async throws(JournalError) -> [LogLine] {
        var wanted: [LogLine] = []
        var position: Int64 = 0
        while true {
            let page = try await lines(after: position, limit: 1000)
            guard let last = page.last else { return wanted }
            wanted += page.map(\.line).filter(isWanted)
            position = last.position
        }
    }
}

extension LogLine {
    /// Whether its lineage, or the transaction or order of an event, has this name.
    fileprivate func isNamed(_ name: String) -> Bool {
        if let subscription, subscription.id == name || subscription.description == name { return true }
        if case .event(let event) = self { return event.transaction == name }
        return false
    }
}
