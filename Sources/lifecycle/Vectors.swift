#if CommandLineTool
import ArgumentParser
import ConformanceVectors
import Foundation

/// `lifecycle vectors`
struct Vectors: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Writes the test vectors anew, byte for byte the same.",
        shouldDisplay: false
    )

    @Option(help: ArgumentHelp("The folder that they go into, by provider.", valueName: "folder"))
    var out: String

    func run() async throws {
        let folder = URL(fileURLWithPath: out)
        for (path, lines) in try await VectorFiles.all() {
            let file = folder.appendingPathComponent(path)
            try writeFile((lines.joined(separator: "\n") + "\n").utf8, to: file)
            StandardError.write("\(path): \(lines.count) cases")
        }
    }
}
#endif
