import Foundation
import Hummingbird
import LifecycleJournal
import Logging
import Normalizer

/// Quarantine, dead letters, duties, and a person's data.
extension QueryRoutes {
    func addAdministration(to api: RouterGroup<BasicRequestContext>) {
        api.get("quarantine") { request, _ in
            let query = try tokens.admit(request, for: .admin, Self.page)
            let start = try await entry(query) { try await journal.quarantine.entry($0) }
            let entries = try await journal.quarantine.list(after: start, limit: try query.limit)
            return try Self.json(entries.map(QuarantineEntry.init))
        }
        api.post("quarantine/:id/replay") { request, context in
            try tokens.admit(request, for: .admin)
            let entry = try await journal.quarantine.required(try Self.name(context))
            guard let adapter = sources.first(where: { $0.name == entry.source })?.adapter else {
                throw HTTPError(.conflict, message: "the delivery's source is not configured")
            }
            let answer = await journal.quarantine.replay(entry, with: adapter)
            return try Self.json(Replayed(decision: answer.decision.rawValue))
        }
        api.delete("quarantine/:id") { request, context -> HTTPResponse.Status in
            try tokens.admit(request, for: .admin)
            try await journal.quarantine.discard(try await journal.quarantine.required(try Self.name(context)))
            return .noContent
        }
        api.post("quarantine/replay") { request, _ in
            try tokens.admit(request, for: .admin)
            return try Self.json(try await replayAll())
        }
        api.get("dead-letters") { request, _ in
            let query = try tokens.admit(request, for: .admin, Self.page)
            return try Self.json(try await abandoned(journal.outbox, query).map(DeadLetter.init))
        }
        api.post("dead-letters/retry") { request, _ in
            try tokens.admit(request, for: .admin)
            var retried = 0
            while true {
                let items = try await journal.outbox.abandoned(limit: 100)
                var revived = 0
                for item in items {
                    if try await journal.outbox.revive(item) { revived += 1 }
                }
                retried += revived
                // Another caller may revive the same ones.
                if revived == 0 { return try Self.json(["retried": retried]) }
            }
        }
        api.post("dead-letters/:id/retry") { request, context -> HTTPResponse.Status in
            try tokens.admit(request, for: .admin)
            guard let item = try await journal.outbox.abandoned(id: try Self.name(context)) else {
                throw HTTPError(.notFound, message: "no news with this id was given up")
            }
            try await journal.outbox.revive(item)
            return .noContent
        }
        api.delete("dead-letters/:id") { request, context -> HTTPResponse.Status in
            try tokens.admit(request, for: .admin)
            try await discard(try Self.name(context), from: journal.outbox, named: "news", context)
            return .noContent
        }
        addDuties(to: api)
        api.get("accounts/export") { request, _ in
            let account = try tokens.admit(request, for: .admin, ["account", "source"]).account
            return try Self.json(try await journal.export(account))
        }
        api.delete("accounts") { request, _ in
            let account = try tokens.admit(request, for: .admin, ["account", "source"]).account
            return try Self.json(try await journal.erase(account))
        }
    }

    /// The open duties, and those that were not done in time.
    private func addDuties(to api: RouterGroup<BasicRequestContext>) {
        api.get("due") { request, _ in
            let query = try tokens.admit(request, for: .read, Self.page + ["kind"])
            return try Self.json(try await due(query))
        }
        api.get("due/dismissed") { request, _ in
            let query = try tokens.admit(request, for: .read, Self.page)
            return try Self.json(try await abandoned(journal.duties, query).map(DismissedDuty.init))
        }
        // The id of a duty is its kind and the id of its event.
        api.post("due/:kind/:id/done") { request, context -> HTTPResponse.Status in
            try tokens.admit(request, for: .write)
            let id = "\(try context.parameters.require("kind"))/\(try Self.name(context))"
            guard let item = try await journal.duties.take(id: id) else {
                throw HTTPError(.notFound, message: "no such duty is open")
            }
            try await journal.duties.done(item)
            return .noContent
        }
        api.delete("due/dismissed/:kind/:id") { request, context -> HTTPResponse.Status in
            try tokens.admit(request, for: .admin)
            let id = "\(try context.parameters.require("kind"))/\(try Self.name(context))"
            try await discard(id, from: journal.duties, named: "duty", context)
            return .noContent
        }
    }

