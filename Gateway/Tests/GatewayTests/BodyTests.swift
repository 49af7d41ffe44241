import Foundation
@testable import Gateway
import HTTPTypes
import Hummingbird
import LifecycleJournal
import NIOCore
import Normalizer
import NormalizerTesting
import Stripe
import Testing

@Suite("The body of a request") struct BodyTests {
    private func request(_ pieces: AsyncStream<ByteBuffer>) -> Request {
        let head = HTTPRequest(method: .post, scheme: "http", authority: "localhost", path: "/hooks/shop")
        return Request(head: head, body: Hummingbird.RequestBody(asyncSequence: pieces))
    }

    @Test("that does not come to its end is given up, and one that is too long at once")
    func limits() async throws {
        let (pieces, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
        continuation.yield(ByteBuffer(string: "{"))
        let slow = request(pieces)
        var error = await #expect(throws: HTTPError.self) { try await slow.wholeBody(within: .milliseconds(50)) }
        #expect(error?.status == .requestTimeout)
        continuation.yield(ByteBuffer(repeating: 0x20, count: 1 << 20))
        continuation.yield(ByteBuffer(repeating: 0x20, count: 1 << 20))
        let (many, end) = AsyncStream.makeStream(of: ByteBuffer.self)
        for _ in 0..<3 { end.yield(ByteBuffer(repeating: 0x20, count: 1 << 19)) }
        let long = request(many)
        error = await #expect(throws: HTTPError.self) { try await long.wholeBody(within: .seconds(60)) }
        #expect(error?.status == .contentTooLarge)
        end.finish()
    }

    @Test(
        "in a transfer coding that it is not read in is refused",
        arguments: [("chunked", 400), ("gzip, chunked", 400)]
    )
    func coding(coding: String, status: Int) async throws {
        try await RouterClient.with(try await Bench().gateway().router) { client in
            let answer = try await client.executeRequest(
                uri: "/hooks/shop",
                method: .post,
                headers: [.transferEncoding: coding],
                body: ByteBuffer(string: "{}")
            )
            #expect(answer.status.code == status)
            #expect(answer.text.contains("transfer coding") == (coding != "chunked"))
        }
    }

    @Test("that is large shares memory with others while it comes, and a small one needs none of it")
    func memory() async throws {
        let small = BodyMemory.smallBody
        let memory = BodyMemory(octets: small)
        func sending(_ count: Int) -> (Request, AsyncStream<ByteBuffer>.Continuation) {
            let (pieces, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
            continuation.yield(ByteBuffer(repeating: 0x20, count: count))
            return (request(pieces), continuation)
        }
        let (large, end) = sending(2 * small)
        let slow = Task { try await large.wholeBody(within: .seconds(60), of: memory).count }
        while memory.take(from: small, to: small + 1) {
            memory.giveBack(small + 1)
            try await Task.sleep(for: .milliseconds(1))
        }
        let error = await #expect(throws: HTTPError.self) {
            try await sending(small + 1).0.wholeBody(within: .seconds(60), of: memory)
        }
        #expect(error?.status == .serviceUnavailable)
        #expect(error?.headers[.retryAfter] == "5")
        let (other, otherEnd) = sending(small)
        otherEnd.finish()
        #expect(try await other.wholeBody(within: .seconds(60), of: memory).count == small)
        end.yield(ByteBuffer(repeating: 0x20, count: 1))
        await #expect(throws: HTTPError.self) { try await slow.value }
        #expect(memory.take(from: 0, to: 2 * small), "What was refused has given back what it took.")
    }

    @Test("gives the memory back when its delivery is done")
    func memoryOfDeliveries() async throws {
        let memory = BodyMemory(octets: 1 << 20)
        let router = Router()
        HookRoutes(
            intake: Intake(journal: Journal(MemoryJournal(), now: { Bench.now }), answersAtOnce: true),
            adapters: ["shop": try StripeAdapter(.init(signingSecrets: [SecretBytes("whsec_gateway0123456789")]))],
            metrics: GatewayMetrics(factory: PrometheusRegistry()),
            now: { Bench.now },
            memory: memory
        )
        .add(to: router)
        try await RouterClient.with(router) { client in
            for _ in 0..<3 {
                let delivery = Delivery(body: Array(repeating: 0x20, count: 1 << 19), receivedAt: Bench.now)
                let answer = try await client.deliver(delivery, to: "shop")
                #expect(answer.status == .badRequest)
            }
        }
        #expect(memory.take(from: BodyMemory.smallBody, to: BodyMemory.smallBody + 1 << 20))
    }

    @Test("takes no slot of a delivery while it is being sent")
    func slots() async throws {
        let bench = try Bench()
        let gateway = try await bench.gateway()
        let responder = gateway.router.buildResponder()
        try await RouterClient.with(gateway.router) { client in
            let holders = (0..<300).map { _ in
                let slow = request(AsyncStream { _ in })
                return Task { _ = try? await responder.respond(to: slow, context: RouterClient.context()) }
            }
            try await Task.sleep(for: .milliseconds(200))
            #expect(try await client.deliver(try bench.purchase()).status == .ok)
            for holder in holders { holder.cancel() }
        }
    }
}
