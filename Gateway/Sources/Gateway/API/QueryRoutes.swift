import Foundation
import HTTPTypes
import Hummingbird
import LifecycleJournal
import Normalizer
import ServiceLifecycle

/// `/v1/…`: the API for a backend in any language.
struct QueryRoutes: Sendable {
    let journal: Journal
    let tokens: AccessTokens
    let sources: [Source]
    let policy: CreditPolicy?
    let now: @Sendable () -> Date

    func add(to router: Router<BasicRequestContext>) {
        let api = router.group("v1")
        api.get("access") { request, _ in
            let question = try Question(try tokens.admit(request, for: .read, Question.names), now: now())
            return try Self.json(
                try await journal.access(of: [question.account], in: question.environment, at: question.time)
            )
        }
        api.get("subscriptions") { request, _ in
            let question = try Question(try tokens.admit(request, for: .read, Question.names), now: now())
            let ledger = try await journal.ledger(of: [question.account])
            let states = ledger.states(of: [question.account], in: question.environment)
            return try Self.json(states.map { Subscription($0, at: question.time) })
        }
        api.get("explain") { request, _ in
            let question = try Question(try tokens.admit(request, for: .read, Question.names), now: now())
            return try Self.json(
                try await journal.explain([question.account], in: question.environment, at: question.time)
            )
        }
        api.get("events") { request, _ in
            try await events(try tokens.admit(request, for: .read, ["after", "limit", "wait"]))
        }
        api.post("claims") { request, _ -> HTTPResponse.Status in
            try tokens.admit(request, for: .write)
            let claim = try await request.body(as: Claim.self)
            guard let lineage = SubscriptionID(claim.subscription), !lineage.id.isEmpty else {
                throw HTTPError(.badRequest, message: "subscription must be store/environment/id")
            }
            _ = try StoreEnvironment.named(lineage.environment.rawValue)
            guard try await isOfStore(lineage) else {
                let names = PurchaseStore.known.map(\.rawValue).joined(separator: ", ")
                throw HTTPError(.badRequest, message: "no store has this name; the names are \(names)")
            }
            try await journal.claim(lineage, by: try Self.account(claim.account, claim.accountSource))
            return .noContent
        }
        api.get("credits") { request, _ in
            let question = try Question(try tokens.admit(request, for: .read, Question.names), now: now())
            return try Self.json(
                try await journal.credits(
                    of: [question.account],
                    under: try requiredPolicy,
                    in: question.environment,
                    at: question.time
                )
            )
        }
        api.post("credits/uses") { request, _ in
            try tokens.admit(request, for: .write)
            return try await use(try await request.body(as: Use.self))
        }
        api.post("uploads/:source") { request, context in
            try tokens.admit(request, for: .write)
            let name = try context.parameters.require("source")
            guard let source = sources.first(where: { $0.name == name }) else {
                throw HTTPError(.notFound, message: "no source has this name")
            }
            return try await upload(try await request.body(as: Upload.self), to: source)
        }
        addAdministration(to: api)
    }

    private var requiredPolicy: CreditPolicy {
        get throws {
            guard let policy else { throw HTTPError(.conflict, message: "credits.policy_file is not configured") }
            return policy
        }
    }

    /// Uses credits, once for each id.
    private func use(_ use: Use) async throws -> Response {
        let account = try Self.account(use.account, use.accountSource)
        guard use.credits >= 0, !use.id.isEmpty else {
            throw HTTPError(.badRequest, message: "a use needs an id and 0 or more credits")
        }
        let statement = try await journal.use(
            use.credits,
            id: use.id,
            of: [Account.Identifier(account.id, account.source)],
            under: try requiredPolicy,
            in: try use.environment.map(StoreEnvironment.named) ?? .production,
            at: now()
        )
        guard let statement else {
            throw HTTPError(
                .conflict,
                message: "the account has fewer credits under account_source \(account.source); none was used"
            )
        }
        return try Self.json(statement.current(withUse: use.id))
    }

