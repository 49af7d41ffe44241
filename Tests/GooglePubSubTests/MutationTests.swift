import GooglePubSub
import HTTPTransport
import Normalizer
import NormalizerTesting
import Testing

extension [UInt8] {
    /// With a few octets replaced, removed, doubled or swapped for others that mean something in JSON and base64.
    func mutated(using generator: inout some RandomNumberGenerator) -> [UInt8] {
        var octets = self
        let telling = Array(#"{}[]":,\=.-_+/0eE"#.utf8) + [0x00, 0x0A, 0x7F, 0x80, 0xC0, 0xED, 0xFF]
        for _ in 0..<Int.random(in: 1...4, using: &generator) where !octets.isEmpty {
            let index = Int.random(in: octets.indices, using: &generator)
            switch Int.random(in: 0..<5, using: &generator) {
            case 0: octets[index] = telling.randomElement(using: &generator) ?? 0
            case 1: octets.remove(at: index)
            case 2: octets.insert(octets[index], at: index)
            case 3: octets.removeSubrange(index...)
            default: octets[index] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
            }
        }
        return octets
    }
}

/// Nothing that arrives traps, and nothing that is proven is refused.
@Suite(.timeLimit(.minutes(5)))
struct MutationTests {
    @Test(arguments: 0..<8 as Range<UInt64>)
    func bodies(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let adapter = try Google.adapter()
        let good = try Google.delivery()
        for original in [Google.wrapped(), Array(Google.notification().utf8)] {
            for _ in 0..<400 {
                var delivery = good
                delivery.body = original.mutated(using: &generator)
                if let error = await adapter.refusal(delivery) {
                    #expect(error.isAuthentic)
                    #expect(GooglePubSubStatus.of(error) == (error.code == .misdirected ? 403 : 200))
                    #expect(!error.description.contains("secret"))
                }
            }
        }
    }

    @Test(arguments: 0..<8 as Range<UInt64>)
    func tokens(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let adapter = try Google.adapter()
        let token = try Google.token()
        for _ in 0..<500 {
            let mutated = String(decoding: Array(token.utf8).mutated(using: &generator), as: UTF8.self)
            guard mutated != token else { continue }
            let error = try #require(await adapter.refusal(try Google.delivery(token: mutated)))
            #expect(!error.isAuthentic)
            #expect([400, 401].contains(GooglePubSubStatus.of(error)))
        }
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func keySetsAndKeyFiles(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let keys = try Google.keys.get()
        let set = try Google.keySet([("current", keys.current), ("next", keys.next)])
        let file = Array(try KeyFile.text().utf8)
        for _ in 0..<300 {
            if let read = try? JSONWebKeySet(set.mutated(using: &generator)) { #expect(read.keys.count <= 2) }
            do throws(ConfigurationError) {
                _ = try ServiceAccount(keyFile: SecretBytes(bytes: file.mutated(using: &generator)))
            } catch {
                #expect(!error.message.contains("MII"))
            }
        }
    }

    @Test(arguments: 0..<4 as Range<UInt64>)
    func answers(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let transport = StubTransport()
        let api = try PlayDeveloperAPI(transport: transport, tokens: CountingTokens(), retry: .never)
        let found = Array(#"{"subscriptionState":"SUBSCRIPTION_STATE_ACTIVE","lineItems":[{"productId":"p"}]}"#.utf8)
        let error = Array(#"{"error":{"code":403,"errors":[{"domain":"global","reason":"rateLimitExceeded"}]}}"#.utf8)
        for _ in 0..<300 {
            transport.removeRules()
            let isError = Bool.random(using: &generator)
            let body = (isError ? error : found).mutated(using: &generator)
            transport.on(.any, respond: HTTPTransportResponse(status: isError ? 403 : 200, body: body))
            let answer = await api.subscription(purchaseToken: "t", packageName: Google.package)
            #expect((isError ? [.unavailable, .denied] : [.found, .unavailable]).contains(answer.outcome))
        }
    }
}
