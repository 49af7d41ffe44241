import Foundation
import Testing

/// The example in another language agrees with every signature vector.
@Suite struct PythonRunnerTests {
    private static let python = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":")
        .map { "\($0)/python3" }.first { FileManager.default.isExecutableFile(atPath: $0) }

    private func run(_ files: [String]) throws -> (status: Int32, output: String) {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: try #require(Self.python))
        process.arguments = ["-B", "Examples/python/verify.py"] + files
        process.currentDirectoryURL = Repository.root
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        return (process.terminationStatus, text)
    }

    @Test(.enabled(if: python != nil, "there is no python3 on this machine"))
    func agreesWithEverySignatureVector() throws {
        let files = ["TestVectors/stripe/signature.jsonl", "TestVectors/revenuecat/authentication.jsonl"]
        // The first line of each has what the others share.
        let count = try files.reduce(0) { try $0 + Repository.text($1).split(separator: "\n").count - 1 }
        let run = try run(files)
        #expect(run.output == "\(count) vectors, 0 differ\n")
        #expect(run.status == 0)
    }

    @Test(.enabled(if: python != nil, "there is no python3 on this machine"))
    func noticesWhatDiffers() throws {
        let lines = try Repository.text("TestVectors/stripe/signature.jsonl").split(separator: "\n")
        let shared = try #require(lines.first)
        let line = try #require(
            lines.first { $0.contains(#""id":"stripe/signature/wrong-code""#) }
        )
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).jsonl")
        defer { try? FileManager.default.removeItem(at: file) }
        let changed = line.replacing(#""expect":"reject""#, with: #""expect":"accept""#)
        try "\(shared)\n\(changed)\n"
            .write(to: file, atomically: true, encoding: .utf8)
        let run = try run([file.path])
        #expect(run.output.hasSuffix("1 vectors, 1 differ\n"))
        #expect(run.status == 1)
    }
}