    /// Takes in a proof of a purchase, and binds the purchase to an account if the body names one.
    private func upload(_ upload: Upload, to source: Source) async throws -> Response {
        let account = try upload.account.map { try Self.account($0, upload.accountSource) }
        do {
            let result = try await source.receive(upload, at: now())
            if result.statements.isEmpty, let reason = result.noChange?.reason, reason == .purchaseGone {
                throw HTTPError(.unprocessableContent, message: "the upload was not taken: \(reason.rawValue)")
            }
            let applied = try await journal.upload(result, by: account)
            guard let account, try await !isOwned(result.lineages, by: account) else {
                return try Self.json(applied)
            }
            throw HTTPError(.conflict, message: "the purchase belongs to another account")
        } catch let error as DeliveryError {
            // 422 and not 401, which would be about the caller's token.
            throw HTTPError(
                error.code.isRetryable ? .serviceUnavailable : .unprocessableContent,
                headers: error.code.isRetryable ? [.retryAfter: "5"] : [:],
                message: "the upload was not taken: \(error.code.rawValue)"
            )
        }
    }

    /// True if the store is a known one, or if the purchase is: a misspelled one would wait for a purchase that never comes.
    private func isOfStore(_ lineage: SubscriptionID) async throws -> Bool {
        if PurchaseStore.known.contains(lineage.store) { return true }
        return try await journal.state(of: lineage) != nil
    }

    /// True if one of the purchases belongs to an account, or if there is none.
    private func isOwned(_ lineages: [SubscriptionID], by owner: Account) async throws -> Bool {
        let account = Account.Identifier(owner.id, owner.source)
        let ledger = try await journal.ledger(of: [account])
        return lineages.isEmpty
            || lineages.contains { lineage in
                ledger.states(of: [account], in: lineage.environment).contains { $0.lineages.contains(lineage) }
            }
    }

    private static func account(_ id: String, _ source: String?) throws -> Account {
        guard !id.isEmpty else { throw HTTPError(.badRequest, message: "account is empty") }
        return Account(id, try .named(source, in: "account_source"))
    }

    static func name(_ context: BasicRequestContext) throws -> String {
        guard let id = try context.parameters.require("id").removingPercentEncoding else {
            throw HTTPError(.badRequest, message: "the id in the path is not UTF-8")
        }
        return id
    }

    /// The feed, as JSON Lines. With `wait` it answers with the first event, after so many seconds, or when the process is to stop.
    private func events(_ query: QueryParameters) async throws -> Response {
        let position = try query.number("after", default: 0, 0...Int64.max)
        let limit = try query.limit
        let wait = try query.number("wait", default: 0, 0...60)
        let deadline = ContinuousClock.now + .seconds(wait)
        var events = try await journal.events(after: position, limit: limit)
        while events.isEmpty, ContinuousClock.now < deadline, !Task.isShuttingDownGracefully {
            try await Task.sleep(for: .milliseconds(250))
            events = try await journal.events(after: position, limit: limit)
        }
        var body = ByteBuffer()
        for event in events {
            body.writeBytes(try CanonicalJSON.bytes(event))
            body.writeInteger(UInt8(ascii: "\n"))
        }
        return Response(status: .ok, headers: [.contentType: "application/jsonl"], body: .init(byteBuffer: body))
    }

    static func json(_ value: some Encodable) throws -> Response {
        Response(
            status: .ok,
            headers: [.contentType: "application/json", .cacheControl: "no-store"],
            body: .init(byteBuffer: ByteBuffer(bytes: try CanonicalJSON.bytes(value)))
        )
    }
}

private struct Subscription: Encodable {
    var subscription: String
    var lineages: [String]
    var snapshot: SubscriptionSnapshot

    init(_ state: SubscriptionState, at time: Date) {
        subscription = state.subscription.description
        lineages = state.lineages.map(\.description)
        snapshot = state.snapshot(at: time)
    }
}

private struct Claim: RequestBody {
    typealias Member = CodingKeys

    var subscription: String
    var account: String
    var accountSource: String?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case subscription, account
        case accountSource = "account_source"
    }
}

private struct Use: RequestBody {
    typealias Member = CodingKeys

    var id: String
    var credits: Int64
    var account: String
    var accountSource: String?
    var environment: String?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case id, credits, account, environment
        case accountSource = "account_source"
    }
}
