import Foundation
import Hummingbird
import Normalizer

/// What the backend answers: providers that call, and whoever asks for access and credits.
struct Routes: Sendable {
    /// By the last part of the address that is given to the provider.
    let adapters: [String: any ProviderAdapter]
    let store: EventStore
    let now: @Sendable () -> Date

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.post("hooks/:provider") { request, context in
            guard let adapter = adapters[try context.parameters.require("provider")] else { throw HTTPError(.notFound) }
            // The exact bytes: what is signed is these, and not what they mean.
            let body = try await request.body.collect(upTo: 1 << 20)
            let headers = Delivery.Headers(request.headers.map { ($0.name.rawName, $0.value) })
            let delivery = Delivery(headers: headers, body: Array(buffer: body), receivedAt: now())
            return Response(status: .init(code: await status(for: delivery, by: adapter)))
        }
        router.get("access/:source/:account") { _, context in
            let access = try await store.access(of: try account(in: context), in: .production, at: now())
            return Response(
                status: .ok,
                headers: [.contentType: "application/json"],
                body: .init(byteBuffer: ByteBuffer(bytes: try CanonicalJSON.bytes(access)))
            )
        }
        router.get("credits/:source/:account") { _, context in
            "\(try await store.credits(of: try account(in: context), in: .production, at: now()))"
        }
        router.post("credits/:source/:account/use/:number") { _, context -> HTTPResponse.Status in
            let number = try context.parameters.require("number", as: Int64.self)
            let account = try account(in: context)
            return try await store.use(number, of: account, in: .production, at: now()) ? .ok : .conflict
        }
        return router
    }

    private func account(in context: BasicRequestContext) throws -> Account.Identifier {
        let source = Account.Source(rawValue: try context.parameters.require("source"))
        guard let id = try context.parameters.require("account").removingPercentEncoding else {
            throw HTTPError(.badRequest)
        }
        return Account.Identifier(id, source)
    }

    private func status(for delivery: Delivery, by adapter: any ProviderAdapter) async -> Int {
        do {
            let result = try await adapter.receive(delivery)
            try await store.update(for: result)
            return adapter.acknowledgement(for: .success(result)).status
        } catch {
            return adapter.acknowledgement(for: .failure(error)).status
        }
    }
}
