import Foundation
import FuzzTargets
import Testing

/// Inputs that once failed, or were made by hand to be as nasty as the ones a fuzzer would have to find.
@Suite struct FuzzReplayTests {
    private static let root = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Fuzz/Regressions")

    private static func inputs(_ target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let folder = root.appendingPathComponent(target.rawValue)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { name in
            (name, Array(try Data(contentsOf: folder.appendingPathComponent(name))))
        }
    }

    @Test(arguments: FuzzTarget.allCases)
    func regressions(target: FuzzTarget) throws {
        let inputs = try Self.inputs(target)
        #expect(inputs.count >= 3, "nothing to replay")
        for input in inputs {
            let violation = target.run(input.bytes).violation
            #expect(violation == nil, "\(target)/\(input.name)")
        }
    }

    /// A promise is worth something only if a breach would show: seeds get past refusals, where they should.
    @Test(arguments: FuzzTarget.allCases)
    func seeds(target: FuzzTarget) throws {
        let all = target.seeds()
        #expect(all.count >= 10)
        // Targets of thousands take minutes without optimisation.
        let isLong = ProcessInfo.processInfo.environment["LIFECYCLE_LONG"] != nil
        let step = isLong ? 1 : max(all.count / 60, 1)
        // The last ones are made to be accepted, or nearly so.
        let seeds = stride(from: 0, to: all.count, by: step).map { all[$0] } + all.suffix(12)
        var accepted = 0
        for seed in seeds {
            let run = target.run(seed)
            #expect(run.violation == nil, "\(String(decoding: seed.prefix(60), as: UTF8.self))")
            if run.isAccepted { accepted += 1 }
        }
        #expect(accepted > 0, "no seed of \(target) is accepted")
    }
}
