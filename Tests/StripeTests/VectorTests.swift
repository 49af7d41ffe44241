import ConformanceVectors
import Normalizer
import Stripe
import Testing
import VectorGenerator

@Suite("Stripe vectors")
struct VectorTests {
    static let names = ["signature", "envelope", "subscription", "invoice", "schedule", "payment", "thin"]

    @Test("every type that gives events, and every kind of event, has a vector stated by hand")
    func stated() async throws {
        let detailed = try VectorFiles.detailed(of: .stripe)
        var types: [String: Bool] = [:]
        var kinds: [String: Bool] = [:]
        for name in Self.names {
            for vector in try CommittedVectors.vectors("stripe/\(name).jsonl") {
                guard case .success(let normalization) = await VectorRunner.run(vector).result else { continue }
                let isStated = detailed.contains(vector.id)
                for event in normalization.events {
                    types[event.origin.type, default: false] = types[event.origin.type] == true || isStated
                    kinds[event.kind.rawValue, default: false] = kinds[event.kind.rawValue] == true || isStated
                }
            }
        }
        #expect(types.count > 40 && kinds.count > 15)
        #expect(types.filter { !$0.value }.map(\.key).sorted() == [])
        #expect(kinds.filter { !$0.value }.map(\.key).sorted() == [])
    }

    @Test("old and new shapes of one case give the same identities")
    func shapesAgree() async throws {
        var identities: [String: [String]] = [:]
        var compared = 0
        for name in Self.names {
            for vector in try CommittedVectors.vectors("stripe/\(name).jsonl") {
                guard case .success(let normalization) = await VectorRunner.run(vector).result else { continue }
                let plain = vector.id.replacing("/2020/", with: "/").replacing("/endive/", with: "/")
                let events = normalization.events.map(\.id.description)
                if let other = identities[plain] {
                    compared += 1
                    #expect(other == events, "\(vector.id)")
                }
                identities[plain] = events
            }
        }
        #expect(compared > 90)
    }
}
