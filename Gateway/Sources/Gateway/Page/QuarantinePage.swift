import CustomerReport
import Foundation
import HTTPTypes
import Hummingbird
import LifecycleJournal
import Normalizer

/// `/quarantine`: authentic deliveries that could not be taken in, with a button to try each again.
struct QuarantinePage: Sendable {
    let journal: Journal
    let tokens: AccessTokens
    let adapters: [String: any ProviderAdapter]

    func add(to router: Router<BasicRequestContext>) {
        router.get("quarantine") { request, _ in
            try tokens.admit(request, for: .admin)
            return PageRoutes.page(try await page(notice: nil))
        }
        router.post("quarantine/:id/:action") { request, context in
            try tokens.admit(request, for: .admin)
            let entry = try await journal.quarantine.required(try context.parameters.require("id"))
            return PageRoutes.page(
                try await page(notice: try await act(on: entry, try context.parameters.require("action")))
            )
        }
    }

    private func act(on entry: Quarantine.Entry, _ action: String) async throws -> String {
        switch action {
        case "replay":
            guard let adapter = adapters[entry.source] else { return "The source \(entry.source) is not configured." }
            return await journal.quarantine.replay(entry, with: adapter).decision == .accept
                ? "The delivery is taken in." : "The delivery still cannot be taken in."
        case "discard":
            _ = try await journal.quarantine.discard(entry)
            return "The delivery is dropped."
        default:
            throw HTTPError(.notFound, message: "a delivery can be replayed or discarded")
        }
    }

    private func page(notice: String?) async throws -> String {
        var table = ReportTable(columns: ["Received", "Source", "Reason", "Bytes"])
        for entry in try await journal.quarantine.list() {
            let address = "/quarantine/\(entry.id)"
            table.rows.append(
                (
                    cells: [
                        entry.delivery.receivedAt.formatted(.iso8601), entry.source, entry.reason,
                        "\(entry.delivery.body.count)",
                    ],
                    actions: [
                        .init(label: "Try again", address: "\(address)/replay"),
                        .init(label: "Drop", address: "\(address)/discard"),
                    ]
                )
            )
        }
        let state = table.rows.isEmpty ? "Nothing is in quarantine." : nil
        let notices = [notice, state].compactMap(\.self)
        return table.html(
            title: "Quarantine",
            notice: notices.isEmpty ? nil : notices.joined(separator: " "),
            home: "/"
        )
    }
}

extension Quarantine {
    /// The delivery that an address names.
    ///
    /// - Throws: `HTTPError` with 404 if there is none, and `JournalError`.
    func required(_ id: String) async throws -> Entry {
        guard let entry = try await entry(id.removingPercentEncoding ?? id) else {
            throw HTTPError(.notFound, message: "no delivery in quarantine has this id")
        }
        return entry
    }
}
