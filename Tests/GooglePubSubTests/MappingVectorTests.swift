import ConformanceVectors
import GooglePubSub
import Normalizer
import Testing
import VectorGenerator

@Suite("Google vectors")
struct MappingVectorTests {
    @Test("no token leaves but in requests", arguments: try CommittedVectors.paths(of: .google))
    func nothingLeaks(path: String) async throws {
        let secrets = [
            GoogleVectors.token, GoogleVectors.oldToken, GoogleVectors.olderToken, "secret-refund-token", "AO-J1",
        ]
        for vector in try CommittedVectors.vectors(path) {
            let outcome = await VectorRunner.run(vector)
            let text = String(decoding: try outcome.line(), as: UTF8.self)
            for secret in secrets { #expect(!text.contains(secret), "\(vector.id)") }
            if case .success(let normalization) = outcome.result, let statement = normalization.noChange?.statement {
                let text = String(decoding: try CanonicalJSON.bytes(statement), as: UTF8.self)
                for secret in secrets { #expect(!text.contains(secret), "\(vector.id)") }
            }
        }
    }

    @Test(
        "a delivery that can succeed later is answered with 503, an authentic one with 200, and another's with 403",
        arguments: try CommittedVectors.paths(of: .google)
    )
    func answers(path: String) async throws {
        for vector in try CommittedVectors.vectors(path) {
            let outcome = await VectorRunner.run(vector)
            switch outcome.result {
            case .success: #expect(outcome.answer == 200, "\(outcome.id)")
            case .failure(let error) where error.code == .unavailable: #expect(outcome.answer == 503, "\(outcome.id)")
            case .failure(let error) where error.isAuthentic && error.code == .misdirected:
                #expect(outcome.answer == 403, "\(outcome.id)")
            case .failure(let error) where error.isAuthentic: #expect(outcome.answer == 200, "\(outcome.id)")
            case .failure: #expect([400, 401].contains(outcome.answer), "\(outcome.id)")
            }
        }
    }
}
