import ConformanceVectors
import FoundationEssentials
import GooglePubSub
import Normalizer
import Testing

@Suite("Google vectors")
struct MappingVectorTests {
    static func committed(_ name: String) throws -> [ArraySlice<UInt8>] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let file = root.appending(path: "TestVectors/google/\(name).jsonl")
        return Array(try Data(contentsOf: file)).split(separator: 0x0A)
    }

    @Test("committed files are what the generator makes")
    func committedFilesAreGenerated() async throws {
        let files = try await GoogleVectors.files()
        #expect(files.map(\.name) == GoogleVectors.names)
        for file in files {
            let lines = try Self.committed(file.name).map { String(decoding: $0, as: UTF8.self) }
            #expect(lines.count == file.lines.count, "\(file.name)")
            for (number, pair) in zip(lines, file.lines).enumerated() where pair.0 != pair.1 {
                Issue.record("\(file.name):\(number + 1) differs")
            }
        }
    }

    @Test("every case comes to what is expected", arguments: GoogleVectors.names)
    func expectations(_ name: String) async throws {
        let lines = try Self.committed(name)
        #expect(!lines.isEmpty)
        var ids: Set<String> = []
        for line in lines {
            let vector = try Vector(line: line)
            #expect(ids.insert(vector.id).inserted, "\(vector.id) stands twice")
            let outcome = await VectorRunner.run(vector)
            #expect(outcome.matched == true, "\(vector.id): \(outcome.difference ?? "without expectation")")
        }
    }

    @Test("no token leaves but in requests", arguments: GoogleVectors.names)
    func nothingLeaks(_ name: String) async throws {
        let secrets = [
            GoogleVectors.token, GoogleVectors.oldToken, GoogleVectors.olderToken, "secret-refund-token", "AO-J1",
        ]
        for line in try Self.committed(name) {
            let vector = try Vector(line: line)
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
        "what can succeed later is answered with 503, and what was authentic with 200, or with 403 where it is another's",
        arguments: GoogleVectors.names
    )
    func answers(_ name: String) async throws {
        for line in try Self.committed(name) {
            let outcome = await VectorRunner.run(try Vector(line: line))
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
