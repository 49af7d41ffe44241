import AppleJWS
import Foundation
import GooglePubSub
import Hummingbird
import Normalizer
import Stripe

/// What the backend answers: providers that call, apps that hand in purchases, and whoever asks for access and credits.
struct Routes: Sendable {
    /// By the last part of the address that is given to the provider.
    let adapters: [String: any ProviderAdapter]
    let store: EventStore
    /// The app whose purchases on Google Play are handed in.
    var packageName: String?
    let now: @Sendable () -> Date

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.post("hooks/:provider") { request, context in
            let provider = try context.parameters.require("provider")
            guard let adapter = adapters[provider] else { throw HTTPError(.notFound) }
            // The exact bytes: what is signed is these, and not what they mean.
            let body = try await request.body.collect(upTo: 1 << 20)
            let headers = Delivery.Headers(request.headers.map { ($0.name.rawName, $0.value) })
            let delivery = Delivery(headers: headers, body: Array(buffer: body), receivedAt: now())
            let answer = await takeIn(delivery, by: adapter)
            // Nobody sends again what is answered with 200.
            if answer.decision == .acceptAndQuarantine, await !store.keep(delivery, of: provider) {
                return Response(status: .serviceUnavailable)
            }
            return Response(status: .init(code: answer.status))
        }
        router.post("uploads/:provider/:kind/:account") { request, context -> HTTPResponse.Status in
            let body = try await request.body.collect(upTo: 1 << 16)
            let adapter = adapters[try context.parameters.require("provider")]
            let kind = try context.parameters.require("kind")
            let user = try name(in: context)
            return await answer { () throws(DeliveryError) in
                try await result(of: Array(buffer: body), kind, by: adapter, for: user)
            }
        }
        // The `success_url` of a session of Stripe's Checkout. It makes nobody the owner: whoever has the id can call it.
        router.get("checkout/done") { request, _ -> HTTPResponse.Status in
            guard let session = request.uri.queryParameters["session_id"] else { return .badRequest }
            let stripe = adapters["stripe"] as? StripeAdapter
            return await answer { () throws(DeliveryError) in
                try await stripe?.receive(checkoutSession: String(session), receivedAt: now())
            }
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

    /// Takes in what was handed in, and says so; nil is for what nobody takes.
    private func answer(
        _ receive: () async throws(DeliveryError) -> Normalization?
    ) async -> HTTPResponse.Status {
        do throws(DeliveryError) {
            guard let result = try await receive() else { return .notFound }
            try await store.update(for: result, at: now())
            return result.noChange?.reason == .purchaseGone ? .notFound : .ok
        } catch {
            return error.code == .unavailable || error.code == .denied ? .serviceUnavailable : .badRequest
        }
    }

    /// What an app handed in comes to, claimed by its user: a transaction as StoreKit signed it, or a purchase token of Google
    /// Play's. Nil where nobody takes such a thing.
    private func result(
        of upload: [UInt8],
        _ kind: String,
        by adapter: (any ProviderAdapter)?,
        for user: String
    ) async throws(DeliveryError) -> Normalization? {
        // Under the name that the app gives the store: under another, a stolen upload would stand beside its owner's.
        switch adapter {
        case let apple as AppleAdapter where kind == "transaction":
            return try apple.receive(signedTransaction: upload, receivedAt: now())
                .claimed(by: Account(user, .appAccountToken), at: now())
        case let google as GooglePlayAdapter:
            guard let kind = GooglePurchase.Kind(rawValue: kind), let packageName else { return nil }
            return try await google.receive(
                purchaseToken: PurchaseToken(String(decoding: upload, as: UTF8.self)),
                of: kind,
                packageName: packageName,
                receivedAt: now()
            )
            .claimed(by: Account(user, .obfuscatedAccountID), at: now())
        default: return nil
        }
    }

    private func account(in context: BasicRequestContext) throws -> Account.Identifier {
        let source = Account.Source(rawValue: try context.parameters.require("source"))
        return Account.Identifier(try name(in: context), source)
    }

    private func name(in context: BasicRequestContext) throws -> String {
        guard let name = try context.parameters.require("account").removingPercentEncoding else {
            throw HTTPError(.badRequest)
        }
        return name
    }

    private func takeIn(_ delivery: Delivery, by adapter: any ProviderAdapter) async -> Acknowledgement {
        do {
            let result = try await adapter.receive(delivery)
            try await store.update(for: result, at: now())
            return adapter.acknowledgement(for: .success(result))
        } catch {
            return adapter.acknowledgement(for: .failure(error))
        }
    }

    /// Takes in what was kept because it could not be read, as after an update or a change of the configuration.
    func takeInKept() async throws {
        for (provider, delivery) in try await store.kept() {
            guard let adapter = adapters[provider] else { continue }
            if await takeIn(delivery, by: adapter).decision == .accept {
                try await store.release(delivery, of: provider)
            }
        }
    }
}
