import ConformanceVectors
import FoundationEssentials

import Normalizer
import Stripe
import Testing

@Suite("Stripe vectors")
struct VectorTests {
    static let names = ["signature", "envelope", "subscription", "invoice", "schedule", "payment", "thin"]

    static func committed(_ name: String) throws -> [ArraySlice<UInt8>] {
        let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = directory.appending(path: "TestVectors/stripe/\(name).jsonl")
        return Array(try Data(contentsOf: file)).split(separator: 0x0A)
    }

    @Test("committed files are what the generator makes")
    func committedFilesAreGenerated() async throws {
        for file in try await StripeVectors.files() {
            let lines = try Self.committed(file.name).map { String(decoding: $0, as: UTF8.self) }
            #expect(lines.count == file.lines.count, "\(file.name)")
            for (committed, made) in zip(lines, file.lines) where committed != made {
                Issue.record("\(file.name) differs: \(made.prefix(80))")
            }
        }
    }

    @Test("every case comes to what is expected", arguments: names)
    func cases(_ name: String) async throws {
        let lines = try Self.committed(name)
        #expect(!lines.isEmpty)
        for line in lines {
            let vector = try Vector(line: line)
            let outcome = await VectorRunner.run(vector)
            #expect(outcome.matched == true, "\(vector.id): \(outcome.difference ?? "")")
        }
    }

    @Test("of every type that gives events, and of every kind of event, a vector is stated by hand")
    func stated() async throws {
        var types: [String: Bool] = [:]
        var kinds: [String: Bool] = [:]
        for name in Self.names {
            for line in try Self.committed(name) {
                let vector = try Vector(line: line)
                guard case .success(let normalization) = await VectorRunner.run(vector).result else { continue }
                let isStated = StripeStated.isStated(vector.id)
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

    @Test("ids are unique, and old and new shapes of one case give the same identities")
    func shapesAgree() async throws {
        var identities: [String: [String]] = [:]
        var ids: Set<String> = []
        var compared = 0
        for name in Self.names {
            for line in try Self.committed(name) {
                let vector = try Vector(line: line)
                #expect(ids.insert(vector.id).inserted, "\(vector.id)")
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