    /// Puts an item away that was given up. The log has it, too.
    private func discard<Value>(
        _ id: String,
        from queue: JournalQueue<Value>,
        named kind: String,
        _ context: BasicRequestContext
    ) async throws {
        guard let item = try await queue.abandoned(id: id), try await queue.discard(item) else {
            throw HTTPError(.notFound, message: "no \(kind) with this id was given up")
        }
        context.logger.notice("put away", metadata: ["kind": "\(kind)", "id": "\(id)"])
    }

    /// Gives every delivery in quarantine to its adapter once more.
    private func replayAll() async throws -> ReplayedAll {
        let adapters = Dictionary(sources.map { ($0.name, $0.adapter) }) { first, _ in first }
        var replay = journal.quarantine.replay(with: adapters)
        var accepted = 0
        while let (_, answer) = try await replay.next() { accepted += answer.decision == .accept ? 1 : 0 }
        let kept = try await journal.quarantine.sizes().values.reduce(0) { $0 + $1.deliveries }
        return ReplayedAll(accepted: accepted, kept: kept, stopped: replay.stopped.sorted())
    }

    /// The parameters of every list that is read in pages.
    private static let page = ["limit", "after"]

    /// The entry that the page begins after; nil for the first page.
    private func entry<Entry>(_ query: QueryParameters, _ find: (String) async throws -> Entry?) async throws -> Entry?
    {
        guard let id = query["after"] else { return nil }
        guard !id.utf8.contains(0), let entry = try await find(id) else {
            throw HTTPError(
                .badRequest,
                message: "after is the id of no entry that is in the list now; begin again without it"
            )
        }
        return entry
    }

    private func abandoned<Value>(
        _ queue: JournalQueue<Value>,
        _ query: QueryParameters
    ) async throws -> [JournalQueue<Value>.Item] {
        let start = try await entry(query) { try await queue.abandoned(id: $0) }
        return try await queue.abandoned(after: start, limit: try query.limit)
    }

    private func due(_ query: QueryParameters) async throws -> [DueItem] {
        let known: [DueItem.Kind] = [.acknowledgement, .refundReview]
        let kind = known.first { $0.rawValue == query["kind"] }
        guard kind != nil || query["kind"] == nil else {
            let names = known.map(\.rawValue).joined(separator: ", ")
            throw HTTPError(.badRequest, message: "no kind of duty has this name; the names are \(names)")
        }
        return try await journal.due(at: now(), of: kind, after: query["after"], limit: try query.limit)
    }
}

private struct QuarantineEntry: Encodable {
    var id: String
    var source: String
    var reason: String
    @EventTime var receivedAt: Date
    var bytes: Int

    private enum CodingKeys: String, CodingKey {
        case id, source, reason, bytes
        case receivedAt = "received_at"
    }

    init(_ entry: Quarantine.Entry) {
        id = entry.id
        source = entry.source
        reason = entry.reason
        receivedAt = entry.delivery.receivedAt
        bytes = entry.delivery.body.count
    }
}

private struct Replayed: Encodable { var decision: String }

private struct ReplayedAll: Encodable {
    var accepted: Int
    var kept: Int
    /// The sources whose provider could not be asked.
    var stopped: [String]
}

private struct DeadLetter: Encodable {
    var id: String
    var attempts: Int
    var reason: String?
    var kind: String

    init(_ item: JournalQueue<AppliedEvent>.Item) {
        id = item.id
        attempts = item.attempts
        reason = item.failure
        kind = item.value.event.kind.rawValue
    }
}

/// A duty that was not done in time, or that the store or your backend refused.
private struct DismissedDuty: Encodable {
    var duty: DueItem
    var reason: String?
    var attempts: Int
    @EventTime var dismissedAt: Date

    private enum CodingKeys: String, CodingKey {
        case duty, reason, attempts
        case dismissedAt = "dismissed_at"
    }

    init(_ item: JournalQueue<DueItem>.Item) {
        duty = item.value
        reason = item.failure
        attempts = item.attempts
        dismissedAt = item.leasedUntil
    }
}
