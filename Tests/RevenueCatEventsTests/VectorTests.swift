import ConformanceVectors
import Foundation
import Normalizer
import Testing

@Suite("RevenueCat vectors")
struct VectorTests {
    static let names = ["authentication", "mapping", "stores", "bodies", "lookups", "stories"]

    static let directory = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "TestVectors/revenuecat")

    static func committed(_ name: String) throws -> [ArraySlice<UInt8>] {
        Array(try Data(contentsOf: directory.appending(path: "\(name).jsonl"))).split(separator: 0x0A)
    }

    @Test("the committed files are what the generator makes")
    func generated() async throws {
        let files = try await RevenueCatVectors.files()
        #expect(files.map(\.name) == Self.names)
        for file in files {
            let committed = try Self.committed(file.name).map { String(decoding: $0, as: UTF8.self) }
            #expect(committed.count == file.lines.count, "\(file.name)")
            for (committed, made) in zip(committed, file.lines) where committed != made {
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
}
